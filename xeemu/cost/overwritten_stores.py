"""Overwritten stores: those that some compiler leaves out, as what they store is stored over before anything reads it.

All are counted as they are written. LLVM leaves out a store after which all ways lead to another one to the same place
(DSE), and makes those of a loop to one place once, after it (LICM), where no other access of the loop may be there. A
load of what is in a register reads no memory; what a barrier or an atomic operation lets others see is read.
"""

from collections.abc import Iterator, Sequence, Set

from xeemu.cost.memory_steps import Branch, Change, Load, Loop, MemorySteps, Step, Store
from xeemu.cost.places import Place, may_be_same
from xeemu.knowledge.access_tree import Key
from xeemu.language.linearity import Allocation


def of_program(program: MemorySteps, unread: Set[Key]) -> frozenset[Key]:
    """The overwritten stores of a program, of whose loads some are told that read no memory."""
    analysis = _Analysis(program, unread)
    analysis.go(program.steps, {})
    return frozenset(analysis.found)


_Later = dict[Place, tuple[frozenset[int], ...]]
"""What is stored later, before it is read, by place: each time the conditions that lanes meet which do."""


class _Analysis:
    """Goes through steps from the last to the first.

    Attributes:
      found: the overwritten stores.
    """

    def __init__(self, program: MemorySteps, unread: Set[Key]) -> None:
        self.found: set[Key] = set()
        self._program, self._unread = program, unread

    def go(self, steps: Sequence[Step], later: _Later) -> _Later:
        """What is stored, before it is read, from where steps begin, if this is from where they end."""
        for step in reversed(steps):
            match step:
                case Store(key, place, lanes, volatile=volatile):
                    if not volatile and any(each <= lanes for each in later.get(place, ())):
                        self.found.add(key)
                    later = {**later, place: (*later.get(place, ()), lanes)}
                case Branch(ways):
                    later = _on_all([self.go(way, later) for way in ways])
                case Loop():
                    later = self._loop(step, later)
                case _:
                    later = self._without_read([step], later)
        return later

    def _loop(self, loop: Loop, later: _Later) -> _Later:
        self.found |= {s.key for s in loop.steps if isinstance(s, Store) and self._is_sunk(s, loop)}
        begun = self.go(loop.steps, {})
        if loop.counted:  # a compiler may write it out, and then sees what the next iteration stores
            self.go(loop.steps, self._alike(begun, loop))
        left = self._without_read(list(_accesses(loop.steps)), later)
        return left | begun if loop.certain else left

    def _alike(self, later: _Later, loop: Loop) -> _Later:
        """What is the same in each iteration of a loop."""
        kept = {p: lanes for p, lanes in later.items() if self._program.varies(p.family.bases) < loop.depth}
        return {p: tuple(each for each in by if self._program.varies(each) < loop.depth) for p, by in kept.items()}

    def _without_read(self, steps: Sequence[Step], later: _Later) -> _Later:
        """What no step reads, or lets others see."""
        read = [seen for step in steps if (seen := self._seen(step)) is not None]
        if not read:
            return later
        return {place: lanes for place, lanes in later.items() if not any(may_be_same(each, place) for each in read)}

    def _seen(self, step: Step) -> Place | Allocation | None:
        if isinstance(step, Change):
            return step.memory
        return step.place if isinstance(step, Load) and step.key not in self._unread else None

    def _is_sunk(self, store: Store, loop: Loop) -> bool:
        """True of a store that may be made once after a loop: to one place, where nothing else of the loop may be."""
        if store.volatile or self._program.varies(store.place.family.bases) >= loop.depth:
            return False
        if not store.lanes <= self._program.met_before(store.lanes, loop):
            return False
        return not any(self._is_other(step, store.place) for step in _accesses(loop.steps))

    def _is_other(self, step: Load | Store | Change, place: Place) -> bool:
        """True of what accesses memory at what may be a place, and not at just that place."""
        if isinstance(step, Change):
            return may_be_same(step.memory, place)
        if step.place == place or (isinstance(step, Load) and step.key in self._unread):
            return False
        return may_be_same(step.place, place)


def _accesses(steps: Sequence[Step]) -> Iterator[Load | Store | Change]:
    for step in steps:
        if isinstance(step, Load | Store | Change):
            yield step
        for inner in (step.steps,) if isinstance(step, Loop) else step.ways if isinstance(step, Branch) else ():
            yield from _accesses(inner)


def _on_all(ways: Sequence[_Later]) -> _Later:
    """What is stored on each of some ways."""
    if not ways:
        return {}
    first, *others = ways
    return {
        place: tuple(each for each in lanes if all(any(o <= each for o in other.get(place, ())) for other in others))
        for place, lanes in first.items()
    }
