"""Pictures of what a launch costs and of a litmus test's executions, with matplotlib: `pip install 'xeemu[plot]'`.

Every function draws into the axes that it is given, or into new ones, and returns them; nothing is shown or saved.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xeemu.cost.pipes import PIPES
from xeemu.cost.report import Report
from xeemu.cost.sites import SiteReport
from xeemu.devices import bankmap
from xeemu.devices.bankmap import BankMap
from xeemu.devices.device import Device
from xeemu.devices.device import device as find_device
from xeemu.devices.occupancy import Occupancy
from xeemu.devices.occupancy import occupancy as calculate
from xeemu.errors import Error, KernelArgumentError
from xeemu.language.source import called
from xeemu.memory_model.witness import Witness, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NUMBERED = 2400
_MOST_ROWS = 64
_PASS_TICKS = (1, 2, 4, 8, 16, 32)
_ARITHMETIC = tuple(name for pipe in PIPES for name in pipe)
# Color, marker and line of each level, so that those on one place can be told apart.
_STYLES = {
    "SLM": ("tab:green", "o", "-"),
    "L1": ("tab:blue", "s", "--"),
    "L2": ("tab:purple", "^", "-"),
    "DRAM": ("tab:red", "D", "-"),
}


def bank_map(site: SiteReport, most: int = 32, ax: "Axes | None" = None) -> "Axes":
    """What each bank serves in one execution of an access to local memory: a row for each request.

    A row takes as many passes as its greatest number. The colours are the same in all maps: the lightest is one word
    for a bank, as where nothing conflicts, the darkest 32 and more. Rows are never added up: where all banks serve as
    much over all requests, each request may still wait for one bank.

    Args:
      site: an access to local memory, from `report.sites`.
      most: rows that are drawn; the title says how many more there are.
      ax: where to draw.
    """
    drawn = _map_of(site, "bank_map")
    _check_number("bank_map", "most", most, 1)
    served = np.array(drawn.rows[:most]).reshape(-1, drawn.banks)
    ax = ax or _axes((0.32 * drawn.banks + 2.5, 0.3 * len(served) + 1.6))
    image = ax.imshow(np.ma.masked_equal(served, 0), aspect="auto", cmap="YlOrRd", norm=_pass_colours())
    ax.figure.colorbar(image, ax=ax, label="words that a bank serves, one in a pass", ticks=_PASS_TICKS, format="%d")
    _number(ax, served)
    passes = served.max(1, initial=0)
    ax.set_xlabel("bank")
    ax.set_ylabel("request")
    ax.set_xticks(range(0, drawn.banks, 2 if drawn.banks > 16 else 1))
    ax.set_yticks(range(len(served)))
    ax.set_yticklabels([f"{row}: {n} pass{'' if n == 1 else 'es'}" for row, n in enumerate(passes)])
    hidden = len(drawn.rows) - len(served) + drawn.left_out
    more = f" in these requests of {len(served) + hidden}" if hidden else ""
    ax.set_title(f"{site.op} of {site.memory}, line {site.line}: {passes.sum()} passes{more}", fontsize="medium")
    return ax


def tile(
    site: SiteReport,
    device: str | Device,
    padding: int = 1,
    pitch: int | None = None,
    request: int = 0,
    axes: "Sequence[Axes] | None" = None,
) -> "np.ndarray":
    """A local memory as a grid of its elements, coloured by bank, before and after its rows are padded.

    Framed are the elements that one sub-group accesses in one instruction; the titles say in how many passes.

    Args:
      site: an access to local memory, from `report.sites`.
      device: the device of the report, whose banks they are.
      padding: elements that each row is made longer by.
      pitch: elements of a row. Default: of the memory's last axis, or for a memory of one axis as many as all banks
        hold side by side.
      request: which instruction of the execution in `site.bank_map`.
      axes: two, where to draw.

    Returns:
      The two axes.
    """
    drawn, model = _map_of(site, "tile"), find_device(device)
    pitch = _pitch(site, drawn) if pitch is None else pitch
    for name, value in ("pitch", pitch), ("padding", padding), ("request", request):
        _check_number("tile", name, value, None)
    if not (0 <= request < len(drawn.addresses)):
        raise KernelArgumentError(
            f"tile(request={request}): the execution at line {site.line} has {len(drawn.addresses)} instructions of "
            f"sub-groups; give a number from 0 to {len(drawn.addresses) - 1}"
        )
    if pitch < 1 or padding < 0:
        raise KernelArgumentError(
            f"tile(pitch={pitch}, padding={padding}): a row has elements, and none are taken away"
        )
    pair = np.array(_pair() if axes is None else axes, dtype=object)
    if axes is None:
        pair[0].figure.suptitle(f"{site.op} of {site.memory}, line {site.line}: its elements by bank")
    if pair.shape != (2,):
        raise KernelArgumentError(f"tile(axes=...) draws into two axes, but got {pair.size}; give two, or leave it out")
    lanes = [None if a is None else a // np.dtype(site.dtype).itemsize for a in drawn.addresses[request]]
    for ax, extra in zip(pair, (0, padding), strict=True):
        _tile(ax, site, drawn, model, lanes, pitch, extra)
    return pair


def occupancy(
    device: str | Device,
    local_size: int | Sequence[int],
    slm_bytes: int | None = None,
    sub_group_size: int | None = None,
    registers: int | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """The occupancy of an Xe core by the local memory of a work-group: the steps that a little less would climb.

    Args:
      device: a name or a device.
      local_size: work-items of a work-group, per dimension.
      slm_bytes: local memory of a work-group of a kernel at hand, which is marked.
      sub_group_size: default: the device's.
      registers: 32-bit registers of a work-item, as in `xeemu.occupancy`.
      ax: where to draw.
    """
    model = find_device(device)
    ax = ax or _axes((7, 3.5))

    def at(bytes_: int) -> Occupancy:
        return calculate(model, local_size, bytes_, registers, sub_group_size)

    sizes = np.arange(0, model.local_mem_size + 1, max(1, model.local_mem_size // 512))
    found = [at(int(size)) for size in sizes]
    if any(o.fraction is None for o in found):
        raise Error(f"the occupancy of {model.name} is not known, as figures of its Xe cores are not public")
    ax.step(sizes / 1024, [100 * (o.fraction or 0) for o in found], where="post")
    if slm_bytes is not None:
        here = at(slm_bytes)
        ax.plot([slm_bytes / 1024], [100 * (here.fraction or 0)], "o")
        note = f" {here.groups} groups, limited by {here.limiter}"
        ax.annotate(note, (slm_bytes / 1024, 100 * (here.fraction or 0)), xytext=(4, 4), textcoords="offset points")
    ax.set_xlabel("local memory of a work-group (KiB)")
    ax.set_ylabel("hardware threads in use (%)")
    ax.set_ylim(0, 108)
    ax.set_title(f"{model.name}, {np.prod(local_size)} work-items a group", fontsize="medium")
    ax.grid(alpha=0.3)
    return ax


def roofline(report: Report, device: str | Device | None = None, ax: "Axes | None" = None) -> "Axes":
    """The launch under the roofs of the device: a dot for each level of memory, at its operations per byte moved.

    Operations are arithmetic instructions of work-items, a multiply-add being one. Bytes are what a level moves, used
    or not: passes of the SLM with all its banks, sectors of the L1, and what passes it and the L2. A dot on its roof is
    bound by that level. A level with a figure that is not known is left out, and named.

    Args:
      report: of a launch.
      device: the device, if the report's is not one of the presets.
      ax: where to draw.
    """
    _check_kind("roofline", report, Report, "a report, as xe.profile and xe.estimate give it")
    model = find_device(report.device if device is None else device)
    operations, clock = _operations(report), model.clock_hz
    if report.time_s is None or clock is None:
        raise Error(
            f"the time of {report.kernel} on {report.device} is not known, so that it has no place under a roof"
        )
    ax = ax or _axes((7, 4.5))
    rate = operations / report.time_s
    moved = {name: (b, p) for name, (b, p) in _levels(report, model).items() if b}
    known = {name: (b, p * clock) for name, (b, p) in moved.items() if b is not None and p is not None}
    ends = [operations / b for b, _ in known.values()] or [1.0]
    x = np.geomspace(min(ends) / 8, max(ends) * 64, 200)
    top = None if model.fp32_flops_per_cycle is None else model.fp32_flops_per_cycle / 2 * clock
    for name, (bytes_, peak) in known.items():
        roof = x * peak if top is None else np.minimum(x * peak, top)
        color, marker, dashes = _STYLES[name]
        ax.plot(x, roof, color=color, lw=1.2, ls=dashes)
        label = f"{name}: {_bytes(bytes_)} at up to {_bytes(peak)}/s"
        ax.plot([operations / bytes_], [rate], marker, color=color, ms=8, mfc="none", mew=2, ls="", label=label)
    for name in ["arithmetic"] * (top is None) + [name for name in moved if name not in known]:
        ax.plot([], [], " ", label=f"{name}: ?")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("operations per byte moved")
    ax.set_ylabel("operations per second")
    ax.set_title(f"{report.kernel} on {report.device}: bound by {report.bound}", fontsize="medium")
    ax.legend(fontsize="small")
    ax.grid(alpha=0.3, which="both")
    return ax


# --- Parts ---


def execution(witness: Witness, ax: "Axes | None" = None) -> "Axes":
    """An execution of a litmus test, as `test.witness(...)` gives it: a column of events for each work-item.

    Args:
      witness: what is drawn.
      ax: where to draw; by default into new axes.
    """
    _check_kind("execution", witness, Witness, "an execution, as test.witness(...) of an xe.litmus gives it")
    return draw(witness, ax)


def _check_kind(function: str, given: Any, kind: type, wanted: str) -> None:
    if not isinstance(given, kind):
        got = "None" if given is None else called(given)
        raise KernelArgumentError(f"plot.{function} draws {wanted}, but got {got}")


def _check_number(function: str, name: str, given: Any, least: int | None) -> None:
    if not isinstance(given, int | np.integer) or (least is not None and given < least):
        raise KernelArgumentError(
            f"plot.{function}({name}={given!r}): give a whole number" + ("" if least is None else f" from {least}")
        )


def _map_of(site: SiteReport, function: str) -> BankMap:
    _check_kind(function, site, SiteReport, "a site of local memory, from report.sites of a profile")
    if site.space != "local" or site.bank_map is None:
        what = f"{site.op} of {site.memory} at line {site.line}"
        why = "has no banks" if site.space != "local" else "was not looked at: no execution of it is known before a run"
        raise KernelArgumentError(
            f"{what}, in {site.space} memory, {why}\ngive a site of local memory of a profile, such as "
            "max((s for s in report.sites if s.space == 'local'), key=lambda s: s.excess)"
        )
    return site.bank_map


def _pass_colours() -> Any:
    """Numbers of passes as colours, each doubling a step of the same size."""
    from matplotlib.colors import LogNorm

    return LogNorm(1, _PASS_TICKS[-1], clip=True)


def _number(ax: "Axes", served: np.ndarray) -> None:
    """Writes what each bank serves into its cell, where there is room."""
    if served.size > _MOST_NUMBERED:
        return
    for row, bank in np.argwhere(served > 0):
        count = int(served[row, bank])
        color = "white" if count >= _PASS_TICKS[-2] else "black"
        ax.text(bank, row, str(count), ha="center", va="center", fontsize=7, color=color)


def _pitch(site: SiteReport, drawn: BankMap) -> int:
    if len(site.shape) > 1:
        return site.shape[-1]
    return max(1, drawn.banks * drawn.bank_bytes // np.dtype(site.dtype).itemsize)


def _tile(
    ax: "Axes", site: SiteReport, drawn: BankMap, model: Device, lanes: Sequence[int | None], pitch: int, extra: int
) -> None:
    """One grid: its elements are where rows of `pitch` elements, each with `extra` ones behind, put them."""
    from matplotlib.patches import Rectangle

    itemsize = np.dtype(site.dtype).itemsize
    first = min((lane // pitch for lane in lanes if lane is not None), default=0)
    rows = min(math.ceil(math.prod(site.shape) / pitch) - first, _MOST_ROWS)
    element = (first + np.arange(rows))[:, None] * (pitch + extra) + np.arange(pitch + extra)
    bank = element * itemsize // drawn.bank_bytes % drawn.banks
    ax.imshow(bank, cmap="turbo", vmin=0, vmax=drawn.banks - 1, alpha=0.45, aspect="equal" if rows < 40 else "auto")
    if bank.size <= _MOST_NUMBERED // 2:
        for (y, x), number in np.ndenumerate(bank):
            color = "black" if x < pitch else "0.5"
            ax.text(x, y, str(number), ha="center", va="center", fontsize=7 if bank.size <= 320 else 5, color=color)
    width = drawn.width_bytes // itemsize
    for lane in lanes:
        if lane is not None and lane // pitch - first < rows:
            corner = (lane % pitch - 0.5, lane // pitch - first - 0.5)
            ax.add_patch(Rectangle(corner, width, 1, fill=False, ec="black", lw=1.6))
    passes = _passes(site, model, lanes, pitch, extra, drawn.width_bytes)
    name = f"pitch {pitch}" + (f" + {extra}" if extra else "")
    ax.set_title(f"{name}: {passes} pass{'' if passes == 1 else 'es'}", fontsize="medium")
    ax.set_xlabel("column")
    ax.set_ylabel(f"row{f' - {first}' if first else ''}")


def _passes(
    site: SiteReport, model: Device, lanes: Sequence[int | None], pitch: int, extra: int, width_bytes: int
) -> int:
    """Passes of one instruction whose lanes access these elements, their rows `extra` elements apart."""
    itemsize = np.dtype(site.dtype).itemsize
    places = np.array([[0 if e is None else (e + e // pitch * extra) * itemsize for e in lanes]])
    active = np.array([[e is not None for e in lanes]])
    kind: Any = "add" if site.op == "atomic" else site.op
    return sum(max(row) for row in bankmap.draw(places, active, model, width_bytes, kind).rows)


def _operations(report: Report) -> float:
    counted = report.instructions or {}
    total = sum(counted.get(name, 0) for name in _ARITHMETIC) * report.sub_group_size
    if not total:
        what = "is not known" if report.instructions is None else "is 0"
        raise Error(f"the arithmetic of {report.kernel} {what}, so that it has no place under a roof")
    return float(total)


def _levels(report: Report, model: Device) -> Mapping[str, tuple[float | None, float | None]]:
    """Bytes that each level of memory moves, and how many it moves in a cycle."""
    work = {term.resource: term.work for term in report.terms}
    cores = model.xe_cores
    pass_bytes = None if not model.slm_banks else model.slm_banks * (model.slm_bank_bytes or 0)
    slm = None if report.slm.passes is None or pass_bytes is None else float(report.slm.passes * pass_bytes)

    def of_device(per_core: float | None) -> float | None:
        return None if per_core is None or cores is None else per_core * cores

    dram = None if model.dram_bytes_per_s is None or not model.clock_hz else model.dram_bytes_per_s / model.clock_hz
    return {
        "SLM": (slm, of_device(model.slm_bytes_per_cycle)),
        "L1": (report.global_.bytes_moved, of_device(model.l1_bytes_per_cycle)),
        "L2": (work.get("L2"), model.l2_bytes_per_cycle),
        "DRAM": (work.get("DRAM"), dram),
    }


def _bytes(amount: float) -> str:
    power = min(4, int(math.log10(max(amount, 1)) // 3))
    return f"{amount / 1000**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"


def _axes(size: tuple[float, float]) -> "Axes":
    _, ax = _pyplot().subplots(figsize=size, layout="constrained")
    return ax


def _pair() -> Any:
    return _pyplot().subplots(1, 2, figsize=(12, 5), layout="constrained")[1]


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("xeemu.plot draws with matplotlib: pip install 'xeemu[plot]'") from error
    return pyplot
