"""Simplified divisions: `//` and `%` of numbers that are not negative by positive ones, which need not round down.

What would correct a remainder is a choice that is known then; so are others, which go as well.
"""

from collections.abc import Sequence

from xeemu.devices.target import Target
from xeemu.ir.program import Op, Value
from xeemu.ir.rewriting import Rewriter, rewritten
from xeemu.knowledge import floor_division
from xeemu.language.program import Program
from xeemu.passes import eliminate_dead_code
from xeemu.passes.analyses import Analyses


def simplify_divisions(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program in which such a quotient is that of `div`, and such a remainder that of `rem`."""
    made = {value: op for op in program.body.walk() for value in op.results}
    if not any(op.name in ("div", "rem") for op in made.values()):
        return program

    def divided(rewriter: Rewriter, op: Op) -> Sequence[Value | None] | None:
        if op.name != "select_n":
            return None
        if (known := analyses.known(op.operands[0]).only) is not None:
            return rewriter.values([op.operands[1 + known]])
        division = floor_division.natural(op.results[0], made, lambda value: analyses.known(value).interval)
        return None if division is None else rewriter.values(division.results)

    return eliminate_dead_code.remade(program, rewritten(program.body, divided))
