"""Exponentials: powers of e, 2 and 10 and the hyperbolic functions, where XLA's are not as exact as OpenCL C demands.

All go back to the exponential of a number within half a logarithm of 2 of zero, of which XLA's is good.
Its products are powers of 2 first, so that XLA does not make one exponential of a product of two, with a rounded sum.
"""

import math
from typing import Any

import jax
import numpy as np
from jax import lax

from xeemu.frontends.builtins import floats
from xeemu.frontends.builtins.components import composite

# Logarithms of 2 in two parts, the first with so few digits that its products with exponents are exact.
_LN2: dict[Any, tuple[float, float]] = {
    np.dtype(np.float32): (0.693359375, -2.12194440054690583e-4),
    np.dtype(np.float64): (6.93147180369123816490e-01, 1.90821492927058770002e-10),
}
LG2: dict[Any, tuple[float, float]] = {
    np.dtype(np.float32): (0.301025390625, 4.6050389811952137e-6),
    np.dtype(np.float64): (3.01029995663611771306e-01, 3.69423907715893078616e-13),
}
_TERMS = {np.dtype(np.float32): 9, np.dtype(np.float64): 16}


def _limited(x: jax.Array, unit: float) -> jax.Array:
    """An exponent that counts powers of 2 to the `unit`, kept where the powers are at most twice the format's range."""
    most = np.asarray((2 * floats.format_of(x.dtype).bias - 2) / unit, x.dtype)
    return lax.clamp(-most, x, most)


def _integer(x: jax.Array) -> jax.Array:
    return lax.convert_element_type(x, np.int32)


def _nearest(x: jax.Array) -> jax.Array:
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def _parts(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`r` and `k` of `x = r + k ln 2`."""
    x = _limited(x, 1 / math.log(2))
    k = _nearest(x * (1 / math.log(2)))
    high, low = _LN2[x.dtype]
    return (x - k * high) - k * low, _integer(k)


@composite
def exp(x: jax.Array) -> jax.Array:
    r, k = _parts(x)
    return floats.shifted(lax.exp(r), k)


@composite
def exp2(x: jax.Array) -> jax.Array:
    x = _limited(x, 1)
    k = _nearest(x)
    return floats.shifted(lax.exp((x - k) * math.log(2)), _integer(k))


@composite
def exp10(x: jax.Array) -> jax.Array:
    x = _limited(x, math.log2(10))
    k = _nearest(x * math.log2(10))
    high, low = LG2[x.dtype]
    return floats.shifted(lax.exp(((x - k * high) - k * low) * math.log(10)), _integer(k))


@composite
def expm1(x: jax.Array) -> jax.Array:
    r, k = _parts(lax.max(x, floats.full(x, (2 - floats.format_of(x.dtype).bias) * math.log(2))))
    total = floats.full(x, 0)
    for n in range(_TERMS[x.dtype], 1, -1):
        total = total * r + 1 / math.factorial(n)
    power = floats.power_of_two(-lax.min(k, lax.full_like(k, floats.format_of(x.dtype).bias - 1)), x.dtype)
    result = floats.shifted((r + r * r * total) + (1 - power), k)
    return lax.select(lax.eq(x, floats.full(x, 0)), x, result)


def _halved(x: jax.Array) -> jax.Array:
    """Half the exponential."""
    r, k = _parts(x)
    return floats.shifted(lax.exp(r), k - 1)


@composite
def sinh(x: jax.Array) -> jax.Array:
    a = lax.abs(x)
    small = expm1(lax.min(a, floats.full(x, 1)))
    half = _halved(a)
    below = (small + small / (small + 1)) * 0.5
    return floats.signed_as(lax.select(a < 1, below, half - 0.25 / half), x)


@composite
def cosh(x: jax.Array) -> jax.Array:
    half = _halved(lax.abs(x))
    return half + 0.25 / half


@composite
def tanh(x: jax.Array) -> jax.Array:
    t = expm1(lax.min(2 * lax.abs(x), floats.full(x, 60)))
    return floats.signed_as(t / (t + 2), x)
