"""Tabulation: a report from counts, with what follows from them: occupancy, time, hints."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.cost import amounts, bounds, conflicts, execution, figures, hints, requests, timing
from xeemu.cost.census import Census
from xeemu.cost.costs import FIGURES, kind
from xeemu.cost.counting import Counts, Ledger
from xeemu.cost.registers import live_bytes
from xeemu.cost.report import Report
from xeemu.cost.sites import GlobalTotals, LocalTotals, SiteReport
from xeemu.cost.subject import Idle, Subject
from xeemu.cost.trials import Launch
from xeemu.cost.workload import Spill
from xeemu.devices import bankmap, grf
from xeemu.devices.bankmap import BankMap
from xeemu.devices.device import Device
from xeemu.devices.occupancy import Occupancy, most_registers, occupancy
from xeemu.errors import Error, NDRangeError
from xeemu.knowledge.access_tree import AccessSite, Node
from xeemu.language import listing, source
from xeemu.language.kernel import Kernel
from xeemu.language.linearity import Allocation
from xeemu.launching.preparation import Prepared

# Registers for temporaries, in proportion to those for live values: what makes one row of Intel's published spill table
# come out, which leaves the others within 11 %.
_TEMPORARIES = 0.5
_REGISTER_BYTES = 4

_NOT_MODELLED = (
    "work-groups in any other order than that of their ids",
    "what a compiler does beyond constants, multiply-adds and common unrolling",
    "reuse in caches other than a work-group's own and that of data which fit",
)


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
    taken, program = ledger.census, prepared.program
    geometry, device = taken.geometry, taken.device
    by_place: Mapping[AccessSite, SiteReport] = {
        place: _site(place, counts, ledger, program.kernel) for place in taken.places
    }
    sites = tuple(by_place.values())
    done = execution.of_launch(by_place, counts, taken)
    registers = _registers(prepared, taken)
    there = _register_bytes(prepared, taken)
    spill = None if there is None else max(0, registers - there)
    spilled = Spill(spill, _spilled(prepared, counts, taken, there)) if spill and there else Spill()
    resident = _occupancy(prepared, taken, any(each.get("barrier") for each in taken.instructions.values()))
    launch = Launch(by_place, done, taken, resident, counts.executions, spilled)
    time = launch.timing
    terms, atomics = time.terms if time else (), done.atomics
    slm, global_ = LocalTotals.of(sites), GlobalTotals.of(sites)
    between: _Between = None, ()
    if time and time.cycles is None:
        sites, between = _bounded(launch, counts, ledger.places)
    local, outside = ([s for s in sites if (s.space == "local") is inside] for inside in (True, False))
    ordered = tuple(sorted(sites, key=lambda site: (site.file, site.line)))
    subject = Subject(
        sites=ordered,
        atomics=atomics,
        occupancy=resident,
        groups=geometry.groups,
        local_size=geometry.local_range,
        sub_group_size=geometry.sub_group_size,
        device=device,
        dialect=program.kernel.dialect,
        group_bytes=launch.group_bytes,
        spill_bytes=spill or 0,
        free_bytes=None if there is None else max(0, there - registers),
        idle=_idle(taken),
        common=_common(by_place, taken),
        waits=time.waits if time else (),
        parts=launch.divisions.most,
        has_loops=launch.divisions.has_loops,
        rows=launch.rows,
        distances=launch.distances,
    )
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
        static={name: _static(value) for name, value in (*program.kernel.captured.items(), *program.static)},
        time_s=time.time_s if time else None,
        cycles=time.cycles if time else None,
        between_s=between[0],
        perhaps_missing=between[1],
        bound=time.bound if time else None,
        occupancy=resident,
        sites=ordered,
        slm=slm,
        global_=global_,
        atomics=atomics,
        barriers=done.barriers,
        instructions=done.instructions,
        registers=registers,
        spill_bytes=spill,
        terms=terms,
        waits=time.waits if time else (),
        overstated=time.overstated if time else (),
        understated=time.understated if time else (),
        hints=hints.give(subject, launch.gain, interface.combined if (interface := program.kernel.interface) else ()),
        not_modelled=(*_NOT_MODELLED, *_warm(time, device), *_missing(time)),
        sampled_groups=counts.sampled,
        marks={
            "slm": _slm_mark(local, slm, device),
            "global_": _mark(outside, global_.requests, global_.lines, global_.bytes_moved),
            "atomics": _mark(
                sites, done.atomics.local_requests, done.atomics.global_operations, done.atomics.contention
            ),
            "sites": _mark(sites, *(site.requests for site in sites)),
            "barriers": ">" if done.exchanges else _mark((), done.barriers),
        },
    )


_Between = tuple[tuple[float, float | None] | None, tuple[str, ...]]
"""The bounds of a time in seconds, and what is missing of them."""


def _bounded(launch: Launch, counts: Counts, places: Sequence[AccessSite]) -> tuple[tuple[SiteReport, ...], _Between]:
    """The sites of a launch with the bounds of those places that were not counted, and the bounds of its time."""
    found, hertz = bounds.of_places(places, launch.taken), launch.taken.device.clock_hz
    sites = tuple(
        dataclasses.replace(site, least=found[place].least, most=found[place].most) if place in found else site
        for place, site in launch.sites.items()
    )
    cycles = bounds.cycles(launch, found, counts)
    if cycles is None or hertz is None:
        return sites, (None, ())
    return sites, ((cycles.least / hertz, amounts.quotient(cycles.most, hertz)), cycles.missing)


def _static(value: Any) -> Any:
    """A static parameter as a number or a string."""
    value = value.item() if isinstance(value, np.generic) else value
    known = isinstance(value, bool | int | float | str)
    return value if known else getattr(value, "__name__", listing.of_static(value))


def _shape(memory: Allocation, kernel: Kernel) -> tuple[int, ...]:
    """A memory's dimensions; of one that is flat for us, those that its kernel declares."""
    declared = kernel.interface.shapes.get(memory.name) if kernel.interface is not None else None
    return declared if declared is not None and math.prod(declared) == memory.elements else memory.shape


def _site(place: AccessSite, counts: Counts, ledger: Ledger, kernel: Kernel) -> SiteReport:
    taken = ledger.census
    known, device = counts.figures[place], taken.device
    local = place.memory.space == "local"
    sector = device.sector_bytes or device.line_bytes
    sectors = known["sectors"]
    closed_form = known["passes"] is not None and place not in ledger.places
    tagged = not local and closed_form and device.tag_bank_masks is not None
    counted_used = not local or not known["requests"] or place not in ledger.places
    return SiteReport(
        file=place.site.file,
        line=place.site.line,
        source=place.site.source,
        memory=place.memory.name,
        op=place.op,
        space=place.memory.space,  # type: ignore[arg-type]
        shape=_shape(place.memory, kernel),
        dtype=str(place.memory.dtype),
        lanes=known["lanes"],
        requests=known["requests"],
        passes=known["passes"] if local else None,
        ideal_passes=known["ideal_passes"] if local else None,
        lines=None if local else known["lines"],
        sectors=None if local else sectors,
        bytes_used=known["bytes_used"] if counted_used else None,
        bytes_moved=None if local or sectors is None or sector is None else sectors * sector,
        l1_passes=known["l1_passes"] if tagged else None,
        closed_form=closed_form,
        errors=_site_errors(counts.errors[place], local, sector),
        bank_map=_bank_map(place, counts, taken),
    )


def _site_errors(errors: np.ndarray | None, local: bool, sector_bytes: int | None) -> Mapping[str, float] | None:
    if errors is None:
        return None
    known = dict(zip(FIGURES, map(float, errors), strict=True))
    if local:
        return {name: known[name] for name in ("requests", "passes", "ideal_passes")}
    moved = {"bytes_moved": known["sectors"] * sector_bytes} if sector_bytes else {}
    return {name: known[name] for name in ("requests", "lines", "sectors", "bytes_used")} | moved


def _bank_map(place: AccessSite, counts: Counts, taken: Census) -> BankMap | None:
    shown = counts.shown.get(place)
    if shown is None:
        return None
    operation = next(operations[0] for operations in taken.operations.values() if operations[0].place == place)
    return bankmap.draw(shown.addresses, shown.active, taken.device, shown.width_bytes, kind(operation))


def _mark(sites: Iterable[SiteReport], *figures: int | None) -> str:
    """How figures of some sites are known."""
    if None in figures:
        return "?"
    return "~" if any(site.errors is not None for site in sites) else "="


def _slm_mark(local: Sequence[SiteReport], slm: LocalTotals, device: Device) -> str:
    """How the figures of local memory are known: not exactly where the device does not tell what stores take."""
    mark = _mark(local, slm.requests, slm.passes, slm.ideal_passes)
    is_taken = device.slm_same_word_stores_conflict is None and any(map(conflicts.stores_parts_of_words, local))
    return "~" if mark == "=" and is_taken else mark


def _common(by_place: Mapping[AccessSite, SiteReport], taken: Census) -> tuple[SiteReport, ...]:
    """Where all work-items of a group access as one, at least in some of the operations of the place."""
    rank, items = len(taken.geometry.local_range), taken.geometry.items
    operations = (operation for each in taken.operations.values() for operation in each)
    places = {o.place for o in operations if math.prod(o.access.shape[:rank]) < items}
    return tuple(site for place, site in by_place.items() if place in places)


def _idle(taken: Census) -> tuple[Idle, ...]:
    """What sub-groups execute in divergent code with few of their lanes, line by line of the source."""
    found = []
    for (facts, number), lanes in taken.lanes.items():
        active = taken.active[facts, number]
        if active and lanes is not None and (each := taken.instructions.get((facts, number))):
            found.append(Idle(taken.parted((facts, number)), active, lanes, each))
    return tuple(found)


def _warm(time: timing.Timing | None, device: Device) -> tuple[str, ...]:
    if time is None or not time.l2_held_bytes:
        return ()
    held, size = figures.amount(time.l2_held_bytes), figures.amount(device.l2_bytes)
    return (f"a cold L2: its {size} hold the {held} that the launch touches, which are taken to lie there before it",)


def _missing(time: timing.Timing | None) -> tuple[str, ...]:
    if time is None or not time.unknown:
        return ()
    outcome = "so that the time is not either" if time.cycles is None else "and left out of the time"
    return (f"{', '.join(time.unknown)}: not known, {outcome}",)


# --- Registers and occupancy ---


def _registers(prepared: Prepared, taken: Census) -> int:
    """Bytes of registers that a work-item needs: live values, private memory without computed index, temporaries."""
    return math.ceil(_live(prepared, taken) * (1 + _TEMPORARIES))


def _live(prepared: Prepared, taken: Census) -> int:
    """The same without temporaries, of which a compiler makes fewer where registers are scarce."""
    live = live_bytes(prepared.program.body, prepared.facts, taken.geometry)
    return live + sum(math.prod(m.shape) * m.dtype.itemsize for m in taken.in_registers)


def _spilled(prepared: Prepared, counts: Counts, taken: Census, there: int) -> float:
    """Bytes that all work-items spill in all: a body spills in each execution what its inner bodies do not spill."""
    geometry = taken.geometry
    items = requests.sub_groups(geometry) * geometry.sub_group_size
    held = _live(prepared, taken) - live_bytes(prepared.program.body, prepared.facts, geometry)

    def of(node: Node) -> tuple[float, float]:
        """Of one execution of a node, and of all executions of it and of those inside."""
        inner = {step.facts: of(step) for step in node.steps if isinstance(step, Node)}
        needed = (live_bytes(node.body, node.facts, geometry) + held) * (1 + _TEMPORARIES)
        own, inside = max(0.0, needed - there), max((once for once, _ in inner.values()), default=0.0)
        times = (counts.executions[node.facts] or 0) * items
        return max(own, inside), max(0.0, own - inside) * times + sum(every for _, every in inner.values())

    return of(taken.tree.root)[1]


def _register_bytes(prepared: Prepared, taken: Census) -> int | None:
    """What the register file has for a work-item; on Xe in the mode that the kernel requires, else the small one.

    A compiler that knows the work-group's size, because the kernel requires it, leaves as many as all of them have.
    """
    device, lanes = taken.device, taken.geometry.sub_group_size
    if device.max_registers_per_work_item is None:
        bytes_ = grf.thread_bytes(device, prepared.program.kernel.grf_size)
        return None if bytes_ is None else bytes_ // lanes
    most = _most_registers(taken) if prepared.program.kernel.work_group_size else None
    return _REGISTER_BYTES * (most or device.max_registers_per_work_item)


def _most_registers(taken: Census) -> int | None:
    return most_registers(taken.device, taken.geometry.items, taken.geometry.sub_group_size)


def check_registers(prepared: Prepared, taken: Census) -> None:
    """Checks that an Xe core has the registers for the live values of one work-group.

    Raises:
      NDRangeError: it has not.
    """
    there, most, live = _register_bytes(prepared, taken), _most_registers(taken), _live(prepared, taken)
    used = math.ceil(min(live, there or live) / _REGISTER_BYTES)
    if not most or used <= most:
        return
    kernel, size = prepared.program.kernel, taken.geometry.local_range
    raise NDRangeError(
        f"Exceeded the number of registers available on the hardware: kernel {kernel.name} has {live} bytes of values "
        f"alive at once, {used} registers per work-item; for {taken.geometry.items} work-items an Xe core of "
        f"{taken.device.name} has {most} each. Launch smaller work-groups, keep fewer values, or require the size, "
        f"{kernel.dialect.work_group_size(size)}, so that the compiler spills"
        f"\n  at {source.of_function(kernel.function.__code__)}"
    )


def _occupancy(prepared: Prepared, census: Census, barriers: bool) -> Occupancy | None:
    geometry, device, there = census.geometry, census.device, _register_bytes(prepared, census)
    registers = None if there is None else max(1, math.ceil(min(_registers(prepared, census), there) / _REGISTER_BYTES))
    small = grf.thread_bytes(device, None)
    if registers and small and prepared.program.kernel.grf_size == grf.LARGE:
        # The mode takes its threads however few registers are in use.
        registers = max(registers, small // geometry.sub_group_size // _REGISTER_BYTES + 1)
    try:
        return occupancy(
            device,
            geometry.local_range,
            prepared.program.local_bytes,
            registers=registers and min(registers, _most_registers(census) or registers),
            sub_group_size=geometry.sub_group_size,
            barriers=barriers,
            groups=max(1, geometry.groups),
        )
    except Error:
        # What the launch's own checks let pass, the calculator may not have figures for.
        return None
