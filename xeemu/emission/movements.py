"""Movements: operations that move or repeat elements, of values of any layout."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from xeemu.emission import items, positions, subgroups
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.values import Emitted, MaskedElements, lifted
from xeemu.ir import evaluation
from xeemu.ir.program import Op
from xeemu.knowledge.addressing import Elements
from xeemu.knowledge.analysis import Facts
from xeemu.planning import layouts
from xeemu.planning.layouts import BySubgroup, Layout, Masked
from xeemu.planning.operation_plans import Movement


def result(
    plan: Movement, facts: Facts, op: Op, operands: Sequence[Emitted], layout: Layout, chunk: EmittedChunk
) -> Emitted:
    """The result of an operation that has one.

    Args:
      plan: how it is carried out.
      facts: the analysis of the body that it stands in.
      op: the operation.
      operands: what goes into it.
      layout: how its result is laid out.
      chunk: the work-groups.
    """
    (out,) = op.results
    match layout:
        case BySubgroup():
            assert plan.conversion is not None
            return items.laid_out(facts, out, layout, subgroups.widened(op, operands[0], plan.conversion, chunk))
        case Masked(_, whole, apart):
            array = _by_item(op, operands, chunk) if whole and not apart else None
            return items.laid_out(facts, out, layout, array, _parts(op, operands, layout, chunk))
    if plan.uses_chosen_only:
        return items.laid_out(facts, out, layout, _chosen(operands[0], chunk))
    if layouts.sharing(layout) is not None:
        (array,) = jax.vmap(lambda x: evaluation.results(op, [x]))(operands[0].laid_out)
        return items.laid_out(facts, out, layout, array)
    return items.laid_out(facts, out, layout, _by_item(op, operands, chunk))


def _by_item(op: Op, operands: Sequence[Emitted], chunk: EmittedChunk) -> jax.Array:
    (array,) = lifted(lambda *xs: evaluation.results(op, xs), operands, chunk)
    return array


def _chosen(value: Emitted, chunk: EmittedChunk) -> jax.Array:
    """`[G, n]`, or `[n]` if it does not vary: the elements that a value has for themselves."""
    assert value.masked_elements is not None
    chosen = value.masked_elements.chosen
    return jnp.broadcast_to(chosen, (chunk.count, chosen.shape[1])) if value.known.varying else chosen[0]


def _parts(op: Op, operands: Sequence[Emitted], layout: Masked, chunk: EmittedChunk) -> MaskedElements:
    """The elements for themselves: the operand's, in another shape or with others around them."""
    operand, elements, others = operands[0], layout.elements, layout.needs_all and layout.apart
    if op.name == "pad":
        fill = operands[1].array(chunk) if others else None
        rest = None if fill is None else jnp.broadcast_to(fill, (1, elements.complement.count))
        return MaskedElements(operand.array(chunk).reshape(-1, elements.count), rest)
    own = Elements(operand.shape, elements.chosen)
    beside = positions.of_elements(operand, own.complement, chunk) if others else None
    return MaskedElements(positions.of_elements(operand, own, chunk), beside)
