"""Repeated loads: those whose value a work-item has in a register already.

It has what it has loaded from the same place, or stored there, if it did so for all lanes that load, and nothing was
stored since that may be the same memory, and nobody was met at a barrier. No compiler carries such a load out again:
LLVM's EarlyCSE and GVN, of which NVIDIA's and Intel's compilers are made, replace it. A load in a loop whose place is
the same in each iteration is made in the first one alone, if its value is there at the end of an iteration too.

What is decided here is decided once, of a program: what is known of a launch obeys it, and so does what a run counts.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from xeemu.cost import first_iterations
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge.access_tree import AccessTree, Key, Node, Operation
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.value_numbering import Numbers
from xeemu.language.linearity import Allocation, may_be_same

_NOTHING = -1
_COMMUTING = ("add", "mul", "and", "or", "xor", "max", "min")


class RepeatedLoads(NamedTuple):
    """The loads of a program that are not carried out each time.

    Attributes:
      never: those that are never, each with the value that it would give once more.
      once: those that are made once in each execution of a body around them, named by its call path: in the first
        iterations of the loops between, by each group that comes to them.
    """

    never: Mapping[Key, Value]
    once: Mapping[Key, Facts]


NONE = RepeatedLoads({}, {})


def of_tree(tree: AccessTree, unused: Set[Key]) -> RepeatedLoads:
    """The repeated loads of a program, without those that nobody uses."""
    walk = _Walk(tree, unused)
    walk.body(tree.root.body, tree.root.facts, [walk.numbers.new() for _ in tree.root.body.taken], _Scope({}))
    return RepeatedLoads(walk.never, walk.once)


def carried_out(operation: Operation, repeated: RepeatedLoads) -> Operation | None:
    """An operation with the executions in which it is carried out; None if that is never."""
    if operation.key in repeated.never:
        return None
    around = repeated.once.get(operation.key)
    return operation if around is None else first_iterations.of_operation(operation, around)


_Place = tuple[tuple[int, int], ...]
"""For each component the number of what a constant is added to, and that constant, however it is written."""

_Base = tuple[tuple[int, ...], tuple[int, ...]]
"""The shape of what is accessed, and what stands before the constants of a place, by number."""


class _Contents(NamedTuple):
    """What a memory holds.

    Attributes:
      last: number of the last change.
      base: of the place that was changed; None of any place.
      before: number of the last change that was not at a place of that base.
    """

    last: int
    base: _Base | None = None
    before: int = -1

    def of(self, base: _Base) -> int:
        """The last change that may have been at a place of a base, but for those at known distances from it."""
        return self.before if base == self.base else self.last

    def after(self, number: int, base: _Base) -> "_Contents":
        """The contents after a change at a place of a base."""
        return _Contents(number, base, self.of(base))


class _Held(NamedTuple):
    """A place of a memory whose contents a work-item may have in a register.

    Attributes:
      memory: the memory.
      state: the last change of what may be there, but for those of the place itself.
      place: its components.
      shape: of the elements that are accessed.
    """

    memory: Allocation
    state: int
    place: _Place
    shape: tuple[int, ...]

    @property
    def base(self) -> _Base:
        """Places of one base lie at known distances from each other."""
        return _base(self.place, self.shape)


class _Holding(NamedTuple):
    """What is in a register.

    Attributes:
      lanes: numbers of the conditions for a lane to have it.
      value: the value that was loaded or stored.
      number: of that value.
    """

    lanes: frozenset[int]
    value: Value
    number: int


class _Invariant(NamedTuple):
    """A load of a loop from one place in all iterations."""

    key: Key
    held: _Held
    lanes: frozenset[int]


@dataclasses.dataclass
class _Loop:
    """A loop whose body is gone through.

    Attributes:
      around: the call path of the body that it stands in.
      certain: true if it has an iteration each time.
      before: the states of memories before it.
      start: those as an iteration begins.
      invariant: the loads so far from one place in all iterations, whose contents are those of the start.
    """

    around: Facts
    certain: bool
    before: Mapping[Allocation, _Contents]
    start: Mapping[Allocation, _Contents]
    invariant: list[_Invariant] = dataclasses.field(default_factory=list)


_Available = dict[_Held, list[_Holding]]


class _Scope(NamedTuple):
    """Where a region stands.

    Attributes:
      available: what is in registers so far.
      loop: the loop whose body it is, or which has it in each iteration; None of others.
      depth: loops around it.
    """

    available: _Available
    loop: _Loop | None = None
    depth: int = 0

    def inner(self, loop: _Loop | None = None) -> "_Scope":
        """That of a branch, or of a loop's body."""
        available = {held: list(holding) for held, holding in self.available.items()}
        return _Scope(available, loop, self.depth + (loop is not None))


class _Walk:
    """Goes through the regions of a program in order, each call path once."""

    def __init__(self, tree: AccessTree, unused: Set[Key]) -> None:
        self.unused, self.numbers = unused, Numbers()
        self.never: dict[Key, Value] = {}
        self.once: dict[Key, Facts] = {}
        self._begun = first_iterations.begun(tree.root)
        self._memories: dict[Key, Sequence[Allocation]] = {}
        for step in (step for node in tree.root.nodes() for step in node.steps):
            if not isinstance(step, Node):
                self._memories[step.key] = [step.place.memory] if isinstance(step, Operation) else step.memories
        every = {memory for memories in self._memories.values() for memory in memories}
        self._changeable = {o.place.memory for o in tree.root.operations() if o.changes}
        self._aliased = [memory for memory in every if memory.may_alias]
        self._state = {memory: _Contents(self.numbers.new()) for memory in every}
        self._offsets: dict[int, tuple[int, int]] = {}  # by number what a constant is added to, and that constant
        self._depth: dict[int, int] = {}  # by number the loops around what makes it another one in each iteration
        self._lanes: dict[int, frozenset[int]] = {}  # by number of a mask the conditions that it consists of

    def body(self, region: Region, facts: Facts, given: Sequence[int], scope: _Scope) -> list[int]:
        """Goes through a region, of whose taken values the numbers are given; gives those of its outputs."""
        found: dict[Value, int] = dict(zip(region.taken, given, strict=True))
        for number, op in enumerate(region.ops):
            used = [self._of(value, found) for value in op.used]
            if control.of(op) is not None:
                results = self._structured(op, facts, number, used, scope)
            else:
                if op.name != ops.STORE:
                    self._change(self._changed(op, (facts, number)), scope.depth)
                if op.name in ops.ACCESSES:
                    results = self._access(op, (facts, number), used, scope)
                else:
                    results = self._computed(op, used, scope.depth)
            found |= zip(op.results, results, strict=True)
        return [self._of(value, found) for value in region.outputs]

    def _of(self, value: Value, found: Mapping[Value, int]) -> int:
        if not isinstance(value, Constant):
            return found[value]
        number = self.numbers.constant(value)
        if value.is_literal and value.dtype.kind in "iu" and not value.shape:
            self._offsets[number] = (_NOTHING, int(value.array))
        return number

    def _new(self, values: Sequence[Value], depth: int) -> list[int]:
        return [self._made(depth) for _ in values]

    def _made(self, depth: int) -> int:
        """A new number, of what is another in each iteration of so many loops."""
        number = self.numbers.new()
        self._depth[number] = depth
        return number

    def _varies(self, numbers: Iterable[int]) -> int:
        """The loops around what makes some values others in each iteration."""
        return max((self._depth.get(number, 0) for number in numbers), default=0)

    def _computed(self, op: Op, used: Sequence[int], depth: int) -> list[int]:
        if op.has_effects or not op.results or op.name == ops.ALLOCATE or ops.of(op).updates:
            return self._new(op.results, depth)
        results = self.numbers.results(op, sorted(used) if op.name in _COMMUTING else used)
        self._depth |= dict.fromkeys(results, self._varies(used))
        if op.name == "add":
            self._offsets[results[0]] = self._sum(results[0], op.results[0].dtype, *used)
        if op.name == "and":
            self._lanes[results[0]] = frozenset().union(*map(self._conditions, used))
        return results

    def _sum(self, number: int, dtype: Any, *addends: int) -> tuple[int, int]:
        """A sum of two values as what a constant is added to, and that constant, as a dtype has it."""
        for one, other in (addends, reversed(addends)):
            base, added = self._offset(one)
            if base == _NOTHING:
                rest, before = self._offset(other)
                return rest, _wrapped(before + added, np.dtype(dtype))
        return number, 0

    def _offset(self, number: int) -> tuple[int, int]:
        return self._offsets.get(number, (number, 0))

    def _conditions(self, mask: int) -> frozenset[int]:
        return self._lanes.get(mask, frozenset((mask,)))

    # --- What memories hold ---

    def _changed(self, op: Op, key: Key) -> Set[Allocation]:
        """The memories that an operation changes, or of which it lets others see or make changes."""
        memories = self._memories.get(key, ())
        if op.name in ops.ACCESSES:
            return set(memories) if ops.changes(op) else set()
        return {*self._changeable.intersection(memories), *(self._aliased if memories else ())}

    def _changed_in(self, op: Op, facts: Facts, number: int) -> Set[Allocation]:
        """Those of an operation with regions."""
        found: set[Allocation] = set()
        for region, inner in zip(op.regions, facts.inner[number], strict=True):
            for k, each in enumerate(region.ops):
                found |= self._changed_in(each, inner, k) if each.regions else self._changed(each, (inner, k))
        return found

    def _change(self, changed: Iterable[Allocation], depth: int) -> None:
        """Notes that memories change inside so many loops, and with them those that may be the same."""
        for memory in changed:
            for each in (memory, *(other for other in self._aliased if may_be_same(memory, other))):
                self._state[each] = _Contents(self._made(depth))

    def _access(self, op: Op, key: Key, used: Sequence[int], scope: _Scope) -> list[int]:
        results = self._new(op.results, scope.depth)
        if key not in self._memories or key in self.unused:
            return results
        (memory,), shape, mask = self._memories[key], op.attributes["access"].shape, ops.mask(op)
        found = dict(zip(op.used, used, strict=True))
        index = tuple(self._of(value, found) for value in ops.indices(op))
        lanes = frozenset[int]() if mask is None else self._conditions(self._of(mask, found))
        place = tuple(map(self._offset, index))
        base = _base(place, shape)
        if op.name == ops.LOAD:
            held = _Held(memory, self._state[memory].of(base), place, shape)
            return [self._load(key, held, _Holding(lanes, op.results[0], results[0]), scope)]
        if op.name == ops.STORE:
            before = self._state[memory]
            self._change([memory], scope.depth)
            self._state[memory] = before.after(self._made(scope.depth), base)
            held, value = _Held(memory, self._state[memory].of(base), place, shape), op.operands[1 + len(index)]
            stored = self._of(value, found)
            stored = stored if value.shape == shape else self.numbers.of(("broadcast", stored, shape))
            scope.available[held] = [_Holding(lanes, value, stored)] if value.dtype == memory.dtype else []
        return results

    def _load(self, key: Key, held: _Held, made: _Holding, scope: _Scope) -> int:
        """The number of what a load gives that is made where it is the first."""
        if (before := _of_lanes(scope.available, held, made.lanes)) is not None:
            self.never[key] = before.value
            return before.number if before.lanes == made.lanes else made.number
        self._depth[made.number] = self._varies((*held.base[1], *made.lanes, held.state))
        self._invariant(_Invariant(key, held, made.lanes), scope)
        scope.available.setdefault(held, []).append(made)
        return made.number

    def _state_of(self, contents: Mapping[Allocation, _Contents], held: _Held) -> int:
        return contents[held.memory].of(held.base)

    def _invariant(self, load: _Invariant, scope: _Scope) -> None:
        """Notes a load of a loop if its place is the same in all iterations."""
        varies = self._varies((*load.held.base[1], *load.lanes))
        if scope.loop is None or varies >= scope.depth:
            return
        if self._state_of(scope.loop.start, load.held) == load.held.state:
            scope.loop.invariant.append(load)

    # --- Operations with regions ---

    def _structured(self, op: Op, facts: Facts, number: int, used: Sequence[int], scope: _Scope) -> list[int]:
        structure, inner = control.of(op), facts.inner[number]
        if isinstance(structure, control.Call):
            return self.body(structure.body, inner[0], control.given(op, used, 0), scope)
        changed = self._changed_in(op, facts, number)
        if isinstance(structure, control.Cond):
            before = dict(self._state)
            for k, region in enumerate(op.regions):
                self.body(region, inner[k], control.given(op, used, k), scope.inner())
                self._state = dict(before)
        else:
            self._loop(op, facts, number, used, changed, scope)
        self._change(changed, scope.depth)
        return self._new(op.results, scope.depth)

    def _loop(
        self, op: Op, facts: Facts, number: int, used: Sequence[int], changed: Set[Allocation], scope: _Scope
    ) -> None:
        before, inner = dict(self._state), facts.inner[number]
        self._change(changed, scope.depth + 1)
        loop = _Loop(facts, inner[-1] in self._begun, before, dict(self._state))
        within = scope.inner(loop)
        for k, region in enumerate(op.regions):
            seen = control.seen(op, used, k)
            given = self._new(region.inputs, within.depth)
            kept = zip(region.inputs, region.outputs, strict=False) if region is op.regions[-1] else ()
            for at, (value, output) in enumerate(kept):
                given[at] = used[len(op.seen) + at] if value is output else given[at]
            self.body(region, inner[k], [*seen, *given], within)
        for load in loop.invariant:
            self._made_once(load, loop, within.available, scope)

    def _made_once(self, load: _Invariant, loop: _Loop, available: _Available, around: _Scope) -> None:
        """Notes a load that the first iteration makes alone, if its value is there at the end of an iteration, and
        not even that if it is there before the loop."""
        state, before = self._state_of(self._state, load.held), self._state_of(loop.before, load.held)
        last = _of_lanes(available, load.held._replace(state=state), load.lanes)
        if last is None:
            return
        first = _of_lanes(around.available, load.held._replace(state=before), load.lanes)
        if first is not None:
            self.never[load.key] = first.value
            return
        self.once[load.key] = loop.around
        if state == before and loop.certain:
            around.available.setdefault(load.held, []).append(last)
            self._invariant(load, around)


def _base(place: _Place, shape: tuple[int, ...]) -> _Base:
    return shape, tuple(number for number, _ in place)


def _wrapped(number: int, dtype: np.dtype[Any]) -> int:
    """What an integer of a dtype is that has gone beyond its ends."""
    if dtype.kind not in "iu":
        return number
    least = int(np.iinfo(dtype).min)
    return (number - least) % (1 << 8 * dtype.itemsize) + least


def _of_lanes(available: _Available, held: _Held, lanes: frozenset[int]) -> _Holding | None:
    """What is in the registers of all lanes for which some conditions hold."""
    return next((each for each in available.get(held, ()) if each.lanes <= lanes), None)
