"""Fusion barriers: what XLA cannot know before the program runs, so that it moves and joins nothing across."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

T = TypeVar("T")


def opaque_true(array: jax.Array) -> jax.Array:
    """A True that XLA cannot know before `array` is computed."""
    first = array.reshape(-1)[0]
    if jnp.issubdtype(first.dtype, jnp.floating):
        first = lax.bitcast_convert_type(first, np.dtype(f"u{first.dtype.itemsize}"))
    elif first.dtype.kind == "b":
        first = first.astype(np.uint8)
    return first != first + first.dtype.type(1)


def opaque_zero(array: jax.Array, dtype: np.dtype) -> jax.Array:
    """A zero that XLA cannot know before `array` is computed."""
    return jnp.where(opaque_true(array), dtype.type(0), dtype.type(1))


def unaliased(array: jax.Array) -> jax.Array:
    """An array that XLA does not take for another one that it was made from, in another shape."""
    if not array.size:
        return array
    return jnp.where(opaque_true(array), array, jnp.zeros_like(array))


def in_branch(step: Callable[[T], T], state: T) -> T:
    """What a step makes of a state, a pytree, in a branch that XLA does not know to be taken: there it stores in place.

    Else what it stores last is joined with what gives the array in another shape. The array is copied then, and
    computed anew as a whole.
    """
    arrays = [array for array in jax.tree.leaves(state) if array.size]
    if not arrays:
        return step(state)
    return lax.cond(opaque_true(arrays[0]), step, lambda state: state, state)


def materialised(array: jax.Array, source: jax.Array | None = None) -> jax.Array:
    """An array that XLA computes for itself; else it computes it once more for everything that uses it.

    It goes through a loop of a single iteration, which XLA does not know to be one.

    Args:
      array: the array.
      source: what it was computed from, if that takes so much code that there had better be no more of it.
    """
    source = array if source is None else source
    if not array.size or not source.size:
        return array

    def step(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        goes_on, array = state
        return jnp.zeros_like(goes_on), jnp.where(goes_on, array, jnp.zeros_like(array))

    return lax.while_loop(lambda state: state[0], step, (opaque_true(source), array))[1]
