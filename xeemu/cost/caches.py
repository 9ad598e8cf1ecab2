"""Caches: what of a launch's accesses to global memory passes the L1 and the L2.

A work-group fetches each sector that it loads once, or once for each time that a loop goes through all of them again,
if those of the resident groups do not fit the L1; and a core the whole launch's once, if they fit. Stores pass the L1.
Scratch stays in the L1 if that of all resident groups fits. What the launch touches stays in the L2 if it fits;
otherwise every piece that DRAM moves at once is fetched at least once, and what is asked for again is fetched again in
so far as the L2 cannot hold it. Stores are written back sector by sector, and one with gaps is fetched first.
"""

import dataclasses
from collections.abc import Sequence

from xeemu.cost.footprint import Footprint
from xeemu.devices.device import Device


@dataclasses.dataclass(frozen=True)
class Loaded:
    """Loads of one memory.

    Attributes:
      moved_bytes: of all requests, in sectors.
      request_lines: lines of all requests, each request's counted.
      sectors: the footprint in sectors.
      pieces: the same in what DRAM moves at once.
      pages: the same in pages of DRAM; None where their size is not known.
    """

    moved_bytes: float
    request_lines: float
    sectors: Footprint
    pieces: Footprint
    pages: Footprint | None


@dataclasses.dataclass(frozen=True)
class Stored:
    """Plain stores to one memory.

    Attributes:
      moved_bytes: of all requests, in sectors.
      partial_bytes: of the sectors of requests that need not fill them.
      request_lines: lines of all requests, each request's counted.
      sectors: the footprint in sectors.
      lines: the same in lines.
      whole: whether a work-group writes its sectors without gaps.
    """

    moved_bytes: float
    partial_bytes: float
    request_lines: float
    sectors: Footprint
    lines: Footprint
    whole: bool

    @property
    def trips(self) -> int:
        """How often what is stored goes between the L2 and DRAM: it is written back; with gaps, it is fetched first."""
        return 1 if self.whole else 2


@dataclasses.dataclass(frozen=True)
class Scratch:
    """Private memory that is not in registers.

    Attributes:
      moved_bytes: of all requests, in sectors.
      group_bytes: size of a work-group's scratch.
    """

    moved_bytes: float
    group_bytes: float


@dataclasses.dataclass(frozen=True)
class Traffic:
    """What a launch loads and stores, memory by memory.

    Attributes:
      groups: work-groups of the launch.
      resident: work-groups that the device holds at a time.
      loads, stores: of global memory.
      scratch: None if there is none.
      other_bytes: size of what else shares the L2, such as what atomics update.
    """

    groups: int
    resident: float
    loads: Sequence[Loaded]
    stores: Sequence[Stored]
    scratch: Scratch | None
    other_bytes: float


def past_l1(traffic: Traffic, device: Device) -> float:
    """Bytes between the L1s and the L2."""
    loads = sum(_missed(load, traffic, device) for load in traffic.loads)
    return loads + sum(store.moved_bytes for store in traffic.stores) + _spilled(traffic, device)


def past_l2(traffic: Traffic, device: Device) -> float | None:
    """Bytes between the L2 and DRAM; None if the size of the L2 is not known."""
    footprint = _footprint(traffic, device)
    if device.l2_bytes is None:
        return None
    if footprint <= device.l2_bytes:
        return 0.0
    again = 1 - device.l2_bytes / footprint
    read = sum(_fetched(load, traffic, device, again) for load in traffic.loads)
    written = sum(_written(store, again) for store in traffic.stores)
    return read + written + again * _spilled(traffic, device)


def lines_past_l1(traffic: Traffic, device: Device) -> float:
    """Lines that loads ask the L2 for, each request's counted."""
    return sum(_lines_missed(load, traffic, device) for load in traffic.loads)


def opened_pages(traffic: Traffic, device: Device) -> float | None:
    """How often a page of DRAM is opened; None if the size of a page or of the L2 is not known.

    Loads reach DRAM in the order of the program, so that those of a group that lie in one page share its opening. What
    is stored is written back when the L2 needs the place, in no order, so that each line opens a page of its own.
    """
    page, line = device.dram_page_bytes, device.line_bytes
    if device.l2_bytes is None or page is None or line is None:
        return None
    footprint = _footprint(traffic, device)
    if footprint <= device.l2_bytes:
        return 0.0
    again = 1 - device.l2_bytes / footprint

    def visited(touched: Footprint, size: int, asked: float) -> float:
        launch, by_groups = touched.launch / size, traffic.groups * touched.group / size
        return launch + again * max(0.0, min(asked, by_groups) - launch)

    pages = [(load, load.pages) for load in traffic.loads if load.pages is not None]
    read = sum(visited(touched, page, _lines_missed(load, traffic, device)) for load, touched in pages)
    return read + sum(visited(store.lines, line, store.request_lines) * store.trips for store in traffic.stores)


def stored_at_a_time(traffic: Traffic) -> float:
    """Bytes of the different sectors that the resident groups store to."""
    resident = min(traffic.resident, traffic.groups)
    return sum(min(store.sectors.launch, resident * store.sectors.group) for store in traffic.stores)


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
    """Whether an L1 holds what its resident groups load; one of unknown size is taken to be as large as the SLM."""
    size = device.l1_bytes_per_core or device.slm_bytes_per_core
    per_core = min(traffic.resident, traffic.groups) / (device.xe_cores or 1)
    return size is not None and per_core * sum(load.sectors.group for load in traffic.loads) <= size


def _written(store: Stored, again: float) -> float:
    """Bytes that stores write to DRAM, and fetch for it: of each sector once, and again with each further pass."""
    return store.sectors.launch * store.trips * (1 + again * (store.sectors.passes - 1))


def _spilled(traffic: Traffic, device: Device) -> float:
    """Bytes of scratch that the L1s do not hold."""
    scratch = traffic.scratch
    if scratch is None:
        return 0.0
    per_core = traffic.resident / (device.xe_cores or 1) * scratch.group_bytes
    fits = device.l1_bytes_per_core is not None and per_core <= device.l1_bytes_per_core
    return 0.0 if fits else scratch.moved_bytes


def _footprint(traffic: Traffic, device: Device) -> float:
    """Bytes that the launch wants to have in the L2."""
    pieces = [load.pieces for load in traffic.loads] + [store.sectors for store in traffic.stores]
    scratch = traffic.scratch.group_bytes * min(traffic.resident, traffic.groups) if traffic.scratch else 0.0
    return sum(piece.launch for piece in pieces) + scratch + traffic.other_bytes


def _fetched(load: Loaded, traffic: Traffic, device: Device, again: float) -> float:
    """Bytes that loads fetch from DRAM."""
    per_sector = load.pieces.group / load.sectors.group if load.sectors.group else 1.0
    asked = per_sector * _missed(load, traffic, device)
    return load.pieces.launch + again * max(0.0, asked - load.pieces.launch)
