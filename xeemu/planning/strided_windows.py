"""Strided windows: which references to a memory have their elements, a strided pattern, in one window of it."""

import dataclasses
import itertools
import math
import operator

from xeemu.knowledge import strided_patterns
from xeemu.knowledge.forms import Form
from xeemu.knowledge.strided_patterns import StridedAxis, StridedPattern
from xeemu.planning import boundary_windows, row_views
from xeemu.planning.boundary_windows import Box
from xeemu.planning.chunk import Chunk
from xeemu.planning.layouts import Sharing
from xeemu.planning.references import Reference
from xeemu.planning.row_views import Rectangle
from xeemu.planning.storage import Storage


@dataclasses.dataclass(frozen=True, eq=False)
class StridedWindow:
    """The window of an array that has the elements of a reference, but for where it begins.

    Attributes:
      further: how much further it begins than the first element of the first group: along each dimension of the memory,
        or by one number along its only axis that begins elsewhere than at 0.
      sizes: of the window in the array, or of a box in the memory's shape.
      moving: the array's axis along which it begins elsewhere than at 0; None if the window is a box.
      axis: the array's axis along which the elements of a group lie; None if the window is a box.
      rows: groups that have elements of their own; 1 if all share them.
      before: axes of groups that the window has itself.
      strided: the elements in the rest of it, of all rows if it has no axes of groups.
      rectangle: the elements as they are read and written; None if there are others between them.
      in_line: whether a line of the memory is read along itself, as others of it are.
    """

    further: tuple[int, ...]
    sizes: tuple[int, ...]
    moving: int | None
    axis: int | None
    rows: int
    before: tuple[int, ...]
    strided: StridedPattern
    rectangle: Rectangle | None
    in_line: bool = False

    @property
    def by_line(self) -> bool:
        """Whether it is read along a line of the memory, and not as its rectangle."""
        if self.rectangle is None:
            return True
        # Every n-th element of a line is read faster as such than as a column of rows.
        apart = len(self.strided.runs) == 1 and self.strided.runs[0].stride > 1
        return self.axis is not None and (self.in_line or apart)

    @property
    def whole(self) -> bool:
        """Whether it can be written as a whole, and is all that there is."""
        return self.rectangle is not None and self.rectangle.sizes == self.rectangle.shape and not self.repeated

    def writable(self, masked: bool) -> bool:
        """Whether it can be written, under a mask if there is one."""
        return self.rectangle is not None and not (masked and self.repeated)

    def may_fit(self, elements: int, travel: int = 0) -> bool:
        """Whether it lies within a memory of so many elements from some start on, and all the way as it travels."""
        return self.axis is not None and self.sizes[self.axis] + abs(travel) <= elements

    @property
    def axes_of_groups(self) -> int:
        """How many of the pattern's axes are axes of groups."""
        reached = list(itertools.accumulate(self.strided.sizes, operator.mul, initial=1))
        return 0 if self.before or self.rows not in reached else reached.index(self.rows)

    @property
    def sharing(self) -> Sharing | None:
        """Which groups share elements: those along an axis on which nothing changes."""
        axes = self.strided.axes[: self.axes_of_groups]
        return Sharing.of([axis.size for axis in axes], [bool(axis.stride) for axis in axes])

    @property
    def axes(self) -> tuple[int, ...]:
        """The sizes of all its axes, those of groups and those of a group's elements."""
        return (*self.before, *self.strided.sizes)

    @property
    def elements(self) -> int:
        """Of a group that has its own."""
        return math.prod(self.axes) // self.rows

    @property
    def repeated(self) -> tuple[int, ...]:
        """The axes along which elements are the same."""
        return tuple(len(self.before) + k for k, axis in enumerate(self.strided.axes) if not axis.stride)


def of_reference(reference: Reference, chunk: Chunk, iterations: StridedAxis | None = None) -> StridedWindow | None:
    """The window of a reference, if its elements form a strided pattern in one.

    On a line of the memory it may reach out of bounds if the address may; else it is a box that does not.

    Args:
      reference: the elements.
      chunk: the work-groups.
      iterations: iterations of a loop, of which it is the first one's, and all are meant.
    """
    found = _line(reference, chunk, iterations)
    if (found is not None and found.rectangle is not None) or iterations is not None or not reference.address.proved:
        return found
    return box(reference, boundary_windows.inside(reference, chunk), chunk) or found


def box(reference: Reference, found: Box | None, chunk: Chunk) -> StridedWindow | None:
    """The window of a reference that is a box, see `boundary_windows`; None for None."""
    if found is None:
        return None
    strided, rectangle, further = found
    rows = chunk.count if reference.varying else 1
    return StridedWindow(further, rectangle.sizes, None, None, rows, (), strided, rectangle)


def may_be_checked(reference: Reference, window: StridedWindow, chunk: Chunk) -> bool:
    """Whether the program itself may find that a window is within bounds.

    Only where a branch costs less than a gather.
    """
    storage = reference.storage
    flat = storage.space == "global" and len(storage.shape) == 1
    return chunk.target.skips_branches and flat and reference.address.exact and window.may_fit(storage.held_elements)


def _line(reference: Reference, chunk: Chunk, iterations: StridedAxis | None) -> StridedWindow | None:
    """The window of a reference, if its elements lie on a line of the memory."""
    storage, form, varying = reference.storage, reference.address.form, reference.varying
    if form is None or not reference.elements.count:
        return None
    if storage.space == "private":
        return _private(reference, chunk, iterations or StridedAxis(1, 1))
    strided = _strided(reference, form, chunk, iterations)
    if strided is None:
        return None
    outer = () if storage.space == "global" else (chunk.count,)
    data = (storage.held_elements,) if storage.space == "global" else storage.array
    rectangle = _rows(form, storage, strided, chunk) or row_views.flat(strided, data, outer)
    # One that is written has no others: putting those between the elements back takes longer than a scatter, and XLA
    # copies the memory for it.
    if rectangle is None and strided.span > chunk.target.windows.widest * strided.distinct:
        return None
    axis, rows = len(outer), chunk.count if outer or varying else 1
    return StridedWindow((strided.least,), (*outer, strided.span), axis, axis, rows, outer, strided, rectangle)


def _strided(reference: Reference, form: Form, chunk: Chunk, iterations: StridedAxis | None) -> StridedPattern | None:
    """The strided pattern of the elements on a line of a memory that groups share or have each, or None."""
    elements, shared = reference.elements, reference.storage.space == "global"
    strided, axes = strided_patterns.of_pattern(form.pattern), chunk.axes(form)
    if strided is None or axes is None or (not shared and any(axis.stride for axis in axes)):
        return None
    if elements.all:
        strided = strided.split(elements.shape)
    if iterations is not None:
        strided = strided.along(iterations)
    for axis in reversed(axes if shared and reference.varying else []):
        strided = strided.along(axis)
    return strided if strided.apart else None


def _rows(form: Form, storage: Storage, strided: StridedPattern, chunk: Chunk) -> Rectangle | None:
    """The rectangle of rows of rows, where compilers profit from it."""
    if not chunk.target.gathers_one_by_one or (not storage.alone and storage.rows is None) or form.based:
        return None
    offset = int(form.pattern[0]) + strided.least
    # The places of the first group of a chunk differ from its pattern by multiples of this.
    unit = math.gcd(chunk.unit(form), 0 if storage.unit is None else storage.unit * storage.row)
    found = row_views.of_rows(strided, offset, unit, storage.held_elements, storage.alone)
    return found if storage.alone or found is None or found.shape == storage.rows else None


def _private(reference: Reference, chunk: Chunk, iterations: StridedAxis) -> StridedWindow | None:
    """All work-items access the same element, each its own copy, and the next one in the next of some iterations."""
    form, elements = reference.address.form, reference.elements
    one_each = elements.all and len(elements.shape) == len(chunk.geometry.local_range)
    if form is None or not form.uniform or not one_each or (form.pattern != form.pattern[0]).any():
        return None
    if abs(iterations.stride) != 1:
        return None
    copies = chunk.count * elements.count
    along = StridedAxis(iterations.size, iterations.stride * copies)
    several = iterations.size > 1
    by_iterations = (StridedAxis(chunk.count, elements.count), along, StridedAxis(elements.count, 1))
    axes = by_iterations if several else (StridedAxis(copies, 1),)
    strided, sizes = StridedPattern(axes), (iterations.size, copies)
    rectangle = Rectangle(sizes, (reference.storage.elements, copies), strided.extents, True)
    further = (min(iterations.reach, 0),)
    return StridedWindow(further, sizes, 0, 0 if several else 1, chunk.count, (), strided, rectangle)
