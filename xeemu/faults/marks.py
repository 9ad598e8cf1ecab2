"""Marks: which elements of a value come from an operation that went wrong, and with what operands it did.

Axis legend: G work-groups of a chunk, or 1 if all have the same; the axes of the value follow.
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.bits import bits

NOBODY = 0
"""The origin of an element that comes from no such operation."""


class Mark(NamedTuple):
    """The marks of a value; arrays of `[G, ...]`.

    Attributes:
      value: the value itself.
      origin: 1 + the number of the operation, or `NOBODY`.
      first, second: its operands, as int64; of an operation on one, twice the same.
      exact: the value that unbounded integers would give, as float64; None where that does not matter.
    """

    value: jax.Array
    origin: jax.Array
    first: jax.Array
    second: jax.Array
    exact: jax.Array | None

    @property
    def marked(self) -> jax.Array:
        return self.origin != NOBODY


def made(
    number: int, value: jax.Array, wrong: jax.Array, operands: Sequence[jax.Array], exact: jax.Array | None
) -> Mark:
    """The mark of the result of an operation that went wrong in some elements.

    Args:
      number: of the operation.
      value: its result.
      wrong: where it did.
      operands: its operands.
      exact: see `Mark`.
    """
    first, second = (jnp.broadcast_to(o, wrong.shape).astype(np.int64) for o in (operands[0], operands[-1]))
    origin = jnp.where(wrong, np.int32(number + 1), np.int32(NOBODY))
    return Mark(jnp.broadcast_to(value, wrong.shape), origin, first, second, exact)


def blank(shape: Sequence[int], dtype: np.dtype, exact: bool) -> Mark:
    """A mark of zeros that says nothing."""
    value, origin, first, second = (jnp.zeros(tuple(shape), kind) for kind in (dtype, np.int32, np.int64, np.int64))
    return Mark(value, origin, first, second, jnp.zeros(tuple(shape)) if exact else None)


def of(value: jax.Array, mark: Mark | None, exact: bool) -> Mark:
    """The mark of a value, also of one that has none."""
    if mark is not None:
        return mark
    none = blank((1,) * value.ndim, value.dtype, False)
    return none._replace(value=value, exact=value.astype(np.float64) if exact else None)


def first_of(value: jax.Array, marks: Sequence[Mark]) -> Mark:
    """The mark of a value computed from some: element by element that of the first one that is marked."""

    def either(a: Mark, b: Mark) -> Mark:
        return chosen(a.marked, a, b)

    return renewed(value, functools.reduce(either, marks))


def renewed(value: jax.Array, mark: Mark) -> Mark:
    """The same mark of another value of the same shape, or of one that it broadcasts to but for the groups.

    All groups may have the same value, and a mark for each, as of one that a loop carries.
    """
    whole = jnp.broadcast_to(value, jnp.broadcast_shapes(value.shape, mark.origin.shape))
    return each(lambda a: jnp.broadcast_to(a, whole.shape), mark)._replace(value=whole)


def chosen(which: jax.Array, yes: Mark, no: Mark) -> Mark:
    """Element by element one mark or the other; of values of two types in that of the first."""
    other = no._replace(value=no.value.astype(yes.value.dtype))
    chosen_mark: Mark = jax.tree.map(lambda a, b: jnp.where(which, a, b), yes, other)
    return chosen_mark


def where(still: jax.Array, mark: Mark) -> Mark:
    """A mark, taken away where a condition does not hold."""
    return mark._replace(origin=jnp.where(still, mark.origin, NOBODY))


def moved(function: Callable[[jax.Array], jax.Array], mark: Mark) -> Mark:
    """The mark of a value whose elements a function of a single group's array moves or repeats."""
    return each(jax.vmap(function), mark)


def matching(value: jax.Array, mark: Mark) -> Mark:
    """A mark that was left earlier, where the value is still the same."""
    whole = jnp.broadcast_to(value, jnp.broadcast_shapes(value.shape, mark.value.shape))
    mark = full(mark, whole.shape)
    same = where(bits(whole) == bits(mark.value), mark)
    exact = None if mark.exact is None else jnp.where(same.marked, mark.exact, whole.astype(np.float64))
    return same._replace(value=whole, exact=exact)


def full(mark: Mark, shape: Sequence[int]) -> Mark:
    """A mark repeated to a shape."""
    return each(lambda a: jnp.broadcast_to(a, tuple(shape)), mark)


def each(function: Callable[[jax.Array], jax.Array], mark: Mark) -> Mark:
    """A function applied to each array of a mark."""
    return Mark(*(None if a is None else function(a) for a in mark))  # type: ignore[arg-type]
