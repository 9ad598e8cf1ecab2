"""Observer: what may watch a program while it is interpreted.

The interpreter tells an observer of every operation as it emits it, and carries the observer's state, a pytree, through
loops and branches. This base class watches nothing and has no state, so that with it not one operation more is emitted.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
from jax.extend import core as jex_core

from xeemu.access import Address, Lanes
from xeemu.analysis import Plan
from xeemu.primitives import Access
from xeemu.values import Buffer, Chunk


@dataclasses.dataclass(frozen=True, eq=False)
class Event:
    """One memory operation as it is emitted.

    Attributes:
      eqn: the equation.
      op: `"load"`, `"store"`, or the atomic operation's name.
      access: the static part of the operation.
      buffer: the memory before it.
      address: where its elements lie.
      lanes: which of them take part; for a load as if all groups and work-items of the chunk ran.
      running: `[G]` mask of the groups that execute it, or None for all.
      present: `[G, L]` mask of the work-items that exist, or None for all.
    """

    eqn: jex_core.JaxprEqn
    op: str
    access: Access
    buffer: Buffer
    address: Address
    lanes: Lanes
    running: jax.Array | None
    present: jax.Array | None


class Observer:
    """Watches nothing.

    What is emitted between `begin` and `leave` may run any number of times; `settle` tells how often, in the pytree
    that `turned` makes from `turns`. JAX may trace a loop's body more than once, so that one operation may be told
    twice within one `begin`.

    Attributes:
      state: the pytree that loops and branches carry.
      turns: the count of no executions.
    """

    state: Any = ()
    turns: Any = ()

    def on_access(self, event: Event, chunk: Chunk) -> None:
        """A memory operation is emitted."""

    def on_operation(self, eqn: jex_core.JaxprEqn, plan: Plan) -> None:
        """Another operation is emitted: arithmetic, a barrier, a fence, a collective."""

    @contextlib.contextmanager
    def repeated(self, times: int) -> Iterator[None]:
        """What is emitted inside runs `times` times."""
        yield

    def begin(self) -> None:
        """What follows runs as often as `settle` will tell."""

    def leave(self) -> Any:
        """Ends what `begin` began, and gives what was told in between."""

    def turned(self, turns: Any, running: jax.Array | None, chunk: Chunk) -> Any:
        """The count of executions after one more by the groups of a `[G]` mask, or by all."""
        return turns

    def settle(self, told: Any, turns: Any) -> None:
        """What was told ran so often."""
