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
from xeemu.ir.program import Op, Value
from xeemu.ir.rewriting import Rewriter, rewritten
from xeemu.knowledge.analysis import Known
from xeemu.language.program import Program
from xeemu.passes import building, eliminate_dead_code, scratchpad_copies
from xeemu.passes.analyses import Analyses
from xeemu.passes.building import Builder
from xeemu.passes.scratchpad_copies import Copy


def eliminate_scratchpads(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program without local memories that only copy a part of a global one which nobody changes."""
    found = scratchpad_copies.of_program(program, analyses.facts, analyses.rows)
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
    index, *rest = builder.rewriter.values(builder.op.operands[1:])
    original, id_type = builder.program.body.inputs[copy.original], builder.program.geometry.id_type
    (there,) = builder.applied(_moved, index, start=copy.start, steps=copy.steps, id_type=id_type)
    (loaded,) = builder.add(dataclasses.replace(builder.op, operands=(original, there, *rest)))
    return loaded


def _moved(index: jax.Array, *, start: int, steps: Sequence[int], id_type: Any) -> jax.Array:
    """Where in the original the elements of a copy lie."""
    shift = jnp.asarray(start, id_type)
    for term in building.group_terms(steps, id_type, id_type):
        shift = lax.add(shift, term)
    return lax.add(lax.convert_element_type(index, id_type), lax.broadcast(shift, index.shape))
