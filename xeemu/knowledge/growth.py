"""Growth: how a value changes along an axis, and the result of an operation by how its operands do."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from xeemu.knowledge import expressions, forms, intervals
from xeemu.knowledge.expressions import TABLE, Expression, LoopAxis


class Growth(NamedTuple):
    """A value's growth along an axis.

    Attributes:
      period: number of indices, at least 1.
      delta: growth over a period: an int, or int64 for each element of the value.
    """

    period: int
    delta: Any

    @property
    def still(self) -> bool:
        """True if the value only repeats."""
        return not (self.delta if type(self.delta) is int else np.any(self.delta))

    def over(self, period: int) -> Any:
        """Growth over a multiple of the period."""
        return self.delta * (period // self.period)

    def repeats(self, modulus: int) -> int | None:
        """The indices after which all elements have grown by one multiple of a number; None if they never do."""
        growth = np.unique(self.delta)
        return self.period * (modulus // math.gcd(modulus, int(growth[0]))) if len(growth) == 1 else None

    def common(self, modulus: int) -> int:
        """The greatest common divisor of the growths and a number."""
        return int(np.gcd.reduce(np.abs(np.asarray(self.delta, np.int64)).reshape(-1), initial=modulus))


STILL = Growth(1, 0)
"""Of a value that does not change along the axis."""

Growths = Mapping[LoopAxis, Growth]
"""Of a value, along each axis along which it changes."""


def difference(a: Growth, b: Growth) -> Growth:
    """How the difference of two values grows."""
    period = math.lcm(a.period, b.period)
    return Growth(period, a.over(period) - b.over(period))


# --- Growth of the results of exact operations; None where there is no rule ---

Fixed = Callable[[Expression], np.ndarray | None]
"""Gives the value of an expression that does not change where the growths hold, else None."""

_Rule = Callable[[Fixed, Expression, Sequence[Growth]], Growth | None]


def _linear(fixed: Fixed, e: Expression, growths: Sequence[Growth]) -> Growth | None:
    """A sum of multiples of the operands."""

    def known(number: int) -> np.ndarray | None:
        value = fixed(e.operands[number])
        return None if value is None else value.astype(np.int64)

    if (factors := forms.FACTORS[e.op](known)) is None:
        return None
    period = math.lcm(*(growth.period for growth in growths))
    return Growth(period, _simple(sum(g.over(period) * factor for g, factor in zip(growths, factors, strict=True))))


def _divide(fixed: Fixed, e: Expression, growths: Sequence[Growth]) -> Growth | None:
    by, number = fixed(e.operands[1]), e.operands[0]
    numbers = number.interval or intervals.of_dtype(number.dtype)
    if by is None or not by.size or (by != by.flat[0]).any() or numbers is None:
        return None
    divisor = intervals.divisor(e.op, int(by.flat[0]), numbers, number.dtype)
    if divisor is None:
        return None
    period = growths[0].period * (divisor // growths[0].common(divisor))
    return Growth(period, 0 if e.op == "rem" else growths[0].over(period) // divisor)


def _bitwise(fixed: Fixed, e: Expression, growths: Sequence[Growth]) -> Growth | None:
    """With a mask below a power of two: what is a multiple of that power passes by (`or`, `xor`) or is lost (`and`)."""
    if e.dtype == bool:
        return None
    for number, growth in enumerate(growths):
        mask = fixed(e.operands[1 - number])
        if mask is not None and mask.size and int(mask.min()) >= 0:
            modulus = 1 << int(mask.max()).bit_length()
            period = growth.period * (modulus // growth.common(modulus))
            return Growth(period, 0 if e.op == "and" else growth.over(period))
    return None


def _same(_: Fixed, e: Expression, growths: Sequence[Growth]) -> Growth:
    return growths[0]


def _move(_: Fixed, e: Expression, growths: Sequence[Growth]) -> Growth:
    (growth,) = growths
    if np.ndim(growth.delta) == 0:
        return growth
    whole = np.broadcast_to(growth.delta, e.operands[0].shape).reshape(-1)
    return Growth(growth.period, whole[expressions.source_positions(e)])


def _element(fixed: Fixed, e: Expression, growths: Sequence[Growth]) -> Growth | None:
    """Elements of an array with equal differences."""
    array, index = e.operands[0].array, growths[1]
    differences = np.diff(array.astype(np.int64), axis=0)
    if not len(differences) or (differences != differences[:1]).any():
        return None
    return Growth(index.period, _simple(index.delta * differences[0]))


def _simple(delta: Any) -> Any:
    """An int for an array of equal elements."""
    if type(delta) is int:
        return delta
    flat = np.asarray(delta, np.int64).reshape(-1)
    return int(flat[0]) if flat.size and (flat == flat[0]).all() else np.asarray(delta, np.int64)


RULES: Mapping[str, _Rule] = {
    **dict.fromkeys(forms.FACTORS, _linear),
    "shift_right_arithmetic": _divide,
    "shift_right_logical": _divide,
    "div": _divide,
    "rem": _divide,
    "and": _bitwise,
    "or": _bitwise,
    "xor": _bitwise,
    "convert_element_type": _same,
    TABLE: _element,
    **dict.fromkeys(expressions.MOVES, _move),
}
