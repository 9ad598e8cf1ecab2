"""Workload: what a launch does in all, for the time model, from its census and the counts of its sites."""

import dataclasses
from collections.abc import Mapping, Set

import jax.numpy as jnp

from xeemu.cost import amounts, caches, footprint, latency, pending_hits, phases, requests, unrolling, waiting
from xeemu.cost.caches import Misses
from xeemu.cost.census import Census
from xeemu.cost.execution import Executed
from xeemu.cost.sites import AtomicTotals, SiteReport
from xeemu.cost.traffic import NO_SPILL, Spill, Traffic, by_memory, loading, moved_bytes
from xeemu.cost.traffic import of_launch as traffic_of_launch
from xeemu.cost.work import Wait, Work
from xeemu.devices.device import Device
from xeemu.devices.occupancy import Occupancy
from xeemu.knowledge.access_tree import AccessSite
from xeemu.language.linearity import Allocation

Sites = Mapping[AccessSite, SiteReport]


def of_launch(
    sites: Sites,
    executed: Executed,
    taken: Census,
    resident: Occupancy | None,
    packed: Set[AccessSite] = frozenset(),
    spill: Spill = NO_SPILL,
) -> Work | None:
    """The work of a launch; None if it has no work-groups.

    Args:
      sites: its memory operations.
      executed: what else it does.
      taken: its census.
      resident: its occupancy.
      packed: operations of which is taken that they touch no bytes but those that they use.
      spill: what does not fit the registers.
    """
    geometry = taken.geometry
    if not geometry.groups:
        return None
    local = {place: site for place, site in sites.items() if site.space == "local"}
    remote = {place: site for place, site in sites.items() if site.space != "local"}
    traffic = traffic_of_launch(sites, taken, resident, packed, spill)
    missed = _missed(traffic, taken)
    pending = pending_hits.of_launch(sites, taken, missed if taken.device.tag_bank_masks else {})
    work = Work(
        groups=geometry.groups,
        sub_groups=geometry.groups * requests.sub_groups(geometry),
        sub_group_size=geometry.sub_group_size,
        instructions=executed.instructions,
        dependent_instructions=executed.chain,
        local_passes=amounts.total(site.passes for site in local.values()),
        masked_requests=sum(number for place, number in executed.masked.items() if place in local),
        global_requests=amounts.total(site.requests for site in remote.values()),
        scattered_lines=amounts.total(_scattered_lines(site, taken.device) for site in remote.values()),
        bytes_moved=amounts.total(site.bytes_moved for place, site in remote.items() if place not in taken.updates),
        l1_passes=_l1_passes(remote, taken),
        served_twice=pending.served_twice,
        looked_up_twice=pending.looked_up_twice,
        scattered=_scattered(taken),
        barriers=executed.barriers,
        waits=waiting.of_launch(sites, taken, missed),
    )
    work = _updating(_moving(work, traffic, taken.device), sites, executed.atomics, taken, resident)
    work = _exchanging(_spilling(work, spill, traffic, taken), executed.exchanges)
    waits = latency.waits(work, taken.device) or ()
    return dataclasses.replace(work, phases=phases.of_launch(sites, taken, waits))


def _moving(work: Work, traffic: Traffic | None, device: Device) -> Work:
    """The work with what its loads and stores move beyond the L1."""
    if traffic is None:
        return dataclasses.replace(work, l2_bytes=None, dram_bytes=None, **_by_line(None, device))  # type: ignore[arg-type]
    return dataclasses.replace(
        work,
        l2_bytes=caches.past_l1(traffic, device),
        dram_bytes=caches.past_l2(traffic, device),
        reused=caches.reused(traffic),
        l2_held_bytes=caches.resident_bytes(traffic, device),
        **_by_line(traffic, device),  # type: ignore[arg-type]
    )


def _updating(work: Work, sites: Sites, atomics: AtomicTotals, taken: Census, resident: Occupancy | None) -> Work:
    """The work with its atomic operations on global memory."""
    dtypes = [place.memory.dtype for place in taken.updates if place.memory.space == "global"]
    return dataclasses.replace(
        work,
        atomic_lanes=atomics.global_operations,
        atomic_sends=atomics.global_sectors,
        atomic_contention=atomics.contention,
        atomic_bytes=max((dtype.itemsize for dtype in dtypes), default=4),
        atomic_floats=any(bool(jnp.issubdtype(dtype, jnp.floating)) for dtype in dtypes),
        atomic_places=_updated_places(sites, taken, resident),
    )


def _spilling(work: Work, spill: Spill, traffic: Traffic | None, taken: Census) -> Work:
    """The work with the requests of what is spilled, which goes to scratch."""
    if not spill.stored_bytes:
        return work
    asked = spill.requests(taken)
    scratch = traffic and traffic.scratch
    missed = caches.scratch_misses(scratch, traffic, taken.device) if traffic and scratch else None
    loads = Wait(
        requests=asked,
        rounds=asked / unrolling.UNROLLED,
        past_l1=missed and missed.past_l1,
        past_l2=missed and missed.past_l2,
    )
    classes = work.instructions
    return dataclasses.replace(
        work,
        instructions=classes and {**classes, "memory": classes.get("memory", 0) + 2 * asked},
        global_requests=amounts.total((work.global_requests, 2 * asked)),
        bytes_moved=amounts.total((work.bytes_moved, 2 * spill.stored_bytes)),
        l1_passes=amounts.total((work.l1_passes, 2 * asked)),
        waits=None if work.waits is None else (*work.waits, loads),
    )


def _exchanging(work: Work, exchanges: int | None) -> Work:
    """The work with what group algorithms exchange through local memory."""
    if not exchanges:
        return work
    loads = Wait(requests=exchanges / 2, rounds=exchanges / 2, is_local=True)
    waits = None if work.waits is None else (*work.waits, loads)
    return dataclasses.replace(work, local_passes=amounts.total((work.local_passes, exchanges)), waits=waits)


def _by_line(traffic: Traffic | None, device: Device) -> dict[str, float | None]:
    """What requests ask the L2 and DRAM for, counted in lines and sectors."""
    names = ("store_bytes", "load_lines", "store_lines", "store_sectors", "partial_store_sectors", "store_places")
    sector = device.sector_bytes or device.line_bytes
    if traffic is None or sector is None:
        return dict.fromkeys((*names, "dram_pages"))
    return {
        "store_bytes": caches.stored(traffic),
        "load_lines": caches.lines_past_l1(traffic, device),
        "store_lines": caches.store_lines(traffic),
        "store_sectors": caches.stored(traffic) / sector,
        "partial_store_sectors": caches.partly_stored(traffic) / sector,
        "store_places": caches.stored_at_a_time(traffic) / sector,
        "dram_pages": caches.opened_pages(traffic, device),
    }


def _scattered(taken: Census) -> tuple[str, ...]:
    """The memories of whose stores and updates it depends on data where they go, if the L2's slices are modelled."""
    if taken.device.atomic_slice_bytes is None and taken.device.store_sectors_per_cycle is None:
        return ()
    every = (o for os in taken.operations.values() for o in os if o.access_site.memory.space == "global" and o.changes)
    return tuple(dict.fromkeys(o.access_site.memory.name for o in every if not o.linear_index.known))


def _updated_places(sites: Sites, taken: Census, resident: Occupancy | None) -> float | None:
    """Parts of memory, each of one slice of the L2, that the resident groups update at a time."""
    device = taken.device
    if device.atomic_slice_bytes is None:
        return 1.0
    if resident is None or resident.groups is None or device.xe_cores is None:
        return None
    updates = [os for os in taken.operations.values() if os[0].access_site.memory.space == "global" and os[0].updates]
    places = 0.0
    for each in by_memory(updates):
        moved = moved_bytes(each, sites)
        parts = footprint.of_memory(each, taken, moved, device.atomic_slice_bytes)
        words = footprint.of_memory(each, taken, moved, each[0].access_site.memory.dtype.itemsize)
        if parts is None or words is None:
            return None
        in_flight = min(taken.geometry.groups, max(1, resident.groups) * device.xe_cores) * words.group
        share = min(1.0, in_flight / words.launch) if words.launch else 1.0
        places += share * parts.launch / device.atomic_slice_bytes
    return max(1.0, places)


def _scattered_lines(site: SiteReport, device: Device) -> float | None:
    """Lines that the requests of a site ask for beyond those that hold the bytes that they use, one for each at least;
    none where these are side by side but for where they begin."""
    line = device.line_bytes
    if site.lines is None or site.requests is None or site.bytes_used is None or line is None:
        return None
    needed = max(site.requests, site.bytes_used / line)
    return site.lines - needed if site.lines > 2 * needed else 0.0


def _l1_passes(remote: Sites, taken: Census) -> float | None:
    """Passes of the L1, where its tags are known and all accesses are."""
    return None if taken.device.tag_bank_masks is None else amounts.total(site.l1_passes for site in remote.values())


def _missed(traffic: Traffic | None, taken: Census) -> dict[Allocation, Misses]:
    """What misses of the loads of each global memory, and of scratch."""
    if traffic is None:
        return {}
    memories = (operations[0].access_site.memory for operations in by_memory(loading(taken)))
    found = {m: caches.misses(load, traffic, taken.device) for m, load in zip(memories, traffic.loads, strict=True)}
    if traffic.scratch is not None:
        missed = caches.scratch_misses(traffic.scratch, traffic, taken.device)
        found |= {place.memory: missed for place in taken.access_sites if place.memory.space == "private"}
    return found
