"""Strided slices: elements of arrays at strided positions, as slices, reshapes and transpositions, and back.

These fuse with what uses them, where a gather looks up each element.
"""

import math
from collections.abc import Sequence

import jax
import numpy as np
from jax import lax

from xeemu.knowledge import strided_patterns
from xeemu.knowledge.strided_patterns import ConstantSlice, StridedPattern


def sliced(array: jax.Array, cut: ConstantSlice, lead: int, shape: Sequence[int]) -> jax.Array:
    """Elements that are a slice of an array, or of it laid flat.

    Args:
      array: `[*lead, ...]`.
      cut: the elements in what is behind the first axes.
      lead: how many axes come before.
      shape: of the elements.

    Returns:
      `[*lead, *shape]`.
    """
    before = array.shape[:lead]
    first, last = [0] * lead + [r.start for r in cut.box], [*before, *(r.stop for r in cut.box)]
    viewed = array.reshape(*before, *cut.shape)
    window = viewed if tuple(last) == viewed.shape and not any(first) else lax.slice(viewed, first, last)
    return of_rectangle(window, cut.strided, lead).reshape(*before, *shape)


def of_rectangle(
    values: jax.Array, strided: StridedPattern, lead: int, sizes: Sequence[int] | None = None
) -> jax.Array:
    """`[*lead, *sizes]` elements of a strided pattern that is injective, from a rectangle that has them.

    Args:
      values: `[*lead, ...]`: as many as there are different elements, or all on a line from the least to the greatest.
      strided: the addresses.
      lead: how many axes come before.
      sizes: see `arranged`.
    """
    before, rest = values.shape[:lead], values.shape[lead:]
    if math.prod(rest) == strided.distinct:
        return arranged(values.reshape(*before, *strided.extents), strided, sizes)
    return elements(values.reshape(*before, -1), strided, sizes)


def elements(window: jax.Array, strided: StridedPattern, sizes: Sequence[int] | None = None) -> jax.Array:
    """`[..., *sizes]` elements of a strided pattern that is injective.

    Args:
      window: `[..., span]` the memory from the least address to the greatest.
      strided: the addresses.
      sizes: see `arranged`.
    """
    spread = window
    for run in strided.runs:
        spread = _divided(spread, run.size, run.stride)
    return arranged(spread.reshape(*window.shape[:-1], *strided.extents), strided, sizes)


def arranged(values: jax.Array, strided: StridedPattern, sizes: Sequence[int] | None = None) -> jax.Array:
    """`[..., *sizes]` elements from the `[..., *extents]` different ones in the order in which a memory has them.

    Args:
      values: the different elements.
      strided: the addresses.
      sizes: of the axes, 1 for some that repeat elements; None for those of the strided.
    """
    before = values.shape[: values.ndim - len(strided.moving)]
    ordered = _transposed(_turned(values, strided), np.argsort(strided.moving))
    axes = [*range(len(before)), *(len(before) + k for k in sorted(strided.moving))]
    return lax.broadcast_in_dim(ordered, (*before, *(strided.sizes if sizes is None else sizes)), axes)


def window(values: jax.Array, strided: StridedPattern) -> jax.Array:
    """`[..., *extents]` in the order in which a memory has them, from `[..., *sizes]` elements without repetitions."""
    return _turned(_transposed(values, np.argsort(np.argsort(strided.moving))), strided)


def _divided(spread: jax.Array, size: int, stride: int) -> jax.Array:
    """`[..., length]` as `[..., size, what lies within one stride]`."""
    *before, length = spread.shape
    inner = length - (size - 1) * stride
    if inner == 1:
        return lax.slice(spread, [0] * spread.ndim, spread.shape, [*[1] * len(before), stride])[..., None]
    if stride > inner:
        fill = [(0, 0, 0)] * len(before) + [(0, stride - inner, 0)]
        spread = lax.pad(spread, spread.dtype.type(0), fill)
    return spread.reshape(*before, size, stride)[..., :inner]


def _transposed(array: jax.Array, order: np.ndarray) -> jax.Array:
    """With its last axes in another order."""
    first = array.ndim - len(order)
    return lax.transpose(array, (*range(first), *(first + int(k) for k in order)))


def _turned(ordered: jax.Array, strided: StridedPattern) -> jax.Array:
    """The moving axes, by falling distance and last of all, with those turned round that run backwards.

    Those that together are a single row are turned as one: compilers go backwards along several element by element.
    """
    before = ordered.shape[: ordered.ndim - len(strided.moving)]
    rows = strided_patterns.joined(strided.axes[k] for k in strided.moving)
    backwards = [len(before) + n for n, row in enumerate(rows) if row.stride < 0]
    if not backwards:
        return ordered
    return lax.rev(ordered.reshape(*before, *(row.size for row in rows)), backwards).reshape(ordered.shape)
