"""Multiply-add: `fma`, a product and a sum with a single rounding, as an operation of JAX.

XLA has none, and may or may not fuse a product and a sum. Halves and floats are computed in a wider format, where the
product is exact and the sum is rounded to odd, so that rounding it once more gives the nearest (Boldo and Melquiond,
"Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008); that is in the lowering,
so that JAX's 64-bit types need not be on.
"""

import fractions
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex_core
from jax.interpreters import batching, mlir

from xeemu.frontends.builtins import floats

fma_p = jex_core.Primitive("fma")
_WIDER: dict[np.dtype, np.dtype] = {
    np.dtype(np.float16): np.dtype(np.float32),
    np.dtype(np.float32): np.dtype(np.float64),
}


def fused(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    """`a * b + c` of floats of one dtype and shape, rounded once."""
    return fma_p.bind(a, b, c)


fma_p.def_impl(jax.jit(fused))
fma_p.def_abstract_eval(lambda a, b, c: jax.core.ShapedArray(a.shape, a.dtype))


def _batched(operands: Any, axes: Any) -> tuple[jax.Array, int]:
    size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
    moved = [
        lax.broadcast(x, (size,)) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(operands, axes, strict=True)
    ]
    return fma_p.bind(*moved), 0


batching.primitive_batchers[fma_p] = _batched


def _lowered(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    wider: Any = _WIDER.get(np.dtype(a.dtype))
    if wider is None:
        return _in_parts(a, b, c)
    with jax.enable_x64(True):
        x, y, z = (lax.convert_element_type(v, wider) for v in (a, b, c))
        return lax.convert_element_type(_odd_sum(lax.mul(x, y), z), a.dtype)


mlir.register_lowering(fma_p, mlir.lower_fun(jax.jit(_lowered), multiple_results=False))


def _sum(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The rounded sum and what it lacks (Knuth)."""
    total = lax.add(x, y)
    part = lax.sub(total, x)
    return total, lax.add(lax.sub(x, lax.sub(total, part)), lax.sub(y, part))


def _odd_sum(x: jax.Array, y: jax.Array) -> jax.Array:
    """A sum rounded to odd: if it is not exact, of the two floats around it the one whose last bit is set."""
    total, rest = _sum(x, y)
    own, one = floats.bits(total), lax.full_like(floats.bits(total), 1)
    # 0 where the rest has the sign of the sum, else -1; a rest that is no number is none.
    places = lax.full_like(own, floats.format_of(x.dtype).width - 1)
    sign = lax.shift_right_arithmetic(lax.bitwise_xor(own, floats.bits(rest)), places)
    inexact = lax.gt(lax.abs(rest), lax.full_like(rest, 0))
    even = lax.eq(lax.bitwise_and(own, one), lax.full_like(own, 0))
    moved = lax.add(own, lax.bitwise_or(sign, one))
    return floats.from_bits(lax.select(lax.bitwise_and(inexact, even), moved, own), x.dtype)


def _product(x: jax.Array, y: jax.Array, kept: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The rounded product of numbers from 1 to 2 and what it lacks, from their upper digits, rounded, and
    the rest.

    The product is chosen by a mask, so that no compiler fuses it with what it is added to.
    """
    form = floats.format_of(x.dtype)
    digits = form.mantissa // 2 + 1
    x1, y1 = (floats.from_bits((floats.bits(v) + (1 << (digits - 1))) & (-1 << digits), x.dtype) for v in (x, y))
    x0, y0 = lax.sub(x, x1), lax.sub(y, y1)
    product = lax.select(kept, x * y, lax.full_like(x, 0))
    return product, (((x1 * y1 - product) + x1 * y0) + x0 * y1) + x0 * y0


def _in_parts(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    """Of the widest format, from fractions, so that nothing overflows on the way."""
    power = floats.exponent(a) + floats.exponent(b)
    usual = functools.reduce(lax.bitwise_and, map(floats.ordinary, (a, b, c)))
    high, low = _product(floats.fraction(a), floats.fraction(b), usual)
    distance = floats.exponent(c) - power
    near = floats.fraction(c) * floats.power_of_two(lax.clamp(np.int32(-200), distance, np.int32(200)), c.dtype)
    first, first_rest = _sum(near, low)
    second, second_rest = _sum(high, first)
    result = floats.scaled(lax.add(second, _odd_sum(first_rest, second_rest)), power)
    result = lax.select(distance > 200, c, result)
    finite = lax.bitwise_and(lax.is_finite(a), lax.is_finite(b))
    plain = lax.select(lax.bitwise_and(finite, lax.bitwise_not(lax.is_finite(c))), c, a * b + c)
    return lax.select(usual, result, plain)


def known(a: Any, b: Any, c: Any) -> Any:
    """Of NumPy's scalars, from exact fractions."""
    if not all(map(np.isfinite, (a, b, c))):
        return c if np.isfinite(a) and np.isfinite(b) else a * b + c
    exact = fractions.Fraction(float(a)) * fractions.Fraction(float(b)) + fractions.Fraction(float(c))
    if exact == 0:
        return a * b + c if a == 0 or b == 0 else a.dtype.type(0)
    return a.dtype.type(_odd(exact, a.dtype))


def _odd(exact: fractions.Fraction, dtype: np.dtype) -> float:
    """A fraction as the nearest double, or, to be rounded once more, as the one with an odd last bit."""
    try:
        value = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    if dtype == np.float64 or fractions.Fraction(value) == exact or np.float64(value).view(np.int64) & 1:
        return value
    return math.nextafter(value, math.inf if exact > fractions.Fraction(value) else -math.inf)
