"""Placed windows: windows where they begin when the program runs, read and written there."""

import dataclasses
import math

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.emission import fusion_barriers, ordered_atomics, positions, rectangles, row_reductions
from xeemu.emission.buffers import Buffer
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.positions import Located
from xeemu.emission.rectangles import Starts
from xeemu.emission.values import Groupwise
from xeemu.knowledge import strided_slices
from xeemu.language import collectives
from xeemu.planning.windows import Start, Strip, Window


@dataclasses.dataclass(frozen=True, eq=False)
class PlacedWindow:
    """A window and where it begins.

    Attributes:
      window: all that is known of it before.
      starts: of its rectangle.
    """

    window: Window
    starts: Starts

    def read(self, data: jax.Array) -> Groupwise:
        """`[own groups, n]` elements."""
        return self.of_rectangle(rectangles.read(self.window.rectangle, data, self.starts))

    def of_rectangle(self, values: jax.Array) -> Groupwise:
        """`[own groups, n]` elements from the values of its rectangle."""
        strided, sharing = self.window.strided, self.window.sharing
        found = strided_slices.of_rectangle(values, strided, 0, self.window.own_sizes)
        return Groupwise(found.reshape(math.prod(sharing.own) if sharing else self.window.groups, -1), sharing)

    def around(self, data: jax.Array, strip: Strip) -> jax.Array:
        """The rectangle that has the windows of several iterations, of which this is the first one's."""
        first = list(self.starts)
        if strip.before:
            first[strip.axis] = lax.sub(first[strip.axis], first[strip.axis].dtype.type(strip.before))
        return rectangles.read(strip.around, data, tuple(first))

    def of_iteration(self, number: int, around: jax.Array, strip: Strip) -> Groupwise:
        """`[own groups, n]` elements in the window of an iteration, from the rectangle that has all of them."""
        if strip.offsets is None:
            return self.of_rectangle(around)
        first = strip.offsets[number]
        last = first + self.window.rectangle.sizes[strip.axis]
        return self.of_rectangle(lax.slice_in_dim(around, first, last, axis=strip.axis))

    @property
    def _axis(self) -> int:
        """The axis along which the window goes on a line."""
        assert self.window.start.axis is not None
        return self.window.start.axis

    def written(self, data: jax.Array, values: jax.Array, mask: jax.Array | None) -> jax.Array:
        """The data with other elements where the mask, if there is one, allows it; the window is writable.

        Args:
          data: the buffer's.
          values: `[G or 1, n or 1]`; of several values for one element the last is stored.
          mask: `[G or 1, n or 1]` or None.
        """
        window, strided, data = self.window, self.window.strided, self._target(data)
        last = tuple(-1 if k in window.repeated else slice(None) for k in range(len(strided.axes)))
        new = strided_slices.window(self._laid_out(values)[last], strided)
        if mask is not None:
            new = jnp.where(strided_slices.window(self._laid_out(mask), strided), new, self._old(data))
        return rectangles.written(window.rectangle, data, new, self.starts)

    def combined(self, data: jax.Array, op: str, values: jax.Array, mask: jax.Array | None) -> jax.Array:
        """The data after an atomic operation has put all values for an element together with it, in any order.

        There are no other elements in the window.
        """
        window, data = self.window, self._target(data)
        within = "add" if op == "sub" else op
        neutral = collectives.identity(within, data.dtype)
        taking_part = values if mask is None else jnp.where(mask, values, neutral)
        reduced = row_reductions.reduced(self._laid_out(taking_part), within, window.repeated, window.reduction)
        total = strided_slices.window(reduced, window.strided)
        old = self._old(data)
        new = ordered_atomics.COMBINE[op](old, total)
        if within == "add":
            new = jnp.where(total == 0, old, new)  # -0.0 stays as it is where there is nothing to add
        return rectangles.written(window.rectangle, data, new, self.starts)

    def fits(self, elements: int, travel: int = 0) -> jax.Array:
        """True if the window stays on a line of so many elements when it travels so far."""
        start = self.starts[self._axis]
        last = elements - self.window.rectangle.sizes[self._axis] - max(travel, 0)
        return (start >= max(-travel, 0)) & (start <= last)

    def _target(self, data: jax.Array) -> jax.Array:
        """The data as the window is written to them."""
        return fusion_barriers.unaliased(data) if self.window.unaliased else data

    def _old(self, data: jax.Array) -> jax.Array:
        """`[*extents]` what the window has."""
        return rectangles.read(self.window.rectangle, data, self.starts).reshape(self.window.strided.extents)

    def _laid_out(self, values: jax.Array) -> jax.Array:
        """`[G or 1, n or 1]` values along the window's axes."""
        each = jnp.broadcast_to(values, (self.window.groups, self.window.elements))
        return each.reshape(self.window.strided.sizes)


def placed(window: Window, buffer: Buffer, address: Located, chunk: EmittedChunk) -> PlacedWindow:
    """The window of a reference where that lies.

    Args:
      window: of the reference.
      buffer, address: the memory and the elements.
      chunk: the work-groups.
    """
    return PlacedWindow(window, _starts(window.start, len(window.rectangle.shape), buffer, address, chunk))


def _starts(start: Start, rank: int, buffer: Buffer, address: Located, chunk: EmittedChunk) -> Starts:
    """Where a rectangle of so many dimensions begins in a buffer's data."""
    if start.axis is None:
        return positions.starts(buffer, address, start.further, chunk)
    known, (further,) = address.known, start.further
    assert known.form is not None
    first = positions.start(known.form, address.base, known.dtype, chunk, further)
    if buffer.origin is not None:
        first = lax.sub(first, buffer.origin_element(first.dtype))
    row_starts, zero = rectangles.in_rows(start, first), first.dtype.type(0)
    return (*[zero] * start.axis, *row_starts, *[zero] * (rank - start.axis - len(row_starts)))
