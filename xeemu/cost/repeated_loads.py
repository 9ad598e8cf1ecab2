"""Repeated loads: those whose value a work-item has in a register already.

It has what it has loaded from the same place, or stored there, if it did so for all lanes that load, and nothing was
stored since that may be the same memory, and nobody was met at a barrier. No compiler carries such a load out again,
but a volatile one: LLVM's EarlyCSE and GVN, of which NVIDIA's and Intel's compilers are made, replace it. A load in a
loop whose place is the same in each iteration is made in the first one alone, if its value is there at the end of an
iteration too.

What is decided here is decided once, of a program: what is known of a launch obeys it, and so does what a run counts.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from xeemu.cost import first_iterations
from xeemu.cost.memory_contents import Contents, Held, Place, base_of
from xeemu.cost.sums import Sum, Sums
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge.access_tree import AccessTree, Key, Node, Operation
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.value_numbering import Numbers
from xeemu.language.linearity import Allocation, may_be_same
from xeemu.language.primitives import Access

_LESS, _GREATER = ("lt", "le"), ("gt", "ge")
_ZERO = Sum(frozenset(), 0)
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
    held: Held
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
      stored: the places so far that the body stores to.
    """

    around: Facts
    certain: bool
    before: Mapping[Allocation, Contents]
    start: Mapping[Allocation, Contents]
    invariant: list[_Invariant] = dataclasses.field(default_factory=list)
    stored: set[tuple[Allocation, Place]] = dataclasses.field(default_factory=set)


_Available = dict[Held, list[_Holding]]


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
        self.unused, self.numbers, self._rank = unused, Numbers(), len(tree.geometry.local_range)
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
        self._state = {memory: Contents(self.numbers.new()) for memory in every}
        self._depth: dict[int, int] = {}  # by number the loops around what makes it another one in each iteration
        self._sums = Sums(self.numbers, self._depth)
        self._lanes: dict[int, frozenset[int]] = {}  # by number of a mask, or its 0 and 1, what all holds if it does
        self._otherwise_zero: dict[int, frozenset[int]] = {}  # by number the conditions without which it is 0
        self._less: dict[int, Sum] = {}  # by number of a condition what is less than 0, or not more, if it holds

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
        return self._sums.constant(value)

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
        if (number := self._sums.result(op, used)) is not None:
            results = [number]
        else:
            results = self.numbers.results(op, sorted(used) if op.name in _COMMUTING else used)
            self._depth |= dict.fromkeys(results, self._varies(used))
        if (conditions := self._all_of(op, used)) is not None:
            self._lanes[results[0]] = conditions
        if op.name == "select_n" and self._sums.of(used[1]) == _ZERO:
            self._otherwise_zero[results[0]] = self._conditions(used[0])
        if op.name == "lt" and op.merges:  # the number of an iteration, which is not below 0, and how many there are
            self._lanes[results[0]] = self._otherwise_zero.get(used[1], frozenset()).union(results)
        if op.name in (*_LESS, *_GREATER):
            self._less[results[0]] = self._sums.difference(*(used if op.name in _LESS else used[::-1]))
        return results

    def _all_of(self, op: Op, used: Sequence[int]) -> frozenset[int] | None:
        """The conditions that all hold where what an operation gives is true, or 1 where C has 0 and 1 for it."""
        if op.name == "ne" and self._sums.of(used[1]) == _ZERO:
            used = used[:1]
        elif op.name not in ("and", "broadcast_in_dim", "convert_element_type"):
            return None
        found = frozenset[int]()
        for value, number in zip(op.operands, used, strict=False):
            if value.dtype != np.bool_ and number not in self._lanes:
                return None
            found |= self._conditions(number)
        return found

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
                self._state[each] = Contents(self._made(depth))

    def _access(self, op: Op, key: Key, used: Sequence[int], scope: _Scope) -> list[int]:
        results = self._new(op.results, scope.depth)
        access: Access = op.attributes["access"]
        if key not in self._memories or key in self.unused or (access.volatile and op.name == ops.LOAD):
            return results
        (memory,), mask = self._memories[key], ops.mask(op)
        found = dict(zip(op.used, used, strict=True))
        index = tuple(self._of(value, found) for value in ops.indices(op))
        lanes = frozenset[int]() if mask is None else self._conditions(self._of(mask, found))
        # A load of one place by all is a scalar, and a store there one by each work-item.
        shape = access.shape[self._rank :]
        place = tuple(self._sums.place(number, math.prod(shape)) for number in index)
        base = base_of(place, shape)
        if op.name == ops.LOAD:
            held = Held(memory, self._state[memory].of(base, place), place, shape)
            return [self._load(key, held, _Holding(lanes, op.results[0], results[0]), scope)]
        if op.name == ops.STORE:
            before = self._state[memory]
            self._change([memory], scope.depth)
            self._state[memory] = before.after(self._made(scope.depth), base, place)
            held, value = Held(memory, self._state[memory].of(base, place), place, shape), op.operands[1 + len(index)]
            stored = self._of(value, found)
            stored = stored if value.shape == access.shape else self.numbers.of(("broadcast", stored, access.shape))
            if scope.loop is not None:
                scope.loop.stored.add((memory, place))
            is_kept = value.dtype == memory.dtype and not access.volatile
            scope.available[held] = [_Holding(lanes, value, stored)] if is_kept else []
        return results

    def _load(self, key: Key, held: Held, made: _Holding, scope: _Scope) -> int:
        """The number of what a load gives that is made where it is the first."""
        if (before := _of_lanes(scope.available, held, made.lanes)) is not None:
            self.never[key] = before.value
            return before.number if before.lanes == made.lanes else made.number
        self._depth[made.number] = self._varies((*held.base[1], *made.lanes, held.state))
        self._invariant(_Invariant(key, held, made.lanes), scope)
        scope.available.setdefault(held, []).append(made)
        return made.number

    def _state_of(self, contents: Mapping[Allocation, Contents], held: Held) -> int:
        return contents[held.memory].of(held.base, held.place)

    def _invariant(self, load: _Invariant, scope: _Scope) -> None:
        """Notes a load of a loop if its place is the same in all iterations."""
        if scope.loop is None or self._varies(load.held.base[1]) >= scope.depth:
            return
        is_stored = (load.held.memory, load.held.place) in scope.loop.stored
        if not is_stored and self._state_of(scope.loop.start, load.held) == load.held.state:
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
            self._change(changed, scope.depth)
        else:
            left = self._loop(op, facts, number, used, changed, scope)
            self._change(changed, scope.depth)
            for held, holding in left:
                state = self._state_of(self._state, held)
                scope.available.setdefault(held._replace(state=state), []).append(holding)
        return self._new(op.results, scope.depth)

    def _loop(
        self, op: Op, facts: Facts, number: int, used: Sequence[int], changed: Set[Allocation], scope: _Scope
    ) -> Sequence[tuple[Held, _Holding]]:
        """Goes through a loop's body; gives what its last iteration leaves in registers of what it changes."""
        before, inner, following = dict(self._state), facts.inner[number], dict[int, int]()
        self._change(changed, scope.depth + 1)
        loop = _Loop(facts, inner[-1] in self._begun, before, dict(self._state))
        within = scope.inner(loop)
        for k, region in enumerate(op.regions):
            seen = control.seen(op, used, k)
            given = self._new(region.inputs, within.depth)
            kept = zip(region.inputs, region.outputs, strict=False) if region is op.regions[-1] else ()
            for at, (value, output) in enumerate(kept):
                given[at] = used[len(op.seen) + at] if value is output else given[at]
            following = dict(zip(given, self.body(region, inner[k], [*seen, *given], within), strict=False))
        lasting = [
            self._made_once(load, loop, within, self._met_before(load.lanes, following, within.depth), scope)
            for load in loop.invariant
        ]
        for load, last in zip(loop.invariant, lasting, strict=True):
            if last is not None and loop.certain:
                scope.available.setdefault(load.held, []).append(last)
        return self._left(within, changed) if loop.certain else ()

    def _left(self, within: _Scope, changed: Set[Allocation]) -> Sequence[tuple[Held, _Holding]]:
        """What a body leaves in registers of places in such memories that are the same in all iterations."""
        return [
            (held, holding)
            for held, holdings in within.available.items()
            if held.memory in changed and held.state == self._state_of(self._state, held)
            for holding in holdings
            if self._varies((*held.base[1], *holding.lanes)) < within.depth
        ]

    def _met_before(self, lanes: Iterable[int], following: Mapping[int, int], depth: int) -> frozenset[int]:
        """The conditions that lanes have met in the iteration before, if they meet some in another one.

        Args:
          lanes: these.
          following: by number of what an iteration is given what it gives to the next one.
          depth: the loops around the body.
        """
        found = set[int]()
        for condition in lanes:
            if condition in following:
                found |= self._conditions(following[condition])
            elif self._varies([condition]) < depth or self._only_ends(condition, following, depth):
                found.add(condition)
        return frozenset(found)

    def _only_ends(self, condition: int, following: Mapping[int, int], depth: int) -> bool:
        """True of a condition that does not hold again once it does not: of a counter that goes on to an end."""
        if condition not in self._less:
            return False
        varying = [term for term in self._less[condition].terms if self._varies([term[0]]) >= depth]
        steps = [(self._sums.step(number, following.get(number)), factor) for number, factor in varying]
        return all(step is not None and step * factor > 0 for step, factor in steps)

    def _made_once(
        self, load: _Invariant, loop: _Loop, within: _Scope, met_before: frozenset[int], around: _Scope
    ) -> _Holding | None:
        """Notes a load that the first iteration makes alone, if its value is there at the end of an iteration, and
        not even that if it is there before the loop; gives what is there after iterations of what was there before."""
        state, before = self._state_of(self._state, load.held), self._state_of(loop.before, load.held)
        last = _of_lanes(within.available, load.held._replace(state=state), met_before)
        if last is None:
            return None
        first = _of_lanes(around.available, load.held._replace(state=before), load.lanes)
        if first is not None:
            self.never[load.key] = first.value
            return None
        self.once[load.key] = loop.around
        self._invariant(load._replace(held=load.held._replace(state=before)), around)
        return last if state == before else None


def _of_lanes(available: _Available, held: Held, lanes: frozenset[int]) -> _Holding | None:
    """What is in the registers of all lanes for which some conditions hold."""
    return next((each for each in available.get(held, ()) if each.lanes <= lanes), None)
