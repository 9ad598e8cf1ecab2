"""Lanes: which work-items take part in each line of a work-group that was looked into."""

from typing import TYPE_CHECKING, Any

import numpy as np

from xeemu.errors import KernelArgumentError
from xeemu.inspection.inspection import Inspection
from xeemu.language import public
from xeemu.plot import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SOURCE_WIDTH = 46  # letters of a line that are shown


@public.known_as("plot.activity")
def activity(inspection: Inspection, ax: "Axes | None" = None) -> "Axes":
    """The lanes that take part in each line of a work-group: a row for each line, a column for each work-item.

    Dark blue is a work-item that takes part in each access of its sub-group on the line, white one that never does,
    while others of its sub-group do: a lane without work. Grey are sub-groups that leave the line out, which costs
    nothing. Upright lines part the sub-groups. On the right stand the lanes that take part, of all lanes of the
    sub-groups that carry out the line, and how many such executions there are.

    Args:
      inspection: of a work-group, as `xe.inspect` gives it.
      ax: where to draw.

    Raises:
      KernelArgumentError: the work-group has no steps.
    """
    from matplotlib.ticker import PercentFormatter

    drawing.check_kind("activity", inspection, Inspection, "an inspection, as xe.inspect gives it")
    lines = inspection.activity
    if not lines:
        raise KernelArgumentError(f"plot.activity: {inspection.kernel} has no line that was carried out")
    shares = np.stack([line.shares for line in lines])
    ax = ax or drawing.new_axes(11.0, 0.26 * len(lines) + 1.6)
    image = ax.imshow(np.ma.masked_invalid(shares), cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="none")
    ax.set_facecolor("0.85")
    for edge in range(inspection.sub_group_size, shares.shape[1], inspection.sub_group_size):
        ax.axvline(edge - 0.5, color="black", lw=0.8)
    for row in range(1, len(lines)):
        ax.axhline(row - 0.5, color="0.9", lw=0.5)
    style: dict[str, Any] = {"fontsize": "small", "family": "monospace"}
    ax.set_yticks(range(len(lines)), [_shown(line.line, line.source) for line in lines], **style)
    _draw_efficiency(ax, [f"{line.efficiency:.0%} of {line.executions}" for line in lines])
    group = ", ".join(map(str, inspection.group))
    lanes = inspection.sub_group_size
    ax.set_xlabel(f"work-item of work-group {group}, in sub-groups of {lanes}; grey: line not carried out")
    told = "right: lanes used, of so many executions by sub-groups"
    ax.set_title(f"{inspection.kernel}: work-items that take part in each line\n{told}", fontsize="medium")
    ax.figure.colorbar(image, ax=ax, label="takes part", format=PercentFormatter(1.0), pad=0.01, fraction=0.03)
    return ax


def _draw_efficiency(ax: "Axes", labels: list[str]) -> None:
    """What stands to the right of each row."""
    right = ax.secondary_yaxis("right")
    right.set_yticks(range(len(labels)), labels, fontsize="small")


def _shown(line: int, source: str) -> str:
    cut = source if len(source) <= _SOURCE_WIDTH else f"{source[: _SOURCE_WIDTH - 3]}..."
    return f"{cut:<{_SOURCE_WIDTH}} {line}"
