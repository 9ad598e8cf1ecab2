"""Intervals: what values an integer or bool value of a program can take.

An interval is a pair of Python ints, both included. The rules compute in unbounded integers; whoever uses them compares
the result with the value's dtype to see whether it can overflow.
"""

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.ir import table
from xeemu.ir.program import Op

Interval = tuple[int, int]
_Known = Sequence[Interval | None]
_Rule = Callable[[Op, _Known], Interval | None]


@functools.cache
def of_dtype(dtype: Any) -> Interval | None:
    """All values of a dtype; None if it is neither integer nor bool, such as JAX's random keys."""
    if jnp.issubdtype(dtype, jax.dtypes.extended):
        return None
    if np.dtype(dtype) == bool:
        return (0, 1)
    if jnp.issubdtype(dtype, jnp.integer):
        info = jnp.iinfo(dtype)
        return (int(info.min), int(info.max))
    return None


def of_array(values: np.ndarray) -> Interval | None:
    """The least and greatest element of an integer or bool array."""
    every = of_dtype(values.dtype)
    if every is None or not values.size:
        return every
    if values.size == 1:
        return (int(values.item()),) * 2
    return (int(values.min()), int(values.max()))


def join(*intervals: Interval | None) -> Interval | None:
    """The least interval that holds all of them."""
    known = [i for i in intervals if i is not None]
    if len(known) < len(intervals):
        return None
    return (min(lo for lo, _ in known), max(hi for _, hi in known))


def within(inner: Interval | None, outer: Interval | None) -> bool:
    return inner is not None and outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def disjoint(a: Interval, b: Interval) -> bool:
    return a[1] < b[0] or b[1] < a[0]


def of_op(op: Op, operands: _Known) -> Interval | None:
    """The interval of the exact result of `op`, before any overflow; None if no rule tells it."""
    rule = _RULES.get(op.name)
    return rule(op, operands) if rule else None


def corners(combine: Callable[..., int], *operands: Interval | None) -> Interval | None:
    """The interval of what is monotone in each operand: the extremes lie in the corners. None if some is not known."""
    if any(o is None for o in operands):
        return None
    return _hull([combine(*ends) for ends in itertools.product(*(o for o in operands if o))])


def divisor(name: str, by: int, number: Interval, dtype: np.dtype) -> int | None:
    """The number by which an operation divides, rounding down, or of which it gives the rest; None if it does not.

    Args:
      name: of the operation.
      by: its second operand.
      number: the interval of the first one.
      dtype: of both.
    """
    if name in ("div", "rem"):
        return by if by > 0 and number[0] >= 0 else None
    bits = 8 * dtype.itemsize
    # XLA takes the top bit for a sign in unsigned types too.
    plain = number[1] < 1 << bits - 1 if name == "shift_right_arithmetic" else number[0] >= 0
    return 1 << by if name in _RIGHT_SHIFTS and plain and 0 <= by < bits else None


_RIGHT_SHIFTS = ("shift_right_arithmetic", "shift_right_logical")


def _hull(numbers: Sequence[int]) -> Interval:
    return (min(numbers), max(numbers))


def _corners(combine: Callable[..., int]) -> _Rule:
    return lambda _, operands: corners(combine, *operands)


def _same(op: Op, operands: _Known) -> Interval | None:
    return operands[0] if op.operands[0].size or not op.results[0].size else None


def _join_all(_: Op, operands: _Known) -> Interval | None:
    return join(*operands)


def _binary(function: Callable[[Interval, Interval], Interval | None]) -> _Rule:
    return lambda _, operands: function(operands[0], operands[1]) if operands[0] and operands[1] else None


def _around_zero(function: Callable[[int], int], a: Interval | None) -> Interval | None:
    """Of what is monotone on either side of 0."""
    return _hull([function(x) for x in (*a, min(max(a[0], 0), a[1]))]) if a else None


def _and(a: Interval, b: Interval) -> Interval | None:
    upper = [hi for lo, hi in (a, b) if lo >= 0]
    return (0, min(upper)) if upper else None


def _or(a: Interval, b: Interval) -> Interval | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return (max(a[0], b[0]), (1 << max(a[1], b[1]).bit_length()) - 1)


def _xor(a: Interval, b: Interval) -> Interval | None:
    return (0, (1 << max(a[1], b[1]).bit_length()) - 1) if min(a[0], b[0]) >= 0 else None


def _not(op: Op, operands: _Known) -> Interval | None:
    dtype = op.results[0].dtype
    top = 1 if dtype.kind == "b" else -1 if jnp.issubdtype(dtype, jnp.signedinteger) else int(jnp.iinfo(dtype).max)
    return corners(lambda x: top - x, operands[0])


def _shift_left(op: Op, operands: _Known) -> Interval | None:
    fits = within(operands[1], (0, 8 * op.results[0].dtype.itemsize - 1))
    return corners(operator.lshift, *operands) if fits else None


def _shift_right(op: Op, operands: _Known) -> Interval | None:
    number, by = operands
    ends = [divisor(op.name, end, number, op.results[0].dtype) for end in by] if number and by else [None]
    return None if None in ends else corners(operator.rshift, number, by)


def _div(a: Interval, b: Interval) -> Interval | None:
    return corners(lambda x, y: (abs(x) // y) * (1 if x >= 0 else -1), a, b) if b[0] > 0 else None


def _rem(a: Interval, b: Interval) -> Interval | None:
    if b[0] <= 0:
        return None
    top = b[1] - 1
    low = 0 if a[0] >= 0 else max(-top, a[0])
    return (low, max(min(top, a[1]), 0)) if a[1] >= b[0] or a[0] < 0 else (max(low, a[0]), a[1])


def _comparison(holds: Callable[[int, int], bool]) -> _Rule:
    return lambda _, operands: corners(lambda x, y: int(holds(x, y)), *operands) or (0, 1)


def _equal(_: Op, operands: _Known) -> Interval:
    a, b = operands
    return (int(a is not None and a == b and a[0] == a[1]), int(not (a and b and disjoint(a, b))))


def _differ(op: Op, operands: _Known) -> Interval:
    low, high = _equal(op, operands)
    return (1 - high, 1 - low)


def _select(_: Op, operands: _Known) -> Interval | None:
    which, *cases = operands
    if which and which[0] == which[1] and 0 <= which[0] < len(cases):
        return cases[which[0]]
    return join(*cases)


def _convert(op: Op, operands: _Known) -> Interval | None:
    if op.results[0].dtype.kind == "b":
        return (0, 1)
    return operands[0]


def _iota(op: Op, _: _Known) -> Interval | None:
    return (0, max(op.attributes["shape"][op.attributes["dimension"]] - 1, 0))


def _sum(op: Op, operands: _Known) -> Interval | None:
    terms = math.prod(op.operands[0].shape[axis] for axis in op.attributes["axes"])
    return corners(lambda x: x * terms, operands[0])


def _argument(op: Op, _: _Known) -> Interval | None:
    return (0, max(math.prod(op.operands[0].shape[axis] for axis in op.attributes["axes"]) - 1, 0))


def _power(op: Op, operands: _Known) -> Interval | None:
    exponent = op.attributes["y"]
    return None if exponent < 0 else _around_zero(lambda x: int(x**exponent), operands[0])


_RULES: dict[str, _Rule] = {
    **{name: _same for name, op in table.OPS.items() if op.among},
    "concatenate": _join_all,
    "pad": _join_all,
    "add": _corners(operator.add),
    "sub": _corners(operator.sub),
    "mul": _corners(operator.mul),
    "max": _corners(max),
    "min": _corners(min),
    "neg": _corners(operator.neg),
    "abs": lambda _, operands: _around_zero(abs, operands[0]),
    "sign": _corners(lambda x: (x > 0) - (x < 0)),
    "clamp": _corners(lambda low, x, high: min(max(x, low), high)),
    "and": _binary(_and),
    "or": _binary(_or),
    "xor": _binary(_xor),
    "not": _not,
    "shift_left": _shift_left,
    **dict.fromkeys(_RIGHT_SHIFTS, _shift_right),
    "div": _binary(_div),
    "rem": _binary(_rem),
    "lt": _comparison(operator.lt),
    "le": _comparison(operator.le),
    "gt": _comparison(operator.gt),
    "ge": _comparison(operator.ge),
    "eq": _equal,
    "ne": _differ,
    "select_n": _select,
    "convert_element_type": _convert,
    "integer_pow": _power,
    "iota": _iota,
    "reduce_sum": _sum,
    "argmax": _argument,
    "argmin": _argument,
}
