"""Geometry: OpenCL C's functions of vectors as points and directions. Halves are computed in float."""

import functools
from collections.abc import Sequence

import jax
import numpy as np
from jax import lax

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.builtins import floats, integers
from xeemu.frontends.builtins.components import composite
from xeemu.frontends.types import Scalar, Type, Vector
from xeemu.frontends.values import Components, Data, Number, Value


def _numbers(value: Value) -> list[Number]:
    return composites.leaves(value)


def _wide(n: Number) -> Number:
    return values.converted(n, types.FLOAT) if n.type == types.HALF else n


def _op(op: str, a: Number, b: Number) -> Number:
    result = arithmetic.binary(op, a, b, a.type)
    assert isinstance(result, Number)
    return result


def dot(arguments: Sequence[Value], of: Type) -> Value:
    """Of floats, and with `cl_khr_integer_dot_product` of integers."""
    assert isinstance(of, Scalar)
    a, b = (_numbers(v) for v in arguments)
    if not of.is_float:
        return integers.scalar_product(a, b, of)
    products = [_op("*", _wide(x), _wide(y)) for x, y in zip(a, b, strict=True)]
    return values.converted(functools.reduce(lambda x, y: _op("+", x, y), products), of)


def cross(arguments: Sequence[Value], of: Type) -> Value:
    """Of vectors of 3, or of 4 whose last component becomes 0."""
    assert isinstance(of, Vector)
    a, b = ([_wide(n) for n in _numbers(v)] for v in arguments)
    found = [_op("-", _op("*", a[j], b[k]), _op("*", a[k], b[j])) for j, k in ((1, 2), (2, 0), (0, 1))]
    found += [values.constant(0, of.element)] * (of.count - 3)
    return Components(of, tuple(values.converted(n, of.element) for n in found))


def _difference(arguments: Sequence[Value]) -> list[Number]:
    a, b = (_numbers(v) for v in arguments)
    return [_op("-", _wide(x), _wide(y)) for x, y in zip(a, b, strict=True)]


def _known_length(*x: np.floating) -> float:
    return float(np.hypot.reduce(np.asarray(x, np.float64)))


def _scale(x: Sequence[jax.Array]) -> jax.Array:
    """A power of two near the reciprocal of the greatest component, 1 if that is 0 or no number."""
    form = floats.format_of(x[0].dtype)
    greatest = functools.reduce(lax.max, (lax.abs(c) for c in x))
    own = lax.shift_right_logical(floats.bits(greatest), np.asarray(form.mantissa, form.integer))
    stored = lax.clamp(np.asarray(2, form.integer), own, np.asarray(2 * form.bias - 1, form.integer))
    plain = lax.bitwise_or(lax.eq(own, lax.full_like(own, 0)), lax.eq(own, lax.full_like(own, 2 * form.bias + 1)))
    biased = lax.select(plain, lax.full_like(own, form.bias), 2 * form.bias - stored)
    return floats.from_bits(lax.shift_left(biased, lax.full_like(biased, form.mantissa)), x[0].dtype)


@composite
def root_of_squares(*x: jax.Array) -> jax.Array:
    scale = _scale(x)
    total = functools.reduce(lax.add, ((c * scale) * (c * scale) for c in x))
    infinite = functools.reduce(lax.bitwise_or, (lax.eq(lax.abs(c), floats.full(c, np.inf)) for c in x))
    return lax.select(infinite, floats.full(scale, np.inf), lax.sqrt(total) / scale)


def _of_length(numbers: Sequence[Number], of: Scalar) -> Number:
    data = [values.exact(_wide(n)) for n in numbers]
    if all(isinstance(d, np.generic) for d in data):
        return floats.rounded(values.lifted(_known_length, root_of_squares, *data), of)
    return Number(of, values.cast(root_of_squares(*values.alike(*data)), of.dtype))


def length(arguments: Sequence[Value], of: Type) -> Value:
    """Without overflow or underflow on the way."""
    assert isinstance(of, Scalar)
    return _of_length(_numbers(arguments[0]), of)


def distance(arguments: Sequence[Value], of: Type) -> Value:
    assert isinstance(of, Scalar)
    return _of_length(_difference(arguments), of)


def _square(numbers: Sequence[Number]) -> Number:
    wide = [_wide(n) for n in numbers]
    return functools.reduce(lambda x, y: _op("+", x, y), (_op("*", n, n) for n in wide))


def _root(n: Number) -> Number:
    return Number(n.type, values.lifted(np.sqrt, lax.sqrt, n.data))


def fast_length(arguments: Sequence[Value], of: Type) -> Value:
    assert isinstance(of, Scalar)
    return values.converted(_root(_square(_numbers(arguments[0]))), of)


def fast_distance(arguments: Sequence[Value], of: Type) -> Value:
    assert isinstance(of, Scalar)
    return values.converted(_root(_square(_difference(arguments))), of)


def _like(value: Value, numbers: Sequence[Number], of: Type) -> Value:
    element = of.element if isinstance(of, Vector) else of
    assert isinstance(element, Scalar)
    return composites.rebuilt(value, [values.converted(n, element) for n in numbers])


def fast_normalize(arguments: Sequence[Value], of: Type) -> Value:
    """Times the reciprocal of the root; a vector of zeros stays one."""
    numbers = [_wide(n) for n in _numbers(arguments[0])]
    square = _square(numbers)
    zero = values.negation(values.truth(square))
    inverse = Number(square.type, values.lifted(lambda x: 1 / np.sqrt(x), lax.rsqrt, square.data))
    factor = composites.selected(zero, values.constant(1, square.type), inverse)
    assert isinstance(factor, Number)
    return _like(arguments[0], [_op("*", n, factor) for n in numbers], of)


@composite
def _normalized(*x: jax.Array) -> tuple[jax.Array, ...]:
    """Of infinite components the signs alone count."""
    infinite = [lax.eq(lax.abs(c), floats.full(c, np.inf)) for c in x]
    some = functools.reduce(lax.bitwise_or, infinite)
    nan = functools.reduce(lax.bitwise_or, (lax.ne(c, c) for c in x))
    finite = [
        lax.select(some, floats.signed_as(lax.convert_element_type(i, c.dtype), c), c)
        for c, i in zip(x, infinite, strict=True)
    ]
    scale = _scale(finite)
    parts = [c * scale for c in finite]
    total = functools.reduce(lax.add, (p * p for p in parts))
    total = lax.select(lax.eq(total, floats.full(total, 0)), floats.full(total, 1), total)
    root = lax.select(nan, floats.full(total, np.nan), lax.sqrt(total))
    return tuple(p / root for p in parts)


def _known_normalized(data: Sequence[Data]) -> list[float]:
    x = np.asarray(data, np.float64)
    if np.isinf(x).any() and not np.isnan(x).any():
        x = np.copysign(np.isinf(x).astype(np.float64), x)
    scale = np.ldexp(1.0, -int(np.frexp(np.max(np.abs(x)))[1])) if np.isfinite(x).all() else 1.0
    root = np.sqrt(np.sum((x * scale) ** 2))
    return list(x * scale / (root if root else 1.0))


def normalize(arguments: Sequence[Value], of: Type) -> Value:
    """Without overflow or underflow on the way; a vector of zeros stays one."""
    numbers = [_wide(n) for n in _numbers(arguments[0])]
    data = [values.exact(n) for n in numbers]
    if all(n.known for n in numbers):
        with np.errstate(all="ignore"):
            found = [floats.rounded(x, n.type) for x, n in zip(_known_normalized(data), numbers, strict=True)]
    else:
        found = [Number(n.type, x) for n, x in zip(numbers, _normalized(*values.alike(*data)), strict=True)]
    return _like(arguments[0], found, of)
