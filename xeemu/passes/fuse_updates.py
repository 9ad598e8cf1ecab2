"""Fused updates: stores to private memory that combine integers with what was loaded from the same element update it.

Between the load and the store nobody changes the element, which belongs to one work-item; so one scatter that adds does
what a gather, an addition and a scatter do. Of integers only: a sum of floats may be rounded in another way. Where all
addresses in a memory are known but for where they begin, its elements are slices, and remain so.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from xeemu.devices.target import Target
from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.rewriting import Rewriter
from xeemu.knowledge import addressing
from xeemu.knowledge.analysis import Facts
from xeemu.language import primitives
from xeemu.language.primitives import AccessAttributes
from xeemu.language.program import Program
from xeemu.passes import eliminate_dead_code
from xeemu.passes.analyses import Analyses
from xeemu.passes.building import Builder


def fuse_updates(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program in which such stores are atomic updates, whose old values nobody asks for."""
    items = program.geometry.items
    found = {
        store: update
        for region, facts in analyses.by_region.items()
        for store, update in _of_region(region, facts, items)
    }

    def fused(rewriter: Rewriter, op: Op, update: _Update) -> list[Value]:
        access = op.attributes["access"]
        operands = (*op.operands[: 1 + access.rank], update.added, *op.operands[2 + access.rank :])
        return Builder(program, rewriter, op).applied(
            _updated, *rewriter.values(operands), operation=update.operation, access=access
        )

    return eliminate_dead_code.replaced(program, found, fused)


def _updated(memory: jax.Array, *rest: jax.Array, operation: str, access: AccessAttributes) -> Any:
    return primitives.atomic_p.bind(memory, *rest, op=operation, fetch=False, access=access)


@dataclasses.dataclass(frozen=True)
class _Update:
    """What a store does with what is there.

    Attributes:
      operation: by which it combines that.
      added: with what.
    """

    operation: str
    added: Value


def _of_region(region: Region, facts: Facts, items: int) -> Iterator[tuple[Op, _Update]]:
    """The stores of a region that are updates."""
    private = [op for op in region.ops if op.name == ops.STORE and facts.values[op.operands[0]].space == "private"]
    looked_up = {facts.values[op.operands[0]] for op in private if not addressing.is_formed(op, facts)}
    for store in private:
        if facts.values[store.operands[0]] in looked_up and _is_one_integer_each(store, items):
            yield from ((store, update) for update in _updates(store, region))


def _is_one_integer_each(store: Op, items: int) -> bool:
    return store.operands[0].dtype.kind in "iu" and math.prod(store.attributes["access"].shape) == items


def _updates(store: Op, region: Region) -> Iterator[_Update]:
    """What a store does if it puts back what was there, combined with something else; nothing else needs either."""
    value = store.operands[1 + store.attributes["access"].rank]
    op = None if isinstance(value, Constant) else region.definitions.get(value)
    if op is None or op.name not in ops.COMMUTING or region.uses[value] > 1:
        return
    for old, added in [op.operands, op.operands[::-1]][: 1 if op.name == "sub" else 2]:
        load = None if isinstance(old, Constant) else region.definitions.get(old)
        if load is not None and load.name == ops.LOAD and region.uses[old] == 1 and _is_same_element(load, store):
            yield _Update(op.name, added)


def _is_same_element(load: Op, store: Op) -> bool:
    """True if what is stored to is what was loaded, of the same version of the memory."""
    one, other = load.attributes["access"], store.attributes["access"]
    value, mask = store.operands[1 + other.rank], ops.mask(load)
    indices = zip(ops.indices(load), ops.indices(store), strict=True)
    return (
        load.operands[0] is store.operands[0]
        and one.shape == other.shape == value.shape
        and one.view == other.view
        and value.dtype == store.operands[0].dtype
        and all(_is_same_value(a, b) for a, b in indices)
        and (mask is None or (other.masked and _is_same_value(mask, store.operands[-1])))
    )


def _is_same_value(value: Value, other: Value) -> bool:
    """True if two values are surely the same, of a program in which nothing is computed twice."""
    if isinstance(value, Constant) and isinstance(other, Constant):
        return value.dtype == other.dtype and np.array_equal(value.array, other.array)
    return value is other
