"""Whiles: loops that test a predicate, which all groups leave together or each at a time of its own."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import carrying, packing
from xeemu.emission.context import Context, Emitter, Equation
from xeemu.emission.items import Item, as_value
from xeemu.emission.observer import Observer
from xeemu.language.jaxprs import While

_Step = Callable[[list[Any], jax.Array | None], list[Any]]
"""What is carried after an iteration, from what is before, for the groups of a mask."""

_GoesOn = Callable[[list[Any], jax.Array | None], jax.Array]
"""Whether there is another iteration, from what is carried, for the groups of a mask."""

_Last = tuple[list[Any], jax.Array | None]
"""What is carried in the end, and whether the loop was left at the observer's limit, if there is one."""


def results(emitter: Emitter, equation: Equation, loop: While) -> list[Item]:
    """The results of a loop.

    Args:
      emitter: emits its predicate and its body.
      equation: the loop.
      loop: what it says.
    """
    context, active, (predicate, inner) = emitter.context, equation.active, equation.inner
    predicate_consts, rest = equation.operands[: loop.predicate_consts], equation.operands[loop.predicate_consts :]
    consts, carries = rest[: loop.body_consts], rest[loop.body_consts :]
    carried = carrying.of_loop(emitter, loop.body, equation.inner, consts, carries, loop.predicate)

    def goes_on(packed: list[Any], running: jax.Array | None) -> jax.Array:
        inputs = [*predicate_consts, *carried.inside(packed)]
        return as_value(emitter.body(loop.predicate, predicate, inputs, running)[0]).array(context.chunk)

    def step(packed: list[Any], running: jax.Array | None) -> list[Any]:
        outputs = emitter.body(loop.body, inner, [*consts, *carried.inside(packed)], running)
        return carried.packed(outputs, context.chunk)

    first = carried.first(context.chunk)
    if not predicate.value(loop.predicate.outvars[0], context.dimensions).varying:
        last, exceeded = _uniform(goes_on, step, first, active, context.observer)
    else:
        last, exceeded = _varying(goes_on, step, first, [bool(k.space) for k in carried.known], active, context)
    if exceeded is not None:
        context.observer.on_limit(equation.plan, equation.number, exceeded, context.chunk)
    return carried.after(last, equation.known, context.chunk)


def _uniform(goes_on: _GoesOn, step: _Step, first: list[Any], active: jax.Array | None, observer: Observer) -> _Last:
    """A loop that all groups of the chunk leave together."""
    if not observer.watches:
        return lax.while_loop(lambda state: goes_on(state, active), lambda state: step(state, active), first), None

    # JAX's predicate can leave no trace in the observer's state, so the body tests whether there will be another.
    def body(packed: list[Any], _: jax.Array) -> tuple[list[Any], jax.Array]:
        after = step(packed, active)
        return after, goes_on(after, active)

    return _watched(body, first, goes_on(first, active), observer)


def _varying(
    goes_on: _GoesOn,
    step: _Step,
    first: list[Any],
    is_memory: list[bool],
    active: jax.Array | None,
    context: Context,
) -> _Last:
    """A loop that groups leave at different times: those that have left keep their values and touch no memory."""
    everyone = jnp.ones(context.chunk.count, bool) if active is None else active

    def body(packed: list[Any], running: jax.Array) -> tuple[list[Any], jax.Array]:
        after = [
            new if memory else packing.selected(running, new, old)
            for new, old, memory in zip(step(packed, running), packed, is_memory, strict=True)
        ]
        return after, running & goes_on(after, running)

    return _watched(body, first, everyone & goes_on(first, everyone), context.observer)


def _watched(
    body: Callable[[list[Any], jax.Array], tuple[list[Any], jax.Array]],
    first: list[Any],
    starts: jax.Array,
    observer: Observer,
) -> _Last:
    """A loop whose body tells which groups go on, and that carries the observer's state."""
    limit = observer.max_iterations

    def watched(state: tuple[Any, ...]) -> tuple[Any, ...]:
        packed, running, observer.state, *turn = state
        after, still = body(packed, running)
        return after, still, observer.state, *(t + np.int32(1) for t in turn)

    def again(state: tuple[Any, ...]) -> jax.Array:
        running: jax.Array = state[1].any()
        return running if limit is None else running & (state[3] < limit)

    start = (first, starts, observer.state, *(() if limit is None else (jnp.int32(0),)))
    last, running, observer.state, *_ = lax.while_loop(again, watched, start)
    return last, None if limit is None else running.any()
