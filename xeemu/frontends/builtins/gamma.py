"""Gamma: the gamma function and its logarithm."""

import math

import jax
import numpy as np
from jax import lax

from xeemu.frontends.builtins import exponentials, floats, trigonometry
from xeemu.frontends.builtins.components import composite

# Gamma from 2 to 3 as a quotient of polynomials of x - 2, the highest power first (Moshier, Cephes Math Library, 1989).
_ABOVE = (
    1.60119522476751861407e-4, 1.19135147006586384913e-3, 1.04213797561761569935e-2, 4.76367800457137231464e-2,
    2.07448227648435975150e-1, 4.94214826801497100753e-1, 1.0,
)  # fmt: skip
_BELOW = (
    -2.31581873324120129819e-5, 5.39605580493303397276e-4, -4.45641913851797240494e-3, 1.18139785222060435552e-2,
    3.58236398605498653373e-2, -2.34591795718243348568e-1, 7.14304917030273074085e-2, 1.0,
)  # fmt: skip
# Coefficients of 1/x, 1/x^3, ... in the logarithm of what Stirling's formula lacks, from Bernoulli's numbers.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# Where Stirling's formula begins.
_LARGE = {np.dtype(np.float32): 10, np.dtype(np.float64): 14}
# From where on it is infinite, and its mirror image zero.
_END = {np.dtype(np.float32): 40, np.dtype(np.float64): 180}


def _middle(x: jax.Array) -> jax.Array:
    """Of numbers from 0 to `_LARGE`, brought between 2 and 3 step by step."""
    product, divisor = floats.full(x, 1), floats.full(x, 1)
    for _ in range(_LARGE[x.dtype] - 3):
        high = x >= 3
        x = lax.select(high, x - 1, x)
        product = lax.select(high, product * x, product)
    for _ in range(2):
        low = x < 2
        divisor = lax.select(low, divisor * x, divisor)
        x = lax.select(low, x + 1, x)
    return product / divisor * (floats.polynomial(_ABOVE, x - 2) / floats.polynomial(_BELOW, x - 2))


def _large(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Stirling's formula as a product of two numbers, neither of which overflows first."""
    inverse = 1 / x
    correction = lax.exp(inverse * floats.polynomial(_STIRLING[::-1], inverse * inverse))
    half = lax.pow(x, 0.5 * x - 0.25)
    return half * (math.sqrt(2 * math.pi) * correction * exponentials.exp(-x)), half


@composite
def gamma(x: jax.Array) -> jax.Array:
    """`tgamma`; of what is below 0 by reflection."""
    a = lax.abs(x)
    large = a >= _LARGE[x.dtype]
    middle = _middle(lax.select(large, floats.full(x, 2), a))
    first, second = _large(lax.select(large, lax.min(a, floats.full(x, _END[x.dtype])), floats.full(x, 20)))
    positive = lax.select(large, first * second, middle)
    sine = trigonometry.sinpi(a)
    # Divided one after the other, so that no product overflows; the number times its gamma is near 1 if it is small.
    negative = lax.select(large, -math.pi / (a * sine) / first / second, -math.pi / (sine * (a * middle)))
    pole = lax.eq(lax.floor(x), x)
    result = lax.select(x < 0, lax.select(pole, floats.full(x, np.nan), negative), positive)
    result = lax.select(lax.eq(x, floats.full(x, 0)), 1 / x, result)
    return lax.select(lax.bitwise_or(lax.ne(x, x), lax.eq(x, floats.full(x, np.inf))), x, result)


def known_gamma(x: float) -> float:
    """`tgamma`."""
    x = float(x)
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan


def known_logarithm(x: float) -> float:
    """`lgamma`."""
    try:
        return math.lgamma(float(x))
    except (ValueError, OverflowError):
        return math.inf


@composite
def sign(x: jax.Array) -> jax.Array:
    """Of gamma, as an int: 1, or -1 below 0 where the next lower integer is odd."""
    down = lax.floor(x)
    odd = lax.ne(down, 2 * lax.floor(down * 0.5))
    negative = lax.bitwise_and(lax.bitwise_and(x < 0, odd), lax.ne(down, x))
    return lax.select(negative, lax.full_like(x, -1, dtype=np.int32), lax.full_like(x, 1, dtype=np.int32))


def known_sign(x: float) -> np.int32:
    down = math.floor(x) if math.isfinite(x) else 0
    return np.int32(-1 if x < 0 and down % 2 and down != x else 1)
