"""Bits: the elements of arrays as the unsigned integers that they are in memory, and what there is in masks.

XLA for a CPU makes no vectors of an or of bools, nor of their sum in 64 bits: a million bools took it three to four
times as long as the greatest of their bytes, or eight of them in a word whose bits are counted (2-core EPYC).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def bits(array: jax.Array) -> jax.Array:
    """The bits of an array's elements, as unsigned integers."""
    if array.dtype == bool:
        return array.astype(np.uint8)
    return lax.bitcast_convert_type(array, np.dtype(f"u{array.dtype.itemsize}"))


def bits_of(dtype: np.dtype) -> np.dtype:
    """The dtype of `bits` of an array of such elements."""
    return np.dtype(f"u{dtype.itemsize}")


def of_bits(array: jax.Array, like: jax.Array) -> jax.Array:
    """Elements of another array's type from their bits."""
    return array.astype(bool) if like.dtype == bool else lax.bitcast_convert_type(array, like.dtype)


def any_of(mask: jax.Array) -> jax.Array:
    """True if any of a mask's elements holds; a scalar."""
    return mask.astype(np.uint8).max(initial=0) != 0


def first_of(mask: jax.Array) -> jax.Array:
    """The flat number of the first of a mask's elements that holds; a scalar."""
    # XLA searches a mask that it knows as it compiles, which takes it seconds.
    return jnp.argmax(lax.optimization_barrier(mask.reshape(-1)))


def count_of(mask: jax.Array) -> jax.Array:
    """How many of a mask's elements hold; a scalar, int64."""
    each = mask.reshape(-1).astype(np.uint8)
    whole = jnp.pad(each, (0, -each.size % 8)).reshape(-1, 8)
    return lax.population_count(lax.bitcast_convert_type(whole, np.uint64)).sum(dtype=np.int64)
