"""Observer: what may watch a program while it is interpreted.

The interpreter tells an observer of every operation as it emits it, and carries the observer's state, a pytree, through
loops and branches. This base class watches nothing and has no state, so that with it not one operation more is emitted.
"""

import dataclasses
import math
from collections.abc import Sequence, Set
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.buffers import Buffer
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import Item
from xeemu.emission.positions import ActiveElements, Located
from xeemu.emission.values import Emitted
from xeemu.ir.program import Op
from xeemu.knowledge import termination
from xeemu.knowledge.analysis import Facts

# Of a loop that tests a predicate, unless the user says otherwise.
MAX_ITERATIONS = 1_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class AccessEvent:
    """One memory operation as it is emitted.

    Attributes:
      facts: the call path.
      number: of the operation in the path's body.
      buffer: the memory before it.
      address: where its elements lie.
      lanes: which of them take part; for a load as if all groups and work-items of the chunk ran.
      running: `[G]` mask of the groups that execute it, or None for all.
      present: `[G, L]` mask of the work-items that exist, or None for all.
      indices: the components of its index.
      values: what it stores or combines with the memory.
      unset: true if what it stores counts as not written.
    """

    facts: Facts
    number: int
    buffer: Buffer
    address: Located
    lanes: ActiveElements
    running: jax.Array | None
    present: jax.Array | None
    indices: tuple[Emitted, ...]
    values: tuple[Emitted, ...]
    unset: bool = False

    def active(self, items: int) -> jax.Array:
        """`[G or 1, n or 1]` true where a lane takes part, within bounds or not; `items` of a group."""
        executing = self.executing(items)
        return executing if self.lanes.mask is None else executing & self.lanes.mask

    def executing(self, items: int) -> jax.Array:
        """`[G or 1, n or 1]` true where a lane comes to the access, masked out or not; `items` of a group."""
        present = self._present(items)
        executing = jnp.ones((1, 1), bool) if present is None else present
        return executing if self.running is None else executing & self.running[:, None]

    def active_lanes(self, items: int) -> jax.Array:
        """`[G or 1, n or 1]` true where a lane accesses its element; `items` of a group."""
        active = self.active(items)
        inside = self.address.inside
        return active if inside is None else active & inside

    def items(self, items: int) -> np.ndarray:
        """`[n]` the work-item of each element, of an access by each work-item; `items` of a group."""
        return self.lanes.chosen // (math.prod(self.lanes.shape) // items)

    def _present(self, items: int) -> jax.Array | None:
        """`[G, n or 1]` true where the work-item of each element exists."""
        if self.present is None:
            return None
        return self.present[:, self.items(items)] if self.lanes.shape else self.present[:, :1]


@dataclasses.dataclass(frozen=True, eq=False)
class Passage:
    """One barrier, or one group algorithm that not all work-items need reach, as it is emitted.

    Attributes:
      facts: the call path.
      number: of the operation in the path's body.
      mask: the work-items that reach it, or None for all.
      running: `[G]` mask of the groups that execute it, or None for all.
    """

    facts: Facts
    number: int
    mask: Emitted | None
    running: jax.Array | None


@dataclasses.dataclass(frozen=True, eq=False)
class ResultEvent:
    """One operation that is no access, as it has been emitted.

    Attributes:
      facts: the call path.
      number: of the operation in the path's body.
      op: the operation.
      operands: what goes into it.
      results: what it gives.
      running: `[G]` mask of the groups that execute it, or None for all.
    """

    facts: Facts
    number: int
    op: Op
    operands: Sequence[Item]
    results: Sequence[Item]
    running: jax.Array | None


class Observer:
    """Watches nothing.

    JAX may trace a loop's body more than once; what is told then is told again, with the state from before.

    Attributes:
      watches: true if there is anything to tell it; if not, loops test their predicates where JAX does.
      limits: after how many iterations loops that test a predicate are left.
      followed: the operations that are no accesses of which it wants to know the results.
      state: the pytree that loops and branches carry.
    """

    watches = False
    limits = termination.NONE
    followed: Set[tuple[Facts, int]] = frozenset()
    state: Any = ()

    def may_continue(self) -> jax.Array | None:
        """True if loops that are counted may go on, a bool; None if only their predicates and limits end them."""
        return None

    def on_access(self, event: AccessEvent, chunk: EmittedChunk) -> None:
        """A memory operation is emitted."""

    def on_stored(self, event: AccessEvent, after: Buffer, chunk: EmittedChunk) -> None:
        """A plain store has been emitted, which has left the memory so."""

    def on_result(self, result: ResultEvent, chunk: EmittedChunk) -> None:
        """An operation that is followed has been emitted."""

    def on_barrier(self, passage: Passage, chunk: EmittedChunk) -> None:
        """A barrier is emitted."""

    def on_region(
        self, facts: Facts, number: int, mask: Emitted, running: jax.Array | None, chunk: EmittedChunk
    ) -> None:
        """What follows in a body is executed by the work-items of a mask, in the groups of a `[G]` mask or in all."""

    def on_operation(self, facts: Facts, number: int, running: jax.Array | None, chunk: EmittedChunk) -> None:
        """An operation that is no memory operation is emitted, for the groups of a `[G]` mask or for all."""

    def on_body(self, facts: Facts, running: jax.Array | None, chunk: EmittedChunk) -> None:
        """A body of the program begins, for the groups of a `[G]` mask or for all."""

    def on_limit(self, facts: Facts, number: int, exceeded: jax.Array, chunk: EmittedChunk) -> None:
        """A loop that is counted is over; `exceeded`, a bool, tells whether it was left at its limit."""

    def close(self) -> Any:
        """The chunk ends; gives the state for the next one."""
        return self.state
