"""Scratchpad elimination: loads from the original of what was copied to local memory, of which nothing is left.

In local memory each group has a row of its own, with its neighbours' elements at both ends; in global memory the
work-items of all groups lie side by side. `scratchpad_copies` tells which memories are only copies.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.devices.target import Target
from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.ir.rewriting import Rewriter, rewritten
from xeemu.knowledge.analysis import Known
from xeemu.language.program import Program
from xeemu.passes import building, drop_redundant_masks, eliminate_dead_code, scratchpad_copies
from xeemu.passes.analyses import Analyses
from xeemu.passes.building import Builder
from xeemu.passes.scratchpad_copies import Copy


def eliminate_scratchpads(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program without local memories that only copy a part of a global one which nobody changes."""
    found = scratchpad_copies.of_program(analyses)
    if not found:
        return program
    copies: Mapping[Known, Copy] = {copy.value: copy for copy in found}

    def bypassed(rewriter: Rewriter, op: Op) -> Sequence[Value | None] | None:
        copy = copies.get(analyses.known(op.operands[0])) if op.name == ops.LOAD else None
        if copy is not None:
            return [_loaded(Builder(program, rewriter, op), copy)]
        are_gone = [analyses.known(value) in copies for value in op.results]
        return [None] * len(are_gone) if are_gone and all(are_gone) else None

    body = rewritten(program.body, bypassed, lambda value: None if analyses.known(value) in copies else value)
    return eliminate_dead_code.remade(program, body)


def _loaded(builder: Builder, copy: Copy) -> Value:
    """What a load from a copy gives, loaded from the original."""
    rank = builder.op.attributes["access"].rank
    operands = builder.rewriter.values(builder.op.operands[1:])
    original, id_type = builder.program.body.inputs[copy.original], builder.program.geometry.id_type
    moved = {"start": copy.start, "steps": copy.steps, "strides": copy.strides, "id_type": id_type}
    there = builder.applied(_moved, *operands[:rank], **moved)
    (loaded,) = builder.add(_from(original, there, builder.op, operands[rank:], copy.outside))
    return loaded


def _from(
    original: Value, there: Sequence[Value], load: Op, masking: Sequence[Value], passthrough: Constant | None
) -> Op:
    """A load from an original, in place of one from its copy with its mask, or with what lies beyond the original."""
    if passthrough is not None:
        return drop_redundant_masks.bounded(load, original, there, passthrough)
    access = dataclasses.replace(load.attributes["access"], rank=len(there))
    return dataclasses.replace(
        load, operands=(original, *there, *masking), attributes={**load.attributes, "access": access}
    )


def _moved(
    *index: jax.Array,
    start: Sequence[int],
    steps: Sequence[Sequence[int]],
    strides: Sequence[Sequence[int]],
    id_type: Any,
) -> list[jax.Array]:
    """Where in the original the elements of a copy lie, by component."""
    return [_component(index, *each, id_type) for each in zip(start, steps, strides, strict=True)]


def _component(
    index: Sequence[jax.Array], start: int, steps: Sequence[int], strides: Sequence[int], id_type: Any
) -> jax.Array:
    shift = jnp.asarray(start, id_type)
    for term in building.group_terms(steps, id_type, id_type):
        shift = lax.add(shift, term)
    position = lax.broadcast(shift, index[0].shape)
    for component, stride in zip(index, strides, strict=True):
        if stride:
            own = lax.convert_element_type(component, id_type)
            position = lax.add(own if stride == 1 else lax.mul(own, lax.full_like(own, stride)), position)
    return position
