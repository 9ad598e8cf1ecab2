"""Lattices: addresses at equal distances along a few axes, and their elements as parts of one window of a memory.

The addresses of a tile's rows, of its columns, or of a reversed or strided line are such; an axis of stride 0 repeats
elements. Reshapes and slices of a window fuse with what uses them, where a gather looks up each address.
"""

import dataclasses
import itertools
import math
import operator
from collections.abc import Iterable, Sequence

import jax
import numpy as np
from jax import lax

# Compilers go along a shorter row element by element.
_SHORTEST_ROW = 16


@dataclasses.dataclass(frozen=True)
class StridedAxis:
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

    axes: tuple[StridedAxis, ...]

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
        axes: list[StridedAxis] = []
        rows = [n for n in itertools.accumulate(reversed(shape), operator.mul) if n >= _SHORTEST_ROW]
        inner = 1
        for axis in reversed(self.axes):
            for row in rows:
                part, rest = divmod(row, inner)
                if 1 < part < axis.size and not rest and not axis.size % part:
                    axes.insert(0, StridedAxis(part, axis.stride))
                    axis, inner = StridedAxis(axis.size // part, axis.stride * part), row
            axes.insert(0, axis)
            inner *= axis.size
        return Lattice(tuple(axes))

    @property
    def runs(self) -> list[StridedAxis]:
        """The moving axes by falling distance, one for those that together are a single row of addresses."""
        return joined(StridedAxis(self.axes[k].size, abs(self.axes[k].stride)) for k in self.moving)

    def along(self, axis: StridedAxis) -> "Lattice":
        """The lattice again and again along one more axis, the slowest."""
        return Lattice((axis, *self.axes) if axis.size > 1 else self.axes)


def of_pattern(pattern: np.ndarray) -> Lattice | None:
    """The lattice of `[n]` addresses, in their order; None if they are none."""
    found = of_places(pattern[:, None])
    return found[0] if found else None


def of_places(places: np.ndarray) -> list[Lattice] | None:
    """The lattice of each of several components of places, along axes that they have in common.

    Args:
      places: `[n, components]`, in their order.

    Returns:
      None if some component is no lattice along such axes.
    """
    sizes: list[int] = []
    strides: list[list[int]] = []
    rest = places
    while len(rest) > 1:
        stride = rest[1] - rest[0]
        breaks = np.flatnonzero((np.diff(rest, axis=0) != stride).any(axis=1))
        size = int(breaks[0]) + 1 if len(breaks) else len(rest)
        if len(rest) % size:
            return None
        rows = rest.reshape(-1, size, places.shape[1])
        if (np.diff(rows, axis=1) != stride).any():
            return None
        sizes.insert(0, size)
        strides.insert(0, stride.tolist())
        rest = rows[:, 0]
    return [Lattice(tuple(map(StridedAxis, sizes, (s[d] for s in strides)))) for d in range(places.shape[1])]


def of_box(components: Sequence[Lattice]) -> Lattice | None:
    """The lattice of a box's elements, row by row; None unless each axis goes along one component, without gaps.

    Args:
      components: of the places in a memory of several dimensions, along axes that they have in common.
    """
    if not all(component.dense for component in components):
        return None
    rows = strides([component.span for component in components])
    axes = []
    for same in zip(*(component.axes for component in components), strict=True):
        moving = [axis.stride * row for axis, row in zip(same, rows, strict=True) if axis.stride]
        if len(moving) > 1 and same[0].size > 1:
            return None
        axes.append(StridedAxis(same[0].size, sum(moving)))
    return Lattice(tuple(axis for axis in axes if axis.size > 1))


def strides(shape: Sequence[int]) -> list[int]:
    """What one more in each component of an index adds to the linear index."""
    return [math.prod(shape[d + 1 :]) for d in range(len(shape))]


def elements(window: jax.Array, lattice: Lattice, sizes: Sequence[int] | None = None) -> jax.Array:
    """`[..., *sizes]` elements of a lattice that is apart.

    Args:
      window: `[..., span]` the memory from the least address to the greatest.
      lattice: the addresses.
      sizes: see `arranged`.
    """
    spread = window
    for run in lattice.runs:
        spread = _divided(spread, run.size, run.stride)
    return arranged(spread.reshape(*window.shape[:-1], *lattice.extents), lattice, sizes)


def arranged(values: jax.Array, lattice: Lattice, sizes: Sequence[int] | None = None) -> jax.Array:
    """`[..., *sizes]` elements from the `[..., *extents]` different ones in the order in which a memory has them.

    Args:
      values: the different elements.
      lattice: the addresses.
      sizes: of the axes, 1 for some that repeat elements; None for those of the lattice.
    """
    before = values.shape[: values.ndim - len(lattice.moving)]
    ordered = _transposed(_turned(values, lattice), np.argsort(lattice.moving))
    axes = [*range(len(before)), *(len(before) + k for k in sorted(lattice.moving))]
    return lax.broadcast_in_dim(ordered, (*before, *(lattice.sizes if sizes is None else sizes)), axes)


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
    """The moving axes, by falling distance and last of all, with those turned round that run backwards.

    Those that together are a single row are turned as one: compilers go backwards along several element by element.
    """
    before = ordered.shape[: ordered.ndim - len(lattice.moving)]
    rows = joined(lattice.axes[k] for k in lattice.moving)
    backwards = [len(before) + n for n, row in enumerate(rows) if row.stride < 0]
    if not backwards:
        return ordered
    return lax.rev(ordered.reshape(*before, *(row.size for row in rows)), backwards).reshape(ordered.shape)


def joined(axes: Iterable[StridedAxis]) -> list[StridedAxis]:
    """Axes by falling distance, one for those that together are a single row of addresses in one direction."""
    rows: list[StridedAxis] = []
    for axis in axes:
        if rows and rows[-1].stride == axis.size * axis.stride:
            rows[-1] = StridedAxis(rows[-1].size * axis.size, axis.stride)
        else:
            rows.append(axis)
    return rows


def is_sliced(shape: Sequence[int], chosen: np.ndarray) -> bool:
    """Whether elements of an array of a shape, by their flat positions, are a slice of it or of what is laid flat."""
    if not len(chosen):
        return False
    components = of_places(places_in(shape, chosen))
    lattice = of_pattern(chosen)
    return bool(components and of_box(components)) or (lattice is not None and lattice.apart)


def places_in(shape: Sequence[int], chosen: np.ndarray) -> np.ndarray:
    """`[n, dimensions]`: where elements of an array of a shape are along its axes, by their flat positions."""
    return np.stack(np.unravel_index(chosen, tuple(shape)), axis=1)
