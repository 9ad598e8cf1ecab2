"""Overwritten stores: those that some compiler leaves out, as what they store is stored over before anything reads it.

All are counted as they are written. LLVM leaves out a store after which each path leads to another one to the same
place, or none leads to a load of what a work-item alone has (DSE); it joins one by some lanes with one by more of them
before (SimplifyCFG), and makes those of a loop to one place once, after it, where no other access of the loop may be
there (LICM). A load of what may be in a register reads nothing; what a barrier or an atomic lets others see is read.
"""

from collections.abc import Mapping, Sequence, Set

from xeemu.cost.memory_steps import Branch, Change, Load, Loop, MemorySteps, Step, Store, accesses
from xeemu.cost.places import Place, may_be_same
from xeemu.knowledge.access_tree import Key
from xeemu.language.linearity import Allocation

_UNCERTAIN = -1
"""Stands among the conditions of a store in a loop that need not begin."""

_Later = Mapping[Place, Mapping[frozenset[int], frozenset[Key]]]
"""What is stored later, before it is read, by place and the conditions that lanes meet, with the stores."""


def of_program(program: MemorySteps, unread: Set[Key]) -> frozenset[Key]:
    """The overwritten stores of a program, of whose loads some are told that need read no memory."""
    analysis = _Analysis(program, unread)
    analysis.go(program.steps, {})
    return frozenset(analysis.found)


class _Analysis:
    """Goes through steps from the last to the first.

    Attributes:
      found: the overwritten stores.
    """

    def __init__(self, program: MemorySteps, unread: Set[Key]) -> None:
        self.found: set[Key] = set()
        self._program, self._unread = program, unread
        self._read: set[Allocation] = set()  # the memories of work-items that are read later

    def go(self, steps: Sequence[Step], later: _Later) -> _Later:
        """What is stored, before it is read, from where steps begin, if this is from where they end."""
        for step in reversed(steps):
            match step:
                case Store():
                    later = self._store(step, later)
                case Branch(bodies):
                    later = _on_all([self.go(body, later) for body in bodies])
                case Loop():
                    later = self._loop(step, later)
                case _:
                    later = self._without_read([step], later)
        return later

    def _store(self, store: Store, later: _Later) -> _Later:
        stored = later.get(store.place, {})
        if not store.volatile:
            if store.place.family.memory.space == "private" and store.place.family.memory not in self._read:
                self.found.add(store.key)
            for lanes, keys in stored.items():
                if lanes <= store.lanes or store.lanes <= lanes:
                    self.found |= {store.key} if lanes <= store.lanes else {store.key, *keys}
        if any(lanes <= store.lanes for lanes in stored):
            return later
        return {**later, store.place: {**stored, store.lanes: frozenset({store.key} if not store.volatile else ())}}

    def _loop(self, loop: Loop, later: _Later) -> _Later:
        inside = list(accesses(loop.steps))
        self.found |= {s.key for s in inside if isinstance(s, Store) and self._is_sunk(s, loop, inside)}
        left = self._without_read(inside, later)
        begun = self.go(loop.steps, left)
        if loop.may_be_written_out and (
            next_ones := self._alike(begun, loop)
        ):  # a compiler may write it out, and sees the next
            self.go(loop.steps, _either(left, next_ones))
        if not loop.certain:
            begun = {p: {lanes | {_UNCERTAIN}: keys for lanes, keys in by.items()} for p, by in begun.items()}
        return _either(left, begun)

    def _alike(self, later: _Later, loop: Loop) -> _Later:
        """What is the same in each iteration of a loop."""
        kept = {p: by for p, by in later.items() if self._program.varies(p.family.bases) < loop.depth}
        alike = {p: {e: k for e, k in by.items() if self._program.varies(e) < loop.depth} for p, by in kept.items()}
        return {place: by for place, by in alike.items() if by}

    def _without_read(self, steps: Sequence[Step], later: _Later) -> _Later:
        """What no step reads, or lets others see."""
        read = [seen for step in steps if (seen := self._seen(step)) is not None]
        self._read |= {seen.family.memory if isinstance(seen, Place) else seen for seen in read}
        if not read:
            return later
        return {place: by for place, by in later.items() if not any(may_be_same(each, place) for each in read)}

    def _seen(self, step: Step) -> Place | Allocation | None:
        if isinstance(step, Change):
            return step.memory
        return step.place if isinstance(step, Load) and step.key not in self._unread else None

    def _is_sunk(self, store: Store, loop: Loop, inside: Sequence[Load | Store | Change]) -> bool:
        """True of a store that may be made once after a loop: to one place, where nothing else of the loop may be."""
        if store.volatile or self._program.varies(store.place.family.bases) >= loop.depth:
            return False
        is_each_time = store in loop.steps and store.lanes <= self._program.met_before(store.lanes, loop)
        others = [s for s in inside if isinstance(s, Store) and s.place == store.place and s.key != store.key]
        return (is_each_time or bool(others)) and not any(self._is_other(step, store.place) for step in inside)

    def _is_other(self, step: Load | Store | Change, place: Place) -> bool:
        """True of what accesses memory at what may be a place, and not at just that place."""
        if isinstance(step, Change):
            return may_be_same(step.memory, place)
        if step.place == place or (isinstance(step, Load) and step.key in self._unread):
            return False
        return may_be_same(step.place, place)


def _either(one: _Later, other: _Later) -> _Later:
    return {place: {**one.get(place, {}), **other.get(place, {})} for place in {**one, **other}}


def _on_all(paths: Sequence[_Later]) -> _Later:
    """What is stored on each of some paths."""
    found: _Later | None = None
    for path in paths:
        found = path if found is None else _on_both(found, path)
    return found or {}


def _on_both(one: _Later, other: _Later) -> _Later:
    return {
        place: {a | b: first | second for a, first in by.items() for b, second in other[place].items()}
        for place, by in one.items()
        if place in other
    }
