"""Observer: what may watch a program while it is interpreted.

The interpreter tells an observer of every operation as it emits it, and carries the observer's state, a pytree, through
loops and branches. This base class watches nothing and has no state, so that with it not one operation more is emitted.
"""

import dataclasses
from typing import Any

import jax

from xeemu.access import Address, Lanes
from xeemu.analysis import Plan
from xeemu.values import Buffer, Chunk


@dataclasses.dataclass(frozen=True, eq=False)
class Event:
    """One memory operation as it is emitted.

    Attributes:
      plan: the call path.
      number: of the equation in the path's body.
      buffer: the memory before it.
      address: where its elements lie.
      lanes: which of them take part; for a load as if all groups and work-items of the chunk ran.
      running: `[G]` mask of the groups that execute it, or None for all.
      present: `[G, L]` mask of the work-items that exist, or None for all.
    """

    plan: Plan
    number: int
    buffer: Buffer
    address: Address
    lanes: Lanes
    running: jax.Array | None
    present: jax.Array | None


class Observer:
    """Watches nothing.

    JAX may trace a loop's body more than once; what is told then is told again, with the state from before.

    Attributes:
      watches: whether there is anything to tell it; if not, loops test their predicates where JAX does.
      state: the pytree that loops and branches carry.
    """

    watches = False
    state: Any = ()

    def on_access(self, event: Event, chunk: Chunk) -> None:
        """A memory operation is emitted."""

    def on_body(self, plan: Plan, running: jax.Array | None, chunk: Chunk) -> None:
        """A body of the program begins, for the groups of a `[G]` mask or for all."""

    def close(self) -> Any:
        """The chunk ends; gives the state for the next one."""
        return self.state
