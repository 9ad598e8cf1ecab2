"""Intervals: what values an integer or bool value of a program can take.

An interval is a pair of Python ints, both included. The rules compute in unbounded integers; whoever uses them compares
the result with the value's dtype to see whether it can overflow.
"""

import functools
import itertools
import math
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


def _corners(combine: Callable[[int, int], int]) -> _Rule:
    """For operations that are monotone in each operand: the extremes lie in the corners."""

    def rule(_: Op, operands: _Known) -> Interval | None:
        if any(o is None for o in operands):
            return None
        ends = [combine(*ends) for ends in itertools.product(*(o for o in operands if o))]
        return (min(ends), max(ends))

    return rule


def _same(op: Op, operands: _Known) -> Interval | None:
    return operands[0] if op.operands[0].size or not op.results[0].size else None


def _join_all(_: Op, operands: _Known) -> Interval | None:
    return join(*operands)


def _unary(function: Callable[[Interval], Interval]) -> _Rule:
    return lambda _, operands: function(operands[0]) if operands[0] else None


def _binary(function: Callable[[Interval, Interval], Interval | None]) -> _Rule:
    return lambda _, operands: function(operands[0], operands[1]) if operands[0] and operands[1] else None


def _absolute(a: Interval) -> Interval:
    ends = (abs(a[0]), abs(a[1]))
    return (0 if a[0] <= 0 <= a[1] else min(ends), max(ends))


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
    if operands[0] is None:
        return None
    low, high = operands[0]
    dtype = op.results[0].dtype
    top = 1 if dtype.kind == "b" else -1 if jnp.issubdtype(dtype, jnp.signedinteger) else int(jnp.iinfo(dtype).max)
    return (top - high, top - low)


def _shift(function: Callable[[int, int], int]) -> _Rule:
    corners = _corners(function)

    def rule(op: Op, operands: _Known) -> Interval | None:
        bits = 8 * op.results[0].dtype.itemsize
        return corners(op, operands) if within(operands[1], (0, bits - 1)) else None

    return rule


def _logical_shift(op: Op, operands: _Known) -> Interval | None:
    value = operands[0]
    return _shift(lambda x, s: x >> s)(op, operands) if value and value[0] >= 0 else None


def _arithmetic_shift(op: Op, operands: _Known) -> Interval | None:
    """XLA takes the top bit for a sign in unsigned types too."""
    bits = 8 * op.results[0].dtype.itemsize
    signed = within(operands[0], (-(1 << bits - 1), (1 << bits - 1) - 1))
    return _shift(lambda x, s: x >> s)(op, operands) if signed else None


def _div(a: Interval, b: Interval) -> Interval | None:
    if b[0] <= 0:
        return None
    ends = [(abs(x) // y) * (1 if x >= 0 else -1) for x in a for y in b]
    return (min(ends), max(ends))


def _rem(a: Interval, b: Interval) -> Interval | None:
    if b[0] <= 0:
        return None
    top = b[1] - 1
    low = 0 if a[0] >= 0 else max(-top, a[0])
    return (low, max(min(top, a[1]), 0)) if a[1] >= b[0] or a[0] < 0 else (max(low, a[0]), a[1])


def _compare(holds: Callable[[Interval, Interval], bool], fails: Callable[[Interval, Interval], bool]) -> _Rule:
    """Of when a comparison surely holds, and when it surely does not."""

    def rule(_: Op, operands: _Known) -> Interval:
        a, b = operands
        certain = [bool(a and b and outcome(a, b)) for outcome in (holds, fails)]
        return (int(certain[0]), int(not certain[1]))

    return rule


def _below(a: Interval, b: Interval) -> bool:
    return a[1] < b[0]


def _up_to(a: Interval, b: Interval) -> bool:
    return a[1] <= b[0]


def _above(a: Interval, b: Interval) -> bool:
    return a[0] > b[1]


def _from(a: Interval, b: Interval) -> bool:
    return a[0] >= b[1]


def _equal(a: Interval, b: Interval) -> bool:
    return a == b and a[0] == a[1]


def _select(_: Op, operands: _Known) -> Interval | None:
    which, *cases = operands
    if which and which[0] == which[1] and 0 <= which[0] < len(cases):
        return cases[which[0]]
    return join(*cases)


def _clamp(_: Op, operands: _Known) -> Interval | None:
    low, x, high = operands
    if not (low and x and high):
        return None
    return (min(max(x[0], low[0]), high[0]), min(max(x[1], low[1]), high[1]))


def _convert(op: Op, operands: _Known) -> Interval | None:
    if op.results[0].dtype.kind == "b":
        return (0, 1)
    return operands[0]


def _iota(op: Op, _: _Known) -> Interval | None:
    return (0, max(op.attributes["shape"][op.attributes["dimension"]] - 1, 0))


def _sum(op: Op, operands: _Known) -> Interval | None:
    if operands[0] is None:
        return None
    terms = math.prod(op.operands[0].shape[axis] for axis in op.attributes["axes"])
    return (operands[0][0] * terms, operands[0][1] * terms)


def _argument(op: Op, _: _Known) -> Interval | None:
    return (0, max(math.prod(op.operands[0].shape[axis] for axis in op.attributes["axes"]) - 1, 0))


def _power(op: Op, operands: _Known) -> Interval | None:
    exponent, base = op.attributes["y"], operands[0]
    if base is None or exponent < 0:
        return None
    ends = [x**exponent for x in base] + ([0] if base[0] <= 0 <= base[1] else [])
    return (min(ends), max(ends))


_RULES: dict[str, _Rule] = {
    **{name: _same for name, op in table.OPS.items() if op.among},
    "concatenate": _join_all,
    "pad": _join_all,
    "add": _corners(lambda x, y: x + y),
    "sub": _corners(lambda x, y: x - y),
    "mul": _corners(lambda x, y: x * y),
    "max": _corners(max),
    "min": _corners(min),
    "neg": _unary(lambda a: (-a[1], -a[0])),
    "abs": _unary(_absolute),
    "sign": _unary(lambda a: ((a[0] > 0) - (a[0] < 0), (a[1] > 0) - (a[1] < 0))),
    "clamp": _clamp,
    "and": _binary(_and),
    "or": _binary(_or),
    "xor": _binary(_xor),
    "not": _not,
    "shift_left": _shift(lambda x, s: x << s),
    "shift_right_arithmetic": _arithmetic_shift,
    "shift_right_logical": _logical_shift,
    "div": _binary(_div),
    "rem": _binary(_rem),
    "lt": _compare(_below, _from),
    "le": _compare(_up_to, _above),
    "gt": _compare(_above, _up_to),
    "ge": _compare(_from, _below),
    "eq": _compare(_equal, disjoint),
    "ne": _compare(disjoint, _equal),
    "select_n": _select,
    "convert_element_type": _convert,
    "integer_pow": _power,
    "iota": _iota,
    "reduce_sum": _sum,
    "argmax": _argument,
    "argmin": _argument,
}
