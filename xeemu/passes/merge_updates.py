"""Merged updates: updates of a memory that follow each other are a single one, with one more element for each.

Where a loop is written out, each of several updates by one operation begins a constant further than the one before: one
window of the memory holds all of them, so that no scatter is needed, and there is less to compile. So it is with plain
stores of components that lie side by side. A GPU starts a kernel for each scatter: there also those are merged whose
addresses depend on data, if no order counts.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.devices.target import Target
from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.rewriting import Rewriter
from xeemu.knowledge import addressing, strided_patterns
from xeemu.knowledge.addressing import Address
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.strided_patterns import StridedAxis
from xeemu.language import primitives
from xeemu.language.primitives import AccessAttributes
from xeemu.language.program import Program
from xeemu.passes import eliminate_dead_code
from xeemu.passes.analyses import Analyses
from xeemu.passes.building import Builder

_IN_ANY_ORDER = ops.COMBINING | {"store"}
"""What work-items may do to one element in any order, as far as all may be done at once."""


def merge_updates(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program in which such updates of global and local memory are one each."""
    search = _Search(analyses, target)
    found = {op: run for region in analyses.by_region for run in search.runs(region) for op in run.updates}

    def merged(rewriter: Rewriter, op: Op, run: _Run) -> list[Value]:
        # What the others leave nobody uses but the next one: for that stands what was there before.
        return run.built(Builder(program, rewriter, op)) if op is run.updates[-1] else rewriter.values(op.operands[:1])

    return eliminate_dead_code.replaced(program, found, merged)


@dataclasses.dataclass(frozen=True, eq=False)
class _Run:
    """Updates that are merged.

    Attributes:
      updates: one after the other.
      steps: how much further each begins than the one before, along each dimension; None if that is not the same.
    """

    updates: tuple[Op, ...]
    steps: tuple[int, ...] | None

    def built(self, builder: Builder) -> list[Value]:
        """The memory after them."""
        first, values = self.updates[0], builder.rewriter.values
        access: AccessAttributes = first.attributes["access"]
        indexed = self.updates if self.steps is None else self.updates[:1]
        masks = [ops.mask(op) for op in indexed]
        parts = [
            values(first.operands[:1]),
            *(values(op.operands[1 + d] for op in indexed) for d in range(access.rank)),
            values(self._values()),
            values(mask for mask in masks if mask is not None),
        ]
        return builder.applied(
            _updated,
            *(value for part in parts for value in part),
            sizes=tuple(map(len, parts)),
            steps=self.steps,
            masked=tuple(mask is not None for mask in masks),
            operations=tuple(map(ops.operation, self.updates)),
            plain=first.name == ops.STORE,
            access=access,
        )

    def _values(self) -> list[Value]:
        """What each update is made with; once if it is one number for all of them."""
        each = [op.operands[1 + op.attributes["access"].rank] for op in self.updates]
        numbers = {(v.dtype, v.array.tobytes()) if isinstance(v, Constant) and not v.ndim else v for v in each}
        uniform = len(numbers) == len(set(map(ops.operation, self.updates))) == 1
        return each[:1] if uniform and not each[0].ndim else each


def _updated(
    *given: jax.Array,
    sizes: tuple[int, ...],
    steps: tuple[int, ...] | None,
    masked: tuple[bool, ...],
    operations: tuple[str, ...],
    plain: bool,
    access: AccessAttributes,
) -> Any:
    """The memory after updates, from it, the components of their indices, their values and their masks."""
    ends = np.cumsum(sizes)
    (memory,), *indices, values, masks = (given[end - n : end] for n, end in zip(sizes, ends, strict=True))
    numbers, remaining, count = [v.astype(memory.dtype) for v in values], iter(masks), len(operations)
    if steps is None:
        # The axis of the updates is the first: along the last a GPU took 1.5 times as long.
        axis, shape, operation = 0, (count, *access.shape), ops.COMMUTING.get(operations[0], operations[0])
        index = [_stacked(each, access.shape, axis) for each in indices]
        numbers = [-v if operation == "sub" else v for v, operation in zip(numbers, operations, strict=False)]
    else:
        axis, shape, operation = -1, (*access.shape, count), operations[0]
        index = [_spread(i, step, count, shape) for (i,), step in zip(indices, steps, strict=True)]
    each = [next(remaining) if m else np.bool_(True) for m in masked]
    where = [_stacked(each * (count // len(each)), access.shape, axis)] if any(masked) else []
    value = _stacked(numbers, access.shape, axis) if len(numbers) > 1 else numbers[0]
    merged = dataclasses.replace(access, shape=shape, masked=any(masked))
    if plain:
        return primitives.store_p.bind(memory, *index, value, *where, access=merged)
    return primitives.atomic_p.bind(memory, *index, value, *where, op=operation, fetch=False, access=merged)


def _stacked(each: Sequence[Any], shape: tuple[int, ...], axis: int) -> jax.Array:
    """Arrays of a shape along one more axis; compilers put them together faster along the first."""
    return jnp.moveaxis(jnp.stack([jnp.broadcast_to(one, shape) for one in each]), 0, axis)


def _spread(index: jax.Array, step: int, count: int, shape: tuple[int, ...]) -> jax.Array:
    """A component of an index, and so much further again and again, along one more axis."""
    wide = index.astype(np.promote_types(index.dtype, np.int32))
    return jnp.broadcast_to(wide, shape[:-1])[..., None] + (step * np.arange(count)).astype(wide.dtype)


class _Search:
    """Finds what is merged in a program, on a host."""

    def __init__(self, analyses: Analyses, target: Target) -> None:
        self.analyses, self.joins, self.most = analyses, not target.scatters_in_order, target.merged_updates

    def runs(self, region: Region) -> Iterator[_Run]:
        """Those of a region."""
        facts, updates = self.analyses.by_region[region], self._updates(region)
        following = {op: users for op in updates.values() if (users := updates.get(_alone(op, region)))}
        begun = [op for op in updates.values() if op not in set(following.values())]
        for op in begun:
            yield from self._of_chain(list(_chain(op, following)), facts)

    def _updates(self, region: Region) -> Mapping[Value | None, Op]:
        """By the memory that they update the updates of which several may be done at once."""
        facts = self.analyses.by_region[region]
        return {op.operands[0]: op for op in region.ops if self._is_update(op, facts)}

    def _is_update(self, op: Op, facts: Facts) -> bool:
        if op.name not in (ops.STORE, ops.ATOMIC):
            return False
        space, operation = facts.values[op.operands[0]].space, ops.operation(op)
        if op.name == ops.STORE:
            return space == "global"
        in_order = self.analyses.in_order and op.operands[0].dtype.kind == "f" and operation in ("add", "sub")
        return space != "private" and operation in _IN_ANY_ORDER and not (op.attributes["fetch"] or in_order)

    def _of_chain(self, chain: list[Op], facts: Facts) -> Iterator[_Run]:
        """Those of updates that follow each other."""
        while len(chain) > 1:
            run = self._row(chain, facts) or (self._joined(chain, facts) if self.joins else None)
            if run is not None:
                yield run
            del chain[: len(run.updates) if run else 1]

    def _row(self, chain: Sequence[Op], facts: Facts) -> _Run | None:
        """The longest run that begins with the first and that one window holds; None if there is none."""
        first = chain[0]
        repeated = itertools.takewhile(lambda op: _is_repeated(first, op), chain[: self.most])
        addresses = list(itertools.takewhile(_is_static, (addressing.foreseen(op, facts) for op in repeated)))
        apart = [_apart(*pair) for pair in itertools.pairwise(addresses)]
        if not apart or (steps := apart[0]) is None:
            return None
        count = 1 + len(list(itertools.takewhile(lambda each: each == steps, apart)))
        while not _is_window(first, addresses[0], steps, count):
            count -= 1
        return _Run(tuple(chain[:count]), steps) if count > 1 else None

    def _joined(self, chain: Sequence[Op], facts: Facts) -> _Run | None:
        """The longest run that begins with the first and of which no order counts; None if there is none."""
        first, kind = chain[0], _scattered(chain[0], facts)
        run = itertools.takewhile(
            lambda op: kind is not None and _scattered(op, facts) == kind and _has_same_types(first, op),
            chain[: self.most],
        )
        return _Run(updates, None) if len(updates := tuple(run)) > 1 else None


def _alone(op: Op, region: Region) -> Value | None:
    """The memory after an update, if it is used once."""
    (memory,) = op.results
    return memory if region.uses[memory] == 1 else None


def _chain(op: Op | None, following: Mapping[Op, Op]) -> Iterator[Op]:
    while op is not None:
        yield op
        op = following.get(op)


def _scattered(op: Op, facts: Facts) -> str | None:
    """By which operation an update at addresses that depend on data changes a memory, if no order counts."""
    return None if addressing.is_formed(op, facts) else ops.commuting(op)


def _has_same_types(op: Op, other: Op) -> bool:
    """True if two updates have indices of the same shapes and dtypes."""
    one, another = (dataclasses.replace(each.attributes["access"], masked=False) for each in (op, other))
    return one == another and [i.dtype for i in ops.indices(op)] == [i.dtype for i in ops.indices(other)]


def _is_repeated(op: Op, other: Op) -> bool:
    """True if two updates do the same for the same work-items, perhaps elsewhere and with other values."""
    same = op.name == other.name and ops.operation(op) == ops.operation(other)
    return same and op.attributes["access"] == other.attributes["access"] and ops.mask(op) is ops.mask(other)


def _is_static(address: Address) -> bool:
    """True if it is known where an update lies, but for its group, and that it is within bounds."""
    known = address.proved and address.form is not None and not address.form.based
    return known and address.elements.count > 0


def _apart(one: Address, other: Address) -> tuple[int, ...] | None:
    """How much further the other of two addresses begins along each dimension, if that is all they differ in."""
    found = []
    for a, b in zip(one.components, other.components, strict=True):
        further = set((b.form.pattern - a.form.pattern).tolist())
        if a.form.steps != b.form.steps or len(further) > 1:
            return None
        found.append(further.pop())
    return tuple(found)


def _is_window(op: Op, address: Address, steps: Sequence[int], count: int) -> bool:
    """True if a window holds so many updates; of plain stores those of a work-item, between those of the others.

    A store that leaves no gap between work-items is a copy, best made alone.
    """
    assert address.form is not None
    if count == 1:
        return True
    pattern = address.form.pattern
    step = sum(s * n for s, n in zip(steps, strided_patterns.strides(address.shape), strict=True))
    if op.name == ops.STORE and pattern.size > 1 and abs(step) * (count - 1) >= int(np.abs(np.diff(pattern)).min()):
        return False
    strided = strided_patterns.of_pattern(pattern)
    writes = ops.operation(op) == "store"
    return strided is not None and (step != 0 or not writes) and strided.along(StridedAxis(count, step)).injective
