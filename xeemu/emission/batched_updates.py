"""Batched updates: updates of a memory, each a constant further than the one before, made at once in one window."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from xeemu.emission.buffers import UpdateOperands
from xeemu.emission.placed_windows import PlacedWindow


def after(data: jax.Array, placed: PlacedWindow, op: str, operands: UpdateOperands) -> jax.Array:
    """The contents of a memory after several updates.

    Args:
      data: the contents before.
      placed: where they are made.
      op: the operation; `store` if what is there does not count.
      operands: what they are made with, one after the other in a group, `[G or 1, updates * n]`.
    """
    if op == "store":
        return placed.written(data, operands.values, operands.mask)
    return placed.combined(data, op, operands.values, operands.mask)


def side_by_side(parts: Sequence[UpdateOperands], placed: PlacedWindow) -> UpdateOperands:
    """What updates in a window are made with that fill it one after the other: `[G or 1, updates * n]`."""
    elements = placed.window.elements // len(parts)

    def joined(arrays: Sequence[jax.Array]) -> jax.Array:
        rows = max(array.shape[0] for array in arrays)
        return jnp.concatenate([jnp.broadcast_to(array, (rows, elements)) for array in arrays], axis=1)

    masks = [operands.mask for operands in parts if operands.mask is not None]
    return UpdateOperands(joined([operands.values for operands in parts]), joined(masks) if masks else None)


def of_groups(operands: UpdateOperands, placed: PlacedWindow) -> UpdateOperands:
    """The same, from `[updates, G or 1, n or 1]`; an axis of updates is moved faster than parts of it are."""

    def laid_out(array: jax.Array) -> jax.Array:
        updates, rows, _ = array.shape
        full = jnp.broadcast_to(array, (updates, rows, placed.window.elements // updates))
        return jnp.moveaxis(full, 0, 1).reshape(rows, -1)

    return UpdateOperands(laid_out(operands.values), None if operands.mask is None else laid_out(operands.mask))
