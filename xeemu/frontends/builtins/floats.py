"""Floats: the format of a dtype, and functions of floats as functions of numbers.

Halves are computed in float and rounded once, but for what is exact in any format. XLA on a CPU takes subnormal floats
for zeros, as OpenCL C allows for single precision.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from xeemu.frontends import types, values
from xeemu.frontends.builtins.components import Elemental
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Data, Number

Known = Callable[..., Any]
"""A function of NumPy's float64 scalars, or of scalars of the numbers' own dtype where it is said so."""

Traced = Callable[..., jax.Array]
"""A function of arrays of one shape."""


class Format:
    """How a dtype lays out its floats.

    Attributes:
      integer: the signed integer dtype as wide.
      width: bits of all.
      mantissa: bits of the fraction.
      bias: of the exponent.
      magnitude, infinity, smallest: bits of everything but the sign, of infinity, and of the least normal number.
    """

    def __init__(self, dtype: np.dtype) -> None:
        info = np.finfo(dtype)
        self.integer = np.dtype(f"int{info.bits}")
        self.width = info.bits
        self.mantissa = int(info.nmant)
        self.bias = int(info.maxexp) - 1
        self.magnitude = (1 << (info.bits - 1)) - 1
        self.infinity = (2 * self.bias + 1) << self.mantissa
        self.smallest = 1 << self.mantissa


@functools.cache
def format_of(dtype: np.dtype) -> Format:
    return Format(dtype)


def in_float(known: Known, traced: Traced) -> Elemental:
    """A function of floats, of halves computed in float; `known` takes float64."""

    def computed(numbers: Sequence[Number], of: Scalar) -> Number:
        data = [values.exact(n) for n in numbers]
        if all(isinstance(d, np.generic) for d in data):
            return rounded(values.lifted(known, traced, *map(np.float64, data)), of)
        return Number(of, values.cast(traced(*values.alike(*map(widened, data))), of.dtype))

    return computed


def in_own(known: Known, traced: Traced) -> Elemental:
    """A function of floats that is exact in their own format."""

    def computed(numbers: Sequence[Number], of: Scalar) -> Number:
        return Number(of, values.cast(values.lifted(known, traced, *(values.exact(n) for n in numbers)), of.dtype))

    return computed


def rounded(value: Any, of: Scalar) -> Number:
    """A known number from a float64."""
    return Number(of, values.cast(np.float64(value), of.dtype))


def widened(data: Data) -> Data:
    """Data of half as float."""
    return values.cast(data, types.FLOAT.dtype) if data.dtype == np.float16 else data


def bits(x: jax.Array) -> jax.Array:
    """The bits of floats as signed integers."""
    return lax.bitcast_convert_type(x, format_of(x.dtype).integer)


def from_bits(x: jax.Array, dtype: Any) -> jax.Array:
    return lax.bitcast_convert_type(x, dtype)


def magnitude(x: jax.Array) -> jax.Array:
    """The bits of floats without their sign, which order them; above `infinity` they are NaN."""
    return lax.bitwise_and(bits(x), lax.full_like(x, format_of(x.dtype).magnitude, dtype=format_of(x.dtype).integer))


def full(x: jax.Array, value: Any) -> jax.Array:
    return lax.full_like(x, value)


def signed_as(x: jax.Array, sign: jax.Array) -> jax.Array:
    """`x` with the sign of another float."""
    own = magnitude(x)
    mask = lax.full_like(own, -format_of(x.dtype).magnitude - 1)
    return from_bits(lax.bitwise_or(own, lax.bitwise_and(bits(sign), mask)), x.dtype)


def unit(x: jax.Array) -> jax.Array:
    """1 with the sign of `x`."""
    return signed_as(full(x, 1), x)


def stepped(x: jax.Array, step: Any) -> jax.Array:
    """The next float above (a step of 1) or below (-1), by the bits; below zero is the least subnormal number."""
    own, low = bits(x), -format_of(x.dtype).magnitude - 1
    order = lax.select(own < 0, low - own, own) + step
    result = from_bits(lax.select(order < 0, low - order, order), x.dtype)
    return lax.select(lax.bitwise_and(order == 0, own < 0), full(x, -0.0), result)


def power_of_two(k: jax.Array, dtype: Any) -> jax.Array:
    """2 to an integer for which that is a normal number."""
    form = format_of(np.dtype(dtype))
    biased = lax.convert_element_type(k, form.integer) + form.bias
    return from_bits(lax.shift_left(biased, lax.full_like(biased, form.mantissa)), dtype)


def exponent(x: jax.Array) -> jax.Array:
    """The exponent of 2 in finite floats that are not zero, as int32; of subnormal ones too."""
    form = format_of(x.dtype)
    own = magnitude(x)
    stored = lax.shift_right_logical(own, lax.full_like(own, form.mantissa)) - form.bias
    leading = (form.width - 1 - lax.clz(own)) + (1 - form.bias - form.mantissa)
    return lax.convert_element_type(lax.select(own < form.smallest, leading, stored), np.int32)


def fraction(x: jax.Array) -> jax.Array:
    """Finite floats that are not zero, divided by 2 to their `exponent`: from 1 up to 2, with the sign."""
    form = format_of(x.dtype)
    own = magnitude(x)
    up = lax.convert_element_type(lax.clz(own), form.integer) - (form.width - 1 - form.mantissa)
    digits = lax.select(own < form.smallest, lax.shift_left(own, lax.max(up, lax.full_like(up, 0))), own)
    kept = lax.bitwise_and(digits, lax.full_like(digits, form.smallest - 1))
    return signed_as(from_bits(lax.bitwise_or(kept, lax.full_like(kept, form.bias << form.mantissa)), x.dtype), x)


def ordinary(x: jax.Array) -> jax.Array:
    """Where floats are finite and not zero."""
    own = magnitude(x)
    return lax.bitwise_and(own > 0, own < format_of(x.dtype).infinity)


def scaled(x: jax.Array, k: jax.Array) -> jax.Array:
    """`x` times 2 to an integer, rounded once."""
    form = format_of(x.dtype)
    wide = np.int32(4 * form.bias)
    power = lax.clamp(
        np.int32(-form.bias - form.mantissa - 2), exponent(x) + lax.clamp(-wide, k, wide), np.int32(form.bias + 1)
    )
    up = lax.select(power < 1 - form.bias, lax.full_like(power, 64), lax.full_like(power, 0))
    result = fraction(x) * power_of_two(power + up, x.dtype) * power_of_two(-up, x.dtype)
    return lax.select(ordinary(x), result, x)


def shifted(x: jax.Array, k: jax.Array) -> jax.Array:
    """`x` near 1 times 2 to an integer of at most twice the format's range."""
    half = lax.shift_right_arithmetic(k, lax.full_like(k, 1))
    return x * power_of_two(half, x.dtype) * power_of_two(k - half, x.dtype)


def polynomial(coefficients: Sequence[float], x: jax.Array) -> jax.Array:
    """Its value at `x`; the coefficient of the highest power comes first."""
    total = full(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total
