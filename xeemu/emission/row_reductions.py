"""Row reductions: many values combined along axes, in any order; rows of integers so that XLA makes one pass of them.

XLA's CPU compiler reduces an axis of more than 32 elements in several passes, each of which writes what it leaves, and
nothing that is computed fuses with those. So rows of integers are reduced along axes that are shorter, in a single pass
that goes through memory from one end to the other, after a few neighbours of each element have been put together, which
takes vectors. Floats and small integers are left to XLA.
"""

import functools
from collections.abc import Sequence

import jax
from jax import lax

from xeemu.language import collectives
from xeemu.planning.row_reductions import Piece, Rest, RowReduction


def reduced(values: jax.Array, op: str, axes: Sequence[int], plan: RowReduction | None) -> jax.Array:
    """Values combined along some axes, which are long rows of integers if there is a plan for them."""
    if plan is None:
        return _by_compiler(values, op, axes)
    kept = [n for k, n in enumerate(values.shape) if k not in axes]
    return _rows_reduced(values.reshape(plan.count, plan.length), op, plan.pieces).reshape(kept)


def _by_compiler(values: jax.Array, op: str, axes: Sequence[int]) -> jax.Array:
    return lax.reduce(values, collectives.identity(op, values.dtype), collectives.COMBINE[op], axes)


def _rows_reduced(values: jax.Array, op: str, pieces: Sequence[Piece | Rest]) -> jax.Array:
    """`[n, length]` integers combined along their rows: `[n]`."""
    piece, *others = pieces
    if isinstance(piece, Rest):
        return _by_compiler(values, op, (1,))
    first = of_parts(in_parts(lax.slice_in_dim(values, 0, piece.length, axis=1), op, piece), op)
    if not others:
        return first
    left = lax.slice_in_dim(values, piece.length, values.shape[1], axis=1)
    return collectives.COMBINE[op](first, _rows_reduced(left, op, others))


def in_parts(values: jax.Array, op: str, piece: Piece) -> jax.Array:
    """`[n, length]` integers combined along the parts of a piece of their rows: `[n, parts]`."""
    vectors = values.reshape(values.shape[0], -1, piece.vectors, piece.lanes)
    combined = functools.reduce(collectives.COMBINE[op], (vectors[:, :, k] for k in range(piece.vectors)))
    apart = combined.reshape(values.shape[0], piece.parts, *piece.axes, piece.lanes)
    return _by_compiler(apart, op, tuple(range(2, apart.ndim)))


def of_parts(parts: jax.Array, op: str) -> jax.Array:
    """`[n, parts]` values combined: `[n]`; XLA would make a reduction of them and the one before a single one."""
    return functools.reduce(collectives.COMBINE[op], (parts[:, k] for k in range(parts.shape[1])))
