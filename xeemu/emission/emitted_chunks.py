"""Emitted chunks: the work-groups of a chunk where it begins when the program runs."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.planning.chunk import Chunk


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class EmittedChunk(Chunk):
    """A chunk and where it begins.

    Attributes:
      first: linear id of the first group, a traced scalar or an int.
    """

    first: Any

    # Nothing here is cached: an array first made inside a loop must not be used outside it.

    def linear_ids(self) -> jax.Array:
        """`[G]` linear group ids."""
        dtype = self.geometry.id_type
        return jnp.asarray(self.first, dtype) + np.arange(self.count, dtype=dtype)

    def group_ids(self, d: int) -> jax.Array:
        """`[G]` group ids in dimension `d`."""
        counts = self.geometry.group_range
        ids = self.linear_ids()
        stride = self.geometry.group_strides[d]
        if stride > 1:
            ids = ids // ids.dtype.type(stride)
        return ids if d == 0 else ids % ids.dtype.type(counts[d])

    def first_id(self, d: int) -> jax.Array:
        """The first group's id in dimension `d`."""
        counts = self.geometry.group_range
        first, stride = jnp.asarray(self.first, self.geometry.id_type), self.geometry.group_strides[d]
        if stride > 1:
            first = lax.div(first, first.dtype.type(stride))
        return lax.rem(first, first.dtype.type(counts[d])) if d else first

    def present(self) -> jax.Array | None:
        """`[G, L]` mask of the work-items inside the global range, or None if all are."""
        geometry, mask = self.geometry, None
        for d in geometry.ragged:
            if d or not self.inner:
                start = self.group_ids(d) * geometry.id_type.type(geometry.local_range[d])
                ids = geometry.local_ids(d).reshape(-1).astype(geometry.id_type)
                within = start[:, None] + ids < geometry.id_type.type(geometry.global_range[d])
                mask = within if mask is None else mask & within
        return mask
