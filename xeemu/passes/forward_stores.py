"""Store-to-load forwarding: loads of what the program has just stored are slices of the stored values.

Where a local or private memory is only loaded at addresses that are known before the program runs, and where one store
has put all elements, as the steps of a reduction tree do, its contents are then never needed, and the stores are dead
code. If they were needed by other loads as well, compilers would compute what is forwarded once more for each of them.
"""

import collections
import dataclasses
import math
from typing import Any

import jax
import numpy as np
from jax import lax

from xeemu.devices.target import Target
from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import addressing
from xeemu.knowledge.addressing import Elements
from xeemu.knowledge.analysis import Facts, Known
from xeemu.language.program import Program
from xeemu.passes import elements, eliminate_dead_code
from xeemu.passes.analyses import Analyses
from xeemu.passes.building import Builder

_SPACES = ("local", "private")
_KNOWN = (ops.LOAD, ops.STORE)


def forward_stores(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program whose loads of what stores have left, if nothing else needs that, are parts of what was stored."""
    found = {op: part for region in analyses.by_region for op, part in _of_region(region, analyses).items()}
    return eliminate_dead_code.replaced(
        program, found, lambda rewriter, op, part: [_loaded(Builder(program, rewriter, op), part)]
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Access:
    """A load from elements that are known before the program runs, or a store to such.

    Attributes:
      op: the operation.
      where: its elements that take part.
      element_numbers: `[n]` their numbers in a group's memory, for private memory those in the work-items' copies.
    """

    op: Op
    where: Elements
    element_numbers: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class _Forwarded:
    """What a load takes.

    Attributes:
      load: the load.
      store: the store that has left it.
      chosen: what is loaded among the elements that were stored.
    """

    load: _Access
    store: _Access
    chosen: Elements


def _of_region(region: Region, analyses: Analyses) -> dict[Op, _Forwarded]:
    """The loads of a region that take what a store there has left, if nothing needs the memory after that store."""
    facts = analyses.by_region[region]
    histories = collections.defaultdict[Known, _History](_History)
    for op in region.ops:
        memories = {facts.values[value] for value in op.used if not isinstance(value, Constant)}
        for memory in memories:
            if memory.space in _SPACES and op.name not in ops.ORDERING:
                histories[memory].follow(op, _access(op, facts) if op.name in _KNOWN else None)
    return {part.load.op: part for history in histories.values() for part in history.forwarded()}


@dataclasses.dataclass
class _History:
    """What happens to a memory.

    Attributes:
      latest: by the number of an element the store that has left it, if it is known which.
      candidates: for each store what loads take of it.
      needed: stores that the memory is needed after.
    """

    latest: dict[int, _Access] = dataclasses.field(default_factory=dict)
    candidates: dict[_Access, list[_Forwarded]] = dataclasses.field(default_factory=dict)
    needed: set[_Access] = dataclasses.field(default_factory=set)

    def follow(self, op: Op, access: _Access | None) -> None:
        """Goes on to an operation that uses the memory; `access` is None unless its elements are known."""
        if op.name == ops.STORE:
            if access is None or len(np.unique(access.element_numbers)) < len(access.element_numbers):
                self.latest.clear()
            else:
                self.latest |= dict.fromkeys(access.element_numbers.tolist(), access)
                self.candidates[access] = []
        elif access is not None and (part := self._forwarded(access)) is not None:
            self.candidates[part.store].append(part)
        else:
            self.needed |= self.candidates.keys()

    def _forwarded(self, load: _Access) -> _Forwarded | None:
        """What a load takes if one store has left all of it, a slice of what was stored."""
        left = {self.latest.get(number) for number in load.element_numbers.tolist()}
        store = left.pop() if len(left) == 1 else None
        if store is None:
            return None
        order = np.argsort(store.element_numbers)
        chosen = order[np.searchsorted(store.element_numbers, load.element_numbers, sorter=order)]
        part = Elements(store.where.compact_shape, chosen)
        return _Forwarded(load, store, part) if elements.is_sliced(part) else None

    def forwarded(self) -> list[_Forwarded]:
        return [part for store, parts in self.candidates.items() if store not in self.needed for part in parts]


def _access(op: Op, facts: Facts) -> _Access | None:
    """A load or a store of local or private memory, if no group, loop or argument decides on its elements."""
    if addressing.is_masked(op, facts.value):
        return None
    geometry, address = facts.geometry, addressing.foreseen(op, facts)
    form, where = address.form, address.elements
    if not address.proved or form is None or not form.constant:
        return None
    element_numbers = form.pattern
    if facts.values[op.operands[0]].space == "private":
        element_numbers = element_numbers * geometry.items + where.chosen // (math.prod(where.shape) // geometry.items)
    return _Access(op, where, element_numbers)


# --- What stands for a load, as operations ---


def _loaded(builder: Builder, part: _Forwarded) -> Value:
    """What a load gives, of what was stored; who is masked out gets what is to be given instead."""
    load, store = part.load, part.store
    dtype, rank = load.op.operands[0].dtype, load.op.attributes["access"].rank
    (value,) = builder.rewriter.values([store.op.operands[1 + store.op.attributes["access"].rank]])
    rest = [] if load.where.all else builder.rewriter.values(load.op.operands[2 + rank :])
    whole = store.where.all and load.where.all and part.chosen.in_order
    if whole and (value.shape, value.dtype) == (load.where.shape, dtype):
        return value
    given = {"stored": store.where, "chosen": part.chosen, "loaded": load.where, "dtype": dtype}
    return builder.applied(_part_of, value, *rest, **given)[0]


def _part_of(
    value: jax.Array, *passthrough: jax.Array, stored: Elements, chosen: Elements, loaded: Elements, dtype: Any
) -> jax.Array:
    there = elements.gathered(elements.aligned(value.astype(dtype), stored.shape), stored)
    if not passthrough:
        return elements.gathered(there, chosen, loaded.shape)
    found = elements.gathered(there, chosen)
    rest = passthrough[0].astype(dtype)
    if not rest.shape and elements.is_stretch(loaded):
        return elements.padded(found, loaded, rest)
    return lax.select(loaded.mask, elements.spread(found, loaded), elements.aligned(rest, loaded.shape))
