"""Boundary windows: references that go along each dimension of a memory by axes of their own, as rectangles of it.

The tiles of a matrix are such rectangles whatever its width, and so are the neighbours of all its elements, some of
which do not exist: a rectangle may reach a little beyond its memory. What lies there reads as poison, say, and is not
written.
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

from xeemu.planning.chunk import Chunk
from xeemu.planning.references import Reference
from xeemu.planning.row_views import Rectangle, Starts
from xeemu.planning.stencil_loads import StencilLoad
from xeemu.planning.storage import Storage
from xeemu.knowledge import lattices
from xeemu.knowledge.addressing import Component
from xeemu.knowledge.intervals import Interval
from xeemu.knowledge.lattices import Lattice, StridedAxis


@dataclasses.dataclass(frozen=True, eq=False)
class BoundaryRectangle(Rectangle):
    """A rectangle that may reach beyond its memory.

    Attributes:
      margins: along each dimension how far it does at most, below and above.
      missing: what lies beyond the memory reads as.
      branches: whether branches pay.
    """

    margins: tuple[tuple[int, int], ...]
    missing: Any
    branches: bool

    def read(self, data: jax.Array, starts: Starts) -> jax.Array:
        """`[*values]`"""
        if not self.branches:
            return self._read_padded(data, starts)
        inside, at_edge = super().read, self._read_at_edge
        return self.where_it_lies(starts, lambda d: inside(d, starts), lambda d: at_edge(d, starts), data)

    def written(self, data: jax.Array, values: jax.Array, starts: Starts) -> jax.Array:
        """The data with other values in the rectangle, as far as they are there."""
        at_edge = functools.partial(self._held_at_edge, starts)
        held = self.where_it_lies(starts, lambda _, values: values, at_edge, data, values.reshape(self.sizes))
        return lax.dynamic_update_slice(data.reshape(self.shape), held, self._within(starts)).reshape(data.shape)

    def where_it_lies(
        self, starts: Starts, inside: Callable[..., Any], at_edge: Callable[..., Any], *operands: jax.Array
    ) -> Any:
        """What one function or the other makes of operands, as the rectangle lies in its memory as a whole or not."""
        last = [n - size for n, size in zip(self.shape, self.sizes, strict=True)]
        if min(last) < 0:
            return at_edge(*operands)
        fits = (_between(0, start, n) for start, n in zip(starts, last, strict=True))
        return lax.cond(functools.reduce(operator.and_, fits), inside, at_edge, *operands)

    def seen_around(self, data: jax.Array, starts: Starts) -> jax.Array:
        """The rectangle with margins, found once: XLA would make it anew for each use if it were not in a branch."""
        return lax.cond(
            self.met(starts), lambda data: self._around(data, starts), lambda data: self._blank(data.dtype), data
        )

    def met(self, starts: Starts) -> jax.Array:
        """Whether it lies in its memory at least in part."""
        each = zip(starts, self.sizes, self.shape, strict=True)
        return functools.reduce(operator.and_, (_between(1 - size, start, n - 1) for start, size, n in each))

    @property
    def first(self) -> tuple[int, ...]:
        """Where it begins among itself and the margins."""
        return tuple(above for _, above in self.margins)

    def _read_at_edge(self, data: jax.Array, starts: Starts) -> jax.Array:
        last = [f + n for f, n in zip(self.first, self.sizes, strict=True)]
        return lax.slice(self.seen_around(data, starts), self.first, last).reshape(self.values)

    def _read_padded(self, data: jax.Array, starts: Starts) -> jax.Array:
        held = lax.dynamic_slice(data.reshape(self.shape), self._within(starts), self._held)
        padded = lax.pad(held, self.missing.astype(data.dtype), [(*margins, 0) for margins in self.margins])
        each = zip(starts, self._within(starts), self.margins, strict=True)
        places = [start - within + start.dtype.type(below) for start, within, (below, _) in each]
        return lax.dynamic_slice(padded, places, self.sizes).reshape(self.values)

    def _held_at_edge(self, starts: Starts, data: jax.Array, values: jax.Array) -> jax.Array:
        """What lies in the memory at `_within`, with other values in the rectangle."""
        around = lax.dynamic_update_slice(self._around(data, starts), values, self.first)
        return lax.dynamic_slice(around, self._places(starts), self._held)

    def _around(self, data: jax.Array, starts: Starts) -> jax.Array:
        """The rectangle with margins around it, filled where it lies beyond the memory."""
        held = lax.dynamic_slice(data.reshape(self.shape), self._within(starts), self._held)
        return lax.dynamic_update_slice(self._blank(data.dtype), held, self._places(starts))

    def _blank(self, dtype: np.dtype) -> jax.Array:
        each = zip(self.sizes, self._held, self.margins, strict=True)
        return jnp.full([above + max(n, held + below) for n, held, (below, above) in each], self.missing, dtype)

    @property
    def _held(self) -> tuple[int, ...]:
        """The sizes of a rectangle that is as large, but not larger than the memory."""
        return tuple(map(min, self.sizes, self.shape))

    def _within(self, starts: Starts) -> Starts:
        """The starts of the one that is closest to the rectangle and reaches beyond nothing."""
        last = [n - held for n, held in zip(self.shape, self._held, strict=True)]
        return tuple(lax.clamp(s.dtype.type(0), s, s.dtype.type(n)) for s, n in zip(starts, last, strict=True))

    def _places(self, starts: Starts) -> Starts:
        """Its starts among the rectangle and the margins."""
        each = zip(starts, self._within(starts), self.margins, strict=True)
        return tuple(within - start + start.dtype.type(above) for start, within, (_, above) in each)


@dataclasses.dataclass(frozen=True, eq=False)
class StencilRectangle(Rectangle):
    """A rectangle that is read as a part of a larger one, with those of its neighbours.

    Attributes:
      neighbour: how it lies in that.
      around: the larger one.
    """

    neighbour: StencilLoad
    around: BoundaryRectangle

    def read(self, data: jax.Array, starts: Starts) -> jax.Array:
        """`[*values]`"""
        offset = self.neighbour.offset
        first = tuple(lax.sub(s, s.dtype.type(n)) for s, n in zip(starts, offset, strict=True))
        larger = self.neighbour.rectangle(lambda: self.around.read(data, first))
        last = [f + n for f, n in zip(offset, self.sizes, strict=True)]
        return lax.slice(larger, offset, last).reshape(self.values)


Box = tuple[Lattice, Rectangle, tuple[int, ...]]
"""The elements of a reference within a rectangle, that, and how much further it begins than the first element."""


def inside(reference: Reference, chunk: Chunk) -> Box | None:
    """The rectangle of a reference to global memory that is within bounds; None if it has none."""
    found = _box(reference, chunk)
    if found is None:
        return None
    lattice, sizes, further = found
    return lattice, Rectangle(sizes, reference.storage.held_shape, lattice.extents, True), further


def of_reference(reference: Reference, chunk: Chunk, missing: Any, neighbour: StencilLoad | None = None) -> Box | None:
    """The rectangle of a reference to global memory that may be out of bounds; None if it has none.

    Args:
      reference: the elements.
      chunk: the work-groups.
      missing: what elements out of bounds read as.
      neighbour: the reference as one of several, if there are others.
    """
    found = _box(reference, chunk)
    if found is None:
        return None
    lattice, sizes, further = found
    margins = margins_of(reference, sizes)
    if margins is None:
        return None
    branches, shape = chunk.target.skips_branches, reference.storage.held_shape
    edged = BoundaryRectangle(sizes, shape, lattice.extents, True, margins, missing, branches)
    around = None if neighbour is None else _around(edged, neighbour, reference.storage, chunk)
    if neighbour is None or around is None:
        return lattice, edged, further
    return lattice, StencilRectangle(sizes, shape, lattice.extents, True, neighbour, around), further


def may_be(reference: Reference) -> bool:
    """Whether it is one to global memory in its own shape by an index of which each component is known."""
    storage, address = reference.storage, reference.address
    if storage.space != "global":
        return False
    if not storage.alone and len(storage.shape) > 1:  # XLA copies a memory that it sees in several shapes
        return False
    return bool(address.components and reference.elements.count and address.exact)


def margins_of(reference: Reference, sizes: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
    """How far an index goes beyond each dimension of a memory, below and above.

    None if that is not known, or if it is more than a rectangle of such sizes has.
    """
    bounds = [component.interval for component in reference.address.components]
    return _margins(bounds, reference.storage.shape, sizes)


def _box(reference: Reference, chunk: Chunk) -> tuple[Lattice, tuple[int, ...], tuple[int, ...]] | None:
    """The elements of a reference in a rectangle, its sizes, and how much further it begins; None if it has none."""
    axes = _axes(reference, chunk) if may_be(reference) else None
    lattice = lattices.of_box(axes) if axes else None
    if axes is None or lattice is None:
        return None
    elements = reference.elements
    lattice = lattice.split(elements.shape) if elements.all else lattice
    return lattice, tuple(component.span for component in axes), tuple(axis.least for axis in axes)


def _axes(reference: Reference, chunk: Chunk) -> list[Lattice] | None:
    """The lattice of each component of an index, along axes that they have in common."""
    components: Sequence[Component] = reference.address.components
    lanes = lattices.of_places(np.stack([c.form.pattern for c in components], axis=1))
    groups = chunk.block() if reference.varying else ()
    if lanes is None or groups is None:
        return None
    steps = [list(map(StridedAxis, groups, c.form.steps)) for c in components]
    return [Lattice((*own, *lattice.axes)) for own, lattice in zip(steps, lanes, strict=True)]


def _around(
    edged: BoundaryRectangle, neighbour: StencilLoad, storage: Storage, chunk: Chunk
) -> BoundaryRectangle | None:
    """A rectangle around one and its neighbours; None if it is not worth it."""
    # The neighbours are those along each dimension of the memory, of which a division may have joined some.
    target = chunk.target
    if not target.gathers_one_by_one or storage.unit is not None or len(edged.sizes) != len(neighbour.spread):
        return None
    if chunk.count == chunk.geometry.groups and neighbour.count <= target.windows.fewest_neighbours:
        return None
    sizes = tuple(n + further for n, further in zip(edged.sizes, neighbour.spread, strict=True))
    margins = _margins(neighbour.bounds, storage.shape, sizes)
    widest = min(target.windows.widest_around, neighbour.count)
    if margins is None or math.prod(sizes) > widest * math.prod(edged.sizes):
        return None
    return dataclasses.replace(edged, sizes=sizes, values=sizes, margins=margins)


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


def _between(least: int, value: jax.Array, greatest: int) -> jax.Array:
    return (value >= least) & (value <= greatest)
