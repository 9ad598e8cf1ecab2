"""Strided windows: the window on a line of a memory, or in rows of rows of it, that has the elements of a reference."""

import itertools
import math
from collections.abc import Sequence

from xeemu.knowledge import strided_patterns
from xeemu.knowledge.forms import Form
from xeemu.knowledge.strided_patterns import StridedAxis, StridedPattern
from xeemu.planning import boundary_windows
from xeemu.planning.chunk import Chunk
from xeemu.planning.references import Reference
from xeemu.planning.windows import Rectangle, Start, Window


def of_reference(reference: Reference, chunk: Chunk, iterations: StridedAxis | None = None) -> Window | None:
    """The window of a reference, if its elements form a strided pattern in one.

    On a line of the memory it may reach out of bounds if the address may; else it is a box that does not.

    Args:
      reference: the elements.
      chunk: the work-groups.
      iterations: iterations of a loop, of which it is the first one's, and all are meant.
    """
    found = _line(reference, chunk, iterations)
    if (found is not None and found.dense) or iterations is not None or not reference.address.proved:
        return found
    return boundary_windows.inside(reference, chunk) or found


def may_be_checked(reference: Reference, window: Window, chunk: Chunk) -> bool:
    """True if the program itself may find that a window is within bounds.

    Only where a branch costs less than a gather.
    """
    storage = reference.storage
    flat = storage.space == "global" and len(storage.shape) == 1
    return chunk.target.skips_branches and flat and reference.address.exact and window.may_fit(storage.stored_elements)


def _line(reference: Reference, chunk: Chunk, iterations: StridedAxis | None) -> Window | None:
    """The window of a reference, if its elements lie on a line of the memory."""
    storage, form = reference.storage, reference.address.form
    if form is None or not reference.elements.count:
        return None
    if storage.space == "private":
        return _private(reference, chunk, iterations or StridedAxis(1, 1))
    strided = _strided(reference, form, chunk, iterations)
    if strided is None:
        return None
    if storage.space == "global":
        found = _rows(reference, form, strided, chunk)
        start, whole = Start((strided.least,), 0), Rectangle((storage.stored_elements,), (strided.span,))
        found = found or Window(start, whole, strided, chunk.count if reference.varying else 1)
    else:
        start, whole = Start((strided.least,), 1), Rectangle(storage.array, (chunk.count, strided.span))
        of_groups = StridedPattern((StridedAxis(chunk.count, strided.span), *strided.axes))
        found = Window(start, whole, of_groups, chunk.count)
    # One that is written has no others: putting those between the elements back takes longer than a scatter, and XLA
    # copies the memory for it.
    too_wide = not found.dense and strided.span > chunk.target.windows.widest * strided.distinct
    return None if too_wide else found


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
    return strided if strided.injective else None


def _rows(reference: Reference, form: Form, strided: StridedPattern, chunk: Chunk) -> Window | None:
    """The window in rows of rows of a global memory, where compilers profit from it."""
    storage = reference.storage
    if not chunk.target.gathers_one_by_one or (not storage.alone and storage.rows is None) or form.based:
        return None
    # The addresses of the first group of a chunk differ from its pattern by multiples of this.
    unit = math.gcd(chunk.unit(form), 0 if storage.unit is None else storage.unit * storage.row)
    found = in_rows(strided, int(form.pattern[0]) + strided.least, unit, storage.stored_elements, storage.alone)
    if found is None or not (storage.alone or found[1].shape == storage.rows):
        return None
    return Window(*found, strided, chunk.count if reference.varying else 1)


def in_rows(
    strided: StridedPattern, offset: int, unit: int, length: int, sliced: bool
) -> tuple[Start, Rectangle] | None:
    """The rectangle of a strided pattern that is injective in a memory of one axis, seen as rows of rows; or None.

    Args:
      strided: the elements.
      offset, unit: where the least of them is (see `Start`).
      length: of the memory.
      sliced: see `Rectangle`.
    """
    rows = tuple(row for k in strided.moving if (row := abs(strided.axes[k].stride)) > 1)
    if not rows or not _fit(strided, offset, unit, length, rows):
        return None
    shape = (length // rows[0], *(a // b for a, b in itertools.pairwise((*rows, 1))))
    sizes = (*strided.extents, 1)[: len(shape)]
    return Start((strided.least,), 0, rows, offset, unit), Rectangle(shape, sizes, None, sliced)


def _fit(strided: StridedPattern, offset: int, unit: int, length: int, rows: Sequence[int]) -> bool:
    """True if the memory consists of the rows, those of the shorter ones, and no row is left."""
    nested = all(not a % b for a, b in itertools.pairwise((length, *rows)))
    reaches = [abs(strided.axes[k].reach) for k in strided.moving]
    return nested and all(_within(row, offset, unit, 1 + sum(reaches[n + 1 :])) for n, row in enumerate(rows))


def _within(row: int, offset: int, unit: int, span: int) -> bool:
    """True if so many elements lie in one of the rows that a memory is cut into, wherever they may begin."""
    step = math.gcd(unit, row)
    return offset % step + span <= step


def _private(reference: Reference, chunk: Chunk, iterations: StridedAxis) -> Window | None:
    """All work-items access the same element, each its own copy, and the next one in the next of some iterations."""
    form, elements = reference.address.form, reference.elements
    one_each = elements.all and len(elements.shape) == len(chunk.geometry.local_range)
    if form is None or not form.uniform or not one_each or (form.pattern != form.pattern[0]).any():
        return None
    if abs(iterations.stride) != 1:
        return None
    copies = chunk.count * elements.count
    along = StridedAxis(iterations.size, iterations.stride * copies)
    by_iterations = (StridedAxis(chunk.count, elements.count), along, StridedAxis(elements.count, 1))
    strided = StridedPattern(by_iterations if iterations.size > 1 else (StridedAxis(copies, 1),))
    whole = Rectangle((reference.storage.elements, copies), (iterations.size, copies))
    return Window(Start((min(iterations.reach, 0),), 0), whole, strided, chunk.count)
