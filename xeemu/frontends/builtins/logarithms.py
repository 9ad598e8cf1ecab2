"""Logarithms, and the inverse hyperbolic cosine and tangent, where XLA's are not as exact as OpenCL C demands."""

import math

import jax
from jax import lax

from xeemu.frontends.builtins import exponentials, floats
from xeemu.frontends.builtins.components import composite


@composite
def log1p(x: jax.Array) -> jax.Array:
    """With what is lost in `1 + x` put back."""
    # XLA takes `(1 + x) - 1` for `x`, but not through a choice.
    whole = lax.select(lax.ne(x, x), x, 1 + x)
    lost = lax.select(x > 1, 1 - (whole - x), x - (whole - 1))
    small = lax.eq(whole, floats.full(x, 1))
    usual = lax.bitwise_and(floats.ordinary(whole), lax.bitwise_not(small))
    return lax.select(usual, lax.log(whole) + lost / whole, lax.select(small, x, lax.log(whole)))


@composite
def atanh(x: jax.Array) -> jax.Array:
    a = lax.abs(x)
    return floats.signed_as(0.5 * log1p((a + a) / (1 - a)), x)


@composite
def acosh(x: jax.Array) -> jax.Array:
    """From how far `x` is above 1; of large ones the logarithm of twice the number."""
    large = x > float(1 << (floats.format_of(x.dtype).mantissa // 2 + 2))
    above = lax.select(large, floats.full(x, 1), x - 1)
    near = log1p(above + lax.sqrt(above * (above + 2)))
    near = lax.select(x < 1, floats.full(x, math.nan), near)
    return lax.select(large, lax.log(x) + math.log(2), near)


def _parts(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`f` and `k` of `x = f 2**k`, `f` from the root of 1/2 to that of 2."""
    f, k = floats.fraction(x), floats.exponent(x)
    high = f > math.sqrt(2)
    return lax.select(high, f * 0.5, f), lax.convert_element_type(lax.select(high, k + 1, k), x.dtype)


def _special(x: jax.Array, result: jax.Array) -> jax.Array:
    """What a logarithm is beside finite numbers above zero: XLA's."""
    return lax.select(lax.bitwise_and(x > 0, floats.ordinary(x)), result, lax.log(x))


@composite
def log2(x: jax.Array) -> jax.Array:
    """Exact of powers of 2."""
    f, k = _parts(x)
    return _special(x, k + lax.log(f) * (1 / math.log(2)))


@composite
def log10(x: jax.Array) -> jax.Array:
    f, k = _parts(x)
    high, low = exponentials.LG2[x.dtype]
    return _special(x, k * high + (k * low + lax.log(f) * (1 / math.log(10))))
