"""Haloed tiles: tiles that reach into those of the next groups, each cut for itself from what all of them cover.

A tile with a border overlaps its neighbours, and so do the steps of a sliding window. Their elements are not strided
that is apart, but those of each group lie within a rectangle whose place is known from the group's id. A gather of
whole rectangles looks once at where each begins, and at bounds once for all; one of elements does so for each of them.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from xeemu.knowledge import strided_patterns
from xeemu.knowledge.strided_patterns import StridedAxis, StridedPattern
from xeemu.planning import boundary_windows
from xeemu.planning.boundary_windows import BoundaryRectangle
from xeemu.planning.chunk import Chunk
from xeemu.planning.layouts import Sharing
from xeemu.planning.references import Reference


@dataclasses.dataclass(frozen=True, eq=False)
class Cover(BoundaryRectangle):
    """What the tiles of all groups cover: a rectangle of a memory that may reach beyond it.

    Attributes:
      proved: whether it does not.
      tile: the sizes of a group's own rectangle.
      places: `[G, dimensions]` where it begins in that of all.
    """

    proved: bool
    tile: tuple[int, ...]
    places: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class HaloedTiles:
    """The elements of a load as parts of tiles, but for where these begin.

    Attributes:
      cover: the tiles, of the groups that have their own.
      further: along each dimension how much further the cover begins than the first element of the first group.
      chosen: `[n]` flat positions in a tile.
      sharing: which groups share tiles.
    """

    cover: Cover
    further: tuple[int, ...]
    chosen: np.ndarray
    sharing: Sharing | None


def of_reference(reference: Reference, chunk: Chunk, missing: np.ndarray) -> HaloedTiles | None:
    """The tiles of a load from global memory; None if it has none, or if they would hold little of what is loaded.

    Args:
      reference: the elements.
      chunk: the work-groups.
      missing: what elements out of bounds read as.
    """
    varying, components = reference.varying, reference.address.components
    block = chunk.block() if varying else (1,)
    if not chunk.target.gathers_one_by_one or block is None or not boundary_windows.may_be(reference):
        return None
    patterns = np.stack([c.form.pattern for c in components], axis=1)
    least = patterns.min(axis=0)
    tile = tuple((patterns.max(axis=0) - least + 1).tolist())
    fits = math.prod(tile) <= chunk.target.windows.widest_overlap * reference.elements.count
    chosen = np.ravel_multi_index(tuple((patterns - least).T), tile) if fits else None
    if chosen is None or not strided_patterns.is_sliced(tile, chosen):
        return None
    steps = [c.form.steps if varying else (0,) for c in components]
    own = tuple(n if any(each) else 1 for n, *each in zip(block, *steps, strict=True))
    groups = [StridedPattern(tuple(map(StridedAxis, own, each))) for each in steps]
    cover = _cover(reference, groups, tile, chunk, missing)
    further = tuple(int(more) + strided.least for more, strided in zip(least - patterns[0], groups, strict=True))
    return None if cover is None else HaloedTiles(cover, further, chosen, Sharing.of(block, [n > 1 for n in own]))


def _cover(
    reference: Reference, groups: Sequence[StridedPattern], tile: tuple[int, ...], chunk: Chunk, missing: np.ndarray
) -> Cover | None:
    """What tiles cover; None if it is more than it is worth.

    Args:
      reference: of the load.
      groups: for each component of the index where the tiles of the groups begin.
      tile: the sizes of each.
      chunk: the work-groups.
      missing: what elements out of bounds read as.
    """
    proved, sizes = reference.address.proved, tuple(g.span + n - 1 for g, n in zip(groups, tile, strict=True))
    margins = ((0, 0),) * len(sizes) if proved else boundary_windows.margins_of(reference, sizes)
    widest = chunk.target.windows.widest_overlap * math.prod(groups[0].sizes) * math.prod(tile)
    if margins is None or (not proved and math.prod(sizes) > widest):
        return None
    return Cover(
        sizes, reference.storage.held_shape, sizes, True, margins, missing, True, proved, tile, _places(groups)
    )


def _places(groups: Sequence[StridedPattern]) -> np.ndarray:
    """`[G, components]`: where the tiles begin, from the least of them."""
    numbers = np.indices(groups[0].sizes).reshape(len(groups[0].sizes), -1)
    return np.stack([np.array([a.stride for a in each.axes]) @ numbers - each.least for each in groups], axis=1)
