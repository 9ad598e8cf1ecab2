"""Traffic: the bytes that go between the work-items and the memories of a device."""

from typing import TYPE_CHECKING, Any

from xeemu.cost import flows
from xeemu.cost.flows import Flow
from xeemu.cost.report import Report
from xeemu.errors import KernelArgumentError
from xeemu.language import public
from xeemu.plot import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = {"SLM": "tab:green", "L1": "tab:blue", "L2": "tab:purple", "DRAM": "tab:red"}
_MOST_POINTS = 24.0  # width of the widest arrow
_HALF = 0.3  # width of a box


@public.known_as("plot.memory_chart")
def memory_chart(report: Report, ax: "Axes | None" = None) -> "Axes":
    """The bytes that go between the work-items, the SLM, the L1, the L2 and the DRAM, both ways.

    An arrow is as wide as its bytes, beside the widest; a dotted line is where nothing goes, or where it is not known
    how much, which is marked `?`. What does not reach a memory was served by the one before.

    Args:
      report: of a launch.
      ax: where to draw.

    Raises:
      KernelArgumentError: the launch uses no memory.
    """
    drawing.check_kind("memory_chart", report, Report, "a report, as xe.profile and xe.estimate give it")
    found = flows.of_report(report)
    if not found:
        raise KernelArgumentError(f"plot.memory_chart: {report.kernel} moves no bytes")
    inside = [flow for flow in found if flow.memory == "SLM"]
    outside = [flow for flow in found if flow.memory != "SLM"]
    places = {"work-items": 0.0, "SLM": -1.5} | {flow.memory: 1.5 * k for k, flow in enumerate(outside, 1)}
    left, right = (places["SLM"] if inside else 0.0), places[outside[-1].memory]
    ax = ax or drawing.new_axes(1.5 * (right - left) + 1.4, 1.9)
    ax.set_xlim(left - 0.5, right + 0.5)
    ax.set_ylim(-0.75, 0.75)
    ax.axis("off")
    most = max(flow.bytes or 0.0 for flow in found) or 1.0
    for flow in (*inside, *outside):
        _draw_flow(ax, flow, places, (flow.bytes or 0.0) / most)
    for name in ("work-items", *(flow.memory for flow in found)):
        box = {"boxstyle": "round,pad=0.5", "fc": "white", "ec": _COLORS.get(name, "0.3"), "lw": 1.5}
        ax.text(places[name], 0, name, ha="center", va="center", bbox=box, zorder=3)
    ax.set_title(f"{report.kernel} on {report.device}: bytes between the memories", fontsize="medium")
    return ax


def _draw_flow(ax: "Axes", flow: Flow, places: dict[str, float], share: float) -> None:
    start, end = sorted((places[flow.inner], places[flow.memory]))
    color = _COLORS[flow.memory]
    style: dict[str, Any] = {"color": color, "solid_capstyle": "butt", "zorder": 1, "label": flow.memory}
    if share:
        ax.plot([start + _HALF, end - _HALF], [0, 0], lw=max(1.0, share * _MOST_POINTS), alpha=0.7, **style)
    else:
        ax.plot([start + _HALF, end - _HALF], [0, 0], lw=1.5, ls=":", **style)
    middle = (start + end) / 2
    ax.text(middle, 0.42, flow.amount, ha="center", va="center", fontsize="small")
    ax.text(middle, -0.42, flow.note, ha="center", va="center", fontsize="small", color="0.35")
