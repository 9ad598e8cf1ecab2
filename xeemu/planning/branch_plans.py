"""Branch plans: how each choice between branches is carried out, as a value that is decided on before it is emitted."""

import dataclasses

from xeemu.devices.target import Target
from xeemu.ir.program import Op
from xeemu.knowledge.analysis import Facts


@dataclasses.dataclass(frozen=True)
class Folded:
    """A branch that all groups surely take, of which nobody sees that it is a choice.

    Attributes:
      number: of the branch.
    """

    number: int


@dataclasses.dataclass(frozen=True)
class Uniform:
    """A branch that all groups take, whichever."""


@dataclasses.dataclass(frozen=True)
class Divergent:
    """One branch after the other, each for those groups that take it.

    Attributes:
      skips: true if a branch that no group takes is skipped.
    """

    skips: bool


BranchPlan = Folded | Uniform | Divergent


def of_choice(op: Op, facts: Facts, watched: bool, target: Target) -> BranchPlan:
    """How a choice between branches is carried out.

    Args:
      op: the choice.
      facts: what is known of its operand.
      watched: true if somebody sees every access.
      target: where it will run.
    """
    if (only := certain_branch(op, facts, watched)) is not None:
        return Folded(only)
    return Divergent(target.skips_branches) if facts.value(op.operands[0]).varying else Uniform()


def certain_branch(op: Op, facts: Facts, watched: bool) -> int | None:
    """The number of the branch that a choice surely takes; None if it is not known, or somebody watches."""
    only = facts.value(op.operands[0]).only
    return None if only is None or watched else min(max(only, 0), len(op.regions) - 1)
