"""Small histograms: numbers added to one of few elements, by comparing all choices with each of these.

A CPU takes the elements of a scatter one after the other, but compares and counts as many as a vector holds at once.
These are short steps, which XLA must not divide among threads.
"""

import collections
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import iteration_blocks
from xeemu.emission.buffers import Buffer, Update
from xeemu.knowledge import forms
from xeemu.planning.access_plans import FewElements


def added(buffer: Buffer, updates: Sequence[Update]) -> jax.Array:
    """The contents of a local or private memory after such updates."""
    data = buffer.data
    by_what = collections.defaultdict[tuple[FewElements, tuple[int, ...]], list[Update]](list)
    for update in updates:
        assert update.few is not None
        by_what[update.few, update.target.shape].append(update)
    for (what, _), alike in by_what.items():
        for k in range(0, len(alike), what.compared_at_once):
            chosen = [_chosen(update, buffer, what) for update in alike[k : k + what.compared_at_once]]
            counts = _counts(chosen, what, data.dtype)
            data = _plus(data, counts * forms.wrapped(what.number, data.dtype), buffer.space, what.first)
    return data


def _chosen(update: Update, buffer: Buffer, what: FewElements) -> jax.Array:
    """`[iterations, G * n]` uint8: which of the elements each has chosen; a number of none if it takes no part."""
    target = update.target
    if buffer.space == "local":
        groups = np.arange(target.shape[1], dtype=target.dtype)[:, None]
        target = target - groups * target.dtype.type(buffer.elements)
    number = target - target.dtype.type(what.first)
    if not update.always:
        number = jnp.where((number >= 0) & (number < what.size), number, target.dtype.type(what.size))
    return number.astype(np.uint8).reshape(number.shape[0], -1)


def _counts(chosen: list[jax.Array], what: FewElements, dtype: np.dtype) -> jax.Array:
    """`[size, n]`: how often each element is in each column of some arrays of choices."""
    length, columns = chosen[0].shape
    parts, steps = what.steps(length, len(chosen))
    rows = length // parts
    each = [array[k * rows : (k + 1) * rows] for array in chosen for k in range(parts)]
    numbers = np.arange(what.size, dtype=np.uint8)[:, None]

    def count(k: jax.Array, counts: jax.Array) -> jax.Array:
        for array in each:
            counts = counts + (lax.dynamic_index_in_dim(array, k, keepdims=True) == numbers).astype(np.uint8)
        return counts

    def block(iterations: int, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        first, counts = state
        end = first + np.int32(iterations)
        more = lax.fori_loop(first, end, count, jnp.zeros((what.size, columns), np.uint8))
        return end, counts + more.astype(dtype)

    zeros = jnp.int32(0), jnp.zeros((what.size, columns), dtype)
    counts: jax.Array = iteration_blocks.run(block, rows, steps, zeros)[1]
    return counts


def _plus(data: jax.Array, counts: jax.Array, space: str, first: int) -> jax.Array:
    """Contents with what was counted added to the elements from the first on."""
    if space == "private":
        start = (first, 0)
    else:
        start, counts = (0, first), counts.reshape(counts.shape[0], data.shape[0], -1).sum(2, dtype=data.dtype).T
    return lax.dynamic_update_slice(data, lax.dynamic_slice(data, start, counts.shape) + counts, start)
