"""Conflicts: which two accesses to one element must not happen unordered, and proofs that work-groups never do.

Two accesses conflict unless both only read, one is a hint, or both are atomic with a scope that holds both work-items
(SYCL 2020, sections 3.8.3 and 4.15.3; C++'s data races). What proves that accesses keep apart is addresses that are
known; it says nothing where data or more executions than are worth enumerating decide.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from xeemu.knowledge import instances, intervals
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation
from xeemu.knowledge.expressions import TooLarge
from xeemu.knowledge.instances import Progress
from xeemu.language.orders import SCOPES

ITEM, SUB_GROUP, GROUP, DEVICE = range(4)

Pair = tuple[MemoryOperation, MemoryOperation]

_MOST_ELEMENTS = 1 << 24  # of an access and of what repeats it


def reach(a: MemoryOperation, b: MemoryOperation) -> int:
    """The widest set of work-items within which two accesses to one element need no order between them.

    Returns:
      `ITEM`: only of one work-item; `SUB_GROUP`, `GROUP`, `DEVICE`: of one such.
    """
    if not (a.changes or b.changes) or a.is_hint or b.is_hint:
        return DEVICE
    orderings = [o.access.ordering for o in (a, b)]
    scopes = [SCOPES.index(ordering.scope) for ordering in orderings if ordering is not None]
    # A launch runs on one device, which is all of the system that it sees.
    return min(*scopes, DEVICE) if len(scopes) == 2 else ITEM


def far_apart(pair: Pair) -> bool:
    """True if the ranges of two indices have nothing in common."""
    a, b = (operation.linear_index.interval for operation in pair)
    return a is not None and b is not None and intervals.disjoint(a, b)


@dataclasses.dataclass(frozen=True, eq=False)
class ElementUses:
    """Who uses what: each component, `[k]`, of the elements that are used, and `[k]` numbers of who uses them."""

    elements: tuple[np.ndarray, ...]
    users: np.ndarray


def collide(uses: Sequence[ElementUses], writes: Sequence[bool] | None = None) -> bool:
    """True if accesses use the same thing by different users.

    Args:
      uses: two accesses, or one that is held against itself; or any number.
      writes: of any number which of them write: two that do not may use the same. None: of two each must be there.
    """
    what, who = _coded([use.elements for use in uses]), np.concatenate([use.users for use in uses])
    if not len(what):
        return False
    flags = np.array(writes, np.int64) if writes is not None else 1 << np.arange(len(uses))
    side = np.repeat(flags, [len(use.users) for use in uses])
    order = np.argsort(what, kind="stable")
    first = np.flatnonzero(np.r_[True, np.diff(what[order]) != 0])
    several = np.maximum.reduceat(who[order], first) != np.minimum.reduceat(who[order], first)
    required = 1 if writes is not None else (1 << len(uses)) - 1
    return bool((several & (np.bitwise_or.reduceat(side[order], first) == required)).any())


def _coded(parts: Sequence[tuple[np.ndarray, ...]]) -> np.ndarray:
    """One int64 for each combination of numbers."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    code = np.zeros(len(columns[0]), np.int64)
    limit = 1
    for column in columns:
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        limit *= high - low + 1
        if limit >= 2**62:
            raise TooLarge
        code = code * (high - low + 1) + (column - low)
    return code


# --- Between work-groups ---


def keeps_to_groups(pair: Pair, tree: AccessTree) -> bool:
    """True if it is proved that no two work-groups access one element of global memory by a pair."""
    if tree.geometry.groups <= 1 or reach(*pair) >= DEVICE or far_apart(pair):
        return True
    return all(map(instances.is_known, pair)) and have_own_groups(tuple(dict.fromkeys(pair)), tree)


def all_keep_to_groups(operations: Sequence[MemoryOperation], tree: AccessTree) -> bool:
    """True if all pairs of some accesses to a memory are proved to keep to groups at once; pair by pair more may be."""
    if tree.geometry.groups <= 1 or not operations:
        return True
    plain = all(o.access.ordering is None and instances.is_known(o) for o in operations)
    return plain and have_own_groups(operations, tree, [o.changes for o in operations])


def have_own_groups(
    operations: Sequence[MemoryOperation], tree: AccessTree, writes: Sequence[bool] | None = None
) -> bool:
    """True if it is proved that no two work-groups use one element by some known accesses, see `collide`."""
    if _is_periodically_apart(operations, tree):  # of some groups, where the other proof goes through all that is used
        return True
    try:
        whole = instances.everywhere(tree)
        executed = [instances.of_operation(o, tree, whole, (), False) for o in operations]
        return not collide([ElementUses((e.element,), e.group) for e in executed], writes)
    except TooLarge:
        return False


@dataclasses.dataclass(frozen=True, eq=False)
class _Periodic:
    """Elements that the groups of a box access: some of the first groups, and the same again further on.

    Attributes:
      element: `[k]` elements of the first groups.
      group: `[k]` which of these accesses it.
      periods: for each axis how many first groups there are.
      shifts: for each axis how far the next groups' elements are away, and how many times there are.
    """

    element: np.ndarray
    group: np.ndarray
    periods: tuple[int, ...]
    shifts: tuple[tuple[int, int], ...]


def _is_periodically_apart(operations: Sequence[MemoryOperation], tree: AccessTree) -> bool:
    """Of accesses that move by the same distance from group to group, whether they never come upon each other."""
    by_shifts: dict[object, list[_Periodic]] = {}
    try:
        for operation, part in ((o, part) for o in operations for part in instances.progress(o, tree)):
            periodic = _periodic(operation, part, tree)
            if periodic is None:
                return False
            if len(periodic.element):
                ranges = tuple((part.box[axis].start, part.box[axis].stop) for axis in tree.groups)
                by_shifts.setdefault((ranges, periodic.periods, periodic.shifts), []).append(periodic)
    except TooLarge:
        return False
    merged = [_merged(same) for same in by_shifts.values()]
    hulls = sorted(_hull(periodic) for periodic in merged)
    separate = all(a[1] < b[0] for a, b in itertools.pairwise(hulls))
    return separate and all(map(_is_apart, merged))


def _periodic(operation: MemoryOperation, part: Progress, tree: AccessTree) -> _Periodic | None:
    """What groups do in a part of an access's executions; None if that is not regular."""
    shifts, excerpt = [], {}
    for axis in tree.groups:
        indices = part.box[axis]
        period, growth = instances.common(axis, indices, [part])
        if len(growth) != 1:
            return None
        excerpt[axis] = np.arange(indices.start, indices.start + min(period, len(indices)))
        shifts.append((min(growth), -(-len(indices) // period)))
    executed = instances.of_operation(operation.within([part.box]), tree, excerpt, (), False)
    periods = tuple(len(first) for first in excerpt.values())
    return _Periodic(executed.element, executed.group, periods, tuple(shifts))


def _merged(by_shifts: Sequence[_Periodic]) -> _Periodic:
    element = np.concatenate([periodic.element for periodic in by_shifts])
    group = np.concatenate([periodic.group for periodic in by_shifts])
    return _Periodic(element, group, by_shifts[0].periods, by_shifts[0].shifts)


def _hull(periodic: _Periodic) -> tuple[int, int]:
    """The least and greatest element."""
    ends = [shift * (count - 1) for shift, count in periodic.shifts]
    low, high = (int(f(periodic.element)) for f in (np.min, np.max))
    return low + sum(min(end, 0) for end in ends), high + sum(max(end, 0) for end in ends)


def _is_apart(periodic: _Periodic) -> bool:
    """True if no element belongs to two groups: along one axis after the other, the shortest distance first."""
    if collide([ElementUses((periodic.element,), periodic.group)]):
        return False
    elements = np.unique(periodic.element)
    shifts = sorted((abs(shift), count) for shift, count in periodic.shifts if count > 1)
    if any(not shift for shift, _ in shifts):
        return not len(elements)
    for number, (shift, count) in enumerate(shifts):
        if not _is_shifted_apart(elements, shift, count):
            return False
        if number < len(shifts) - 1:
            if len(elements) * count > _MOST_ELEMENTS:
                return False
            elements = (elements + shift * np.arange(count)[:, None]).reshape(-1)
    return True


def _is_shifted_apart(elements: np.ndarray, shift: int, count: int) -> bool:
    """True if a set of elements and its `count` copies, each further by `shift`, have nothing in common."""
    quotient, rest = np.divmod(elements, shift)
    order = np.lexsort((quotient, rest))
    same = np.diff(rest[order]) == 0
    return not (same & (np.diff(quotient[order]) < count)).any()
