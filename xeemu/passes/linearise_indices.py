"""Linearised indices: the quotient and the remainder of a number by the width of the memory are one index, the number.

Work-items of one dimension are put into rows and columns so. They go along the memory's elements as the number does,
which is the index then of the memory seen in another shape, the two dimensions as one.
"""

import dataclasses

from xeemu.devices.target import Target
from xeemu.ir import ops
from xeemu.ir.program import Op, Value
from xeemu.language.program import Program
from xeemu.passes import eliminate_dead_code
from xeemu.passes.analyses import Analyses


def linearise_indices(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program whose accesses have one component of an index where two are such."""
    each = ((op, _joined(op, analyses)) for op in program.body.walk() if op.name in ops.ACCESSES)
    found = {op: linear for op, linear in each if linear is not op}
    return eliminate_dead_code.replaced(program, found, eliminate_dead_code.changed)


def _joined(op: Op, analyses: Analyses) -> Op:
    """An access with such components as one; the same one if it has none."""
    indices, sizes, k = ops.indices(op), list(ops.viewed_shape(op)), 1
    while k < len(indices):
        whole = _recombined(indices[k - 1], indices[k], sizes[k], analyses)
        if whole is None:
            k += 1
            continue
        indices[k - 1 : k + 1], sizes[k - 1 : k + 1] = [whole], [sizes[k - 1] * sizes[k]]
        k = max(k - 1, 1)
    access = op.attributes["access"]
    if len(indices) == access.rank:
        return op
    viewed = dataclasses.replace(access, rank=len(indices), view=tuple(sizes))
    operands = (op.operands[0], *indices, *op.operands[1 + access.rank :])
    return dataclasses.replace(op, operands=operands, attributes={**op.attributes, "access": viewed})


def _recombined(row: Value, column: Value, width: int, analyses: Analyses) -> Value | None:
    """The number, not negative, of which two values are the quotient and the remainder by a width."""
    quotient, rest = (analyses.definitions.get(value) for value in (row, column))
    if quotient is None or rest is None or (quotient.name, rest.name) != ("div", "rem"):
        return None
    number, interval = quotient.operands[0], analyses.known(quotient.operands[0]).interval
    by_width = all(analyses.known(op.operands[1]).only == width for op in (quotient, rest))
    is_natural = interval is not None and interval[0] >= 0 and number.shape == quotient.results[0].shape
    return number if by_width and is_natural and rest.operands[0] is number else None
