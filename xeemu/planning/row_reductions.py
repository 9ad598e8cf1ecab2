"""Row reductions: how rows of integers are reduced where XLA reduces slowly (see `emission/row_reductions.py`)."""

import dataclasses
import functools
import math
from collections.abc import Collection, Sequence

import numpy as np

from xeemu.devices.host_figures import Reductions


@dataclasses.dataclass(frozen=True)
class Piece:
    """A piece of rows, cut into parts of which each is combined in one pass.

    Attributes:
      parts: how many.
      vectors, lanes: so many vectors side by side, each of so many elements, are put together first.
      axes: the others of a part, as axes of which XLA reduces each in the same pass.
    """

    parts: int
    vectors: int
    lanes: int
    axes: tuple[int, ...]

    @property
    def length(self) -> int:
        """Elements of a row."""
        return self.parts * self.vectors * self.lanes * math.prod(self.axes)


@dataclasses.dataclass(frozen=True)
class Rest:
    """What is left at the end of rows, which is too short for a piece: XLA reduces it.

    Attributes:
      length: elements of a row.
    """

    length: int


@dataclasses.dataclass(frozen=True)
class RowReduction:
    """How long rows of integers are reduced.

    Attributes:
      count, length: how many they are, and elements of each.
      pieces: of each, one after the other.
    """

    count: int
    length: int
    pieces: tuple[Piece | Rest, ...]


def takes(dtype: np.dtype) -> bool:
    """True if rows of a dtype are reduced so."""
    return dtype.kind in "iu" and dtype.itemsize >= 4


def of_axes(
    shape: Sequence[int], axes: Collection[int], dtype: np.dtype, figures: Reductions | None
) -> RowReduction | None:
    """How an array is reduced along some axes that are long rows of elements side by side; None if XLA reduces it."""
    first = min((k for k in axes if shape[k] > 1), default=len(shape))
    within = all(k in axes or n == 1 for k, n in enumerate(shape) if k >= first)
    count, length = math.prod(shape[:first]), math.prod(shape[first:])
    if figures is None or not (within and takes(dtype) and count > 0 and length >= figures.vectors * figures.lanes):
        return None
    return RowReduction(count, length, tuple(_pieces(count, length, figures)))


def _pieces(count: int, length: int, figures: Reductions) -> list[Piece | Rest]:
    """The pieces of so many rows of a length, the longest first."""
    parts = (figures.parts, 1) if count < figures.parts else (1,)
    piece = next((found for n in parts if (found := longest(length, n, figures)) is not None), None)
    if piece is None:
        return [Rest(length)] if length else []
    return [piece, *_pieces(count, length - piece.length, figures)]


def longest(length: int, parts: int, figures: Reductions) -> Piece | None:
    """The longest piece of so many parts in a row of some length; None if the row is too short for any."""
    axes = _short_axes(length // (parts * figures.vectors * figures.lanes), figures.short)
    return Piece(parts, figures.vectors, figures.lanes, axes) if all(axes) else None


@functools.lru_cache(maxsize=1 << 12)
def _short_axes(length: int, short: int) -> tuple[int, ...]:
    """Axes of at most so many elements that make the longest one up to a length."""
    if length <= short:
        return (length,)
    each = ((*_short_axes(length // last, short), last) for last in range(short // 2 + 1, short + 1))
    return max(each, key=math.prod)
