"""Inlining: calls written out where they stand, and versions of memories called by the names of these."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value


def inlined(program: Region, inputs: Sequence[Value]) -> Region:
    """A program without calls.

    Args:
      program: the program.
      inputs: what it is given: memories and scalars, with their names.
    """
    found = dict(zip(program.inputs, inputs, strict=True))
    made = tuple(_ops(program, found))
    return Region(tuple(inputs), made, _values(program.outputs, found))


_Found = dict[Value, Value]
"""What the values that are seen where something stands have become."""


def _values(values: Sequence[Value], found: _Found) -> tuple[Value, ...]:
    return tuple(value if isinstance(value, Constant) else found[value] for value in values)


def _ops(body: Region, found: _Found) -> Iterator[Op]:
    """The operations of a body, whose results are then found too."""
    for op in body.ops:
        yield from _inlined(op, found)


def _inlined(op: Op, found: _Found) -> Iterator[Op]:
    operands = _values(op.operands, found)
    if isinstance(called := control.of(op), control.Call):
        inner = dict(zip(called.body.inputs, operands, strict=True))
        yield from _ops(called.body, inner)
        found |= dict(zip(op.results, _values(called.body.outputs, inner), strict=True))
        return
    if op.regions:
        made = _held(op, operands, found)
    else:
        made = dataclasses.replace(op, operands=operands, results=_results(op, operands))
    found |= dict(zip(op.results, made.results, strict=True))
    yield made


def _held(op: Op, operands: Sequence[Value], found: _Found) -> Op:
    """A loop or a branch; carries are versions of the memories that go in."""
    names = [v.memory for v in operands] if op.regions[0].inputs else []
    regions = tuple(_region(region, names, found) for region in op.regions)
    carries = op.attributes.get("carries", len(op.results))
    results = _named(op.results, regions[-1].outputs[:carries])
    return dataclasses.replace(op, operands=tuple(operands), results=results, regions=regions)


def _region(body: Region, names: Sequence[str], around: _Found) -> Region:
    """The body of a loop or branch, whose inputs are versions of memories of such names, or values."""
    inputs = tuple(itertools.starmap(_value, zip(body.inputs, names, strict=True)))
    inner = around | dict(zip(body.inputs, inputs, strict=True))
    made = tuple(_ops(body, inner))
    return Region(inputs, made, _values(body.outputs, inner))


def _value(value: Value, memory: str = "") -> Value:
    return Value(value.shape, value.dtype, memory)


def _named(values: Sequence[Value], like: Sequence[Value]) -> tuple[Value, ...]:
    """The results of a loop or branch: versions of the memories that go through it, and other values."""
    names = [value.memory for value in like] + [""] * (len(values) - len(like))
    return tuple(_value(v, name) for v, name in zip(values, names, strict=True))


def _results(op: Op, operands: Sequence[Value]) -> tuple[Value, ...]:
    """The results of a plain operation; an update gives the next version of the memory that it is given."""
    if op.name == ops.ALLOCATE:
        return (_value(op.results[0], op.attributes["name"]),)
    updated = ops.of(op).updates and not (op.name == ops.ATOMIC and op.attributes["op"] == "load")
    if not updated:
        return tuple(map(_value, op.results))
    values = len(op.results) - 1 if op.name in ops.ACCESSES else 0
    names = [""] * values + [operand.memory for operand in operands[: len(op.results) - values]]
    return tuple(map(_value, op.results, names))
