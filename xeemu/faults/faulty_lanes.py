"""Lanes at fault: how many a check has found at one place, and the first of them as an example.

Axis legend: G work-groups of a chunk, n elements of an access that take part in a group.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import bits
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import AccessEvent

Found = tuple[jax.Array, jax.Array]
"""How many lanes are at fault, and the int64 numbers that tell of the first one of the launch."""


@dataclasses.dataclass(frozen=True, eq=False)
class Lane:
    """One lane of an access that is at fault.

    Attributes:
      row, column: its group's number in the chunk, and its own in the access.
      group: the group's linear id.
      item: the work-item's linear local id.
    """

    row: jax.Array
    column: jax.Array
    group: jax.Array
    item: jax.Array

    @classmethod
    def first(cls, hits: jax.Array, event: AccessEvent, chunk: EmittedChunk) -> "Lane":
        """The first lane of a `[G, n]` mask."""
        at = bits.first_of(hits)
        row, column = at // hits.shape[1], at % hits.shape[1]
        items = event.items(chunk.geometry.items) if event.lanes.shape else None
        item = jnp.zeros((), np.int64) if items is None else jnp.asarray(items)[column]
        return cls(row, column, linear_ids(chunk)[row], item)

    def of(self, values: jax.Array) -> jax.Array:
        """The lane's element of a `[G or 1, n or 1]` array."""
        row = self.row if values.shape[0] > 1 else 0
        return values[row, self.column if values.shape[1] > 1 else 0]


Example = Callable[[Lane], Sequence[jax.Array]]
"""The numbers that tell of a lane."""


def linear_ids(chunk: EmittedChunk) -> jax.Array:
    """`[G]` linear ids of the groups, int64."""
    return chunk.linear_ids().astype(np.int64)


def vector(values: Sequence[Any]) -> jax.Array:
    """Numbers of an example as one array."""
    return jnp.stack([jnp.asarray(value).astype(np.int64) for value in values])


def added(found: Found, hits: jax.Array, event: AccessEvent, chunk: EmittedChunk, example: Example) -> Found:
    """What was found, with the lanes of one more access.

    Args:
      found: up to it.
      hits: a mask, `[G or 1, n or 1]`, of the lanes at fault.
      event: the access.
      chunk: its groups.
      example: what is to be told of a lane.
    """
    hits = jnp.broadcast_to(hits, (chunk.count, event.lanes.count))

    def add(found: Found) -> Found:
        count, kept = found
        seen = vector(example(Lane.first(hits, event, chunk)))
        return count + hits.sum(), jnp.where(count == 0, seen, kept)

    after: Found = lax.cond(bits.any_of(hits), add, lambda found: found, found)
    return after
