"""Redundant masks: masks go that keep an access within its memory and do nothing else.

Where a launch has more work-items than there are elements, or where neighbours do not exist, a kernel masks out what is
not there: `data.load(i, where=i < n)`. Such a mask is true exactly where the index is within bounds, so that nobody has
to look at both, and a window that ends with the memory needs neither.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from xeemu.devices.target import Target
from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge import intervals
from xeemu.language.program import Program
from xeemu.passes import eliminate_dead_code
from xeemu.passes.analyses import Analyses

_ORDERS = {"lt": (False, 0), "le": (False, 1), "ge": (True, 0), "gt": (True, 1)}
"""For a comparison with a constant whether it sets the least value or the end, and what it adds to the constant."""

_MIRRORED = {"lt": "gt", "le": "ge", "ge": "le", "gt": "lt"}

_TRUE = Constant((), np.dtype(bool), array=np.asarray(True), is_literal=True)


def drop_redundant_masks(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program whose loads from global memory are bounded in place of such masks, and whose stores have none."""
    found = {op: _of_all(op) for op in redundant(analyses)}
    return eliminate_dead_code.replaced(program, found, eliminate_dead_code.changed)


def redundant(analyses: Analyses) -> list[Op]:
    """The accesses of a program whose masks keep them within their memories and do nothing else."""
    masks = _Masks(analyses)
    return [op for op in analyses.program.body.walk() if _is_masked(op, analyses) and masks.guard(op)]


def bounded(load: Op, memory: Value, indices: Sequence[Value], passthrough: Constant) -> Op:
    """A load of which everybody takes part, and that gives something else where it is out of bounds."""
    access = dataclasses.replace(load.attributes["access"], rank=len(indices), masked=True, bounded=True)
    operands = (memory, *indices, _TRUE, passthrough)
    return dataclasses.replace(load, operands=operands, attributes={**load.attributes, "access": access})


def _of_all(op: Op) -> Op:
    """An access of which everybody takes part, in place of those whose index is within bounds."""
    passthrough = ops.passthrough(op)
    return _unmasked(op) if passthrough is None else bounded(op, op.operands[0], ops.indices(op), passthrough)


def _unmasked(store: Op) -> Op:
    """A store of which everybody takes part; what is out of bounds is not stored anyway."""
    access = dataclasses.replace(store.attributes["access"], masked=False)
    return dataclasses.replace(store, operands=store.operands[:-1], attributes={**store.attributes, "access": access})


def _is_masked(op: Op, analyses: Analyses) -> bool:
    """True if it loads from global memory, with a constant for those masked out, or stores to it, as a mask says."""
    if op.name not in (ops.LOAD, ops.STORE) or analyses.known(op.operands[0]).space != "global":
        return False
    mask = ops.mask(op)
    if mask is None or isinstance(mask, Constant):
        return False
    # One that is known before the program runs chooses elements (see `addressing.active_elements`).
    form = analyses.known(mask).form
    if form is not None and form.constant:
        return False
    if op.name == ops.STORE:
        return True
    passthrough = ops.passthrough(op)
    return passthrough is not None and not passthrough.shape  # an array has one for each that loads, wherever that is


@dataclasses.dataclass(frozen=True)
class _Condition:
    """That a value is at least `least` and below `end`."""

    value: Value
    least: int | None = None
    end: int | None = None


class _Masks:
    """What the masks of a program are made of."""

    def __init__(self, analyses: Analyses) -> None:
        self.analyses = analyses

    def guard(self, op: Op) -> bool:
        """True if the mask of an access is true exactly where its index is within bounds."""
        mask = ops.mask(op)
        conditions = None if mask is None else self._conditions(mask)
        if conditions is None:
            return False
        indices = [self._origin(a) for a in ops.indices(op)]
        about = set(indices)
        return all(c.value in about for c in conditions) and all(
            self._keeps_within(a, size, conditions) for a, size in zip(indices, ops.viewed_shape(op), strict=True)
        )

    def _keeps_within(self, index: Value, size: int, conditions: list[_Condition]) -> bool:
        """True if the conditions on a component of an index hold exactly where that is within bounds."""
        interval = self.analyses.known(index).interval
        if interval is None:
            return False
        own = [c for c in conditions if c.value is index]
        least = max([interval[0], *(c.least for c in own if c.least is not None)])
        end = min([interval[1] + 1, *(c.end for c in own if c.end is not None)])
        return least == max(interval[0], 0) and end == min(interval[1] + 1, size)

    def _conditions(self, mask: Value) -> list[_Condition] | None:
        """The conditions of which a mask is the conjunction; None if it is none."""
        op = None if isinstance(mask, Constant) else self.analyses.definitions.get(mask)
        if op is None:
            return None
        if op.name == "and":
            parts = [self._conditions(a) for a in op.used]
            return None if None in parts else [c for part in parts if part is not None for c in part]
        condition = self._comparison(op) if op.name in _ORDERS else None
        return None if condition is None else [condition]

    def _comparison(self, op: Op) -> _Condition | None:
        """A comparison with a constant."""
        name, (a, b) = op.name, op.operands
        if self.analyses.known(b).only is None:
            name, a, b = _MIRRORED[name], b, a
        bound = self.analyses.known(b).only
        if bound is None:
            return None
        sets_least, more = _ORDERS[name]
        value = self._origin(a)
        return _Condition(value, least=bound + more) if sets_least else _Condition(value, end=bound + more)

    def _origin(self, value: Value) -> Value:
        """The value that others are in wider types."""
        op = None if isinstance(value, Constant) else self.analyses.definitions.get(value)
        if op is None or op.name != "convert_element_type":
            return value
        interval = self.analyses.known(op.operands[0]).interval
        same = interval is not None and intervals.within(interval, intervals.of_dtype(value.dtype))
        return self._origin(op.operands[0]) if same else value
