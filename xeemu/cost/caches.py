"""Caches: what of a launch's accesses to global memory passes the L1 and the L2.

A work-group fetches each sector that it loads once, or once for each time that a loop goes through all of them again,
if those of the resident groups do not fit the L1; and a core the whole launch's once, if they fit. Loads of scratch
stay in the L1 if that of all resident groups fits. Stores pass the L1. What the launch touches stays in the L2 if it
fits; otherwise every burst of DRAM is fetched at least once, and what is asked for again is fetched
again in so far as the L2 cannot hold what was asked for between. Groups that are resident together are neighbours: what
several of them load, as at the edges of their parts, is fetched once for all if the L2 holds what they load. Stores are
written back sector by sector, and one with gaps is fetched first.
"""

import dataclasses
import math
from typing import NamedTuple

from xeemu.cost import amounts
from xeemu.cost.footprint import Footprint
from xeemu.cost.traffic import Loaded, Scratch, Stored, Traffic
from xeemu.devices.device import Device


def past_l1(traffic: Traffic, device: Device) -> float:
    """Bytes between the L1s and the L2."""
    loads = sum(_missed(load, traffic, device) for load in traffic.loads)
    return loads + stored(traffic) + _scratch_missed(traffic, device)


def stored(traffic: Traffic) -> float:
    """Bytes of the sectors that requests of stores write, each request's counted."""
    scratch = traffic.scratch.stored_bytes if traffic.scratch else 0.0
    return sum(store.moved_bytes for store in traffic.stores) + scratch


def partly_stored(traffic: Traffic) -> float:
    """Those of them in sectors that need not be filled."""
    scratch = traffic.scratch.partial_bytes if traffic.scratch else 0.0
    return sum(store.partial_bytes for store in traffic.stores) + scratch


def store_lines(traffic: Traffic) -> float:
    """Lines that requests of stores ask the L2 for, each request's counted."""
    scratch = traffic.scratch.store_lines if traffic.scratch else 0.0
    return sum(store.request_lines for store in traffic.stores) + scratch


def past_l2(traffic: Traffic, device: Device) -> float | None:
    """Bytes between the L2 and DRAM; None if the size of the L2 is not known."""
    if device.l2_bytes is None:
        return None
    if _footprint(traffic, device) <= device.l2_bytes:
        return 0.0
    read = sum(_fetched(load, traffic, device) for load in traffic.loads)
    written = sum(_written(store, traffic, device) for store in traffic.stores)
    return read + written + _scratch_again(traffic, device) * _scratch_asked(traffic, device)


def resident_bytes(traffic: Traffic, device: Device) -> float:
    """Bytes that the launch touches, if the L2 holds all of them; else 0."""
    touched = _footprint(traffic, device)
    return touched if device.l2_bytes is not None and touched <= device.l2_bytes else 0.0


class Misses(NamedTuple):
    """What of the bytes that loads ask for comes from beyond a cache.

    Attributes:
      past_l1: the share of what is asked of the L1.
      past_l2: the share of what is asked of the L2; None if the size of the L2 is not known.
    """

    past_l1: float
    past_l2: float | None

    @property
    def past_all(self) -> float | None:
        """The share of what is asked of the L1 that comes from DRAM."""
        return amounts.product(self.past_l1, self.past_l2)


def misses(load: Loaded, traffic: Traffic, device: Device) -> Misses:
    """What of some loads misses."""
    past_l1 = _missed(load, traffic, device) / load.moved_bytes if load.moved_bytes else 0.0
    if device.l2_bytes is None:
        return Misses(past_l1, None)
    fits = _footprint(traffic, device) <= device.l2_bytes
    asked = 0.0 if fits else _requested(load, traffic, device)
    return Misses(past_l1, min(1.0, _fetched(load, traffic, device) / asked) if asked else 0.0)


def scratch_misses(scratch: Scratch, traffic: Traffic, device: Device) -> Misses:
    """What of the loads of scratch misses."""
    past_l1 = 0.0 if _scratch_fits(scratch, traffic, device) else 1.0
    if device.l2_bytes is None:
        return Misses(past_l1, None)
    fits = _footprint(traffic, device) <= device.l2_bytes
    return Misses(past_l1, 0.0 if fits else _scratch_again(traffic, device))


def lines_past_l1(traffic: Traffic, device: Device) -> float:
    """Lines that loads ask the L2 for, each request's counted."""
    return sum(_lines_missed(load, traffic, device) for load in traffic.loads) + _scratch_lines(traffic, device)


def opened_pages(traffic: Traffic, device: Device) -> float | None:
    """How often a page of DRAM is opened; None if the size of a page or of the L2 is not known.

    Loads reach DRAM in the order of the program, so that those of a group that lie in one page share its opening, but
    for those between which others open another page of its bank. What is stored is written back when the L2 needs the
    place, in no order, so that each line opens a page of its own; lines of scratch, which work-items index as they
    like, do so too.
    """
    page, line = device.dram_page_bytes, device.line_bytes
    if device.l2_bytes is None or page is None or line is None:
        return None
    if _footprint(traffic, device) <= device.l2_bytes:
        return 0.0

    def visited(touched: Footprint, size: int, asked: float, again: float) -> float:
        launch, by_groups = touched.launch / size, traffic.groups * touched.group / size
        return launch + again * max(0.0, min(asked, by_groups) - launch)

    def asked(load: Loaded) -> float:
        return min(_lines_missed(load, traffic, device), _added(load, traffic, device) / page)

    closed = _closed(traffic.pages_at_once, device.dram_banks)
    read = 0.0
    for load in traffic.loads:
        if load.pages is not None:
            shared = visited(load.pages, page, asked(load), _loaded_again(load, traffic, device))
            runs = _fetched(load, traffic, device) / load.run_bytes
            read += shared + closed * max(0.0, runs - shared)
    written = sum(
        visited(store.lines, line, store.request_lines, _stored_again(store, traffic, device)) * store.trips
        for store in traffic.stores
    )
    scratch = (traffic.scratch.store_lines if traffic.scratch else 0.0) + _scratch_lines(traffic, device)
    return read + written + _scratch_again(traffic, device) * scratch


def _closed(pages: float, banks: int | None) -> float:
    """The share of accesses that find their page closed, as one of others that are in use lies in its bank."""
    return 0.0 if banks is None else 1 - (1 - 1 / banks) ** max(0.0, pages - 1)


def reused(traffic: Traffic) -> tuple[str, ...]:
    """The memories of which it is not known what is loaded or stored again, so that nothing is taken to be."""
    every: list[Loaded | Stored] = [*traffic.loads, *traffic.stores]
    return tuple(dict.fromkeys(each.memory for each in every if each.sectors.is_most and each.moved_bytes))


def stored_at_a_time(traffic: Traffic) -> float:
    """Bytes of the different sectors that the resident groups store to."""
    resident = min(traffic.resident, traffic.groups)
    scratch = resident * traffic.scratch.group_bytes if traffic.scratch else 0.0
    return sum(min(store.sectors.launch, resident * store.sectors.group) for store in traffic.stores) + scratch


def _missed(load: Loaded, traffic: Traffic, device: Device) -> float:
    """Bytes of loads that the L1s do not have."""
    passes = 1.0 if _fits_l1(traffic, device) else load.sectors.passes
    limits = [load.moved_bytes, traffic.groups * load.sectors.group * passes]
    every = sum(each.sectors.launch for each in traffic.loads)
    if device.l1_bytes_per_core is not None and device.xe_cores is not None and every <= device.l1_bytes_per_core:
        limits.append(min(traffic.groups, device.xe_cores) * load.sectors.launch)
    return min(limits)


def _lines_missed(load: Loaded, traffic: Traffic, device: Device) -> float:
    """Lines that loads ask the L2 for, each request's counted."""
    return load.request_lines * _missed(load, traffic, device) / load.moved_bytes if load.moved_bytes else 0.0


def _fits_l1(traffic: Traffic, device: Device) -> bool:
    """True if an L1 holds what its resident groups load; one of unknown size is taken to be as large as the SLM."""
    size = device.l1_bytes_per_core or device.slm_bytes_per_core
    per_core = min(traffic.resident, traffic.groups) / (device.xe_cores or 1)
    return size is not None and per_core * sum(load.sectors.group for load in traffic.loads) <= size


def _written(store: Stored, traffic: Traffic, device: Device) -> float:
    """Bytes that stores write to DRAM, and fetch for it: of each sector once, and again with each further pass."""
    again = _stored_again(store, traffic, device)
    return store.sectors.launch * store.trips * (1 + again * (store.sectors.passes - 1))


def _scratch_fits(scratch: Scratch, traffic: Traffic, device: Device) -> bool:
    """True if an L1 holds the scratch of its resident groups."""
    per_core = min(traffic.resident, traffic.groups) / (device.xe_cores or 1) * scratch.group_bytes
    return device.l1_bytes_per_core is not None and per_core <= device.l1_bytes_per_core


def _scratch_missed(traffic: Traffic, device: Device) -> float:
    """Bytes that loads of scratch ask the L2 for."""
    scratch = traffic.scratch
    return 0.0 if scratch is None or _scratch_fits(scratch, traffic, device) else scratch.loaded_bytes


def _scratch_lines(traffic: Traffic, device: Device) -> float:
    """Lines that loads of scratch ask the L2 for, each request's counted."""
    scratch = traffic.scratch
    return 0.0 if scratch is None or _scratch_fits(scratch, traffic, device) else scratch.load_lines


def _footprint(traffic: Traffic, device: Device) -> float:
    """Bytes that the launch wants to have in the L2."""
    return sum(want.launch for want in _demands(traffic, device))


def _fetched(load: Loaded, traffic: Traffic, device: Device) -> float:
    """Bytes that loads fetch from DRAM."""
    again = max(0.0, _requested_shared(load, traffic, device) - load.bursts.launch)
    return load.bursts.launch + _loaded_again(load, traffic, device) * again


def _requested(load: Loaded, traffic: Traffic, device: Device) -> float:
    """Bytes that loads would fetch from DRAM without an L2."""
    per_sector = load.bursts.group / load.sectors.group if load.sectors.group else 1.0
    return per_sector * _missed(load, traffic, device)


def _requested_shared(load: Loaded, traffic: Traffic, device: Device) -> float:
    """The same if what several resident groups load is fetched for all of them at once."""
    return min(_requested(load, traffic, device), max(_added(load, traffic, device), load.bursts.launch))


def _added(load: Loaded, traffic: Traffic, device: Device) -> float:
    """Bytes that all groups add to what is loaded by those resident with them; infinite where that is not known, or the
    L2 does not hold it."""
    if load.added_bytes is None or not _holds_resident(traffic, device):
        return math.inf
    return load.added_bytes * traffic.groups


def _holds_resident(traffic: Traffic, device: Device) -> bool:
    """True if the L2 holds what the resident groups load and store."""
    resident = min(traffic.resident, traffic.groups)
    each = (load.bursts.group if load.added_bytes is None else load.added_bytes for load in traffic.loads)
    return resident * sum(each) + stored_at_a_time(traffic) <= (device.l2_kept_bytes or device.l2_bytes or 0)


def _scratch_asked(traffic: Traffic, device: Device) -> float:
    stored_bytes = traffic.scratch.stored_bytes if traffic.scratch else 0.0
    return stored_bytes + _scratch_missed(traffic, device)


# --- What is asked for again ---


@dataclasses.dataclass(frozen=True)
class _Demand:
    """What a launch asks the L2 for of one memory: bytes, and of how many different ones."""

    requested: float
    launch: float


def _demands(traffic: Traffic, device: Device) -> list[_Demand]:
    loads = [_of_loads(load, traffic, device) for load in traffic.loads]
    stores = [_of_stores(store) for store in traffic.stores]
    return [*loads, *stores, _of_scratch(traffic, device), _Demand(traffic.other_bytes, traffic.other_bytes)]


def _of_loads(load: Loaded, traffic: Traffic, device: Device) -> _Demand:
    return _Demand(_requested_shared(load, traffic, device), load.bursts.launch)


def _of_stores(store: Stored) -> _Demand:
    return _Demand(store.sectors.launch * store.sectors.passes, store.sectors.launch)


def _of_scratch(traffic: Traffic, device: Device) -> _Demand:
    group_bytes = traffic.scratch.group_bytes if traffic.scratch else 0.0
    return _Demand(_scratch_asked(traffic, device), group_bytes * min(traffic.resident, traffic.groups))


def _loaded_again(load: Loaded, traffic: Traffic, device: Device) -> float:
    return _again(_of_loads(load, traffic, device), traffic, device)


def _stored_again(store: Stored, traffic: Traffic, device: Device) -> float:
    return _again(_of_stores(store), traffic, device)


def _scratch_again(traffic: Traffic, device: Device) -> float:
    return _again(_of_scratch(traffic, device), traffic, device)


def _again(want: _Demand, traffic: Traffic, device: Device) -> float:
    """The share of what is asked for again that the L2 has not kept.

    All memories are taken to be asked for evenly over the launch. Between two requests for a byte of this one then goes
    a part of the launch, `launch / asked`, in which others are asked for so much of what they want, and no byte of
    theirs counts twice (the stack distance of Mattson et al., "Evaluation techniques for storage hierarchies", 1970).
    """
    held = device.l2_kept_bytes or device.l2_bytes or 0
    part = min(1.0, want.launch / want.requested) if want.requested else 1.0
    between = sum(min(other.launch, other.requested * part) for other in _demands(traffic, device))
    return max(0.0, 1 - held / between) if between else 0.0
