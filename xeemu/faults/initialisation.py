"""Initialisation: which reads are proved to find something written: of local and private memory, and of unset global.

A read finds what any work-item of its group has written earlier in the order in which the emulator executes a kernel;
whether a barrier lies between is a question of races. Where the life of a variable of C begins, as in each iteration of
a loop that declares it, an access unsets its elements: what was written before is found no more.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from xeemu.faults import epochs
from xeemu.knowledge import instances
from xeemu.knowledge.access_tree import AccessTree, Key, MemoryOperation
from xeemu.knowledge.expressions import TooLarge
from xeemu.knowledge.instances import Clock, Excerpt, Instances
from xeemu.language.linearity import Allocation

_MOST_ELEMENTS = 1 << 22
_NEVER = np.iinfo(np.int64).max


def doubtful_reads(
    tree: AccessTree, operations: Sequence[MemoryOperation], unset: frozenset[Allocation] = frozenset()
) -> frozenset[Key]:
    """The reads, by their key, that are not proved to find something written.

    Args:
      tree: the program.
      operations: its accesses.
      unset: global memories that are not wholly written before the launch, of which nothing is proved.
    """
    by_memory: dict[Allocation, list[MemoryOperation]] = {}
    for operation in operations:
        memory = operation.access_site.memory
        # Of what has no elements every access is out of bounds.
        if memory.space != "global" and memory.elements:
            by_memory.setdefault(memory, []).append(operation)
    times = epochs.times(tree)
    known = frozenset(
        operation.key for memory, uses in by_memory.items() for operation in _doubtful(memory, uses, tree, times)
    )
    return known | {o.key for o in operations if o.access_site.memory in unset and reads(o)}


def reads(operation: MemoryOperation) -> bool:
    """True if an access uses what was in memory: a load, or an atomic operation other than a store."""
    return operation.traits.reads and operation.name != "store" and not operation.is_hint


def writes(operation: MemoryOperation) -> bool:
    return operation.changes


def unsets(operation: MemoryOperation) -> bool:
    """True if it leaves elements as if nobody had written them."""
    return operation.access.unset


def _doubtful(
    memory: Allocation, uses: Sequence[MemoryOperation], tree: AccessTree, times: Mapping[MemoryOperation, Clock]
) -> Iterator[MemoryOperation]:
    reading = [o for o in uses if reads(o)]
    writing = [o for o in uses if writes(o) and not unsets(o) and instances.is_exact(o, tree)]
    unsetting = [o for o in uses if unsets(o)]
    known = [o for o in reading if instances.is_known(o)]
    try:
        # What data reads does not move with the groups, so neither may what stands for all of them.
        excerpts = instances.excerpts(list(dict.fromkeys([*writing, *unsetting, *known])), tree, fixed=True)
        proofs = [_Proof(memory, tree, times, excerpt, (writing, unsetting)) for excerpt in excerpts]
    except TooLarge:
        yield from reading
        return
    for operation in reading:
        if not all(proof.finds_something(operation) for proof in proofs):
            yield operation


class _Moments:
    """When elements are accessed, by some accesses: `places` and `counts` of `[k]`, one of each for each."""

    def __init__(self, places: np.ndarray, counts: np.ndarray):
        self._span = int(counts.max(initial=0)) + 1
        self._keys = np.unique(places * self._span + counts)

    def last(self, places: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """`[n]` the last one before each of other counts at the same place; -1 without any."""
        before = np.searchsorted(self._keys, places * self._span + np.minimum(counts, self._span)) - 1
        found = self._keys[before] if len(self._keys) else np.full(len(places), -1)
        there = (before >= 0) & (found // self._span == places)
        return np.where(there, found % self._span, -1)


class _Proof:
    """When elements are written and unset in the groups of an excerpt.

    Attributes:
      first: when each is first written, `[group, element, copy]` in one row.
      lives: when they are written, and when unset; None where they never are unset.
    """

    def __init__(
        self,
        memory: Allocation,
        tree: AccessTree,
        times: Mapping[MemoryOperation, Clock],
        excerpt: Excerpt,
        changing: tuple[Sequence[MemoryOperation], Sequence[MemoryOperation]],
    ):
        self.memory, self.tree, self.times, self.excerpt = memory, tree, times, excerpt
        self.copies = tree.geometry.items if memory.space == "private" else 1
        size = instances.groups_of(excerpt, tree.groups) * memory.elements * self.copies
        if size > _MOST_ELEMENTS:
            raise TooLarge
        writing, unsetting = changing
        written = list(self._found(writing))
        self.first = np.full(size, _NEVER)
        for places, counts in written:
            np.minimum.at(self.first, places, counts)
        unset = [self._moments(operation) for operation in unsetting]
        self.lives = (_moments(written), _moments(unset)) if unset else None

    def _found(self, writing: Sequence[MemoryOperation]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The places and counts of what accesses write, of those of which it is not too much."""
        for operation in writing:
            with contextlib.suppress(TooLarge):
                yield self._moments(operation)

    def _moments(self, operation: MemoryOperation) -> tuple[np.ndarray, np.ndarray]:
        done = self._instances(operation)
        return self._place(done), done.counts[0]

    def finds_something(self, operation: MemoryOperation) -> bool:
        """True if all elements that an access reads are written before."""
        if self.lives is None and self._all_written(operation):
            return True
        if not instances.is_known(operation):
            return False
        try:
            places, counts = self._moments(operation)
        except TooLarge:
            return False
        if self.lives is None:
            return bool((self.first[places] < counts).all())
        written, unset = (moments.last(places, counts) for moments in self.lives)
        return bool((written > unset).all())

    def _all_written(self, operation: MemoryOperation) -> bool:
        """True if all elements that an access could read are written before it is first executed."""
        bounds = operation.linear_index.interval or (0, self.memory.elements - 1)
        low, high = max(bounds[0], 0), min(bounds[1], self.memory.elements - 1)
        in_groups = self.first.reshape(-1, self.memory.elements, self.copies)[:, low : high + 1]
        return bool((in_groups < self.times[operation].offset).all())

    def _instances(self, operation: MemoryOperation) -> Instances:
        return instances.of_operation(operation, self.tree, self.excerpt, (self.times[operation],), False)

    def _place(self, done: Instances) -> np.ndarray:
        copy = done.item if self.copies > 1 else 0
        place: np.ndarray = (done.group * self.memory.elements + done.element) * self.copies + copy
        return place


def _moments(found: Sequence[tuple[np.ndarray, np.ndarray]]) -> _Moments:
    nothing = np.zeros(0, np.int64)
    places, counts = zip((nothing, nothing), *found, strict=True)
    return _Moments(np.concatenate(places), np.concatenate(counts))
