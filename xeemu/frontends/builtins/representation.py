"""Representation: the exponent and fraction of a float, its neighbours, and NaN."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from xeemu.frontends import types, values
from xeemu.frontends.builtins import floats
from xeemu.frontends.builtins.components import composite
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Number

_LEAST, _MOST = -(2**31), 2**31 - 1


@composite
def _exponent(x: jax.Array) -> jax.Array:
    """`ilogb`: the least int of 0, the greatest of infinities and NaN."""
    own = floats.magnitude(x)
    special = lax.select(
        own == 0, lax.full_like(own, _LEAST, dtype=np.int32), lax.full_like(own, _MOST, dtype=np.int32)
    )
    return lax.select(floats.ordinary(x), floats.exponent(x), special)


def _known_exponent(x: Any) -> int:
    if x == 0:
        return _LEAST
    return int(np.frexp(x)[1]) - 1 if np.isfinite(x) else _MOST


def exponent(numbers: Sequence[Number], of: Scalar) -> Number:
    """`ilogb`."""
    data = values.exact(numbers[0])
    if isinstance(data, np.generic):
        return values.constant(_known_exponent(np.float64(data)), of)
    return Number(of, _exponent(data), (_LEAST, _MOST))


@composite
def float_exponent(x: jax.Array) -> jax.Array:
    """`logb`."""
    own = floats.magnitude(x)
    special = lax.select(own == 0, floats.full(x, -np.inf), lax.abs(x))
    return lax.select(floats.ordinary(x), lax.convert_element_type(floats.exponent(x), x.dtype), special)


def known_float_exponent(x: Any) -> Any:
    if x == 0:
        return -np.inf
    return np.frexp(x)[1] - 1 if np.isfinite(x) else abs(x)


def scaled(numbers: Sequence[Number], of: Scalar) -> Number:
    """`ldexp`."""
    x, k = numbers
    data = values.exact(x)
    if x.known and k.known:
        with np.errstate(all="ignore"):
            return floats.rounded(np.ldexp(np.float64(data), int(k.python)), of)
    return Number(of, values.cast(_scaled(*values.alike(floats.widened(data), values.index(k))), of.dtype))


_scaled = composite(floats.scaled)


@composite
def _parts(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The fraction from 1/2 up to 1, and the exponent."""
    usual = floats.ordinary(x)
    power = floats.exponent(x)
    return lax.select(usual, floats.fraction(x) * 0.5, x), lax.select(usual, power + 1, lax.full_like(power, 0))


def parts(numbers: Sequence[Number], of: Scalar) -> tuple[Number, Number]:
    """`frexp`."""
    data = values.exact(numbers[0])
    if isinstance(data, np.generic):
        with np.errstate(all="ignore"):
            fraction, power = np.frexp(np.float64(data))
        return floats.rounded(fraction, of), values.constant(int(power) if np.isfinite(data) else 0, types.INT)
    fraction, power = _parts(data)
    return Number(of, fraction), Number(types.INT, power, (-1100, 1100))


@composite
def next_after(x: jax.Array, y: jax.Array) -> jax.Array:
    """`nextafter`, by the bits: from a zero to the least subnormal number."""
    low = -floats.format_of(x.dtype).magnitude - 1
    here, there = (lax.select(b < 0, low - b, b) for b in (floats.bits(x), floats.bits(y)))
    moved = floats.stepped(x, lax.select(there > here, lax.full_like(here, 1), lax.full_like(here, -1)))
    nan = lax.bitwise_or(lax.ne(x, x), lax.ne(y, y))
    return lax.select(nan, floats.full(x, np.nan), lax.select(here == there, y, moved))


def known_next_after(x: Any, y: Any) -> Any:
    return y if x == y else np.nextafter(x, y)


@composite
def copied_sign(x: jax.Array, y: jax.Array) -> jax.Array:
    """`copysign`."""
    return floats.signed_as(x, y)


def not_a_number(numbers: Sequence[Number], of: Scalar) -> Number:
    """`nan`: a quiet one, with the lowest bits of the argument."""
    (code,) = numbers
    form = floats.format_of(of.dtype)
    quiet = form.infinity | (form.smallest >> 1)
    if code.known:
        pattern = np.asarray(quiet | (int(code.python) & (form.smallest - 1)), form.integer)
        return Number(of, of.dtype.type(pattern.view(of.dtype)[()]))
    return Number(of, _with_code(*values.alike(values.exact(code)), of.dtype))


@functools.partial(jax.jit, static_argnames="dtype")
def _with_code(code: jax.Array, dtype: np.dtype) -> jax.Array:
    form = floats.format_of(dtype)
    payload = lax.convert_element_type(code, form.integer) & (form.smallest - 1)
    return floats.from_bits(payload | (form.infinity | (form.smallest >> 1)), dtype)
