"""Relations: OpenCL C's relational functions. Of numbers they give 1 where they hold, of vectors all bits set."""

from collections.abc import Callable, Sequence

import jax
import numpy as np
from jax import lax

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.builtins import floats
from xeemu.frontends.builtins.components import Builtin, composite, items, number
from xeemu.frontends.builtins.reinterpretation import bits
from xeemu.frontends.types import Scalar, Vector
from xeemu.frontends.values import Components, Data, Number, Value


def _relation(known: Callable[..., object], traced: Callable[..., jax.Array]) -> Builtin:
    """A relation of floats from a predicate of their data."""

    def truth(numbers: Sequence[Number]) -> Data:
        return values.lifted(lambda *x: np.bool_(known(*x)), traced, *(values.exact(n) for n in numbers))

    def computed(arguments: Sequence[Value], of: types.Type) -> Value:
        if isinstance(of, Vector):
            rows = zip(*(items(a, of.count) for a in arguments), strict=True)
            return Components(of, tuple(arithmetic.mask(truth(row), of.element) for row in rows))
        assert isinstance(of, Scalar)
        return values.of_truth(truth([number(a) for a in arguments]), of)

    return computed


def compared(op: str) -> Builtin:
    """`isequal` and the like: an operator."""
    return lambda arguments, of: arithmetic.binary(op, arguments[0], arguments[1], of)


less_or_greater = _relation(lambda x, y: x < y or x > y, lambda x, y: lax.bitwise_or(lax.lt(x, y), lax.gt(x, y)))
ordered = _relation(lambda x, y: x == x and y == y, lambda x, y: lax.bitwise_and(lax.eq(x, x), lax.eq(y, y)))
unordered = _relation(lambda x, y: x != x or y != y, lambda x, y: lax.bitwise_or(lax.ne(x, x), lax.ne(y, y)))
is_nan = _relation(np.isnan, lambda x: lax.ne(x, x))
is_finite = _relation(np.isfinite, lax.is_finite)
is_infinite = _relation(np.isinf, composite(lambda x: lax.eq(lax.abs(x), floats.full(x, np.inf))))
sign_bit = _relation(np.signbit, composite(lambda x: floats.bits(x) < 0))


@composite
def _normal(x: jax.Array) -> jax.Array:
    form, own = floats.format_of(x.dtype), floats.magnitude(x)
    return lax.bitwise_and(
        lax.ge(own, lax.full_like(own, form.smallest)), lax.lt(own, lax.full_like(own, form.infinity))
    )


is_normal = _relation(lambda x: np.isfinite(x) and abs(x) >= np.finfo(x.dtype).smallest_normal, _normal)


def _highest_bit(n: Number) -> Data:
    """Where the highest bit of an integer is set."""
    signed = values.converted(n, types.signed(n.type))
    return values.truth(number(arithmetic.binary("<", signed, values.constant(0, signed.type), types.INT)))


def any_of(arguments: Sequence[Value], of: types.Type) -> Value:
    """`any`: whether the highest bit of a component is set."""
    assert isinstance(of, Scalar)
    highest = [_highest_bit(n) for n in composites.leaves(arguments[0])]
    found = highest[0]
    for bit in highest[1:]:
        found = values.disjunction(found, bit)
    return values.of_truth(found, of)


def all_of(arguments: Sequence[Value], of: types.Type) -> Value:
    """`all`: whether the highest bit of every component is set."""
    assert isinstance(of, Scalar)
    highest = [_highest_bit(n) for n in composites.leaves(arguments[0])]
    found: Data | None = highest[0]
    for bit in highest[1:]:
        found = values.conjunction(found, bit)
    assert found is not None
    return values.of_truth(found, of)


def select(arguments: Sequence[Value], of: types.Type) -> Value:
    """`select(a, b, c)`: `b` where `c` is not zero, of vectors where its highest bit is set."""
    a, b, c = arguments
    if not isinstance(of, Vector):
        return composites.selected(values.truth(number(c)), b, a)
    rows = zip(*(items(v, of.count) for v in (a, b, c)), strict=True)
    chosen = (number(composites.selected(_highest_bit(z), y, x)) for x, y, z in rows)
    return Components(of, tuple(chosen))


def bitselect(numbers: Sequence[Number], of: Scalar) -> Number:
    """The bits of `b` where `c` has ones, else those of `a`."""
    a, b, c = (bits(n, types.unsigned(of)) for n in numbers)
    kept = arithmetic.binary("&", a, arithmetic.inverted(c), c.type)
    result = arithmetic.binary("|", kept, arithmetic.binary("&", b, c, c.type), c.type)
    return bits(number(result), of)
