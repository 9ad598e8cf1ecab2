"""Rounding: floats as the nearest integers, remainders of divisions, and the parts of a float."""

import fractions
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from xeemu.frontends import types, values
from xeemu.frontends.builtins import floats
from xeemu.frontends.builtins.components import composite
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Number


def to_even(x: jax.Array) -> jax.Array:
    """`rint`."""
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def away(x: jax.Array) -> jax.Array:
    """`round`: of two the integer farther from zero."""
    return lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)


def known_away(x: Any) -> Any:
    down = np.floor(abs(x))
    return np.copysign(down + (abs(x) - down >= 0.5), x)


@composite
def towards_zero(x: jax.Array) -> jax.Array:
    """`trunc`."""
    return floats.signed_as(lax.floor(lax.abs(x)), x)


def _nearest_step(r: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """What is left of `r`, below twice `b`, by the nearest multiple of `b`, and where one and two were taken off.

    `r > b - r` is decided exactly: where it is close, the difference has no rounding.
    """
    once = r > b - r
    left = lax.select(once, r - b, r)
    twice = lax.bitwise_and(once, left >= b - left)
    return lax.select(twice, left - b, left), once, twice


@composite
def remainder(x: jax.Array, y: jax.Array) -> jax.Array:
    """`remainder`: by the nearest multiple of `y`, of two the even one."""
    b = lax.abs(y)
    left, _, _ = _nearest_step(lax.rem(lax.abs(x), b + b), b)
    return left * floats.unit(x)


def known_remainder(x: Any, y: Any) -> Any:
    if not np.isfinite(x) or np.isnan(y) or y == 0:
        return np.nan
    return math.remainder(float(x), float(y))


@composite
def _quotient(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The remainder, and the lowest seven bits of the quotient with its sign."""
    b = lax.abs(y)
    r = lax.rem(lax.abs(x), b * 128)
    number = lax.full_like(r, 0, dtype=np.int32)
    for k in range(6, 0, -1):
        part = b * 2**k
        taken = r >= part
        r = lax.select(taken, r - part, r)
        number = number + lax.convert_element_type(taken, np.int32) * 2**k
    left, once, twice = _nearest_step(r, b)
    number = (number + lax.convert_element_type(once, np.int32) + lax.convert_element_type(twice, np.int32)) & 127
    left, negative = left * floats.unit(x), lax.ne(floats.bits(x) < 0, floats.bits(y) < 0)
    number = lax.select(lax.ne(left, left), lax.full_like(number, 0), number)
    return left, lax.select(negative, -number, number)


def _known_quotient(x: Any, y: Any) -> int:
    left = known_remainder(x, y)
    if math.isnan(left):
        return 0
    if np.isinf(y):
        return 0
    number = abs((fractions.Fraction(float(x)) - fractions.Fraction(left)) / fractions.Fraction(float(y)))
    return (-1 if np.signbit(x) != np.signbit(y) else 1) * (int(number) & 127)


def quotient(numbers: Sequence[Number], of: Scalar) -> tuple[Number, Number]:
    """`remquo`."""
    data = [values.exact(n) for n in numbers]
    if all(n.known for n in numbers):
        with np.errstate(all="ignore"):
            number = _known_quotient(*map(np.float64, data))
            return floats.rounded(known_remainder(*map(np.float64, data)), of), values.constant(number, types.INT)
    left, number = _quotient(*values.alike(*map(floats.widened, data)))
    return Number(of, values.cast(left, of.dtype)), Number(types.INT, number, (-127, 127))


def two(
    first: Callable[[Any], Any], second: Callable[[Any], Any], traced: Callable[[jax.Array], tuple[Any, Any]]
) -> Callable[[Sequence[Number], Scalar], tuple[Number, Number]]:
    """A function of a float with two floats as results, from what they are of NumPy's scalars and of arrays."""

    def computed(numbers: Sequence[Number], of: Scalar) -> tuple[Number, Number]:
        data = values.exact(numbers[0])
        if isinstance(data, np.generic):
            with np.errstate(all="ignore"):
                return Number(of, of.dtype.type(first(data))), Number(of, of.dtype.type(second(data)))
        a, b = traced(data)
        return Number(of, a), Number(of, b)

    return computed


@composite
def _split(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    whole = towards_zero(x)
    rest = lax.select(lax.eq(lax.abs(x), floats.full(x, np.inf)), floats.full(x, 0), x - whole)
    return floats.signed_as(rest, x), whole


split = two(lambda x: np.copysign(np.modf(x)[0], x), lambda x: np.modf(x)[1], _split)
"""`modf`."""


@composite
def _above_floor(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    whole = lax.floor(x)
    most = np.nextafter(x.dtype.type(1), x.dtype.type(0))
    rest = lax.select(
        lax.eq(lax.abs(x), floats.full(x, np.inf)), floats.full(x, 0), lax.min(x - whole, floats.full(x, most))
    )
    return lax.select(lax.eq(rest, floats.full(x, 0)), floats.signed_as(rest, x), rest), whole


def _known_above_floor(x: Any) -> Any:
    if np.isnan(x):
        return x
    rest = np.minimum(x - np.floor(x), np.nextafter(type(x)(1), type(x)(0))) if np.isfinite(x) else type(x)(0)
    return np.copysign(rest, x) if rest == 0 else rest


above_floor = two(_known_above_floor, np.floor, _above_floor)
"""`fract`."""
