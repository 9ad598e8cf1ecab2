"""Sub-chunks: parts of a chunk's work-groups that are emulated side by side, each with memories of its own."""

import dataclasses
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from xeemu.emission.buffers import Buffer
from xeemu.emission.chunk import Chunk
from xeemu.emission.values import Emitted, Some


@dataclasses.dataclass(frozen=True, eq=False)
class SubChunk:
    """Consecutive work-groups of a chunk.

    Attributes:
      whole: the chunk.
      first: how many of its groups come before them.
      count: how many they are.
    """

    whole: Chunk
    first: int
    count: int

    @property
    def chunk(self) -> Chunk:
        """They, as a chunk of their own."""
        id_type = self.whole.geometry.id_type
        first = self.whole.first
        first = first + self.first if isinstance(first, int) else first + id_type.type(self.first)
        return dataclasses.replace(
            self.whole, first=first, count=self.count, alignment=math.gcd(self.whole.alignment, self.first)
        )

    def rows(self, array: jax.Array) -> jax.Array:
        """Theirs of an array with a leading axis of groups, or of 1."""
        return array if array.shape[0] == 1 else array[self.first : self.first + self.count]

    def item(self, item: Emitted | Buffer) -> Emitted | Buffer:
        """Theirs of a value or a memory."""
        return self._buffer(item) if isinstance(item, Buffer) else self._value(item)

    def _value(self, value: Emitted) -> Emitted:
        computed = value.array(self.whole) if value.computed is None and value.shared is not None else value.computed
        if computed is not None and value.known.varying:
            computed = self.rows(computed)
        some = value.some and self._of_some(value.some)
        return dataclasses.replace(value, computed=computed, some=some, shared=None, split=None)

    def _of_some(self, some: Some) -> Some:
        others = None if some.others is None else self.rows(some.others)
        return dataclasses.replace(some, values=self.rows(some.values), others=others)

    def _buffer(self, buffer: Buffer) -> Buffer:
        if buffer.space == "global":
            return buffer  # it is everybody's
        if buffer.space == "local":
            return buffer.holding(buffer.data[self.first : self.first + self.count])
        items = self.whole.geometry.items
        return buffer.holding(buffer.data[:, self.first * items : (self.first + self.count) * items])


def of_chunk(chunk: Chunk) -> list[SubChunk]:
    """Sub-chunks of equal size, as many as there can be."""
    count = next(n for n in range(chunk.sub_chunks, 0, -1) if chunk.count % n == 0)
    size = chunk.count // count
    return [SubChunk(chunk, k * size, size) for k in range(count)]


def together(buffer: Buffer, parts: Sequence[jax.Array]) -> Buffer:
    """A memory from what the sub-chunks have left of it."""
    axis = 0 if buffer.space == "local" else 1
    return buffer.holding(jnp.concatenate(parts, axis) if len(parts) > 1 else parts[0])
