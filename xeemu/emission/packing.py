"""Packing: what loops and branches carry of values and memories, as arrays."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.emission import subgroups
from xeemu.emission.buffers import Buffer
from xeemu.emission.chunk import Chunk
from xeemu.emission.items import Item, as_value
from xeemu.emission.values import Emitted
from xeemu.knowledge import forms
from xeemu.knowledge.analysis import Known


def packed(items: Sequence[Item], likes: Sequence[Item], known: Sequence[Known], chunk: Chunk) -> list[Any]:
    """What is carried of items, of which so much is known wherever they are unpacked, each held as another one."""
    return [_pack(item, like, k, chunk) for item, like, k in zip(items, likes, known, strict=True)]


def unpacked(carried: Sequence[Any], likes: Sequence[Item], known: Sequence[Known]) -> list[Item]:
    """The items of which something is carried, each of the same kind, shape and dtype as another one, and so held."""
    return [_unpack(c, like, k) for c, like, k in zip(carried, likes, known, strict=True)]


def selected(running: jax.Array, new: jax.Array | None, old: jax.Array | None) -> jax.Array | None:
    """`new` for the groups that run, `old` for the others; what does not differ between groups never changes."""
    if new is None or old is None or new is old:
        return new
    return jnp.where(running.reshape(-1, *(1,) * (new.ndim - 1)), new, old)


def _pack(item: Item, like: Item, known: Known, chunk: Chunk) -> jax.Array | None:
    """A memory's contents, a form's base, or an array; None if nothing changes."""
    if isinstance(item, Buffer):
        return item.data
    if known.form is None:
        lanes = as_value(like).lanes
        array = item.array(chunk) if lanes is None else subgroups.full(item, lanes, chunk)
        lift = known.varying and not item.known.varying
        return jnp.broadcast_to(array, (chunk.count, *array.shape)) if lift else array
    if not known.form.based:
        return None
    assert item.known.form is not None
    offset = forms.wrapped(forms.offset(item.known.form, known.form), item.dtype)
    if item.base is None:
        return jnp.asarray(offset)
    return lax.add(item.base, offset) if offset else item.base


def _unpack(carried: jax.Array | None, like: Item, known: Known) -> Item:
    if isinstance(like, Buffer):
        assert carried is not None
        return like.holding(carried)
    if known.form is None:
        return Emitted(known, like.shape, like.dtype, None, carried, lanes=like.lanes)
    return Emitted(known, like.shape, like.dtype, carried)
