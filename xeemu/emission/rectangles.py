"""Rectangles: rectangles of memories, read and written where they begin when the program runs."""

import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.planning.windows import Edge, Rectangle, Start

Starts = tuple[jax.Array, ...]
"""Where something begins along each axis of an array, when the program runs."""


def in_rows(start: Start, first: jax.Array) -> Starts:
    """Where in rows of rows a place on a line lies, which is where some window starts."""
    starts, rest = [], first
    for row, known in zip(start.rows, start.rests, strict=True):
        starts.append(lax.div(rest, rest.dtype.type(row)))
        rest = lax.rem(rest, rest.dtype.type(row)) if known is None else rest.dtype.type(known)
    return (*starts, rest)


def read(rectangle: Rectangle, data: jax.Array, starts: Starts) -> jax.Array:
    """`[*sizes]`: the elements of a rectangle, from where it begins in the data seen in its shape."""
    return _inside(rectangle, data, starts) if rectangle.edge is None else _AtBoundary(rectangle, starts).read(data)


def _inside(rectangle: Rectangle, data: jax.Array, starts: Starts) -> jax.Array:
    return _sliced(data.reshape(rectangle.shape), starts, rectangle.sizes)


def _sliced(data: jax.Array, starts: Starts, sizes: tuple[int, ...]) -> jax.Array:
    """A rectangle within the data."""
    return lax.dynamic_slice(data, starts, sizes, allow_negative_indices=False)


def written(rectangle: Rectangle, data: jax.Array, values: jax.Array, starts: Starts) -> jax.Array:
    """The data with other values in a rectangle, as far as it lies in its memory."""
    if rectangle.edge is not None:
        return _AtBoundary(rectangle, starts).written(data, values)
    update = _updated if rectangle.sliced else _scattered
    return update(data.reshape(rectangle.shape), values.reshape(rectangle.sizes), starts).reshape(data.shape)


def _updated(data: jax.Array, values: jax.Array, starts: Starts) -> jax.Array:
    """The data with other values in a rectangle within them: no start is below 0, of which JAX would make another."""
    return lax.dynamic_update_slice(data, values, starts, allow_negative_indices=False)


def _scattered(data: jax.Array, values: jax.Array, starts: Starts) -> jax.Array:
    """The data with other values in a rectangle within them."""
    axes = tuple(range(data.ndim))
    whole = lax.ScatterDimensionNumbers(axes, inserted_window_dims=(), scatter_dims_to_operand_dims=axes)
    return lax.scatter(
        data, jnp.stack(starts), values, whole, indices_are_sorted=True, unique_indices=True, mode="promise_in_bounds"
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _AtBoundary:
    """A rectangle that may reach beyond its memory, where it begins.

    Attributes:
      rectangle: all that is known of it before.
      starts: where it begins in the data seen in its shape.
    """

    rectangle: Rectangle
    starts: Starts

    @property
    def edge(self) -> Edge:
        """How it may reach beyond."""
        assert self.rectangle.edge is not None
        return self.rectangle.edge

    def read(self, data: jax.Array) -> jax.Array:
        """`[*sizes]`"""
        if self.edge.by == "padding":
            return self._read_padded(data)
        return self.select_by_location(lambda d: _inside(self.rectangle, d, self.starts), self._read_at_edge, data)

    def written(self, data: jax.Array, values: jax.Array) -> jax.Array:
        """The data with other values in the rectangle, as far as they are there."""
        shape, sizes = self.rectangle.shape, self.rectangle.sizes
        clipped = self.select_by_location(lambda _, values: values, self._clipped_values, data, values.reshape(sizes))
        return _updated(data.reshape(shape), clipped, self._within()).reshape(data.shape)

    def select_by_location(self, inside: Callable[..., Any], at_edge: Callable[..., Any], *operands: jax.Array) -> Any:
        """What one function or the other makes of operands, as it lies in its memory as a whole or not."""
        if self.edge.by != "branch":
            return at_edge(*operands)
        each = zip(self.starts, self.rectangle.sizes, self.rectangle.shape, strict=True)
        fits = (_between(0, start, n - size) for start, size, n in each)
        return lax.cond(functools.reduce(operator.and_, fits), inside, at_edge, *operands)

    def around(self, data: jax.Array) -> jax.Array:
        """The rectangle with margins, found once: XLA would make it anew for each use if it were not in a branch."""
        return lax.cond(self.overlaps(), self._around, lambda data: self._blank(data.dtype), data)

    def overlaps(self) -> jax.Array:
        """True if it lies in its memory at least in part."""
        each = zip(self.starts, self.rectangle.sizes, self.rectangle.shape, strict=True)
        return functools.reduce(operator.and_, (_between(1 - size, start, n - 1) for start, size, n in each))

    def _read_at_edge(self, data: jax.Array) -> jax.Array:
        last = [f + n for f, n in zip(self.edge.first, self.rectangle.sizes, strict=True)]
        return lax.slice(self.around(data), self.edge.first, last)

    def _read_padded(self, data: jax.Array) -> jax.Array:
        rectangle = self.rectangle
        clipped = _sliced(data.reshape(rectangle.shape), self._within(), rectangle.clipped_sizes)
        padded = lax.pad(
            clipped, self.edge.missing.astype(data.dtype), [(*margins, 0) for margins in self.edge.margins]
        )
        each = zip(self.starts, self._within(), self.edge.margins, strict=True)
        starts = [start - within + start.dtype.type(below) for start, within, (below, _) in each]
        return lax.dynamic_slice(padded, starts, rectangle.sizes)

    def _clipped_values(self, data: jax.Array, values: jax.Array) -> jax.Array:
        """What lies in the memory at `_within`, with other values in the rectangle."""
        around = lax.dynamic_update_slice(self._around(data), values, self.edge.first)
        return lax.dynamic_slice(around, self._clipped_starts(), self.rectangle.clipped_sizes)

    def _around(self, data: jax.Array) -> jax.Array:
        """The rectangle with margins around it, filled where it lies beyond the memory."""
        clipped = _sliced(data.reshape(self.rectangle.shape), self._within(), self.rectangle.clipped_sizes)
        return lax.dynamic_update_slice(self._blank(data.dtype), clipped, self._clipped_starts())

    def _blank(self, dtype: np.dtype) -> jax.Array:
        rectangle = self.rectangle
        each = zip(rectangle.sizes, rectangle.clipped_sizes, self.edge.margins, strict=True)
        sizes = [above + max(n, clipped + below) for n, clipped, (below, above) in each]
        return jnp.full(sizes, self.edge.missing, dtype)

    def _within(self) -> Starts:
        """The starts of the one that is closest to the rectangle and reaches beyond nothing."""
        last = [n - clipped for n, clipped in zip(self.rectangle.shape, self.rectangle.clipped_sizes, strict=True)]
        return tuple(lax.clamp(s.dtype.type(0), s, s.dtype.type(n)) for s, n in zip(self.starts, last, strict=True))

    def _clipped_starts(self) -> Starts:
        """Its starts among the rectangle and the margins."""
        each = zip(self.starts, self._within(), self.edge.margins, strict=True)
        return tuple(within - start + start.dtype.type(above) for start, within, (_, above) in each)


def _between(least: int, value: jax.Array, greatest: int) -> jax.Array:
    return (value >= least) & (value <= greatest)
