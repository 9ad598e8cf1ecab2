"""Counted loops: loops of a known number of iterations, each carried out as its plan says (see `loop_plans`)."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.emission import batched_loops, packing, strip_mining
from xeemu.emission.context import Applied, Emitter
from xeemu.emission.emitted_loops import EmittedLoop
from xeemu.emission.items import Item, as_value, named
from xeemu.emission.values import Emitted
from xeemu.planning.body_plans import CountedLoopPlan
from xeemu.planning.loop_plans import Batched, OneByOne, StripMined


def results(emitter: Emitter, applied: Applied, plan: CountedLoopPlan) -> list[Item]:
    """The results of a loop.

    Args:
      emitter: emits its body.
      applied: the loop.
      plan: how it is carried out.
    """
    count = len(applied.op.captures)
    first_element = count + plan.loop.scan.carries
    captures, carries = applied.operands[:count], applied.operands[count:first_element]
    elements = [as_value(o) for o in applied.operands[first_element:]]
    known = [plan.loop.facts.values[v] for v in plan.loop.body.inputs]
    loop = EmittedLoop(emitter, plan, captures, packing.slots(carries, known, applied.layouts), applied.active)
    after = packing.slots(carries, applied.known, applied.layouts)
    match plan.by:
        case OneByOne(unrolled):
            last, stacked = _one_by_one(loop, applied, elements, unrolled)
            return [*packing.unpacked(last, after), *stacked]
        case StripMined() as stripped:
            last = strip_mining.run(loop, stripped)
        case Batched() as batched:
            last = batched_loops.run(loop, batched)
    return packing.unpacked(last, after)


def _one_by_one(
    loop: EmittedLoop, applied: Applied, elements: Sequence[Emitted], unrolled: int
) -> tuple[list[Any], list[Item]]:
    """What a loop as one of JAX's carries in the end, and its other results."""
    scan, chunk, observer = loop.counted.scan, loop.chunk, loop.emitter.context.observer
    inputs = scan.body.inputs[scan.carries :]

    def step(state: tuple[list[Any], Any], rows: list[jax.Array]) -> tuple[tuple[list[Any], Any], list[jax.Array]]:
        packed, observer.state = state
        outputs = loop.outputs(packed, elements=named(loop.counted.facts, inputs, rows))
        stacked = [as_value(o).array(chunk) for o in outputs[scan.carries :]]
        return (loop.packed(outputs, None), observer.state), stacked

    rows = [_rows(e.array(chunk), e.known.varying, 1, 0) for e in elements]
    first = (loop.first(), observer.state)
    (last, observer.state), stacked = lax.scan(
        step, first, rows, length=scan.length, reverse=scan.reverse, unroll=unrolled
    )
    stacks = [_rows(s, k.varying, 0, 1) for s, k in zip(stacked, applied.known[scan.carries :], strict=True)]
    return last, named(applied.facts, applied.op.results[scan.carries :], stacks)


def _rows(array: jax.Array, varying: bool, source: int, target: int) -> jax.Array:
    """Elements of a loop with their axis at another position, if an axis of groups comes before it."""
    return jnp.moveaxis(array, source, target) if varying else array
