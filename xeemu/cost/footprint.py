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
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation, Node
from xeemu.knowledge.expressions import Expression, LoopAxis, TooLarge
from xeemu.knowledge.periodicity import Box, Progressions, Split

_MOST_ELEMENTS = 1 << 22
# Of several work-groups.
_MOST_OF_NEIGHBOURS = 1 << 18
# Accesses whose footprints are kept: those of the reports that somebody works with.
_MOST_KEPT = 1 << 6


@dataclasses.dataclass(frozen=True)
class Footprint:
    """Bytes of the different granules of a memory, parts of one size, that are touched.

    Attributes:
      group: by a work-group.
      launch: by all of them.
      passes: how often a work-group goes through what it touches from the beginning, as loops one after the other do,
        and a loop around others whose iterations touch the same.
      is_most: true if all is taken to be touched once, because it is not known what is touched again.
      gaps: share of the granules that a work-group does not touch all of; None if it is not known.
    """

    group: float
    launch: float
    passes: float = 1.0
    is_most: bool = False
    gaps: float | None = None


def of_memory(
    operations: Sequence[MemoryOperation], taken: Census, moved_bytes: float | None, granule_bytes: int
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
    known = _of_touched(tuple(operations), taken.tree, granule_bytes)
    if known is not None or moved_bytes is None:
        return known
    memory, groups = operations[0].access_site.memory, max(taken.geometry.groups, 1)
    whole = math.ceil(memory.nbytes / granule_bytes) * granule_bytes
    return Footprint(min(moved_bytes / groups, whole), min(moved_bytes, whole), is_most=True)


@functools.lru_cache(maxsize=_MOST_KEPT)
def _of_touched(operations: tuple[MemoryOperation, ...], tree: AccessTree, granule_bytes: int) -> Footprint | None:
    """The footprint of accesses of which it is known what they touch.

    A report asks for the same several times, with and without each change that is tried.
    """
    touched = _touched(operations, tree)
    if touched is None:
        return None
    firsts = _firsts(touched.bytes // granule_bytes)
    elements = np.concatenate([firsts[1:], [len(touched.bytes)]]) - firsts
    # Of accesses that are all out of bounds nothing lies between.
    between = max(touched.high // granule_bytes - touched.low // granule_bytes + 1, 0)
    hull = float(between * granule_bytes)
    group = float(len(firsts) * granule_bytes)
    itemsize = operations[0].access_site.memory.dtype.itemsize
    gaps = float(np.mean(elements * itemsize < granule_bytes)) if len(firsts) else 0.0
    return Footprint(group, min(touched.groups * group, hull), touched.passes, gaps=gaps)


def of_consecutive(
    operations: Sequence[MemoryOperation], taken: Census, groups: int, granule_bytes: int
) -> float | None:
    """Bytes that a work-group adds to what neighbours touch of one memory: of all their granules, its part; where these
    are too many to count, of all between the least and the greatest address. None if that is not known.

    Args:
      operations: the accesses to the memory.
      taken: the census that they are from.
      groups: how many work-groups at most, those in the middle of the launch, which start one after the other.
      granule_bytes: size of the granules that are moved together.
    """
    return _added(tuple(operations), taken.tree, groups, granule_bytes)


@functools.lru_cache(maxsize=_MOST_KEPT)
def _added(operations: tuple[MemoryOperation, ...], tree: AccessTree, groups: int, granule_bytes: int) -> float | None:
    boxes = [box for operation in operations for box in operation.node.boxes]
    if not boxes or not all(o.linear_index.known and o.node.certain for o in operations):
        return None
    axes = tree.groups
    chosen = _middle(max(boxes, key=lambda box: _points(box, axes)), axes, groups)
    inside = [_of_groups(operation, chosen) for operation in operations]
    size, elements = operations[0].access_site.memory.dtype.itemsize, operations[0].access_site.memory.elements
    ends = [end for operation in operations for end in _ends(operation, chosen)]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    bytes_ = size * max(0, min(high, elements - 1) - max(low, 0) + 1)
    granules = _granules(inside, tree, granule_bytes)
    if granules is not None:
        bytes_ = min(bytes_, granules * granule_bytes)
    return bytes_ / math.prod(last - first + 1 for first, last in chosen.values())


def at_once(
    operations: Sequence[MemoryOperation], taken: Census, groups: int, granule_bytes: int
) -> Mapping[Node | None, int]:
    """Granules that some work-groups touch of one memory at a time, each in the middle of its loops: those of each
    outermost loop, and of accesses in none. Without those that are not known, or too many to count.

    Args:
      operations: the accesses to the memory.
      taken: the census that they are from.
      groups: how many work-groups at most, those in the middle of the launch.
      granule_bytes: size of the granules.
    """
    return _at_once(tuple(operations), taken.tree, groups, granule_bytes)


@functools.lru_cache(maxsize=_MOST_KEPT)
def _at_once(
    operations: tuple[MemoryOperation, ...], tree: AccessTree, groups: int, granule_bytes: int
) -> Mapping[Node | None, int]:
    loops: dict[Node | None, list[MemoryOperation]] = {}
    for operation in operations:
        if operation.linear_index.known and operation.node.certain and operation.node.boxes:
            loops.setdefault(_outermost(operation.node), []).append(operation)
    boxes = [box for each in loops.values() for operation in each for box in operation.node.boxes]
    if not boxes:
        return {}
    axes = tree.groups
    chosen = _middle(max(boxes, key=lambda box: _points(box, axes)), axes, groups)
    found = {}
    for loop, each in loops.items():
        now = [_in_the_middle(_of_groups(operation, chosen), axes) for operation in each]
        found[loop] = _granules(now, tree, granule_bytes) or 0
    return found


def _in_the_middle(operation: MemoryOperation, groups: Sequence[LoopAxis]) -> MemoryOperation:
    """One execution of an operation by each work-group, in the middle of its loops."""
    parts = [
        {axis: each if axis in groups else each[len(each) // 2 :][:1] for axis, each in box.items()}
        for box in operation.node.boxes[:1]
    ]
    return operation.within(parts)


def _of_groups(operation: MemoryOperation, chosen: Mapping[LoopAxis, tuple[int, int]]) -> MemoryOperation:
    """An operation as some work-groups execute it."""
    parts = (_part(box, chosen) for box in operation.node.boxes)
    return operation.within([part for part in parts if _points(part, chosen)])


def _part(box: Box, chosen: Mapping[LoopAxis, tuple[int, int]]) -> Box:
    """What some work-groups execute of a box."""
    return {**box, **{axis: _within(box[axis], *chosen[axis]) for axis in chosen}}


def _granules(operations: Sequence[MemoryOperation], tree: AccessTree, granule_bytes: int) -> int | None:
    """Different granules that some operations touch; None where a mask is not known, or they are too many."""
    masks = [symbolic_addresses.lane_mask(operation, tree) for operation in operations]
    points = sum(
        math.prod(operation.access.shape) * _points(box, box)
        for operation in operations
        for box in operation.node.boxes
    )
    if points > _MOST_OF_NEIGHBOURS or not all(mask.known for mask in masks):
        return None
    per_granule = max(1, granule_bytes // operations[0].access_site.memory.dtype.itemsize)
    try:
        found = [
            _touched_in(operation, mask, box, tree.groups, per_granule)
            for operation, mask in zip(operations, masks, strict=True)
            for box in operation.node.boxes
        ]
    except TooLarge:
        return None
    return len(_different(found)) if found else 0


def _touched_in(
    operation: MemoryOperation, mask: Expression, box: Box, groups: Sequence[LoopAxis], per_granule: int
) -> np.ndarray:
    """The numbers of the granules, of so many elements, that an access touches in a box, each once or more often."""
    index, shifts = operation.linear_index, _shifts(operation, mask, box, groups)
    if shifts is None:
        return _addresses(operation, index, mask, box) // per_granule
    elements = _addresses(operation, index, mask, {**box, **{axis: box[axis][:1] for axis in groups}})
    if not (shifts % per_granule).any():
        return np.add.outer(shifts // per_granule, _different([elements // per_granule])).reshape(-1)
    return np.add.outer(shifts, elements).reshape(-1) // per_granule


def _shifts(operation: MemoryOperation, mask: Expression, box: Box, groups: Sequence[LoopAxis]) -> np.ndarray | None:
    """By how many elements what a group of a box touches lies behind what the first one does, for all groups between
    which that differs; None where it is not found to be the same for all that a group touches."""
    inside = Progressions(box)
    try:
        steps = inside.of(operation.linear_index)
        if any(axis in inside.of(e) for e in (mask, *operation.node.conditions) for axis in groups):
            return None
    except (Split, TooLarge):
        return None
    shifts = np.zeros(1, np.int64)
    for axis, step in steps.items():
        if axis not in groups:
            continue
        if step.period != 1 or np.ptp(step.delta):
            return None
        each = np.max(step.delta) * np.arange(len(box[axis]), dtype=np.int64)
        shifts = np.add.outer(shifts, each).reshape(-1)
    return shifts


def _middle(box: Box, axes: Sequence[LoopAxis], groups: int) -> dict[LoopAxis, tuple[int, int]]:
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
    passes: float


@functools.lru_cache(maxsize=_MOST_KEPT)
def _touched(operations: tuple[MemoryOperation, ...], tree: AccessTree) -> _Touched | None:
    """What is known of accesses before the run; None if something is not."""
    indices = [operation.linear_index for operation in operations]
    masks = [symbolic_addresses.lane_mask(operation, tree) for operation in operations]
    known = all(e.known for e in (*indices, *masks)) and all(o.node.certain for o in operations)
    boxes = [box for operation in operations for box in operation.node.boxes]
    if not known or not boxes:
        return None
    groups = tree.groups
    largest = max(boxes, key=lambda box: _points(box, groups))
    middle = {axis: largest[axis][len(largest[axis]) // 2] for axis in groups}
    moving = [axis for axis in groups if any(axis in index.axes for index in indices)]
    memory = operations[0].access_site.memory
    try:
        touched = [
            (_outermost(operation.node), _addresses(operation, index, mask, box))
            for operation, index, mask in zip(operations, indices, masks, strict=True)
            for box in _around(operation.node.boxes, middle)
        ]
    except TooLarge:
        return None
    ends = [_ends(operation) for operation in operations]
    low = min(low for each in ends for low, _ in each)
    high = min(max(high for each in ends for _, high in each), memory.elements - 1)
    size = memory.dtype.itemsize
    every = _different([each for _, each in touched])
    passes = _swept(touched, len(every)) * min(
        _passes(box, index, groups) for o, index in zip(operations, indices, strict=True) for box in o.node.boxes
    )
    return _Touched(every * size, max(low, 0) * size, high * size, _points(largest, moving), passes)


def _swept(touched: Sequence[tuple[Node | None, np.ndarray]], elements: int) -> float:
    """How often a work-group goes through what it touches, once in each of its outermost loops.

    Args:
      touched: the outermost loop of each access, None of one in none, and the elements that it touches.
      elements: of all of them, each once.
    """
    loops: dict[Node | None, list[np.ndarray]] = {}
    for loop, each in touched:
        loops.setdefault(loop, []).append(each)
    if len(loops) == 1:
        return 1.0
    inside = sum(len(_different(each)) for loop, each in loops.items() if loop is not None)
    return max(1.0, inside / elements) if elements else 1.0


def _different(numbers: Sequence[np.ndarray]) -> np.ndarray:
    """The different ones of some numbers, in order. They are marked, which takes a tenth of the time of sorting them,
    where the marks, of a byte, take no more memory than the numbers."""
    every = np.concatenate(numbers)
    low, high = (int(every.min()), int(every.max())) if len(every) else (0, 0)
    if high - low < every.nbytes:
        marks = np.zeros(high - low + 1, np.bool_)
        marks[every - low] = True
        return np.flatnonzero(marks) + low
    every.sort()
    return every[_firsts(every)]


def _outermost(node: Node) -> Node | None:
    """The outermost loop's body that a node is, or stands in."""
    found = None
    around: Node | None = node
    while around is not None:
        found, around = around if around.kind == "iteration" else found, around.parent
    return found


def _firsts(numbers: np.ndarray) -> np.ndarray:
    """Where each number of some in order stands first."""
    differs = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=differs[1:])
    return np.flatnonzero(differs)


def _ends(
    operation: MemoryOperation, chosen: Mapping[LoopAxis, tuple[int, int]] | None = None
) -> list[tuple[int, int]]:
    """The least and greatest element of an access in each part of its boxes, as all groups execute it or some; the
    memory's where nothing repeats."""
    index, groups = operation.linear_index, chosen or {}
    parts = [_part(box, groups) for box in operation.node.boxes]
    try:
        try:
            whole = zip(_progressions(operation), parts, strict=True)
            return [inside.extremes(index, part) for inside, part in whole if _points(part, groups)]
        except Split:
            there = [part for part in parts if _points(part, groups)]
            return periodicity.divided(there, functools.partial(_extremes, index))
    except TooLarge:
        return [(0, operation.access_site.memory.elements - 1)]


@functools.lru_cache(maxsize=_MOST_KEPT)
def _progressions(operation: MemoryOperation) -> Sequence[Progressions]:
    """How values change in each box of an access; all groups are asked for, and then some of them."""
    return [Progressions(box) for box in operation.node.boxes]


def _passes(box: Box, index: Expression, groups: Sequence[LoopAxis]) -> int:
    """Iterations of loops that the address does not follow, around one that it does; a box has the outer loop first."""
    loops = [axis for axis in box if axis not in groups]
    followed = [k for k, axis in enumerate(loops) if axis in index.axes]
    return _points(box, [axis for axis in loops[: max(followed, default=0)] if axis not in index.axes])


def _extremes(index: Expression, inside: Progressions) -> tuple[int, int]:
    return inside.extremes(index)


def _around(boxes: Sequence[Box], group: Mapping[LoopAxis, int]) -> list[Box]:
    """The parts of some boxes with the executions of one group."""
    inside = [box for box in boxes if all(number in box[axis] for axis, number in group.items())]
    return [{**box, **{axis: range(number, number + 1) for axis, number in group.items()}} for box in inside]


def _points(box: Box, axes: Iterable[LoopAxis]) -> int:
    return math.prod(len(box[axis]) for axis in axes)


def _addresses(operation: MemoryOperation, index: Expression, mask: Expression, box: Box) -> np.ndarray:
    """The elements that are touched in a box, once or more often each."""
    conditions = operation.node.conditions
    needed = frozenset().union(*(e.axes for e in (index, mask, *conditions)))
    points: Mapping[LoopAxis, int] = {axis: len(indices) if axis in needed else 1 for axis, indices in box.items()}
    if math.prod(points.values()) * math.prod(operation.access.shape) > _MOST_ELEMENTS:
        raise TooLarge
    grid, _ = Progressions(box).representatives(points)
    return symbolic_addresses.elements(operation, grid, index, mask)
