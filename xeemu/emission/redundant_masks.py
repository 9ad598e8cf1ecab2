"""Redundant masks: those that keep an access within its memory and do nothing else.

Where a launch has more work-items than there are elements, or where neighbours do not exist, a kernel masks out what is
not there: `data.load(i, where=i < n)`. Such a mask is true exactly where the index is within bounds, so that nobody has
to look at both, and a window that ends with the memory needs neither.
"""

import dataclasses

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import intervals, value_numbering
from xeemu.knowledge.analysis import Plan, fact
from xeemu.knowledge.intervals import Interval

_ORDERS = {"lt": (False, 0), "le": (False, 1), "ge": (True, 0), "gt": (True, 1)}
"""For a comparison with a constant whether it sets the least value or the end, and what it adds to the constant."""

_MIRRORED = {"lt": "gt", "le": "ge", "ge": "le", "gt": "lt"}


@fact
def of_body(body: Region, plan: Plan, dimensions: int) -> frozenset[int]:
    """The numbers of the loads and stores of a (sub)program whose masks are guards.

    Args:
      body: the program.
      plan: its analysis.
      dimensions: of the launch.
    """
    masked = [(number, op) for number, op in enumerate(body.ops) if _is_masked(op, plan)]
    if not masked:
        return frozenset()
    masks = _Masks(body, plan, dimensions)
    return frozenset(number for number, op in masked if masks.guard(op))


def _is_masked(op: Op, plan: Plan) -> bool:
    """Whether it loads from global memory, with a constant for those masked out, or stores to it, as a mask says."""
    if op.name not in (ops.LOAD, ops.STORE) or plan.values[op.operands[0]].space != "global":
        return False
    mask = ops.mask(op)
    if mask is None or isinstance(mask, Constant):
        return False
    # One that is known before the program runs chooses elements (see `addressing.left_in`), here as in other modules.
    form = plan.values[mask].form
    if form is not None and form.constant:
        return False
    return op.name == ops.STORE or isinstance(op.operands[-1], Constant)


@dataclasses.dataclass(frozen=True)
class _Condition:
    """That a value, given by its number, is at least `least` and below `end`."""

    number: int
    least: int | None = None
    end: int | None = None


class _Masks:
    """What the masks of a (sub)program are made of."""

    def __init__(self, body: Region, plan: Plan, dimensions: int) -> None:
        self.plan, self.dimensions = plan, dimensions
        self.numbers = value_numbering.of_body(body)
        self.made = {v: op for op in body.ops for v in op.results}

    def guard(self, op: Op) -> bool:
        """Whether the mask of an access is true exactly where its index is within bounds."""
        mask = ops.mask(op)
        conditions = None if mask is None else self._conditions(mask)
        if conditions is None:
            return False
        indices = [self._origin(a) for a in ops.indices(op)]
        about = {self._number(a) for a in indices}
        return all(c.number in about for c in conditions) and all(
            self._keeps_within(a, size, conditions) for a, size in zip(indices, op.operands[0].shape, strict=True)
        )

    def _keeps_within(self, index: Value, size: int, conditions: list[_Condition]) -> bool:
        """Whether the conditions on a component of an index hold exactly where that is within bounds."""
        interval = self.plan.value(index, self.dimensions).interval
        if interval is None:
            return False
        own = [c for c in conditions if c.number == self._number(index)]
        least = max([interval[0], *(c.least for c in own if c.least is not None)])
        end = min([interval[1] + 1, *(c.end for c in own if c.end is not None)])
        return least == max(interval[0], 0) and end == min(interval[1] + 1, size)

    def _conditions(self, mask: Value) -> list[_Condition] | None:
        """The conditions of which a mask is the conjunction; None if it is none."""
        op = None if isinstance(mask, Constant) else self.made.get(mask)
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
        if self._constant(b) is None:
            name, a, b = _MIRRORED[name], b, a
        bound = self._constant(b)
        if bound is None:
            return None
        sets_least, more = _ORDERS[name]
        number = self._number(self._origin(a))
        return _Condition(number, least=bound + more) if sets_least else _Condition(number, end=bound + more)

    def _constant(self, value: Value) -> int | None:
        """The only value that an integer takes."""
        interval: Interval | None = self.plan.value(value, self.dimensions).interval
        return interval[0] if interval is not None and interval[0] == interval[1] else None

    def _origin(self, value: Value) -> Value:
        """The value that others are in wider types."""
        op = None if isinstance(value, Constant) else self.made.get(value)
        if op is None or op.name != "convert_element_type":
            return value
        interval = self.plan.value(op.operands[0], self.dimensions).interval
        same = interval is not None and intervals.within(interval, intervals.of_dtype(value.dtype))
        return self._origin(op.operands[0]) if same else value

    def _number(self, value: Value) -> int:
        return self.numbers[value]
