"""Tabulation: a report from counts, with what follows from them: occupancy, time, hints."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import jax.numpy as jnp
import numpy as np

from xeemu import hints, instructions, requests, timing
from xeemu.costs import FIGURES
from xeemu.counting import Ledger
from xeemu.device import Device
from xeemu.errors import Error
from xeemu.launch import Prepared
from xeemu.occupancy import Occupancy, occupancy
from xeemu.registers import live_bytes
from xeemu.report import AtomicTotals, GlobalTotals, LocalTotals, Report, SiteReport
from xeemu.sites import Memory, Place
from xeemu.timing import Work

# Registers for temporaries, in proportion to those for live values: what makes one row of Intel's published spill table
# come out, which leaves the others within 11 %.
_TEMPORARIES = 0.5
_REGISTER_BYTES = 4

_NOT_MODELLED = (
    "work-groups in any other order than that of their ids",
    "what a compiler does beyond constants, multiply-adds and common unrolling",
    "reuse in caches other than a work-group's own and that of data which fit",
)


@dataclasses.dataclass(frozen=True, eq=False)
class Counts:
    """What was counted over a launch, in the order of the ledger's places; None is not known.

    Attributes:
      figures: int64 `[F]` for each place.
      classes: instructions by class.
      tallies: for each tallied memory lanes by element.
      closed_form: for each place whether its figures follow from shapes and scalars alone.
    """

    figures: Sequence[np.ndarray | None]
    classes: np.ndarray | None
    tallies: Sequence[np.ndarray | None]
    closed_form: Sequence[bool]


def tabulate(
    prepared: Prepared, ledger: Ledger, counts: Counts, version: str, source: tuple[tuple[int, str], ...]
) -> Report:
    """The report of a launch.

    Args:
      prepared: the launch.
      ledger: what there was to count.
      counts: what was counted.
      version: of xeemu.
      source: lines of the kernel with their numbers.
    """
    program, geometry, device = prepared.program, ledger.geometry, ledger.device
    sites = tuple(_site(place, f, closed, ledger) for place, f, closed in _rows(ledger, counts))
    by_place = dict(zip(ledger.places, sites, strict=True))
    classes, barriers = _classes(counts.classes, requests.sub_groups(geometry))
    registers = _registers(prepared, ledger)
    spill = _spill(registers, device, geometry.sub_group_size)
    atomics = _atomics(by_place, counts, ledger)
    resident = _occupancy(prepared, ledger, registers, bool(barriers))
    work = _work(by_place, classes, barriers, atomics, ledger)
    time = timing.predict(work, device, resident.groups if resident else None) if work is not None else None
    terms = time.terms if time else ()
    slm, global_ = LocalTotals.of(sites), GlobalTotals.of(sites)
    ordered = tuple(sorted(sites, key=lambda site: (site.file, site.line)))
    return Report(
        kernel=program.kernel.name,
        device=device.name,
        global_size=geometry.global_range,
        local_size=geometry.local_range,
        sub_group_size=geometry.sub_group_size,
        groups=geometry.groups,
        slm_bytes=program.local_bytes,
        version=version,
        file=program.kernel.function.__code__.co_filename,
        source=source,
        time_s=time.time_s if time else None,
        cycles=time.cycles if time else None,
        bound=time.bound if time else None,
        occupancy=resident,
        sites=ordered,
        slm=slm,
        global_=global_,
        atomics=atomics,
        barriers=barriers,
        instructions=classes,
        registers=registers,
        spill_bytes=spill,
        terms=terms,
        hints=hints.give(ordered, atomics, resident, terms, geometry.groups, geometry.items, device),
        not_modelled=(*_NOT_MODELLED, *_missing(time)),
        marks={
            "slm": _mark(slm.requests, slm.passes, slm.ideal_passes),
            "global_": _mark(global_.requests, global_.lines, global_.bytes_moved),
            "atomics": _mark(atomics.local_requests, atomics.global_operations, atomics.contention),
            "sites": _mark(*(site.requests for site in sites)),
            "barriers": "=",
        },
    )


def _rows(ledger: Ledger, counts: Counts) -> Iterable[tuple[Place, np.ndarray | None, bool]]:
    for place, figures, closed in zip(ledger.places, counts.figures, counts.closed_form, strict=True):
        yield place, None if place in ledger.unknown else figures, closed and place not in ledger.unknown


def _site(place: Place, figures: np.ndarray | None, closed_form: bool, ledger: Ledger) -> SiteReport:
    known: Mapping[str, int | None] = dict.fromkeys(FIGURES)
    if figures is not None:
        known = dict(zip(FIGURES, map(int, figures), strict=True))
    local = place.memory.space == "local"
    sector = ledger.device.sector_bytes or ledger.device.line_bytes
    sectors = known["sectors"]
    counted_used = not local or not known["requests"] or bool(known["bytes_used"])
    return SiteReport(
        file=place.site.file,
        line=place.site.line,
        source=place.site.text,
        memory=place.memory.name,
        op=place.op,
        space=place.memory.space,  # type: ignore[arg-type]
        requests=known["requests"],
        passes=known["passes"] if local else None,
        ideal_passes=known["ideal_passes"] if local else None,
        lines=None if local else known["lines"],
        sectors=None if local else sectors,
        bytes_used=known["bytes_used"] if counted_used else None,
        bytes_moved=None if local or sectors is None or sector is None else sectors * sector,
        closed_form=closed_form,
    )


def _classes(classes: np.ndarray | None, sub_groups: int) -> tuple[dict[str, int] | None, int | None]:
    """Instructions by class, those that there are; and the barriers of work-groups."""
    if classes is None:
        return None, None
    counted = dict(zip(instructions.CLASSES, map(int, classes), strict=True))
    return {name: count for name, count in counted.items() if count}, counted["barrier"] // sub_groups


def _mark(*figures: int | None) -> str:
    return "?" if None in figures else "="


def _missing(time: timing.Timing | None) -> tuple[str, ...]:
    unknown = time.unknown if time else ()
    return (f"{', '.join(unknown)}: not known, and left out of the time",) if unknown else ()


# --- Registers and occupancy ---


def _registers(prepared: Prepared, ledger: Ledger) -> int:
    """Bytes of registers that a work-item needs: live values, private memory without computed index, temporaries."""
    program, geometry = prepared.program, ledger.geometry
    live = live_bytes(program.body, prepared.plan, geometry)
    private = sum(math.prod(m.shape) * m.dtype.itemsize for m in ledger.in_registers)
    return math.ceil((live + private) * (1 + _TEMPORARIES))


def _register_bytes(device: Device, lanes: int) -> int | None:
    """What the register file has for a work-item; on Xe in the default (small) mode."""
    if device.max_registers_per_work_item is not None:
        return _REGISTER_BYTES * device.max_registers_per_work_item
    return None if device.grf_bytes_per_thread is None else device.grf_bytes_per_thread // lanes


def _spill(registers: int, device: Device, lanes: int) -> int | None:
    there = _register_bytes(device, lanes)
    return None if there is None else max(0, registers - there)


def _occupancy(prepared: Prepared, ledger: Ledger, registers: int, barriers: bool) -> Occupancy | None:
    geometry, device = ledger.geometry, ledger.device
    there = _register_bytes(device, geometry.sub_group_size)
    taken = None if there is None else max(1, math.ceil(min(registers, there) / _REGISTER_BYTES))
    try:
        return occupancy(
            device,
            geometry.local_range,
            prepared.program.local_bytes,
            taken,
            geometry.sub_group_size,
            barriers,
            max(1, geometry.groups),
        )
    except Error:
        # What the launch's own checks let pass, the calculator may not have figures for.
        return None


# --- Totals ---


_Sites = Mapping[Place, SiteReport]


def _updates(ledger: Ledger) -> frozenset[Place]:
    """The places of atomic operations that are more than loads."""
    return frozenset(
        o.place
        for o in ledger.operations.values()
        if o.place.op == "atomic" and o.eqn.params.get("op", "load") != "load"
    )


def _atomics(sites: _Sites, counts: Counts, ledger: Ledger) -> AtomicTotals:
    updates = _updates(ledger)
    local = [site for place, site in sites.items() if place in updates and site.space == "local"]
    remote = {place: site for place, site in sites.items() if place in updates and site.space == "global"}
    lanes = {
        place: None if f is None else int(f[FIGURES.index("lanes")])
        for place, f in zip(ledger.places, counts.figures, strict=True)
        if place in remote
    }
    return AtomicTotals(
        local_requests=_total(site.requests for site in local),
        local_passes=_total(site.passes for site in local),
        global_operations=_total(lanes.values()),
        global_sectors=_total(site.sectors for site in remote.values()),
        contention=_contention({place.memory for place in remote}, counts, ledger),
    )


def _contention(memories: set[Memory], counts: Counts, ledger: Ledger) -> int | None:
    tallies = dict(zip(ledger.tallied, counts.tallies, strict=True))
    most = 0
    for memory in memories:
        tally = tallies.get(memory)
        if tally is None or any(place.memory == memory for place in ledger.unknown):
            return None
        most = max(most, int(tally.max(initial=0)))
    return most


def _work(
    sites: _Sites,
    classes: Mapping[str, int] | None,
    barriers: int | None,
    atomics: AtomicTotals,
    ledger: Ledger,
) -> Work | None:
    geometry = ledger.geometry
    if not geometry.groups:
        return None
    waited = {o.place for o in ledger.operations.values() if o.fetches}
    updates = _updates(ledger)
    local = [site for site in sites.values() if site.space == "local"]
    loads = [site for place, site in sites.items() if place in waited and site.space == "local"]
    remote = [site for site in sites.values() if site.space != "local"]
    remote_loads = [site for place, site in sites.items() if place in waited and site.space != "local"]
    plain = {place: site for place, site in sites.items() if place not in updates and site.space != "local"}
    atomic = [place.memory.dtype for place in updates if place.memory.space == "global"]
    return Work(
        groups=geometry.groups,
        sub_groups=geometry.groups * requests.sub_groups(geometry),
        sub_group_size=geometry.sub_group_size,
        instructions=classes,
        local_loads=_total(site.requests for site in loads),
        local_load_passes=_total(site.passes for site in loads),
        local_passes=_total(site.passes for site in local),
        global_requests=_total(site.requests for site in remote),
        global_loads=_total(site.requests for site in remote_loads),
        bytes_moved=_total(site.bytes_moved for site in plain.values()),
        group_bytes=_touched(plain, geometry.groups),
        footprint_bytes=_touched(plain, 1),
        atomic_lanes=atomics.global_operations,
        atomic_sends=atomics.global_sectors,
        atomic_contention=atomics.contention,
        atomic_bytes=max((dtype.itemsize for dtype in atomic), default=4),
        atomic_floats=any(bool(jnp.issubdtype(dtype, jnp.floating)) for dtype in atomic),
        barriers=barriers,
    )


def _touched(sites: _Sites, parts: int) -> float | None:
    """At most so many bytes of different lines does one of so many parts of a launch touch."""
    moved: dict[Memory, float] = {}
    for place, site in sites.items():
        if site.bytes_moved is None:
            return None
        moved[place.memory] = moved.get(place.memory, 0.0) + site.bytes_moved / parts
    return sum(
        min(bytes_, math.prod(memory.shape) * memory.dtype.itemsize) if memory.space == "global" else bytes_
        for memory, bytes_ in moved.items()
    )


def _total(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)
