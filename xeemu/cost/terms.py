"""Terms: what each resource of the device would take for a launch, were it alone.

Of a resource `cycles = work / peak`. With

    C   Xe cores that work, groups / ceil(groups / cores): 1 for one group, 66.5 for 133 groups on 132 cores
    R   sub-groups in flight, min(resident groups per core * cores, groups) * sub-groups of a group

the terms are

    issue         instructions / (C * vector engines); the busiest pipe (module `pipes`), where the instructions of a
                  class take instructions * sub-group size / (C * lanes); and requests * send_cycles / (C * vector
                  engines), where that is known. The longest of them, without the classes that have no figure
    SLM           passes / C, a pass taking banks * bank bytes / SLM bytes per cycle; on some devices barriers have
                  passes too, and accesses that a sub-group issues though no lane of it takes part
    L1            requests * l1_request_cycles / C or bytes / (C * L1 bytes per cycle) or, where they are counted,
                  passes / C, a pass taking banks * bank bytes / L1 bytes per cycle. The longest of them. Requests that
                  are looked up twice count twice; those that are served twice have a pass more (see `pending_hits`);
                  where the banks of tags are not known, each scattered line counts as a request
    L2            (bytes past the L1 + a read and a write of a sector for each atomic update) / L2 bytes per cycle.
                  Where the device has figures for its slices: loaded bytes / L2 bytes per cycle, lines that load
                  requests ask for / rate, sectors that are stored / rate (see `slices`), or lines that store requests
                  ask for / rate, the longest; atomic updates are a term of their own
    DRAM          bytes past the L2 / (share that streams reach * DRAM bandwidth), the share 0.9 if it is not known;
                  or pages opened / rate, if the device has a figure for it. The longer
    atomics       updates of the busiest sector / same-address rate or all updates / rate of the slices, the longer.
                  Only lanes on the busiest *address* are counted; its neighbours are taken to be as busy
    barriers      barriers * sub-groups of a group * barrier_arrival_cycles / C
    group launch  groups * group_dispatch_s or sub-groups * sub_group_dispatch_s, the longer
    latency       what all sub-groups wait / R (see `latency`)

All is counted, or a figure of the device with its source.
"""

import dataclasses
import math
from collections.abc import Sequence

from xeemu.cost import amounts, latency, pipes, slices
from xeemu.cost.latency import Waiting
from xeemu.cost.work import Work
from xeemu.devices.device import Device

# Of the peak of the product page: 0.90 to 0.94 measured on an H200; Intel's guide says that the fabric sustains 90 %.
_SUSTAINED_DRAM = 0.9


@dataclasses.dataclass(frozen=True)
class Term:
    """What one resource would take, were it alone: `cycles = work / peak`.

    Attributes:
      resource: `issue`, `SLM`, `L1`, `L2`, `DRAM`, `atomics`, `barriers`, `group launch` or `latency`.
      work: amount, in `unit`; None if it was not counted.
      unit: plural noun.
      peak: amount per cycle that the device, or the part of it that the launch fills, does; None without a source.
      cycles: None if the work or the peak is not known; 0 without work, whatever the peak.
      share: `cycles` of the launch's cycles.
      left_out: what is in the work and not in the cycles, as the device has no figure for it: classes of instructions;
        of the latency `DRAM`, whose loads are then taken to wait for the L2 only.
    """

    resource: str
    work: float | None
    unit: str
    peak: float | None
    cycles: float | None
    share: float | None = None
    left_out: tuple[str, ...] = ()

    @property
    def unknown(self) -> tuple[str, ...]:
        """What of the time is not known: the resource, or what is left out of it, such as `issue of special`."""
        if self.cycles is None:
            return (self.resource,)
        return tuple(f"{self.resource} of {name}" for name in self.left_out)


def missing(terms: Sequence[Term]) -> tuple[str, ...]:
    """What some terms with work leave out, as the device has no figure for it."""
    return tuple(name for term in terms if term.work for name in term.unknown)


def of_work(
    work: Work, device: Device, resident_groups: float | None, waits: Sequence[Waiting] | None
) -> tuple[Term, ...]:
    """The terms of a launch, in the order of the table in this module's docstring.

    Args:
      work: what it does.
      device: the modelled device.
      resident_groups: work-groups that an Xe core holds at a time; None if it is not known.
      waits: what its sub-groups wait for, see `latency.waits`.
    """
    cores = _busy_cores(work.groups, device.xe_cores)
    return (
        _issue(work, device, cores),
        _slm(work, device, cores),
        _l1(work, device, cores),
        _l2(work, device),
        _dram(work, device),
        _atomics(work, device),
        _barriers(work, device, cores),
        _group_launch(work, device),
        _latency(work, device, resident_groups, waits),
    )


def dram_bytes_per_cycle(device: Device) -> float | None:
    """What the DRAM moves in a cycle as long launches see it: a share of the rate of its pins."""
    sustained = device.dram_sustained or _SUSTAINED_DRAM
    return amounts.product(sustained, amounts.quotient(device.dram_bytes_per_s, device.clock_hz))


def _issue(work: Work, device: Device, cores: float | None) -> Term:
    unit = "instructions"
    if work.instructions is None:
        return _term("issue", None, unit, None)
    total = sum(work.instructions.values())
    engines = amounts.product(cores, device.vector_engines_per_core)
    slots = amounts.quotient(total, engines)
    if slots is None or cores is None:
        return _term("issue", total, unit, None)
    pipe = pipes.busiest(work.instructions, work.sub_group_size, cores, device)
    times = [slots, pipe.cycles]
    if device.send_cycles is not None:
        sends = amounts.quotient(amounts.product(work.global_requests, device.send_cycles), engines)
        if sends is None:
            return _term("issue", total, unit, None)
        times.append(sends)
    term = _term("issue", total, unit, amounts.quotient(total, max(times)))
    return dataclasses.replace(term, left_out=pipe.unknown)


def _slm(work: Work, device: Device, cores: float | None) -> Term:
    pass_bytes = amounts.product(device.slm_banks, device.slm_bank_bytes)
    without_lanes = work.masked_requests * (device.slm_masked_passes or 0)
    at_barriers = amounts.product(work.barriers, device.slm_barrier_passes) if device.slm_barrier_passes else 0
    return _term(
        "SLM",
        amounts.total((work.local_passes, without_lanes, at_barriers)),
        "passes",
        amounts.product(cores, amounts.quotient(device.slm_bytes_per_cycle, pass_bytes)),
    )


def _l1(work: Work, device: Device, cores: float | None) -> Term:
    terms = [_term("L1", work.bytes_moved, "bytes", amounts.product(cores, device.l1_bytes_per_cycle))]
    if device.l1_request_cycles is not None:
        further = 0.0 if device.tag_bank_masks else work.scattered_lines
        served = amounts.total((work.global_requests, work.served_twice, work.looked_up_twice, further))
        terms.append(_term("L1", served, "requests", amounts.quotient(cores, device.l1_request_cycles)))
    if work.l1_passes is not None:
        pass_bytes = amounts.product(device.slm_banks, device.slm_bank_bytes)
        peak = amounts.product(cores, amounts.quotient(device.l1_bytes_per_cycle, pass_bytes))
        terms.append(_term("L1", work.l1_passes + work.served_twice, "passes", peak))
    return _longest(terms)


def _l2(work: Work, device: Device) -> Term:
    bytes_ = work.l2_bytes
    if device.store_sectors_per_cycle is not None:
        return _sliced_l2(work, device)
    if work.atomic_sends:
        sector = device.sector_bytes or device.line_bytes
        sent = amounts.product(2 * work.atomic_sends, sector)
        bytes_ = amounts.total((bytes_, sent))
    elif work.atomic_sends is None:
        bytes_ = None
    return _term("L2", bytes_, "bytes", device.l2_bytes_per_cycle)


def _sliced_l2(work: Work, device: Device) -> Term:
    """The longest of what loads and stores take; its peak is of all their bytes."""
    loaded = amounts.difference(work.l2_bytes, work.store_bytes)
    whole = amounts.difference(work.store_sectors, work.partial_store_sectors)
    limits = [
        amounts.quotient(loaded, device.l2_bytes_per_cycle),
        amounts.quotient(work.load_lines, device.load_lines_per_cycle),
        amounts.quotient(work.store_lines, device.store_lines_per_cycle),
        amounts.total(
            (
                _in_slices(whole, work.store_places, device.store_sectors_per_cycle, device),
                _in_slices(
                    work.partial_store_sectors, work.store_places, device.partial_store_sectors_per_cycle, device
                ),
            )
        ),
    ]
    return _at_longest("L2", work.l2_bytes, "bytes", limits)


def _in_slices(sectors: float | None, places: float | None, rate: float | None, device: Device) -> float | None:
    """Cycles that the slices of the L2 take for sectors of which all together take `rate` in a cycle."""
    share = amounts.quotient(device.atomic_slice_sends_per_cycle, device.store_sectors_per_cycle)
    if not sectors:
        return sectors
    if places is None or rate is None or share is None:
        return None
    return sectors / slices.sectors_per_cycle(places, share * rate, rate)


def _dram(work: Work, device: Device) -> Term:
    limits = [amounts.quotient(work.dram_bytes, dram_bytes_per_cycle(device))]
    if device.dram_pages_per_cycle is not None:
        limits.append(amounts.quotient(work.dram_pages, device.dram_pages_per_cycle))
    return _at_longest("DRAM", work.dram_bytes, "bytes", limits)


def _atomics(work: Work, device: Device) -> Term:
    sends, unit = work.atomic_sends, "updates"
    if not sends:
        return _term("atomics", sends, unit, device.same_address_atomics_per_cycle)
    rate = device.same_address_float_atomics_per_cycle if work.atomic_floats else None
    address = _term("atomics", _busiest(work, device.sector_bytes), unit, rate or device.same_address_atomics_per_cycle)
    if device.store_sectors_per_cycle is None:
        return address
    words = (device.sector_bytes or work.atomic_bytes) // work.atomic_bytes
    whole = work.atomic_lanes is not None and work.atomic_lanes >= words * sends
    rate = device.store_sectors_per_cycle if whole else device.partial_store_sectors_per_cycle
    slice_ = _at_longest("atomics", sends, unit, [_in_slices(sends, work.atomic_places, rate, device)])
    return slice_ if whole else _longest([address, slice_])


def _busiest(work: Work, bytes_: int | None) -> float | None:
    """Updates of the busiest `bytes_` bytes, its words taken to be as busy as the busiest one."""
    lanes, sends, contention = work.atomic_lanes, work.atomic_sends, work.atomic_contention
    if lanes is None or sends is None or contention is None:
        return None
    if not lanes:  # no lanes are told of: all updates may be of one address
        return sends
    # Lanes on different words of a sector share an update, so that there are fewer updates than lanes.
    words = (bytes_ or work.atomic_bytes) // work.atomic_bytes
    return min(sends, contention * max(1.0, words * sends / lanes))


def _barriers(work: Work, device: Device, cores: float | None) -> Term:
    arrivals = amounts.product(work.barriers, work.sub_groups / work.groups)
    return _term("barriers", arrivals, "arrivals", amounts.quotient(cores, device.barrier_arrival_cycles))


def _group_launch(work: Work, device: Device) -> Term:
    group_cycles = amounts.product(device.group_dispatch_s, device.clock_hz)
    if group_cycles is not None and device.sub_group_dispatch_s is not None and device.clock_hz is not None:
        per_group = work.sub_groups / work.groups
        group_cycles = max(group_cycles, per_group * device.sub_group_dispatch_s * device.clock_hz)
    return _term("group launch", work.groups, "groups", amounts.quotient(1, group_cycles))


def _latency(work: Work, device: Device, resident_groups: float | None, waits: Sequence[Waiting] | None) -> Term:
    total = None if waits is None else amounts.total(each.cycles for each in waits)
    term = _term("latency", total, "cycles waited", in_flight(work, device, resident_groups))
    return dataclasses.replace(term, left_out=("DRAM",) if latency.is_farther(work, device) else ())


def in_flight(work: Work, device: Device, resident_groups: float | None) -> float | None:
    """Sub-groups in flight; None if that is not known."""
    places = amounts.product(resident_groups, device.xe_cores)
    groups = None if places is None else min(places, work.groups)
    return amounts.product(groups, work.sub_groups / work.groups)


# --- A term from what is known ---


def _busy_cores(groups: int, cores: int | None) -> float | None:
    return None if cores is None else groups / math.ceil(groups / cores)


def _term(resource: str, work: float | None, unit: str, peak: float | None) -> Term:
    return Term(resource, work, unit, peak, amounts.quotient(work, peak))


def _at_longest(resource: str, work: float | None, unit: str, limits: list[float | None]) -> Term:
    """The term of some work that takes the longest of some cycles; one that is not known might be the longest."""
    known = [limit for limit in limits if limit is not None]
    return _term(resource, work, unit, amounts.quotient(work, max(known)) if len(known) == len(limits) else None)


def _longest(terms: list[Term]) -> Term:
    """The term with the most cycles; one that is not known stands for all, since it might be the longest."""
    unknown = [term for term in terms if term.cycles is None]
    return unknown[0] if unknown else max(terms, key=lambda term: term.cycles or 0.0)
