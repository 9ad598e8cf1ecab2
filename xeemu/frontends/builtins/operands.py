"""Operands: of integer functions, as ranges, as Python's integers and as arrays, and the operators on them."""

from collections.abc import Sequence

import jax
from jax import lax

from xeemu.frontends import arithmetic, values
from xeemu.frontends.intervals import Interval
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Number


def combined(op: str, a: Number, b: Number, of: Scalar) -> Number:
    """`a op b`, computed in a type."""
    result = arithmetic.binary(op, a, b, of)
    assert isinstance(result, Number)
    return result


def span(n: Number) -> Interval:
    """The least and greatest value that a number can have."""
    assert n.interval is not None
    return n.interval


def known(numbers: Sequence[Number]) -> list[int] | None:
    """The values of numbers, if all are known."""
    return [int(n.python) for n in numbers] if all(n.known for n in numbers) else None


def arrays(*numbers: Number) -> list[jax.Array]:
    """Numbers as arrays of their own types, of one shape."""
    return values.alike(*(values.exact(n) for n in numbers))


def full(x: jax.Array, value: int) -> jax.Array:
    """An array like another one, each of whose elements is a value."""
    return lax.full_like(x, value)
