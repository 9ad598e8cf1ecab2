"""Inlining: calls written out where they stand, after which every value is computed once only."""

import dataclasses
from collections.abc import Callable, Sequence

from xeemu.ir import control
from xeemu.ir.program import Op, Region, Value
from xeemu.ir.rewriting import Rewriter, Rule, rewritten


def inlined(program: Region, has_line: Callable[[Op], bool]) -> Region:
    """A program without calls.

    Args:
      program: the program.
      has_line: true if an operation comes from a line of the user's; those of a call that do not, as what a library
        does, get the line of the call.
    """

    def written_out(rewriter: Rewriter, op: Op, call: Op | None = None) -> Sequence[Value | None] | None:
        called = control.of(op) if op.regions else None
        if isinstance(called, control.Call):
            line = op if call is None or has_line(op) else call
            return rewriter.inline(called.body, rewriter.values(op.operands), inside(line))
        if call is None or has_line(op):
            return None
        rewriter.keep(dataclasses.replace(op, traceback=call.traceback))
        return rewriter.values(op.results)

    def inside(call: Op) -> Rule:
        return lambda rewriter, op: written_out(rewriter, op, call)

    return rewritten(program, written_out)
