"""Utilisation: how much of the device a launch fills: its work-group slots, threads, lanes and registers."""

import math
from collections.abc import Iterator

import numpy as np

from xeemu.cost.advice import Advice, Evidence, Idle
from xeemu.cost.sites import SiteReport, fewer
from xeemu.cost.trials import WhatIf
from xeemu.plurals import counted

# Patterns worth a hint: half of the device's places for work-groups without one; half of the lanes without work.
_FEW_GROUPS = 0.5
_FEW_LANES = 0.5
# Work-items of a work-group that is large enough.
_LARGE_GROUP = 256


def advice(evidence: Evidence) -> Iterator[Advice]:
    """What to do where much of the device has nothing to do."""
    yield from _small(evidence)
    yield from _small_groups(evidence)
    yield from _low_occupancy(evidence)
    yield from _idle_lanes(evidence)
    yield from _spill(evidence)


def _small(evidence: Evidence) -> Iterator[Advice]:
    resident, cores = evidence.occupancy and evidence.occupancy.groups, evidence.device.xe_cores
    if not resident or not cores or not evidence.groups or evidence.groups > _FEW_GROUPS * resident * cores:
        return
    places = resident * cores
    spread = min(places / evidence.groups, evidence.parts)
    if spread <= 1:
        return
    text = (
        f"{evidence.groups} of the {places} work-groups that {evidence.device.name} holds at a time, {resident} on "
        f"each of {cores} Xe cores; the rest of the device is idle. Let {_times(spread)} times as many work-groups "
        f"share {'the iterations' if evidence.has_loops else 'what one line repeats'} of a work-item, none of which "
        "needs others."
    )
    yield Advice("small launch", (), text, WhatIf(spread=spread), minor=True)


def _small_groups(evidence: Evidence) -> Iterator[Advice]:
    larger = min(_LARGE_GROUP, evidence.device.max_work_group_size)
    if larger < 2 * evidence.group_size or evidence.groups < 2:
        return
    filled = evidence.sub_group_size / min(evidence.group_size, evidence.sub_group_size)
    empty = evidence.sub_group_size - evidence.group_size
    lanes = f", which leave {empty} of the {evidence.sub_group_size} lanes of a sub-group empty" if filled > 1 else ""
    longer = ", longer along the last dimension," if any(_goes_on(site, evidence) for site in evidence.sites) else ""
    text = (
        f"The launch starts {evidence.groups} work-groups, of {counted(evidence.group_size, 'work-item')} each{lanes}. "
        f"Make them larger, {larger} work-items{longer} or let each work-item do more: fewer are started then."
    )
    sites = tuple((site, _in_full_requests(site, evidence)) for site in evidence.sites) if filled > 1 else ()
    change = WhatIf(sites=sites, spread=evidence.group_size / larger, merges=True, filled=filled)
    yield Advice("small work-groups", (), text, change, minor=True)


def _in_full_requests(site: SiteReport, evidence: Evidence) -> SiteReport:
    """A site whose requests have few lanes, since a work-group has no more, as neighbouring groups make it together.

    What lanes have in common is accessed once; of others the next lanes are as far apart as those are, side by side
    where the next group goes on with a row, and of a lane alone in a line of its own.
    """
    if not site.requests:
        return site
    if site in evidence.common:
        return fewer(site, evidence.sub_group_size / evidence.group_size)
    taking, full = min(evidence.group_size, evidence.request_lanes), evidence.request_lanes
    asked, requests = site.requests, math.ceil(site.requests * taking / full)
    line = evidence.device.line_bytes or 1

    def pieces(number: int | None, size: int) -> int | None:
        if number is None:
            return None
        apart = (number / asked - 1) / (taking - 1) if taking > 1 else 1.0
        apart = 0.0 if _goes_on(site, evidence) else apart
        return math.ceil(max(requests * (1 + apart * (full - 1)), (site.bytes_used or 0) / size))

    sector = evidence.device.sector_bytes or line
    sectors = pieces(site.sectors, sector)
    kept = {"lanes": site.lanes, "bytes_used": site.bytes_used, "lines": pieces(site.lines, line), "sectors": sectors}
    moved = None if sectors is None or site.bytes_moved is None else min(site.bytes_moved, sectors * sector)
    return fewer(site, full / taking, **kept, bytes_moved=moved)


def _goes_on(site: SiteReport, evidence: Evidence) -> bool:
    """True if rows of a work-group, shorter than a request, go on in the next one, so that longer ones fill it."""
    length = evidence.local_size[-1]
    if site.space != "global" or len(evidence.local_size) < 2 or length >= evidence.request_lanes:
        return False
    strides = evidence.strides([site])
    return strides is not None and length * np.dtype(site.dtype).itemsize in strides.steps


def _low_occupancy(evidence: Evidence) -> Iterator[Advice]:
    occupancy = evidence.occupancy
    if occupancy is None or occupancy.fraction is None or not 0 < occupancy.fraction < 1:
        return
    limiter = f", limited by {occupancy.limiter}" if occupancy.limiter else ""
    text = (
        f"{100 * occupancy.fraction:.0f} % of the hardware threads of an Xe core have work{limiter}, so that few "
        f"others run while one waits. {_sentence(occupancy.next_step)}"
    )
    raised = occupancy.next_fraction or occupancy.fraction
    yield Advice("low occupancy", (), text, WhatIf(resident=raised / occupancy.fraction), minor=True)


def _idle_lanes(evidence: Evidence) -> Iterator[Advice]:
    there = min(evidence.sub_group_size, evidence.group_size)
    idle = [each for each in evidence.idle if each.lanes <= _FEW_LANES * each.sub_groups * there]
    sites = [site for site in evidence.sites if _is_sparse(site, evidence)]
    if not idle and not sites:
        return
    where = ", ".join(dict.fromkeys(str(each.site.line) for each in idle))
    lanes = sum(each.lanes for each in idle) or sum(site.lanes or 0 for site in sites)
    times = sum(each.sub_groups for each in idle) or sum(site.requests or 0 for site in sites)
    lines = f" (line {where})" if where else ""
    text = (
        f"{lanes / times:.3g} of the {evidence.sub_group_size} lanes of a sub-group have work where work-items part"
        f"{lines}. Give the work to neighbouring work-items, work-item i the i-th piece, so that whole sub-groups work "
        "and the others are done."
    )
    spared = tuple((site, fewer(site, 1 / max(_active(site, evidence), 1e-9))) for site in sites)
    change = WhatIf(sites=spared, instructions=_spared(idle, evidence))
    yield Advice("lanes without work", tuple(sites), text, change, minor=True)


def _active(site: SiteReport, evidence: Evidence) -> float:
    """Lanes that take part, of those of the requests that have a work-item."""
    if not site.requests or site.lanes is None:
        return 1.0
    return site.lanes / (site.requests * min(evidence.request_lanes, evidence.group_size))


def _is_sparse(site: SiteReport, evidence: Evidence) -> bool:
    """True if few lanes of its requests take part, though each work-item has an access of its own."""
    own = site not in evidence.common and not _is_one_item(site, evidence)
    return own and _active(site, evidence) <= _FEW_LANES


def _is_one_item(site: SiteReport, evidence: Evidence) -> bool:
    """True if a work-group accesses with one work-item, so that there is nothing to give to others."""
    return site.lanes is not None and site.lanes <= (site.requests or 0)


def _spared(idle: list[Idle], evidence: Evidence) -> dict[str, float]:
    """Instructions that are not executed if full sub-groups do the work, by class; negative."""
    found: dict[str, float] = {}
    for each in idle:
        needed = math.ceil(each.lanes / evidence.sub_group_size)
        for name, number in each.instructions.items():
            found[name] = found.get(name, 0.0) - number * max(0, each.sub_groups - needed)
    return found


def _spill(evidence: Evidence) -> Iterator[Advice]:
    if evidence.spill_bytes <= 0:
        return
    text = (
        f"{evidence.spill_bytes} bytes of a work-item do not fit its registers and are kept in memory. Keep fewer "
        "values at a time, compute some of them again, or take sub-groups of fewer lanes, which have more registers."
    )
    yield Advice("spill", (), text, WhatIf(spills=False))


def _times(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
