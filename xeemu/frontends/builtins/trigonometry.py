"""Trigonometry in half turns: `sinpi` and the like."""

import math
from collections.abc import Callable

import jax
import numpy as np
from jax import lax

from xeemu.frontends.builtins import floats
from xeemu.frontends.builtins.components import composite


def _turns(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What is left of `x` after the nearest number of quarter turns, times pi, and that number modulo 4."""
    big = float(2 ** (floats.format_of(x.dtype).mantissa + 2))
    x = x - 2 * lax.round(lax.select(lax.abs(x) < big, x, floats.full(x, 0)) * 0.5, lax.RoundingMethod.TO_NEAREST_EVEN)
    x = lax.select(lax.abs(x) >= big, x * 0, x)
    quarters = lax.round(2 * x, lax.RoundingMethod.TO_NEAREST_EVEN)
    return (x - quarters * 0.5) * math.pi, lax.convert_element_type(quarters, np.int32) & 3


@composite
def sinpi(x: jax.Array) -> jax.Array:
    r, turn = _turns(lax.abs(x))
    value = lax.select((turn & 1) == 1, lax.cos(r), lax.sin(r))
    value = lax.select(turn >= 2, -value, value)
    return lax.select(lax.eq(value, floats.full(x, 0)), floats.signed_as(value, x), value * floats.unit(x))


@composite
def cospi(x: jax.Array) -> jax.Array:
    r, turn = _turns(lax.abs(x))
    value = lax.select((turn & 1) == 1, lax.sin(r), lax.cos(r))
    value = lax.select(lax.bitwise_or(turn == 1, turn == 2), -value, value)
    return lax.select(lax.eq(value, floats.full(x, 0)), floats.full(x, 0), value)


@composite
def tanpi(x: jax.Array) -> jax.Array:
    r, turn = _turns(lax.abs(x))
    tangent = lax.tan(r)
    odd = (turn & 1) == 1
    value = lax.select(odd, -1 / tangent, tangent)
    zero = lax.eq(tangent, floats.full(x, 0))
    pole = lax.select(turn == 1, floats.full(x, np.inf), floats.full(x, -np.inf))
    edge = lax.select(turn == 2, floats.full(x, -0.0), floats.full(x, 0.0))
    return lax.select(zero, lax.select(odd, pole, edge), value) * floats.unit(x)


def in_half_turns(function: Callable[[float], float]) -> Callable[[float], float]:
    """A function of the standard library of an angle, as one of an angle divided by pi, exact at quarter turns."""

    def computed(x: float) -> float:
        x = float(x)
        if not math.isfinite(x):
            return math.nan
        left = math.fmod(abs(x), 2.0)
        quarters = round(2 * left)
        value = _QUARTERS[function](left - quarters / 2, quarters % 4)
        return value if function is math.cos else math.copysign(1, x) * value

    return computed


def _sine(left: float, quarters: int) -> float:
    value = math.cos(math.pi * left) if quarters % 2 else math.sin(math.pi * left)
    return abs(value) if value == 0 else -value if quarters >= 2 else value


def _cosine(left: float, quarters: int) -> float:
    return _sine(left, (quarters + 1) % 4)


def _tangent(left: float, quarters: int) -> float:
    tangent = math.tan(math.pi * left)
    if tangent == 0:
        return (0.0, math.inf, -0.0, -math.inf)[quarters]
    return -1 / tangent if quarters % 2 else tangent


_QUARTERS: dict[Callable[[float], float], Callable[[float, int], float]] = {
    math.sin: _sine,
    math.cos: _cosine,
    math.tan: _tangent,
}
