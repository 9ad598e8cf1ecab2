"""Plans: how a launch carries out its program, printed beside each operation."""

import dataclasses

import jax

from xeemu.emission import interpreter
from xeemu.emission.observer import Observer
from xeemu.language.program import Program
from xeemu.launching.preparation import Prepared
from xeemu.planning import body_plans, plan_notes, storage


def of_launch(prepared: Prepared) -> Program:
    """The program that the groups of a full chunk carry out, in one thread and unwatched, with how they do."""
    task, chunk = prepared.full_chunk(None)
    program = task.program
    memories = {k: memory for k, memory in enumerate(program.arguments) if memory is not None}
    arrays = {k: jax.ShapeDtypeStruct((memory.elements,), memory.dtype) for k, memory in memories.items()}
    storages = storage.of_arguments(program, arrays, {})
    plan = body_plans.of_program(task.facts, chunk, storages, interpreter.observation(Observer()))
    return dataclasses.replace(program, notes=plan_notes.of_body(plan.body))
