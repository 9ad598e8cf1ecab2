"""Reductions: many values put together along axes, in any order.

XLA's CPU compiler reduces an axis of more than 32 elements in several passes, each of which writes what it leaves, and
nothing that is computed fuses with those. So rows of integers are reduced along axes that are shorter, in a single pass
that goes through memory from one end to the other, after a few neighbours of each element have been put together, which
takes vectors. Floats and small integers are left to XLA.
"""

import functools
import math
from collections.abc import Sequence

import jax
import numpy as np
from jax import lax

from xeemu.devices.target import Target
from xeemu.language import collectives

# What XLA reduces in one pass.
_SHORT = 32
# Vectors that are put together first, each of so many elements: on a 2-core CPU a sum takes 0.6 ms without, 0.16 with.
_VECTORS, _LANES = 8, 32
# Parts of a row, for as many cores.
PARTS = 16


def reduced(values: jax.Array, op: str, axes: Sequence[int], target: Target) -> jax.Array:
    """Values combined along some axes."""
    combine, neutral = collectives.COMBINE[op], collectives.identity(op, values.dtype)
    if target.reduces_slowly and _are_rows(values, axes):
        kept, lengths = ([n for k, n in enumerate(values.shape) if (k in axes) is along] for along in (False, True))
        return _rows_reduced(values.reshape(math.prod(kept), math.prod(lengths)), op).reshape(kept)
    return lax.reduce(values, neutral, combine, axes)


def _are_rows(values: jax.Array, axes: Sequence[int]) -> bool:
    """Whether long rows of integers are combined, each of elements that lie side by side."""
    first = min((k for k in axes if values.shape[k] > 1), default=values.ndim)
    within = all(k in axes or n == 1 for k, n in enumerate(values.shape) if k >= first)
    long = values.size > 0 and math.prod(values.shape[first:]) >= _VECTORS * _LANES
    return within and long and takes(values.dtype)


def takes(dtype: np.dtype) -> bool:
    """Whether rows of a dtype are reduced so."""
    return dtype.kind in "iu" and dtype.itemsize >= 4


def _rows_reduced(values: jax.Array, op: str) -> jax.Array:
    """`[n, length]` integers combined along their rows: `[n]`."""
    rows, length = values.shape
    for parts in (PARTS, 1) if rows < PARTS else (1,):
        if size := longest(length, parts):
            first = of_parts(in_parts(lax.slice_in_dim(values, 0, size, axis=1), op, parts), op)
            left = lax.slice_in_dim(values, size, length, axis=1)
            return collectives.COMBINE[op](first, _rows_reduced(left, op)) if size < length else first
    return lax.reduce(values, collectives.identity(op, values.dtype), collectives.COMBINE[op], (1,))


def longest(length: int, parts: int = PARTS) -> int:
    """The longest row, up to a length, that `in_parts` takes; 0 if there is none."""
    unit = parts * _VECTORS * _LANES
    return unit * math.prod(_short(length // unit))


def in_parts(values: jax.Array, op: str, parts: int = PARTS) -> jax.Array:
    """`[n, length]` integers combined along parts of their rows, of a length that `longest` gives: `[n, parts]`."""
    rows, length = values.shape
    vectors = values.reshape(rows, -1, _VECTORS, _LANES)
    combined = functools.reduce(collectives.COMBINE[op], (vectors[:, :, k] for k in range(_VECTORS)))
    apart = combined.reshape(rows, parts, *_short(length // (parts * _VECTORS * _LANES)), _LANES)
    axes = tuple(range(2, apart.ndim))
    return lax.reduce(apart, collectives.identity(op, values.dtype), collectives.COMBINE[op], axes)


def of_parts(parts: jax.Array, op: str) -> jax.Array:
    """`[n, parts]` values combined: `[n]`; XLA would make a reduction of them and the one before a single one."""
    return functools.reduce(collectives.COMBINE[op], (parts[:, k] for k in range(parts.shape[1])))


@functools.lru_cache(maxsize=1 << 12)
def _short(length: int) -> tuple[int, ...]:
    """Axes of at most 32 elements that make the longest one up to a length."""
    if length <= _SHORT:
        return (length,)
    return max(((*_short(length // last), last) for last in range(_SHORT // 2 + 1, _SHORT + 1)), key=math.prod)
