"""Analyses: what passes may ask about the program that they are given."""

import dataclasses
import functools

from xeemu.ir.program import Op, Region, Value
from xeemu.knowledge import analysis, dataflow
from xeemu.knowledge.analysis import Facts, Known
from xeemu.language.program import Program
from xeemu.passes import group_invariant_memory


@dataclasses.dataclass(frozen=True, eq=False)
class Analyses:
    """A program with what is known of it; all of that is found out only when somebody asks.

    Attributes:
      program: the program.
      rows: the rows of groups, along the first dimension of the group range, that will carry it out; None for all.
      in_order: true if sums of floats have to be taken in the order of the work-items.
    """

    program: Program
    rows: range | None = None
    in_order: bool = False

    @functools.cached_property
    def facts(self) -> Facts:
        """The analysis of the program, with the memories that all groups fill alike."""
        shared = group_invariant_memory.analyse(self.program, self.rows)
        return shared or dataflow.analyse(self.program, self.rows)

    @functools.cached_property
    def by_region(self) -> dict[Region, Facts]:
        """The facts of each region of a program without calls.

        Raises:
          ValueError: a region is carried out several times, so that no facts are its only ones.
        """
        each = list(analysis.bodies(self.facts))
        found = {facts.body: facts for facts in each}
        if len(found) < len(each):
            raise ValueError("what is called several times has no facts of its own; inline_calls has to come before")
        return found

    @functools.cached_property
    def definitions(self) -> dict[Value, Op]:
        """For each value of the program and the regions in it the operation that computes it."""
        return {value: op for op in self.program.body.walk() for value in op.results}

    @functools.cached_property
    def _values(self) -> dict[Value, Known]:
        return {value: known for facts in self.by_region.values() for value, known in facts.values.items()}

    def known(self, value: Value) -> Known:
        """What is known of a value of a program without calls.

        All versions of a memory have one and the same `Known`.
        """
        return self._values[value] if value in self._values else self.facts.value(value)
