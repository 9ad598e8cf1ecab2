"""Doubtful loads: those that one compiler may leave out and another not.

Which loads compilers leave out is told by a model (`repeated_loads`). Here are the least and the most that they may
leave out. Each leaves out what is accessed again in the same body, or in one inside it, where nothing came between; and
makes once what a loop loads from one place in each iteration, if it changes nothing of that memory, or stores to that
place alone. None leaves out what on no path, over all branches and iterations and whichever lanes take part, was
accessed before, be it by some iteration before that was at the place of this one; where a loop is written out, what a
loop inside it makes once may be there since an iteration before.
A load of which both say what the model says is certain, all others are doubtful.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from xeemu.cost.memory_steps import Branch, Change, Load, Loop, MemorySteps, Step, Store, accesses, bodies
from xeemu.cost.places import Family, Place, may_be_same
from xeemu.cost.unrolling import WRITTEN_OUT
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Facts
from xeemu.language.linearity import Allocation


def of_program(program: MemorySteps, redundant: Set[Key], never: Set[Key], once: Mapping[Key, Facts]) -> frozenset[Key]:
    """The doubtful loads of a program.

    Args:
      program: what it does.
      redundant: stores that some compiler leaves out.
      never: the loads that the model leaves out.
      once: those that it makes once in each execution of a body.
    """
    least, most = _Least(program), _Most(program, redundant)
    least.go(program.steps, {})
    most.go(program.steps, {})
    every = {step.key for step in accesses(program.steps) if isinstance(step, Load)}
    made_once = {key for key, around in once.items() if least.once.get(key) is around}
    made_once -= {key for key, by in most.found.items() if any(depth < least.depth.get(key, 0) for depth in by)}
    return frozenset(every - (least.never & never) - made_once - (every - most.found.keys() - never - once.keys()))


def _changed(step: Step) -> set[Allocation]:
    """The memories that a step changes."""
    changes = [each for each in accesses([step]) if not isinstance(each, Load)]
    return {each.memory if isinstance(each, Change) else each.place.family.memory for each in changes}


_Registers = dict[Place, tuple[frozenset[int], ...]]
"""What is in registers, by place: each time the conditions that lanes have met which have it."""


def _without(registers: _Registers, changed: Iterable[Place | Allocation]) -> _Registers:
    return {place: by for place, by in registers.items() if not any(may_be_same(each, place) for each in changed)}


class _Least:
    """What each compiler leaves out.

    Attributes:
      never: the loads that are never carried out.
      once: those that are once in each execution of a body, if not at all.
      depth: of the loop that makes them once, the loops around its steps.
    """

    def __init__(self, program: MemorySteps) -> None:
        self.never: set[Key] = set()
        self.once: dict[Key, Facts] = {}
        self.depth: dict[Key, int] = {}
        self._program = program

    def go(self, steps: Sequence[Step], registers: _Registers) -> None:
        for step in steps:
            if isinstance(step, Load):
                before = registers.get(step.place, ())
                if any(lanes <= step.lanes for lanes in before):
                    self.never.add(step.key)
                registers[step.place] = (*before, step.lanes)
                continue
            if isinstance(step, Loop):
                registers = self._repeat(step, registers)
                continue
            registers = _without(registers, [step.place] if isinstance(step, Store) else _changed(step))
            if isinstance(step, Store) and step.value is not None:
                registers[step.place] = (step.lanes,)
            for body in bodies(step):
                self.go(body, dict(registers))

    def _repeat(self, loop: Loop, registers: _Registers) -> _Registers:
        """Goes through a loop; gives what is in registers as an iteration begins."""
        changes = _changes(loop.steps)
        left = {place: lanes for place in registers if (lanes := _stored(place, changes)) is not None}
        start = {place: _on_both_paths(registers[place], lanes) for place, lanes in left.items()}
        self.go(loop.steps, dict(start))
        for load in _made_each_time(loop.steps):
            is_same = (
                load.lanes <= loop.lanes and self._program.varies((*load.place.family.bases, *load.lanes)) < loop.depth
            )
            if is_same and (lanes := _stored(load.place, changes)) is not None and lanes <= load.lanes:
                self.once[load.key], self.depth[load.key] = loop.around, loop.depth
        return start


def _on_both_paths(before: Sequence[frozenset[int]], stored: frozenset[int]) -> tuple[frozenset[int], ...]:
    """The conditions that lanes meet which have a place, be it from before a loop or stored in it.

    Where neither is part of the other, a lane that meets both has the place on each path, but no compiler need see it.
    """
    return tuple(each | stored for each in before if each <= stored or stored <= each)


def _changes(steps: Iterable[Step]) -> Mapping[Allocation, Sequence[Step]]:
    """By memory the steps that change it."""
    found: dict[Allocation, list[Step]] = {}
    for step in steps:
        for memory in _changed(step):
            found.setdefault(memory, []).append(step)
    return found


def _stored(place: Place, changes: Mapping[Allocation, Sequence[Step]]) -> frozenset[int] | None:
    """The conditions of stores to a place alone; None if others of some changes may be there."""
    steps = [step for memory in changes if may_be_same(memory, place) for step in changes[memory]]
    told = [s.lanes for s in steps if isinstance(s, Store) and s.value is not None and s.place == place]
    return frozenset[int]().union(*told) if len(told) == len(steps) else None


def _made_each_time(steps: Iterable[Step]) -> Iterator[Load]:
    """The loads that steps make whatever happens."""
    for step in steps:
        if isinstance(step, Load):
            yield step
        elif isinstance(step, Loop) and step.certain:
            yield from _made_each_time(step.steps)


def _have_common(one: Place, other: Place) -> bool:
    return one.family == other.family and not one.elements.isdisjoint(other.elements)


_NOT_WRITTEN_OUT = 1 << 30
_Before = dict[Place, frozenset[int]]
"""What may be in registers, by place: 0 if it has been accessed before in any case, and of each loop of which an
iteration may have it of the one before the depth, or more than any depth where compilers do not write the loop out."""


class _Most:
    """What some compiler may leave out.

    Attributes:
      found: the loads that it need not carry out each time, with how they may have been accessed before, as `_Before`.
    """

    def __init__(self, program: MemorySteps, redundant: Set[Key]) -> None:
        self.found: dict[Key, frozenset[int]] = {}
        self._program, self._redundant = program, redundant

    def go(self, steps: Sequence[Step], registers: _Before) -> _Before:
        """Goes through steps; gives what may be in registers after them."""
        for step in steps:
            if isinstance(step, Load):
                self._load(step, registers)
                registers[step.place] = frozenset({0})
            elif isinstance(step, Loop):
                registers = self._repeat(step, registers)
            elif isinstance(step, Branch):
                registers = _either([self.go(body, dict(registers)) for body in step.bodies])
            elif isinstance(step, Change) or step.key not in self._redundant:
                changed = step.place if isinstance(step, Store) else step.memory
                registers = {place: by for place, by in registers.items() if not may_be_same(changed, place)}
                if isinstance(step, Store) and step.value is not None:
                    registers[step.place] = frozenset({0})
        return registers

    def _load(self, load: Load, registers: _Before) -> None:
        for place, by in registers.items():
            if _have_common(load.place, place):
                self.found[load.key] = self.found.get(load.key, frozenset()) | by

    def _repeat(self, loop: Loop, registers: _Before) -> _Before:
        end = self.go(loop.steps, dict(registers))
        by = frozenset({loop.depth if loop.may_be_written_out else _NOT_WRITTEN_OUT})
        lasting = dict.fromkeys(self._still_there(end, loop), by)
        return _either([registers, end, self.go(loop.steps, _either([registers, lasting]))])

    def _still_there(self, end: Iterable[Place], loop: Loop) -> Iterator[Place]:
        """What later iterations may have of what one has accessed, by their bases."""
        loaded: dict[Family, set[tuple[int, ...]]] = {}
        for step in accesses(loop.steps):
            if not isinstance(step, Change):
                loaded.setdefault(step.place.family, set()).update(step.place.elements)
        for place in end:
            steps = self._program.advance(place.family, loop)
            if steps is not None and not any(steps):
                yield place
            elif steps is not None and place.family in loaded:
                reached = {e for e in loaded[place.family] if any(_is_later(e, old, steps) for old in place.elements)}
                yield place._replace(elements=frozenset(reached))


def _is_later(element: Sequence[int], old: Sequence[int], steps: Sequence[int]) -> bool:
    """True if an element is, in one of the next iterations, what the old one is in this one."""
    distances = [a - b for a, b in zip(old, element, strict=True)]
    iterations = next((d // step for d, step in zip(distances, steps, strict=True) if step), 0)
    return 0 < iterations <= WRITTEN_OUT and distances == [iterations * step for step in steps]


def _either(cases: Sequence[_Before]) -> _Before:
    """What may be in registers after any of some cases."""
    found: _Before = {}
    for case in cases:
        for place, by in case.items():
            found[place] = found.get(place, frozenset()) | by
    return found
