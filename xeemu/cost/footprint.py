"""Footprint: how many different bytes of global memory a work-group touches, and the whole launch.

What a group touches is taken from one in the middle of the launch, all its loops gone through. For the launch that is
multiplied by the groups that touch other places, and no more than lies between the least and the greatest address.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from xeemu.cost.census import Census
from xeemu.knowledge import periodicity, symbolic_addresses
from xeemu.knowledge.access_tree import Operation
from xeemu.knowledge.expressions import Axis, Expression, TooLarge
from xeemu.knowledge.periodicity import Box, Progressions

_MOST_ELEMENTS = 1 << 22
# Accesses whose footprints are kept: those of the reports that somebody works with.
_MOST_KEPT = 1 << 6


@dataclasses.dataclass(frozen=True)
class Footprint:
    """Bytes of the different granules of a memory, parts of one size, that are touched.

    Attributes:
      group: by a work-group.
      launch: by all of them.
      passes: how often a work-group goes through what it touches from the beginning, as a loop around others does whose
        iterations touch the same.
      is_most: whether all is taken to be touched once, because it is not known what is touched again.
      gaps: share of the granules that a work-group does not touch all of; None if it is not known.
    """

    group: float
    launch: float
    passes: float = 1.0
    is_most: bool = False
    gaps: float | None = None


def of_memory(
    operations: Sequence[Operation], taken: Census, moved_bytes: float | None, granule_bytes: int
) -> Footprint | None:
    """The footprint of some accesses to one memory.

    Args:
      operations: the accesses.
      taken: the census that they are from.
      moved_bytes: of all their requests together; None if it is not known.
      granule_bytes: size of the parts that are moved together.

    Returns:
      At most so many bytes; None if not even that is known.
    """
    memory, groups = operations[0].place.memory, max(taken.geometry.groups, 1)
    touched = _touched(tuple(operations), taken)
    if touched is not None:
        firsts = _firsts(touched.bytes // granule_bytes)
        elements = np.diff(firsts, append=len(touched.bytes))
        # Of accesses that are all out of bounds nothing lies between.
        between = max(touched.high // granule_bytes - touched.low // granule_bytes + 1, 0)
        hull = float(between * granule_bytes)
        group = float(len(firsts) * granule_bytes)
        gaps = float(np.mean(elements * memory.dtype.itemsize < granule_bytes)) if len(firsts) else 0.0
        return Footprint(group, min(touched.groups * group, hull), touched.passes, gaps=gaps)
    if moved_bytes is None:
        return None
    whole = math.ceil(memory.nbytes / granule_bytes) * granule_bytes
    return Footprint(min(moved_bytes / groups, whole), min(moved_bytes, whole), is_most=True)


def of_consecutive(operations: Sequence[Operation], taken: Census, groups: int) -> float | None:
    """Bytes that a work-group adds to what neighbours touch of one memory: of all between the least and the greatest
    address of them, its part. None if that is not known.

    Args:
      operations: the accesses to the memory.
      taken: the census that they are from.
      groups: how many work-groups at most, those in the middle of the launch, which start one after the other.
    """
    return _added(tuple(operations), taken, groups)


@functools.lru_cache(maxsize=_MOST_KEPT)
def _added(operations: tuple[Operation, ...], taken: Census, groups: int) -> float | None:
    boxes = [box for operation in operations for box in operation.node.boxes]
    if not boxes or not all(o.linear_index.known and o.node.certain for o in operations):
        return None
    axes = taken.tree.groups
    chosen = _middle(max(boxes, key=lambda box: _points(box, axes)), axes, groups)
    ends = []
    for operation in operations:
        parts = [{**box, **{axis: _within(box[axis], *chosen[axis]) for axis in axes}} for box in operation.node.boxes]
        node = dataclasses.replace(operation.node, boxes=[part for part in parts if _points(part, axes)])
        if node.boxes:
            ends += _ends(dataclasses.replace(operation, node=node), operation.linear_index)
    memory = operations[0].place.memory
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    elements = max(0, min(high, memory.elements - 1) - max(low, 0) + 1)
    return elements * memory.dtype.itemsize / math.prod(last - first + 1 for first, last in chosen.values())


def _middle(box: Box, axes: Sequence[Axis], groups: int) -> dict[Axis, tuple[int, int]]:
    """The first and the last index along each dimension of at most so many groups in the middle: a part of a row along
    the last dimension, or whole rows."""
    chosen = {}
    for axis in reversed(axes):
        number = max(1, min(len(box[axis]), groups))
        start = (len(box[axis]) - number) // 2
        chosen[axis] = (box[axis][start], box[axis][start + number - 1])
        groups //= len(box[axis])
    return chosen


def _within(indices: range, low: int, high: int) -> range:
    """Those of some ascending indices from `low` to `high`."""
    first = max(0, -(-(low - indices.start) // indices.step))
    return indices[first : max(first, (high - indices.start) // indices.step + 1)]


@dataclasses.dataclass(frozen=True, eq=False)
class _Touched:
    """What some accesses to a memory touch.

    Attributes:
      bytes: int64 addresses that a group in the middle of the launch touches, each once, in order.
      low, high: the least and the greatest address of the launch.
      groups: groups that touch different places.
      passes: as in `Footprint`.
    """

    bytes: np.ndarray
    low: int
    high: int
    groups: int
    passes: int


@functools.lru_cache(maxsize=_MOST_KEPT)
def _touched(operations: tuple[Operation, ...], taken: Census) -> _Touched | None:
    """What is known of accesses before the run; None if something is not.

    A report asks for the same several times, with and without each change that is tried.
    """
    indices = [operation.linear_index for operation in operations]
    masks = [symbolic_addresses.lane_mask(operation, taken.tree) for operation in operations]
    known = all(e.known for e in (*indices, *masks)) and all(o.node.certain for o in operations)
    boxes = [box for operation in operations for box in operation.node.boxes]
    if not known or not boxes:
        return None
    groups = taken.tree.groups
    largest = max(boxes, key=lambda box: _points(box, groups))
    middle = {axis: largest[axis][len(largest[axis]) // 2] for axis in groups}
    moving = [axis for axis in groups if any(axis in index.axes for index in indices)]
    memory = operations[0].place.memory
    try:
        touched = [
            _addresses(operation, index, mask, box)
            for operation, index, mask in zip(operations, indices, masks, strict=True)
            for box in _around(operation.node.boxes, middle)
        ]
    except TooLarge:
        return None
    ends = [_ends(operation, index) for operation, index in zip(operations, indices, strict=True)]
    low = min(low for each in ends for low, _ in each)
    high = min(max(high for each in ends for _, high in each), memory.elements - 1)
    size = memory.dtype.itemsize
    passes = min(
        _passes(box, index, groups) for o, index in zip(operations, indices, strict=True) for box in o.node.boxes
    )
    elements = np.sort(np.concatenate(touched))
    return _Touched(
        elements[_firsts(elements)] * size, max(low, 0) * size, high * size, _points(largest, moving), passes
    )


def _firsts(numbers: np.ndarray) -> np.ndarray:
    """Where each number of some in order stands first."""
    return np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))


def _ends(operation: Operation, index: Expression) -> list[tuple[int, int]]:
    """The least and greatest element of an access in each part of its boxes; the memory's where nothing repeats."""
    try:
        return periodicity.divided(operation.node.boxes, functools.partial(_extremes, index))
    except TooLarge:
        return [(0, operation.place.memory.elements - 1)]


def _passes(box: Box, index: Expression, groups: Sequence[Axis]) -> int:
    """Iterations of loops that the address does not follow, around one that it does; a box has the outer loop first."""
    loops = [axis for axis in box if axis not in groups]
    followed = [k for k, axis in enumerate(loops) if axis in index.axes]
    return _points(box, [axis for axis in loops[: max(followed, default=0)] if axis not in index.axes])


def _extremes(index: Expression, inside: Progressions) -> tuple[int, int]:
    return inside.extremes(index)


def _around(boxes: Sequence[Box], group: Mapping[Axis, int]) -> list[Box]:
    """The parts of some boxes with the executions of one group."""
    inside = [box for box in boxes if all(number in box[axis] for axis, number in group.items())]
    return [{**box, **{axis: range(number, number + 1) for axis, number in group.items()}} for box in inside]


def _points(box: Box, axes: Iterable[Axis]) -> int:
    return math.prod(len(box[axis]) for axis in axes)


def _addresses(operation: Operation, index: Expression, mask: Expression, box: Box) -> np.ndarray:
    """The elements that are touched in a box, once or more often each."""
    conditions = operation.node.conditions
    needed = frozenset().union(*(e.axes for e in (index, mask, *conditions)))
    points: Mapping[Axis, int] = {axis: len(indices) if axis in needed else 1 for axis, indices in box.items()}
    if math.prod(points.values()) * math.prod(operation.access.shape) > _MOST_ELEMENTS:
        raise TooLarge
    grid, _ = Progressions(box).representatives(points)
    return symbolic_addresses.elements(operation, grid, index, mask)
