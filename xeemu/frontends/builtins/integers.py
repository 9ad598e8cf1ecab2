"""Integers: OpenCL C's functions of integers, exact in every width.

Results that are known to fit int32 are computed with `arithmetic`, which keeps them there; else they are computed in
the type's own width, without a wider one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import lax

from xeemu.frontends import arithmetic, intervals, types, values
from xeemu.frontends.builtins.components import Elemental, composite
from xeemu.frontends.intervals import Interval
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Number


def operator(op: str) -> Elemental:
    """An operator of `arithmetic` as a function of two numbers."""
    return lambda numbers, of: _plain(op, numbers[0], numbers[1], of)


def _plain(op: str, a: Number, b: Number, of: Scalar) -> Number:
    result = arithmetic.binary(op, a, b, of)
    assert isinstance(result, Number)
    return result


def _range(n: Number) -> Interval:
    assert n.interval is not None
    return n.interval


def _python(numbers: Sequence[Number]) -> list[int] | None:
    """The values of numbers, if all are known."""
    return [int(n.python) for n in numbers] if all(n.known for n in numbers) else None


def _arrays(*numbers: Number) -> list[jax.Array]:
    return values.alike(*(values.exact(n) for n in numbers))


def _full(x: jax.Array, value: int) -> jax.Array:
    return lax.full_like(x, value)


def _exact(op: str, a: Number, b: Number) -> Number | None:
    """`a op b` in a type that holds it exactly: int, or the operands' own; None if no such type is at hand."""
    interval = intervals.binary(op, _range(a), _range(b))
    assert interval is not None
    if a.type.size < 4 or intervals.fits_int32(interval):
        wide = types.INT if a.type.size < 4 else types.signed(a.type)
        if intervals.fits_int32(interval):
            return _plain(op, values.converted(a, wide), values.converted(b, wide), wide)
        return _plain(op, values.converted(a, types.UINT), values.converted(b, types.UINT), types.UINT)
    if intervals.within(interval, intervals.of_type(a.type.dtype)):
        return _plain(op, a, b, a.type)
    return None


def _limited(n: Number, of: Scalar) -> Number:
    """A number saturated to a type; it stays in its own."""
    low, high = intervals.of_type(of.dtype)
    own = intervals.of_type(n.type.dtype)
    if _range(n)[0] < low:
        n = _plain("max", n, values.constant(max(low, own[0]), n.type), n.type)
    if _range(n)[1] > high:
        n = _plain("min", n, values.constant(min(high, own[1]), n.type), n.type)
    return n


def saturated(n: Number, of: Scalar) -> Number:
    """An integer in another type, the nearest value of which it becomes."""
    return values.converted(_limited(n, of), of)


def clamp(numbers: Sequence[Number], of: Scalar) -> Number:
    x, low, high = numbers
    return _plain("min", _plain("max", x, low, of), high, of)


def absolute(numbers: Sequence[Number], of: Scalar) -> Number:
    """`abs`: unsigned, so that the least integer has one."""
    (x,) = numbers
    low, high = _range(x)
    if low >= 0:
        return values.converted(x, of)
    if (known := _python(numbers)) is not None:
        return values.constant(abs(known[0]), of)
    interval = (max(low, -high, 0), max(-low, high))
    if intervals.fits_int32(interval) and x.type.size >= 4:
        return Number(of, lax.abs(values.index(x)), interval)  # type: ignore[arg-type]
    return values.held(of, lax.convert_element_type(lax.abs(_arrays(x)[0]), of.dtype), interval)


def difference(numbers: Sequence[Number], of: Scalar) -> Number:
    """`abs_diff`: unsigned, without overflow."""
    a, b = numbers
    if (known := _python(numbers)) is not None:
        return values.constant(abs(known[0] - known[1]), of)
    if (exact := _exact("-", a, b)) is not None and exact.type.is_signed:
        return values.converted(absolute([exact], types.unsigned(exact.type)), of)
    return values.held(of, _apart(*_arrays(a, b)))


@composite
def _apart(x: jax.Array, y: jax.Array) -> jax.Array:
    most, least = (_unsigned(z) for z in (lax.max(x, y), lax.min(x, y)))
    return lax.sub(most, least)


def _unsigned(x: jax.Array) -> jax.Array:
    return lax.convert_element_type(x, types.unsigned(types.BY_DTYPE[x.dtype]).dtype)


def sum_saturated(numbers: Sequence[Number], of: Scalar) -> Number:
    """`add_sat`."""
    a, b = numbers
    if (known := _python(numbers)) is not None:
        return _nearest(sum(known), of)
    if (exact := _exact("+", a, b)) is not None:
        return saturated(exact, of)
    return values.held(of, _limited_sum(*_arrays(a, b)))


@composite
def _limited_sum(x: jax.Array, y: jax.Array) -> jax.Array:
    total = lax.add(x, y)
    if x.dtype.kind == "u":
        return lax.select(lax.lt(total, x), _full(x, 2 ** (8 * x.dtype.itemsize) - 1), total)
    wrapped = lax.lt(lax.bitwise_and(lax.bitwise_xor(x, total), lax.bitwise_xor(y, total)), _full(x, 0))
    return lax.select(wrapped, _extreme(x), total)


def difference_saturated(numbers: Sequence[Number], of: Scalar) -> Number:
    """`sub_sat`."""
    a, b = numbers
    if (known := _python(numbers)) is not None:
        return _nearest(known[0] - known[1], of)
    if (exact := _exact("-", a, b)) is not None:
        return saturated(exact, of)
    return values.held(of, _limited_difference(*_arrays(a, b)))


@composite
def _limited_difference(x: jax.Array, y: jax.Array) -> jax.Array:
    rest = lax.sub(x, y)
    if x.dtype.kind == "u":
        return lax.select(lax.lt(x, y), _full(x, 0), rest)
    wrapped = lax.lt(lax.bitwise_and(lax.bitwise_xor(x, y), lax.bitwise_xor(x, rest)), _full(x, 0))
    return lax.select(wrapped, _extreme(x), rest)


def _nearest(value: int, of: Scalar) -> Number:
    low, high = intervals.of_type(of.dtype)
    return values.constant(min(max(value, low), high), of)


def _extreme(x: jax.Array) -> jax.Array:
    """The greatest value of a signed type, or where `x` is negative the least."""
    width = 8 * x.dtype.itemsize
    return lax.bitwise_xor(lax.shift_right_arithmetic(x, _full(x, width - 1)), _full(x, 2 ** (width - 1) - 1))


def mean(up: bool) -> Elemental:
    """`hadd` and `rhadd`: the mean of two integers without overflow, rounded down or up."""

    def computed(numbers: Sequence[Number], of: Scalar) -> Number:
        a, b = numbers
        if (known := _python(numbers)) is not None:
            return values.constant((sum(known) + up) >> 1, of)
        low, high = (_range(a)[k] + _range(b)[k] + up for k in (0, 1))
        if (exact := _exact("+", a, b)) is not None and intervals.fits_int32((low, high)):
            total = _plain("+", exact, values.constant(up, exact.type), exact.type)
            return values.converted(_plain(">>", total, values.constant(1, types.INT), exact.type), of)
        return values.held(of, (_upper_mean if up else _lower_mean)(*_arrays(a, b)), (low >> 1, high >> 1))

    return computed


def _half_difference(x: jax.Array, y: jax.Array) -> jax.Array:
    """Half of the bits that differ."""
    right = lax.shift_right_arithmetic if x.dtype.kind == "i" else lax.shift_right_logical
    return right(lax.bitwise_xor(x, y), _full(x, 1))


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
    low, high = _product(_range(a), _range(b))
    if low >> width == high >> width:
        return values.constant(low >> width, of)
    if (exact := _exact("*", a, b)) is not None:
        amount = values.constant(min(width, 8 * exact.type.size - 1), types.INT)
        return values.converted(_plain(">>", exact, amount, exact.type), of)
    upper = (_signed_upper if of.is_signed else _upper)(*_arrays(a, b))
    return values.held(of, upper, (low >> width, high >> width))


def _product(a: Interval, b: Interval) -> Interval:
    result = intervals.binary("*", a, b)
    assert result is not None
    return result


@composite
def _upper(x: jax.Array, y: jax.Array) -> jax.Array:
    """The upper half of the product of unsigned integers, from the products of their halves."""
    half = _full(x, 4 * x.dtype.itemsize)
    low = _full(x, 2 ** (4 * x.dtype.itemsize) - 1)
    (x0, x1), (y0, y1) = ((lax.bitwise_and(z, low), lax.shift_right_logical(z, half)) for z in (x, y))
    middle = lax.add(lax.mul(x1, y0), lax.shift_right_logical(lax.mul(x0, y0), half))
    other = lax.add(lax.mul(x0, y1), lax.bitwise_and(middle, low))
    carried = lax.add(lax.shift_right_logical(middle, half), lax.shift_right_logical(other, half))
    return lax.add(lax.mul(x1, y1), carried)


@composite
def _signed_upper(x: jax.Array, y: jax.Array) -> jax.Array:
    """Of signed integers: a negative one stands for itself plus 2 to the width."""
    upper = lax.convert_element_type(_upper(_unsigned(x), _unsigned(y)), x.dtype)
    sign = _full(x, 8 * x.dtype.itemsize - 1)
    for p, q in ((x, y), (y, x)):
        upper = lax.sub(upper, lax.bitwise_and(lax.shift_right_arithmetic(p, sign), q))
    return upper


def high_product_added(numbers: Sequence[Number], of: Scalar) -> Number:
    """`mad_hi`."""
    a, b, c = numbers
    return _plain("+", high_product([a, b], of), c, of)


def product_added(numbers: Sequence[Number], of: Scalar) -> Number:
    """`mad24`: of operands of 24 bits; others are undefined, and multiplied whole."""
    a, b, c = numbers
    return _plain("+", _plain("*", a, b, of), c, of)


def product_added_saturated(numbers: Sequence[Number], of: Scalar) -> Number:
    """`mad_sat`."""
    a, b, c = numbers
    if (known := _python(numbers)) is not None:
        return _nearest(known[0] * known[1] + known[2], of)
    product = _exact("*", a, b)
    if product is not None:
        addend = values.converted(c, product.type)
        interval = intervals.binary("+", _range(product), _range(c))
        assert interval is not None
        if intervals.within(interval, intervals.of_type(product.type.dtype)):
            return saturated(_plain("+", product, addend, product.type), of)
    x, y, z = _arrays(a, b, c)
    return values.held(of, _signed_sum(x, y, z) if of.is_signed else _unsigned_sum(x, y, z))


@composite
def _unsigned_sum(x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
    low = lax.add(lax.mul(x, y), z)
    over = lax.bitwise_or(lax.ne(_upper(x, y), _full(x, 0)), lax.lt(low, z))
    return lax.select(over, _full(x, 2 ** (8 * x.dtype.itemsize) - 1), low)


@composite
def _signed_sum(x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
    """The product in two words, the addend added to both; it fits if the upper word is the sign of the lower."""
    sign = _full(x, 8 * x.dtype.itemsize - 1)
    product = lax.mul(x, y)
    low = lax.add(product, z)
    carry = lax.convert_element_type(lax.lt(_unsigned(low), _unsigned(product)), x.dtype)
    high = lax.add(lax.add(_signed_upper(x, y), lax.shift_right_arithmetic(z, sign)), carry)
    return lax.select(lax.eq(high, lax.shift_right_arithmetic(low, sign)), low, _extreme(high))


def rotated(numbers: Sequence[Number], of: Scalar) -> Number:
    """`rotate`: to the left, by an amount modulo the width."""
    a, b = numbers
    width = 8 * of.size
    if (known := _python(numbers)) is not None:
        amount, bits = known[1] % width, known[0] % 2**width
        return values.constant((bits << amount) | (bits >> (width - amount)), of)
    return values.held(of, _rotated(*_arrays(a, b)))


@composite
def _rotated(x: jax.Array, y: jax.Array) -> jax.Array:
    mask = _full(x, 8 * x.dtype.itemsize - 1)
    left = lax.shift_left(x, lax.bitwise_and(y, mask))
    right = lax.shift_right_logical(x, lax.bitwise_and(lax.neg(y), mask))
    return lax.bitwise_or(left, right)


def upsampled(numbers: Sequence[Number], of: Scalar) -> Number:
    """`upsample`: the bits of two integers one after the other."""
    high, low = numbers
    shifted = _plain("<<", values.converted(high, of), values.constant(4 * of.size, types.INT), of)
    return _plain("|", shifted, values.converted(low, of), of)


def _counted(bits: Callable[[int, int], int], count: Callable[[jax.Array], jax.Array], wider: int) -> Elemental:
    """A function that counts bits.

    Args:
      bits: of an unsigned integer and its width, the count.
      count: of an array, in its own width.
      wider: what to add for each further bit of width, of a positive number.
    """

    def computed(numbers: Sequence[Number], of: Scalar) -> Number:
        (x,) = numbers
        width = 8 * x.type.size
        if x.known:
            return values.constant(bits(int(x.python) % 2**width, width), of)
        low, high = _range(x)
        ends = (bits(low, width), bits(high, width)) if low >= 0 and wider else (0, width)
        interval = (min(ends), max(ends))
        if width == 64 and low >= 0 and intervals.fits_int32(x.interval):
            data = count(values.index(x))  # type: ignore[arg-type]
            further = values.held(types.INT, data, (interval[0] - 32 * wider, interval[1] - 32 * wider))
            return values.converted(_plain("+", further, values.constant(32 * wider, types.INT), types.INT), of)
        data = lax.convert_element_type(count(_arrays(x)[0]), of.dtype if width < 64 else "int32")
        return values.converted(values.held(of if width < 64 else types.INT, data, interval), of)

    return computed


@composite
def _trailing(x: jax.Array) -> jax.Array:
    """The ones below the lowest set bit."""
    return lax.population_count(lax.bitwise_and(lax.bitwise_not(x), lax.sub(x, _full(x, 1))))


def trailing_zeros(numbers: Sequence[Number], of: Scalar) -> Number:
    """`ctz`: the width for 0."""
    (x,) = numbers
    width = 8 * x.type.size
    if x.known:
        bits = int(x.python) % 2**width
        return values.constant((bits & -bits).bit_length() - 1 if bits else width, of)
    if width == 64 and intervals.fits_int32(x.interval):
        data = _trailing(values.index(x))
        if _range(x)[0] <= 0 <= _range(x)[1]:
            data = lax.select(lax.eq(data, _full(data, 32)), _full(data, 64), data)
        return Number(of, data, (0, 64))
    data = lax.convert_element_type(_trailing(_arrays(x)[0]), of.dtype if width < 64 else "int32")
    return values.converted(values.held(of if width < 64 else types.INT, data, (0, width)), of)


set_bits = _counted(lambda x, _: x.bit_count(), lax.population_count, 0)
leading_zeros = _counted(lambda x, width: width - x.bit_length(), lax.clz, 1)


def reversed_bits(numbers: Sequence[Number], of: Scalar) -> Number:
    """`bit_reverse`."""
    (x,) = numbers
    width = 8 * of.size
    if x.known:
        return values.constant(int(f"{int(x.python) % 2**width:0{width}b}"[::-1], 2), of)
    return values.held(of, _reversed(*_arrays(x)))


@composite
def _reversed(x: jax.Array) -> jax.Array:
    """By exchanging halves, then halves of halves, down to bits."""
    width = span = 8 * x.dtype.itemsize
    while span > 1:
        span //= 2
        mask = _full(x, sum(((1 << span) - 1) << k for k in range(0, width, 2 * span)))
        upper = lax.bitwise_and(lax.shift_right_logical(x, _full(x, span)), mask)
        x = lax.bitwise_or(lax.shift_left(lax.bitwise_and(x, mask), _full(x, span)), upper)
    return x


def field_inserted(numbers: Sequence[Number], of: Scalar) -> Number:
    """`bitfield_insert(base, insert, offset, count)`."""
    base, inserted, offset, count = numbers
    mask = _plain("<<", _ones(count, of), offset, of)
    moved = _plain("&", _plain("<<", inserted, offset, of), mask, of)
    kept = _plain("&", base, arithmetic.inverted(mask), of)  # type: ignore[arg-type]
    return _plain("|", kept, moved, of)


def field_extracted(numbers: Sequence[Number], of: Scalar) -> Number:
    """`bitfield_extract_signed` and `_unsigned(base, offset, count)`: to the top, and back with the result's sign."""
    base, offset, count = numbers
    width = values.constant(8 * of.size, types.UINT)
    count, offset = (values.converted(n, types.UINT) for n in (count, offset))
    left = _plain("-", width, _plain("+", offset, count, types.UINT), types.UINT)
    right = _plain("-", width, count, types.UINT)
    moved = _plain("<<", values.converted(base, of), left, of)
    empty = values.truth(_plain("==", count, values.constant(0, types.UINT), types.INT))
    result = values.selected(empty, values.constant(0, of), _plain(">>", moved, right, of))
    assert isinstance(result, Number)
    return result


def _ones(count: Number, of: Scalar) -> Number:
    """The lowest bits, as many as said, up to the width."""
    every = values.constant(-1, types.unsigned(of))
    amount = _plain("-", values.constant(8 * of.size, count.type), count, count.type)
    shifted = values.converted(_plain(">>", every, amount, every.type), of)
    empty = values.truth(_plain("==", count, values.constant(0, count.type), types.INT))
    result = values.selected(empty, values.constant(0, of), shifted)
    assert isinstance(result, Number)
    return result


def scalar_product(a: Sequence[Number], b: Sequence[Number], of: Scalar) -> Number:
    """`dot` of integers, computed in the result's type."""
    total: Any = None
    for x, y in zip(a, b, strict=True):
        product = _plain("*", values.converted(x, of), values.converted(y, of), of)
        total = product if total is None else _plain("+", total, product, of)
    return total
