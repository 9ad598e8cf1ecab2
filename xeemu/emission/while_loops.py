"""While loops: loops that test a predicate, each carried out as its plan says (see `while_plans`)."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import packing
from xeemu.emission.context import Applied, Emitter
from xeemu.emission.items import Item, as_value
from xeemu.emission.observer import Observer
from xeemu.emission.packing import PackedSlot
from xeemu.ir import control
from xeemu.planning.body_plans import WhileLoopPlan
from xeemu.planning.while_plans import BottomTested, TopTested

_Last = tuple[list[Any], jax.Array | None]
"""What is carried in the end, and whether the loop was left at its limit, if there is one."""


def results(emitter: Emitter, applied: Applied, plan: WhileLoopPlan) -> list[Item]:
    """The results of a loop.

    Args:
      emitter: emits its predicate and its body.
      applied: the loop.
      plan: how it is carried out.
    """
    context, carries = emitter.context, applied.operands[len(applied.op.captures) :]
    known = [plan.body.facts.values[v] for v in plan.body.facts.body.inputs]
    emitted = _Emitted(emitter, applied, plan, packing.slots(carries, known, applied.layouts))
    match plan.by:
        case TopTested(None):
            last, exceeded = emitted.top_tested(), None
        case TopTested(int(most)):
            last, exceeded = _counted(emitted, most)
        case BottomTested() as tested:
            last, exceeded = _bottom_tested(emitted, tested)
    if exceeded is not None:
        context.observer.on_limit(applied.facts, applied.number, exceeded, context.chunk)
    return packing.unpacked(last, packing.slots(carries, applied.known, applied.layouts))


@dataclasses.dataclass(frozen=True, eq=False)
class _Emitted:
    """A loop with what its values stand for; what it carries is packed.

    Attributes:
      emitter: emits its predicate and its body.
      applied: the loop.
      plan: how it is carried out.
      slots: of what it carries.
    """

    emitter: Emitter
    applied: Applied
    plan: WhileLoopPlan
    slots: Sequence[PackedSlot]

    @property
    def observer(self) -> Observer:
        return self.emitter.context.observer

    def first(self) -> list[Any]:
        """What is carried before the first iteration."""
        return packing.packed([slot.template for slot in self.slots], self.plan.first, self.emitter.context.chunk)

    def has_next(self, packed: list[Any], running: jax.Array | None) -> jax.Array:
        """True if there is another iteration, for the groups of a mask."""
        inputs = [
            *control.region_captures(self.applied.op, self.applied.operands, 0),
            *packing.unpacked(packed, self.slots),
        ]
        (tested,) = self.emitter.body(self.plan.predicate, inputs, running)
        return as_value(tested).array(self.emitter.context.chunk)

    def after(self, packed: list[Any], running: jax.Array | None) -> list[Any]:
        """What is carried after an iteration of the groups of a mask."""
        inputs = [
            *control.region_captures(self.applied.op, self.applied.operands, 1),
            *packing.unpacked(packed, self.slots),
        ]
        outputs = self.emitter.body(self.plan.body, inputs, running)
        return packing.packed(outputs, self.plan.body.carries, self.emitter.context.chunk)

    def after_masked(self, packed: list[Any], running: jax.Array) -> list[Any]:
        """The same, but that all groups that are not in the mask keep their values; they touch no memory."""
        each = zip(self.after(packed, running), packed, self.slots, strict=True)
        return [new if slot.known.space else packing.selected(running, new, old) for new, old, slot in each]

    def top_tested(self) -> list[Any]:
        """What is carried in the end, if nothing but the predicate ends the loop."""
        active = self.applied.active
        last: list[Any] = lax.while_loop(
            lambda packed: self.has_next(packed, active), lambda packed: self.after(packed, active), self.first()
        )
        return last


def _counted(loop: _Emitted, limit: int) -> _Last:
    """A loop that counts its iterations beside what it carries."""
    observer, active = loop.observer, loop.applied.active

    def again(state: tuple[list[Any], jax.Array, Any]) -> jax.Array:
        packed, iterations, observer.state = state
        # The one after the last that it may have tells that there is one.
        return loop.has_next(packed, active) & _may_continue(observer, iterations <= np.uint32(limit))

    def counted(state: tuple[list[Any], jax.Array, Any]) -> tuple[list[Any], jax.Array, Any]:
        packed, iterations, observer.state = state
        after = loop.after(packed, active)
        return after, iterations + np.uint32(1), observer.state

    start = (loop.first(), jnp.uint32(0), observer.state)
    last, iterations, observer.state = lax.while_loop(again, counted, start)
    return last, iterations > np.uint32(limit)


def _may_continue(observer: Observer, within: jax.Array) -> jax.Array:
    """True if a loop within its limit may go on."""
    may = observer.may_continue()
    return within if may is None else within & may


def _bottom_tested(loop: _Emitted, plan: BottomTested) -> _Last:
    """A loop whose body tells which groups go on, and that carries the observer's state."""
    observer, active = loop.observer, loop.applied.active

    def groups(packed: list[Any], running: jax.Array) -> jax.Array:
        """Those that go on, or whether all do."""
        return running & loop.has_next(packed, running) if plan.divergent else loop.has_next(packed, active)

    def body(state: tuple[Any, ...]) -> tuple[Any, ...]:
        packed, mark, observer.state = state
        running = _running(mark)
        after = loop.after_masked(packed, running) if plan.divergent else loop.after(packed, active)
        finished = _next(mark, groups(after, running))
        return after, interrupted(finished) if plan.interruptible else finished, observer.state

    def interrupted(mark: jax.Array) -> jax.Array:
        """With nobody going on where loops may not."""
        may = None if plan.limit is None else observer.may_continue()
        return mark if may is None else jnp.where(may, mark, jnp.minimum(mark, np.int32(0)))

    def iterations(state: tuple[Any, ...]) -> tuple[Any, ...]:
        for _ in range(plan.iterations):
            state = lax.optimization_barrier(body(state)) if plan.apart else body(state)
        return state

    everyone = jnp.ones(loop.emitter.context.chunk.count, bool) if active is None else active
    first = loop.first()
    start = (first, interrupted(_first(groups(first, everyone), plan.limit)), observer.state)
    last, mark, observer.state = lax.while_loop(lambda state: _any_runs(state[1]), iterations, start)
    return last, None if plan.limit is None else mark.max() >= 0


# What a loop carries of the groups that go on, or of all: a mask. Where iterations are counted, it is how many each may
# still have, 0 where it was given up and less where it has ended: a count beside the mask, and whether loops around or
# inside were given up, would each be one more computation in an iteration, which costs a GPU as much as any other.


def _first(running: jax.Array, limit: int | None) -> jax.Array:
    """The mark before the first iteration, of a mask."""
    return running if limit is None else jnp.where(running, np.int32(limit), np.int32(-1))


def _running(mark: jax.Array) -> jax.Array:
    """The mask of those that have another iteration."""
    return mark if mark.dtype == bool else mark > 0


def _any_runs(mark: jax.Array) -> jax.Array:
    """True if any has another iteration; of counts the greatest tells it, without a mask made of all."""
    return mark.any() if mark.dtype == bool else mark.max() > 0


def _next(mark: jax.Array, running: jax.Array) -> jax.Array:
    """The mark after an iteration, of the mask of those that would go on."""
    return running if mark.dtype == bool else jnp.where(running, mark - np.int32(1), -jnp.abs(mark))
