"""Emitted loops: counted loops with what their values stand for, and their iterations as a plan has them."""

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax import lax

from xeemu.emission import packing, placed_windows, positions
from xeemu.emission.buffers import Buffer
from xeemu.emission.context import Emitter
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import Item, as_value
from xeemu.emission.packing import PackedSlot
from xeemu.emission.placed_windows import PlacedWindow
from xeemu.emission.values import Groupwise
from xeemu.ir import ops
from xeemu.planning.body_plans import CountedLoopPlan
from xeemu.planning.iterations import Iteration
from xeemu.planning.loop_accesses import CountedLoop
from xeemu.planning.loop_plans import BlockedLoop, Versions
from xeemu.planning.windows import Window


@dataclasses.dataclass(frozen=True, eq=False)
class PlacedAccess:
    """A window of a memory in which accesses of a loop's body lie, in the program that is emitted.

    Attributes:
      buffer: the memory before the iterations.
      window: in it.
    """

    buffer: Buffer
    window: PlacedWindow


@dataclasses.dataclass(frozen=True, eq=False)
class EmittedLoop:
    """A loop that is about to be emitted.

    Attributes:
      emitter: emits its body.
      plan: how it is carried out.
      captures: what each iteration sees of what is around the loop.
      slots: of what it carries.
      active: `[G]` mask of the groups that execute it, or None for all.
    """

    emitter: Emitter
    plan: CountedLoopPlan
    captures: Sequence[Item]
    slots: Sequence[PackedSlot]
    active: jax.Array | None

    @property
    def counted(self) -> CountedLoop:
        """What is known of it."""
        return self.plan.loop

    @property
    def chunk(self) -> EmittedChunk:
        """The groups."""
        return self.emitter.context.chunk

    def first(self) -> list[Any]:
        """What is carried into the first iteration."""
        return packing.packed([slot.template for slot in self.slots], self.plan.first, self.chunk)

    def packed(self, outputs: Sequence[Item], iteration: Iteration | None) -> list[Any]:
        """What is carried of what an iteration gives."""
        return packing.packed(outputs[: len(self.slots)], self.plan.bodies[iteration].carries, self.chunk)

    def outputs(
        self,
        packed: list[Any],
        iteration: Iteration | None = None,
        loaded: Mapping[int, Groupwise] | None = None,
        elements: Sequence[Item] = (),
    ) -> list[Item]:
        """What an iteration gives, from what is carried into it; `loaded` as `Context` has it."""
        context = dataclasses.replace(self.emitter.context, loaded=loaded or {})
        inputs = [*self._before(packed), *elements]
        return self.emitter.within(context).body(self.plan.bodies[iteration], inputs, self.active)

    def placed(self, packed: list[Any], windows: Mapping[int, Window]) -> dict[int, PlacedAccess]:
        """By the numbers of their accesses where some windows lie that begin with the iteration that is next.

        Of the loop's body this emits only what the indices need.
        """
        if not windows:
            return {}
        facts, inputs, plan = self.counted.facts, self._before(packed), self.plan.address_plan
        assert plan is not None
        buffers = {
            facts.values[v]: item
            for v, item in zip(facts.body.all_inputs, inputs, strict=False)
            if isinstance(item, Buffer)
        }
        indices = [ops.indices(facts.body.ops[n])[0] for n in windows]
        found = self.emitter.needed(plan, inputs, indices)
        placed = {}
        for (n, window), index in zip(windows.items(), found, strict=True):
            op, known = facts.body.ops[n], self.counted.moving[n].reference.address
            buffer = buffers[facts.values[op.operands[0]]]
            chunk = self.chunk.storing(facts.values[op.operands[0]]) if ops.of(op).writes else self.chunk
            address = positions.locate(known, buffer, [as_value(index)], chunk)
            placed[n] = PlacedAccess(buffer, placed_windows.placed(window, buffer, address, chunk))
        return placed

    def _before(self, packed: list[Any]) -> list[Item]:
        """What the body takes, but for elements, from what is carried into an iteration."""
        return [*self.captures, *packing.unpacked(packed, self.slots)]


def by_versions(
    loop: EmittedLoop, versions: Versions, run: Callable[[BlockedLoop, list[Any]], list[Any]], first: list[Any]
) -> list[Any]:
    """What a loop carries in the end.

    Args:
      loop: the loop.
      versions: of it.
      run: what a version carries in the end, from what is carried into the first iteration.
      first: this.
    """
    if not versions.checks:
        return run(versions.inside, first)
    placed = loop.placed(first, {n: check.window for n, check in versions.checks.items()})
    fits = [placed[n].window.fits(check.elements, check.travel) for n, check in versions.checks.items()]
    inside, beyond = (functools.partial(run, version) for version in (versions.inside, versions.beyond))
    last: list[Any] = lax.cond(functools.reduce(operator.and_, fits), inside, beyond, first)
    return last
