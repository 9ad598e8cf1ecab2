"""Bits: the elements of arrays as the unsigned integers that they are in memory."""

import jax
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
