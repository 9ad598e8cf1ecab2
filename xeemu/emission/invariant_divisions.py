"""Invariant divisions: many integers by one that is known only when the program runs, by multiplication.

CPUs have no division of vectors. With `m = (2^32 - 1) // d`, which is at least `2^32 / d - 1`, `x m / 2^32` is more
than `x / d - 1`, so that the upper half of the product is the quotient or 1 less.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_HALF = np.uint32(16)
_LOW = np.uint32(0xFFFF)
_ALL = np.uint32(0xFFFFFFFF)


def divided(name: str, dividend: jax.Array, divisor: jax.Array) -> jax.Array:
    """What `lax.div` or `lax.rem` give, also for the divisor 0.

    Args:
      name: `"div"` or `"rem"`.
      dividend: int32 or uint32.
      divisor: a scalar of the same dtype.
    """
    if dividend.dtype == np.uint32:
        return _unsigned(name, dividend, divisor)
    size = _unsigned(name, _magnitude(dividend), _magnitude(divisor)).astype(np.int32)
    negative = dividend < 0 if name == "rem" else (dividend < 0) ^ (divisor < 0)
    signed = jnp.where(negative, -size, size)
    return signed if name == "rem" else jnp.where(divisor == 0, np.int32(-1), signed)


def _magnitude(value: jax.Array) -> jax.Array:
    return jnp.abs(value).astype(np.uint32)


def _unsigned(name: str, dividend: jax.Array, divisor: jax.Array) -> jax.Array:
    quotient = _high(dividend, lax.div(_ALL, divisor))
    rest = dividend - quotient * divisor
    more = rest >= divisor
    if name == "rem":
        return jnp.where(more, rest - divisor, rest)
    return jnp.where(divisor == 0, _ALL, jnp.where(more, quotient + np.uint32(1), quotient))


def _high(a: jax.Array, b: jax.Array) -> jax.Array:
    """The upper half of the 64 bits of a product."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    first = a_high * b_low + (a_low * b_low >> _HALF)
    second = a_low * b_high + (first & _LOW)
    return a_high * b_high + (first >> _HALF) + (second >> _HALF)
