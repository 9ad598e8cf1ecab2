"""Pictures: what the page of a report draws: bytes between memories, bank maps, the steps of the occupancy."""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xeemu.cost import figures, flows
from xeemu.cost.sites import SiteReport
from xeemu.devices import bankmap
from xeemu.devices.device import Device
from xeemu.devices.lookup import device as find_device
from xeemu.devices.occupancy import Occupancy, occupancy
from xeemu.errors import Error

if TYPE_CHECKING:
    from xeemu.cost.report import Report

_MOST_ROWS = 16
_SIZES = 256  # of local memory, at which the occupancy is looked at


@dataclasses.dataclass(frozen=True)
class Level:
    """A memory of the device, and what goes between it and the next one to its left in the picture.

    Attributes:
      name: of the memory, or `work-items`.
      bytes: what goes, as text; empty of the first.
      note: what else there is to say of that.
      share: of the most that goes anywhere, 0 to 1.
    """

    name: str
    bytes: str = ""
    note: str = ""
    share: float = 0.0


def chain(report: "Report") -> list[Level]:
    """The memories from left to right: the SLM, the work-items, and the others outwards; none if nothing moves."""
    found = flows.of_report(report)
    most = max((flow.bytes or 0.0 for flow in found), default=0.0) or 1.0
    levels = {
        flow.memory: Level(
            flow.memory,
            flow.amount,
            flow.note,
            (flow.bytes or 0.0) / most,
        )
        for flow in found
    }
    if not levels:
        return []
    slm = levels.pop("SLM", None)
    first = [Level("SLM"), dataclasses.replace(slm, name="work-items")] if slm else [Level("work-items")]
    return [*first, *levels.values()]


@dataclasses.dataclass(frozen=True)
class BankGrid:
    """What each bank serves.

    Attributes:
      title: of which access.
      banks: how many there are.
      rows: for each row its label, for each bank the words and their step on the scale, and the row's passes.
      hidden: rows that are not here.
      head: what a row is.
      scale: what each step of the scale is, as text.
    """

    title: str
    banks: int
    rows: tuple[tuple[str, tuple[tuple[int, int], ...], int], ...]
    hidden: int
    head: str
    scale: tuple[str, ...] = tuple(text for _, text in bankmap.STEPS)


def grids(sites: Sequence[SiteReport]) -> list[BankGrid]:
    """The bank map of the site with the most excess passes; none if no site has any."""
    mapped = [site for site in sites if site.bank_map is not None and site.excess]
    if not mapped:
        return []
    worst = max(mapped, key=lambda site: site.excess or 0)
    drawn = worst.bank_map
    assert drawn is not None
    shown = zip(drawn.labels[:_MOST_ROWS], drawn.rows[:_MOST_ROWS], strict=True)
    rows = tuple((label, tuple((n, bankmap.step(n)) for n in row), max(row)) for label, row in shown)
    title = f"What each bank serves, request by request: {worst.op} of {worst.memory}, line {worst.line}"
    hidden = len(drawn.rows) - len(rows) + drawn.left_out
    return [BankGrid(title, drawn.banks, rows, hidden, f"request, {drawn.part}" if drawn.part else "request")]


@dataclasses.dataclass(frozen=True)
class Stairs:
    """The occupancy over the local memory of a work-group; places are shares of the picture, 0 to 1.

    Attributes:
      line: the steps, as points of a line: local memory, occupancy.
      here: where the launch is.
      groups: work-groups on an Xe core, there.
      most: the most local memory, as text.
    """

    line: tuple[tuple[float, float], ...]
    here: tuple[float, float]
    groups: int
    most: str


def stairs(report: "Report") -> Stairs | None:
    """The steps of the occupancy with all else as it is; None if the device's figures do not tell."""
    found = report.occupancy
    if found is None or not found.groups or found.fraction is None:
        return None
    try:
        device = find_device(report.device)
        others = [groups for name, groups in found.constraints.items() if name != "slm"]
        at = [min([*others, *_by_slm(report, device, bytes_)]) for bytes_ in _sizes(device)]
    except Error:
        return None
    each = found.fraction / found.groups
    line: list[tuple[float, float]] = []
    for bytes_, groups in zip(_sizes(device), at, strict=True):
        x, y = bytes_ / device.local_mem_size, groups * each
        if line and line[-1][1] != y:
            line.append((x, line[-1][1]))
        line.append((x, y))
    here = (report.slm_bytes / device.local_mem_size, found.fraction)
    return Stairs(_corners(line), here, found.groups, figures.size(device.local_mem_size))


def _sizes(device: Device) -> range:
    return range(0, device.local_mem_size + 1, max(1, device.local_mem_size // _SIZES))


def _by_slm(report: "Report", device: Device, bytes_: int) -> list[int]:
    """The work-groups that so much local memory allows; none if it sets no limit."""
    found: Occupancy = occupancy(device, math.prod(report.local_size), bytes_, None, report.sub_group_size)
    return [found.constraints["slm"]] if "slm" in found.constraints else []


def _corners(line: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The points of a line but those in the middle of a straight piece."""
    return tuple(
        point
        for k, point in enumerate(line)
        if k in (0, len(line) - 1) or not line[k - 1][1] == point[1] == line[k + 1][1]
    )
