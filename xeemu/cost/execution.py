"""Execution: what a launch executes, its instructions, barriers and atomic operations, from its counts."""

import dataclasses
from collections.abc import Mapping

from xeemu.cost import amounts, pipes, predication, requests
from xeemu.cost.algorithms import EXCHANGE
from xeemu.cost.census import Census
from xeemu.cost.counting import Counts
from xeemu.cost.instructions import CHAIN
from xeemu.cost.sites import AtomicTotals, SiteReport
from xeemu.knowledge.access_tree import AccessSite
from xeemu.language.linearity import Allocation


@dataclasses.dataclass(frozen=True, kw_only=True)
class Executed:
    """What a launch executes, all its work-groups together.

    Attributes:
      instructions: of sub-groups, by class; None if they are not known.
      chain: those that wait for the one before, without requests to memory; None if they are not known.
      barriers: of work-groups.
      exchanges: requests to local memory of group algorithms; half of them are loads, and each takes one pass.
      masked: by place, accesses that sub-groups issue though none of their lanes takes part (see `predication`).
      atomics: totals of atomic operations.
    """

    instructions: Mapping[str, float] | None
    chain: float | None
    barriers: int | None
    exchanges: int | None
    masked: Mapping[AccessSite, float]
    atomics: AtomicTotals


def of_launch(sites: Mapping[AccessSite, SiteReport], counts: Counts, taken: Census) -> Executed:
    """What a launch executes.

    Args:
      sites: its memory operations.
      counts: what was counted.
      taken: its census.
    """
    executed = _by_class(counts, taken)
    without_lanes = predication.of_launch(sites, counts, taken)
    asked = amounts.total((*(site.requests for site in sites.values()), round(sum(without_lanes.values()))))
    classes, barriers, exchanges = _classes(executed, taken, asked)
    return Executed(
        instructions=classes,
        chain=executed.get(CHAIN, 0.0),
        barriers=barriers,
        exchanges=exchanges,
        masked=without_lanes,
        atomics=_atomics(sites, counts, taken),
    )


def _by_class(counts: Counts, taken: Census) -> dict[str, float | None]:
    """What sub-groups execute besides requests to memory, by class, and the chain of instructions."""
    sub_groups = requests.sub_groups(taken.geometry)
    total: dict[str, float | None] = {}
    for key, each in taken.instructions.items():
        executions = counts.executions[key[0]]
        times = None if executions is None else executions * sub_groups
        times = counts.active.get(key, times)
        for name, each_time in each.items():
            before = total.get(name, 0)
            total[name] = None if before is None or times is None else before + each_time * times
    return total


def _classes(
    executed: Mapping[str, float | None], taken: Census, memory_requests: int | None
) -> tuple[dict[str, int] | None, int | None, int | None]:
    """Instructions by class, those that there are; the barriers of work-groups; the exchanges of group algorithms."""
    total = pipes.named({"memory": memory_requests, **executed}, taken.device)
    barriers, exchanges = total.get("barrier", 0), total.get(EXCHANGE, 0)
    memory = total["memory"]
    total["memory"] = None if memory is None or exchanges is None else memory + exchanges
    known = {name: round(number) for name in pipes.CLASSES if (number := total.get(name))}
    by_group = None if barriers is None else round(barriers) // requests.sub_groups(taken.geometry)
    return None if None in total.values() else known, by_group, None if exchanges is None else round(exchanges)


def _atomics(sites: Mapping[AccessSite, SiteReport], counts: Counts, taken: Census) -> AtomicTotals:
    updates = taken.updates
    local = [site for place, site in sites.items() if place in updates and site.space == "local"]
    remote = {place: site for place, site in sites.items() if place in updates and site.space == "global"}
    return AtomicTotals(
        local_requests=amounts.total(site.requests for site in local),
        local_passes=amounts.total(site.passes for site in local),
        global_operations=amounts.total(site.lanes for site in remote.values()),
        global_sectors=amounts.total(site.sectors for site in remote.values()),
        contention=_contention({place.memory for place in remote}, counts),
    )


def _contention(memories: set[Allocation], counts: Counts) -> int | None:
    return amounts.most(counts.most_updates.get(memory) for memory in memories)
