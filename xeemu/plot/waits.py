"""Waits: where the sub-groups of a launch wait, and for how long."""

from typing import TYPE_CHECKING

from xeemu.cost import figures
from xeemu.cost.latency import Waiting
from xeemu.cost.report import Report
from xeemu.errors import KernelArgumentError
from xeemu.language import public
from xeemu.plot import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = {"arithmetic": "0.6", "barriers": "0.25", "fences": "tab:purple", "spill": "tab:orange"}
_LOADS = {"local": "tab:green", "global": "tab:blue", "private": "tab:orange"}
_MOST_ROWS = 20
_SOURCE_WIDTH = 46  # letters of a line that are shown


@public.known_as("plot.latency")
def latency(report: Report, ax: "Axes | None" = None) -> "Axes":
    """Where the sub-groups of a launch wait: a bar for each line that loads, for arithmetic, barriers and fences.

    A bar is the share of all cycles that sub-groups wait, longest first; beside it stands how often they do, and how
    many cycles each time. Sub-groups that wait cost time only where the Xe core has no others to run: see the term
    `latency` of the report. A hatched bar is a wait of which the device has no figure.

    Args:
      report: of a launch.
      ax: where to draw.

    Raises:
      KernelArgumentError: it is not known how often the launch waits, or it does not wait.
    """
    drawing.check_kind("latency", report, Report, "a report, as xe.profile and xe.estimate give it")
    shown = report.waits[:_MOST_ROWS]
    if not shown:
        raise KernelArgumentError(
            f"plot.latency: what {report.kernel} waits for on {report.device} is not known, or it does not wait; give "
            "a report of xe.profile, which counts what depends on data"
        )
    ax = ax or drawing.new_axes(10.0, 0.32 * len(shown) + 1.3)
    for row, wait in enumerate(shown):
        if wait.share is None:
            ax.barh(row, 1.0, color="0.9", hatch="////", ec="0.7")
        else:
            ax.barh(row, wait.share, color=_color(wait))
        told = f" {figures.number(wait.times)} x {figures.number(wait.cycles_each)} cycles"
        ax.text(wait.share or 0.0, row, told, va="center", fontsize="small")
    ax.set_yticks(range(len(shown)), list(map(_label, shown)), fontsize="small")
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlim(0, 1.28)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25%", "50%", "75%", "100%"])
    ax.set_xlabel("of the cycles that sub-groups wait")
    _draw_legend(ax, {wait.site.space for wait in shown if wait.site is not None})
    hidden = len(report.waits) - len(shown)
    more = f", {hidden} more" if hidden else ""
    ax.set_title(f"{report.kernel} on {report.device}: what sub-groups wait for{more}", fontsize="medium")
    return ax


def _draw_legend(ax: "Axes", spaces: set[str]) -> None:
    """Which memory a load is of."""
    from matplotlib.patches import Patch

    handles = [
        Patch(color=color, label=f"load of {space} memory") for space, color in _LOADS.items() if space in spaces
    ]
    if handles:
        ax.legend(handles=handles, loc="lower right", fontsize="small")


def _color(wait: Waiting) -> str:
    return _COLORS[wait.cause] if wait.site is None else _LOADS[wait.site.space]


def _label(wait: Waiting) -> str:
    if wait.site is None:
        return wait.cause
    source = figures.cut(wait.site.source, _SOURCE_WIDTH)
    return f"{source}  {wait.site.line}: {wait.site.op} {wait.site.memory}"
