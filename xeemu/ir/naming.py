"""Naming: the versions of memories called by the names of these, for what is printed."""

import dataclasses
from collections.abc import Mapping, Sequence

from xeemu.ir import ops
from xeemu.ir.program import Op, Region, Value
from xeemu.ir.rewriting import rewritten


def named(program: Region, inputs: Sequence[Value]) -> Region:
    """A program without calls, with the names of its memories.

    Args:
      program: the program.
      inputs: what it is given: memories and scalars, with their names.
    """
    replaced = dict(zip(program.inputs, inputs, strict=True))
    names = memories(program, {value: new.memory for value, new in replaced.items() if new.memory})

    def renewed(value: Value) -> Value:
        name = names.get(value, "")
        return replaced[value] if value in replaced else dataclasses.replace(value, memory=name) if name else value

    return rewritten(program, lambda rewriter, op: None, renewed)


def memories(body: Region, inputs: Mapping[Value, str]) -> dict[Value, str]:
    """The names of the memories in a (sub)program by all their versions, of those that it is given."""
    names = dict(inputs)
    for op in body.ops:
        inner = op.regions
        for region in inner:
            names |= memories(region, names | _passed(names, op.operands, region.inputs))
        if inner:
            count = op.attributes.get("carries", len(op.results))
            names |= _passed(names, inner[-1].outputs[:count], op.results)
        else:
            names |= _of_results(op, names)
    return names


def _passed(memories: Mapping[Value, str], values: Sequence[Value], results: Sequence[Value]) -> dict[Value, str]:
    return {new: memories[value] for value, new in zip(values, results, strict=False) if value in memories}


def _of_results(op: Op, memories: Mapping[Value, str]) -> dict[Value, str]:
    """The versions that a plain operation gives; an update gives the next one of the memory that it is given."""
    if op.name == ops.ALLOCATE:
        return {op.results[0]: op.attributes["name"]}
    if op.name in ops.ORDERING:
        return _passed(memories, op.operands, op.results)
    if not ops.changes(op):
        return {}
    return {op.results[-1]: memories[op.operands[0]]}
