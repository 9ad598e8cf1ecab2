"""Convergence: the groups of which a part comes to what all work-items of a group are to come to, or none.

`reached` is a `[G, L]` bool, NumPy's or JAX's, of the work-items of work-groups that come to it; `size` the work-items
of a full group, of which R are in a work-group. The last one may have fewer.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.values import Emitted


def reached(mask: Emitted, chunk: EmittedChunk) -> jax.Array:
    """The work-items of a chunk's work-groups for which a mask holds."""
    rows = mask.array(chunk).reshape(chunk.count if mask.known.varying else 1, -1)
    return jnp.broadcast_to(rows, (chunk.count, chunk.geometry.items))


def parted(reached: Any, size: int) -> Any:
    """`[G, R]` bool, true of groups of which some work-items come and some do not."""
    return _stacked([part.any(1) & ~part.all(1) for part in _parts(reached, size)])


def whole(reached: Any, size: int) -> Any:
    """`[G, R]` bool, true of groups of which all work-items come."""
    return _stacked([part.all(1) for part in _parts(reached, size)])


def example(reached: jax.Array, parted: jax.Array, size: int) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Of the first parted group the row of its work-group, how many come, and the linear ids of one who does and of one
    who does not."""
    row = jnp.argmax(parted.any(1))
    lanes, inside = reached[row], np.arange(reached.shape[1]) // size == jnp.argmax(parted[row])
    return row, (lanes & inside).sum(), jnp.argmax(lanes & inside), jnp.argmax(~lanes & inside)


def _parts(reached: Any, size: int) -> list[Any]:
    return [reached[:, first : first + size] for first in range(0, reached.shape[1], size)]


def _stacked(each: Sequence[Any]) -> Any:
    return np.stack(each, 1) if isinstance(each[0], np.ndarray) else jnp.stack(each, 1)
