"""Phases: the parts of a program that work-groups which start together go through one after the other.

A phase is an outermost loop, or what stands before, between and after such loops. Told is which share of the work of
each resource falls to it.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.cost import requests
from xeemu.cost.census import Census
from xeemu.cost.instructions import CHAIN
from xeemu.cost.latency import Waiting
from xeemu.cost.sites import SiteReport
from xeemu.knowledge.access_tree import AccessSite, MemoryOperation, Node

Shares = Mapping[str, float]
"""The share of a phase in the work of each resource of the time model."""

_LOOP = ("iteration", "test")

ByPhase = np.ndarray
"""float `[phase]`: some work in each phase."""


@dataclasses.dataclass(eq=False)
class _Numbering:
    """Numbers the phases of a program in their order.

    Attributes:
      numbers: of each call path, by its facts, and of each operation that stands in no loop, by its key.
      last: the last number that was given.
    """

    numbers: dict[Any, int] = dataclasses.field(default_factory=dict)
    last: int = 0

    def walk(self, node: Node) -> None:
        """Numbers what a node in no loop does."""
        self.numbers.setdefault(node.facts, self.last)
        loop: int | None = None
        for step in node.steps:
            if isinstance(step, Node) and step.kind in _LOOP:
                # A loop has a node for its predicate and its body, or for each iteration.
                self.last += step.number != loop
                loop = step.number
                self.numbers |= dict.fromkeys((inner.facts for inner in step.nodes()), self.last)
                continue
            self.last += loop is not None
            loop = None
            if isinstance(step, Node):
                self.walk(step)
            elif isinstance(step, MemoryOperation):
                self.numbers[step.key] = self.last


def of_launch(sites: Mapping[AccessSite, SiteReport], taken: Census, waits: Sequence[Waiting]) -> tuple[Shares, ...]:
    """The phases of a launch, in the order of the program.

    Args:
      sites: what the memory operations cost.
      taken: the census that they are from.
      waits: what sub-groups wait for.

    Returns:
      None at all if it is not known how often a part of the program is executed.
    """
    numbering = _Numbering()
    numbering.walk(taken.tree.root)
    executed = _executed(taken, numbering)
    if executed is None:
        return ()
    at_sites = _at_sites(sites, taken, numbering)
    works = {name: sum((of[name] for of in at_sites.values()), 0.0 * executed["barriers"]) for name in _OF_SITES}
    works["issue"] = executed["arithmetic"] + works["issue"]
    works["barriers"] = executed["barriers"]
    places = {id(site): place for place, site in sites.items()}
    waited = (
        _shared(
            at_sites[places[id(each.site)]]["issue"] if each.site else executed.get(each.cause, executed["arithmetic"])
        )
        for each in waits
    )
    works["latency"] = sum(
        (share * (each.cycles or 0.0) for share, each in zip(waited, waits, strict=True)), 0.0 * works["issue"]
    )
    shares = {name: _shared(work) for name, work in works.items()}
    return tuple({name: float(share[k]) for name, share in shares.items()} for k in range(numbering.last + 1))


def _shared(work: ByPhase) -> ByPhase:
    return work / work.sum() if work.sum() else work


def _executed(taken: Census, numbering: _Numbering) -> dict[str, ByPhase] | None:
    """Instructions without requests, barriers and fences of sub-groups; None if a part's executions are not known."""
    found = {name: np.zeros(numbering.last + 1) for name in ("arithmetic", "barriers", "fences")}
    for (facts, section), classes in taken.instructions.items():
        executions = taken.executions[facts]
        times = None if executions is None else executions * requests.sub_groups(taken.geometry)
        times = taken.active.get((facts, section), times)
        if times is None:
            return None
        here = numbering.numbers[facts]
        found["arithmetic"][here] += times * sum(n for name, n in classes.items() if name != CHAIN)
        found["barriers"][here] += times * classes.get("barrier", 0.0)
        found["fences"][here] += times * classes.get("fence", 0.0)
    return found


_OF_SITES = ("issue", "SLM", "L1", "L2", "DRAM", "atomics")


def _at_sites(
    sites: Mapping[AccessSite, SiteReport], taken: Census, numbering: _Numbering
) -> dict[AccessSite, dict[str, ByPhase]]:
    """What the memory operations ask of the resources."""
    found = {place: {name: np.zeros(numbering.last + 1) for name in _OF_SITES} for place in sites}
    for operation, share in taken.shares:
        facts, place = operation.node.facts, operation.access_site
        here = numbering.numbers.get(operation.key, numbering.numbers[facts])
        for name, work in _asked(sites[place], place in taken.updates).items():
            found[place][name][here] += share.requests * (work or 0.0)
    return found


def _asked(site: SiteReport, updates: bool) -> dict[str, float | None]:
    if site.space == "local":
        return {"issue": site.requests, "SLM": site.passes}
    if updates:
        return {"issue": site.requests, "atomics": site.lanes}
    return {"issue": site.requests, **dict.fromkeys(("L1", "L2", "DRAM"), site.bytes_moved)}
