"""Boundary windows: the window in a memory's own shape that has the elements of a reference, and may reach beyond it.

An index that goes along each dimension of a memory by axes of its own has its elements in a rectangle. The tiles of a
matrix are such rectangles whatever its width, and so are the neighbours of all its elements, of which some do not
exist.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from xeemu.devices.target import Target
from xeemu.knowledge import strided_patterns
from xeemu.knowledge.intervals import Interval
from xeemu.knowledge.strided_patterns import StridedAxis, StridedPattern
from xeemu.planning.chunk import Chunk
from xeemu.planning.references import Reference
from xeemu.planning.stencil_loads import StencilLoad
from xeemu.planning.storage import Storage
from xeemu.planning.windows import Edge, Margins, Rectangle, Start, Window


def inside(reference: Reference, chunk: Chunk) -> Window | None:
    """The window of a reference to global memory that is within bounds; None if it has none."""
    axes = _axes(reference, chunk) if _may_be(reference) else None
    strided = strided_patterns.of_box(axes) if axes else None
    if axes is None or strided is None:
        return None
    elements = reference.elements
    strided = strided.split(elements.shape) if elements.all else strided
    rectangle = Rectangle(reference.storage.stored_shape, tuple(component.span for component in axes))
    start = Start(tuple(component.least for component in axes))
    return Window(start, rectangle, strided, chunk.count if reference.varying else 1)


def of_reference(reference: Reference, chunk: Chunk, missing: np.ndarray) -> Window | None:
    """The window of a reference to global memory that may be out of bounds; None if it has none.

    Args:
      reference: the elements.
      chunk: the work-groups.
      missing: what elements out of bounds read as.
    """
    found = inside(reference, chunk)
    if found is None:
        return None
    bounds = [component.interval for component in reference.address.components]
    margins = _margins(bounds, reference.storage.shape, found.rectangle.sizes)
    if margins is None:
        return None
    return dataclasses.replace(found, rectangle=_at_edge(found.rectangle, margins, missing, chunk.target))


def _at_edge(rectangle: Rectangle, margins: Margins, missing: np.ndarray, target: Target) -> Rectangle:
    """A rectangle that may reach so far beyond its memory."""
    fits = all(n <= size for n, size in zip(rectangle.sizes, rectangle.shape, strict=True))
    edge = Edge(margins, missing, "padding" if not target.skips_branches else "branch" if fits else "margins")
    return dataclasses.replace(rectangle, edge=edge)


def _may_be(reference: Reference) -> bool:
    """True if it is one to global memory in its own shape by an index of which each component is known."""
    storage, address = reference.storage, reference.address
    if storage.space != "global":
        return False
    if not storage.alone and len(storage.shape) > 1:  # XLA copies a memory that it sees in several shapes
        return False
    return bool(address.components and reference.elements.count and address.exact)


def _axes(reference: Reference, chunk: Chunk) -> list[StridedPattern] | None:
    """The strided pattern of each component of an index, along axes that they have in common."""
    components = reference.address.components
    lanes = strided_patterns.of_indices(np.stack([c.form.pattern for c in components], axis=1))
    groups = chunk.block() if reference.varying else ()
    if lanes is None or groups is None:
        return None
    steps = [list(map(StridedAxis, groups, c.form.steps)) for c in components]
    return [StridedPattern((*own, *strided.axes)) for own, strided in zip(steps, lanes, strict=True)]


def around(part: Rectangle, neighbour: StencilLoad, storage: Storage, chunk: Chunk) -> Rectangle | None:
    """A rectangle around one that may reach beyond its memory and its neighbours; None if it is not worth it.

    Args:
      part: the one.
      neighbour: as one of several loads.
      storage: of the memory.
      chunk: the work-groups.
    """
    # The neighbours are those along each dimension of the memory, of which a division may have joined some.
    target, edge = chunk.target, part.edge
    if not target.gathers_one_by_one or storage.unit is not None or len(part.sizes) != len(neighbour.spread):
        return None
    if chunk.count == chunk.geometry.groups and neighbour.count <= target.windows.fewest_neighbours:
        return None
    sizes = tuple(n + further for n, further in zip(part.sizes, neighbour.spread, strict=True))
    margins = _margins(neighbour.bounds, storage.shape, sizes)
    widest = min(target.windows.widest_around, neighbour.count)
    if edge is None or margins is None or math.prod(sizes) > widest * math.prod(part.sizes):
        return None
    return _at_edge(dataclasses.replace(part, sizes=sizes), margins, edge.missing, target)


def _margins(bounds: Sequence[Interval | None], shape: Sequence[int], sizes: Sequence[int]) -> Margins | None:
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
