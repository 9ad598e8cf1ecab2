"""Frames: the elements of a lattice as a rectangle of a memory that is seen as rows of rows.

A frame has no elements between those of the lattice, so that it can be written. Compilers go along the shape in which
something is written; along one axis for several, they would divide to find out which element is whose. Of data that are
updated more than once XLA makes a copy for an update of a slice in another shape than theirs, but none for a scatter of
that slice, unless there are uses in still other shapes.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.knowledge.lattices import Lattice


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """A rectangle of a memory's data.

    Attributes:
      starts, sizes: of the rectangle in the data seen in a shape.
      shape: in which the data are seen.
      values: the shape of the rectangle's values, the same elements in the same order.
      sliced: whether an update of a slice is made in place: nothing else uses the data, or they have this shape anyway.
    """

    starts: tuple[jax.Array, ...]
    sizes: tuple[int, ...]
    shape: tuple[int, ...]
    values: tuple[int, ...]
    sliced: bool

    def read(self, data: jax.Array) -> jax.Array:
        """`[*values]`"""
        seen = data.reshape(self.shape)
        return lax.dynamic_slice(seen, self.starts, self.sizes, allow_negative_indices=False).reshape(self.values)

    def written(self, data: jax.Array, values: jax.Array) -> jax.Array:
        """The data with other values in the rectangle."""
        update = lax.dynamic_update_slice if self.sliced else _scattered
        return update(data.reshape(self.shape), values.reshape(self.sizes), self.starts).reshape(data.shape)


def _scattered(data: jax.Array, values: jax.Array, starts: Sequence[jax.Array]) -> jax.Array:
    """The data with other values in a rectangle within them."""
    axes = tuple(range(data.ndim))
    whole = lax.ScatterDimensionNumbers(axes, inserted_window_dims=(), scatter_dims_to_operand_dims=axes)
    return lax.scatter(
        data, jnp.stack(starts), values, whole, indices_are_sorted=True, unique_indices=True, mode="promise_in_bounds"
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Start:
    """Where a lattice has its least address: `offset` plus a multiple of `unit`, or at `offset` if that is 0."""

    index: jax.Array
    offset: int
    unit: int

    def cut(self, rows: Sequence[int]) -> list[jax.Array]:
        """Its row, the shorter row in that, and so on."""
        places, rest, unit = [], self.index, self.unit
        for row in rows:
            places.append(lax.div(rest, rest.dtype.type(row)))
            known = unit % row == 0
            rest = rest.dtype.type(self.offset % row) if known else lax.rem(rest, rest.dtype.type(row))
        return [*places, rest]


def flat(lattice: Lattice, start: jax.Array, data: tuple[int, ...], before: tuple[int, ...]) -> Frame | None:
    """The frame of a lattice in a memory as it is; None unless the lattice is dense.

    Args:
      lattice: the elements.
      start: of the least of them along the last axis.
      data: the shape of the memory's data, of which all other axes belong to the frame as a whole.
      before: the shape of the values along those other axes.
    """
    *outer, _ = data
    starts = (*[start.dtype.type(0)] * len(outer), start)
    return Frame(starts, (*outer, lattice.span), data, (*before, *lattice.extents), True) if lattice.dense else None


def of_rows(lattice: Lattice, start: Start, length: int, sliced: bool) -> Frame | None:
    """The frame of a lattice that is apart in a memory of one axis, seen as rows of rows; None if it has none.

    Args:
      lattice: the elements.
      start: of the least of them.
      length: of the memory.
      sliced: see `Frame`.
    """
    shape = shape_of_rows(lattice, start.offset, start.unit, length)
    if shape is None:
        return None
    sizes = (*lattice.extents, 1)[: len(shape)]
    return Frame(tuple(start.cut(_rows(lattice))), sizes, shape, lattice.extents, sliced)


def shape_of_rows(lattice: Lattice, offset: int, unit: int, length: int) -> tuple[int, ...] | None:
    """The shape in which a memory's axis of such a length is seen as rows of rows.

    Args:
      lattice: the elements.
      offset, unit: where they begin (see `Start`).
      length: of the memory.
    """
    rows = _rows(lattice)
    if not rows or not _fit(lattice, offset, unit, length, rows):
        return None
    return (length // rows[0], *(a // b for a, b in itertools.pairwise((*rows, 1))))


def _rows(lattice: Lattice) -> list[int]:
    """The lengths of the rows that the lattice goes along, by falling length."""
    return [row for k in lattice.moving if (row := abs(lattice.axes[k].stride)) > 1]


def _fit(lattice: Lattice, offset: int, unit: int, length: int, rows: Sequence[int]) -> bool:
    """Whether the memory consists of the rows, those of the shorter ones, and no row is left."""
    nested = all(not a % b for a, b in itertools.pairwise((length, *rows)))
    reaches = [abs(lattice.axes[k].reach) for k in lattice.moving]
    return nested and all(_within(row, offset, unit, 1 + sum(reaches[n + 1 :])) for n, row in enumerate(rows))


def _within(row: int, offset: int, unit: int, span: int) -> bool:
    """Whether so many elements lie in one of the rows that a memory is cut into, wherever they may begin."""
    step = math.gcd(unit, row)
    return offset % step + span <= step
