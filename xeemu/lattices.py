"""Lattices: addresses at equal distances along a few axes, and their elements as parts of one window of a memory.

The addresses of a tile's rows, of its columns, or of a reversed or strided line are such; an axis of stride 0 repeats
elements. Reshapes and slices of a window fuse with what uses them, where a gather looks up each address.
"""

import dataclasses
import itertools
import math
import operator

import jax
import numpy as np
from jax import lax

# Compilers go along a shorter row element by element.
_SHORTEST_ROW = 16


@dataclasses.dataclass(frozen=True)
class Axis:
    """`size` addresses, `stride` apart; the stride may be 0 or negative."""

    size: int
    stride: int

    @property
    def reach(self) -> int:
        """How far the last address is from the first."""
        return (self.size - 1) * self.stride


@dataclasses.dataclass(frozen=True)
class Lattice:
    """Addresses relative to the first one: the sums of one address of each axis, the last axis running fastest."""

    axes: tuple[Axis, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def count(self) -> int:
        return math.prod(self.sizes)

    @property
    def least(self) -> int:
        """The least address, at most 0."""
        return sum(min(axis.reach, 0) for axis in self.axes)

    @property
    def span(self) -> int:
        """Addresses from the least one to the greatest, both counted."""
        return 1 + sum(abs(axis.reach) for axis in self.axes)

    @property
    def moving(self) -> tuple[int, ...]:
        """The axes that do not repeat elements, by falling distance."""
        numbers = [k for k, axis in enumerate(self.axes) if axis.stride]
        return tuple(sorted(numbers, key=lambda k: -abs(self.axes[k].stride)))

    @property
    def apart(self) -> bool:
        """Whether different positions along the moving axes have different addresses, one inside the other."""
        inner = 1
        for k in reversed(self.moving):
            if abs(self.axes[k].stride) < inner:
                return False
            inner += abs(self.axes[k].reach)
        return True

    @property
    def dense(self) -> bool:
        """Whether it is apart, and has all addresses of its window."""
        return self.apart and self.span == self.distinct

    @property
    def extents(self) -> tuple[int, ...]:
        """The sizes of the moving axes: of the window of a dense lattice, as rows of rows."""
        return tuple(self.axes[k].size for k in self.moving)

    @property
    def distinct(self) -> int:
        """The number of different addresses, if it is apart."""
        return math.prod(self.extents)

    def split(self, shape: tuple[int, ...]) -> "Lattice":
        """The same addresses, those of an array's elements in their order, by axes that keep to the array's.

        An axis of the array stays together with the next one where that is short.
        """
        axes: list[Axis] = []
        rows = [n for n in itertools.accumulate(reversed(shape), operator.mul) if n >= _SHORTEST_ROW]
        inner = 1
        for axis in reversed(self.axes):
            for row in rows:
                part, rest = divmod(row, inner)
                if 1 < part < axis.size and not rest and not axis.size % part:
                    axes.insert(0, Axis(part, axis.stride))
                    axis, inner = Axis(axis.size // part, axis.stride * part), row
            axes.insert(0, axis)
            inner *= axis.size
        return Lattice(tuple(axes))

    def along(self, axis: Axis) -> "Lattice":
        """The lattice again and again along one more axis, the slowest."""
        return Lattice((axis, *self.axes) if axis.size > 1 else self.axes)


def of_pattern(pattern: np.ndarray) -> Lattice | None:
    """The lattice of `[n]` addresses, in their order; None if they are none."""
    axes: list[Axis] = []
    rest = pattern
    while len(rest) > 1:
        stride = int(rest[1] - rest[0])
        breaks = np.flatnonzero(np.diff(rest) != stride)
        size = int(breaks[0]) + 1 if len(breaks) else len(rest)
        if len(rest) % size:
            return None
        rows = rest.reshape(-1, size)
        if (np.diff(rows, axis=1) != stride).any():
            return None
        axes.insert(0, Axis(size, stride))
        rest = rows[:, 0]
    return Lattice(tuple(axes))


def elements(window: jax.Array, lattice: Lattice) -> jax.Array:
    """`[..., *sizes]` elements of a lattice that is apart.

    Args:
      window: `[..., span]` the memory from the least address to the greatest.
      lattice: the addresses.
    """
    spread = window
    for k in lattice.moving:
        spread = _divided(spread, lattice.axes[k].size, abs(lattice.axes[k].stride))
    return arranged(spread[..., 0], lattice)


def arranged(values: jax.Array, lattice: Lattice) -> jax.Array:
    """`[..., *sizes]` elements from the `[..., *extents]` different ones in the order in which a memory has them."""
    before = values.shape[: values.ndim - len(lattice.moving)]
    ordered = _transposed(_turned(values, lattice), np.argsort(lattice.moving))
    axes = [*range(len(before)), *(len(before) + k for k in sorted(lattice.moving))]
    return lax.broadcast_in_dim(ordered, (*before, *lattice.sizes), axes)


def window(values: jax.Array, lattice: Lattice) -> jax.Array:
    """`[..., *extents]` in the order in which a memory has them, from `[..., *sizes]` elements without repetitions."""
    return _turned(_transposed(values, np.argsort(np.argsort(lattice.moving))), lattice)


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


def _turned(ordered: jax.Array, lattice: Lattice) -> jax.Array:
    """The moving axes, by falling distance and last of all, with those turned round that run backwards."""
    first = ordered.ndim - len(lattice.moving)
    backwards = [first + n for n, k in enumerate(lattice.moving) if lattice.axes[k].stride < 0]
    return lax.rev(ordered, backwards) if backwards else ordered
