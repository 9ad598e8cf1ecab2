"""Memory steps: what a program does to its memories, in order, each place and mask with a number.

Equal numbers are equal values, as LLVM's GVN numbers them: what is computed in one way from equal values is equal, and
so is what is loaded from one place while nothing that may be there changes.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from xeemu.cost import first_iterations
from xeemu.cost.copies import Copies
from xeemu.cost.places import Family, Place
from xeemu.cost.sums import Sum, Sums
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import induction
from xeemu.knowledge.access_tree import AccessTree, Key, MemoryOperation, Node
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.value_numbering import Numbers
from xeemu.language.linearity import Allocation, may_be_same

_LESS, _GREATER = ("lt", "le"), ("gt", "ge")
_ZERO = Sum(frozenset(), 0)
_COMMUTING = ("add", "mul", "and", "or", "xor", "max", "min")


class Load(NamedTuple):
    """A load that need not be carried out if its value is known.

    Attributes:
      key: names it.
      place: of its elements.
      lanes: numbers of the conditions that lanes meet which take part.
      value: what it gives.
      number: the value's.
    """

    key: Key
    place: Place
    lanes: frozenset[int]
    value: Value
    number: int


class Store(NamedTuple):
    """A store.

    Attributes:
      key: names it.
      place: of its elements.
      lanes: numbers of the conditions that lanes meet which take part.
      value: what a load of the place would give; None if that is not told.
      number: of the value that is stored.
      volatile: it is carried out each time.
    """

    key: Key
    place: Place
    lanes: frozenset[int]
    value: Value | None
    number: int
    volatile: bool


class Change(NamedTuple):
    """Whatever else may change a memory, anywhere in it, or lets others do so."""

    memory: Allocation


class Branch(NamedTuple):
    """Bodies of which one is executed."""

    bodies: Sequence["Sequence[Step]"]


class Loop(NamedTuple):
    """A loop.

    Attributes:
      steps: of an iteration.
      depth: loops around these steps, with this one.
      around: the call path of the body that it stands in.
      lanes: numbers of the conditions that lanes meet which come to it.
      certain: true if it has an iteration each time.
      iterations: how many it has, so that a compiler may write it out; None if no constants tell.
      following: by number of what an iteration is given what it gives to the next one.
    """

    steps: "Sequence[Step]"
    depth: int
    around: Facts
    lanes: frozenset[int]
    certain: bool
    iterations: int | None
    following: Mapping[int, int]

    @property
    def may_be_written_out(self) -> bool:
        """True if a compiler may write its iterations one after the other, and there are several."""
        return self.iterations is not None and self.iterations > 1


Step = Load | Store | Change | Branch | Loop


def bodies(step: Step) -> Sequence[Sequence[Step]]:
    """The bodies of a step, none if it is an access."""
    if isinstance(step, Loop):
        return (step.steps,)
    return step.bodies if isinstance(step, Branch) else ()


def accesses(steps: Iterable[Step]) -> Iterator[Load | Store | Change]:
    """The accesses and changes among steps and in their bodies, in the order of the program."""
    for step in steps:
        if isinstance(step, Load | Store | Change):
            yield step
        for body in bodies(step):
            yield from accesses(body)


class _Scope(NamedTuple):
    """Where a region stands.

    Attributes:
      steps: those so far.
      depth: loops around it.
      lanes: numbers of the conditions that lanes meet which come to it.
    """

    steps: list[Step]
    depth: int = 0
    lanes: frozenset[int] = frozenset()


class MemorySteps:
    """Goes through the regions of a program in order, each call path once.

    Args:
      tree: the program.
      unused: loads that nobody uses, which are no steps.

    Attributes:
      steps: those of the program.
    """

    def __init__(self, tree: AccessTree, unused: Set[Key]) -> None:
        self._unused, self._numbers, self._rank = unused, Numbers(), len(tree.geometry.local_range)
        self._begun = first_iterations.begun(tree.root)
        self._memories: dict[Key, Sequence[Allocation]] = {}
        for step in (step for node in tree.root.nodes() for step in node.steps):
            if not isinstance(step, Node):
                self._memories[step.key] = (
                    [step.access_site.memory] if isinstance(step, MemoryOperation) else step.memories
                )
        every = {memory for memories in self._memories.values() for memory in memories}
        self._changeable = {o.access_site.memory for o in tree.root.operations() if o.changes}
        self._aliased = [memory for memory in every if memory.may_alias]
        self._last = {memory: self._numbers.new() for memory in every}  # numbers of the last changes
        self._depth: dict[int, int] = {}  # by number the loops around what makes it another one in each iteration
        self._sums = Sums(self._numbers, self._depth, self._rank)
        self._lanes: dict[int, frozenset[int]] = {}  # by number of a mask, or its 0 and 1, what all holds if it does
        self._otherwise_zero: dict[int, frozenset[int]] = {}  # by number the conditions without which it is 0
        self._copies = Copies()
        self._less: dict[int, Sum] = {}  # by number of a condition what is less than 0, or not more, if it holds
        self.steps: list[Step] = []
        given = [self._numbers.new() for _ in tree.root.body.all_inputs]
        self._body(tree.root.body, tree.root.facts, given, _Scope(self.steps))

    def _body(self, region: Region, facts: Facts, given: Sequence[int], scope: _Scope) -> list[int]:
        """Goes through a region, of whose taken values the numbers are given; gives those of its outputs."""
        found: dict[Value, int] = dict(zip(region.all_inputs, given, strict=True))
        for number, op in enumerate(region.ops):
            used = [self._of(value, found) for value in op.used]
            if op.name == ops.REGION:
                scope = scope._replace(lanes=self._conditions(used[0]))
            if control.of(op) is not None:
                results = self._structured(op, facts, number, used, scope)
            elif op.name in ops.ACCESSES:
                results = self._access(op, (facts, number), used, scope)
            else:
                if (facts, number) in self._memories:
                    self._change(self._changed(op, (facts, number)), scope)
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
        number = self._numbers.new()
        self._depth[number] = depth
        return number

    def varies(self, numbers: Iterable[int]) -> int:
        """The loops around what makes some values others in each iteration."""
        return max((self._depth.get(number, 0) for number in numbers), default=0)

    def _computed(self, op: Op, used: Sequence[int], depth: int) -> list[int]:
        if op.has_effects or not op.results or op.name == ops.ALLOCATE or ops.of(op).updates:
            return self._new(op.results, depth)
        if (number := self._sums.result(op, used)) is not None:
            results = [number]
        else:
            results = self._numbers.results(op, sorted(used) if op.name in _COMMUTING else used)
            self._depth |= dict.fromkeys(results, self.varies(used))
        if (conditions := self._all_of(op, used)) is not None:
            self._lanes[results[0]] = conditions
        if used:
            self._copies.note(op, used, results[0], self._conditions(used[0]))
        if op.name == "select_n" and self._sums.of(used[1]) == _ZERO:
            self._otherwise_zero[results[0]] = self._conditions(used[0])
        if op.name == "lt" and op.merges:  # the number of an iteration, which is not below 0, and how many there are
            self._lanes[results[0]] = self._otherwise_zero.get(used[1], frozenset()).union(results)
        if op.name in (*_LESS, *_GREATER):
            self._less[results[0]] = self._sums.difference(*(used if op.name in _LESS else used[::-1]))
        return results

    # --- Masks ---

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

    def advance(self, family: Family, loop: Loop) -> tuple[int, ...] | None:
        """By how much the bases of places grow from an iteration of a loop to the next; None if that is not known."""
        steps = [self._sums.advance(base, loop.following, loop.depth) for base in family.bases]
        known = [step for step in steps if step is not None]
        return tuple(known) if len(known) == len(steps) else None

    def met_before(self, lanes: Iterable[int], loop: Loop) -> frozenset[int]:
        """The conditions that lanes have met in the iteration of a loop before one in which they meet some."""
        found = set[int]()
        for condition in lanes:
            if condition in loop.following:
                found |= self._conditions(loop.following[condition])
            elif self.varies([condition]) < loop.depth or self._only_ends(condition, loop):
                found.add(condition)
        return frozenset(found)

    def _only_ends(self, condition: int, loop: Loop) -> bool:
        """True of a condition that does not hold again once it does not: of a counter that goes on to an end."""
        if condition not in self._less:
            return False
        varying = [term for term in self._less[condition].terms if self.varies([term[0]]) >= loop.depth]
        steps = [(self._sums.step(number, loop.following.get(number)), factor) for number, factor in varying]
        return all(step is not None and step * factor > 0 for step, factor in steps)

    # --- Changes and accesses ---

    def _changed(self, op: Op, key: Key) -> Set[Allocation]:
        """The memories that an operation changes, or of which it lets others see or make changes."""
        memories = self._memories.get(key, ())
        if op.name in ops.ACCESSES:
            return set(memories) if ops.changes(op) else set()
        return {*self._changeable.intersection(memories), *(self._aliased if key in self._memories else ())}

    def _changed_in(self, op: Op, facts: Facts, number: int) -> Set[Allocation]:
        """Those of an operation with regions."""
        found: set[Allocation] = set()
        for region, inner in zip(op.regions, facts.inner[number], strict=True):
            for k, each in enumerate(region.ops):
                found |= self._changed_in(each, inner, k) if each.regions else self._changed(each, (inner, k))
        return found

    def _change(self, changed: Set[Allocation], scope: _Scope) -> None:
        scope.steps.extend(map(Change, changed))
        self._renew(changed, scope.depth)

    def _renew(self, changed: Iterable[Allocation], depth: int) -> None:
        """Notes that memories change inside so many loops, and with them those that may be the same."""
        for memory in changed:
            for each in (memory, *(other for other in self._aliased if may_be_same(memory, other))):
                self._last[each] = self._made(depth)

    def _access(self, op: Op, key: Key, used: Sequence[int], scope: _Scope) -> list[int]:
        results, access = self._new(op.results, scope.depth), op.attributes["access"]
        changed = self._changed(op, key)
        if op.name not in (ops.LOAD, ops.STORE):
            self._change(changed, scope)
        elif key in self._memories and key not in self._unused:
            found = dict(zip(op.used, used, strict=True))
            place, mask = self._place(op, key, found), ops.mask(op)
            lanes = frozenset[int]() if mask is None else self._conditions(self._of(mask, found))
            self._renew(changed, scope.depth)
            if op.name == ops.STORE:
                value = op.operands[1 + access.rank]
                is_told = value.dtype == place.family.memory.dtype and not access.volatile
                stored, number = (value if is_told else None), self._stored(value, found, lanes)
                scope.steps.append(Store(key, place, lanes, stored, number, access.volatile))
            elif not access.volatile:
                number = self._loaded(place, lanes)
                scope.steps.append(Load(key, place, lanes, op.results[0], number))
                return [number]
        return results

    def _place(self, op: Op, key: Key, found: Mapping[Value, int]) -> Place:
        (memory,), private = self._memories[key], op.attributes["access"].shape[self._rank :]
        index = [(self._of(value, found), value.shape) for value in ops.indices(op)]
        components = [self._sums.component(number, shape, private) for number, shape in index]
        known = [component for component in components if component is not None]
        if len(known) < len(components):  # some elements, the same ones for the same index alone
            number = self._numbers.of(("elements", tuple(index), private))
            self._depth[number] = self.varies([each for each, _ in index])
            return Place(Family(memory, (number,)), frozenset({()}))
        elements = (tuple(c.constant + c.step * k for c in known) for k in range(math.prod(private)))
        return Place(Family(memory, tuple(c.base for c in known)), frozenset(elements))

    def _stored(self, value: Value, found: Mapping[Value, int], lanes: frozenset[int]) -> int:
        """The number of what lanes store that meet some conditions."""
        if isinstance(value, Constant) and value.array.size and (value.array == value.array.flat[0]).all():
            return self._numbers.of(("stored", str(value.dtype), value.array.flat[0].tobytes()))
        return self._copies.of(self._of(value, found), lanes)

    def _loaded(self, place: Place, lanes: frozenset[int]) -> int:
        """The number of what a load gives now."""
        last = self._last[place.family.memory]
        number = self._numbers.of(("loaded", place, lanes, last))
        self._depth[number] = self.varies((*place.family.bases, *lanes, last))
        return number

    # --- Operations with regions ---

    def _structured(self, op: Op, facts: Facts, number: int, used: Sequence[int], scope: _Scope) -> list[int]:
        structure, inner = control.of(op), facts.inner[number]
        if isinstance(structure, control.Call):
            return self._body(structure.body, inner[0], control.region_operands(op, used, 0), scope)
        changed = self._changed_in(op, facts, number)
        if isinstance(structure, control.Cond):
            before, bodies = self._last, [list[Step]() for _ in op.regions]
            for k, region in enumerate(op.regions):
                self._last = dict(before)
                self._body(region, inner[k], control.region_operands(op, used, k), scope._replace(steps=bodies[k]))
            scope.steps.append(Branch(bodies))
        else:
            inner_scope = _Scope([], scope.depth + 1, scope.lanes)
            scope.steps.append(self._loop(op, facts, number, used, changed, inner_scope))
        self._renew(changed, scope.depth)
        return self._new(op.results, scope.depth)

    def _loop(
        self, op: Op, facts: Facts, number: int, used: Sequence[int], changed: Set[Allocation], scope: _Scope
    ) -> Loop:
        self._renew(changed, scope.depth)
        inner, following = facts.inner[number], dict[int, int]()
        for k, region in enumerate(op.regions):
            seen = control.region_captures(op, used, k)
            given = self._new(region.inputs, scope.depth)
            kept = zip(region.inputs, region.outputs, strict=False) if region is op.regions[-1] else ()
            for at, (value, output) in enumerate(kept):
                given[at] = used[len(op.captures) + at] if value is output else given[at]
            outputs = self._body(region, inner[k], [*seen, *given], scope)
            following = dict(zip(given, outputs, strict=False))
        iterations = induction.iterations(facts, number)
        return Loop(scope.steps, scope.depth, facts, scope.lanes, inner[-1] in self._begun, iterations, following)
