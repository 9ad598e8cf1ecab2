"""Boxes: accesses that go along each dimension of a memory by axes of their own, as rectangles of it.

The tiles of a matrix are boxes whatever its width, and so are the neighbours of all its elements, some of which do not
exist: a box may reach a little beyond its memory. What lies there reads as poison, say, and is not written.
"""

import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import locating
from xeemu.emission.addressing import Component
from xeemu.emission.frames import Frame
from xeemu.emission.locating import Lanes, Located
from xeemu.emission.neighbours import Neighbour
from xeemu.emission.values import Buffer, Chunk
from xeemu.knowledge import lattices
from xeemu.knowledge.intervals import Interval
from xeemu.knowledge.lattices import Axis, Lattice


@dataclasses.dataclass(frozen=True, eq=False)
class Edged(Frame):
    """A rectangle that may reach beyond its memory.

    Attributes:
      margins: along each dimension how far it does at most, below and above.
      missing: what lies beyond the memory reads as.
      branches: whether branches pay.
    """

    margins: tuple[tuple[int, int], ...]
    missing: Any
    branches: bool

    def read(self, data: jax.Array) -> jax.Array:
        """`[*values]`"""
        if not self.branches:
            return self._read_padded(data)
        return self._where_it_lies(super().read, self._read_at_edge, data)

    def written(self, data: jax.Array, values: jax.Array) -> jax.Array:
        """The data with other values in the rectangle, as far as they are there."""
        held = self._where_it_lies(lambda _, values: values, self._held_at_edge, data, values.reshape(self.sizes))
        return lax.dynamic_update_slice(data.reshape(self.shape), held, self._within).reshape(data.shape)

    def _where_it_lies(self, inside: Callable[..., Any], at_edge: Callable[..., Any], *operands: jax.Array) -> Any:
        """What one function or the other makes of operands, as the rectangle lies in its memory as a whole or not."""
        last = [n - size for n, size in zip(self.shape, self.sizes, strict=True)]
        if min(last) < 0:
            return at_edge(*operands)
        fits = (_between(0, start, n) for start, n in zip(self.starts, last, strict=True))
        return lax.cond(functools.reduce(operator.and_, fits), inside, at_edge, *operands)

    def _read_at_edge(self, data: jax.Array) -> jax.Array:
        last = [f + n for f, n in zip(self._first, self.sizes, strict=True)]
        return lax.slice(self._seen_around(data), self._first, last).reshape(self.values)

    def _seen_around(self, data: jax.Array) -> jax.Array:
        """What `_around` gives, found once: XLA would make it anew for each use if it were not in a branch."""
        return lax.cond(self._met, self._around, lambda data: self._blank(data.dtype), data)

    def _read_padded(self, data: jax.Array) -> jax.Array:
        held = lax.dynamic_slice(data.reshape(self.shape), self._within, self._held)
        padded = lax.pad(held, self.missing.astype(data.dtype), [(*margins, 0) for margins in self.margins])
        each = zip(self.starts, self._within, self.margins, strict=True)
        places = [start - within + start.dtype.type(below) for start, within, (below, _) in each]
        return lax.dynamic_slice(padded, places, self.sizes).reshape(self.values)

    def _held_at_edge(self, data: jax.Array, values: jax.Array) -> jax.Array:
        """What lies in the memory at `_within`, with other values in the rectangle."""
        around = lax.dynamic_update_slice(self._around(data), values, self._first)
        return lax.dynamic_slice(around, self._places, self._held)

    def _around(self, data: jax.Array) -> jax.Array:
        """The rectangle with margins around it, filled where it lies beyond the memory."""
        held = lax.dynamic_slice(data.reshape(self.shape), self._within, self._held)
        return lax.dynamic_update_slice(self._blank(data.dtype), held, self._places)

    def _blank(self, dtype: np.dtype) -> jax.Array:
        each = zip(self.sizes, self._held, self.margins, strict=True)
        return jnp.full([above + max(n, held + below) for n, held, (below, above) in each], self.missing, dtype)

    @property
    def _met(self) -> jax.Array:
        """Whether it lies in its memory at least in part."""
        each = zip(self.starts, self.sizes, self.shape, strict=True)
        return functools.reduce(operator.and_, (_between(1 - size, start, n - 1) for start, size, n in each))

    @property
    def _first(self) -> tuple[int, ...]:
        """Where it begins among itself and the margins."""
        return tuple(above for _, above in self.margins)

    @property
    def _held(self) -> tuple[int, ...]:
        """The sizes of a rectangle that is as large, but not larger than the memory."""
        return tuple(map(min, self.sizes, self.shape))

    @property
    def _within(self) -> tuple[jax.Array, ...]:
        """The starts of the one that is closest to the rectangle and reaches beyond nothing."""
        last = [n - held for n, held in zip(self.shape, self._held, strict=True)]
        return tuple(lax.clamp(s.dtype.type(0), s, s.dtype.type(n)) for s, n in zip(self.starts, last, strict=True))

    @property
    def _places(self) -> tuple[jax.Array, ...]:
        """Its starts among the rectangle and the margins."""
        each = zip(self.starts, self._within, self.margins, strict=True)
        return tuple(within - start + start.dtype.type(above) for start, within, (_, above) in each)


@dataclasses.dataclass(frozen=True, eq=False)
class Among(Frame):
    """A rectangle that is read as a part of a larger one, with those of its neighbours.

    Attributes:
      neighbour: how it lies in that.
      around: the larger one.
    """

    neighbour: Neighbour
    around: Edged

    def read(self, data: jax.Array) -> jax.Array:
        """`[*values]`"""
        larger = self.neighbour.rectangle(lambda: self.around.read(data))
        first = self.neighbour.offset
        last = [f + n for f, n in zip(first, self.sizes, strict=True)]
        return lax.slice(larger, first, last).reshape(self.values)


def _among(edged: Edged, neighbour: Neighbour | None, buffer: Buffer, chunk: Chunk) -> Frame:
    """A rectangle of a memory, as one among its neighbours if one around them all is worth it."""
    # The neighbours are those along each dimension of the memory, of which a division may have joined some.
    target = chunk.target
    if neighbour is None or not target.gathers_one_by_one or buffer.origin is not None:
        return edged
    if len(edged.sizes) != len(neighbour.spread):
        return edged
    if chunk.count == chunk.geometry.groups and neighbour.count <= target.windows.fewest_neighbours:
        return edged
    sizes = tuple(n + further for n, further in zip(edged.sizes, neighbour.spread, strict=True))
    margins = _margins(neighbour.bounds, buffer.shape, sizes)
    widest = min(target.windows.widest_around, neighbour.count)
    if margins is None or math.prod(sizes) > widest * math.prod(edged.sizes):
        return edged
    starts = tuple(lax.sub(s, s.dtype.type(n)) for s, n in zip(edged.starts, neighbour.offset, strict=True))
    around = dataclasses.replace(edged, starts=starts, sizes=sizes, values=sizes, margins=margins)
    return Among(edged.starts, edged.sizes, edged.shape, edged.values, edged.sliced, neighbour, around)


def _between(least: int, value: jax.Array, greatest: int) -> jax.Array:
    return (value >= least) & (value <= greatest)


def of_address(
    buffer: Buffer,
    address: Located,
    where: Lanes,
    varying: bool,
    chunk: Chunk,
    missing: Any,
    neighbour: Neighbour | None = None,
) -> tuple[Lattice, Frame] | None:
    """The elements of an access to global memory within a box of it, and the box; None if they are no box.

    Args:
      buffer: the memory.
      address, where: the elements.
      varying: whether groups have values of their own.
      chunk: the work-groups.
      missing: what elements out of bounds read as, if there may be such.
      neighbour: the access as one of several, if there are others.
    """
    if not may_be(buffer, address, where):
        return None
    axes = _axes(address.known.components, where, varying, chunk)
    lattice = lattices.of_box(axes) if axes else None
    if axes is None or lattice is None:
        return None
    lattice = lattice.split(where.shape) if where.all else lattice
    sizes = tuple(component.span for component in axes)
    starts = starts_of(buffer, address, [axis.least for axis in axes], chunk)
    if address.known.proved:
        return lattice, Frame(starts, sizes, buffer.held_shape, lattice.extents, True)
    margins = margins_of(address, buffer.shape, sizes)
    if margins is None:
        return None
    branches = chunk.target.skips_branches
    edged = Edged(starts, sizes, buffer.held_shape, lattice.extents, True, margins, missing, branches)
    return lattice, _among(edged, neighbour, buffer, chunk)


def starts_of(buffer: Buffer, address: Located, further: Sequence[int], chunk: Chunk) -> tuple[jax.Array, ...]:
    """Where along each dimension of a buffer the first element of the first group lies, and so much further."""
    first, *others = (
        locating.start(c.form, base, address.known.dtype, chunk, more)
        for c, base, more in zip(address.known.components, address.bases, further, strict=True)
    )
    if buffer.origin is not None:
        first = lax.sub(first, buffer.origin.row.astype(first.dtype))
    return first, *others


def may_be(buffer: Buffer, address: Located, where: Lanes) -> bool:
    """Whether an access is one to global memory in its own shape by an index of which each component is known."""
    if buffer.space != "global":
        return False
    if not buffer.alone and len(buffer.shape) > 1:  # XLA copies a memory that it sees in several shapes
        return False
    return bool(address.known.components and where.count and address.known.exact)


def _axes(components: Sequence[Component], where: Lanes, varying: bool, chunk: Chunk) -> list[Lattice] | None:
    """The lattice of each component of an index, along axes that they have in common."""
    lanes = lattices.of_places(np.stack([c.form.pattern for c in components], axis=1))
    groups = chunk.block() if varying else []
    if lanes is None or groups is None:
        return None
    steps = [list(map(Axis, groups, c.form.steps)) for c in components]
    return [Lattice((*own, *lattice.axes)) for own, lattice in zip(steps, lanes, strict=True)]


def margins_of(address: Located, shape: Sequence[int], sizes: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
    """How far an index goes beyond each dimension of a memory, below and above.

    None if that is not known, or if it is more than a rectangle of such sizes has.
    """
    return _margins([component.interval for component in address.known.components], shape, sizes)


def _margins(
    bounds: Sequence[Interval | None], shape: Sequence[int], sizes: Sequence[int]
) -> tuple[tuple[int, int], ...] | None:
    found = []
    for interval, size, own in zip(bounds, shape, sizes, strict=True):
        if interval is None:
            return None
        least, greatest = interval
        found.append((max(0, -least), max(0, greatest - (size - 1))))
        if sum(found[-1]) > own:
            return None
    return tuple(found)
