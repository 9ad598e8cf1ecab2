"""Bounds: between what an estimate lies where data decide which lanes take part, what they access, and which branch is
taken. Of a loop whose end depends on data there is no bound.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from xeemu.cost import execution, requests, timing
from xeemu.cost.census import Census
from xeemu.cost.costs import kind
from xeemu.cost.counter import Counter, Issued
from xeemu.cost.counting import Counts
from xeemu.cost.sites import SiteReport
from xeemu.cost.timing import Timing
from xeemu.cost.trials import CountedLaunch
from xeemu.cost.vectors import Vector
from xeemu.cost.work import Wait
from xeemu.devices import banks
from xeemu.knowledge import budget, expressions
from xeemu.knowledge.access_tree import AccessSite, Key, MemoryOperation, Node
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.budget import Budget
from xeemu.language.linearity import Allocation

# What bounds may cost, so that an estimate that has them takes little longer than one that needs none.
_UNITS = budget.UNITS / 4

Which = Literal["least", "most"]


class Bounds(NamedTuple):
    """The least and the most of the counts of a place, by their name in `SiteReport`."""

    least: Mapping[str, int]
    most: Mapping[str, int]


def of_access_sites(places: Sequence[AccessSite], taken: Census) -> Mapping[AccessSite, Bounds]:
    """The bounds of those of some places that have any."""
    counter = Counter(taken.tree, taken.device, Budget(_UNITS, parts=len(taken.counts)))
    found = {
        place: _of_access_site([k for k in taken.counts if taken.access_site(k) == place], counter, taken)
        for place in places
    }
    return {place: bounds for place, bounds in found.items() if bounds is not None}


class Between(NamedTuple):
    """The cycles between which a launch lies.

    Attributes:
      least, most: these; the most None where something is missing, which can only take longer.
      missing: what the launch may use and the device has no figure for, as in a `Timing`.
    """

    least: float
    most: float | None
    missing: tuple[str, ...]


def cycles(launch: CountedLaunch, bounds: Mapping[AccessSite, Bounds], counts: Counts) -> Between | None:
    """The least and the most cycles of a launch; None if they are not known.

    Args:
      launch: it, with counts that are not known.
      bounds: of its places.
      counts: what is known.
    """
    taken = launch.taken
    counter = Counter(taken.tree, taken.device, Budget(_UNITS, parts=len(list(taken.tree.root.nodes()))))
    most = {node.facts: 0 for node in taken.tree.root.nodes()}
    for node in taken.tree.root.nodes():
        times = counter.executions(dataclasses.replace(node, certain=True)) if _is_bounded(node) else None
        if times is None:
            return None
        most[node.facts] += times
    found = []
    limits: tuple[tuple[Which, Mapping[Facts, int]], ...] = (("least", dict.fromkeys(most, 0)), ("most", most))
    for which, executed in limits:
        sites = {
            place: dataclasses.replace(site, most=bounds[place].most, **getattr(bounds[place], which))
            if place in bounds
            else site
            for place, site in launch.sites.items()
        }
        found.append(_timed(launch, sites, *_with(counts, executed, taken), which))
    least, most_ = (None if time is None else time.cycles for time in found)
    if least is None or most_ is None:
        return None
    missing = found[-1].missing if found[-1] is not None else ()
    return Between(min(least, most_), None if missing else most_, missing)


# --- Counts ---


def _of_access_site(keys: Sequence[Key], counter: Counter, taken: Census) -> Bounds | None:
    least: dict[str, int] = {}
    most: dict[str, int] = {}
    for key in keys:
        both = _of_access(key, counter, taken)
        if both is None:
            return None
        for total, each in zip((least, most), both, strict=True):
            for name, number in each.items():
                total[name] = total.get(name, 0) + number
    return Bounds(least, most) if keys else None


def _of_access(key: Key, counter: Counter, taken: Census) -> Bounds | None:
    count = taken.counts[key]
    if count is not None:
        known = {name: count.named(name) for name in ("lanes", "requests", *_figures(taken.access_site(key)))}
        return Bounds(*(_moving(known, taken) for _ in range(2)))
    most = _possible(key, counter, taken)
    if most is None or not taken.is_measured(key):
        return None
    return Bounds(_least(key, taken.issued[key] or Issued(0, 0), taken), _most(key, most, taken))


def _figures(place: AccessSite) -> tuple[str, ...]:
    return ("passes", "ideal_passes") if place.memory.space == "local" else ("lines", "sectors", "bytes_used")


def _possible(key: Key, counter: Counter, taken: Census) -> Issued | None:
    """Requests and lanes of an access if all lanes take part that may; None if there is no end to it."""
    vector = Vector(1, True)  # element by element, which takes most requests
    issued = Issued(0, 0)
    for operation in taken.operations[key]:
        if not _is_bounded(operation.node):
            return None
        found = counter.issued([_everywhere(operation)], vector)
        if found is None:
            return None
        issued = Issued(issued.requests + found.requests, issued.lanes + found.lanes)
    return issued


def _everywhere(operation: MemoryOperation) -> MemoryOperation:
    """An access that is executed wherever it may be, with all lanes that may take part; within the memory's bounds."""
    mask = operation.mask if operation.mask is not None and operation.mask.known else None
    index = tuple(each if each.known else expressions.constant(0) for each in operation.index)
    node = dataclasses.replace(operation.node, certain=True)
    return dataclasses.replace(operation, mask=mask, index=index, node=node)


def _is_bounded(node: Node) -> bool:
    """True if the boxes hold all executions of a node: it is in no loop whose end depends on data."""
    endless = node.kind in ("iteration", "test") and not node.certain and not node.counted
    return not endless and (node.parent is None or _is_bounded(node.parent))


def _least(key: Key, issued: Issued, taken: Census) -> Mapping[str, int]:
    """Each request touches one word, or one line, at least."""
    requests_, itemsize = issued.requests, taken.access_site(key).memory.dtype.itemsize
    figures = dict.fromkeys(_figures(taken.access_site(key)), requests_)
    if "bytes_used" in figures:
        figures["bytes_used"] = requests_ * itemsize
    return _moving({"lanes": issued.lanes, "requests": requests_, **figures}, taken)


def _most(key: Key, issued: Issued, taken: Census) -> Mapping[str, int]:
    """Each lane touches a line, or a bank after the others, of its own."""
    place, device, lanes = taken.access_site(key), taken.device, issued.lanes
    itemsize = place.memory.dtype.itemsize
    known = {"lanes": lanes, "requests": issued.requests}
    if place.memory.space == "local":
        passes = issued.requests * _worst(taken.operations[key][0], taken)
        return {**known, "passes": passes, "ideal_passes": passes}
    sector = device.sector_bytes or device.line_bytes or itemsize
    sectors = lanes * math.ceil(itemsize / sector)
    return _moving({**known, "lines": lanes, "sectors": sectors, "bytes_used": lanes * itemsize}, taken)


def _worst(operation: MemoryOperation, taken: Census) -> int:
    """Passes of a request of all lanes, on one word or on as many in one bank."""
    device, itemsize = taken.device, operation.access_site.memory.dtype.itemsize
    size = taken.geometry.sub_group_size
    row = (device.slm_banks or 1) * (device.slm_bank_bytes or itemsize)
    patterns = np.stack([np.zeros(size, np.int64), np.arange(size, dtype=np.int64) * max(row, itemsize)])
    passes = banks.bank_passes(patterns, np.ones_like(patterns, bool), device, width=itemsize, kind=kind(operation))
    return int(np.max(-(-passes.passes // np.maximum(passes.requests, 1))))


def _moving(figures: Mapping[str, int], taken: Census) -> Mapping[str, int]:
    sector = taken.device.sector_bytes or taken.device.line_bytes
    return {**figures, "bytes_moved": figures["sectors"] * sector} if sector and "sectors" in figures else figures


# --- Time ---


def _with(counts: Counts, executed: Mapping[Facts, int], taken: Census) -> tuple[Counts, Census]:
    """The counts and the census of a launch whose bodies are executed so often, where that is not known."""
    executions = {facts: executed[facts] if n is None else n for facts, n in counts.executions.items()}
    sub_groups = requests.sub_groups(taken.geometry)
    active = {key: executions[key[0]] * sub_groups if n is None else n for key, n in counts.active.items()}
    changed = dataclasses.replace(taken, executions=executions, active=active)
    return dataclasses.replace(counts, executions=executions, active=active), changed


def _timed(
    launch: CountedLaunch, sites: Mapping[AccessSite, SiteReport], counts: Counts, taken: Census, which: Which
) -> Timing | None:
    done = execution.of_launch(sites, counts, taken)
    if done.atomics.contention is None:
        atomics = dataclasses.replace(done.atomics, contention=_contention(sites, taken, which))
        done = dataclasses.replace(done, atomics=atomics)
    work = CountedLaunch(sites, done, taken, launch.resident, counts.executions, launch.spill).work
    if work is None or launch.resident is None:
        return None
    if which == "most" and work.waits is not None:
        work = dataclasses.replace(work, waits=tuple(_from_afar(wait, sites.values()) for wait in work.waits))
    return timing.predict(work, taken.device, launch.resident.groups)


def _from_afar(wait: Wait, sites: Iterable[SiteReport]) -> Wait:
    """A wait for a memory of which data decide what is loaded, from where some of it may come: of fewer bytes, a larger
    share does."""
    if wait.site is None or wait.is_local or not any(s.most and s.memory == wait.site.memory for s in sites):
        return wait
    return dataclasses.replace(wait, past_l1=1.0, past_l2=wait.past_l2 and float(wait.past_l2 > 0))


def _contention(sites: Mapping[AccessSite, SiteReport], taken: Census, which: Which) -> int:
    """Lanes on the busiest address: all that update a memory, or as few as where all its elements share them."""
    lanes: dict[Allocation, int] = {}
    for place in taken.updates:
        if place.memory.space == "global":
            lanes[place.memory] = lanes.get(place.memory, 0) + (sites[place].lanes or 0)
    shared = {memory: n if which == "most" else -(-n // max(memory.elements, 1)) for memory, n in lanes.items()}
    return max(shared.values(), default=0)
