"""Inlining: calls written out where they stand, and what a loop is given and never changes seen from around it."""

import dataclasses
from collections.abc import Iterator, Sequence

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value


def inlined(program: Region, inputs: Sequence[Value]) -> Region:
    """A program without calls, and without constants of loops and branches.

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
    match control.of(op):
        case control.Call(body):
            inner = dict(zip(body.inputs, operands, strict=True))
            yield from _ops(body, inner)
            found |= dict(zip(op.results, _values(body.outputs, inner), strict=True))
            return
        case control.Scan() as scan:
            made = _scan(op, scan, operands, found)
        case control.While() as loop:
            made = _while(op, loop, operands)
        case control.Cond(branches):
            made = _cond(op, branches, operands)
        case None:
            made = dataclasses.replace(op, operands=operands, results=_results(op, operands))
    found |= dict(zip(op.results, made.results, strict=True))
    yield made


def _scan(op: Op, scan: control.Scan, operands: Sequence[Value], found: _Found) -> Op:
    seen = dict(zip(scan.body.inputs[: scan.consts], operands[: scan.consts], strict=True))
    given = operands[scan.consts :]
    region = _region(scan.body, scan.body.inputs[scan.consts :], given[: scan.carries], seen)
    results = _named(op.results, region.outputs[: scan.carries])
    attributes = {"length": scan.length, "reverse": scan.reverse, "carries": scan.carries}
    return dataclasses.replace(
        op, operands=tuple(given), results=results, attributes=attributes, regions=(region,), apply=None
    )


def _while(op: Op, loop: control.While, operands: Sequence[Value]) -> Op:
    first, last = loop.predicate_consts, loop.predicate_consts + loop.body_consts
    carries = operands[last:]
    tested = dict(zip(loop.predicate.inputs[:first], operands[:first], strict=True))
    seen = dict(zip(loop.body.inputs[: loop.body_consts], operands[first:last], strict=True))
    predicate = _region(loop.predicate, loop.predicate.inputs[first:], carries, tested)
    body = _region(loop.body, loop.body.inputs[loop.body_consts :], carries, seen)
    results = _named(op.results, carries)
    return dataclasses.replace(
        op, operands=tuple(carries), results=results, attributes={}, regions=(predicate, body), apply=None
    )


def _cond(op: Op, branches: Sequence[Region], operands: Sequence[Value]) -> Op:
    regions = []
    for branch in branches:
        inner = dict(zip(branch.inputs, operands[1:], strict=True))
        made = tuple(_ops(branch, inner))
        regions.append(Region((), made, _values(branch.outputs, inner)))
    results = _named(op.results, regions[0].outputs)
    return dataclasses.replace(
        op, operands=(operands[0],), results=results, attributes={}, regions=tuple(regions), apply=None
    )


def _region(body: Region, taken: Sequence[Value], carries: Sequence[Value], seen: _Found) -> Region:
    """The body of a loop, which takes carries and elements and sees what is around it."""
    names = [carry.memory for carry in carries] + [""] * (len(taken) - len(carries))
    inputs = tuple(_value(v, name) for v, name in zip(taken, names, strict=True))
    inner = seen | dict(zip(taken, inputs, strict=True))
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
