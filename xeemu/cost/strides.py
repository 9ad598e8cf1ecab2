"""Strides: where neighbours that access a memory begin, how far apart they are, and how far the next access is."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from xeemu.knowledge.access_tree import MemoryOperation
from xeemu.knowledge.expressions import Expression, Grid, LoopAxis, TooLarge


@dataclasses.dataclass(frozen=True)
class Strides:
    """What the first work-item of some neighbours accesses.

    Attributes:
      begins: byte addresses of one access of each operation.
      steps: bytes to the next one, along each loop, dimension of the group's id and outer dimension of a work-group.
    """

    begins: tuple[int, ...]
    steps: tuple[int, ...]

    def lie_apart(self, line_bytes: int, width_bytes: int) -> bool:
        """True if rows, at least so wide, begin between two lines: since their pitch is not a multiple of the line, or
        because all begin in the same place of one. What moves by less is no row, and passes over lines however it is
        laid out."""
        between = [step for step in self.steps if step % line_bytes]
        if between:
            return min(between) >= width_bytes
        offsets = {begin % line_bytes for begin in self.begins}
        return len(offsets) == 1 and offsets != {0}


def of_operations(operations: Iterable[MemoryOperation], rank: int) -> Strides | None:
    """The rows of some operations on one memory, for work-groups of `rank` dimensions; None if they are not known."""
    begins, steps = [], set[int]()
    for operation in operations:
        index = operation.linear_index
        if not index.known or len(index.shape) < rank or not operation.node.boxes:
            return None
        box = max(operation.node.boxes, key=lambda box: math.prod(map(len, box.values())))
        middle = {axis: indices[len(indices) // 2] for axis, indices in box.items() if indices}
        size = operation.access_site.memory.dtype.itemsize
        try:
            first = elements(index, middle)
            begins.append(size * int(first.flat[0]))
            steps |= {abs(size * step) for step in (*_inside(first, rank), *_along(index, box, middle))}
        except TooLarge:
            return None
    return Strides(tuple(begins), tuple(sorted(steps - {0}))) if begins else None


def distances(operations: Iterable[MemoryOperation], rank: int) -> frozenset[int]:
    """Elements from what a work-item accesses to what its neighbour does, of operations whose places are known.

    Args:
      operations: the operations; of each the first and the last of its executions are looked at.
      rank: dimensions of a work-group.
    """
    found = set[int]()
    for operation in operations:
        index, boxes = operation.linear_index, [box for box in operation.node.boxes if all(box.values())]
        if not index.known or len(index.shape) < rank or index.shape[rank - 1] < 2 or not boxes:
            continue
        ends = ({a: i[0] for a, i in boxes[0].items()}, {a: i[-1] for a, i in boxes[-1].items()})
        try:
            found |= {_distance(elements(index, place), rank) for place in ends}
        except TooLarge:
            continue
    return frozenset(found)


def _distance(first: np.ndarray, rank: int) -> int:
    neighbours = first.reshape(*first.shape[:rank], -1)[(0,) * (rank - 1)][:2, 0]
    return abs(int(neighbours[1]) - int(neighbours[0]))


def step(index: Expression, place: Mapping[LoopAxis, int], axis: LoopAxis, to: int) -> int:
    """The elements that the first one of a work-group moves on by, from a point of all axes to another index of one.

    Raises:
      TooLarge: it takes too much effort.
    """
    here, there = (int(elements(index, at).flat[0]) for at in (place, {**place, axis: to}))
    return there - here


def elements(index: Expression, place: Mapping[LoopAxis, int]) -> np.ndarray:
    """The elements that a work-group accesses at one point of all axes.

    Raises:
      TooLarge: it takes too much effort.
    """
    grid = Grid({axis: np.array([number]) for axis, number in place.items()})
    found: np.ndarray = grid.of(index).reshape(index.shape)
    return found


def _inside(first: np.ndarray, rank: int) -> Iterator[int]:
    """The steps along the dimensions of a work-group but for the last, whose work-items are neighbours."""
    for axis in range(rank - 1):
        if first.shape[axis] > 1:
            at_first = [0] * first.ndim
            at_next = [int(k == axis) for k in range(first.ndim)]
            yield int(first[tuple(at_next)]) - int(first[tuple(at_first)])


def _along(index: Expression, box: Mapping[LoopAxis, range], middle: Mapping[LoopAxis, int]) -> Iterator[int]:
    """The steps along loops and dimensions of the group's id."""
    for axis in index.axes:
        if len(box[axis]) > 1:
            yield -step(index, middle, axis, box[axis][len(box[axis]) // 2 - 1])
