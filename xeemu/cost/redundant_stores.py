"""Redundant stores: those that some compiler leaves out, as the place holds already what they store.

All are counted as they are written. LLVM leaves out a store of what was loaded from its place, or stored there, if
nothing that may be there was stored since (EarlyCSE, DSE); some compiler may see that on each of several paths, and in
the iterations of a loop that it writes out. A redundant store changes nothing: what was known of other places is known
after it.
"""

from collections.abc import Mapping, Sequence

from xeemu.cost.memory_steps import Branch, Change, Load, Loop, MemorySteps, Step, Store
from xeemu.cost.places import Place, may_be_same
from xeemu.knowledge.access_tree import Key
from xeemu.language.linearity import Allocation

_Told = tuple[frozenset[int], int]
"""The conditions that lanes meet whose place holds a value, and the value's number."""

_Held = Mapping[Place, frozenset[_Told]]
"""What is told of the values that places hold."""


def of_program(program: MemorySteps) -> frozenset[Key]:
    """The redundant stores of a program."""
    analysis = _Analysis(program)
    analysis.go(program.steps, {})
    return frozenset(analysis.found)


class _Analysis:
    """Goes through steps in order.

    Attributes:
      found: the redundant stores.
    """

    def __init__(self, program: MemorySteps) -> None:
        self.found: set[Key] = set()
        self._program = program

    def go(self, steps: Sequence[Step], held: _Held) -> _Held:
        """What places hold after steps, if they hold some values before."""
        for step in steps:
            match step:
                case Load(_, place, lanes, _, number):
                    held = {**held, place: held.get(place, frozenset()) | {(lanes, number)}}
                case Store():
                    held = self._store(step, held)
                case Change(memory):
                    held = _without(held, memory)
                case Branch(bodies):
                    held = _on_all([self.go(body, held) for body in bodies])
                case Loop():
                    held = self._loop(step, held)
        return held

    def _store(self, store: Store, held: _Held) -> _Held:
        told = held.get(store.place, frozenset())
        if store.value is not None and _has(told, store.lanes, store.number):
            self.found.add(store.key)
            return held
        held = _without(held, store.place)
        return held if store.value is None else {**held, store.place: frozenset({(store.lanes, store.number)})}

    def _loop(self, loop: Loop, before: _Held) -> _Held:
        """What places hold after a loop. As an iteration begins it is what they hold both before and after one; where
        a compiler may write the loop out, each iteration after the first sees what the one before it leaves."""
        if loop.may_be_written_out:
            first = self._alike(self.go(loop.steps, before), loop)
            return self._alike(self.go(loop.steps, first), loop)
        start, found = before, set(self.found)
        while (still := _on_both(start, end := self.go(loop.steps, start))) != start:
            start, self.found = still, set(found)
        return _either(start, self._alike(end, loop)) if loop.certain else start

    def _alike(self, held: _Held, loop: Loop) -> _Held:
        """What is the same in each iteration of a loop."""
        found = {
            place: frozenset((lanes, n) for lanes, n in by if self._program.varies((*lanes, n)) < loop.depth)
            for place, by in held.items()
            if self._program.varies(place.family.bases) < loop.depth
        }
        return {place: by for place, by in found.items() if by}


def _has(told: frozenset[_Told], lanes: frozenset[int], number: int) -> bool:
    """True if all lanes for which some conditions hold have a value."""
    return any(each <= lanes and number == stored for each, stored in told)


def _without(held: _Held, changed: Place | Allocation) -> _Held:
    return {place: by for place, by in held.items() if not may_be_same(changed, place)}


def _either(one: _Held, other: _Held) -> _Held:
    return {place: one.get(place, frozenset()) | other.get(place, frozenset()) for place in {**one, **other}}


def _on_all(paths: Sequence[_Held]) -> _Held:
    """What places hold on each of some paths."""
    found = paths[0]
    for path in paths[1:]:
        found = _on_both(found, path)
    return found


def _on_both(one: _Held, other: _Held) -> _Held:
    found = {place: _in_common(one[place], other[place]) for place in one if place in other}
    return {place: by for place, by in found.items() if by}


def _in_common(one: frozenset[_Told], other: frozenset[_Told]) -> frozenset[_Told]:
    return frozenset({each for each in one if _has(other, *each)} | {each for each in other if _has(one, *each)})
