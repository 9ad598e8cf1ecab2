"""Packing: what loops and branches carry of values and memories, as arrays."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.emission import subgroups
from xeemu.emission.buffers import Buffer
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import Item
from xeemu.emission.values import Emitted
from xeemu.knowledge import forms
from xeemu.knowledge.analysis import Known
from xeemu.planning.layouts import LANE_FORM, BySubgroup, Layout


@dataclasses.dataclass(frozen=True, eq=False)
class Slot:
    """The place of an item among those that are carried.

    Attributes:
      like: an item of its kind, shape and dtype; of a memory the version before.
      known: what is known of it wherever it is unpacked.
      layout: how it is held there.
    """

    like: Item
    known: Known
    layout: Layout

    def packed(self, item: Item, chunk: EmittedChunk) -> jax.Array | None:
        """A memory's contents, a form's base, or an array; None if nothing changes."""
        if isinstance(item, Buffer):
            return item.data
        if self.known.form is not None:
            return self._base(item)
        layout = self.layout
        array = subgroups.laid_out(item, layout, chunk) if isinstance(layout, BySubgroup) else item.array(chunk)
        lift = self.known.varying and not item.known.varying
        return jnp.broadcast_to(array, (chunk.count, *array.shape)) if lift else array

    def _base(self, item: Emitted) -> jax.Array | None:
        assert self.known.form is not None
        assert item.known.form is not None
        if not self.known.form.based:
            return None
        offset = forms.wrapped(forms.offset(item.known.form, self.known.form), item.dtype)
        if item.base is None:
            return jnp.asarray(offset)
        return lax.add(item.base, offset) if offset else item.base

    def unpacked(self, carried: jax.Array | None) -> Item:
        """The item of which something is carried."""
        like = self.like
        if isinstance(like, Buffer):
            assert carried is not None
            return like.holding(carried)
        if self.known.form is None:
            return Emitted(self.known, like.shape, like.dtype, self.layout, None, carried)
        return Emitted(self.known, like.shape, like.dtype, LANE_FORM, carried)

    def blank(self, chunk: EmittedChunk) -> jax.Array:
        """What may be carried of it for all groups before there is any; of a memory what is in it."""
        if isinstance(self.like, Buffer):
            return self.like.data
        shape, layout = self.like.shape, self.layout
        own = subgroups.shape(shape, layout, chunk) if isinstance(layout, BySubgroup) else shape
        return jnp.zeros((chunk.count, *own), self.like.dtype)


def packed(items: Sequence[Item], slots: Sequence[Slot], chunk: EmittedChunk) -> list[Any]:
    """What is carried of items."""
    return [slot.packed(item, chunk) for item, slot in zip(items, slots, strict=True)]


def unpacked(carried: Sequence[Any], slots: Sequence[Slot]) -> list[Item]:
    """The items of which something is carried."""
    return [slot.unpacked(c) for c, slot in zip(carried, slots, strict=True)]


def selected(running: jax.Array, new: jax.Array | None, old: jax.Array | None) -> jax.Array | None:
    """`new` for the groups that run, `old` for the others; what does not differ between groups never changes."""
    if new is None or old is None or new is old:
        return new
    return jnp.where(running.reshape(-1, *(1,) * (new.ndim - 1)), new, old)
