"""Repeated loads: those whose value a work-item has in a register already.

It has what it has loaded from the same place, or stored there, if it did so for all lanes that load on each way that
leads here, and nothing was stored since that may be the same place, and nobody was met at a barrier. No compiler
carries such a load out again, but a volatile one: LLVM's EarlyCSE and GVN, which are in NVIDIA's and Intel's compilers,
replace it. A load in a loop whose place is the same in each iteration is made in the first one alone, if its
value is there at the end of an iteration too.

What is decided here is decided once, of a program: what is known of a launch obeys it, and so does what a run counts.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from xeemu.cost import doubtful_loads, first_iterations, overwritten_stores, redundant_stores
from xeemu.cost.memory_steps import Branch, Change, Load, Loop, MemorySteps, Step, Store
from xeemu.cost.places import Family, Place, may_be_same
from xeemu.ir.program import Value
from xeemu.knowledge.access_tree import AccessTree, Key, MemoryOperation
from xeemu.knowledge.analysis import Facts
from xeemu.language.linearity import Allocation


class RepeatedLoads(NamedTuple):
    """The loads of a program that are not carried out each time.

    Attributes:
      never: those that are never, each with the value that it would give once more; its own if that is in parts.
      once: those that are made once in each execution of a body around them, named by its call path: in the first
        iterations of the loops between, by each group that comes to them.
      doubtful: loads of which a compiler may leave out more or fewer, and stores of which one may.
    """

    never: Mapping[Key, Value]
    once: Mapping[Key, Facts]
    doubtful: frozenset[Key]


def of_tree(tree: AccessTree, unused: Set[Key]) -> RepeatedLoads:
    """The repeated loads of a program, without those that nobody uses."""
    program = MemorySteps(tree, unused)
    analysis = _Analysis(program)
    analysis.body(program.steps, _Registers(), _Body(0))
    redundant = redundant_stores.of_program(program)
    doubtful = redundant | doubtful_loads.of_program(program, redundant, analysis.never.keys(), analysis.once)
    doubtful |= overwritten_stores.of_program(program, analysis.never.keys() | doubtful)
    return RepeatedLoads(analysis.never, analysis.once, doubtful)


def carried_out(operation: MemoryOperation, repeated: RepeatedLoads) -> MemoryOperation | None:
    """An operation with the executions in which it is carried out; None if that is never.

    One of which that is doubtful has none, but is told.
    """
    if operation.key in repeated.never:
        return operation.within(()) if operation.key in repeated.doubtful else None
    around = repeated.once.get(operation.key)
    return operation if around is None else first_iterations.of_operation(operation, around)


class _Holding(NamedTuple):
    """What is in a register.

    Attributes:
      lanes: numbers of the conditions for a lane to have it.
      value: the value that was loaded or stored.
    """

    lanes: frozenset[int]
    value: Value


_Held = dict[frozenset[tuple[int, ...]], tuple[_Holding, ...]]


class _Registers:
    """What work-items have in registers: by family the elements of an access, with what holds them."""

    def __init__(self) -> None:
        self._held: dict[Family, _Held] = {}

    def copy(self) -> "_Registers":
        copied = _Registers()
        copied._held = {family: dict(held) for family, held in self._held.items()}
        return copied

    def have(self, place: Place, lanes: frozenset[int]) -> bool:
        """True if all lanes for which some conditions hold have all elements of a place."""
        held = self._held.get(place.family, {})
        there = (elements for elements, each in held.items() if any(holding.lanes <= lanes for holding in each))
        return place.elements.issubset(itertools.chain.from_iterable(there))

    def value(self, place: Place, lanes: frozenset[int]) -> Value | None:
        """What these lanes have of a place, if one register holds it."""
        held = self._held.get(place.family, {}).get(place.elements, ())
        return next((each.value for each in held if each.lanes <= lanes), None)

    def add(self, place: Place, holding: _Holding) -> None:
        held = self._held.setdefault(place.family, {})
        held[place.elements] = (*held.get(place.elements, ()), holding)

    def drop(self, changed: Place | Allocation) -> None:
        """Forgets what may have changed."""
        for family, held in list(self._held.items()):
            kept = {e: each for e, each in held.items() if not may_be_same(changed, Place(family, e))}
            self._held[family] = kept

    def also_in(self, other: "_Registers") -> "_Registers":
        """What others have too."""
        both = _Registers()
        for place, holding in self.items():
            if other.have(place, holding.lanes):
                both.add(place, holding)
        return both

    def items(self) -> Sequence[tuple[Place, _Holding]]:
        return [
            (Place(family, elements), each)
            for family, held in self._held.items()
            for elements, holdings in held.items()
            for each in holdings
        ]


class _Body:
    """A body that is executed whenever the loop that it is of has an iteration.

    Attributes:
      depth: loops around it.
      changed: the places and memories so far that may have changed since an iteration began.
      invariant: the loads so far from one place in all iterations, which nothing has changed before.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.changed: list[Place | Allocation] = []
        self.invariant: list[Load] = []


class _Analysis:
    """Finds what is available at each load, by the steps of a program."""

    def __init__(self, program: MemorySteps) -> None:
        self._program = program
        self.never: dict[Key, Value] = {}
        self.once: dict[Key, Facts] = {}

    def body(self, steps: Sequence[Step], registers: _Registers, body: _Body) -> _Registers:
        """Goes through steps; gives what is in registers after them."""
        for step in steps:
            match step:
                case Load():
                    self._load(step, registers, body)
                case Store(_, place, lanes, value):
                    self._change(place, registers, body)
                    if value is not None:
                        registers.add(place, _Holding(lanes, value))
                case Change(memory):
                    self._change(memory, registers, body)
                case Branch(bodies):
                    registers = self._branch(bodies, registers, body)
                case Loop():
                    registers = self._loop(step, registers, body)
        return registers

    def _change(self, changed: Place | Allocation, registers: _Registers, body: _Body) -> None:
        registers.drop(changed)
        body.changed.append(changed)

    def _load(self, load: Load, registers: _Registers, body: _Body) -> None:
        if registers.have(load.place, load.lanes):
            self._leave_out(load, registers)
            return
        self._note(load, body)
        registers.add(load.place, _Holding(load.lanes, load.value))

    def _leave_out(self, load: Load, registers: _Registers) -> None:
        value = registers.value(load.place, load.lanes)
        self.never[load.key] = load.value if value is None else value

    def _note(self, load: Load, body: _Body) -> None:
        """Notes a load of a loop if its place is the same in all iterations."""
        is_invariant = self._program.varies(load.place.family.bases) < body.depth
        if is_invariant and not any(may_be_same(changed, load.place) for changed in body.changed):
            body.invariant.append(load)

    def _branch(self, bodies: Iterable[Sequence[Step]], registers: _Registers, body: _Body) -> _Registers:
        after: _Registers | None = None
        for steps in bodies:
            inner = _Body(0)
            left = self.body(steps, registers.copy(), inner)
            body.changed += inner.changed
            after = left if after is None else after.also_in(left)
        return registers if after is None else after

    def _loop(self, loop: Loop, before: _Registers, around: _Body) -> _Registers:
        """What is there after a loop. As an iteration begins is what is both before the loop and after an iteration."""
        start, noted = before, (dict(self.never), dict(self.once))
        while True:
            inner = _Body(loop.depth)
            end = self.body(loop.steps, start.copy(), inner)
            still = start.also_in(end)
            if len(still.items()) == len(start.items()):
                break
            start, self.never, self.once = still, dict(noted[0]), dict(noted[1])
        for load in inner.invariant:
            self._made_once(load, loop, before, end, around)
        around.changed += inner.changed
        for place, holding in end.items() if loop.certain else ():
            if self._program.varies((*place.family.bases, *holding.lanes)) < loop.depth:
                start.add(place, holding)
        return start

    def _made_once(self, load: Load, loop: Loop, before: _Registers, end: _Registers, around: _Body) -> None:
        """Notes a load that the first iteration makes alone, if its value is there at the end of an iteration, and
        not even that if it is there before the loop."""
        if not end.have(load.place, self._program.met_before(load.lanes, loop)):
            return
        if before.have(load.place, load.lanes):
            self._leave_out(load, before)
            return
        self.once[load.key] = loop.around
        self._note(load, around)
