"""While loops: those that test a predicate, which all groups leave together or each at a time of its own."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import loop_carries, packing
from xeemu.emission.context import Applied, Context, Emitter
from xeemu.emission.items import Item, as_value
from xeemu.emission.observer import Observer
from xeemu.ir import control
from xeemu.ir.control import While
from xeemu.ir.program import Region

_Step = Callable[[list[Any], jax.Array | None], list[Any]]
"""What is carried after an iteration, from what is before, for the groups of a mask."""

_GoesOn = Callable[[list[Any], jax.Array | None], jax.Array]
"""Whether there is another iteration, from what is carried, for the groups of a mask."""

_Last = tuple[list[Any], jax.Array | None]
"""What is carried in the end, and whether the loop was left at the observer's limit, if there is one."""


def results(emitter: Emitter, applied: Applied, loop: While) -> list[Item]:
    """The results of a loop.

    Args:
      emitter: emits its predicate and its body.
      applied: the loop.
      loop: what it says.
    """
    context, active, (predicate, inner) = emitter.context, applied.active, applied.inner
    tests, seen = (control.seen(applied.op, applied.operands, k) for k in (0, 1))
    carries = applied.operands[len(applied.op.seen) :]
    carried = loop_carries.of_loop(loop.body, inner, carries, applied.layouts)

    def goes_on(packed: list[Any], running: jax.Array | None) -> jax.Array:
        inputs = [*tests, *carried.inside(packed)]
        return as_value(emitter.body(loop.predicate, predicate, inputs, running)[0]).array(context.chunk)

    def step(packed: list[Any], running: jax.Array | None) -> list[Any]:
        outputs = emitter.body(loop.body, inner, [*seen, *carried.inside(packed)], running)
        return carried.packed(outputs, context.chunk)

    first = carried.first(context.chunk)
    limit = context.observer.limit(applied.facts, applied.number)
    if not predicate.value(loop.predicate.outputs[0], context.dimensions).varying:
        tested = context.observer.watches or _holds_loops(loop.predicate)
        last, exceeded = _uniform(goes_on, step, first, active, context.observer, limit, tested)
    else:
        memories = [bool(k.space) for k in carried.known]
        last, exceeded = _varying(goes_on, step, first, memories, active, context, limit)
    if exceeded is not None:
        context.observer.on_limit(applied.facts, applied.number, exceeded, context.chunk)
    return carried.after(last, applied.known)


def _holds_loops(predicate: Region) -> bool:
    return any(op.name == "while" for op in predicate.walk())


def _uniform(
    goes_on: _GoesOn,
    step: _Step,
    first: list[Any],
    active: jax.Array | None,
    observer: Observer,
    limit: int | None,
    tested: bool,
) -> _Last:
    """A loop that all groups of the chunk leave together; `tested` if its predicate may change the observer's state."""
    if not observer.watches and limit is None:
        return lax.while_loop(lambda state: goes_on(state, active), lambda state: step(state, active), first), None
    if not tested and limit is not None:
        return _limited(goes_on, step, first, active, observer, limit)

    # JAX's predicate can leave no trace in the observer's state, so the body tests whether there will be another.
    def body(packed: list[Any], _: jax.Array) -> tuple[list[Any], jax.Array]:
        after = step(packed, active)
        return after, goes_on(after, active)

    return _watched(body, first, goes_on(first, active), observer, limit)


def _limited(
    goes_on: _GoesOn, step: _Step, first: list[Any], active: jax.Array | None, observer: Observer, limit: int
) -> _Last:
    """A loop that nobody watches, and that counts its iterations beside what it carries."""

    def again(state: tuple[list[Any], jax.Array, Any]) -> jax.Array:
        packed, iterations, observer.state = state
        # The one after the last that it may have tells that there is one.
        return goes_on(packed, active) & _may_go_on(observer, iterations <= np.uint32(limit))

    def counted(state: tuple[list[Any], jax.Array, Any]) -> tuple[list[Any], jax.Array, Any]:
        packed, iterations, observer.state = state
        after = step(packed, active)
        return after, iterations + np.uint32(1), observer.state

    last, iterations, observer.state = lax.while_loop(again, counted, (first, jnp.uint32(0), observer.state))
    return last, iterations > np.uint32(limit)


def _may_go_on(observer: Observer, within: jax.Array) -> jax.Array:
    """Whether a loop within its limit may go on."""
    may = observer.goes_on()
    return within if may is None else within & may


def _varying(
    goes_on: _GoesOn,
    step: _Step,
    first: list[Any],
    is_memory: list[bool],
    active: jax.Array | None,
    context: Context,
    limit: int | None,
) -> _Last:
    """A loop that groups leave at different times: those that have left keep their values and touch no memory."""
    everyone = jnp.ones(context.chunk.count, bool) if active is None else active

    def body(packed: list[Any], running: jax.Array) -> tuple[list[Any], jax.Array]:
        after = [
            new if memory else packing.selected(running, new, old)
            for new, old, memory in zip(step(packed, running), packed, is_memory, strict=True)
        ]
        return after, running & goes_on(after, running)

    return _watched(body, first, everyone & goes_on(first, everyone), context.observer, limit)


def _watched(
    body: Callable[[list[Any], jax.Array], tuple[list[Any], jax.Array]],
    first: list[Any],
    starts: jax.Array,
    observer: Observer,
    limit: int | None,
) -> _Last:
    """A loop whose body tells which groups go on, and that carries the observer's state."""

    def watched(state: tuple[Any, ...]) -> tuple[Any, ...]:
        packed, running, observer.state, *number = state
        after, still = body(packed, running)
        return after, still, observer.state, *(t + np.int32(1) for t in number)

    def again(state: tuple[Any, ...]) -> jax.Array:
        running: jax.Array = state[1].any()
        if limit is None:
            return running
        observer.state = state[2]
        return running & _may_go_on(observer, state[3] < limit)

    start = (first, starts, observer.state, *(() if limit is None else (jnp.int32(0),)))
    last, running, observer.state, *_ = lax.while_loop(again, watched, start)
    return last, None if limit is None else running.any()
