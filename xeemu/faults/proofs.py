"""Proofs: what of a kernel's safety follows from its addresses before a run, and what has to be watched in one.

A proof holds for every input: it says nothing about what depends on data, which is left to be watched.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.faults import (
    additions,
    alignment,
    arithmetic,
    convergence,
    epochs,
    group_conflicts,
    initialisation,
    paths,
    wrapping,
)
from xeemu.faults.additions import Additions
from xeemu.faults.following import Following, Marking
from xeemu.faults.ranges import Ranges
from xeemu.knowledge import conflicts, periodicity, symbolic_addresses
from xeemu.knowledge.access_tree import AccessSite, AccessTree, Key, MemoryOperation, Node, SyncPoint
from xeemu.knowledge.budget import Budget
from xeemu.knowledge.conflicts import Pair
from xeemu.knowledge.expressions import Expression, LoopAxis, TooLarge
from xeemu.knowledge.periodicity import Progressions
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.orders import Ordering


@dataclasses.dataclass(frozen=True)
class Spot:
    """A memory operation of the source with its memory order; an unrolled loop makes several operations of it."""

    access_site: AccessSite
    ordering: Ordering | None

    @classmethod
    def of(cls, operation: MemoryOperation) -> "Spot":
        return cls(operation.access_site, operation.access.ordering)


@dataclasses.dataclass(frozen=True, eq=False)
class Proofs:
    """What is left to be watched.

    Attributes:
      tree: the program.
      operations: its accesses, by their key.
      sync_points: its barriers and group algorithms, by their key.
      races: pairs of spots whose accesses might be unordered, and within which set of work-items they need no order.
      bounds: accesses that might lie out of bounds.
      unwritten: accesses that might read what was never written.
      barriers: those that might not be reached by all work-items.
      endless: true if data decides when some loop ends.
      followings: operations that may go wrong, with where their results matter.
      additions: atomic sums that may depend on the order; None without any.
      blocks: block loads and stores that might not begin where they may.
    """

    tree: AccessTree
    operations: Mapping[Key, tuple[MemoryOperation, ...]]
    sync_points: Mapping[Key, SyncPoint]
    races: Mapping[tuple[Spot, Spot], int]
    bounds: frozenset[Key]
    unwritten: frozenset[Key]
    barriers: frozenset[Key]
    endless: bool
    followings: tuple[Following, ...] = ()
    additions: Additions | None = None
    blocks: frozenset[Key] = frozenset()

    @functools.cached_property
    def complete(self) -> bool:
        """True if nothing has to be watched."""
        doubts = self.races or self.bounds or self.unwritten or self.barriers or self.blocks or self.followings
        return not (doubts or self.endless or self.additions)

    @functools.cached_property
    def watched(self) -> tuple[AccessSite, ...]:
        """The memory operations of which something is left to be watched, in the order of the program."""
        racing = {spot.access_site for pair in self.races for spot in pair}
        keys = self.bounds | self.unwritten | self.blocks
        return tuple(p for p in self.access_sites if p in racing or any(self.access_site(key) == p for key in keys))

    @functools.cached_property
    def access_sites(self) -> tuple[AccessSite, ...]:
        """All memory operations of the source."""
        return tuple(dict.fromkeys(self.access_site(key) for key in self.operations))

    def access_site(self, key: Key) -> AccessSite:
        return self.operations[key][0].access_site


def of_tree(
    tree: AccessTree,
    written: frozenset[Allocation],
    ranges: Ranges | None = None,
    aligned: bool = True,
    unset: frozenset[Allocation] = frozenset(),
) -> Proofs:
    """What has to be watched of a program that stores to or updates some memories.

    Args:
      tree: of the program.
      written: those memories.
      ranges: of its operations.
      aligned: true if the device wants block loads and stores aligned.
      unset: the global memories that are not wholly written before the launch.
    """
    operations = [o for o in tree.root.operations() if o.node.boxes]
    by_key: dict[Key, list[MemoryOperation]] = {}
    for operation in operations:
        by_key.setdefault(operation.key, []).append(operation)
    sync_points = [m for m in tree.sync_points() if epochs.synchronises(m)]
    # What takes too long to prove is watched.
    with Budget().portion():
        return Proofs(
            tree=tree,
            operations={key: tuple(same) for key, same in by_key.items()},
            sync_points={m.key: m for m in sync_points},
            races=_races(tree, operations, written),
            bounds=frozenset(o.key for o in operations if not _is_within_bounds(o, tree)),
            unwritten=initialisation.doubtful_reads(tree, operations, unset),
            barriers=frozenset(
                m.key for m in sync_points if epochs.requires_all(m) and not _is_uniform(m, tree.geometry)
            ),
            endless=any(_is_endless(node) for node in tree.root.nodes()),
            followings=() if ranges is None else followings(tree, ranges),
            additions=additions.of_tree(tree, operations),
            blocks=alignment.doubtful_blocks(operations, tree.geometry) if aligned else frozenset(),
        )


def followings(tree: AccessTree, ranges: Ranges) -> tuple[Following, ...]:
    """What is followed of a program: nothing where ranges prove that no operation goes wrong."""
    facts = tree.root.facts
    each: list[tuple[Marking, Mapping[Key, Any]]] = [
        (arithmetic.Undefined(), arithmetic.sources(ranges)),
        *((wrapping.Wrapped(ranges, fixed), wrapping.sources(ranges, fixed)) for fixed in (False, True)),
    ]
    found = [(rule, paths.of_program(facts, sources, rule)) for rule, sources in each]
    return tuple(Following(rule, path) for rule, path in found if path is not None)


def _is_endless(node: Node) -> bool:
    """True if a node is a loop's test that data lets come out either way."""
    return node.kind == "test" and bool(node.boxes) and not (node.certain or epochs.own_axes(node))


# --- Races ---


def _races(
    tree: AccessTree, operations: Sequence[MemoryOperation], written: frozenset[Allocation]
) -> Mapping[tuple[Spot, Spot], int]:
    left = _Undecided()
    _within_groups(left, tree, written)
    _between_groups(left, tree, operations, written)
    return left.pairs


class _Undecided:
    """The pairs of spots that are left to be watched, and within which set of work-items each needs no order.

    An unrolled program has many pairs of operations, of few spots.
    """

    def __init__(self) -> None:
        self.pairs: dict[tuple[Spot, Spot], int] = {}
        self._names: dict[tuple[int, int], tuple[Spot, Spot]] = {}
        self._of_spots: dict[Spot, int] = {}
        self._of_operations: dict[MemoryOperation, int] = {}

    def watch(self, pair: Pair, is_proved: Callable[[], bool]) -> None:
        """Leaves the spots of a pair to be watched, unless they are already, or need not be."""
        key = (self._number(pair[0]), self._number(pair[1]))
        known = self._names.get(key)
        if known is not None and self.pairs[known] == conflicts.ITEM:
            return
        reach = conflicts.reach(*pair)
        if known is not None:
            self.pairs[known] = min(self.pairs[known], reach)
        elif not is_proved():
            spots = (Spot.of(pair[0]), Spot.of(pair[1]))
            self.pairs[spots] = reach
            self._names[key] = self._names[key[::-1]] = spots

    def _number(self, operation: MemoryOperation) -> int:
        """Of the spot of an operation."""
        if operation not in self._of_operations:
            number = self._of_spots.setdefault(Spot.of(operation), len(self._of_spots))
            self._of_operations[operation] = number
        return self._of_operations[operation]


def _within_groups(left: _Undecided, tree: AccessTree, written: frozenset[Allocation]) -> None:
    """Looks at the accesses of a work-group that no barrier orders."""
    colliding: dict[Allocation, list[Pair]] = {}
    for pair in epochs.meeting_pairs(tree):
        colliding.setdefault(pair[0].access_site.memory, []).append(pair)
    for memory, pairs in colliding.items():
        if memory.space == "private" or memory not in written:
            continue
        clocks = group_conflicts.Clocks(*(epochs.epochs(tree, memory, subs) for subs in (False, True)))
        if not group_conflicts.all_keep_apart(tuple(dict.fromkeys(o for pair in pairs for o in pair)), tree, clocks):
            for pair in pairs:
                left.watch(pair, functools.partial(group_conflicts.keeps_apart, pair, tree, clocks))


def _between_groups(
    left: _Undecided, tree: AccessTree, operations: Sequence[MemoryOperation], written: frozenset[Allocation]
) -> None:
    """Looks at the accesses of different work-groups."""
    shared: dict[Allocation, list[MemoryOperation]] = {}
    for operation in operations:
        if operation.access_site.memory.space == "global" and operation.access_site.memory in written:
            shared.setdefault(operation.access_site.memory, []).append(operation)
    for uses in shared.values():
        if not conflicts.all_keep_to_groups(uses, tree):
            for pair in itertools.combinations_with_replacement(uses, 2):
                left.watch(pair, functools.partial(conflicts.keeps_to_groups, pair, tree))


# --- Bounds and barriers ---


def _is_within_bounds(operation: MemoryOperation, tree: AccessTree) -> bool:
    outside = symbolic_addresses.outside(operation, tree)
    return outside.known and _holds_nowhere(outside, operation)


def _holds_nowhere(e: Expression, operation: MemoryOperation) -> bool:
    """True if no element of a known bool is True in any execution of an operation's node."""
    conditions = [c for c in operation.node.conditions if c.known]

    def examine(inside: Progressions) -> bool:
        holds = functools.reduce(np.logical_and, _at_points(inside, [*conditions, e]))
        return not holds.any()

    return _in_every_box(operation.node, examine)


def _is_uniform(sync_point: SyncPoint, geometry: Geometry) -> bool:
    """True if always all work-items of a group come to a synchronisation point or none."""
    mask = sync_point.mask
    if mask is None or not mask.known:
        return mask is None
    together = epochs.participants(sync_point, geometry)

    def examine(inside: Progressions) -> bool:
        (values,) = _at_points(inside, [mask])
        return not convergence.parted(values, together).any()

    return _in_every_box(sync_point.node, examine)


def _at_points(inside: Progressions, bools: Sequence[Expression]) -> list[np.ndarray]:
    """`[points, elements or 1]` of each bool, at points that stand for a whole box."""
    periods: dict[LoopAxis, int] = {}
    for steps in map(inside.of, bools):
        periods |= {axis: math.lcm(periods.get(axis, 1), step.period) for axis, step in steps.items()}
    grid, _ = inside.representatives(periods)
    return [symbolic_addresses.flat(grid, e, e.shape, np.arange(math.prod(e.shape))) for e in bools]


def _in_every_box(node: Node, examine: Callable[[Progressions], bool]) -> bool:
    try:
        return all(periodicity.divided(node.boxes, examine))
    except TooLarge:
        return False
