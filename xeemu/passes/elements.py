"""Elements: some elements of a value taken as a value of their own, and put back, as functions of JAX."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.knowledge import strided_patterns, strided_slices
from xeemu.knowledge.addressing import Elements


def aligned(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """An operand of an access with all of its axes; those that it lacks are the last."""
    return jnp.broadcast_to(x.reshape(*x.shape, *(1,) * (len(shape) - x.ndim)), shape)


def gathered(x: jax.Array, chosen: Elements, shape: tuple[int, ...] | None = None) -> jax.Array:
    """Elements of an array of the shape of their access, in their own shape or another one."""
    shape = chosen.compact_shape if shape is None else shape
    if chosen.in_order:
        return x.reshape(shape)
    if is_stretch(chosen):
        first, last = int(chosen.chosen[0]), int(chosen.chosen[-1])
        return lax.slice(x.reshape(-1), (first,), (last + 1,), (chosen.step or 1,)).reshape(shape)
    found = _sliced(x, chosen.chosen, shape)
    return x.reshape(-1)[chosen.chosen].reshape(shape) if found is None else found


def spread(x: jax.Array, chosen: Elements) -> jax.Array:
    """An array of the shape of an access with such elements; what the others are does not matter."""
    if chosen.in_order:
        return x.reshape(chosen.shape)
    if chosen.count == 1:
        return jnp.broadcast_to(x.reshape(()), chosen.shape)
    if not is_stretch(chosen):
        numbers = np.zeros(math.prod(chosen.shape), np.int32)
        numbers[chosen.chosen] = np.arange(chosen.count)
        return x.reshape(-1)[numbers].reshape(chosen.shape)
    return padded(x, chosen, jnp.zeros((), x.dtype))


def padded(x: jax.Array, chosen: Elements, fill: jax.Array) -> jax.Array:
    """An array with elements of another that are a stretch, where all others are one number."""
    assert chosen.step is not None
    first, last = int(chosen.chosen[0]), int(chosen.chosen[-1])
    edges = [(first, math.prod(chosen.shape) - last - 1, chosen.step - 1)]
    return lax.pad(x.reshape(-1), fill, edges).reshape(chosen.shape)


def is_stretch(chosen: Elements) -> bool:
    """True if each of some elements lies as far behind the one before."""
    return chosen.step is not None and chosen.step > 0


def is_sliced(chosen: Elements) -> bool:
    """True if elements are a slice of an array of the shape, or of it laid flat."""
    return chosen.in_order or strided_patterns.cut(chosen.shape, chosen.chosen) is not None


def _sliced(x: jax.Array, positions: np.ndarray, shape: tuple[int, ...]) -> jax.Array | None:
    """Elements of an array by their flat positions, as a slice of it or of it laid flat; None if they are none."""
    cut = strided_patterns.cut(x.shape, positions)
    if cut is None:
        return None
    if cut.shape == x.shape and _repeats(np.arange(x.size).reshape(x.shape)[cut.box], positions, shape):
        return jnp.broadcast_to(x[cut.box], shape)
    return strided_slices.sliced(x, cut, 0, shape)


def _repeats(box: np.ndarray, positions: np.ndarray, shape: tuple[int, ...]) -> bool:
    """True if elements in a shape are a box of an array as it is, repeated along axes of size 1."""
    fits = box.ndim == len(shape) and all(n in (1, size) for n, size in zip(box.shape, shape, strict=True))
    return fits and np.array_equal(np.broadcast_to(box, shape).reshape(-1), positions)
