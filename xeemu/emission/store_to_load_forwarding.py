"""Store-to-load forwarding: loads of what the program has just stored, from the stored values instead of the memory.

Where a local or private memory is only loaded at places that are known before the program runs, and where one store has
put all elements, as the steps of a reduction tree do, its contents are then never needed, and the compiler drops them.
If they were needed by other loads as well, the compiler would compute what is forwarded once more for each of them.

It is no pass, because what some work-items load is held as their elements alone, and what is computed of it too (see
`Some`): a program has no such values.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission import positions
from xeemu.emission.buffers import Buffer, Stored
from xeemu.emission.chunk import Chunk
from xeemu.emission.positions import Lanes, Located
from xeemu.emission.references import Reference
from xeemu.emission.values import Shared
from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Region
from xeemu.knowledge import addressing
from xeemu.knowledge.addressing import Address
from xeemu.knowledge.analysis import Plan, fact
from xeemu.language.geometry import Geometry

_MOST = 16
"""Stores that a memory remembers."""

_SPACES = ("local", "private")


@fact
def of_body(body: Region, plan: Plan, geometry: Geometry) -> frozenset[int]:
    """The numbers of the loads of a (sub)program that may be forwarded.

    Those of what a store has left, if nothing needs the memory as it is after that store or later.

    Args:
      body: the program.
      plan: its analysis.
      geometry: the sizes of the launch.
    """
    histories: dict[Any, _History] = {}
    for number, op in enumerate(body.ops):
        memories = [a for a in op.used if not isinstance(a, Constant) and plan.values[a].space in _SPACES]
        for memory in memories:
            histories.setdefault(memory, _History()).follow(number, op, lambda e: _static_places(e, plan, geometry))
        if op.name in ops.UPDATES and memories:
            after = op.results[-1:] if op.name in ops.ACCESSES else op.results
            histories |= {b: histories[a] for a, b in zip(op.operands, after, strict=False) if a in histories}
    return frozenset(n for history in histories.values() for n in history.forwarded())


@dataclasses.dataclass
class _History:
    """What happens to a memory.

    Attributes:
      latest: the numbers of the stores that loads may meet, the latest first, with their places and their shape.
      takers: for the number of a store the loads of what it has left.
      needed: stores that the memory is needed after.
    """

    latest: list[tuple[int, np.ndarray, tuple[int, ...]]] = dataclasses.field(default_factory=list)
    takers: dict[int, list[int]] = dataclasses.field(default_factory=dict)
    needed: set[int] = dataclasses.field(default_factory=set)

    def follow(self, number: int, op: Op, places_of: Callable[[Any], np.ndarray | None]) -> None:
        if op.name in ops.ORDERING:
            return
        if op.name == ops.LOAD:
            store = self._source(places_of(op))
            if store is not None:
                self.takers[store].append(number)
                return
        if op.name != ops.STORE:
            self.needed |= self.takers.keys()
            return
        places = places_of(op)
        if places is None or len(np.unique(places)) < len(places):
            self.latest.clear()
        else:
            shape = op.attributes["access"].shape
            self.latest.insert(0, (number, places, shape if math.prod(shape) == len(places) else (len(places),)))
            self.takers[number] = []

    def _source(self, places: np.ndarray | None) -> int | None:
        """The store that has left what is at all of some places, which are a slice of what it stored."""
        if places is None:
            return None
        for number, stored, shape in self.latest:
            met = np.isin(places, stored)
            if met.any():
                return number if met.all() and positions.is_sliced(shape, _chosen(stored, places)) else None
        return None

    def forwarded(self) -> list[int]:
        return [load for store, loads in self.takers.items() if store not in self.needed for load in loads]


def _static_places(op: Op, plan: Plan, geometry: Geometry) -> np.ndarray | None:
    """The `_places` of an operation that has not been emitted, if its mask is known."""
    dimensions, mask = len(geometry.group_range), ops.mask(op)
    condition = None if mask is None else plan.value(mask, dimensions).form
    if mask is not None and (condition is None or not condition.constant):
        return None
    return _places(plan.values[op.operands[0]].space, addressing.foreseen(op, plan, dimensions), geometry.items)


def remembering(
    before: Buffer,
    after: Buffer,
    address: Located,
    where: Lanes,
    values: jax.Array,
    shared: Shared | None,
    chunk: Chunk,
) -> Buffer:
    """A memory after a store, with what is known of its contents.

    Args:
      before, after: the memory; afterwards nothing is known of it yet.
      address, where: of the elements that were stored to.
      values: `[G or 1, n or 1]`
      shared: the same in the value's own dtype, if groups share it.
    """
    places = _places(before.space, address.known, chunk.geometry.items)
    if places is None or where.mask is not None or len(np.unique(places)) < len(places):
        return after
    full = jnp.broadcast_to(values, (values.shape[0], where.count))
    shaped = full.reshape(-1, *where.shape) if where.all else full
    if shared is not None and where.all and shared.values.shape[1:] == where.shape:
        shared = dataclasses.replace(shared, values=shared.values.astype(values.dtype))
    else:
        shared = None
    return dataclasses.replace(after, stored=(Stored(places, shaped, shared), *before.stored[: _MOST - 1]))


@dataclasses.dataclass(frozen=True, eq=False)
class Forwarded:
    """A load of elements that one store has left.

    Attributes:
      store: the number of the store among those that the memory remembers.
      chosen: `[n]` the positions of the elements among those that it stored, of which they are a slice.
    """

    store: int
    chosen: np.ndarray


def source(reference: Reference, stored: Sequence[Stored], items: int) -> Forwarded | None:
    """What a load takes of what was stored together and not since; None if it is not known to be.

    Args:
      reference: the elements.
      stored: what stores have left, the latest first.
      items: of a group.
    """
    places = _places(reference.storage.space, reference.address, items) if stored else None
    if places is None:
        return None
    for number, one in enumerate(stored):
        met = np.isin(places, one.places)
        if met.all():
            chosen, alike = _chosen(one.places, places), one.values.shape[0] == 1
            is_part = (reference.varying or alike) and positions.is_sliced(_shape(one), chosen)
            return Forwarded(number, chosen) if is_part else None
        if met.any():
            return None
    return None


def recalled(stored: Sequence[Stored], what: Forwarded) -> jax.Array:
    """`[G or 1, n]` elements that one of some stores has left."""
    one = stored[what.store]
    found = positions.sliced(one.values if one.shared is None else one.shared.values, what.chosen)
    assert found is not None
    return found if one.shared is None else one.shared.of_groups(found)


def _shape(stored: Stored) -> tuple[int, ...]:
    """The shape of what a group stored."""
    values = stored.values if stored.shared is None else stored.shared.values
    return values.shape[1:]


def _places(space: str | None, address: Address, items: int) -> np.ndarray | None:
    """`[n]` numbers of elements of a group's memory, if no group, loop or argument decides on them.

    Those of the work-items' copies for private memory; `items` of a group.
    """
    form = address.form
    if space == "global" or not address.proved or form is None or not form.constant:
        return None
    if space == "local":
        return form.pattern
    elements = address.elements
    return form.pattern * items + elements.chosen // (math.prod(elements.shape) // items)


def _chosen(stored: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The positions of some places among those that were stored to."""
    order = np.argsort(stored)
    return order[np.searchsorted(stored, places, sorter=order)]
