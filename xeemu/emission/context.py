"""Context: what emission depends on beside the program: the groups, who watches, and the loop that it is in."""

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import jax

from xeemu.emission.items import Item
from xeemu.emission.iteration_batch import IterationBatch
from xeemu.emission.observer import Observer
from xeemu.emission.strip_mining import Block
from xeemu.emission.values import Chunk
from xeemu.ir.program import Op, Region
from xeemu.knowledge.analysis import Known, Plan


@dataclasses.dataclass(frozen=True, eq=False)
class Context:
    """For whom and in which loop something is emitted.

    Attributes:
      chunk: the groups.
      present: `[G, L]` mask of the work-items that exist, or None.
      observer: is told of everything that is emitted.
      block: the iteration that is being emitted of a loop that streams, if one is.
      waiting: of the body that is being emitted the numbers of updates carried out later (see `scatter_loops`).
      together: the iteration that is being emitted for all of a block, if one is.
    """

    chunk: Chunk
    present: jax.Array | None
    observer: Observer
    block: Block | None = None
    waiting: frozenset[int] = frozenset()
    together: IterationBatch | None = None

    @property
    def dimensions(self) -> int:
        """Of the launch."""
        return len(self.chunk.geometry.group_range)

    def storing(self, known: Known) -> Chunk:
        """The groups that store to a memory: any of them if all would store the same."""
        return dataclasses.replace(self.chunk, count=1) if known.alike else self.chunk


@dataclasses.dataclass(frozen=True, eq=False)
class Applied:
    """An operation that is about to be emitted.

    Attributes:
      plan: the analysis of the body that it stands in.
      number: its number there.
      op: the operation.
      operands: what the values that it uses stand for, see `Op.used`.
      active: `[G]` mask of the groups that execute it, or None for all.
    """

    plan: Plan
    number: int
    op: Op
    operands: list[Item]
    active: jax.Array | None

    @property
    def inner(self) -> tuple[Plan, ...]:
        """The analyses of the bodies that it holds."""
        return self.plan.inner[self.number]

    @property
    def known(self) -> list[Known]:
        """What is known of its results."""
        return [self.plan.values[v] for v in self.op.results]


class Emitter(Protocol):
    """What loops and branches know of the interpreter, which emits their bodies."""

    @property
    def context(self) -> Context:
        """What it emits in."""

    def within(self, context: Context) -> "Emitter":
        """The same in another context."""

    def body(self, body: Region, plan: Plan, inputs: Sequence[Item], active: jax.Array | None) -> list[Item]:
        """Emits a (sub)program; `active` is the `[G]` mask of the groups that execute it, or None for all."""
