"""Integers: OpenCL C's functions of integers, exact in every width.

Results that are known to fit int32 are computed with `arithmetic`, which keeps them there; else they are computed in
the type's own width, without a wider one.
"""

from collections.abc import Sequence
from typing import Any

import jax
from jax import lax

from xeemu.frontends import intervals, types, values
from xeemu.frontends.builtins import operands
from xeemu.frontends.builtins.components import Elemental, composite
from xeemu.frontends.intervals import Interval
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Number


def operator(op: str) -> Elemental:
    """An operator of `arithmetic` as a function of two numbers."""
    return lambda numbers, of: operands.combined(op, numbers[0], numbers[1], of)


def _exact(op: str, a: Number, b: Number) -> Number | None:
    """`a op b` in a type that holds it exactly: int, or the operands' own; None if no such type is at hand."""
    interval = intervals.binary(op, operands.span(a), operands.span(b))
    assert interval is not None
    if a.type.size < 4 or intervals.fits_int32(interval):
        wide = types.INT if a.type.size < 4 else types.signed(a.type)
        if intervals.fits_int32(interval):
            return operands.combined(op, values.converted(a, wide), values.converted(b, wide), wide)
        return operands.combined(op, values.converted(a, types.UINT), values.converted(b, types.UINT), types.UINT)
    if intervals.within(interval, intervals.of_type(a.type.dtype)):
        return operands.combined(op, a, b, a.type)
    return None


def _limited(n: Number, of: Scalar) -> Number:
    """A number saturated to a type; it stays in its own."""
    low, high = intervals.of_type(of.dtype)
    own = intervals.of_type(n.type.dtype)
    if operands.span(n)[0] < low:
        n = operands.combined("max", n, values.constant(max(low, own[0]), n.type), n.type)
    if operands.span(n)[1] > high:
        n = operands.combined("min", n, values.constant(min(high, own[1]), n.type), n.type)
    return n


def saturated(n: Number, of: Scalar) -> Number:
    """An integer in another type, the nearest value of which it becomes."""
    return values.converted(_limited(n, of), of)


def clamp(numbers: Sequence[Number], of: Scalar) -> Number:
    x, low, high = numbers
    return operands.combined("min", operands.combined("max", x, low, of), high, of)


def absolute(numbers: Sequence[Number], of: Scalar) -> Number:
    """`abs`: unsigned, so that the least integer has one."""
    (x,) = numbers
    low, high = operands.span(x)
    if low >= 0:
        return values.converted(x, of)
    if (known := operands.known(numbers)) is not None:
        return values.constant(abs(known[0]), of)
    interval = (max(low, -high, 0), max(-low, high))
    if intervals.fits_int32(interval) and x.type.size >= 4:
        return Number(of, lax.abs(values.index(x)), interval)  # type: ignore[arg-type]
    return values.held(of, lax.convert_element_type(lax.abs(operands.arrays(x)[0]), of.dtype), interval)


def difference(numbers: Sequence[Number], of: Scalar) -> Number:
    """`abs_diff`: unsigned, without overflow."""
    a, b = numbers
    if (known := operands.known(numbers)) is not None:
        return values.constant(abs(known[0] - known[1]), of)
    if (exact := _exact("-", a, b)) is not None and exact.type.is_signed:
        return values.converted(absolute([exact], types.unsigned(exact.type)), of)
    return values.held(of, _apart(*operands.arrays(a, b)))


@composite
def _apart(x: jax.Array, y: jax.Array) -> jax.Array:
    most, least = (_unsigned(z) for z in (lax.max(x, y), lax.min(x, y)))
    return lax.sub(most, least)


def _unsigned(x: jax.Array) -> jax.Array:
    return lax.convert_element_type(x, types.unsigned(types.BY_DTYPE[x.dtype]).dtype)


def sum_saturated(numbers: Sequence[Number], of: Scalar) -> Number:
    """`add_sat`."""
    a, b = numbers
    if (known := operands.known(numbers)) is not None:
        return _nearest(sum(known), of)
    if (exact := _exact("+", a, b)) is not None:
        return saturated(exact, of)
    return values.held(of, _limited_sum(*operands.arrays(a, b)))


@composite
def _limited_sum(x: jax.Array, y: jax.Array) -> jax.Array:
    total = lax.add(x, y)
    if x.dtype.kind == "u":
        return lax.select(lax.lt(total, x), operands.full(x, 2 ** (8 * x.dtype.itemsize) - 1), total)
    wrapped = lax.lt(lax.bitwise_and(lax.bitwise_xor(x, total), lax.bitwise_xor(y, total)), operands.full(x, 0))
    return lax.select(wrapped, _extreme(x), total)


def difference_saturated(numbers: Sequence[Number], of: Scalar) -> Number:
    """`sub_sat`."""
    a, b = numbers
    if (known := operands.known(numbers)) is not None:
        return _nearest(known[0] - known[1], of)
    if (exact := _exact("-", a, b)) is not None:
        return saturated(exact, of)
    return values.held(of, _limited_difference(*operands.arrays(a, b)))


@composite
def _limited_difference(x: jax.Array, y: jax.Array) -> jax.Array:
    rest = lax.sub(x, y)
    if x.dtype.kind == "u":
        return lax.select(lax.lt(x, y), operands.full(x, 0), rest)
    wrapped = lax.lt(lax.bitwise_and(lax.bitwise_xor(x, y), lax.bitwise_xor(x, rest)), operands.full(x, 0))
    return lax.select(wrapped, _extreme(x), rest)


def _nearest(value: int, of: Scalar) -> Number:
    low, high = intervals.of_type(of.dtype)
    return values.constant(min(max(value, low), high), of)


def _extreme(x: jax.Array) -> jax.Array:
    """The greatest value of a signed type, or where `x` is negative the least."""
    width = 8 * x.dtype.itemsize
    return lax.bitwise_xor(
        lax.shift_right_arithmetic(x, operands.full(x, width - 1)), operands.full(x, 2 ** (width - 1) - 1)
    )


def mean(up: bool) -> Elemental:
    """`hadd` and `rhadd`: the mean of two integers without overflow, rounded down or up."""

    def computed(numbers: Sequence[Number], of: Scalar) -> Number:
        a, b = numbers
        if (known := operands.known(numbers)) is not None:
            return values.constant((sum(known) + up) >> 1, of)
        low, high = (operands.span(a)[k] + operands.span(b)[k] + up for k in (0, 1))
        if (exact := _exact("+", a, b)) is not None and intervals.fits_int32((low, high)):
            total = operands.combined("+", exact, values.constant(up, exact.type), exact.type)
            return values.converted(operands.combined(">>", total, values.constant(1, types.INT), exact.type), of)
        return values.held(of, (_upper_mean if up else _lower_mean)(*operands.arrays(a, b)), (low >> 1, high >> 1))

    return computed


def _half_difference(x: jax.Array, y: jax.Array) -> jax.Array:
    """Half of the bits that differ."""
    right = lax.shift_right_arithmetic if x.dtype.kind == "i" else lax.shift_right_logical
    return right(lax.bitwise_xor(x, y), operands.full(x, 1))


@composite
def _upper_mean(x: jax.Array, y: jax.Array) -> jax.Array:
    return lax.sub(lax.bitwise_or(x, y), _half_difference(x, y))


@composite
def _lower_mean(x: jax.Array, y: jax.Array) -> jax.Array:
    return lax.add(lax.bitwise_and(x, y), _half_difference(x, y))


def high_product(numbers: Sequence[Number], of: Scalar) -> Number:
    """`mul_hi`: the upper half of the product."""
    a, b = numbers
    width = 8 * of.size
    low, high = _product(operands.span(a), operands.span(b))
    if low >> width == high >> width:
        return values.constant(low >> width, of)
    if (exact := _exact("*", a, b)) is not None:
        amount = values.constant(min(width, 8 * exact.type.size - 1), types.INT)
        return values.converted(operands.combined(">>", exact, amount, exact.type), of)
    upper = (_signed_upper if of.is_signed else _upper)(*operands.arrays(a, b))
    return values.held(of, upper, (low >> width, high >> width))


def _product(a: Interval, b: Interval) -> Interval:
    result = intervals.binary("*", a, b)
    assert result is not None
    return result


@composite
def _upper(x: jax.Array, y: jax.Array) -> jax.Array:
    """The upper half of the product of unsigned integers, from the products of their halves."""
    half = operands.full(x, 4 * x.dtype.itemsize)
    low = operands.full(x, 2 ** (4 * x.dtype.itemsize) - 1)
    (x0, x1), (y0, y1) = ((lax.bitwise_and(z, low), lax.shift_right_logical(z, half)) for z in (x, y))
    middle = lax.add(lax.mul(x1, y0), lax.shift_right_logical(lax.mul(x0, y0), half))
    other = lax.add(lax.mul(x0, y1), lax.bitwise_and(middle, low))
    carried = lax.add(lax.shift_right_logical(middle, half), lax.shift_right_logical(other, half))
    return lax.add(lax.mul(x1, y1), carried)


@composite
def _signed_upper(x: jax.Array, y: jax.Array) -> jax.Array:
    """Of signed integers: a negative one stands for itself plus 2 to the width."""
    upper = lax.convert_element_type(_upper(_unsigned(x), _unsigned(y)), x.dtype)
    sign = operands.full(x, 8 * x.dtype.itemsize - 1)
    for p, q in ((x, y), (y, x)):
        upper = lax.sub(upper, lax.bitwise_and(lax.shift_right_arithmetic(p, sign), q))
    return upper


def high_product_added(numbers: Sequence[Number], of: Scalar) -> Number:
    """`mad_hi`."""
    a, b, c = numbers
    return operands.combined("+", high_product([a, b], of), c, of)


def product_added(numbers: Sequence[Number], of: Scalar) -> Number:
    """`mad24`: of operands of 24 bits; others are undefined, and multiplied whole."""
    a, b, c = numbers
    return operands.combined("+", operands.combined("*", a, b, of), c, of)


def product_added_saturated(numbers: Sequence[Number], of: Scalar) -> Number:
    """`mad_sat`."""
    a, b, c = numbers
    if (known := operands.known(numbers)) is not None:
        return _nearest(known[0] * known[1] + known[2], of)
    product = _exact("*", a, b)
    if product is not None:
        addend = values.converted(c, product.type)
        interval = intervals.binary("+", operands.span(product), operands.span(c))
        assert interval is not None
        if intervals.within(interval, intervals.of_type(product.type.dtype)):
            return saturated(operands.combined("+", product, addend, product.type), of)
    x, y, z = operands.arrays(a, b, c)
    return values.held(of, _signed_sum(x, y, z) if of.is_signed else _unsigned_sum(x, y, z))


@composite
def _unsigned_sum(x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
    low = lax.add(lax.mul(x, y), z)
    over = lax.bitwise_or(lax.ne(_upper(x, y), operands.full(x, 0)), lax.lt(low, z))
    return lax.select(over, operands.full(x, 2 ** (8 * x.dtype.itemsize) - 1), low)


@composite
def _signed_sum(x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
    """The product in two words, the addend added to both; it fits if the upper word is the sign of the lower."""
    sign = operands.full(x, 8 * x.dtype.itemsize - 1)
    product = lax.mul(x, y)
    low = lax.add(product, z)
    carry = lax.convert_element_type(lax.lt(_unsigned(low), _unsigned(product)), x.dtype)
    high = lax.add(lax.add(_signed_upper(x, y), lax.shift_right_arithmetic(z, sign)), carry)
    return lax.select(lax.eq(high, lax.shift_right_arithmetic(low, sign)), low, _extreme(high))


def scalar_product(a: Sequence[Number], b: Sequence[Number], of: Scalar) -> Number:
    """`dot` of integers, computed in the result's type."""
    total: Any = None
    for x, y in zip(a, b, strict=True):
        product = operands.combined("*", values.converted(x, of), values.converted(y, of), of)
        total = product if total is None else operands.combined("+", total, product, of)
    return total
