"""Common: OpenCL C's common functions, and the least and greatest of floats."""

import math
from collections.abc import Sequence

import jax
import numpy as np
from jax import lax

from xeemu.frontends import arithmetic, types, values
from xeemu.frontends.builtins import floats, integers
from xeemu.frontends.builtins.components import Elemental, composite
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Number


def extreme(op: str) -> Elemental:
    """`min` and `max` of any numbers; of NaN they are undefined."""
    return integers.operator(op)


def _greater(x: jax.Array, y: jax.Array) -> jax.Array:
    return lax.select(lax.bitwise_or(lax.lt(x, y), lax.ne(x, x)), y, x)


def _lesser(x: jax.Array, y: jax.Array) -> jax.Array:
    return lax.select(lax.bitwise_or(lax.gt(x, y), lax.ne(x, x)), y, x)


greater = floats.in_own(np.fmax, _greater)
lesser = floats.in_own(np.fmin, _lesser)


def _magnitude(x: jax.Array, y: jax.Array, greater: bool) -> jax.Array:
    a, b = floats.magnitude(x), floats.magnitude(y)
    nan = lax.bitwise_or(lax.ne(x, x), lax.ne(y, y))
    equal = lax.bitwise_or(lax.eq(a, b), nan)
    first = lax.gt(a, b) if greater else lax.lt(a, b)
    same = _greater(x, y) if greater else _lesser(x, y)
    return lax.select(equal, same, lax.select(first, x, y))


def _of_magnitude(greater: bool) -> Elemental:
    def known(x: np.floating, y: np.floating) -> np.floating:
        if abs(x) == abs(y) or math.isnan(x) or math.isnan(y):
            return np.fmax(x, y) if greater else np.fmin(x, y)
        return x if (abs(x) > abs(y)) == greater else y

    return floats.in_own(known, composite(lambda x, y: _magnitude(x, y, greater)))


greater_magnitude = _of_magnitude(True)
lesser_magnitude = _of_magnitude(False)


def scaling(factor: float) -> Elemental:
    """`degrees` and `radians`."""
    return floats.in_float(lambda x: x * factor, composite(lambda x: x * factor))


def mix(numbers: Sequence[Number], of: Scalar) -> Number:
    """`x + (y - x) * a`."""
    x, y, a = numbers
    return _op("+", x, _op("*", _op("-", y, x, of), a, of), of)


def multiply_added(numbers: Sequence[Number], of: Scalar) -> Number:
    """`mad`: a product and a sum, for which any accuracy will do."""
    a, b, c = numbers
    return _op("+", _op("*", a, b, of), c, of)


def _op(op: str, a: Number, b: Number, of: Scalar) -> Number:
    result = arithmetic.binary(op, a, b, of)
    assert isinstance(result, Number)
    return result


def step(numbers: Sequence[Number], of: Scalar) -> Number:
    """0 below the edge, else 1."""
    edge, x = numbers
    below = values.truth(_op("<", x, edge, types.INT))
    return values.converted(values.of_truth(values.negation(below)), of)


def _smooth(low: jax.Array, high: jax.Array, x: jax.Array) -> jax.Array:
    t = lax.clamp(np.asarray(0, x.dtype), (x - low) / (high - low), np.asarray(1, x.dtype))
    return t * t * (3 - 2 * t)


def _known_smooth(low: float, high: float, x: float) -> float:
    t = np.minimum(np.maximum((x - low) / (high - low), 0), 1)
    return t * t * (3 - 2 * t)


smoothstep = floats.in_float(_known_smooth, composite(_smooth))


@composite
def _sign(x: jax.Array) -> jax.Array:
    return lax.select(lax.ne(x, x), floats.full(x, 0), lax.sign(x))


sign = floats.in_own(lambda x: x.dtype.type(0) if np.isnan(x) else np.copysign(np.sign(x), x), _sign)
