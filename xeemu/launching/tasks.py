"""Tasks: what work-groups carry out of a traced kernel, with what is known of it."""

import dataclasses
import functools

from xeemu.devices.target import Target
from xeemu.knowledge.analysis import Facts
from xeemu.language.program import Program
from xeemu.passes import pipeline
from xeemu.passes.analyses import Analyses


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """What work-groups carry out.

    Attributes:
      program: the operations.
      facts: the analysis of them, for these groups.
    """

    program: Program
    facts: Facts


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

    @functools.cached_property
    def task(self) -> Task:
        """What all groups carry out."""
        return Task(self.program, self.facts) if self.watched else self._optimised(None)

    def known(self, rows: range) -> Facts:
        """What is known for some rows of groups of what all groups carry out."""
        return Analyses(self.task.program, rows).facts

    def part(self, rows: range) -> Task:
        """What some rows of groups carry out, if nobody watches."""
        return self._optimised(rows)

    def _optimised(self, rows: range | None) -> Task:
        analyses = pipeline.optimised(self.program, self.target, rows, in_order=self.deterministic)
        return Task(analyses.program, analyses.facts)
