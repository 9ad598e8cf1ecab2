"""Strided patterns: addresses at equal distances along a few axes, the numbers and strides of which describe them.

The addresses of a tile's rows, of its columns, or of a reversed or strided line are such; an axis of stride 0 repeats
elements. Reshapes and slices of a window fuse with what uses them, where a gather looks up each address.
"""

import dataclasses
import itertools
import math
import operator
from collections.abc import Iterable, Sequence

import numpy as np


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
class StridedPattern:
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
    def injective(self) -> bool:
        """True if different positions along the moving axes have different addresses, one inside the other."""
        inner = 1
        for k in reversed(self.moving):
            if abs(self.axes[k].stride) < inner:
                return False
            inner += abs(self.axes[k].reach)
        return True

    @property
    def dense(self) -> bool:
        """True if it is injective, and has all addresses of its window."""
        return self.injective and self.span == self.distinct

    @property
    def extents(self) -> tuple[int, ...]:
        """The sizes of the moving axes: of the window of a dense strided pattern, as rows of rows."""
        return tuple(self.axes[k].size for k in self.moving)

    @property
    def distinct(self) -> int:
        """The number of different addresses, if it is injective."""
        return math.prod(self.extents)

    def split(self, shape: tuple[int, ...]) -> "StridedPattern":
        """The same addresses, those of an array's elements in their order, by axes that keep to the array's."""
        axes: list[StridedAxis] = []
        rows = list(itertools.accumulate(reversed(shape), operator.mul))
        inner = 1
        for axis in reversed(self.axes):
            for row in rows:
                part, rest = divmod(row, inner)
                if 1 < part < axis.size and not rest and not axis.size % part:
                    axes.insert(0, StridedAxis(part, axis.stride))
                    axis, inner = StridedAxis(axis.size // part, axis.stride * part), row
            axes.insert(0, axis)
            inner *= axis.size
        return StridedPattern(tuple(axes))

    @property
    def runs(self) -> list[StridedAxis]:
        """The moving axes by falling distance, one for those that together are a single row of addresses."""
        return joined(StridedAxis(self.axes[k].size, abs(self.axes[k].stride)) for k in self.moving)

    def along(self, axis: StridedAxis) -> "StridedPattern":
        """The strided pattern again and again along one more axis, the slowest."""
        return StridedPattern((axis, *self.axes) if axis.size > 1 else self.axes)


def of_pattern(pattern: np.ndarray) -> StridedPattern | None:
    """The strided pattern of `[n]` addresses, in their order; None if they are none."""
    found = of_indices(pattern[:, None])
    return found[0] if found else None


def of_indices(indices: np.ndarray) -> list[StridedPattern] | None:
    """The strided pattern of each of several components of indices, along axes that they have in common.

    Args:
      indices: `[n, components]`, in their order.

    Returns:
      None if some component is no strided pattern along such axes.
    """
    sizes: list[int] = []
    strides: list[list[int]] = []
    rest = indices
    while len(rest) > 1:
        stride = rest[1] - rest[0]
        breaks = np.flatnonzero((np.diff(rest, axis=0) != stride).any(axis=1))
        size = int(breaks[0]) + 1 if len(breaks) else len(rest)
        if len(rest) % size:
            return None
        rows = rest.reshape(-1, size, indices.shape[1])
        if (np.diff(rows, axis=1) != stride).any():
            return None
        sizes.insert(0, size)
        strides.insert(0, stride.tolist())
        rest = rows[:, 0]
    return [StridedPattern(tuple(map(StridedAxis, sizes, (s[d] for s in strides)))) for d in range(indices.shape[1])]


def of_box(components: Sequence[StridedPattern]) -> StridedPattern | None:
    """The strided pattern of a box's elements, row by row; None unless each axis goes along one component, gapless.

    Args:
      components: of the indices in a memory of several dimensions, along axes that they have in common.
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
    return StridedPattern(tuple(axis for axis in axes if axis.size > 1))


def strides(shape: Sequence[int]) -> list[int]:
    """What one more in each component of an index adds to the linear index."""
    return [math.prod(shape[d + 1 :]) for d in range(len(shape))]


def joined(axes: Iterable[StridedAxis]) -> list[StridedAxis]:
    """Axes by falling distance, one for those that together are a single row of addresses in one direction."""
    rows: list[StridedAxis] = []
    for axis in axes:
        if rows and rows[-1].stride == axis.size * axis.stride:
            rows[-1] = StridedAxis(rows[-1].size * axis.size, axis.stride)
        else:
            rows.append(axis)
    return rows


@dataclasses.dataclass(frozen=True)
class ConstantSlice:
    """Some elements of an array, which it has at constant indices, as a slice of it.

    Attributes:
      shape: in which the array is seen: its own, or laid flat.
      box: where the slice lies along each axis.
      strided: the elements in the slice.
    """

    shape: tuple[int, ...]
    box: tuple[slice, ...]
    strided: StridedPattern


def cut(shape: Sequence[int], chosen: np.ndarray) -> ConstantSlice | None:
    """Elements of an array of a shape, by their flat positions, as a slice of it or of what is laid flat; or None."""
    if not len(chosen):
        return None
    if (found := _in_box(shape, chosen)) is not None:
        return found
    strided = of_pattern(chosen)
    if strided is None or not strided.injective:
        return None
    first = int(chosen[0]) + strided.least
    return ConstantSlice((math.prod(shape),), (slice(first, first + strided.span),), strided)


def _in_box(shape: Sequence[int], chosen: np.ndarray) -> ConstantSlice | None:
    """The box of an array of a shape that holds elements, by their flat positions, and no others; or None."""
    indices = np.stack(np.unravel_index(chosen, tuple(shape)), axis=1) if len(shape) else chosen[:, None]
    components = of_indices(indices)
    strided = of_box(components) if components else None
    if components is None or strided is None:
        return None
    first = [int(index) + component.least for index, component in zip(indices[0], components, strict=True)]
    box = tuple(slice(n, n + component.span) for n, component in zip(first, components, strict=True))
    return ConstantSlice(tuple(shape), box, strided)
