"""Arithmetic: the operators of C on numbers and vectors.

Integers are computed in int32 wherever the exact result is known to fit, else in the type's own dtype, which wraps.
"""

from collections.abc import Callable
from typing import Any, overload

import jax
import numpy as np
from jax import lax

from xeemu.frontends import intervals, types, values
from xeemu.frontends.types import Scalar, Vector
from xeemu.frontends.values import Components, Data, Number, Value

_Pair = tuple[Callable[..., Any], Callable[..., jax.Array]]
_PLAIN: dict[str, _Pair] = {
    "+": (np.add, lax.add),
    "-": (np.subtract, lax.sub),
    "*": (np.multiply, lax.mul),
    "&": (np.bitwise_and, lax.bitwise_and),
    "|": (np.bitwise_or, lax.bitwise_or),
    "^": (np.bitwise_xor, lax.bitwise_xor),
    "min": (np.minimum, lax.min),
    "max": (np.maximum, lax.max),
}
_FLOAT: dict[str, _Pair] = {**_PLAIN, "/": (np.divide, lax.div)}
_COMPARE: dict[str, _Pair] = {
    "<": (np.less, lax.lt),
    "<=": (np.less_equal, lax.le),
    ">": (np.greater, lax.gt),
    ">=": (np.greater_equal, lax.ge),
    "==": (np.equal, lax.eq),
    "!=": (np.not_equal, lax.ne),
}
COMPARISONS = frozenset(_COMPARE)


def binary(op: str, a: Value, b: Value, of: types.Type) -> Value:
    """`a op b`, with operands converted as the language does.

    Args:
      op: `+ - * / % & | ^ << >>`, a comparison, or `min` and `max`.
      a, b: numbers or vectors of one type; of shifts the amount may have another.
      of: the result's type.
    """
    if isinstance(of, Vector):
        return _by_component(op, _components(a, of), _components(b, of), of)
    assert isinstance(a, Number)
    assert isinstance(b, Number)
    assert isinstance(of, Scalar)
    return _compared(op, a, b, of) if op in COMPARISONS else _computed(op, a, b, of)


def _components(value: Value, of: Vector) -> tuple[Number, ...]:
    if isinstance(value, Components):
        return value.items
    assert isinstance(value, Number)
    return (value,) * of.count


def _by_component(op: str, a: tuple[Number, ...], b: tuple[Number, ...], of: Vector) -> Components:
    if op in COMPARISONS:
        return Components(
            of, tuple(mask(values.truth(_compared(op, x, y, types.INT)), of.element) for x, y in zip(a, b, strict=True))
        )
    return Components(of, tuple(_computed(op, x, y, of.element) for x, y in zip(a, b, strict=True)))


def mask(data: Data, of: Scalar) -> Number:
    """What comparisons of vectors give: all bits set where they hold, else 0."""
    return negated(values.converted(values.of_truth(data), of))


def _compared(op: str, a: Number, b: Number, of: Scalar) -> Number:
    if a.interval is not None and b.interval is not None and not (a.type.is_float or b.type.is_float):
        decided = intervals.compared(op, a.interval, b.interval)
        if decided is not None:
            return values.of_truth(np.bool_(decided), of)
    x, y = _operands(a, b)
    return values.of_truth(values.elementwise(*_COMPARE[op], x, y), of)


def _operands(a: Number, b: Number) -> tuple[Data, Data]:
    """The data of two numbers in one dtype that holds both."""
    if a.data.dtype == b.data.dtype and a.data.dtype != np.bool_:
        return a.data, b.data
    if a.type.is_float or b.type.is_float:
        common = types.common(a.type, b.type)
        return values.exact(values.converted(a, common)), values.exact(values.converted(b, common))
    if intervals.fits_int32(a.interval) and intervals.fits_int32(b.interval):
        return values.index(a), values.index(b)
    common = types.common(a.type, b.type)
    return values.exact(values.converted(a, common)), values.exact(values.converted(b, common))


def _computed(op: str, a: Number, b: Number, of: Scalar) -> Number:
    if of.is_float:
        x, y = (values.exact(values.converted(n, of)) for n in (a, b))
        return Number(of, values.elementwise(*_FLOAT[op], x, y))
    if (neutral := _neutral(op, a, b)) is not None:
        return values.converted(neutral, of)
    if op in ("<<", ">>"):
        return _shifted(op, a, b, of)
    assert a.interval is not None
    assert b.interval is not None
    interval = intervals.binary(op, a.interval, b.interval)
    if interval is not None and interval[0] == interval[1] and intervals.within(interval, intervals.of_type(of.dtype)):
        return values.constant(interval[0], of)
    narrow = all(map(intervals.fits_int32, (a.interval, b.interval, interval))) and of.size >= 4
    if narrow and intervals.within(interval, intervals.of_type(of.dtype)):  # type: ignore[arg-type]
        return Number(of, _integer(op, values.index(a), values.index(b)), interval)
    x, y = (values.exact(values.converted(n, of)) for n in (a, b))
    inside = interval is not None and intervals.within(interval, intervals.of_type(of.dtype))
    return _known_or_held(of, _integer(op, x, y), interval if inside else None)


_RIGHT_NEUTRAL = {"+": 0, "-": 0, "*": 1, "/": 1, "|": 0, "^": 0, "<<": 0, ">>": 0}
_LEFT_NEUTRAL = {"+": 0, "*": 1, "|": 0, "^": 0}


def _neutral(op: str, a: Number, b: Number) -> Number | None:
    """The operand that an operation of integers leaves as it is, if the other one is known to do nothing."""
    if b.known and op in _RIGHT_NEUTRAL and b.data == _RIGHT_NEUTRAL[op]:
        return a
    if a.known and op in _LEFT_NEUTRAL and a.data == _LEFT_NEUTRAL[op]:
        return b
    return None


def _known_or_held(of: Scalar, data: Data, interval: intervals.Interval | None) -> Number:
    if isinstance(data, np.generic):
        return values.constant(int(data), of)
    return values.held(of, data, interval)


def _integer(op: str, x: Data, y: Data) -> Data:
    if op in ("/", "%"):
        return values.elementwise(_divided if op == "/" else _remainder, lax.div if op == "/" else lax.rem, x, y)
    return values.elementwise(*_PLAIN[op], x, y)


def _divided(a: Any, b: Any) -> Any:
    """As the emulation divides by 0, which C leaves undefined: all bits set."""
    return (
        a.dtype.type(-1 if a.dtype.kind == "i" else 2 ** (8 * a.dtype.itemsize) - 1)
        if b == 0
        else a.dtype.type(intervals.quotient(int(a), int(b)))
    )


def _remainder(a: Any, b: Any) -> Any:
    return a if b == 0 else a.dtype.type(int(a) - intervals.quotient(int(a), int(b)) * int(b))


def _shifted(op: str, a: Number, b: Number, of: Scalar) -> Number:
    """OpenCL C takes the amount of a shift modulo the width of what is shifted."""
    a = values.converted(a, of)
    width = 8 * of.size
    amount = b if b.interval is not None and intervals.within(b.interval, (0, width - 1)) else None
    if amount is None:
        data = values.elementwise(np.bitwise_and, lax.bitwise_and, values.exact(b), b.type.dtype.type(width - 1))
        amount = _known_or_held(b.type, data, (0, width - 1))
    assert a.interval is not None
    assert amount.interval is not None
    interval = intervals.binary(op, a.interval, amount.interval)
    inside = interval is not None and intervals.within(interval, intervals.of_type(of.dtype))
    if inside and of.size >= 4 and intervals.fits_int32(a.interval) and intervals.fits_int32(interval):
        if interval[0] == interval[1]:  # type: ignore[index]
            return values.constant(interval[0], of)  # type: ignore[index]
        return Number(of, _shift(op, values.index(a), values.index(amount)), interval)
    x = values.exact(a)
    return _known_or_held(of, _shift(op, x, values.cast(amount.data, x.dtype)), interval if inside else None)


def _shift(op: str, x: Data, amount: Data) -> Data:
    if op == "<<":
        return values.elementwise(np.left_shift, lax.shift_left, x, amount)
    right = lax.shift_right_logical if x.dtype.kind == "u" else lax.shift_right_arithmetic
    return values.elementwise(np.right_shift, right, x, amount)


@overload
def negated(a: Number) -> Number: ...
@overload
def negated(a: Value) -> Value: ...
def negated(a: Value) -> Value:
    """`-a`."""
    if isinstance(a, Components):
        return Components(a.type, tuple(negated(n) for n in a.items))
    assert isinstance(a, Number)
    if a.type.is_float:
        return Number(a.type, values.elementwise(np.negative, lax.neg, a.data))
    return _computed("-", values.constant(0, a.type), a, a.type)


def inverted(a: Value) -> Value:
    """`~a`."""
    if isinstance(a, Components):
        return Components(a.type, tuple(inverted(n) for n in a.items))  # type: ignore[misc]
    assert isinstance(a, Number)
    assert a.interval is not None
    if a.type.is_signed:
        return _computed("-", values.constant(-1, a.type), a, a.type)
    return _known_or_held(a.type, values.elementwise(np.invert, lax.bitwise_not, values.exact(a)), None)


def complement(a: Value) -> Value:
    """`!a`: of vectors a mask for each component."""
    if isinstance(a, Components):
        element = types.signed(a.type.element)
        of = Vector(element, a.type.count)
        return Components(of, tuple(mask(values.negation(values.truth(n)), element) for n in a.items))
    assert isinstance(a, Number)
    return values.of_truth(values.negation(values.truth(a)))


def converted(value: Value, to: types.Type) -> Value:
    """The language's conversion of a value; a number becomes a vector by repetition."""
    match value, to:
        case Number(), Scalar():
            return values.converted(value, to)
        case Number(), Vector(element, count):
            return Components(to, (values.converted(value, element),) * count)
        case Components(), Vector(element, count) if len(value.items) == count:
            return Components(to, tuple(values.converted(n, element) for n in value.items))
    return value
