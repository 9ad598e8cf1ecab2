"""Slices: memory operations on addresses that form a lattice, as reads and writes of one window of the memory."""

import dataclasses
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.devices.target import Target, Windows
from xeemu.emission import addressing, boxes, combining, frames, locating, serial
from xeemu.emission.addressing import Elements
from xeemu.emission.frames import Frame, Start
from xeemu.emission.locating import Lanes, Located
from xeemu.emission.neighbours import Neighbour
from xeemu.emission.values import Buffer, Chunk, Shared
from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge import analysis, lattices
from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.forms import Form
from xeemu.knowledge.lattices import Axis, Lattice
from xeemu.language import collectives


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """The window of a buffer that an access has its elements in.

    Attributes:
      starts, sizes: of the window in the buffer's data; of a box in the memory's shape.
      axis: the data's axis along which the elements of a group lie; None if the window is a box (see `boxes`).
      rows: groups that have elements of their own; 1 if all share them.
      before: axes of groups that the window has itself.
      lattice: the elements in the rest of it, of all rows if it has no axes of groups.
      frame: the elements as they are read and written; None if there are others between them.
    """

    starts: tuple[jax.Array, ...]
    sizes: tuple[int, ...]
    axis: int | None
    rows: int
    before: tuple[int, ...]
    lattice: Lattice
    frame: Frame | None

    def read(self, data: jax.Array, view: "View | None" = None) -> jax.Array:
        """`[rows, n]` elements."""
        found = self.shared(data, view)
        return found.of_groups(found.values)

    def shared(self, data: jax.Array, view: "View | None" = None) -> Shared:
        """The same with `[own groups, n]` elements."""
        groups = self.lattice.axes[: self._axes_of_groups]
        own = tuple(axis.size if axis.stride else 1 for axis in groups)
        sizes = (*own, *self.lattice.sizes[len(groups) :])
        # Every n-th element of a line is read faster as such than as a column of rows.
        is_line = len(self.lattice.runs) == 1 and self.lattice.runs[0].stride > 1
        if self.frame is not None and (self.axis is None or (view is None and not is_line)):
            found = lattices.arranged(self.frame.read(data), self.lattice, sizes)
        else:
            assert self.axis is not None
            line = data.reshape(-1) if len(self.starts) == 1 else data
            window = _cut(line, self.starts, self.sizes, self.axis, view).reshape(*self.before, self.lattice.span)
            found = lattices.elements(window, self.lattice, sizes)
        if not groups:
            return Shared((self.rows,), (self.rows,), found.reshape(self.rows, -1))
        return Shared(tuple(axis.size for axis in groups), own, found.reshape(math.prod(own), -1))

    def written(self, data: jax.Array, values: jax.Array, mask: jax.Array | None) -> jax.Array | None:
        """The data with other elements where the mask, if there is one, allows it; None if it cannot be done so.

        Args:
          data: the buffer's.
          values: `[G or 1, n or 1]`; of several values for one element the last is stored.
          mask: `[G or 1, n or 1]` or None.
        """
        if self.frame is None or not self.writable(mask):
            return None
        last = tuple(-1 if k in self._repeated else slice(None) for k in range(len(self._axes)))
        window = self._window(self._laid_out(values)[last])
        if mask is not None:
            window = jnp.where(self._window(self._laid_out(mask)), window, self.frame.read(data))
        return self.frame.written(data, window)

    @property
    def whole(self) -> bool:
        """Whether it can be written as a whole, and is all that there is."""
        return self.frame is not None and self.frame.sizes == self.frame.shape and not self._repeated

    def writable(self, mask: jax.Array | None) -> bool:
        """Whether it can be written, under a mask if there is one."""
        return self.frame is not None and (mask is None or not self._repeated)

    def combined(
        self, data: jax.Array, op: str, values: jax.Array, mask: jax.Array | None, target: Target
    ) -> jax.Array | None:
        """The data after an atomic operation has put all values for an element together with it, in any order.

        None if it cannot be done so.
        """
        if self.frame is None:
            return None
        within = "add" if op == "sub" else op
        neutral = collectives.identity(within, data.dtype)
        taking_part = values if mask is None else jnp.where(mask, values, neutral)
        total = self._window(combining.reduced(self._laid_out(taking_part), within, self._repeated, target))
        old = self.frame.read(data)
        new = serial.COMBINE[op](old, total)
        if within == "add":
            new = jnp.where(total == 0, old, new)  # -0.0 stays as it is where there is nothing to add
        return self.frame.written(data, new)

    def fits(self, elements: int, travel: int = 0) -> jax.Array:
        """Whether the window stays within a memory of so many elements when it travels so far."""
        assert self.axis is not None
        start = self.starts[self.axis]
        last = elements - self.sizes[self.axis] - max(travel, 0)
        return (start >= max(-travel, 0)) & (start <= last)

    def may_fit(self, elements: int, travel: int = 0) -> bool:
        """Whether there is a start from which it does."""
        return self.axis is not None and self.sizes[self.axis] + abs(travel) <= elements

    @property
    def _axes_of_groups(self) -> int:
        """How many of the lattice's axes are axes of groups."""
        reached = list(itertools.accumulate(self.lattice.sizes, operator.mul, initial=1))
        return 0 if self.before or self.rows not in reached else reached.index(self.rows)

    @property
    def _axes(self) -> tuple[int, ...]:
        return (*self.before, *self.lattice.sizes)

    @property
    def _repeated(self) -> tuple[int, ...]:
        """The axes along which elements are the same."""
        return tuple(len(self.before) + k for k, axis in enumerate(self.lattice.axes) if not axis.stride)

    def _laid_out(self, values: jax.Array) -> jax.Array:
        """`[G or 1, n or 1]` values along the axes."""
        return jnp.broadcast_to(values, (self.rows, math.prod(self._axes) // self.rows)).reshape(self._axes)

    def _window(self, values: jax.Array) -> jax.Array:
        """`[*before, *extents]`: the elements of the window, row by row."""
        return lattices.window(values, self.lattice)


def part(
    buffer: Buffer, address: Located, where: Lanes, varying: bool, chunk: Chunk, turns: Axis | None = None
) -> Part | None:
    """The window of an access, if its elements form a lattice in one.

    On a line of the memory it may reach out of bounds if the address may; else it is a box that does not.

    Args:
      buffer: the memory.
      address, where: the elements.
      varying: whether groups have values of their own.
      chunk: the work-groups.
      turns: iterations of a loop, of which the access is the first and all are meant.
    """
    found = _line(buffer, address, where, varying, chunk, turns)
    if (found is not None and found.frame is not None) or turns is not None or not address.known.proved:
        return found
    return box(buffer, address, where, varying, chunk, None) or found


def box(
    buffer: Buffer,
    address: Located,
    where: Lanes,
    varying: bool,
    chunk: Chunk,
    missing: Any,
    neighbour: Neighbour | None = None,
) -> Part | None:
    """The window of an access, if that is a box, where it may be out of bounds and then reads as `missing`."""
    found = boxes.of_address(buffer, address, where, varying, chunk, missing, neighbour)
    if found is None:
        return None
    lattice, frame = found
    return Part(frame.starts, frame.sizes, None, chunk.count if varying else 1, (), lattice, frame)


def _line(
    buffer: Buffer, address: Located, where: Lanes, varying: bool, chunk: Chunk, turns: Axis | None
) -> Part | None:
    """The window of an access, if its elements lie on a line of the memory."""
    if address.known.form is None or not where.count:
        return None
    if buffer.space == "private":
        return _private_part(buffer, address, where, chunk, turns or Axis(1, 1))
    lattice = _lattice(address.known.form, where.elements, buffer.space == "global", varying, chunk, turns)
    if lattice is None:
        return None
    rows = chunk.count if varying else 1
    start = locating.start(address.known.form, address.base, address.known.dtype, chunk, lattice.least)
    if buffer.origin is not None:
        start = lax.sub(start, buffer.origin_element(start.dtype))
    zero = start.dtype.type(0)
    outer = () if buffer.space == "global" else (chunk.count,)
    frame = _rows(start, buffer, address, lattice, chunk)
    data = (buffer.held_elements,) if buffer.space == "global" else buffer.data.shape
    frame = frame or frames.flat(lattice, start, data, outer)
    # One that is written has no others: putting those between the elements back takes longer than a scatter, and XLA
    # copies the memory for it.
    if frame is None and lattice.span > chunk.target.windows.widest * lattice.distinct:
        return None
    starts, sizes = (*[zero] * len(outer), start), (*outer, lattice.span)
    return Part(starts, sizes, len(outer), chunk.count if outer else rows, outer, lattice, frame)


def _lattice(
    form: Form, elements: Elements, shared: bool, varying: bool, chunk: Chunk, turns: Axis | None
) -> Lattice | None:
    """The lattice of the elements on a line of a memory that groups share or have each; None if they are none."""
    lattice, axes = lattices.of_pattern(form.pattern), chunk.axes(form)
    if lattice is None or axes is None or (not shared and any(axis.stride for axis in axes)):
        return None
    if elements.all:
        lattice = lattice.split(elements.shape)
    if turns is not None:
        lattice = lattice.along(turns)
    for axis in reversed(axes if shared and varying else []):
        lattice = lattice.along(axis)
    return lattice if lattice.apart else None


def rows_of_store(op: Op, plan: Plan, chunk: Chunk, buffer: Buffer) -> tuple[int, ...] | None:
    """The shape in which a store to global memory sees it as rows of rows; None if it does not, or may not.

    Args:
      op: the store.
      plan: what is known of its operands.
      chunk: the work-groups.
      buffer: the memory.
    """
    dimensions, mask = len(chunk.geometry.group_range), ops.mask(op)
    known = None if mask is None else plan.value(mask, dimensions).form
    if analysis.doubted(op, plan, dimensions) or (mask is not None and (known is None or not known.constant)):
        return None
    address = addressing.foreseen(op, plan, dimensions)
    form = address.form
    if form is None or form.based or not address.elements.count:
        return None
    lattice = _lattice(form, address.elements, True, True, chunk, None)
    if lattice is None or (lattice.dense and not buffer.alone):
        return None
    offset = int(form.pattern[0]) + lattice.least
    return frames.shape_of_rows(lattice, offset, _unit(form, buffer, chunk), buffer.held_elements)


def _rows(index: jax.Array, buffer: Buffer, address: Located, lattice: Lattice, chunk: Chunk) -> Frame | None:
    """The frame of rows of rows, where compilers profit from it."""
    if not chunk.target.gathers_one_by_one or (not buffer.alone and buffer.rows is None):
        return None
    if address.known.form is None or address.base is not None:
        return None
    unit = _unit(address.known.form, buffer, chunk)
    start = Start(index, int(address.known.form.pattern[0]) + lattice.least, unit)
    found = frames.of_rows(lattice, start, buffer.held_elements, buffer.alone)
    return found if buffer.alone or found is None or found.shape == buffer.rows else None


def _unit(form: Form, buffer: Buffer, chunk: Chunk) -> int:
    """By what the places of the first group of a chunk in a buffer may differ from its pattern: multiples of this."""
    begins = 0 if buffer.origin is None else buffer.origin.unit * buffer.row
    return math.gcd(chunk.unit(form), begins)


def _private_part(buffer: Buffer, address: Located, where: Lanes, chunk: Chunk, turns: Axis) -> Part | None:
    """All work-items access the same element, each its own copy, and the next one in the next of some iterations."""
    form, dtype = address.known.form, address.known.dtype
    one_each = where.all and len(where.shape) == len(chunk.geometry.local_range)
    if form is None or not form.uniform or not one_each or (form.pattern != form.pattern[0]).any():
        return None
    if abs(turns.stride) != 1:
        return None
    copies = chunk.count * where.count
    starts = (locating.start(form, address.base, dtype, chunk, min(turns.reach, 0)), dtype.type(0))
    along = Axis(turns.size, turns.stride * copies)
    axes = (Axis(chunk.count, where.count), along, Axis(where.count, 1)) if turns.size > 1 else (Axis(copies, 1),)
    lattice, sizes = Lattice(axes), (turns.size, copies)
    frame = Frame(starts, sizes, (buffer.elements, copies), lattice.extents, True)
    return Part(starts, sizes, 0 if turns.size > 1 else 1, chunk.count, (), lattice, frame)


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """A load in one of several iterations of a loop, in each of which it starts `move` elements further.

    Attributes:
      move: may be negative.
      turn, turns: which of how many iterations it is.
      windows: under `number` the window with the slices of all iterations, once the first one has been emitted.
      number: of the load.
      apart: whether each slice is cut for itself: on a CPU many work-items take up to twice as long with a window.
      figures: of the host.
    """

    move: int
    turn: int
    turns: int
    windows: dict[int, jax.Array]
    number: int
    apart: bool
    figures: Windows

    def is_longer(self, size: int) -> bool:
        """Whether a window would be more than the compiler keeps at hand, beside slices of a size."""
        return self.reach > max(self.figures.longest_streamed * size, self.figures.short_streamed)

    @property
    def reach(self) -> int:
        """How far apart the first and the last slice start."""
        return abs(self.move) * (self.turns - 1)

    def cut(self, data: jax.Array, starts: Sequence[jax.Array], sizes: Sequence[int], axis: int) -> jax.Array:
        """This iteration's slice, `sizes` from `starts`, which moves along an axis."""
        if not self.turn:
            back = self.reach if self.move < 0 else 0
            first, longer = list(starts), list(sizes)
            if back:
                first[axis] = lax.sub(first[axis], first[axis].dtype.type(back))
            longer[axis] += self.reach
            self.windows[self.number] = lax.dynamic_slice(data, first, longer, allow_negative_indices=False)
        place = self.move * self.turn + (self.reach if self.move < 0 else 0)
        return lax.slice_in_dim(self.windows[self.number], place, place + sizes[axis], axis=axis)


def _cut(data: jax.Array, starts: Sequence[jax.Array], sizes: Sequence[int], axis: int, view: View | None) -> jax.Array:
    """A slice of a buffer, along an axis on which further iterations of a loop may go on."""
    if view is None or view.apart or view.is_longer(sizes[axis]):
        return lax.dynamic_slice(data, starts, sizes, allow_negative_indices=False)
    return view.cut(data, starts, sizes, axis)
