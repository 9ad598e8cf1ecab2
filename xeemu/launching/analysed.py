"""Analysed: a traced kernel with what is known of it."""

import dataclasses

from xeemu.knowledge import analysis
from xeemu.knowledge.analysis import Plan
from xeemu.language.program import Program
from xeemu.launching import likeness


@dataclasses.dataclass(frozen=True, eq=False)
class Analysed:
    """A traced kernel with what is known of it.

    Attributes:
      program: the traced kernel.
      plan: its analysis.
      unwatched: its analysis for a launch of which nobody sees the accesses; None if that is the same (see `likeness`).
    """

    program: Program
    plan: Plan
    unwatched: Plan | None = None

    @property
    def emitted(self) -> Plan:
        """The analysis by which it is emitted if nobody watches."""
        return self.unwatched or self.plan

    def rows(self, rows: range) -> Plan:
        """The analysis of some rows of groups, if nobody watches."""
        alike = likeness.analyse(self.program, rows) if self.unwatched else None
        return alike or analysis.analyse(self.program, rows)
