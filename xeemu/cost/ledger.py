"""Ledger: what there is to count in a launch, and what of that follows from what it has left in memory."""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from xeemu.cost.census import Census
from xeemu.cost.costs import FIGURES
from xeemu.cost.sampling import Sample
from xeemu.emission.observer import MAX_ITERATIONS
from xeemu.knowledge import termination
from xeemu.knowledge.access_tree import AccessSite, Key, MemoryOperation
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.termination import IterationLimits
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program

State = Mapping[str, Sequence[Any]]

TALLY = np.dtype(np.uint32)
"""Of the numbers of lanes that update an element."""


@dataclasses.dataclass(frozen=True, eq=False)
class Ledger:
    """What there is to count in a launch.

    Attributes:
      census: what is known already.
      sample: the work-groups that are measured lane by lane; None for all.
      subtracted: the memories whose updates are known from what is in them before and after, see `subtractable`.
    """

    census: Census
    sample: Sample | None
    subtracted: frozenset[Allocation] = frozenset()

    @functools.cached_property
    def access_sites(self) -> tuple[AccessSite, ...]:
        """The memory operations of the source some of whose figures are missing."""
        return tuple(dict.fromkeys(self.census.access_site(key) for key in self.census.left))

    @functools.cached_property
    def once(self) -> Mapping[Key, Facts]:
        """The loads to count that are made once in each execution of a body around them: its call path."""
        around = self.census.repeated.once
        return {key: around[key] for key in self.census.left if key in around}

    @functools.cached_property
    def paths(self) -> tuple[Facts, ...]:
        """The call paths of whose bodies the number of executions is missing."""
        return tuple(facts for facts, times in self.census.executions.items() if times is None)

    @functools.cached_property
    def sections(self) -> tuple[Key, ...]:
        """The sections in divergent code of which it is missing how often a sub-group executes them."""
        return tuple(key for key, times in self.census.active.items() if times is None)

    @functools.cached_property
    def limits(self) -> IterationLimits:
        """How long loops may go on."""
        return termination.limits([self.census.tree.root.facts], MAX_ITERATIONS)

    @functools.cached_property
    def shown(self) -> Mapping[Key, int]:
        """Accesses to local memory of which an execution is kept to be shown: their numbers."""
        keys = [key for key in self.census.left if self.census.access_site(key).memory.space == "local"]
        return {key: number for number, key in enumerate(keys)}

    @functools.cached_property
    def tallied(self) -> tuple[Allocation, ...]:
        """The memories of which the updates of some elements are missing."""
        return tuple(dict.fromkeys(self.census.access_site(key).memory for key in self.census.untallied))

    @functools.cached_property
    def noted(self) -> tuple[Allocation, ...]:
        """Those of them whose updates are noted as they happen."""
        return tuple(memory for memory in self.tallied if memory not in self.subtracted)

    @functools.cached_property
    def partial(self) -> frozenset[Allocation]:
        """Those of them of which the census knows some updates."""
        return frozenset(memory for memory in self.tallied if self.census.tallies[memory].any())

    def scaled(self, tally: np.ndarray) -> np.ndarray:
        """Of what was counted on a sample what that stands for."""
        return tally if self.sample is None else np.rint(tally * self.sample.scale).astype(np.int64)

    def zeros(self) -> State:
        """The state in which nothing was counted.

        Keys:
          figures: int64 `[F]` for each place.
          sums, squares: float64 `[F]` for each place, over the groups of a sample.
          executions: an int64 for each path.
          active: an int64 for each section in divergent code.
          tallies: uint32 `[elements]` for each memory of `noted`.
          exceeded: for each loop of `limits` true if it was given up.
          elements, taken: for each access that is shown the last execution by the first group: `[n]` elements of the
            memory, and which of them were accessed, n being all elements of the access.
        """
        sizes = [math.prod(self.census.operations[key][0].access.shape) for key in self.shown]
        blank = [jnp.zeros(len(FIGURES), np.int64) for _ in self.access_sites]
        sampled = [jnp.zeros(len(FIGURES), np.float64) for _ in self.access_sites if self.sample]
        return {
            "figures": blank,
            "sums": sampled,
            "squares": list(sampled),
            "executions": [jnp.zeros((), np.int64) for _ in self.paths],
            "active": [jnp.zeros((), np.int64) for _ in self.sections],
            "exceeded": [jnp.zeros((), bool) for _ in self.limits.loops],
            "tallies": [jnp.zeros(memory.elements, TALLY) for memory in self.noted],
            "elements": [jnp.zeros(size, np.int32) for size in sizes],
            "taken": [jnp.zeros(size, bool) for size in sizes],
        }


def subtractable(taken: Census, program: Program, sample: Sample | None) -> frozenset[Allocation]:
    """The memories whose every update adds one, so that a launch adds to each element as many as lanes update it.

    Atomics are of 32 or 64 bits, so that the number wraps as a tally's does, if at all. None are subtractable if some
    work-groups stand for all.
    """
    if sample is not None:
        return frozenset()
    returned = {program.arguments[number] for number in program.outputs}
    writes: dict[Allocation, list[MemoryOperation]] = {}
    for operation in taken.tree.root.operations():
        if operation.changes:
            writes.setdefault(operation.access_site.memory, []).append(operation)
    whole = {memory for memory in returned if memory is not None and memory.dtype.kind in "iu"}
    return frozenset(m for m, operations in writes.items() if m in whole and all(o.adds_one for o in operations))


def tallied(ledger: Ledger, state: State, program: Program, given: Sequence[Any], outputs: Sequence[Any]) -> State:
    """The state with the tallies, uint32 `[elements]`, of all memories of `Ledger.tallied`.

    Args:
      ledger: what there was to count.
      state: the observer's state after the last chunk.
      program: the launch.
      given, outputs: its arguments and results.
    """
    noted = dict(zip(ledger.noted, state["tallies"], strict=True))
    for number, output in zip(program.outputs, outputs, strict=True):
        if (memory := program.arguments[number]) in ledger.subtracted:
            before, after = (np.asarray(array).reshape(-1) for array in (given[number], output))
            noted[memory] = (after - before).astype(TALLY)
    return {**state, "tallies": [noted[memory] for memory in ledger.tallied]}


def totals(ledger: Ledger, state: State) -> Mapping[Allocation, np.ndarray]:
    """For each memory of `Ledger.tallied` the lanes that update each element, those that the census knows included."""
    known = {memory: ledger.census.tallies[memory] for memory in ledger.partial - ledger.subtracted}
    tallies = zip(ledger.tallied, map(ledger.scaled, state["tallies"]), strict=True)
    return {memory: tally + known[memory] if memory in known else tally for memory, tally in tallies}


def condensed(ledger: Ledger, state: State) -> State:
    """The state with the greatest number of each of `totals` instead of the tallies, an int64."""
    most = [np.max(total, initial=0).astype(np.int64) for total in totals(ledger, state).values()]
    return {**state, "tallies": most}
