"""Context: what emission depends on beside the plan of a program: the groups, and who watches."""

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
from xeemu.planning.body_plans import BodyPlan
from xeemu.planning.layouts import Layout


@dataclasses.dataclass(frozen=True, eq=False)
class Context:
    """For whom something is emitted.

    Attributes:
      chunk: the groups.
      present: `[G, L]` mask of the work-items that exist, or None.
      observer: is told of everything that is emitted.
      loaded: for loads that a window of the whole block holds, what they give in it, `[own groups, n]`.
    """

    chunk: EmittedChunk
    present: jax.Array | None
    observer: Observer
    loaded: Mapping[int, Groupwise] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class Applied:
    """An operation that is about to be emitted.

    Attributes:
      body: how the body is carried out that it stands in.
      number: its number there.
      operands: what the values that it uses stand for, see `Op.used`.
      read: gives what another value stands for.
      active: `[G]` mask of the groups that execute it, or None for all.
      around: rectangles that were read for several loads of its body, by the numbers of the first of these, as plans
        have them (`StencilWindow`): the first that is emitted reads it, and the others take it from here.
    """

    body: BodyPlan
    number: int
    operands: list[Item]
    read: Callable[[Value], Item]
    active: jax.Array | None
    around: dict[int, jax.Array]

    @property
    def facts(self) -> Facts:
        """What is known of the body that it stands in."""
        return self.body.facts

    @property
    def op(self) -> Op:
        """The operation."""
        return self.facts.body.ops[self.number]

    @property
    def layouts(self) -> list[Layout]:
        """How its results are laid out."""
        return [self.body.layouts[v] for v in self.op.results]

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

    def body(self, plan: BodyPlan, inputs: Sequence[Item], active: jax.Array | None) -> list[Item]:
        """Emits a (sub)program as it is planned; `active` is the `[G]` mask of the groups that execute it, or None."""

    def needed(self, plan: BodyPlan, inputs: Sequence[Item], values: Sequence[Value]) -> list[Item]:
        """Emits of a (sub)program only what some values need, for all groups; the last inputs may be missing."""
