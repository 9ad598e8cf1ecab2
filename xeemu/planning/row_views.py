"""Row views: the elements of a strided pattern as a rectangle of a memory that is seen as rows of rows.

A rectangle has no elements between those of the pattern, so that it can be written. Compilers go along the shape in
which something is written; along one axis for several, they would divide to find out which element is whose. Of data
that are updated more than once XLA makes a copy for an update of a slice in another shape than theirs, but none for a
scatter of that slice, unless there are uses in still other shapes.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence

from xeemu.knowledge.strided_patterns import StridedPattern


@dataclasses.dataclass(frozen=True, eq=False)
class Rectangle:
    """A rectangle of a memory's data, but for where it begins.

    Attributes:
      sizes: of the rectangle in the data seen in a shape.
      shape: in which the data are seen.
      values: the shape of the rectangle's values, the same elements in the same order.
      sliced: whether an update of a slice is made in place: nothing else uses the data, or they have this shape anyway.
    """

    sizes: tuple[int, ...]
    shape: tuple[int, ...]
    values: tuple[int, ...]
    sliced: bool


@dataclasses.dataclass(frozen=True, eq=False)
class RowsRectangle(Rectangle):
    """A rectangle of a memory of one axis, seen as rows of rows.

    Attributes:
      rows: the lengths of the rows, by falling length.
      offset, unit: it begins at `offset` plus a multiple of `unit`, or at `offset` if that is 0.
    """

    rows: tuple[int, ...]
    offset: int
    unit: int


def flat(strided: StridedPattern, data: tuple[int, ...], before: tuple[int, ...]) -> Rectangle | None:
    """The rectangle of a strided pattern in a memory as it is; None unless that is dense.

    Args:
      strided: the elements.
      data: the shape of the memory's data, of which all axes but the last belong to the rectangle as a whole.
      before: the shape of the values along those other axes.
    """
    *outer, _ = data
    return Rectangle((*outer, strided.span), data, (*before, *strided.extents), True) if strided.dense else None


def of_rows(strided: StridedPattern, offset: int, unit: int, length: int, sliced: bool) -> RowsRectangle | None:
    """The rectangle of a strided pattern that is apart in a memory of one axis, seen as rows of rows; or None.

    Args:
      strided: the elements.
      offset, unit: where the least of them is (see `RowsRectangle`).
      length: of the memory.
      sliced: see `Rectangle`.
    """
    rows = _rows(strided)
    if not rows or not _fit(strided, offset, unit, length, rows):
        return None
    shape = (length // rows[0], *(a // b for a, b in itertools.pairwise((*rows, 1))))
    sizes = (*strided.extents, 1)[: len(shape)]
    return RowsRectangle(sizes, shape, strided.extents, sliced, tuple(rows), offset, unit)


def _rows(strided: StridedPattern) -> list[int]:
    """The lengths of the rows that a pattern goes along, by falling length."""
    return [row for k in strided.moving if (row := abs(strided.axes[k].stride)) > 1]


def _fit(strided: StridedPattern, offset: int, unit: int, length: int, rows: Sequence[int]) -> bool:
    """Whether the memory consists of the rows, those of the shorter ones, and no row is left."""
    nested = all(not a % b for a, b in itertools.pairwise((length, *rows)))
    reaches = [abs(strided.axes[k].reach) for k in strided.moving]
    return nested and all(_within(row, offset, unit, 1 + sum(reaches[n + 1 :])) for n, row in enumerate(rows))


def _within(row: int, offset: int, unit: int, span: int) -> bool:
    """Whether so many elements lie in one of the rows that a memory is cut into, wherever they may begin."""
    step = math.gcd(unit, row)
    return offset % step + span <= step
