"""Simplified divisions: `//` and `%` of numbers that are not negative by positive ones, which need not round down.

What would correct a remainder is a choice that is known then; so are others, which go as well.
"""

from xeemu.devices.target import Target
from xeemu.ir.program import Op, Value
from xeemu.knowledge import floor_division
from xeemu.language.program import Program
from xeemu.passes import eliminate_dead_code
from xeemu.passes.analyses import Analyses


def simplify_divisions(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program in which such a quotient is that of `div`, and such a remainder that of `rem`."""
    choices = (op for op in program.body.walk() if op.name == "select_n")
    found = {op: chosen for op in choices if (chosen := _chosen(op, analyses)) is not None}
    return eliminate_dead_code.replaced(program, found, lambda rewriter, op, chosen: rewriter.values([chosen]))


def _chosen(op: Op, analyses: Analyses) -> Value | None:
    """What a choice surely gives, if that is known: one of its operands, or a quotient that it need not round down."""
    if (known := analyses.known(op.operands[0]).only) is not None:
        return op.operands[1 + known]
    division = floor_division.natural(op.results[0], analyses.definitions, lambda value: analyses.known(value).interval)
    return None if division is None else division.results[0]
