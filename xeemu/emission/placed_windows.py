"""Placed windows: strided windows where they begin when the program runs, read and written there."""

import dataclasses
import math

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.emission import ordered_atomics, positions, rectangles
from xeemu.emission.buffers import Buffer
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.positions import Located
from xeemu.emission.rectangles import Starts
from xeemu.emission.values import Groupwise
from xeemu.knowledge import strided_slices
from xeemu.language import collectives
from xeemu.planning.strided_windows import StridedWindow


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

    def read(self, data: jax.Array) -> Groupwise:
        """`[own groups, n]` elements."""
        if self.window.by_line or self.window.rectangle is None:
            return self.within(self.around(data), 0)
        return self.of_rectangle(rectangles.read(self.window.rectangle, data, self.corner))

    def of_rectangle(self, values: jax.Array) -> Groupwise:
        """`[own groups, n]` elements from the values of its rectangle."""
        return self._of_groups(strided_slices.arranged(values, self.window.strided, self._sizes))

    def around(self, data: jax.Array, before: int = 0, beyond: int = 0) -> jax.Array:
        """A line of the memory with the window, and with elements around it.

        Args:
          data: the buffer's.
          before, beyond: how many elements, not positive and not negative.
        """
        axis, first, sizes = self.window.axis, list(self.starts), list(self.window.sizes)
        assert axis is not None
        if before:
            first[axis] = lax.sub(first[axis], first[axis].dtype.type(-before))
        sizes[axis] += beyond - before
        line = data.reshape(-1) if len(self.starts) == 1 else data
        return lax.dynamic_slice(line, first, sizes, allow_negative_indices=False)

    def within(self, around: jax.Array, first: int) -> Groupwise:
        """`[own groups, n]` elements of a line around the window, in which that begins at some place."""
        window, axis = self.window, self.window.axis
        assert axis is not None
        whole = around.shape == window.sizes
        line = around if whole else lax.slice_in_dim(around, first, first + window.sizes[axis], axis=axis)
        line = line.reshape(*window.before, window.strided.span)
        return self._of_groups(strided_slices.elements(line, window.strided, self._sizes))

    @property
    def _sizes(self) -> tuple[int, ...]:
        """The sizes of the pattern's axes, 1 for those of groups that share elements."""
        axes, groups = self.window.strided.axes, self.window.axes_of_groups
        return tuple(1 if k < groups and not axis.stride else axis.size for k, axis in enumerate(axes))

    def _of_groups(self, found: jax.Array) -> Groupwise:
        sharing = self.window.sharing
        groups = math.prod(sharing.own) if sharing else self.window.rows
        return Groupwise(found.reshape(groups, -1), sharing)

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
        new = strided_slices.window(self._laid_out(values)[last], window.strided)
        if mask is not None:
            kept = strided_slices.window(self._laid_out(mask), window.strided)
            new = jnp.where(kept, new, rectangles.read(rectangle, data, self.corner))
        return rectangles.written(rectangle, data, new, self.corner)

    def combined(self, data: jax.Array, op: str, values: jax.Array, mask: jax.Array | None) -> jax.Array:
        """The data after an atomic operation has put all values for an element together with it, in any order.

        The window has a rectangle.
        """
        window, rectangle = self.window, self.window.rectangle
        assert rectangle is not None
        within = "add" if op == "sub" else op
        neutral = collectives.identity(within, data.dtype)
        taking_part = values if mask is None else jnp.where(mask, values, neutral)
        reduced = lax.reduce(self._laid_out(taking_part), neutral, collectives.COMBINE[within], window.repeated)
        total = strided_slices.window(reduced, window.strided)
        old = rectangles.read(rectangle, data, self.corner)
        new = ordered_atomics.COMBINE[op](old, total)
        if within == "add":
            new = jnp.where(total == 0, old, new)  # -0.0 stays as it is where there is nothing to add
        return rectangles.written(rectangle, data, new, self.corner)

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


def placed(window: StridedWindow, buffer: Buffer, address: Located, chunk: EmittedChunk) -> PlacedWindow:
    """The window of a reference where that lies.

    Args:
      window: of the reference.
      buffer, address: the memory and the elements.
      chunk: the work-groups.
    """
    starts = _starts(window, buffer, address, chunk)
    return PlacedWindow(window, starts, rectangles.starts(window.rectangle, starts) if window.rectangle else ())


def _starts(window: StridedWindow, buffer: Buffer, address: Located, chunk: EmittedChunk) -> Starts:
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
