"""Tasks: what work-groups carry out of a traced kernel, with what is known of it."""

import dataclasses
import functools

from xeemu.devices.target import Target
from xeemu.knowledge.analysis import Facts
from xeemu.language.program import Program
from xeemu.passes import pipeline
from xeemu.passes.analyses import Analyses


@dataclasses.dataclass(frozen=True, eq=False)
class Analysed:
    """A traced kernel with what is known of it.

    Attributes:
      program: the traced kernel.
      facts: its analysis.
      target: the host that carries it out.
      deterministic: true if sums of floats are taken in one order.
      watched: true if somebody sees every access, so that all of them have to be carried out.
    """

    program: Program
    facts: Facts
    target: Target
    deterministic: bool = False
    watched: bool = False

    @property
    def task(self) -> "Task":
        """What all groups carry out."""
        return self if self.watched else self._optimised

    @functools.cached_property
    def _optimised(self) -> Analyses:
        return self.of_rows(None)

    def facts_of(self, rows: range) -> Facts:
        """What is known for some rows of groups of what all groups carry out."""
        return Analyses(self.task.program, rows).facts

    def of_rows(self, rows: range | None) -> Analyses:
        """What some rows of groups carry out, or all for None, if nobody watches."""
        return pipeline.optimised(self.program, self.target, rows, in_order=self.deterministic)


Task = Analysed | Analyses
"""What work-groups carry out: a program and its facts, as it was written or as the passes leave it."""
