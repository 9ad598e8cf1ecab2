"""Bits: OpenCL C's functions that move, count and take apart the bits of integers."""

from collections.abc import Callable, Sequence

import jax
from jax import lax

from xeemu.frontends import arithmetic, composites, intervals, types, values
from xeemu.frontends.builtins import operands
from xeemu.frontends.builtins.components import Elemental, composite
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Number


def rotated(numbers: Sequence[Number], of: Scalar) -> Number:
    """`rotate`: to the left, by an amount modulo the width."""
    a, b = numbers
    width = 8 * of.size
    if (known := operands.known(numbers)) is not None:
        amount, bits = known[1] % width, known[0] % 2**width
        return values.constant((bits << amount) | (bits >> (width - amount)), of)
    return values.held(of, _rotated(*operands.arrays(a, b)))


@composite
def _rotated(x: jax.Array, y: jax.Array) -> jax.Array:
    mask = operands.full(x, 8 * x.dtype.itemsize - 1)
    left = lax.shift_left(x, lax.bitwise_and(y, mask))
    right = lax.shift_right_logical(x, lax.bitwise_and(lax.neg(y), mask))
    return lax.bitwise_or(left, right)


def upsampled(numbers: Sequence[Number], of: Scalar) -> Number:
    """`upsample`: the bits of two integers one after the other."""
    high, low = numbers
    shifted = operands.combined("<<", values.converted(high, of), values.constant(4 * of.size, types.INT), of)
    return operands.combined("|", shifted, values.converted(low, of), of)


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
        low, high = operands.span(x)
        ends = (bits(low, width), bits(high, width)) if low >= 0 and wider else (0, width)
        interval = (min(ends), max(ends))
        if width == 64 and low >= 0 and intervals.fits_int32(x.interval):
            data = count(values.index(x))  # type: ignore[arg-type]
            further = values.held(types.INT, data, (interval[0] - 32 * wider, interval[1] - 32 * wider))
            return values.converted(
                operands.combined("+", further, values.constant(32 * wider, types.INT), types.INT), of
            )
        data = lax.convert_element_type(count(operands.arrays(x)[0]), of.dtype if width < 64 else "int32")
        return values.converted(values.held(of if width < 64 else types.INT, data, interval), of)

    return computed


@composite
def _trailing(x: jax.Array) -> jax.Array:
    """The ones below the lowest set bit."""
    return lax.population_count(lax.bitwise_and(lax.bitwise_not(x), lax.sub(x, operands.full(x, 1))))


def trailing_zeros(numbers: Sequence[Number], of: Scalar) -> Number:
    """`ctz`: the width for 0."""
    (x,) = numbers
    width = 8 * x.type.size
    if x.known:
        bits = int(x.python) % 2**width
        return values.constant((bits & -bits).bit_length() - 1 if bits else width, of)
    if width == 64 and intervals.fits_int32(x.interval):
        data = _trailing(values.index(x))
        if operands.span(x)[0] <= 0 <= operands.span(x)[1]:
            data = lax.select(lax.eq(data, operands.full(data, 32)), operands.full(data, 64), data)
        return Number(of, data, (0, 64))
    data = lax.convert_element_type(_trailing(operands.arrays(x)[0]), of.dtype if width < 64 else "int32")
    return values.converted(values.held(of if width < 64 else types.INT, data, (0, width)), of)


set_bits = _counted(lambda x, _: x.bit_count(), lax.population_count, 0)
leading_zeros = _counted(lambda x, width: width - x.bit_length(), lax.clz, 1)


def reversed_bits(numbers: Sequence[Number], of: Scalar) -> Number:
    """`bit_reverse`."""
    (x,) = numbers
    width = 8 * of.size
    if x.known:
        return values.constant(int(f"{int(x.python) % 2**width:0{width}b}"[::-1], 2), of)
    return values.held(of, _reversed(*operands.arrays(x)))


@composite
def _reversed(x: jax.Array) -> jax.Array:
    """By exchanging halves, then halves of halves, down to bits."""
    width = span = 8 * x.dtype.itemsize
    while span > 1:
        span //= 2
        mask = operands.full(x, sum(((1 << span) - 1) << k for k in range(0, width, 2 * span)))
        upper = lax.bitwise_and(lax.shift_right_logical(x, operands.full(x, span)), mask)
        x = lax.bitwise_or(lax.shift_left(lax.bitwise_and(x, mask), operands.full(x, span)), upper)
    return x


def field_inserted(numbers: Sequence[Number], of: Scalar) -> Number:
    """`bitfield_insert(base, insert, offset, count)`."""
    base, inserted, offset, count = numbers
    mask = operands.combined("<<", _ones(count, of), offset, of)
    moved = operands.combined("&", operands.combined("<<", inserted, offset, of), mask, of)
    kept = operands.combined("&", base, arithmetic.inverted(mask), of)  # type: ignore[arg-type]
    return operands.combined("|", kept, moved, of)


def field_extracted(numbers: Sequence[Number], of: Scalar) -> Number:
    """`bitfield_extract_signed` and `_unsigned(base, offset, count)`: to the top, and back with the result's sign."""
    base, offset, count = numbers
    width = values.constant(8 * of.size, types.UINT)
    count, offset = (values.converted(n, types.UINT) for n in (count, offset))
    left = operands.combined("-", width, operands.combined("+", offset, count, types.UINT), types.UINT)
    right = operands.combined("-", width, count, types.UINT)
    moved = operands.combined("<<", values.converted(base, of), left, of)
    empty = values.truth(operands.combined("==", count, values.constant(0, types.UINT), types.INT))
    result = composites.selected(empty, values.constant(0, of), operands.combined(">>", moved, right, of))
    assert isinstance(result, Number)
    return result


def _ones(count: Number, of: Scalar) -> Number:
    """The lowest bits, as many as said, up to the width."""
    every = values.constant(-1, types.unsigned(of))
    amount = operands.combined("-", values.constant(8 * of.size, count.type), count, count.type)
    shifted = values.converted(operands.combined(">>", every, amount, every.type), of)
    empty = values.truth(operands.combined("==", count, values.constant(0, count.type), types.INT))
    result = composites.selected(empty, values.constant(0, of), shifted)
    assert isinstance(result, Number)
    return result
