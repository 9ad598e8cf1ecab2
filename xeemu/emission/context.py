"""Context: what emission depends on beside the program: the groups, who watches, and the loop that it is in."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import jax

from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import Item
from xeemu.emission.observer import Observer
from xeemu.emission.values import Groupwise
from xeemu.ir.program import Op, Value
from xeemu.knowledge.analysis import Facts, Known
from xeemu.planning.iterations import Iteration
from xeemu.planning.layout_assignment import Setting
from xeemu.planning.layouts import Layout


@dataclasses.dataclass(frozen=True, eq=False)
class Context:
    """For whom and in which loop something is emitted.

    Attributes:
      chunk: the groups.
      present: `[G, L]` mask of the work-items that exist, or None.
      observer: is told of everything that is emitted.
      iteration: the one of a loop's block that is being emitted, if one is.
      loaded: for loads that a window of the whole block holds, what they give in it, `[own groups, n]`.
    """

    chunk: EmittedChunk
    present: jax.Array | None
    observer: Observer
    iteration: Iteration | None = None
    loaded: Mapping[int, Groupwise] = dataclasses.field(default_factory=dict)

    @property
    def setting(self) -> Setting:
        """What the layouts of values depend on."""
        at_once = self.iteration is not None and self.iteration.at_once
        return Setting.of(self.chunk, self.observer.watches, bool(self.observer.followed), at_once)


@dataclasses.dataclass(frozen=True, eq=False)
class Applied:
    """An operation that is about to be emitted.

    Attributes:
      facts: the analysis of the body that it stands in.
      number: its number there.
      op: the operation.
      operands: what the values that it uses stand for, see `Op.used`.
      read: gives what another value stands for.
      layouts: how its results are held.
      active: `[G]` mask of the groups that execute it, or None for all.
      around: rectangles that were read for several loads of its body, by the numbers of the first of these.
    """

    facts: Facts
    number: int
    op: Op
    operands: list[Item]
    read: Callable[[Value], Item]
    layouts: Sequence[Layout]
    active: jax.Array | None
    around: dict[int, jax.Array]

    @property
    def inner(self) -> tuple[Facts, ...]:
        """The analyses of the bodies that it holds."""
        return self.facts.inner[self.number]

    @property
    def known(self) -> list[Known]:
        """What is known of its results."""
        return [self.facts.values[v] for v in self.op.results]


class Emitter(Protocol):
    """What loops and branches know of the interpreter, which emits their bodies."""

    @property
    def context(self) -> Context:
        """What it emits in."""

    def within(self, context: Context) -> "Emitter":
        """The same in another context."""

    def body(self, facts: Facts, inputs: Sequence[Item], active: jax.Array | None) -> list[Item]:
        """Emits a (sub)program; `active` is the `[G]` mask of the groups that execute it, or None for all."""

    def needed(self, facts: Facts, inputs: Sequence[Item], values: Sequence[Value]) -> list[Item]:
        """Emits of a (sub)program only what some of its values need, for all groups; the last inputs may be missing."""
