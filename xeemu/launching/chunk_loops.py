"""Chunk loops: the chunks of a launch one after the other, of all of it or of one device's share."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import fusion_barriers
from xeemu.emission.buffers import PartOrigin
from xeemu.launching.chunking import ChunkedLaunch

Carry = tuple[list[jax.Array], Any]
"""The memories that a launch writes, and an observer's state."""


@dataclasses.dataclass(frozen=True)
class Share:
    """One of the shares that a launch's chunks are divided into, among devices or in pieces for threads.

    Attributes:
      number: of the share, a traced scalar.
      bounds: the first chunk of each share, and the end; the last share has what is left of a chunk as well, or the
        groups at the end, if they are emulated for themselves, as the first one has those at the beginning.
      origins: for the number of an argument of which the share has a part, where that begins.
      single: true if XLA divides nothing of it among threads.
    """

    number: jax.Array
    bounds: tuple[int, ...]
    origins: Mapping[int, PartOrigin] = dataclasses.field(default_factory=dict)
    single: bool = False


class Step(Protocol):
    """Carries out one chunk."""

    def __call__(self, first: Any, carry: Carry, left: int = 0) -> Carry:
        """What is carried after a chunk from a first group on: a full one, or that of the groups that are left."""


@dataclasses.dataclass(frozen=True)
class ChunkLoop:
    """The chunks of a launch.

    Attributes:
      cut: which work-groups are emulated together.
      id_type: the dtype of ids.
      step: carries out one.
      stored: gives the memories in the shapes in which full chunks store to them.
    """

    cut: ChunkedLaunch
    id_type: np.dtype
    step: Step
    stored: Callable[[list[jax.Array]], list[jax.Array]]

    def after_all(self, carry: Carry, copied: bool) -> Carry:
        """What is carried after all chunks.

        Args:
          carry: what is carried before them.
          copied: true if memories would be copied as the groups that are left store to a part of them.
        """
        cut = self.cut
        if cut.full > 1:
            carry = self._full(0, cut.full, carry)
        elif cut.full:
            carry = self.step(cut.first, carry)
        if cut.first:
            return lax.fori_loop(0, 2, self._at_end, carry)
        if not cut.remainder:
            return carry
        return fusion_barriers.in_branch(self._remainder, carry) if cut.full and copied else self._remainder(carry)

    def of_share(self, carry: Carry, share: Share) -> Carry:
        """What is carried after the chunks of a share; the first and the last one take what is left at the ends."""
        bounds = np.asarray(share.bounds, np.int32)
        low, high = jnp.asarray(bounds[:-1])[share.number], jnp.asarray(bounds[1:])[share.number]
        carry = self._full(low, high, carry)
        if not self.cut.remainder:
            return carry
        is_last = share.number == len(bounds) - 2
        if self.cut.first:
            return lax.fori_loop(jnp.where(share.number == 0, 0, 1), jnp.where(is_last, 2, 1), self._at_end, carry)
        return lax.cond(is_last, self._remainder, lambda c: c, carry)

    def _full(self, low: Any, high: Any, carry: Carry) -> Carry:
        """After the full chunks from a number up to another."""
        id_type, cut = self.id_type.type, self.cut

        def numbered(k: jax.Array, carry: Carry) -> Carry:
            return self.step(id_type(cut.first) + lax.convert_element_type(k, id_type) * id_type(cut.chunk), carry)

        memories, state = lax.fori_loop(low, high, numbered, (self.stored(carry[0]), carry[1]))
        return [m.reshape(-1) for m in memories], state

    def _at_end(self, k: jax.Array, carry: Carry) -> Carry:
        """After the groups that are left before the full chunks, k being 0, or behind them, k being 1."""
        first = self.id_type.type(self.cut.groups - self.cut.remainder)
        return self.step(lax.convert_element_type(k, first.dtype) * first, carry, self.cut.remainder)

    def _remainder(self, carry: Carry) -> Carry:
        """After the groups that are left behind the full chunks."""
        return self.step(self.cut.full * self.cut.chunk, carry, self.cut.remainder)
