"""Lineage: which input of a (sub)program each of its results is a later version of."""

from collections.abc import Sequence
from typing import Any

from xeemu.ir import control, ops
from xeemu.ir.program import Op, Region


def of_body(body: Region) -> list[Any]:
    """For each result the input that it is, or a later version of; None if it is another value."""
    return _results(body, dict(zip(body.inputs, body.inputs, strict=True)))


def _results(body: Region, known: dict[Any, Any]) -> list[Any]:
    for op in body.ops:
        if op.regions or ops.of(op).updates:  # others give no memory
            operands = [known.get(a) for a in op.used]
            known |= dict(zip(op.results, of_op(op, operands), strict=True))
    return [known.get(a) for a in body.outputs]


def of_op(op: Op, operands: Sequence[Any]) -> list[Any]:
    """For each result of an operation which of the values that it uses it is, or a later version of; or None."""
    count = len(op.results)
    if op.name in ops.UPDATES:
        if op.name in ops.ORDERING:
            return list(operands[:count])
        renewed = [operands[0]] if ops.changes(op) else []
        return [None] * (count - len(renewed)) + renewed
    structure = control.of(op)
    inner = op.regions
    if not inner:
        return [None] * count
    # Of branches any will do: they return the same memories.
    number = len(inner) - 1
    given = control.region_operands(op, operands, number)
    results = _results(inner[number], dict(zip(inner[number].all_inputs, given, strict=True)))
    if isinstance(structure, control.Scan):
        results[structure.carries :] = [None] * (count - structure.carries)
    return results
