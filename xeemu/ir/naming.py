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
    given = dict(zip(program.inputs, inputs, strict=True))
    memories = {value: new.memory for value, new in given.items() if new.memory}
    _follow(program, memories)

    def renewed(value: Value) -> Value:
        name = memories.get(value, "")
        return given[value] if value in given else dataclasses.replace(value, memory=name) if name else value

    return rewritten(program, lambda rewriter, op: None, renewed)


def _follow(body: Region, memories: dict[Value, str]) -> None:
    """Adds the versions of memories that a (sub)program gives."""
    for op in body.ops:
        inner = op.regions
        for region in inner:
            memories |= _passed(memories, op.operands, region.inputs)
            _follow(region, memories)
        if inner:
            count = op.attributes.get("carries", len(op.results))
            memories |= _passed(memories, inner[-1].outputs[:count], op.results)
        else:
            memories |= _made(op, memories)


def _passed(memories: Mapping[Value, str], given: Sequence[Value], taken: Sequence[Value]) -> dict[Value, str]:
    return {new: memories[value] for value, new in zip(given, taken, strict=False) if value in memories}


def _made(op: Op, memories: Mapping[Value, str]) -> dict[Value, str]:
    """The versions that a plain operation gives; an update gives the next one of the memory that it is given."""
    if op.name == ops.ALLOCATE:
        return {op.results[0]: op.attributes["name"]}
    if op.name in ops.ORDERING:
        return _passed(memories, op.operands, op.results)
    if op.name not in ops.UPDATES or ops.operation(op) == "load":
        return {}
    return {op.results[-1]: memories[op.operands[0]]}
