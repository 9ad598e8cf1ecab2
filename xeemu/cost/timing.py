"""Timing: how long a launch would take, from its counts, the device's figures and the work-groups in flight.

Each resource of the device gives one *term*, `cycles = work / peak`. The terms overlap, as many work-groups run at
once, but not perfectly: where two of them are near each other, they get in each other's way. The launch takes

    cycles = (sum of cycles_r ** 3 over the resources r) ** (1/3)

which is the largest term where it dominates, and 26 % more than each of two equal ones. With

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
                  are looked up twice count twice; those that are served twice have a pass more (see `windows`)
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

SLM, L1 and barriers add up before the sum of cubes: SLM and L1 are one memory behind one port, and what arrives at a
barrier queues behind the passes of others. Of L2 and DRAM the longer counts: what goes to DRAM goes through the L2, and
the share of DRAM's bandwidth that streams reach is measured through it. What sub-groups wait for arithmetic, and the
issue of the instructions that hides it, are two views of the same cycles, which count once.

Two numbers are xeemu's own, the same for all devices and kernels: the power 3, and the four loads in flight to which
compilers unroll counted loops (in `waiting`). All else is counted, or a figure of the device with its source. The
script `validate` holds the model against a GPU's times.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from xeemu.cost import amounts, latency, pipes, slices
from xeemu.cost.latency import Waiting
from xeemu.cost.work import Wait, Work
from xeemu.devices.device import Device

# A count that need not be there.
_OPTIONAL = ("l1_passes", "dependent_instructions")
_OVERLAP = 3
_PORT = ("SLM", "L1", "barriers")
_PATH = ("L2", "DRAM")
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


@dataclasses.dataclass(frozen=True)
class Timing:
    """The predicted time of a launch.

    Attributes:
      terms: one for each resource, in the order of the table in this module's docstring.
      cycles: of the launch; None if no term with work is known, or if a count is missing that might decide it. A term
        for which the device has no figure is left out, so that this is then a lower bound: `unknown` says of which.
      time_s: the same in seconds, without the overhead of submitting it (`Device.launch_overhead_s`).
      bound: the resource with the largest term.
      unknown: resources that the launch uses and whose term is not known, and what is left out of a term.
      waits: what sub-groups wait for, the longest first; empty if it is not known how often they load.
      overstated: memories of which data decide what is accessed again; it could be less time than nothing, as is taken.
      understated: memories of which data decide where they are stored to or updated; it could be more time than
        everywhere, as is taken.
      l2_held_bytes: as in `Work`.
    """

    terms: tuple[Term, ...]
    cycles: float | None
    time_s: float | None
    bound: str | None
    unknown: tuple[str, ...]
    waits: tuple[Waiting, ...] = ()
    overstated: tuple[str, ...] = ()
    understated: tuple[str, ...] = ()
    l2_held_bytes: float = 0.0

    @property
    def missing(self) -> tuple[str, ...]:
        """What the launch uses and the device has no figure for, so that it is left out of the time."""
        return missing(self.terms)


def missing(terms: Sequence[Term]) -> tuple[str, ...]:
    """What some terms with work leave out, as the device has no figure for it."""
    return tuple(name for term in terms if term.work for name in term.unknown)


def predict(work: Work, device: Device, resident_groups: float | None) -> Timing:
    """Predicts the time of a launch.

    Args:
      work: what it does.
      device: the modelled device.
      resident_groups: work-groups that an Xe core holds at a time; None if it is not known.
    """
    terms, counted = (_terms(each, device, resident_groups) for each in (work, _as_if_counted(work, device)))
    # What was not counted may be any amount; what a device has no figure for is missing from all its launches alike.
    uncounted = any(a.cycles is None and b.cycles is not None for a, b in zip(terms, counted, strict=True))
    alone = {term.resource: term.cycles for term in terms if term.cycles}
    in_flight = _in_flight(work, device, resident_groups)
    arithmetic = amounts.quotient(latency.arithmetic(work, device).cycles, in_flight) or 0.0
    cycles, bound = None, None
    if alone and not uncounted:
        cycles, bound = _overlapped(alone, arithmetic), max(alone, key=lambda resource: alone[resource])
        if in_flight is not None:
            waves = work.sub_groups / in_flight
            cycles += max(0.0, _in_phases(alone, arithmetic, work.phases) - cycles) / waves
    unknown = tuple(name for term in terms for name in term.unknown)
    return Timing(
        terms=tuple(dataclasses.replace(term, share=amounts.quotient(term.cycles, cycles)) for term in terms),
        cycles=cycles,
        time_s=amounts.quotient(cycles, device.clock_hz),
        bound=bound,
        unknown=unknown,
        waits=latency.waits(work, device) or (),
        overstated=work.reused,
        understated=work.scattered,
        l2_held_bytes=work.l2_held_bytes,
    )


def dram_bytes_per_cycle(device: Device) -> float | None:
    """What the DRAM moves in a cycle as long launches see it: a share of the rate of its pins."""
    sustained = device.dram_sustained or _SUSTAINED_DRAM
    return amounts.product(sustained, amounts.quotient(device.dram_bytes_per_s, device.clock_hz))


def _terms(work: Work, device: Device, resident_groups: float | None) -> tuple[Term, ...]:
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
        _latency(work, device, resident_groups),
    )


def _as_if_counted(work: Work, device: Device) -> Work:
    """The work with some amount for each count that is missing: its terms tell what the device has figures for."""
    without = _OPTIONAL if device.l2_bytes else (*_OPTIONAL, "dram_bytes")
    known = None if work.waits is None else tuple(_as_if_known(wait) for wait in work.waits)
    some: dict[str, Any] = {"instructions": dict.fromkeys(pipes.CLASSES, 1), "waits": (Wait(requests=1, rounds=1),)}
    missing = [f.name for f in dataclasses.fields(work) if getattr(work, f.name) is None and f.name not in without]
    counted = dataclasses.replace(work, **{name: some.get(name, 1) for name in missing})
    return counted if known is None else dataclasses.replace(counted, waits=known)


def _as_if_known(wait: Wait) -> Wait:
    shares = {"past_l1": wait.past_l1 or 0.0, "past_l2": wait.past_l2 or 0.0}
    return dataclasses.replace(wait, **shares)  # type: ignore[arg-type]


def _overlapped(alone: Mapping[str, float], arithmetic: float) -> float:
    """The cycles of what overlaps, of what each resource would take alone, and sub-groups wait for arithmetic."""
    port = sum(value for resource, value in alone.items() if resource in _PORT)
    path = max((value for resource, value in alone.items() if resource in _PATH), default=0.0)
    others = (value for resource, value in alone.items() if resource not in (*_PORT, *_PATH))
    resources = [port, path, *others]
    largest = max(resources)
    if not largest:
        return 0.0
    # Divided by the largest first, since the cube of a long launch's cycles need not fit a float's range.
    hidden = min(alone.get("issue", 0.0), arithmetic if "latency" in alone else 0.0)
    cubes = sum((value / largest) ** _OVERLAP for value in resources) - (hidden / largest) ** _OVERLAP
    return largest * cubes ** (1 / _OVERLAP)


def _in_phases(alone: Mapping[str, float], arithmetic: float, phases: Sequence[Mapping[str, float]]) -> float:
    """The cycles of phases that do not overlap, while work-groups are launched."""
    each = [{name: alone[name] * share for name, share in phase.items() if name in alone} for phase in phases]
    cycles = sum(
        _overlapped(works, arithmetic * phase.get("issue", 0.0)) for works, phase in zip(each, phases, strict=True)
    )
    launched = {"group launch": alone.get("group launch", 0.0), "phases": cycles}
    return _overlapped(launched, 0.0)


# --- Terms ---


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
        served = amounts.total((work.global_requests, work.divided_requests, work.repeated_requests))
        terms.append(_term("L1", served, "requests", amounts.quotient(cores, device.l1_request_cycles)))
    if work.l1_passes is not None:
        pass_bytes = amounts.product(device.slm_banks, device.slm_bank_bytes)
        peak = amounts.product(cores, amounts.quotient(device.l1_bytes_per_cycle, pass_bytes))
        terms.append(_term("L1", work.l1_passes + work.divided_requests, "passes", peak))
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


def _latency(work: Work, device: Device, resident_groups: float | None) -> Term:
    waits = latency.waits(work, device)
    total = None if waits is None else amounts.total(each.cycles for each in waits)
    term = _term("latency", total, "cycles waited", _in_flight(work, device, resident_groups))
    return dataclasses.replace(term, left_out=("DRAM",) if latency.is_farther(work, device) else ())


def _in_flight(work: Work, device: Device, resident_groups: float | None) -> float | None:
    """Sub-groups in flight."""
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
