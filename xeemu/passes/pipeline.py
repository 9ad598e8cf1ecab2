"""The pipeline: what is done to a program before a launch carries it out, pass after pass.

Who watches a program, as a check or a profile does, gets it as it was written.
"""

import dataclasses
from collections.abc import Callable

from xeemu.devices.target import Target
from xeemu.ir import verifier
from xeemu.language import source
from xeemu.language.program import Program
from xeemu.passes.analyses import Analyses
from xeemu.passes.common_subexpressions import common_subexpressions
from xeemu.passes.drop_neutral_operands import drop_neutral_operands
from xeemu.passes.drop_redundant_masks import drop_redundant_masks
from xeemu.passes.eliminate_dead_code import eliminate_dead_code
from xeemu.passes.eliminate_scratchpads import eliminate_scratchpads
from xeemu.passes.forward_stores import forward_stores
from xeemu.passes.fuse_updates import fuse_updates
from xeemu.passes.inline_calls import inline_calls
from xeemu.passes.linearise_indices import linearise_indices
from xeemu.passes.merge_updates import merge_updates
from xeemu.passes.promote_memories import promote_memories
from xeemu.passes.simplify_divisions import simplify_divisions

Pass = Callable[[Program, Analyses, Target], Program]
"""A program from another one, of which so much is known, for a host; the same one if nothing is to be done."""

PASSES: tuple[Pass, ...] = (
    inline_calls,
    eliminate_dead_code,
    simplify_divisions,
    drop_neutral_operands,
    common_subexpressions,
    eliminate_scratchpads,
    linearise_indices,
    promote_memories,
    forward_stores,
    drop_redundant_masks,
    fuse_updates,
    merge_updates,
)
"""All of them, each once, in order. Each relies on those before it: after the first one there are no calls, and after
the second one there is no dead code, of which the others leave none behind."""

NAMES = tuple(each.__name__ for each in PASSES)


def optimised(
    program: Program, target: Target, rows: range | None = None, after: str | None = None, in_order: bool = False
) -> Analyses:
    """A program after the passes, with what is known of it.

    Args:
      program: as it was written.
      target: the host that will carry it out.
      rows: the rows of groups, along the first dimension of the group range, that will; None for all.
      after: the name of the last pass that is applied; None for all.
      in_order: true if sums of floats have to be taken in the order of the work-items.
    """
    analyses = Analyses(program, rows, in_order)
    for each in PASSES[: None if after is None else NAMES.index(after) + 1]:
        made = each(analyses.program, analyses, target)
        if made.body is not analyses.program.body:
            verifier.verify(made.body, lambda op: str(source.of_op(op)))
            analyses = dataclasses.replace(analyses, program=made)
    return analyses
