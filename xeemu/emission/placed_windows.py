"""Placed windows: strided windows where they begin when the program runs, read and written there."""

import dataclasses
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.devices.target import Target, Windows
from xeemu.emission import ordered_atomics, positions, reductions
from xeemu.emission.positions import Located
from xeemu.emission.row_views import Starts
from xeemu.emission.strided_windows import StridedWindow
from xeemu.emission.values import Buffer, Chunk, Shared
from xeemu.knowledge import lattices
from xeemu.language import collectives


@dataclasses.dataclass(frozen=True, eq=False)
class PlacedWindow:
    """A strided window and where it begins.

    Attributes:
      window: all that is known of it before.
      starts: of the window in the buffer's data; of a box in the memory's shape.
      corner: where its rectangle begins in the data as that sees them; empty if it has none.
    """

    window: StridedWindow
    starts: Starts
    corner: Starts

    def read(self, data: jax.Array, view: "View | None" = None) -> jax.Array:
        """`[rows, n]` elements."""
        found = self.shared(data, view)
        return found.of_groups(found.values)

    def shared(self, data: jax.Array, view: "View | None" = None) -> Shared:
        """The same with `[own groups, n]` elements."""
        window, lattice = self.window, self.window.lattice
        groups = lattice.axes[: window.axes_of_groups]
        own = tuple(axis.size if axis.stride else 1 for axis in groups)
        sizes = (*own, *lattice.sizes[len(groups) :])
        # Every n-th element of a line is read faster as such than as a column of rows.
        is_line = len(lattice.runs) == 1 and lattice.runs[0].stride > 1
        if window.rectangle is not None and (window.axis is None or (view is None and not is_line)):
            found = lattices.arranged(window.rectangle.read(data, self.corner), lattice, sizes)
        else:
            assert window.axis is not None
            line = data.reshape(-1) if len(self.starts) == 1 else data
            around = _cut(line, self.starts, window.sizes, window.axis, view).reshape(*window.before, lattice.span)
            found = lattices.elements(around, lattice, sizes)
        if not groups:
            return Shared((window.rows,), (window.rows,), found.reshape(window.rows, -1))
        return Shared(tuple(axis.size for axis in groups), own, found.reshape(math.prod(own), -1))

    def written(self, data: jax.Array, values: jax.Array, mask: jax.Array | None) -> jax.Array:
        """The data with other elements where the mask, if there is one, allows it; the window is writable.

        Args:
          data: the buffer's.
          values: `[G or 1, n or 1]`; of several values for one element the last is stored.
          mask: `[G or 1, n or 1]` or None.
        """
        window, rectangle = self.window, self.window.rectangle
        assert rectangle is not None
        last = tuple(-1 if k in window.repeated else slice(None) for k in range(len(window.axes)))
        new = lattices.window(self._laid_out(values)[last], window.lattice)
        if mask is not None:
            kept = lattices.window(self._laid_out(mask), window.lattice)
            new = jnp.where(kept, new, rectangle.read(data, self.corner))
        return rectangle.written(data, new, self.corner)

    def combined(
        self, data: jax.Array, op: str, values: jax.Array, mask: jax.Array | None, target: Target
    ) -> jax.Array:
        """The data after an atomic operation has put all values for an element together with it, in any order.

        The window has a rectangle.
        """
        window, rectangle = self.window, self.window.rectangle
        assert rectangle is not None
        within = "add" if op == "sub" else op
        neutral = collectives.identity(within, data.dtype)
        taking_part = values if mask is None else jnp.where(mask, values, neutral)
        reduced = reductions.reduced(self._laid_out(taking_part), within, window.repeated, target)
        total = lattices.window(reduced, window.lattice)
        old = rectangle.read(data, self.corner)
        new = ordered_atomics.COMBINE[op](old, total)
        if within == "add":
            new = jnp.where(total == 0, old, new)  # -0.0 stays as it is where there is nothing to add
        return rectangle.written(data, new, self.corner)

    def fits(self, elements: int, travel: int = 0) -> jax.Array:
        """Whether the window stays within a memory of so many elements when it travels so far."""
        axis = self.window.axis
        assert axis is not None
        start = self.starts[axis]
        last = elements - self.window.sizes[axis] - max(travel, 0)
        return (start >= max(-travel, 0)) & (start <= last)

    def _laid_out(self, values: jax.Array) -> jax.Array:
        """`[G or 1, n or 1]` values along the window's axes."""
        rows, axes = self.window.rows, self.window.axes
        return jnp.broadcast_to(values, (rows, math.prod(axes) // rows)).reshape(axes)


def placed(window: StridedWindow, buffer: Buffer, address: Located, chunk: Chunk) -> PlacedWindow:
    """The window of a reference where that lies.

    Args:
      window: of the reference.
      buffer, address: the memory and the elements.
      chunk: the work-groups.
    """
    starts = _starts(window, buffer, address, chunk)
    return PlacedWindow(window, starts, window.rectangle.starts(starts) if window.rectangle else ())


def _starts(window: StridedWindow, buffer: Buffer, address: Located, chunk: Chunk) -> Starts:
    """Where a window begins in the buffer's data."""
    if window.moving is None:
        return positions.starts(buffer, address, window.further, chunk)
    known, (further,) = address.known, window.further
    assert known.form is not None
    start = positions.start(known.form, address.base, known.dtype, chunk, further)
    if buffer.origin is not None:
        start = lax.sub(start, buffer.origin_element(start.dtype))
    zero = start.dtype.type(0)
    return tuple(start if axis == window.moving else zero for axis in range(len(window.sizes)))


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
