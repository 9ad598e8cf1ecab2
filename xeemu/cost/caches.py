"""Caches: what of a launch's accesses to global memory passes the L1 and the L2.

A work-group fetches each sector that it loads once, or once for each time that a loop goes through all of them again,
if those of the resident groups do not fit the L1; and a core the whole launch's once, if they fit. Stores pass the L1.
Scratch stays in the L1 if that of all resident groups fits. What the launch touches stays in the L2 if it fits;
otherwise every piece that DRAM moves at once is fetched at least once, and what is asked for again is fetched again in
so far as the L2 cannot hold it. Stores are written back, and where they leave gaps in a piece it is fetched first.
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
      sectors: the footprint in sectors.
      pieces: the same in what DRAM moves at once.
    """

    moved_bytes: float
    sectors: Footprint
    pieces: Footprint


@dataclasses.dataclass(frozen=True)
class Stored:
    """Plain stores to one memory.

    Attributes:
      moved_bytes: of all requests, in sectors.
      pieces: the footprint in what DRAM moves at once.
      whole: whether a work-group writes its sectors without gaps.
    """

    moved_bytes: float
    pieces: Footprint
    whole: bool


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


def _missed(load: Loaded, traffic: Traffic, device: Device) -> float:
    """Bytes of loads that the L1s do not have."""
    passes = 1.0 if _fits_l1(traffic, device) else load.sectors.passes
    limits = [load.moved_bytes, traffic.groups * load.sectors.group * passes]
    every = sum(each.sectors.launch for each in traffic.loads)
    if device.l1_bytes_per_core is not None and device.xe_cores is not None and every <= device.l1_bytes_per_core:
        limits.append(min(traffic.groups, device.xe_cores) * load.sectors.launch)
    return min(limits)


def _fits_l1(traffic: Traffic, device: Device) -> bool:
    """Whether an L1 holds what its resident groups load; one of unknown size is taken to be as large as the SLM."""
    size = device.l1_bytes_per_core or device.slm_bytes_per_core
    per_core = min(traffic.resident, traffic.groups) / (device.xe_cores or 1)
    return size is not None and per_core * sum(load.sectors.group for load in traffic.loads) <= size


def _written(store: Stored, again: float) -> float:
    """Bytes that stores write to DRAM, and fetch for it: of each piece once, and again with each further pass."""
    pieces = store.pieces
    return pieces.launch * (1 if store.whole else 2) * (1 + again * (pieces.passes - 1))


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
    pieces = [load.pieces for load in traffic.loads] + [store.pieces for store in traffic.stores]
    scratch = traffic.scratch.group_bytes * min(traffic.resident, traffic.groups) if traffic.scratch else 0.0
    return sum(piece.launch for piece in pieces) + scratch + traffic.other_bytes


def _fetched(load: Loaded, traffic: Traffic, device: Device, again: float) -> float:
    """Bytes that loads fetch from DRAM."""
    per_sector = load.pieces.group / load.sectors.group if load.sectors.group else 1.0
    asked = per_sector * _missed(load, traffic, device)
    return load.pieces.launch + again * max(0.0, asked - load.pieces.launch)
