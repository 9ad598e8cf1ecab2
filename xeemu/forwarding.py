"""Forwarding: loads of what the program has just stored, from the stored values instead of the memory.

Where a local or private memory is loaded at places that are known before the program runs, as the steps of a reduction
tree do, its contents are then never needed, and the compiler drops them.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from xeemu import lattices, locating
from xeemu.locating import Address, Lanes
from xeemu.values import Buffer, Chunk, Stored

_MOST = 16
"""Stores that a memory remembers."""


def remembering(
    before: Buffer, after: Buffer, address: Address, where: Lanes, values: jax.Array, chunk: Chunk
) -> Buffer:
    """A memory after a store, with what is known of its contents.

    Args:
      before, after: the memory; afterwards nothing is known of it yet.
      address, where: of the elements that were stored to.
      values: `[G or 1, n or 1]`
    """
    places = _places(before, address, where, chunk)
    if places is None or where.mask is not None or len(np.unique(places)) < len(places):
        return after
    full = jnp.broadcast_to(values, (values.shape[0], where.count))
    return dataclasses.replace(after, stored=(Stored(places, full), *before.stored[: _MOST - 1]))


def recalled(buffer: Buffer, address: Address, where: Lanes, varying: bool, chunk: Chunk) -> jax.Array | None:
    """`[G or 1, n]` elements that were stored together and not since; None if they are not known to be."""
    places = _places(buffer, address, where, chunk) if buffer.stored else None
    if places is None:
        return None
    for stored in buffer.stored:
        met = np.isin(places, stored.places)
        if met.all():
            return _part(stored, places) if varying or stored.values.shape[0] == 1 else None
        if met.any():
            return None
    return None


def _places(buffer: Buffer, address: Address, where: Lanes, chunk: Chunk) -> np.ndarray | None:
    """`[n]` numbers of elements of a group's memory, if no group, loop or argument decides on them."""
    form = address.form
    if buffer.space == "global" or address.inside is not None or form is None or not form.constant:
        return None
    if buffer.space == "local":
        return form.pattern
    items = chunk.geometry.items
    return form.pattern * items + where.chosen // (math.prod(where.shape) // items)


def _part(stored: Stored, places: np.ndarray) -> jax.Array | None:
    """The values for some of the places, if they are slices of all."""
    order = np.argsort(stored.places)
    chosen = order[np.searchsorted(stored.places, places, sorter=order)]
    lattice = lattices.of_pattern(chosen)
    return locating.columns(stored.values, chosen) if lattice is not None and lattice.apart else None
