"""Row reductions: many values combined along axes, in any order; rows of integers so that XLA makes one pass of them.

XLA's CPU compiler reduces an axis of more than 32 elements in several passes, each of which writes what it leaves, and
nothing that is computed fuses with those. So rows of integers are reduced along axes that are shorter, in a single pass
that goes through memory from one end to the other, after a few neighbours of each element have been put together, which
takes vectors. Floats and small integers are left to XLA.
"""

import functools
import math
from collections.abc import Sequence

import jax
from jax import lax

from xeemu.language import collectives
from xeemu.planning.row_reductions import LANES, PARTS, VECTORS, longest, short_axes


def reduced(values: jax.Array, op: str, axes: Sequence[int], parts: bool) -> jax.Array:
    """Values combined along some axes, which are long rows of integers if they are combined in `parts`."""
    combine, neutral = collectives.COMBINE[op], collectives.identity(op, values.dtype)
    if parts:
        kept, lengths = ([n for k, n in enumerate(values.shape) if (k in axes) is along] for along in (False, True))
        return _rows_reduced(values.reshape(math.prod(kept), math.prod(lengths)), op).reshape(kept)
    return lax.reduce(values, neutral, combine, axes)


def _rows_reduced(values: jax.Array, op: str) -> jax.Array:
    """`[n, length]` integers combined along their rows: `[n]`."""
    rows, length = values.shape
    for parts in (PARTS, 1) if rows < PARTS else (1,):
        if size := longest(length, parts):
            first = of_parts(in_parts(lax.slice_in_dim(values, 0, size, axis=1), op, parts), op)
            left = lax.slice_in_dim(values, size, length, axis=1)
            return collectives.COMBINE[op](first, _rows_reduced(left, op)) if size < length else first
    return lax.reduce(values, collectives.identity(op, values.dtype), collectives.COMBINE[op], (1,))


def in_parts(values: jax.Array, op: str, parts: int = PARTS) -> jax.Array:
    """`[n, length]` integers combined along parts of their rows, of a length that `longest` gives: `[n, parts]`."""
    rows, length = values.shape
    vectors = values.reshape(rows, -1, VECTORS, LANES)
    combined = functools.reduce(collectives.COMBINE[op], (vectors[:, :, k] for k in range(VECTORS)))
    apart = combined.reshape(rows, parts, *short_axes(length // (parts * VECTORS * LANES)), LANES)
    axes = tuple(range(2, apart.ndim))
    return lax.reduce(apart, collectives.identity(op, values.dtype), collectives.COMBINE[op], axes)


def of_parts(parts: jax.Array, op: str) -> jax.Array:
    """`[n, parts]` values combined: `[n]`; XLA would make a reduction of them and the one before a single one."""
    return functools.reduce(collectives.COMBINE[op], (parts[:, k] for k in range(parts.shape[1])))
