"""Stored values: what a plain store leaves in memory, and which lanes store another value than is there.

Axis legend: G work-groups of a chunk, n elements of an access that take part in a group.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.bits import bits
from xeemu.emission.buffers import Buffer
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import AccessEvent


@dataclasses.dataclass(frozen=True, eq=False)
class StoredValues:
    """What a store gives to elements, and what is in them: all `[G, n]`, of the memory's dtype.

    Attributes:
      given: what the lanes store.
      before, after: what is there before and after the store.
    """

    given: jax.Array
    before: jax.Array
    after: jax.Array

    @classmethod
    def of(cls, event: AccessEvent, after: Buffer, places: jax.Array, chunk: EmittedChunk) -> "StoredValues":
        """Of a store, by the memory after it and the positions of its elements there."""
        before, now = (memory.data.reshape(-1)[places] for memory in (event.buffer, after))
        return cls(given_values(event, before.dtype, chunk), before, now)

    def differ(self) -> jax.Array:
        """`[G, n]` true where the bits that a lane stores differ from those before."""
        return bits(self.given) != bits(self.before)

    def differ_from_either(self, earlier: jax.Array) -> jax.Array:
        """`[G, n]` true where they differ from those afterwards, or before, if in conflict with an `earlier` one."""
        return (bits(self.given) != bits(self.after)) | ((earlier >= 0) & self.differ())


def given_values(event: AccessEvent, dtype: np.dtype, chunk: EmittedChunk) -> jax.Array:
    """`[G, n]` what lanes store to a memory of a dtype."""
    values = event.lanes.array(event.values[0], chunk).astype(dtype)
    return jnp.broadcast_to(values, (chunk.count, event.lanes.count))
