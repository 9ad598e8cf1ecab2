"""Overlaps: tiles that reach into those of the next groups, each cut for itself from what all of them cover.

A tile with a border overlaps its neighbours, and so do the frames of a sliding window. Their elements are no lattice
that is apart, but those of each group lie within a rectangle whose place is known from the group's id. A gather of
whole rectangles looks once at where each begins, and at bounds once for all; one of elements does so for each of them.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import boxes, locating
from xeemu.emission.boxes import Edged
from xeemu.emission.locating import Lanes, Located
from xeemu.emission.values import Buffer, Chunk, Shared
from xeemu.knowledge.lattices import Axis, Lattice


@dataclasses.dataclass(frozen=True, eq=False)
class Cover(Edged):
    """What the tiles of all groups cover: a rectangle of a memory that may reach beyond it.

    Attributes:
      proved: whether it does not.
      tile: the sizes of a group's own rectangle.
      places: `[G, dimensions]` where it begins in that of all.
    """

    proved: bool
    tile: tuple[int, ...]
    places: np.ndarray

    def read(self, data: jax.Array) -> jax.Array:
        """`[G, *tile]`"""
        if not self.proved:
            return self._where_it_lies(self._tiles, self._tiles_at_edge, data)
        # A branch that is always taken: else XLA would divide, for each element, to find its place in the tile.
        return self._tiles(data) if len(self.tile) == 1 else self._where_it_lies(self._tiles, self._no_tiles, data)

    def _tiles(self, data: jax.Array) -> jax.Array:
        """The tiles if all lie within the memory."""
        starts = jnp.stack(self.starts)
        return _cut(data.reshape(self.shape), starts + self.places.astype(starts.dtype), self.tile)

    def _tiles_at_edge(self, data: jax.Array) -> jax.Array:
        places = (self.places + self._first).astype(np.int32)
        return lax.cond(
            self._met, lambda around: _cut(around, places, self.tile), self._no_tiles, self._seen_around(data)
        )

    def _no_tiles(self, data: jax.Array) -> jax.Array:
        """The tiles if none lies in the memory."""
        return jnp.full((len(self.places), *self.tile), self.missing, data.dtype)


def _cut(array: jax.Array, starts: Any, sizes: tuple[int, ...]) -> jax.Array:
    """`[G, *sizes]`: rectangles within an array, from `[G, dimensions]` starts."""
    axes = tuple(range(array.ndim))
    whole = lax.GatherDimensionNumbers(tuple(axis + 1 for axis in axes), (), axes)
    return lax.gather(array, jnp.asarray(starts), whole, sizes, mode="promise_in_bounds")


@dataclasses.dataclass(frozen=True, eq=False)
class Tiles:
    """The elements of an access as parts of tiles.

    Attributes:
      cover: the tiles, of the groups that have their own.
      chosen: `[n]` flat positions in a tile.
      block: the groups along each dimension.
      own: the same, but 1 along those in which they share tiles.
    """

    cover: Cover
    chosen: np.ndarray
    block: tuple[int, ...]
    own: tuple[int, ...]

    def read(self, data: jax.Array) -> Shared:
        """`[own groups, n]` elements."""
        return Shared(self.block, self.own, locating.columns(self.cover.read(data), self.chosen))


def of_address(
    buffer: Buffer, address: Located, where: Lanes, varying: bool, chunk: Chunk, missing: np.ndarray
) -> Tiles | None:
    """The tiles of a load from global memory; None if it has none, or if they would hold little of what is loaded.

    Args:
      buffer: the memory.
      address, where: the elements.
      varying: whether groups have values of their own.
      chunk: the work-groups.
      missing: what elements out of bounds read as.
    """
    block = chunk.block() if varying else [1]
    if not chunk.target.gathers_one_by_one or block is None or not boxes.may_be(buffer, address, where):
        return None
    patterns = np.stack([c.form.pattern for c in address.known.components], axis=1)
    least = patterns.min(axis=0)
    tile = tuple((patterns.max(axis=0) - least + 1).tolist())
    fits = math.prod(tile) <= chunk.target.windows.widest_overlap * where.count
    chosen = np.ravel_multi_index(tuple((patterns - least).T), tile) if fits else None
    if chosen is None or not locating.is_sliced(tile, chosen):
        return None
    steps = [c.form.steps if varying else (0,) for c in address.known.components]
    own = tuple(n if any(each) else 1 for n, *each in zip(block, *steps, strict=True))
    groups = [Lattice(tuple(map(Axis, own, each))) for each in steps]
    cover = _cover(buffer, address, groups, tile, least - patterns[0], chunk, missing)
    return None if cover is None else Tiles(cover, chosen, tuple(block), own)


def _cover(
    buffer: Buffer,
    address: Located,
    groups: Sequence[Lattice],
    tile: tuple[int, ...],
    before: np.ndarray,
    chunk: Chunk,
    missing: np.ndarray,
) -> Cover | None:
    """What tiles cover; None if it is more than it is worth.

    Args:
      buffer, address: of the load.
      groups: for each component of the index where the tiles of the groups begin.
      tile: the sizes of each.
      before: where a tile begins, from the first element.
      chunk: the work-groups.
      missing: what elements out of bounds read as.
    """
    sizes, proved = tuple(lattice.span + n - 1 for lattice, n in zip(groups, tile, strict=True)), address.known.proved
    margins = ((0, 0),) * len(sizes) if proved else boxes.margins_of(address, buffer.shape, sizes)
    widest = chunk.target.windows.widest_overlap * math.prod(groups[0].sizes) * math.prod(tile)
    if margins is None or (not proved and math.prod(sizes) > widest):
        return None
    further = [int(more) + lattice.least for more, lattice in zip(before, groups, strict=True)]
    starts = boxes.starts_of(buffer, address, further, chunk)
    return Cover(starts, sizes, buffer.held_shape, sizes, True, margins, missing, True, proved, tile, _places(groups))


def _places(groups: Sequence[Lattice]) -> np.ndarray:
    """`[G, components]`: where the tiles begin, from the least of them."""
    numbers = np.indices(groups[0].sizes).reshape(len(groups[0].sizes), -1)
    return np.stack([np.array([a.stride for a in each.axes]) @ numbers - each.least for each in groups], axis=1)
