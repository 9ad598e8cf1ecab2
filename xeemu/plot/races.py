"""Races: who met whom at which element, and between which barriers."""

import re
from typing import TYPE_CHECKING, Any

from xeemu.errors import KernelArgumentError
from xeemu.faults import timeline
from xeemu.faults.findings import Finding
from xeemu.faults.timeline import Timeline, TimelineAccess
from xeemu.language import public
from xeemu.plot import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STORE, _LOAD, _BARRIER = "tab:red", "tab:blue", "0.25"
_LINE_WIDTH, _MOST_LINES = 30, 4  # letters of a line of source in a box, and lines of them
_COLUMNS = (0.0, 2.0)  # where the work-items stand; the element is in the middle
_HEAD, _PASSED, _FIRST, _STEP = -0.1, -0.75, -1.5, -1.5  # how far down things are


@public.known_as("plot.race")
def race(finding: Finding, ax: "Axes | None" = None) -> "Axes":
    """A conflict of two work-items: a column for each, time downwards, the element that both access between them.

    Red is an access that stores, blue one that loads. Across the columns stand the barriers that the work-group has
    passed: accesses between the same two barriers may come in any order. A dashed barrier is one of other memories,
    which does not order the two. Work-items of two work-groups stand in frames of their own, as nothing orders those.

    Args:
      finding: of two accesses that conflict, such as a data race: `findings[0]` of an `xe.check`.
      ax: where to draw.

    Raises:
      KernelArgumentError: the finding is of another kind.
    """
    drawing.check_kind("race", finding, Finding, "a finding of a check, such as findings[0]")
    shown = timeline.of_finding(finding)
    if shown is None:
        raise KernelArgumentError(
            f"plot.race draws two accesses of work-items that conflict, but got a finding of kind {finding.kind}; give "
            "one such as next(f for f in findings if f.kind == 'data-race')"
        )
    depths = (_FIRST, _FIRST + (_STEP if shown.between else 0.0))
    ax = ax or drawing.new_axes(8.0, 3.4 + (1.3 if shown.between else 0.0))
    ax.set_xlim(-0.85, 2.85)
    ax.set_ylim(depths[1] - 1.25, 0.62)
    ax.axis("off")
    _draw_groups(ax, shown, depths[1] - 0.75)
    for access, x in zip(shown.accesses, _COLUMNS, strict=True):
        _draw_item(ax, access, x, depths[1] - 0.7)
    _draw_barriers(ax, shown, sum(depths) / 2)
    _draw_accesses(ax, shown, depths)
    ax.text(1, depths[1] - 1.0, shown.why, ha="center", va="center", style="italic", fontsize="small")
    ax.set_title(f"{finding.kind} on {shown.element}", fontsize="medium")
    return ax


def _draw_groups(ax: "Axes", shown: Timeline, low: float) -> None:
    """A frame for each work-group, with its name."""
    from matplotlib.patches import Rectangle

    spans = [(-0.8, 2.8)] if shown.is_of_one_group else [(-0.8, 0.62), (1.38, 2.8)]
    for (left, right), access in zip(spans, shown.accesses, strict=False):
        frame = Rectangle((left, low), right - left, 0.5 - low, fc="0.97", ec="0.6", label=access.group, zorder=0)
        ax.add_patch(frame)
        ax.text(left + 0.04, 0.37, access.group, va="center", fontsize="small", color="0.35")


def _draw_item(ax: "Axes", access: TimelineAccess, x: float, low: float) -> None:
    """The head of a column, and the line along which its time goes."""
    ax.plot([x, x], [_HEAD, low], color="0.75", lw=1, zorder=1)
    box = {"boxstyle": "round", "fc": "white", "ec": "0.5"}
    ax.text(x, _HEAD, f"{access.item}\n{access.place}", ha="center", va="center", fontsize="small", bbox=box, zorder=3)


def _draw_barriers(ax: "Axes", shown: Timeline, middle: float) -> None:
    for text, y, dashes in ((shown.passed, _PASSED, "-"), (shown.between, middle, "--")):
        if text:
            ax.plot([-0.75, 2.75], [y, y], color=_BARRIER, ls=dashes, lw=1.5, label=text, zorder=2)
            ax.text(-0.74, y + 0.03, text, ha="left", va="bottom", fontsize="small", color=_BARRIER, zorder=3)


def _code(source: str) -> list[str]:
    """A line of source in lines of a box, broken between words and signs; what has no place there is left out."""
    lines = [""]
    for word in re.findall(r"\s*(?:\w+|[^\w\s])", source):
        if lines[-1] and len(lines[-1] + word) > _LINE_WIDTH:
            lines.append("")
        lines[-1] = (lines[-1] + word).lstrip()
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1]} ..."]


def _draw_accesses(ax: "Axes", shown: Timeline, depths: tuple[float, float]) -> None:
    """A box for each access, one for the element, and arrows into it from stores and out of it to loads."""
    middle = sum(depths) / 2 + (0.45 if shown.between else 0.0)
    box: dict[str, Any] = {"boxstyle": "round,pad=0.4", "fc": "#fff3c4", "ec": "0.4"}
    name = shown.element.replace(" memory ", " memory\n")
    element = ax.text(1, middle, name, ha="center", va="center", fontsize="small", bbox=box, zorder=4)
    for access, x, y in zip(shown.accesses, _COLUMNS, depths, strict=True):
        color = _STORE if access.writes else _LOAD
        text = "\n".join([f"{access.what}, {access.line}", *_code(access.source)])
        edge = {"boxstyle": "round", "fc": "white", "ec": color, "lw": 1.5}
        made = ax.text(x, y, text, ha="center", va="center", fontsize=7.5, bbox=edge, zorder=4)
        start, end, patches = (x, y), (1, middle), (made, element)
        if not access.writes:
            start, end, patches = end, start, patches[::-1]
        arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": color, "lw": 1.8, "shrinkA": 2, "shrinkB": 2}
        arrow |= {"patchA": patches[0].get_bbox_patch(), "patchB": patches[1].get_bbox_patch()}
        ax.annotate("", end, start, arrowprops=arrow, zorder=5)
