"""Boundary windows: references that go along each dimension of a memory by axes of their own, as rectangles of it.

The tiles of a matrix are such rectangles whatever its width, and so are the neighbours of all its elements, some of
which do not exist: a rectangle may reach a little beyond its memory. What lies there reads as poison, say, and is not
written.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xeemu.knowledge import strided_patterns
from xeemu.knowledge.addressing import Component
from xeemu.knowledge.intervals import Interval
from xeemu.knowledge.strided_patterns import StridedAxis, StridedPattern
from xeemu.planning.chunk import Chunk
from xeemu.planning.references import Reference
from xeemu.planning.row_views import Rectangle
from xeemu.planning.stencil_loads import StencilLoad
from xeemu.planning.storage import Storage


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

    @property
    def first(self) -> tuple[int, ...]:
        """Where it begins among itself and the margins."""
        return tuple(above for _, above in self.margins)

    @property
    def held(self) -> tuple[int, ...]:
        """The sizes of a rectangle that is as large, but not larger than the memory."""
        return tuple(map(min, self.sizes, self.shape))


Box = tuple[StridedPattern, Rectangle, tuple[int, ...]]
"""The elements of a reference within a rectangle, that, and how much further it begins than the first element."""


def inside(reference: Reference, chunk: Chunk) -> Box | None:
    """The rectangle of a reference to global memory that is within bounds; None if it has none."""
    found = _box(reference, chunk)
    if found is None:
        return None
    strided, sizes, further = found
    return strided, Rectangle(sizes, reference.storage.held_shape, strided.extents, True), further


def of_reference(reference: Reference, chunk: Chunk, missing: Any) -> Box | None:
    """The rectangle of a reference to global memory that may be out of bounds; None if it has none.

    Args:
      reference: the elements.
      chunk: the work-groups.
      missing: what elements out of bounds read as.
    """
    found = _box(reference, chunk)
    if found is None:
        return None
    strided, sizes, further = found
    bounds = [component.interval for component in reference.address.components]
    margins = _margins(bounds, reference.storage.shape, sizes)
    if margins is None:
        return None
    branches, shape = chunk.target.skips_branches, reference.storage.held_shape
    return strided, BoundaryRectangle(sizes, shape, strided.extents, True, margins, missing, branches), further


def _may_be(reference: Reference) -> bool:
    """Whether it is one to global memory in its own shape by an index of which each component is known."""
    storage, address = reference.storage, reference.address
    if storage.space != "global":
        return False
    if not storage.alone and len(storage.shape) > 1:  # XLA copies a memory that it sees in several shapes
        return False
    return bool(address.components and reference.elements.count and address.exact)


def _box(reference: Reference, chunk: Chunk) -> tuple[StridedPattern, tuple[int, ...], tuple[int, ...]] | None:
    """The elements of a reference in a rectangle, its sizes, and how much further it begins; None if it has none."""
    axes = _axes(reference, chunk) if _may_be(reference) else None
    strided = strided_patterns.of_box(axes) if axes else None
    if axes is None or strided is None:
        return None
    elements = reference.elements
    strided = strided.split(elements.shape) if elements.all else strided
    return strided, tuple(component.span for component in axes), tuple(axis.least for axis in axes)


def _axes(reference: Reference, chunk: Chunk) -> list[StridedPattern] | None:
    """The strided pattern of each component of an index, along axes that they have in common."""
    components: Sequence[Component] = reference.address.components
    lanes = strided_patterns.of_places(np.stack([c.form.pattern for c in components], axis=1))
    groups = chunk.block() if reference.varying else ()
    if lanes is None or groups is None:
        return None
    steps = [list(map(StridedAxis, groups, c.form.steps)) for c in components]
    return [StridedPattern((*own, *strided.axes)) for own, strided in zip(steps, lanes, strict=True)]


def around(
    edged: BoundaryRectangle, neighbour: StencilLoad, storage: Storage, chunk: Chunk
) -> BoundaryRectangle | None:
    """A rectangle around one and its neighbours; None if it is not worth it.

    Args:
      edged: the one.
      neighbour: as one of several loads.
      storage: of the memory.
      chunk: the work-groups.
    """
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
    """How far an index within some bounds goes beyond each dimension of a memory, below and above.

    None if that is not known, or if it is more than a rectangle of such sizes has.
    """
    found = []
    for interval, size, own in zip(bounds, shape, sizes, strict=True):
        if interval is None:
            return None
        least, greatest = interval
        found.append((max(0, -least), max(0, greatest - (size - 1))))
        if sum(found[-1]) > own:
            return None
    return tuple(found)
