"""Tiles: a local memory as a grid of its elements, coloured by bank."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xeemu.cost.sites import SiteReport
from xeemu.devices import bankmap
from xeemu.devices.bankmap import BankMap
from xeemu.devices.device import Device
from xeemu.devices.lookup import device as find_device
from xeemu.errors import KernelArgumentError
from xeemu.language import public
from xeemu.plot import drawing
from xeemu.plot.banks import map_of
from xeemu.plurals import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS, _MOST_ROWS = 32, 64  # that are drawn of a memory, and if lanes lie further apart
_MOST_INCHES = (5.6, 7.0)  # of a tile
_CELL_INCHES = 0.3
_LEAST_FONT, _FONT = 4.5, 7.0  # points of a number; where there is no room for the least one, there is none


@public.known_as("plot.tile")
def tile(
    site: SiteReport,
    device: str | Device,
    padding: int = 1,
    pitch: int | None = None,
    request: int = 0,
    axes: "Sequence[Axes] | None" = None,
) -> "np.ndarray":
    """A local memory as a grid of its elements, coloured by bank, before and after its rows are padded.

    Framed are the elements that one sub-group accesses in one instruction; the titles say in how many passes. Framed
    elements of one colour wait for each other. Numbers are banks; elements that padding adds are hatched.

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
    drawn, model = map_of(site, "tile"), find_device(device)
    pitch = _pitch(site, drawn) if pitch is None else pitch
    _check(drawn, site, pitch, padding, request)
    name = f"{site.op} of {site.memory}, line {site.line}"
    lanes = [None if a is None else a // np.dtype(site.dtype).itemsize for a in drawn.addresses[request]]
    before, after = (_Tile(site, drawn, model, lanes, pitch, extra) for extra in (0, padding))
    if axes is None:
        axes = _new_axes(after)
        axes[0].figure.suptitle(f"{name}: its elements by bank, framed those of one instruction", fontsize="medium")
        name = ""
    pair = np.array(axes, dtype=object)
    if pair.shape != (2,):
        raise KernelArgumentError(f"tile(axes=...) draws into two axes, but got {pair.size}; give two, or leave it out")
    for ax, shown in zip(pair, (before, after), strict=True):
        _draw(ax, shown, name)
    return pair


@dataclasses.dataclass(frozen=True, eq=False)
class _Tile:
    """A memory whose rows of `pitch` elements have `extra` ones behind each, and the elements of one instruction."""

    site: SiteReport
    drawn: BankMap
    device: Device
    lanes: Sequence[int | None]
    pitch: int
    extra: int

    @property
    def itemsize(self) -> int:
        return np.dtype(self.site.dtype).itemsize

    @property
    def width(self) -> int:
        """Elements that a lane accesses side by side."""
        return max(1, self.drawn.width_bytes // self.itemsize)

    @property
    def rows(self) -> int:
        """Rows of the whole memory."""
        return math.ceil(math.prod(self.site.shape) / self.pitch)

    @property
    def first(self) -> int:
        """The first row that is drawn."""
        return min((lane // self.pitch for lane in self.lanes if lane is not None), default=0)

    @functools.cached_property
    def banks(self) -> np.ndarray:
        """`[rows, columns]` bank of each element, as far as it is drawn."""
        last = max((lane // self.pitch for lane in self.lanes if lane is not None), default=0)
        wanted = min(max(last + 1 - self.first, _ROWS), _MOST_ROWS)
        rows = min(self.rows - self.first, wanted)
        width = self.pitch + self.extra
        element = (self.first + np.arange(rows))[:, None] * width + np.arange(width)
        found: np.ndarray = element * self.itemsize // self.drawn.bank_bytes % self.drawn.banks
        return found

    @functools.cached_property
    def framed(self) -> list[tuple[int, int]]:
        """Row and column of the first element of each lane that takes part, of those that are drawn."""
        places = [(lane // self.pitch - self.first, lane % self.pitch) for lane in self.lanes if lane is not None]
        return [place for place in dict.fromkeys(places) if place[0] < len(self.banks)]

    @property
    def passes(self) -> int:
        """Passes of the instruction."""
        places = np.array([[0 if e is None else self._place(e) * self.itemsize for e in self.lanes]])
        active = np.array([[e is not None for e in self.lanes]])
        kind: Any = "add" if self.site.op == "atomic" else self.site.op
        rows = bankmap.draw(places, active, self.device, self.drawn.width_bytes, kind).rows
        return sum(max(row) for row in rows)

    def _place(self, element: int) -> int:
        return element + element // self.pitch * self.extra


def _new_axes(shown: _Tile) -> "Sequence[Axes]":
    """Two axes side by side, so large that elements are squares."""
    rows, columns = shown.banks.shape
    cell = min(_CELL_INCHES, _MOST_INCHES[0] / columns, _MOST_INCHES[1] / rows)
    return drawing.new_pair(max(7.0, 2 * cell * columns + 1.6), cell * rows + 1.4)


def _draw(ax: "Axes", shown: _Tile, name: str) -> None:
    ax.imshow(shown.banks, cmap="turbo", vmin=0, vmax=shown.drawn.banks - 1, alpha=0.45)
    _draw_numbers(ax, shown)
    _draw_frames(ax, shown)
    rows, first, last = len(shown.banks), shown.first, shown.first + len(shown.banks) - 1
    pitch = f"pitch {shown.pitch}" + (f" + {shown.extra}" if shown.extra else "")
    passes = f"{pitch}: {counted(shown.passes, 'pass', 'passes')}"
    ax.set_title(f"{name}\n{passes}" if name else passes, fontsize="medium")
    ax.set_xlabel("column")
    ax.set_ylabel("row" if rows == shown.rows else f"row, from {first} to {last} of {shown.rows}")
    ticks = range(0, rows, max(1, rows // 8))
    ax.set_yticks(ticks, [str(first + row) for row in ticks])


def _draw_numbers(ax: "Axes", shown: _Tile) -> None:
    """The banks of the elements, or of the framed ones alone where there is no room for more."""
    rows, columns = shown.banks.shape
    points = min(ax.bbox.width / columns, ax.bbox.height / rows) * 72 / ax.figure.dpi
    font = min(_FONT, 0.5 * points)
    framed = {(y, x + more) for y, x in shown.framed for more in range(shown.width)}
    everything = font == _FONT
    for (y, x), number in np.ndenumerate(shown.banks) if font >= _LEAST_FONT else ():
        is_framed = (y, x) in framed
        if everything or is_framed:
            weight = "bold" if is_framed else "normal"
            ax.text(x, y, str(number), ha="center", va="center", fontsize=font, weight=weight)


def _draw_frames(ax: "Axes", shown: _Tile) -> None:
    from matplotlib.patches import Rectangle

    for y, x in shown.framed:
        ax.add_patch(Rectangle((x - 0.5, y - 0.5), shown.width, 1, fill=False, ec="black", lw=1.6))
    if shown.extra:
        corner, rows = (shown.pitch - 0.5, -0.5), len(shown.banks)
        hatched = Rectangle(corner, shown.extra, rows, fill=False, ec="0.35", lw=0, hatch="////", label="padding")
        ax.add_patch(hatched)


def _pitch(site: SiteReport, drawn: BankMap) -> int:
    if len(site.shape) > 1:
        return site.shape[-1]
    return max(1, drawn.banks * drawn.bank_bytes // np.dtype(site.dtype).itemsize)


def _check(drawn: BankMap, site: SiteReport, pitch: int, padding: int, request: int) -> None:
    for name, value in ("pitch", pitch), ("padding", padding), ("request", request):
        drawing.check_number("tile", name, value, None)
    if not (0 <= request < len(drawn.addresses)):
        raise KernelArgumentError(
            f"tile(request={request}): the execution at line {site.line} has {len(drawn.addresses)} instructions of "
            f"sub-groups; give a number from 0 to {len(drawn.addresses) - 1}"
        )
    if pitch < 1 or padding < 0:
        raise KernelArgumentError(
            f"tile(pitch={pitch}, padding={padding}): a row has elements, and none are taken away"
        )
