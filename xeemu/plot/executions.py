"""Executions: a litmus test's events by work-item, with the relations between them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xeemu.language import public
from xeemu.memory_model.witness import Witness, label, nearest, once
from xeemu.plot import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import FancyBboxPatch

# Color, line and bend of each relation, so that two between the same events can be told apart.
_ARROWS = {
    "po": ("0.45", "-", 0.0),
    "rf": ("tab:red", "-", 0.12),
    "mo": ("tab:blue", "-", -0.12),
    "sw": ("tab:green", "--", 0.3),
    "race": ("tab:orange", ":", -0.3),
}
_MEANINGS = {
    "po": "po: program order",
    "rf": "rf: read by",
    "mo": "mo: overwritten by",
    "sw": "sw: synchronises with",
    "race": "race",
}
_COLUMN_INCHES, _ROW_INCHES = 3.0, 0.85
_GAP_POINTS = 2
_APART = 3.5  # times that an arrow within a column bends more, so that it parts from those of program order


@public.known_as("plot.execution")
def execution(witness: Witness, ax: "Axes | None" = None) -> "Axes":
    """An execution of a litmus test, as `test.witness(...)` gives it: a column of events for each work-item.

    Grey arrows are program order, the others the relations of the memory model, as the legend says. Initial values
    stand above the columns.

    Args:
      witness: what is drawn.
      ax: where to draw; by default into new axes.
    """
    drawing.check_kind("execution", witness, Witness, "an execution, as test.witness(...) of an xe.litmus gives it")
    columns = sorted({event.item for event in witness.events if event.item is not None})
    places = _places(witness, columns)
    low = min(y for _, y in places)
    ax = ax or drawing.new_axes(max(4.0, _COLUMN_INCHES * len(columns)) + 1.8, 0.8 + _ROW_INCHES * (1 - low))
    ax.set_xlim(-0.7, len(columns) - 0.3)
    ax.set_ylim(low - 0.5, 0.5)
    boxes = _draw_events(ax, witness, places)
    arrows = _arrows(witness)
    for name, pairs in arrows.items():
        _draw_relation(ax, name, [(places[a], places[b], boxes[a], boxes[b]) for a, b in pairs])
    ax.set_xticks(range(len(columns)), [f"work-item {item}" for item in columns])
    ax.set_yticks([])
    ax.set_title(str(witness.outcome), fontsize="medium")
    if arrows:
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return ax


def _places(witness: Witness, columns: Sequence[int]) -> list[tuple[float, float]]:
    """Where each event stands: its column, and how far down; initial values side by side above the columns."""
    items = [event.item for event in witness.events]
    places: list[tuple[float, float]] = []
    for k, item in enumerate(items):
        depth = items[:k].count(item)
        if item is None:
            places.append(((depth + 0.5) * len(columns) / items.count(None) - 0.5, 0.0))
        else:
            places.append((columns.index(item), -1.0 - depth))
    return places


def _draw_events(ax: "Axes", witness: Witness, places: Sequence[tuple[float, float]]) -> "list[FancyBboxPatch | None]":
    """Boxes with the events; their patches have their places already, so that arrows can end at their edges."""
    boxes = []
    for k, event in enumerate(witness.events):
        value = f" ({witness.read[k]})" if event.reads else ""
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.6"}
        text = ax.text(*places[k], f"{label(k)}: {event}{value}", ha="center", va="center", fontsize="small", bbox=box)
        boxes.append(text.get_bbox_patch())
    return boxes


def _draw_relation(ax: "Axes", name: str, pairs: Sequence[tuple[Any, Any, Any, Any]]) -> None:
    color, dashes, bend = _ARROWS[name]
    for start, end, from_, to in pairs:
        arrow: dict[str, Any] = {"arrowstyle": "-" if name == "race" else "-|>", "color": color, "ls": dashes}
        within = start[0] == end[0]
        arrow |= {"patchA": from_, "patchB": to, "connectionstyle": f"arc3,rad={bend * (_APART if within else 1)}"}
        arrow |= {"shrinkA": _GAP_POINTS, "shrinkB": _GAP_POINTS, "lw": 1.0 if name == "po" else 1.6}
        ax.annotate("", end, start, arrowprops=arrow, zorder=4)
    ax.plot([], [], color=color, linestyle=dashes, label=_MEANINGS[name])


def _arrows(witness: Witness) -> dict[str, Sequence[tuple[int, int]]]:
    """What is drawn: of an order only the steps, and no relation that has nothing."""
    drawn = {
        "po": _program_order(witness),
        "rf": tuple(witness.rf.pairs()),
        "mo": nearest(witness.mo),
        "sw": tuple(witness.sw.pairs()),
        "race": tuple(once(witness.races)),
    }
    return {name: pairs for name, pairs in drawn.items() if pairs}


def _program_order(witness: Witness) -> Sequence[tuple[int, int]]:
    """Each event of a work-item with its next one."""
    last: dict[int, int] = {}
    pairs = []
    for k, event in enumerate(witness.events):
        if event.item is None:
            continue
        if event.item in last:
            pairs.append((last[event.item], k))
        last[event.item] = k
    return pairs
