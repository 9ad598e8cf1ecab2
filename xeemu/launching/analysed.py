"""Analysed: a traced kernel with what is known of it, and what of it work-groups have to carry out."""

import dataclasses
import functools

from xeemu.knowledge import analysis, group_invariant_memory, scratchpad_copies
from xeemu.knowledge.analysis import Plan
from xeemu.language.program import Program
from xeemu.launching import scratchpad_elimination


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """What work-groups carry out.

    Attributes:
      program: the operations.
      plan: the analysis of them, for these groups.
    """

    program: Program
    plan: Plan


@dataclasses.dataclass(frozen=True, eq=False)
class Analysed:
    """A traced kernel with what is known of it.

    Attributes:
      program: the traced kernel.
      plan: its analysis.
      watched: whether somebody sees every access, so that all of them have to be carried out.
    """

    program: Program
    plan: Plan
    watched: bool = False

    @functools.cached_property
    def task(self) -> Task:
        """What all groups carry out."""
        if self.watched:
            return Task(self.program, self.plan)
        return self._without_copies(self._alike or self.plan, None)

    def known(self, rows: range) -> Plan:
        """What is known of the kernel for some rows of groups, if nobody watches."""
        alike = group_invariant_memory.analyse(self.program, rows) if self._alike else None
        return alike or analysis.analyse(self.program, rows)

    def part(self, rows: range) -> Task:
        """What some rows of groups carry out, if nobody watches."""
        return self._without_copies(self.known(rows), rows)

    @functools.cached_property
    def _alike(self) -> Plan | None:
        return group_invariant_memory.analyse(self.program)

    def _without_copies(self, plan: Plan, rows: range | None) -> Task:
        """The kernel, but for local memories that only copy a global one; `plan` is of these rows, None for all."""
        found = scratchpad_copies.of_program(self.program, plan, rows)
        if not found:
            return Task(self.program, plan)
        program = scratchpad_elimination.without(self.program, plan, found)
        return Task(program, group_invariant_memory.analyse(program, rows) or analysis.analyse(program, rows))
