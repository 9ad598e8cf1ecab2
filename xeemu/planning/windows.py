"""Windows: rectangles of memories that have the elements of a reference, at strided addresses of them.

An address may go along work-items, groups and the iterations of a loop, by a constant along each of these axes. What is
known of its elements before the program runs is one window, however the memory is seen: as a line, as rows of rows, or
in its own shape, where a rectangle may reach a little beyond it. What lies there reads as poison, say, and is not
written.

A window without other elements between those of the reference can be written. Compilers go along the shape in which
something is written; along one axis for several, they would divide to find out which element is whose. Of data that are
updated more than once XLA makes a copy for an update of a slice in another shape than theirs, but none for a scatter of
that slice, unless there are uses in still other shapes.
"""

import dataclasses
import itertools
import math
import operator
from typing import Literal

import numpy as np

from xeemu.devices.host_figures import Reductions
from xeemu.knowledge.strided_patterns import StridedPattern
from xeemu.planning import row_reductions
from xeemu.planning.layouts import Sharing
from xeemu.planning.row_reductions import RowReduction

Margins = tuple[tuple[int, int], ...]
"""How far something reaches beyond each dimension of a memory at most, below and above."""


@dataclasses.dataclass(frozen=True, eq=False)
class Edge:
    """How a rectangle may reach beyond its memory.

    Attributes:
      margins: how far it does.
      missing: what lies beyond the memory reads as.
      by: how it is accessed: as a part of the memory with `padding`; with margins around it, always or in a `branch`
        where the program finds that it reaches beyond.
    """

    margins: Margins
    missing: np.ndarray
    by: Literal["padding", "margins", "branch"]

    @property
    def first(self) -> tuple[int, ...]:
        """Where the rectangle begins among itself and the margins."""
        return tuple(above for _, above in self.margins)


@dataclasses.dataclass(frozen=True, eq=False)
class Rectangle:
    """A rectangle of a memory's data, but for where it begins.

    Attributes:
      shape: in which the data are seen.
      sizes: of the rectangle in that shape.
      edge: how it may reach beyond the memory; None if it does not.
      sliced: true if an update of a slice is made in place: nothing else uses the data, or they have this shape anyway.
    """

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    edge: Edge | None = None
    sliced: bool = True

    @property
    def clipped_sizes(self) -> tuple[int, ...]:
        """The sizes of a rectangle that is as large, but not larger than the memory."""
        return tuple(map(min, self.sizes, self.shape))


@dataclasses.dataclass(frozen=True, eq=False)
class Start:
    """Where a window begins in the data as its rectangle sees them, from where the first group's first element lies.

    Attributes:
      further: how much further it begins: along each dimension of the memory, or one number along a line of it.
      axis: the axis along which that line goes, of which the others are taken as a whole; None if there is no line.
      rows: if the line is cut into rows of rows, one axis for each from `axis` on, their lengths, by falling length.
      offset, unit: a line in rows begins at `offset` plus a multiple of `unit`, or at `offset` if that is 0.
    """

    further: tuple[int, ...]
    axis: int | None = None
    rows: tuple[int, ...] = ()
    offset: int = 0
    unit: int = 0

    @property
    def rests(self) -> tuple[int | None, ...]:
        """For the rows of each length where in one of them it begins; None if that is not known."""
        return tuple(None if self.unit % row else self.offset % row for row in self.rows)


@dataclasses.dataclass(frozen=True, eq=False)
class Strip:
    """The windows of several iterations on a line, each a constant further, in one rectangle.

    Attributes:
      around: the rectangle, which has all of them.
      axis: along which they go on.
      before: elements of it before the first iteration's window.
      offsets: of each iteration where in it its window begins; None if that is all of it.
    """

    around: Rectangle
    axis: int
    before: int
    offsets: tuple[int, ...] | None


@dataclasses.dataclass(frozen=True, eq=False)
class Window:
    """A rectangle of a memory that has the elements of a reference.

    Attributes:
      start: where it begins.
      rectangle: the part of the memory.
      strided: the elements in it, of all groups that have their own; axes of groups come first.
      groups: how many have elements of their own; 1 if all share them.
      unaliased: true if it is written to an array that XLA takes for no other. XLA may write to an array in place
        although what it writes comes from elsewhere in the same array, if one of the two sees it in another shape (a
        fault of JAX 0.10.2 on CPUs).
      reduction: how long rows of values for one element are combined; None if the compiler's own reduction does that.
    """

    start: Start
    rectangle: Rectangle
    strided: StridedPattern
    groups: int
    unaliased: bool = False
    reduction: RowReduction | None = None

    @property
    def dense(self) -> bool:
        """True if there are no other elements in it."""
        return math.prod(self.rectangle.sizes) == self.strided.distinct

    @property
    def covers_memory(self) -> bool:
        """True if it can be written as a whole, and is all that there is."""
        return self.dense and self.rectangle.sizes == self.rectangle.shape and not self.repeated

    @property
    def line(self) -> "Window | None":
        """The same along a line of the memory, with what lies between the elements; None if they are on none."""
        if not self.start.rows:
            return None if self.start.axis is None else self
        whole = Rectangle((math.prod(self.rectangle.shape),), (self.strided.span,))
        return dataclasses.replace(self, start=Start(self.start.further, 0), rectangle=whole)

    @property
    def as_read(self) -> "Window":
        """The same as it is read: every n-th element of a line is read faster as such than as a column of rows."""
        is_column = len(self.strided.runs) == 1 and self.strided.runs[0].stride > 1
        return (self.line if is_column else None) or self

    def strip(self, move: int, iterations: int) -> Strip:
        """The windows of so many iterations, each so much further, where this one on a line is the first's."""
        axis, reach, sizes = self.start.axis, move * (iterations - 1), list(self.rectangle.sizes)
        assert axis is not None
        sizes[axis] += abs(reach)
        before = max(-reach, 0)
        offsets = tuple(before + move * k for k in range(iterations)) if move else None
        return Strip(dataclasses.replace(self.rectangle, sizes=tuple(sizes)), axis, before, offsets)

    def combining(self, dtype: np.dtype, figures: Reductions | None) -> "Window":
        """The same as values are put together with what it has, all those for one element first."""
        reduction = row_reductions.of_axes(self.strided.sizes, self.repeated, dtype, figures)
        return dataclasses.replace(self, reduction=reduction)

    def writable(self, masked: bool) -> bool:
        """True if it can be written, under a mask if there is one."""
        return self.dense and not (masked and self.repeated)

    def may_fit(self, elements: int, travel: int = 0) -> bool:
        """True where, on a line, it lies within so many elements from some start on, and all the way as it travels."""
        return self.line is not None and self.line.rectangle.sizes[-1] + abs(travel) <= elements

    @property
    def axes_of_groups(self) -> int:
        """How many of the pattern's axes are axes of groups."""
        reached = list(itertools.accumulate(self.strided.sizes, operator.mul, initial=1))
        return reached.index(self.groups) if self.groups in reached else 0

    @property
    def sharing(self) -> Sharing | None:
        """Which groups share elements: those along an axis on which nothing changes."""
        axes = self.strided.axes[: self.axes_of_groups]
        return Sharing.of([axis.size for axis in axes], [bool(axis.stride) for axis in axes])

    @property
    def own_sizes(self) -> tuple[int, ...]:
        """The sizes of the pattern's axes, 1 for those of groups that share elements."""
        axes, groups = self.strided.axes, self.axes_of_groups
        return tuple(1 if k < groups and not axis.stride else axis.size for k, axis in enumerate(axes))

    @property
    def elements(self) -> int:
        """Of a group that has its own."""
        return self.strided.count // self.groups

    @property
    def repeated(self) -> tuple[int, ...]:
        """The axes of the pattern along which elements are the same."""
        return tuple(k for k, axis in enumerate(self.strided.axes) if not axis.stride)
