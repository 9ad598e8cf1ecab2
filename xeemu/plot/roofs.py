"""Roofs: a launch under the rates of its device, by the operations that it does for each byte that a memory moves."""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xeemu.cost import terms
from xeemu.cost.pipes import PIPES
from xeemu.cost.report import Report
from xeemu.devices.device import Device
from xeemu.devices.lookup import device as find_device
from xeemu.errors import Error, KernelArgumentError
from xeemu.language import public
from xeemu.plot import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ARITHMETIC = tuple(name for pipe in PIPES for name in pipe)
# Color, marker and line of each level of memory.
_STYLES = {
    "SLM": ("tab:green", "o", "-"),
    "L1": ("tab:blue", "s", "--"),
    "L2": ("tab:purple", "^", "-."),
    "DRAM": ("tab:red", "D", ":"),
}
_SIZE, _STEP = 7.0, 6.0  # of a mark, and by how much one around it is larger
_TOGETHER = 0.02  # marks whose places differ by less, in decades, are drawn one around the other


@public.known_as("plot.roofline")
def roofline(
    report: Report, device: str | Device | None = None, ax: "Axes | None" = None, before: Report | None = None
) -> "Axes":
    """The launch under the roofs of the device: a mark for each level of memory, at its operations per byte moved.

    The roof of a level is what its row in the report's BOUND table moves in a second: by the Xe cores that the launch
    fills, at the rate that a DRAM keeps up, and by requests where those take longer than bytes; of a level that moves
    nothing it is the device's rate. Operations are arithmetic instructions of work-items, a multiply-add being one.
    Bytes are what a level moves, used or not: passes of the SLM with all its banks, sectors of the L1, and what passes
    it and the L2. A mark on its roof is bound by that level. Marks at one place are drawn one around the other. A level
    that moves nothing has a roof and no mark; a level with a figure that is not known has neither, and is named.

    Args:
      report: of a launch.
      device: the device that the report is of, if it is not one of the presets.
      ax: where to draw.
      before: another report on the same device, such as that of the kernel before a change: its marks are filled and
        pale, and arrows lead from them to the launch's.

    Raises:
      Error: the time or the arithmetic of a launch is not known, or there is none.
      KernelArgumentError: the reports are of different devices.
    """
    drawing.check_kind("roofline", report, Report, "a report, as xe.profile and xe.estimate give it")
    model = find_device(report.device if device is None else device)
    here = _Place.of(report, model)
    there = None if before is None else _earlier(report, before, model)
    ax = ax or drawing.new_axes(7.5, 4.8)
    roofs = {name: rate for name, rate in _rates(report, model).items() if rate is not None}
    known = {name: x for name, x in here.intensities.items() if name in roofs}
    _draw_roofs(ax, roofs, [here, *([there] if there else [])], model)
    _draw_marks(ax, known, here.rate)
    if there is not None:
        _draw_before(ax, known, here, there)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("operations per byte moved")
    ax.set_ylabel("operations per second")
    ax.set_title(_title(report, before), fontsize="medium")
    _draw_legend(ax, roofs, here, _top(model) is None, there is not None)
    ax.grid(alpha=0.25)
    return ax


@dataclasses.dataclass(frozen=True)
class _Place:
    """Where a launch is.

    Attributes:
      rate: operations per second.
      moved: bytes, by level of those that move any.
      intensities: operations per byte moved, of the same.
      unknown: levels whose bytes are not known.
    """

    rate: float
    moved: dict[str, float]
    intensities: dict[str, float]
    unknown: frozenset[str]

    @classmethod
    def of(cls, report: Report, model: Device) -> "_Place":
        operations = _operations(report)
        if report.time_s is None or model.clock_hz is None:
            raise Error(
                f"the time of {report.kernel} on {report.device} is not known, so that it has no place under a roof"
            )
        moved = _moved(report, model)
        known = {name: bytes_ for name, bytes_ in moved.items() if bytes_}
        unknown = frozenset(name for name, bytes_ in moved.items() if bytes_ is None)
        return cls(operations / report.time_s, known, {n: operations / b for n, b in known.items()}, unknown)


def _earlier(report: Report, before: Report, model: Device) -> _Place:
    drawing.check_kind("roofline", before, Report, "in before= a report, as xe.profile and xe.estimate give it")
    if before.device != report.device:
        raise KernelArgumentError(
            f"roofline(before=...) is a report of {before.device}, the other one of {report.device}; both stand under "
            "the roofs of one device"
        )
    return _Place.of(before, model)


def _draw_roofs(ax: "Axes", roofs: dict[str, float], places: Sequence[_Place], model: Device) -> None:
    ends = [x for place in places for x in place.intensities.values()] or [1.0]
    top = _top(model)
    corner = max((top / peak for peak in roofs.values()), default=1.0) if top else max(ends) * 8
    x = np.geomspace(min(ends) / 6, max(*ends, corner) * 4, 200)
    for name, peak in roofs.items():
        color, _, dashes = _STYLES[name]
        ax.plot(x, x * peak if top is None else np.minimum(x * peak, top), color=color, lw=1.2, ls=dashes)


def _draw_marks(ax: "Axes", known: dict[str, float], rate: float) -> None:
    around = _around(known)
    for name, x in known.items():
        color, marker, _ = _STYLES[name]
        size = _SIZE + _STEP * around[name]
        ax.plot([x], [rate], marker, color=color, ms=size, mfc="none", mew=2, ls="", zorder=3, label=name)


def _draw_before(ax: "Axes", known: dict[str, float], here: _Place, there: _Place) -> None:
    earlier = {name: x for name, x in there.intensities.items() if name in known}
    around = _around(earlier)
    for name, x in earlier.items():
        color, marker, _ = _STYLES[name]
        size = _SIZE + _STEP * around[name]
        ax.plot([x], [there.rate], marker, color=color, alpha=0.35, ms=size, ls="", label=f"{name} before")
        arrow = {"arrowstyle": "->", "color": color, "alpha": 0.6, "shrinkA": size / 2, "shrinkB": _SIZE}
        ax.annotate("", (known[name], here.rate), (x, there.rate), arrowprops=arrow)


def _draw_legend(ax: "Axes", roofs: dict[str, float], here: _Place, topless: bool, is_before: bool) -> None:
    """What each level moves and could, in the order of the levels, then what is not known, and the pale marks."""
    from matplotlib.lines import Line2D

    handles = []
    for name, peak in roofs.items():
        color, marker, dashes = _STYLES[name]
        if name in here.unknown:
            continue
        mark: dict[str, Any] = {"marker": marker, "mfc": "none", "mew": 2} if name in here.moved else {}
        told = f"{name}: {_bytes(here.moved.get(name, 0.0))} at up to {_bytes(peak)}/s"
        handles.append(Line2D([], [], color=color, ls=dashes, ms=_SIZE, label=told, **mark))
    unknown = [name for name in _STYLES if name not in roofs or name in here.unknown]
    for name in ["arithmetic"] * topless + unknown:
        handles.append(Line2D([], [], ls="", label=f"{name}: ?"))
    if is_before:
        handles.append(Line2D([], [], color="0.7", marker="o", ls="", ms=_SIZE, label="the same before"))
    ax.legend(handles=handles, fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))


def _around(places: dict[str, float]) -> dict[str, int]:
    """For each level how many marks of levels before it lie where its own does."""
    names = list(places)
    return {
        name: sum(abs(math.log10(places[other] / places[name])) < _TOGETHER for other in names[:k])
        for k, name in enumerate(names)
    }


def _title(report: Report, before: Report | None) -> str:
    title = f"{report.kernel} on {report.device}: bound by {report.bound}"
    if before is None or before.time_s is None or report.time_s is None:
        return title
    was = "" if before.bound == report.bound else f", before by {before.bound}"
    return f"{title}{was}; {before.time_s / report.time_s:.3g} times as fast"


def _operations(report: Report) -> float:
    counted = report.instructions or {}
    total = sum(counted.get(name, 0) for name in _ARITHMETIC) * report.sub_group_size
    if not total:
        what = "is not known" if report.instructions is None else "is 0"
        raise Error(f"the arithmetic of {report.kernel} {what}, so that it has no place under a roof")
    return float(total)


def _top(model: Device) -> float | None:
    """Operations per second of the device."""
    if model.fp32_flops_per_cycle is None or model.clock_hz is None:
        return None
    return model.fp32_flops_per_cycle / 2 * model.clock_hz


def _moved(report: Report, model: Device) -> dict[str, float | None]:
    """Bytes that each level of memory moves."""
    work = {term.resource: term.work for term in report.terms}
    pass_bytes = None if not model.slm_banks else model.slm_banks * (model.slm_bank_bytes or 0)
    passes = report.slm.passes
    return {
        "SLM": 0.0 if passes == 0 else None if passes is None or pass_bytes is None else float(passes * pass_bytes),
        "L1": report.global_.bytes_moved,
        "L2": work.get("L2", 0.0),
        "DRAM": work.get("DRAM", 0.0),
    }


def _rates(report: Report, model: Device) -> dict[str, float | None]:
    """Bytes per second that each level of memory moves at most in a launch, as the terms of its time have it."""
    moved, cycles = _moved(report, model), {term.resource: term.cycles for term in report.terms}

    def rate(name: str, idle: float | None) -> float | None:
        """Of a level that has work what its term says, so that a mark on the roof is a launch that it alone binds."""
        bytes_, taken = moved[name], cycles.get(name)
        if bytes_ is None or model.clock_hz is None:
            return None
        if not bytes_:
            return idle
        return bytes_ / taken * model.clock_hz if taken else None

    return {name: rate(name, idle) for name, idle in _peaks(model).items()}


def _peaks(model: Device) -> dict[str, float | None]:
    """Bytes per second that each level of memory of the whole device moves at most."""
    clock, cores = model.clock_hz, model.xe_cores

    def of_cores(per_cycle: float | None) -> float | None:
        return None if per_cycle is None or cores is None or clock is None else per_cycle * cores * clock

    def of_device(per_cycle: float | None) -> float | None:
        return None if per_cycle is None or clock is None else per_cycle * clock

    return {
        "SLM": of_cores(model.slm_bytes_per_cycle),
        "L1": of_cores(model.l1_bytes_per_cycle),
        "L2": of_device(model.l2_bytes_per_cycle),
        "DRAM": of_device(terms.dram_bytes_per_cycle(model)),
    }


def _bytes(amount: float) -> str:
    if not amount:
        return "nothing"
    power = min(4, int(math.log10(max(amount, 1)) // 3))
    return f"{amount / 1000**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"
