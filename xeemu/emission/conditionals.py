"""Conditionals: the branch that all groups take, or each in turn for those groups that take it."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.emission import packing
from xeemu.emission.context import Applied, Context, Emitter
from xeemu.emission.items import Item, as_memory, as_value
from xeemu.emission.observer import Observer
from xeemu.emission.packing import PackedSlot
from xeemu.emission.values import Emitted
from xeemu.ir import control
from xeemu.planning.body_plans import ChoicePlan
from xeemu.planning.branch_plans import Divergent, Folded, Uniform

_Branch = Callable[[int, jax.Array | None, list[Item]], list[Any]]
"""What a branch gives, by its number, for the groups of a mask, from what the branches see."""


def results(emitter: Emitter, applied: Applied, plan: ChoicePlan) -> list[Item]:
    """The results of a choice between branches.

    Args:
      emitter: emits them.
      applied: the choice.
      plan: how it is carried out.
    """
    context = emitter.context
    operands, chosen = applied.operands[:-1], as_value(applied.operands[-1])
    versions = applied.facts.previous_versions[applied.number]
    likes = [
        operands[previous[0]] if previous else Emitted(known, v.shape, v.dtype, layout)
        for previous, known, v, layout in zip(versions, applied.known, applied.op.results, applied.layouts, strict=True)
    ]
    slots = packing.slots(likes, applied.known, applied.layouts)

    def branch(k: int, running: jax.Array | None, given: list[Item]) -> list[Any]:
        outputs = emitter.body(plan.branches[k], control.region_operands(applied.op, given, k), running)
        return packing.packed(outputs, plan.branches[k].carries, context.chunk)

    def which() -> jax.Array:
        return jnp.clip(chosen.array(context.chunk), 0, len(applied.op.regions) - 1)

    match plan.by:
        case Folded(number):
            packed = branch(number, applied.active, operands)
        case Uniform():
            choices = [functools.partial(branch, k, applied.active, operands) for k in plan.branches]
            packed = _uniform(choices, which(), context.observer)
        case Divergent() as divergent:
            packed = _varying(divergent, branch, which(), applied, slots, context)
    return packing.unpacked(packed, slots)


def _uniform(choices: Sequence[Callable[[], list[Any]]], index: jax.Array, observer: Observer) -> list[Any]:
    """The results of the one branch that all groups of the chunk take."""

    def run(choice: Callable[[], list[Any]], state: Any) -> tuple[list[Any], Any]:
        observer.state = state
        return choice(), observer.state

    runs = [functools.partial(run, choice) for choice in choices]
    packed: list[Any]
    packed, observer.state = lax.switch(index, runs, observer.state)
    return packed


def _varying(
    plan: Divergent, branch: _Branch, index: jax.Array, applied: Applied, slots: Sequence[PackedSlot], context: Context
) -> list[Any]:
    """The results of branches of which groups take different ones."""
    versions, active = applied.facts.previous_versions[applied.number], applied.active
    packed: list[Any] = [slot.blank(context.chunk) for slot in slots]
    for k in range(len(applied.op.regions)):
        running = (index == k) if active is None else active & (index == k)
        after = functools.partial(
            _masked, functools.partial(branch, k, running), applied.operands[:-1], versions, running, context.observer
        )
        before = (packed, context.observer.state)
        # A branch that no group of the chunk takes is skipped where that pays.
        results = lax.cond(running.any(), after, lambda unchanged: unchanged, before) if plan.skips else after(before)
        packed, context.observer.state = results
    return packed


def _masked(
    branch: Callable[[list[Item]], list[Any]],
    operands: Sequence[Item],
    versions: Sequence[tuple[int, ...] | None],
    running: jax.Array,
    observer: Observer,
    before: tuple[list[Any], Any],
) -> tuple[list[Any], Any]:
    """The results, and the observer's state, after one branch has run for the groups that take it."""
    results, observer.state = before
    given = list(operands)
    for previous, data in zip(versions, results, strict=True):
        for k in previous or ():
            given[k] = as_memory(given[k]).with_data(data)
    after = [
        new if previous else packing.selected(running, new, old)
        for new, old, previous in zip(branch(given), results, versions, strict=True)
    ]
    return after, observer.state
