"""Packing: what loops and branches carry of values and memories, as arrays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.emission import subgroups
from xeemu.emission.buffers import Buffer
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import Item, as_memory, as_value
from xeemu.emission.values import Emitted
from xeemu.knowledge import forms
from xeemu.knowledge.analysis import Known
from xeemu.planning.carries import ArrayCarry, BaseCarry, Carry, ContentsCarry
from xeemu.planning.layouts import LANE_FORM, BySubgroup, Layout


class PackedSlot(NamedTuple):
    """The position of an item among those that are carried.

    Attributes:
      template: an item of its kind, shape and dtype; of a memory the version before.
      known: what is known of it wherever it is unpacked.
      layout: how it is laid out there.
    """

    template: Item
    known: Known
    layout: Layout

    def unpacked(self, carried: jax.Array | None) -> Item:
        """The item of which something is carried."""
        like = self.template
        if isinstance(like, Buffer):
            assert carried is not None
            return like.with_data(carried)
        if self.known.form is None:
            return Emitted(self.known, like.shape, like.dtype, self.layout, None, carried)
        return Emitted(self.known, like.shape, like.dtype, LANE_FORM, carried)

    def blank(self, chunk: EmittedChunk) -> jax.Array:
        """What may be carried of it for all groups before there is any; of a memory what is in it."""
        if isinstance(self.template, Buffer):
            return self.template.data
        shape, layout = self.template.shape, self.layout
        own = subgroups.shape(shape, layout, chunk) if isinstance(layout, BySubgroup) else shape
        return jnp.zeros((chunk.count, *own), self.template.dtype)


def slots(items: Sequence[Item], known: Sequence[Known], layouts: Sequence[Layout]) -> list[PackedSlot]:
    """Those of items like these, of which that is known and which are laid out so; more than that may be given."""
    return list(map(PackedSlot, items, known, layouts))


def packed(items: Sequence[Item], carries: Sequence[Carry], chunk: EmittedChunk) -> list[Any]:
    """What is carried of items."""
    return [_packed(item, carry, chunk) for item, carry in zip(items, carries, strict=True)]


def _packed(item: Item, carry: Carry, chunk: EmittedChunk) -> jax.Array | None:
    match carry:
        case ContentsCarry():
            return as_memory(item).data
        case BaseCarry(further):
            return None if further is None else _base(as_value(item), further)
        case ArrayCarry(conversion, lanes, repeated):
            value = as_value(item)
            array = value.array(chunk) if conversion is None else subgroups.repeated(value, conversion, lanes, chunk)
            return jnp.broadcast_to(array, (chunk.count, *array.shape)) if repeated else array


def _base(value: Emitted, further: int) -> jax.Array:
    """The base of a lane form, and so much more; that of a form that has none is 0."""
    more = forms.wrapped(further, value.dtype)
    if value.base is None:
        return jnp.asarray(more)
    base: jax.Array = lax.add(value.base, more) if more else value.base
    return base


def unpacked(carried: Sequence[Any], slots: Sequence[PackedSlot]) -> list[Item]:
    """The items of which something is carried."""
    return [slot.unpacked(c) for c, slot in zip(carried, slots, strict=True)]


def selected(running: jax.Array, new: jax.Array | None, old: jax.Array | None) -> jax.Array | None:
    """`new` for the groups that run, `old` for the others; what does not differ between groups never changes."""
    if new is None or old is None or new is old:
        return new
    return jnp.where(running.reshape(-1, *(1,) * (new.ndim - 1)), new, old)
