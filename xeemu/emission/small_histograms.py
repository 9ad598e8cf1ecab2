"""Small histograms: numbers added to one of few elements, by comparing all choices with each of these.

A CPU takes the elements of a scatter one after the other, but compares and counts as many as a vector holds at once.
These are short steps, which XLA must not divide among threads.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import iteration_blocks
from xeemu.emission.buffers import Buffer, Update
from xeemu.knowledge import forms
from xeemu.planning.access_plans import FewElements
from xeemu.planning.collected_updates import Histogram


def added(buffer: Buffer, updates: Sequence[Update], plan: Histogram) -> jax.Array:
    """The contents of a local or private memory after the updates of a histogram."""
    data, few = buffer.data, plan.few
    counts = _counts([_chosen(update, buffer, few) for update in updates], plan, data.dtype)
    return _plus(data, counts * forms.wrapped(few.number, data.dtype), buffer.space, few.first)


def _chosen(update: Update, buffer: Buffer, few: FewElements) -> jax.Array:
    """`[iterations, G * n]` uint8: which of the elements each has chosen; a number of none if it takes no part."""
    target = update.target
    if buffer.space == "local":
        groups = np.arange(target.shape[1], dtype=target.dtype)[:, None]
        target = target - groups * target.dtype.type(buffer.elements)
    number = target - target.dtype.type(few.first)
    if not update.always:
        number = jnp.where((number >= 0) & (number < few.size), number, target.dtype.type(few.size))
    return number.astype(np.uint8).reshape(number.shape[0], -1)


def _counts(chosen: list[jax.Array], plan: Histogram, dtype: np.dtype) -> jax.Array:
    """`[size, n]`: how often each element is in each column of some arrays of choices."""
    length, columns = chosen[0].shape
    rows, size = length // plan.parts, plan.few.size
    each = [array[k * rows : (k + 1) * rows] for array in chosen for k in range(plan.parts)]
    numbers = np.arange(size, dtype=np.uint8)[:, None]

    def count(k: jax.Array, counts: jax.Array) -> jax.Array:
        for array in each:
            counts = counts + (lax.dynamic_index_in_dim(array, k, keepdims=True) == numbers).astype(np.uint8)
        return counts

    def block(iterations: int, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        first, counts = state
        end = first + np.int32(iterations)
        more = lax.fori_loop(first, end, count, jnp.zeros((size, columns), np.uint8))
        return end, counts + more.astype(dtype)

    zeros = jnp.int32(0), jnp.zeros((size, columns), dtype)
    counts: jax.Array = iteration_blocks.run(block, plan.blocking, zeros)[1]
    return counts


def _plus(data: jax.Array, counts: jax.Array, space: str, first: int) -> jax.Array:
    """Contents with what was counted added to the elements from the first on."""
    if space == "private":
        start = (first, 0)
    else:
        start, counts = (0, first), counts.reshape(counts.shape[0], data.shape[0], -1).sum(2, dtype=data.dtype).T
    return lax.dynamic_update_slice(data, lax.dynamic_slice(data, start, counts.shape) + counts, start)
