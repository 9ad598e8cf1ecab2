"""Conversions: `convert_type`, with rounding modes and saturation."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from xeemu.frontends import intervals, types, values
from xeemu.frontends.builtins import floats, integers
from xeemu.frontends.builtins.components import Builtin, by_component
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Data, Number

MODES = ("rte", "rtz", "rtp", "rtn")


def converting(saturated: bool, mode: str | None) -> Builtin:
    """A conversion to the call's type.

    Args:
      saturated: True if what does not fit an integer becomes the nearest value; else it is undefined.
      mode: `rte` to the nearest (of two the even one), `rtz` towards zero, `rtp` up, `rtn` down; None is towards zero
        for an integer from a float, else to the nearest.
    """

    def computed(numbers: Sequence[Number], of: Scalar) -> Number:
        (n,) = numbers
        if of.is_float:
            return _to_float(n, of, mode or "rte")
        if n.type.is_float:
            return _to_integer(n, of, saturated, mode or "rtz")
        return integers.saturated(n, of) if saturated else values.converted(n, of)

    return by_component(computed)


_INTEGRAL = {
    "rte": (np.rint, lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)),
    "rtp": (np.ceil, lax.ceil),
    "rtn": (np.floor, lax.floor),
}


def _to_integer(n: Number, of: Scalar, saturated: bool, mode: str) -> Number:
    data = floats.widened(n.data)
    if mode in _INTEGRAL:
        data = values.lifted(*_INTEGRAL[mode], data)
    integral = Number(types.BY_DTYPE[data.dtype], data)
    if not saturated:
        return values.converted(integral, of)
    if isinstance(data, np.generic):
        return values.constant(_nearest(float(data), of), of)
    values.need(of.dtype)
    return values.held(of, _limited(data, of))


def _nearest(value: float, of: Scalar) -> int:
    low, high = intervals.of_type(of.dtype)
    if math.isnan(value):
        return 0
    return low if value <= low else high if value >= high else int(value)


@functools.partial(jax.jit, static_argnames="of")
def _limited(x: jax.Array, of: Scalar) -> jax.Array:
    """A float as the nearest integer of a type towards zero; NaN becomes 0."""
    low, high = intervals.of_type(of.dtype)
    number = lax.select(lax.ne(x, x), floats.full(x, 0), x)
    if of.size < 4:
        inside = lax.clamp(np.asarray(low, x.dtype), number, np.asarray(high, x.dtype))
        return lax.convert_element_type(lax.convert_element_type(inside, np.int32), of.dtype)
    above, below = lax.ge(number, floats.full(x, float(high + 1))), lax.le(number, floats.full(x, float(low)))
    outside = lax.bitwise_or(above, below)
    inner = lax.convert_element_type(lax.select(outside, floats.full(x, 0), number), of.dtype)
    limit = lax.select(above, lax.full_like(inner, high), lax.full_like(inner, low))
    return lax.select(outside, limit, inner)


def _to_float(n: Number, of: Scalar, mode: str) -> Number:
    if n.type.is_float:
        return Number(of, _narrowed(n.data, of.dtype, mode))
    if of.dtype == np.float16:
        # An integer that a half could hold is exact in a float.
        return Number(of, _narrowed(values.cast(n.data, types.FLOAT.dtype), of.dtype, mode))
    digits = 2 ** (floats.format_of(of.dtype).mantissa + 1)
    if mode == "rte" or (n.interval is not None and intervals.within(n.interval, (-digits, digits))):
        return Number(of, values.cast(n.data, of.dtype))
    data = values.exact(n) if n.data.dtype == np.bool_ else n.data
    if isinstance(data, np.generic):
        return Number(of, _known_float(int(data), of.dtype, mode))
    values.need(of.dtype)
    return Number(of, _integer_to_float(data, of.dtype, mode))


def _known_float(value: int, dtype: np.dtype, mode: str) -> np.generic:
    nearest = dtype.type(value)
    exact = int(nearest)
    return _directed_known(nearest, exact > value, exact < value, value < 0, mode)


def _directed_known(nearest: np.floating, above: bool, below: bool, negative: bool, mode: str) -> np.generic:
    down = mode == "rtn" or (mode == "rtz" and not negative)
    up = mode == "rtp" or (mode == "rtz" and negative)
    if above and down:
        return np.nextafter(nearest, nearest.dtype.type(-np.inf))
    return np.nextafter(nearest, nearest.dtype.type(np.inf)) if below and up else nearest


@functools.partial(jax.jit, static_argnames=("dtype", "mode"))
def _integer_to_float(x: jax.Array, dtype: np.dtype, mode: str) -> jax.Array:
    nearest = lax.convert_element_type(x, dtype)
    high = intervals.of_type(x.dtype)[1]
    over = lax.ge(nearest, floats.full(nearest, float(high + 1)))
    exact = lax.convert_element_type(lax.select(over, floats.full(nearest, 0), nearest), x.dtype)
    above = lax.bitwise_or(over, lax.gt(exact, x))
    below = lax.bitwise_and(lax.bitwise_not(over), lax.lt(exact, x))
    return _directed(nearest, above, below, lax.lt(x, lax.full_like(x, 0)), mode)


def _narrowed(data: Data, dtype: np.dtype, mode: str) -> Data:
    """Floats in another format."""
    if dtype.itemsize >= data.dtype.itemsize:
        return values.cast(data, dtype)
    if isinstance(data, np.floating):
        with np.errstate(all="ignore"):
            nearest = dtype.type(data)
            exact: Any = data.dtype.type(nearest)
            return _directed_known(nearest, bool(exact > data), bool(exact < data), bool(np.signbit(data)), mode)
    return _float_to_float(data, dtype, mode)


@functools.partial(jax.jit, static_argnames=("dtype", "mode"))
def _float_to_float(x: jax.Array, dtype: np.dtype, mode: str) -> jax.Array:
    if x.dtype.itemsize == 8 and dtype.itemsize == 2:
        x = _odd(x)
    nearest = lax.convert_element_type(x, dtype)
    exact = lax.convert_element_type(nearest, x.dtype)
    return _directed(nearest, lax.gt(exact, x), lax.lt(exact, x), lax.lt(x, floats.full(x, 0)), mode)


def _odd(x: jax.Array) -> jax.Array:
    """A double as a float: of two the one with an odd last bit, so that rounding it again goes right."""
    # What is far below a half counts only as more than nothing; XLA on a CPU would make a zero of it.
    least = floats.signed_as(floats.full(x, 2.0**-100), x)
    x = lax.select(lax.bitwise_and(lax.lt(lax.abs(x), lax.abs(least)), lax.ne(x, floats.full(x, 0))), least, x)
    nearest = lax.convert_element_type(x, np.float32)
    exact = lax.convert_element_type(nearest, x.dtype)
    even = lax.eq(lax.bitwise_and(floats.bits(nearest), np.int32(1)), np.int32(0))
    above, below = (lax.bitwise_and(even, compare(exact, x)) for compare in (lax.gt, lax.lt))
    return lax.select(above, floats.stepped(nearest, -1), lax.select(below, floats.stepped(nearest, 1), nearest))


def _directed(nearest: jax.Array, above: jax.Array, below: jax.Array, negative: jax.Array, mode: str) -> jax.Array:
    """The nearest float, or its neighbour where that lies on the wrong side of the exact value."""
    if mode == "rte":
        return nearest
    if mode == "rtz":
        above, below = lax.bitwise_and(above, lax.bitwise_not(negative)), lax.bitwise_and(below, negative)
    result = nearest
    if mode != "rtp":
        result = lax.select(above, floats.stepped(nearest, -1), result)
    return lax.select(below, floats.stepped(nearest, 1), result) if mode != "rtn" else result
