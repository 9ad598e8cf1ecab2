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
    SLM           passes / C, a pass taking banks * bank bytes / SLM bytes per cycle
    L1            requests * l1_request_cycles / C or bytes / (C * L1 bytes per cycle) or, where they are counted,
                  passes / C, a pass taking banks * bank bytes / L1 bytes per cycle. The longest of them
    L2            (bytes past the L1 + a read and a write of a sector for each atomic update) / L2 bytes per cycle.
                  Where the device has figures for its slices: loaded bytes / L2 bytes per cycle, lines that load
                  requests ask for / rate, sectors that are stored / rate (see `slices`), or lines that store requests
                  ask for / rate, the longest; atomic updates are a term of their own
    DRAM          bytes past the L2 / (share that streams reach * DRAM bandwidth), the share 0.9 if it is not known;
                  or pages opened / rate, if the device has a figure for it. The longer
    atomics       updates of the busiest sector / same-address rate or all updates / rate of the slices, the longer.
                  Only lanes on the busiest *address* are counted; its neighbours are taken to be as busy
    barriers      barriers * sub-groups of a group * barrier_cycles_per_sub_group / C
    group launch  groups * group_dispatch_s or sub-groups * sub_group_dispatch_s, the longer
    latency       what all sub-groups wait / R. A sub-group waits for arithmetic (each second instruction depends on
                  the one before), at barriers and fences, and for loads (see `waiting`), from the L1, the L2 and the
                  DRAM in the shares of their bytes

SLM, L1 and barriers add up before the sum of cubes: SLM and L1 are one memory behind one port, and what arrives at a
barrier queues behind the passes of others.

Three numbers are xeemu's own, the same for all devices and kernels: the power 3, the second instruction, and the four
loads in flight to which compilers unroll counted loops (in `waiting`). All else is counted, or a figure of the device
with its source. The script `validate` holds the model against a GPU's times.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from xeemu.cost import pipes, slices
from xeemu.devices.device import Device

# A count that need not be there.
_OPTIONAL = ("l1_passes",)
_OVERLAP = 3
_PORT = ("SLM", "L1", "barriers")
_INDEPENDENT_INSTRUCTIONS = 2
# Of the peak of the product page: 0.90 to 0.94 measured on an H200; Intel's guide says that the fabric sustains 90 %.
_SUSTAINED_DRAM = 0.9
# A dependent local load takes 23.4, 25.4, 29.4, 37.4 ... cycles with 1, 2, 4, 8 passes, a load of global memory that
# hits the L1 as many more (measured on an H200).
_WAIT_PER_PASS = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Work:
    """What a launch does, counted over all its work-groups. `None` is a count that is not known.

    Attributes:
      groups: work-groups.
      sub_groups: sub-groups of all of them.
      sub_group_size: work-items.
      instructions: executed by sub-groups, by class (see `pipes.CLASSES`).
      local_loads: requests to local memory for whose values the sub-group waits (loads, atomics with the old value).
      local_load_passes: their bank passes.
      local_rounds: times that sub-groups wait for them, since some are under way together.
      local_passes: bank passes of all requests to local memory.
      global_requests: to global memory, and to private memory where it is not in registers.
      global_loads: those of them for whose values the sub-group waits.
      global_rounds: times that sub-groups wait for them.
      bytes_moved: of whole sectors (or lines, where the device does not divide them) that these requests touch.
      l1_passes: bank passes of all requests to global memory, where the L1 has the banks of the SLM (lanes on one word
        do not share a pass there); `None` takes them to be as many as the bytes need.
      l2_bytes: bytes that pass the L1, without those of atomics.
      store_bytes: of these the bytes of plain stores.
      load_lines: lines that requests of loads ask the L2 for, each request's counted.
      store_lines: the same of plain stores.
      store_sectors: sectors that requests of plain stores write, each request's counted.
      partial_store_sectors: those of them that a request may leave gaps in.
      store_places: different sectors that the groups in flight store to at a time.
      dram_bytes: bytes that pass the L2.
      dram_pages: times that a page of DRAM is opened.
      atomic_lanes: lanes of atomic operations on global memory.
      atomic_sends: updates of a sector that they need: over its sectors, the most lanes on one word.
      atomic_contention: lanes on the busiest address.
      atomic_places: pieces of `Device.atomic_slice_bytes` that the groups in flight update at a time.
      atomic_bytes: bytes of a word.
      atomic_floats: whether they are sums of floating-point numbers.
      barriers: executed by work-groups.
    """

    groups: int
    sub_groups: int
    sub_group_size: int
    instructions: Mapping[str, float] | None = dataclasses.field(default_factory=dict)
    local_loads: float | None = 0
    local_load_passes: float | None = 0
    local_rounds: float | None = 0
    local_passes: float | None = 0
    global_requests: float | None = 0
    global_loads: float | None = 0
    global_rounds: float | None = 0
    bytes_moved: float | None = 0
    l1_passes: float | None = None
    l2_bytes: float | None = 0
    store_bytes: float | None = 0
    load_lines: float | None = 0
    store_lines: float | None = 0
    store_sectors: float | None = 0
    partial_store_sectors: float | None = 0
    store_places: float | None = 0
    dram_bytes: float | None = 0
    dram_pages: float | None = 0
    atomic_lanes: float | None = 0
    atomic_sends: float | None = 0
    atomic_contention: float | None = 0
    atomic_places: float | None = 1
    atomic_bytes: int = 4
    atomic_floats: bool = False
    barriers: float | None = 0

    def __post_init__(self) -> None:
        if self.groups < 1 or self.sub_groups < self.groups:
            raise ValueError(f"{self.groups} work-groups of {self.sub_groups} sub-groups; a group has at least one")
        unknown = set(self.instructions or ()) - set(pipes.CLASSES)
        if unknown:
            known = ", ".join(pipes.CLASSES)
            raise ValueError(f"no class of instructions {', '.join(sorted(unknown))}; the classes are {known}")


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
    """

    terms: tuple[Term, ...]
    cycles: float | None
    time_s: float | None
    bound: str | None
    unknown: tuple[str, ...]


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
    cycles, bound = (None, None) if uncounted else _combine(terms)
    unknown = tuple(name for term in terms for name in term.unknown)
    return Timing(
        terms=tuple(dataclasses.replace(term, share=_quotient(term.cycles, cycles)) for term in terms),
        cycles=cycles,
        time_s=_quotient(cycles, device.clock_hz),
        bound=bound,
        unknown=unknown,
    )


def dram_bytes_per_cycle(device: Device) -> float | None:
    """What the DRAM moves in a cycle as long launches see it: a share of the rate of its pins."""
    sustained = device.dram_sustained or _SUSTAINED_DRAM
    return _product(sustained, _quotient(device.dram_bytes_per_s, device.clock_hz))


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
    amounts: dict[str, Any] = {"instructions": dict.fromkeys(pipes.CLASSES, 1)}
    missing = [f.name for f in dataclasses.fields(work) if getattr(work, f.name) is None and f.name not in without]
    return dataclasses.replace(work, **{name: amounts.get(name, 1) for name in missing})


def _combine(terms: tuple[Term, ...]) -> tuple[float | None, str | None]:
    cycles = {term.resource: term.cycles for term in terms if term.cycles}
    if not cycles:
        return None, None
    port = sum(value for resource, value in cycles.items() if resource in _PORT)
    resources = [port, *(value for resource, value in cycles.items() if resource not in _PORT)]
    largest = max(resources)
    # Divided by the largest first, since the cube of a long launch's cycles need not fit a float's range.
    total = largest * sum((value / largest) ** _OVERLAP for value in resources) ** (1 / _OVERLAP)
    return total, max(cycles, key=lambda resource: cycles[resource])


# --- Terms ---


def _issue(work: Work, device: Device, cores: float | None) -> Term:
    unit = "instructions"
    if work.instructions is None:
        return _term("issue", None, unit, None)
    total = sum(work.instructions.values())
    engines = _product(cores, device.vector_engines_per_core)
    slots = _quotient(total, engines)
    if slots is None or cores is None:
        return _term("issue", total, unit, None)
    pipe = pipes.busiest(work.instructions, work.sub_group_size, cores, device)
    times = [slots, pipe.cycles]
    if device.send_cycles is not None:
        sends = _quotient(_product(work.global_requests, device.send_cycles), engines)
        if sends is None:
            return _term("issue", total, unit, None)
        times.append(sends)
    term = _term("issue", total, unit, _quotient(total, max(times)))
    return dataclasses.replace(term, left_out=pipe.unknown)


def _slm(work: Work, device: Device, cores: float | None) -> Term:
    pass_bytes = _product(device.slm_banks, device.slm_bank_bytes)
    return _term("SLM", work.local_passes, "passes", _product(cores, _quotient(device.slm_bytes_per_cycle, pass_bytes)))


def _l1(work: Work, device: Device, cores: float | None) -> Term:
    terms = [_term("L1", work.bytes_moved, "bytes", _product(cores, device.l1_bytes_per_cycle))]
    if device.l1_request_cycles is not None:
        terms.append(_term("L1", work.global_requests, "requests", _quotient(cores, device.l1_request_cycles)))
    if work.l1_passes is not None:
        pass_bytes = _product(device.slm_banks, device.slm_bank_bytes)
        peak = _product(cores, _quotient(device.l1_bytes_per_cycle, pass_bytes))
        terms.append(_term("L1", work.l1_passes, "passes", peak))
    return _longest(terms)


def _l2(work: Work, device: Device) -> Term:
    bytes_ = work.l2_bytes
    if device.store_sectors_per_cycle is not None:
        return _sliced_l2(work, device)
    if work.atomic_sends:
        sector = device.sector_bytes or device.line_bytes
        sent = _product(2 * work.atomic_sends, sector)
        bytes_ = _sum(bytes_, sent)
    elif work.atomic_sends is None:
        bytes_ = None
    return _term("L2", bytes_, "bytes", device.l2_bytes_per_cycle)


def _sliced_l2(work: Work, device: Device) -> Term:
    """The longest of what loads and stores take; its peak is of all their bytes."""
    loaded = _difference(work.l2_bytes, work.store_bytes)
    whole = _difference(work.store_sectors, work.partial_store_sectors)
    limits = [
        _quotient(loaded, device.l2_bytes_per_cycle),
        _quotient(work.load_lines, device.load_lines_per_cycle),
        _quotient(work.store_lines, device.store_lines_per_cycle),
        _sum(
            _in_slices(whole, work.store_places, device.store_sectors_per_cycle, device),
            _in_slices(work.partial_store_sectors, work.store_places, device.partial_store_sectors_per_cycle, device),
        ),
    ]
    return _at_longest("L2", work.l2_bytes, "bytes", limits)


def _in_slices(sectors: float | None, places: float | None, rate: float | None, device: Device) -> float | None:
    """Cycles that the slices of the L2 take for sectors of which all together take `rate` in a cycle."""
    share = _quotient(device.atomic_slice_sends_per_cycle, device.store_sectors_per_cycle)
    if not sectors:
        return sectors
    if places is None or rate is None or share is None:
        return None
    return sectors / slices.sectors_per_cycle(places, share * rate, rate)


def _dram(work: Work, device: Device) -> Term:
    limits = [_quotient(work.dram_bytes, dram_bytes_per_cycle(device))]
    if device.dram_pages_per_cycle is not None:
        limits.append(_quotient(work.dram_pages, device.dram_pages_per_cycle))
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
    arrivals = _product(work.barriers, work.sub_groups / work.groups)
    return _term("barriers", arrivals, "arrivals", _quotient(cores, device.barrier_cycles_per_sub_group))


def _group_launch(work: Work, device: Device) -> Term:
    group_cycles = _product(device.group_dispatch_s, device.clock_hz)
    if group_cycles is not None and device.sub_group_dispatch_s is not None and device.clock_hz is not None:
        per_group = work.sub_groups / work.groups
        group_cycles = max(group_cycles, per_group * device.sub_group_dispatch_s * device.clock_hz)
    return _term("group launch", work.groups, "groups", _quotient(1, group_cycles))


def _latency(work: Work, device: Device, resident_groups: float | None) -> Term:
    waits = (_arithmetic_wait(work, device), _local_wait(work, device), _global_wait(work, device))
    barriers = _barrier_wait(work, device)
    known = [wait for wait in (*waits, barriers) if wait is not None]
    total = sum(known) + _fence_wait(work, device) if len(known) == 4 else None
    places = _product(resident_groups, device.xe_cores)
    groups = None if places is None else min(places, work.groups)
    term = _term("latency", total, "cycles waited", _product(groups, work.sub_groups / work.groups))
    farther = work.global_loads and work.dram_bytes and device.dram_latency_cycles is None
    return dataclasses.replace(term, left_out=("DRAM",) if farther else ())


# --- What sub-groups wait for ---


def _arithmetic_wait(work: Work, device: Device) -> float | None:
    if work.instructions is None:
        return None
    count = sum(n for name, n in work.instructions.items() if name not in ("memory", "barrier", "fence"))
    return _product(count / _INDEPENDENT_INSTRUCTIONS, device.alu_latency_cycles)


def _local_wait(work: Work, device: Device) -> float | None:
    loads, passes = work.local_loads, work.local_load_passes
    if not loads:
        return loads
    if passes is None or device.slm_latency_cycles is None:
        return None
    return _product(work.local_rounds, device.slm_latency_cycles + _later_passes(passes, loads))


def _global_wait(work: Work, device: Device) -> float | None:
    if not work.global_loads:
        return work.global_loads
    past_l1 = _quotient(work.l2_bytes, work.bytes_moved)
    past_l2 = _quotient(work.dram_bytes, work.l2_bytes)
    steps = (device.l1_latency_cycles, device.l2_latency_cycles, device.dram_latency_cycles)
    l1, l2, dram = steps
    if past_l1 is None or past_l2 is None or l1 is None or l2 is None:
        return None
    miss, far = min(1.0, past_l1), min(1.0, past_l2)
    latency = l1 + miss * (l2 - l1 + far * ((dram or l2) - l2))
    return _product(work.global_rounds, latency + _later_passes(work.l1_passes, work.global_requests))


def _later_passes(passes: float | None, requests: float | None) -> float:
    """Cycles that a request of several passes takes longer."""
    return _WAIT_PER_PASS * max(0.0, passes / requests - 1) if passes and requests else 0.0


def _barrier_wait(work: Work, device: Device) -> float | None:
    if not work.barriers:
        return work.barriers
    per_group = work.sub_groups / work.groups
    late = (device.barrier_cycles_per_sub_group or 0.0) * per_group
    return _product(work.barriers * per_group, _sum(device.barrier_latency_cycles, late))


def _fence_wait(work: Work, device: Device) -> float:
    """Orders wait where there is a figure for it, else they are taken to cost their slot of the issue."""
    return (work.instructions or {}).get("fence", 0) * (device.fence_latency_cycles or 0.0)


# --- Arithmetic with figures that may not be known ---


def _busy_cores(groups: int, cores: int | None) -> float | None:
    return None if cores is None else groups / math.ceil(groups / cores)


def _term(resource: str, work: float | None, unit: str, peak: float | None) -> Term:
    return Term(resource, work, unit, peak, _quotient(work, peak))


def _at_longest(resource: str, work: float | None, unit: str, limits: list[float | None]) -> Term:
    """The term of some work that takes the longest of some cycles; one that is not known might be the longest."""
    known = [limit for limit in limits if limit is not None]
    return _term(resource, work, unit, _quotient(work, max(known)) if len(known) == len(limits) else None)


def _longest(terms: list[Term]) -> Term:
    """The term with the most cycles; one that is not known stands for all, since it might be the longest."""
    unknown = [term for term in terms if term.cycles is None]
    return unknown[0] if unknown else max(terms, key=lambda term: term.cycles or 0.0)


def _product(a: float | None, b: float | None) -> float | None:
    """0 where a factor is 0: what is not there needs no figure."""
    if a == 0 or b == 0:
        return 0.0
    return None if a is None or b is None else a * b


def _quotient(a: float | None, b: float | None) -> float | None:
    if a == 0:
        return 0.0
    return None if a is None or not b else a / b


def _difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else max(0.0, a - b)


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b
