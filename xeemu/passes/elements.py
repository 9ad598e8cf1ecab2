"""Elements: some elements of a value taken as a value of their own, and put back, as functions of JAX."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.knowledge import strided_patterns, strided_slices
from xeemu.knowledge.addressing import Elements


@dataclasses.dataclass(frozen=True)
class Lanes:
    """The elements of an access.

    Attributes:
      shape: of the access.
      chosen: the flat positions of those that a known mask leaves in; None for all.
    """

    shape: tuple[int, ...]
    chosen: tuple[int, ...] | None

    @property
    def count(self) -> int:
        return math.prod(self.shape) if self.chosen is None else len(self.chosen)

    @property
    def own_shape(self) -> tuple[int, ...]:
        """That of an array of them alone: of all of them the access's."""
        return self.shape if self.chosen is None else (self.count,)

    @property
    def mask(self) -> np.ndarray:
        """Which elements of the shape they are."""
        chosen = np.zeros(math.prod(self.shape), bool)
        chosen[list(self.chosen or ())] = True
        return chosen.reshape(self.shape)

    @property
    def stretch(self) -> tuple[int, int, int] | None:
        """The first of them, the last, and the distance from each to the next, if that is the same for all."""
        assert self.chosen is not None
        apart = set(np.diff(self.chosen).tolist()) or {1}
        return (self.chosen[0], self.chosen[-1], apart.pop()) if len(apart) == 1 and min(apart) > 0 else None


def part(shape: tuple[int, ...], places: np.ndarray) -> Lanes:
    """Elements of an array of a shape by their flat positions, in any order."""
    return Lanes(shape, None if np.array_equal(places, np.arange(math.prod(shape))) else tuple(places.tolist()))


def lanes(elements: Elements) -> Lanes:
    """The elements of an access that its mask leaves in."""
    return Lanes(elements.shape, None if elements.all else tuple(elements.chosen.tolist()))


def aligned(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """An operand of an access with all of its axes; those that it lacks are the last."""
    return jnp.broadcast_to(x.reshape(*x.shape, *(1,) * (len(shape) - x.ndim)), shape)


def taken(x: jax.Array, chosen: Lanes, shape: tuple[int, ...] | None = None) -> jax.Array:
    """Elements of an array of the shape of their access, in their own shape or another one."""
    shape = chosen.own_shape if shape is None else shape
    if chosen.chosen is None:
        return x.reshape(shape)
    if chosen.stretch is not None:
        first, last, step = chosen.stretch
        return lax.slice(x.reshape(-1), (first,), (last + 1,), (step,)).reshape(shape)
    places = np.asarray(chosen.chosen)
    found = _sliced(x, places, shape)
    return x.reshape(-1)[places].reshape(shape) if found is None else found


def spread(x: jax.Array, chosen: Lanes) -> jax.Array:
    """An array of the shape of an access with such elements; what the others are does not matter."""
    if chosen.chosen is None:
        return x.reshape(chosen.shape)
    if chosen.count == 1:
        return jnp.broadcast_to(x.reshape(()), chosen.shape)
    size = math.prod(chosen.shape)
    if chosen.stretch is None:
        numbers = np.zeros(size, np.int32)
        numbers[list(chosen.chosen)] = np.arange(chosen.count)
        return x.reshape(-1)[numbers].reshape(chosen.shape)
    return padded(x, chosen, jnp.zeros((), x.dtype))


def padded(x: jax.Array, chosen: Lanes, fill: jax.Array) -> jax.Array:
    """The same of elements that are a stretch, where all others are one number."""
    assert chosen.stretch is not None
    first, last, step = chosen.stretch
    edges = [(first, math.prod(chosen.shape) - last - 1, step - 1)]
    return lax.pad(x.reshape(-1), fill, edges).reshape(chosen.shape)


def is_sliced(chosen: Lanes) -> bool:
    """Whether elements are a slice of an array of the shape, or of it laid flat."""
    return chosen.chosen is None or strided_patterns.cut(chosen.shape, np.asarray(chosen.chosen)) is not None


def _sliced(x: jax.Array, places: np.ndarray, shape: tuple[int, ...]) -> jax.Array | None:
    """Elements of an array by their flat positions, as a slice of it or of it laid flat; None if they are none."""
    cut = strided_patterns.cut(x.shape, places)
    if cut is None:
        return None
    if cut.shape == x.shape and _repeats(np.arange(x.size).reshape(x.shape)[cut.box], places, shape):
        return jnp.broadcast_to(x[cut.box], shape)
    return strided_slices.sliced(x, cut, 0, shape)


def _repeats(box: np.ndarray, places: np.ndarray, shape: tuple[int, ...]) -> bool:
    """Whether elements in a shape are a box of an array as it is, repeated along axes of size 1."""
    fits = box.ndim == len(shape) and all(n in (1, size) for n, size in zip(box.shape, shape, strict=True))
    return fits and np.array_equal(np.broadcast_to(box, shape).reshape(-1), places)
