"""Sampling: from which pixels along one axis of an image a value is made, and how much of each (OpenCL C, 8.2)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.frontends.samplers import Sampler


@dataclasses.dataclass(frozen=True, eq=False)
class Tap:
    """A pixel along one axis.

    Attributes:
      index: its number, int32, of a scalar or of each work-item.
      inside: where the image has it, if it may lie in the border.
      weight: how much of it is taken, float32; all if there is but one.
    """

    index: jax.Array
    inside: jax.Array | None = None
    weight: jax.Array | None = None


def taps(sampler: Sampler, coordinate: jax.Array, count: int, linear: bool) -> list[Tap]:
    """The pixels for a coordinate along an axis.

    Args:
      sampler: how.
      coordinate: int32, in pixels, or float32.
      count: pixels of the axis.
      linear: True to take the two pixels around, of a float coordinate.
    """
    if not jnp.issubdtype(coordinate.dtype, np.floating):
        return [_addressed(sampler, coordinate, count)]
    place = _unnormalized(sampler, coordinate, count)
    if not linear:
        return [_addressed(sampler, _whole(lax.floor(place), count), count)]
    before = lax.sub(place, _float(0.5))
    first = lax.floor(before)
    second = lax.sub(before, first)
    number = _whole(first, count)
    sides = ((number, lax.sub(_float(1), second)), (lax.add(number, np.int32(1)), second))
    found = [(_addressed(sampler, index, count), weight) for index, weight in sides]
    return [dataclasses.replace(tap, weight=weight) for tap, weight in found]


def layer(coordinate: jax.Array, count: int) -> Tap:
    """The layer of an array of images, the nearest one that there is."""
    if jnp.issubdtype(coordinate.dtype, np.floating):
        coordinate = _whole(lax.round(coordinate, lax.RoundingMethod.TO_NEAREST_EVEN), count)
    return Tap(_clamped(coordinate, 0, count - 1))


def _float(value: float) -> np.float32:
    return np.float32(value)


def _clamped(x: jax.Array, low: int, high: int) -> jax.Array:
    of = x.dtype.type
    return lax.min(lax.max(x, of(low)), of(high))


def _whole(x: jax.Array, count: int) -> jax.Array:
    """A float that is whole as int32; what is far beyond the image stays beyond it."""
    return _clamped(x, -count - 2, 2 * count + 2).astype(np.int32)


def _unnormalized(sampler: Sampler, coordinate: jax.Array, count: int) -> jax.Array:
    """A float coordinate in pixels, of an image that repeats within it."""
    if not sampler.normalized:
        return coordinate
    if sampler.addressing == "repeat":
        coordinate = lax.sub(coordinate, lax.floor(coordinate))
    elif sampler.addressing == "mirrored_repeat":
        halves = lax.round(lax.mul(coordinate, _float(0.5)), lax.RoundingMethod.TO_NEAREST_EVEN)
        coordinate = lax.abs(lax.sub(coordinate, lax.mul(halves, _float(2))))
    return lax.mul(coordinate, _float(count))


def _addressed(sampler: Sampler, index: jax.Array, count: int) -> Tap:
    """A pixel by its number, which may be beyond the image."""
    match sampler.addressing:
        case "clamp_to_edge" | "mirrored_repeat":
            return Tap(_clamped(index, 0, count - 1))
        case "repeat":
            below, above = lax.lt(index, np.int32(0)), lax.ge(index, np.int32(count))
            turned = lax.select(above, lax.sub(index, np.int32(count)), index)
            return Tap(lax.select(below, lax.add(index, np.int32(count)), turned))
        case "clamp":
            return Tap(index, lax.bitwise_and(lax.ge(index, np.int32(0)), lax.lt(index, np.int32(count))))
    return Tap(index)
