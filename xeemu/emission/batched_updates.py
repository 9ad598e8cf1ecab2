"""Batched updates: updates of a memory, each a constant further than the one before, made at once in one window."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.devices.target import Target
from xeemu.emission import access, ordered_atomics, placed_windows, strided_windows
from xeemu.emission.placed_windows import PlacedWindow
from xeemu.emission.positions import Lanes, Located, Touched
from xeemu.emission.references import Reference
from xeemu.emission.strided_windows import StridedWindow
from xeemu.emission.values import Buffer, Chunk, Emitted
from xeemu.knowledge.lattices import Axis


@dataclasses.dataclass(frozen=True, eq=False)
class UpdatePlace:
    """Where a memory is updated.

    Attributes:
      window: in the memory.
      op: the operation; `store` if what is there does not count.
      elements: that one of the updates has in a group.
      target: where the program will run.
    """

    window: PlacedWindow
    op: str
    elements: int
    target: Target

    def after(self, data: jax.Array, made: "Made") -> jax.Array:
        """The memory's data after all updates."""
        values, mask = self._of_groups(made.values), None if made.mask is None else self._of_groups(made.mask)
        if self.op == "store":
            return self.window.written(data, values, mask)
        return self.window.combined(data, self.op, values, mask, self.target)

    def _of_groups(self, array: jax.Array) -> jax.Array:
        """`[G or 1, updates * n]` from `[updates, G or 1, n or 1]`."""
        updates, rows, _ = array.shape
        full = jnp.broadcast_to(array, (updates, rows, self.elements))
        return jnp.moveaxis(full, 0, 1).reshape(rows, -1)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Made:
    """What an update is made with; with one more axis, before the others, what several are made with.

    Attributes:
      values: `[G or 1, n or 1]`
      mask: the same: what is updated, or None for everything.
    """

    values: jax.Array
    mask: jax.Array | None


def of_updates(first: Touched, op: str, axis: Axis) -> UpdatePlace | None:
    """Where several updates are made; None if no window holds them all, or if their order counts.

    Args:
      first: the elements of the first update.
      op: the operation.
      axis: how many there are, and how much further each begins.
    """
    window = None if first.buffer.pending else window_of(first.reference(), op, axis, first.chunk)
    if window is None:
        return None
    placed = placed_windows.placed(window, first.buffer, first.address, first.chunk)
    return UpdatePlace(placed, op, first.where.count, first.chunk.target)


def window_of(first: Reference, op: str, axis: Axis, chunk: Chunk) -> StridedWindow | None:
    """The window of several updates, of which the first is given; None if there is none, or if their order counts."""
    if not first.address.proved or first.is_empty:
        return None
    if op != "store" and (
        op not in ordered_atomics.COMBINE or (chunk.deterministic and ordered_atomics.rounds(first.storage.dtype, op))
    ):
        return None
    window = strided_windows.of_reference(first, chunk, axis)
    if window is None or window.rectangle is None:
        return None
    return window if op != "store" or (axis.stride and window.writable(first.masked)) else None


@dataclasses.dataclass(frozen=True, eq=False)
class Waiting:
    """An update that is made with those that follow it.

    Attributes:
      address, where: its elements.
      value: what they are updated with.
    """

    address: Located
    where: Lanes
    value: Emitted


def at_once(buffer: Buffer, op: str, updates: Sequence[Waiting], step: int, chunk: Chunk) -> Buffer | None:
    """The memory after updates by one operation, each `step` elements further than the one before.

    None if they cannot be made at once.
    """
    first, axis = updates[0], Axis(len(updates), step)
    alike = all(u.address.known.proved and (u.where.mask is None) == (first.where.mask is None) for u in updates)
    place = of_updates(Touched(buffer, first.address, first.where, chunk), op, axis) if alike else None
    if place is None:
        return None
    values = [update.where.array(update.value, chunk).astype(buffer.data.dtype) for update in updates]
    masks = [update.where.mask for update in updates if update.where.mask is not None]
    return buffer.holding(
        place.after(access.contents(buffer), Made(_stacked(values), _stacked(masks) if masks else None))
    )


def _stacked(arrays: Sequence[jax.Array]) -> jax.Array:
    """`[updates, G or 1, n or 1]`"""
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    return jnp.stack([jnp.broadcast_to(array, shape) for array in arrays])
