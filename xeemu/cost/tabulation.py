"""Tabulation: a report from counts, with what follows from them: occupancy, time, hints."""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.cost import amounts, bounds, conflicts, execution, figures, hints, registers
from xeemu.cost.advice import Evidence, Idle
from xeemu.cost.census import Census
from xeemu.cost.costs import FIGURES, kind
from xeemu.cost.counting import Counts
from xeemu.cost.execution import Executed
from xeemu.cost.ledger import Ledger
from xeemu.cost.registers import Registers
from xeemu.cost.report import Hint, Report
from xeemu.cost.sites import GlobalTotals, LocalTotals, SiteReport
from xeemu.cost.timing import UNTIMED, Timing
from xeemu.cost.trials import CountedLaunch
from xeemu.devices import bankmap
from xeemu.devices.bankmap import BankMap
from xeemu.devices.device import Device
from xeemu.knowledge.access_tree import AccessSite
from xeemu.language import listing
from xeemu.language.kernel import Kernel
from xeemu.language.linearity import Allocation
from xeemu.launching.preparation import Prepared

_NOT_MODELLED = (
    "work-groups in any other order than that of their ids",
    "what a compiler does beyond constants, multiply-adds and common unrolling",
    "reuse in caches other than a work-group's own and that of data which fit",
)


def tabulate(
    prepared: Prepared,
    ledger: Ledger,
    counts: Counts,
    used: Registers,
    version: str,
    lines: Callable[[], tuple[tuple[int, str], ...]],
) -> Report:
    """The report of a launch.

    Args:
      prepared: the launch.
      ledger: what there was to count.
      counts: what was counted.
      used: its registers.
      version: of xeemu.
      lines: gives the lines of the kernel with their numbers.
    """
    taken, program = ledger.census, prepared.program
    launch = _launch(prepared, ledger, counts, used)
    time, done, geometry = launch.timing or UNTIMED, launch.executed, taken.geometry
    sites, between, perhaps_missing = _bounded(launch, counts, ledger.access_sites)
    ordered = tuple(sorted(sites, key=lambda site: (site.file, site.line)))
    return Report(
        kernel=program.kernel.name,
        device=taken.device.name,
        global_size=geometry.global_range,
        local_size=geometry.local_range,
        sub_group_size=geometry.sub_group_size,
        groups=geometry.groups,
        slm_bytes=program.local_bytes,
        version=version,
        file=program.kernel.function.__code__.co_filename,
        source=lines,  # type: ignore[arg-type]
        static={name: _static(value) for name, value in (*program.kernel.captured.items(), *program.static)},
        time_s=time.time_s,
        cycles=time.cycles,
        between_s=between,
        perhaps_missing=perhaps_missing,
        bound=time.bound,
        occupancy=launch.resident,
        sites=ordered,
        slm=LocalTotals.of(launch.sites.values()),
        global_=GlobalTotals.of(launch.sites.values()),
        atomics=done.atomics,
        barriers=done.barriers,
        instructions=done.instructions,
        registers=used.needed,
        spill_bytes=used.spilled,
        terms=time.terms,
        waits=time.waits,
        overstated=time.overstated,
        understated=time.understated,
        hints=functools.partial(_hints, launch, ordered, used, program.kernel),  # type: ignore[arg-type]
        not_modelled=(*_NOT_MODELLED, *_warm(time, taken.device), *_missing(time)),
        sampled_groups=counts.sampled,
        marks=_marks(sites, done, taken.device),
    )


def _launch(prepared: Prepared, ledger: Ledger, counts: Counts, used: Registers) -> CountedLaunch:
    """What a launch does, as it was counted."""
    taken = ledger.census
    sites = {place: _site(place, counts, ledger, prepared.program.kernel) for place in taken.access_sites}
    return CountedLaunch(
        sites=sites,
        executed=execution.of_launch(sites, counts, taken),
        taken=taken,
        resident=registers.resident(used, prepared, taken),
        executions=counts.executions,
        spill=registers.spill(used, prepared, counts, taken),
    )


def _hints(launch: CountedLaunch, sites: tuple[SiteReport, ...], used: Registers, kernel: Kernel) -> tuple[Hint, ...]:
    """The hints for a launch whose sites are told in this order."""
    evidence, interface = _evidence(launch, sites, used, kernel), kernel.interface
    return hints.give(evidence, launch.gain, interface.combined if interface else ())


def _evidence(launch: CountedLaunch, sites: tuple[SiteReport, ...], used: Registers, kernel: Kernel) -> Evidence:
    """What advice follows from, of a launch whose sites are told in this order."""
    taken, time = launch.taken, launch.timing or UNTIMED
    return Evidence(
        sites=sites,
        atomics=launch.executed.atomics,
        occupancy=launch.resident,
        groups=taken.geometry.groups,
        local_size=taken.geometry.local_range,
        sub_group_size=taken.geometry.sub_group_size,
        device=taken.device,
        dialect=kernel.dialect,
        group_bytes=launch.group_bytes,
        spill_bytes=used.spilled or 0,
        free_bytes=used.free,
        idle=_idle(taken),
        common=_common(launch.sites, taken),
        waits=time.waits,
        parts=launch.divisions.most,
        has_loops=launch.divisions.has_loops,
        strides=launch.strides,
        distances=launch.distances,
    )


def _marks(sites: Sequence[SiteReport], done: Executed, device: Device) -> dict[str, str]:
    """How the figures of a report are known."""
    local, outside = ([s for s in sites if (s.space == "local") is inside] for inside in (True, False))
    slm, global_, atomics = LocalTotals.of(sites), GlobalTotals.of(sites), done.atomics
    return {
        "slm": _slm_mark(local, slm, device),
        "global_": _mark(outside, global_.requests, global_.lines, global_.bytes_moved),
        "atomics": _mark(sites, atomics.local_requests, atomics.global_operations, atomics.contention),
        "sites": _mark(sites, *(site.requests for site in sites)),
        "barriers": ">" if done.exchanges else _mark((), done.barriers),
    }


_Between = tuple[float, float | None] | None
"""The bounds of a time in seconds."""


def _bounded(
    launch: CountedLaunch, counts: Counts, places: Sequence[AccessSite]
) -> tuple[tuple[SiteReport, ...], _Between, tuple[str, ...]]:
    """The sites of a launch, the bounds of its time and what is missing of these.

    Where the time is not known, sites that were not counted have their bounds; else there is nothing to bound.
    """
    if launch.timing is None or launch.timing.cycles is not None:
        return tuple(launch.sites.values()), None, ()
    found, hertz = bounds.of_access_sites(places, launch.taken), launch.taken.device.clock_hz
    sites = tuple(
        dataclasses.replace(site, least=found[place].least, most=found[place].most) if place in found else site
        for place, site in launch.sites.items()
    )
    cycles = bounds.cycles(launch, found, counts)
    if cycles is None or hertz is None:
        return sites, None, ()
    return sites, (cycles.least / hertz, amounts.quotient(cycles.most, hertz)), cycles.missing


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
    closed_form = known["passes"] is not None and place not in ledger.access_sites
    tagged = not local and closed_form and device.tag_bank_masks is not None
    counted_used = not local or not known["requests"] or place not in ledger.access_sites
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
        doubtful=place in taken.doubtful,
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
    operation = next(operations[0] for operations in taken.operations.values() if operations[0].access_site == place)
    return bankmap.draw(shown.addresses, shown.active, taken.device, shown.width_bytes, kind(operation))


def _mark(sites: Iterable[SiteReport], *figures: int | None) -> str:
    """How figures of some sites are known."""
    if None in figures:
        return "?"
    return "~" if any(site.errors is not None or site.doubtful for site in sites) else "="


def _slm_mark(local: Sequence[SiteReport], slm: LocalTotals, device: Device) -> str:
    """How the figures of local memory are known: not exactly where the device does not tell what stores take."""
    mark = _mark(local, slm.requests, slm.passes, slm.ideal_passes)
    is_taken = device.slm_same_word_stores_conflict is None and any(map(conflicts.stores_parts_of_words, local))
    return "~" if mark == "=" and is_taken else mark


def _common(by_place: Mapping[AccessSite, SiteReport], taken: Census) -> tuple[SiteReport, ...]:
    """Where all work-items of a group access as one, at least in some of the operations of the place."""
    rank, items = len(taken.geometry.local_range), taken.geometry.items
    operations = (operation for each in taken.operations.values() for operation in each)
    places = {o.access_site for o in operations if math.prod(o.access.shape[:rank]) < items}
    return tuple(site for place, site in by_place.items() if place in places)


def _idle(taken: Census) -> tuple[Idle, ...]:
    """What sub-groups execute in divergent code with few of their lanes, line by line of the source."""
    found = []
    for (facts, number), lanes in taken.lanes.items():
        active = taken.active[facts, number]
        if active and lanes is not None and (each := taken.instructions.get((facts, number))):
            found.append(Idle(taken.parted((facts, number)), active, lanes, each))
    return tuple(found)


def _warm(time: Timing, device: Device) -> tuple[str, ...]:
    if not time.l2_held_bytes:
        return ()
    held, size = figures.amount(time.l2_held_bytes), figures.amount(device.l2_bytes)
    return (f"a cold L2: its {size} hold the {held} that the launch touches, which are taken to lie there before it",)


def _missing(time: Timing) -> tuple[str, ...]:
    if not time.unknown:
        return ()
    outcome = "so that the time is not either" if time.cycles is None else "and left out of the time"
    return (f"{', '.join(time.unknown)}: not known, {outcome}",)
