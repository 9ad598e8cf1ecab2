"""Powers and roots."""

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from xeemu.frontends import intervals, values
from xeemu.frontends.builtins import floats
from xeemu.frontends.builtins.components import composite
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Number


def known_power(x: float, y: float) -> Any:
    """C's `pow`."""
    return np.power(np.float64(x), np.float64(y))


@composite
def power(x: jax.Array, y: jax.Array) -> jax.Array:
    """C's `pow`."""
    one = floats.full(x, 1)
    always = lax.bitwise_or(lax.eq(x, one), lax.eq(y, floats.full(y, 0)))
    unit = lax.bitwise_and(lax.eq(x, -one), lax.eq(lax.abs(y), floats.full(y, np.inf)))
    return lax.select(lax.bitwise_or(always, unit), one, lax.pow(x, y))


def known_power_of_positive(x: float, y: float) -> Any:
    """`powr`: what a limit does not define is NaN."""
    undefined = (x == 0 and y == 0) or (np.isinf(x) and y == 0) or (x == 1 and np.isinf(y))
    if x < 0 or undefined or math.isnan(x) or math.isnan(y):
        return np.nan
    return known_power(abs(x), y)


@composite
def power_of_positive(x: jax.Array, y: jax.Array) -> jax.Array:
    """`powr`."""
    infinite = lax.eq(x, floats.full(x, np.inf))
    edge = lax.bitwise_or(infinite, lax.eq(x, floats.full(x, 0)))
    undefined = lax.bitwise_or(
        lax.bitwise_and(edge, lax.eq(y, floats.full(y, 0))),
        lax.bitwise_and(lax.eq(x, floats.full(x, 1)), lax.eq(lax.abs(y), floats.full(y, np.inf))),
    )
    nan = lax.bitwise_or(lax.ne(x, x), lax.ne(y, y))
    nan = lax.bitwise_or(lax.bitwise_or(nan, undefined), x < 0)
    return lax.select(nan, floats.full(x, np.nan), lax.pow(lax.abs(x), y))


def _parity(y: jax.Array, x: jax.Array) -> jax.Array:
    """The sign of a power: that of `x` where the exponent is odd."""
    odd = lax.eq(lax.bitwise_and(y, lax.full_like(y, 1)), lax.full_like(y, 1))
    return lax.select(odd, x, floats.full(x, 1))


@composite
def _whole_power(x: jax.Array, y: jax.Array) -> jax.Array:
    """The exponent in two parts, each exact as a float."""
    low = lax.rem(y, lax.full_like(y, 1 << 16))
    a = lax.abs(x)
    parts = [lax.pow(a, lax.convert_element_type(k, x.dtype)) for k in (y - low, low)]
    return floats.signed_as(parts[0] * parts[1], _parity(y, x))


@composite
def _short_power(x: jax.Array, y: jax.Array) -> jax.Array:
    """Of an exponent that is exact as a float."""
    return floats.signed_as(lax.pow(lax.abs(x), lax.convert_element_type(y, x.dtype)), _parity(y, x))


def whole_power(numbers: Sequence[Number], of: Scalar) -> Number:
    """`pown`."""
    x, y = numbers
    data = values.exact(x)
    if x.known and y.known:
        return floats.rounded(values.lifted(known_power, lax.pow, np.float64(data), np.float64(y.data)), of)
    assert y.interval is not None
    exact = intervals.within(y.interval, (-(2**24), 2**24)) or of.size == 8
    a, k = values.alike(floats.widened(data), values.index(y))
    return Number(of, values.cast((_short_power if exact else _whole_power)(a, k), of.dtype))


def known_root(x: Any, n: Any) -> Any:
    """`rootn`."""
    n = int(n)
    if n == 0 or (x < 0 and n % 2 == 0):
        return np.nan
    value = np.power(np.longdouble(abs(x)), np.longdouble(1) / n)
    return np.float64(np.copysign(value, x) if n % 2 else value)


@composite
def _root(x: jax.Array, n: jax.Array) -> jax.Array:
    """The reciprocal of `n` in two parts: the first multiplies up to 1 without rounding, the second corrects."""
    divisor = lax.convert_element_type(n, x.dtype)
    form = floats.format_of(x.dtype)
    inverse = 1 / divisor
    kept = lax.full_like(floats.bits(x), -1 << (form.mantissa // 2))
    coarse = floats.from_bits(lax.bitwise_and(floats.bits(inverse), kept), x.dtype)
    few = lax.abs(divisor) < float(1 << (form.mantissa // 2))
    first = lax.select(few, coarse, inverse)
    rest = lax.select(few, (1 - divisor * coarse) / divisor, floats.full(x, 0))
    a = lax.abs(x)
    correction = lax.select(floats.ordinary(x), lax.exp(rest * lax.log(a)), floats.full(x, 1))
    value = floats.signed_as(lax.pow(a, first) * correction, _parity(n, x))
    even = lax.eq(lax.bitwise_and(n, lax.full_like(n, 1)), lax.full_like(n, 0))
    bad = lax.bitwise_or(lax.eq(n, lax.full_like(n, 0)), lax.bitwise_and(x < 0, even))
    return lax.select(bad, floats.full(x, np.nan), value)


def root(numbers: Sequence[Number], of: Scalar) -> Number:
    """`rootn`."""
    x, n = numbers
    data = values.exact(x)
    if x.known and n.known:
        with np.errstate(all="ignore"):
            return floats.rounded(known_root(np.float64(data), n.data), of)
    a, k = values.alike(floats.widened(data), values.index(n))
    return Number(of, values.cast(_root(a, k), of.dtype))


def known_cube_root(x: Any) -> Any:
    """`cbrt`, by the host's of more digits: that of a C library may be off by three units."""
    return np.float64(np.cbrt(np.longdouble(x)))


@composite
def cube_root(x: jax.Array) -> jax.Array:
    """`cbrt`: XLA's, which is off by three units, or by fourteen where it is a power, with a step of Newton's."""
    root = lax.cbrt(x)
    better = root - root * (root * (root * (root / x)) - 1) / 3
    return lax.select(floats.ordinary(x), better, root)
