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

_KnownValue = tuple[frozenset[int], int]
"""The conditions that lanes meet whose place holds a value, and the value's number."""

_Contents = Mapping[Place, frozenset[_KnownValue]]
"""What is known of the values that places hold."""


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

    def go(self, steps: Sequence[Step], contents: _Contents) -> _Contents:
        """What places hold after steps, if they hold some values before."""
        for step in steps:
            match step:
                case Load(_, place, lanes, _, number):
                    contents = {**contents, place: contents.get(place, frozenset()) | {(lanes, number)}}
                case Store():
                    contents = self._store(step, contents)
                case Change(memory):
                    contents = _without(contents, memory)
                case Branch(bodies):
                    contents = _on_all([self.go(body, contents) for body in bodies])
                case Loop():
                    contents = self._loop(step, contents)
        return contents

    def _store(self, store: Store, contents: _Contents) -> _Contents:
        known = contents.get(store.place, frozenset())
        if store.value is not None and _has(known, store.lanes, store.number):
            self.found.add(store.key)
            return contents
        contents = _without(contents, store.place)
        return contents if store.value is None else {**contents, store.place: frozenset({(store.lanes, store.number)})}

    def _loop(self, loop: Loop, before: _Contents) -> _Contents:
        """What places hold after a loop. As an iteration begins it is what they hold both before and after one; where
        a compiler may write the loop out, each iteration after the first sees what the one before it leaves."""
        if loop.may_be_written_out:
            first = self._invariant(self.go(loop.steps, before), loop)
            return self._invariant(self.go(loop.steps, first), loop)
        start, found = before, set(self.found)
        while (still := _on_both(start, end := self.go(loop.steps, start))) != start:
            start, self.found = still, set(found)
        return _either(start, self._invariant(end, loop)) if loop.certain else start

    def _invariant(self, contents: _Contents, loop: Loop) -> _Contents:
        """What is the same in each iteration of a loop."""
        found = {
            place: frozenset((lanes, n) for lanes, n in by if self._program.varies((*lanes, n)) < loop.depth)
            for place, by in contents.items()
            if self._program.varies(place.family.bases) < loop.depth
        }
        return {place: by for place, by in found.items() if by}


def _has(known: frozenset[_KnownValue], lanes: frozenset[int], number: int) -> bool:
    """True if all lanes for which some conditions hold have a value."""
    return any(each <= lanes and number == stored for each, stored in known)


def _without(contents: _Contents, changed: Place | Allocation) -> _Contents:
    return {place: by for place, by in contents.items() if not may_be_same(changed, place)}


def _either(one: _Contents, other: _Contents) -> _Contents:
    return {place: one.get(place, frozenset()) | other.get(place, frozenset()) for place in {**one, **other}}


def _on_all(paths: Sequence[_Contents]) -> _Contents:
    """What places hold on each of some paths."""
    found = paths[0]
    for path in paths[1:]:
        found = _on_both(found, path)
    return found


def _on_both(one: _Contents, other: _Contents) -> _Contents:
    found = {place: _in_common(one[place], other[place]) for place in one if place in other}
    return {place: by for place, by in found.items() if by}


def _in_common(one: frozenset[_KnownValue], other: frozenset[_KnownValue]) -> frozenset[_KnownValue]:
    return frozenset({each for each in one if _has(other, *each)} | {each for each in other if _has(one, *each)})
