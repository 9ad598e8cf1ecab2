"""Written: which elements of memories have been written as a kernel runs, a bool for each.

Axis legend: G work-groups of a chunk, n elements of an access that take part in a group.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from xeemu.emission import positions
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import AccessEvent
from xeemu.language.linearity import Allocation


def nothing(memories: Sequence[Allocation], chunk: EmittedChunk) -> list[jax.Array]:
    """Of local and private memories, as a chunk begins; local ones group by group, private ones as they are held."""
    copies = {"local": chunk.count, "private": chunk.count * chunk.geometry.items}
    return [jnp.zeros(memory.elements * copies[memory.space], bool) for memory in memories]


def missing(event: AccessEvent, written: jax.Array, chunk: EmittedChunk) -> jax.Array:
    """`[G or 1, n or 1]` true where a lane reads an element that has not been written."""
    return event.active_lanes(chunk.geometry.items) & ~written[_places(event, chunk)]


def after(event: AccessEvent, written: jax.Array, chunk: EmittedChunk) -> jax.Array:
    """What has been written after an access that writes; what it leaves unset is not."""
    nowhere = event.address.known.dtype.type(written.size)
    targets = jnp.where(event.active_lanes(chunk.geometry.items), _places(event, chunk), nowhere)
    every = jnp.broadcast_to(targets, (chunk.count, event.lanes.count)).reshape(-1)
    return written.at[every].set(not event.unset, mode="drop")


def _places(event: AccessEvent, chunk: EmittedChunk) -> jax.Array:
    return positions.buffer_positions(event.buffer, event.address.index, event.lanes, chunk)
