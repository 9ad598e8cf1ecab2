"""Sweeps: the times of a tune's configurations, as a curve over one part of them or a map of two."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.language import public
from xeemu.plot import drawing
from xeemu.sweeps import text
from xeemu.sweeps.ranking import Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNKNOWN: dict[str, Any] = {"fc": "0.85", "ec": "0.6"}
_INVALID: dict[str, Any] = {"fc": "white", "ec": "0.6", "hatch": "////"}
_BEST = "tab:red"
_MOST_NUMBERED = 400  # cells of a map that have their times in them


@public.known_as("plot.sweep")
def sweep(table: Table, x: str | None = None, y: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """The times of a table of `xe.tune` over one part of the configuration, as a curve, or over two, as a map.

    What no time is known of is shaded, and what cannot be launched is hatched, with a legend of both. Where more parts
    vary than are drawn, a place has the least time of all configurations there, and a `?` if the time of some is not
    known. A time after `>` is a lower bound, one after `<` an upper one. The best configuration is framed, or marked in
    red.

    Args:
      table: what `xe.tune` gives.
      x: the part along the axis: `"local_size"`, a static parameter and so on. Default: the first that varies, and then
        also the second one for `y`.
      y: the part down the axis; None for a curve.
      ax: where to draw.

    Raises:
      KernelArgumentError: nothing varies in the table, or not what is to be drawn.
    """
    drawing.check_kind("sweep", table, Table, "a table, as xe.tune gives it")
    x, y = _parts(table, x, y)
    columns, lines = _choices(table, x), _choices(table, y) if y else [""]
    places = [[_Place.of([row for row in table if _is_at(row, x, a, y, b)]) for a in columns] for b in lines]
    unit = text.unit_of(table)
    if y is None:
        ax = ax or drawing.new_axes(max(5.0, 0.7 * len(columns) + 2.5), 3.6)
        is_number = all(isinstance(row.configuration.get(x), int | float) for row in table)
        _draw_curve(ax, places[0], unit, "-" if is_number else "")
    else:
        ax = ax or drawing.new_axes(max(5.0, 0.75 * len(columns) + 3.2), max(2.6, 0.42 * len(lines) + 1.4))
        _draw_map(ax, places, unit)
        ax.set_yticks(range(len(lines)), lines)
        ax.set_ylabel(y)
    turned = sum(map(len, columns)) > 60
    ax.set_xticks(range(len(columns)), columns, rotation=45 if turned else 0, ha="right" if turned else "center")
    ax.set_xlabel(x)
    others = [name for name in text.varying_parts(table) if name not in (x, y, "global_size")]
    least = f", least over {', '.join(others)}" if others else ""
    ax.set_title(f"{table.kernel}: time by {x}{f' and {y}' if y else ''}{least}", fontsize="medium")
    return ax


@dataclasses.dataclass(frozen=True)
class _Place:
    """The configurations at one place of a picture.

    Attributes:
      best: the one with the least time; None if no time is known.
      unknown: true if the time of some is not known.
      invalid: true if there are some and none can be launched.
    """

    best: Row | None
    unknown: bool
    invalid: bool

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "_Place":
        """Rows in the order of a table, the best first."""
        best = rows[0] if rows and rows[0].time_s is not None else None
        unknown = any(row.time_s is None and row.reason is None for row in rows)
        return cls(best, unknown, bool(rows) and all(row.reason is not None for row in rows))

    def label(self, unit: str) -> str:
        """What is written there."""
        if self.best is None:
            return "?" if self.unknown else ""
        return text.timed(self.best, unit).split()[0] + "?" * self.unknown


def _draw_curve(ax: "Axes", places: Sequence[_Place], unit: str, line: str) -> None:
    times = [np.nan if p.best is None or p.best.time_s is None else p.best.time_s for p in places]
    ax.plot(range(len(places)), [time / text.UNITS[unit] for time in times], "o", ls=line, color="tab:blue")
    for k, place in enumerate(places):
        if place.best is None and (place.unknown or place.invalid):
            ax.axvspan(k - 0.5, k + 0.5, lw=0.5, **(_UNKNOWN if place.unknown else _INVALID))
        elif place.best is not None:
            offset: Any = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center", "fontsize": "small"}
            ax.annotate(place.label(unit), (k, (place.best.time_s or 0) / text.UNITS[unit]), **offset)
    if all(np.isnan(times)):
        ax.set_yticks([])
    else:
        best = int(np.nanargmin(times))
        ax.plot([best], [times[best] / text.UNITS[unit]], "o", color=_BEST, ms=9, mfc="none", mew=2, label="best")
    ax.set_ylabel(f"time ({unit})")
    ax.set_xlim(-0.5, len(places) - 0.5)
    ax.set_ylim(0, ax.get_ylim()[1] * 1.08)
    ax.grid(axis="y", alpha=0.3)
    _draw_legend(ax, places)


def _draw_map(ax: "Axes", places: Sequence[Sequence[_Place]], unit: str) -> None:
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle

    times = np.array([[np.nan if p.best is None else p.best.time_s for p in row] for row in places], float)
    seen = times[~np.isnan(times)]
    norm = LogNorm(seen.min(), max(seen.max(), seen.min() * 1.01)) if seen.size else None
    ax.imshow(np.ma.masked_invalid(times), cmap="YlGnBu", norm=norm, aspect="auto")
    half = np.sqrt(seen.min() * seen.max()) if seen.size else 0.0
    for (row, column), time in np.ndenumerate(times):
        place = places[row][column]
        if place.best is None and (place.unknown or place.invalid):
            style = _UNKNOWN if place.unknown else _INVALID
            ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, lw=0.5, **style))
        if times.size <= _MOST_NUMBERED:
            color = "white" if time > half else "black"
            ax.text(column, row, place.label(unit), ha="center", va="center", fontsize="small", color=color)
    if seen.size:
        y, x = np.unravel_index(np.nanargmin(times), times.shape)
        best = Rectangle((float(x) - 0.5, float(y) - 0.5), 1, 1, fill=False, ec=_BEST, lw=2.5, label="best", zorder=3)
        ax.add_patch(best)
    _draw_legend(ax, [place for row in places for place in row], f"time ({unit})")


def _draw_legend(ax: "Axes", places: Sequence[_Place], title: str = "") -> None:
    """What the frame, shades and hatches mean, of those that are there."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    if any(place.best for place in places):
        handles.append(Line2D([], [], marker="s", ls="", mfc="none", mec=_BEST, mew=2, label="best"))
    if any(place.best is None and place.unknown for place in places):
        handles.append(Patch(label="not known", **_UNKNOWN))
    if any(place.invalid for place in places):
        handles.append(Patch(label="invalid", **_INVALID))
    ax.legend(handles=handles, title=title, loc="upper left", bbox_to_anchor=(1.01, 1), fontsize="small")


def _parts(table: Table, x: str | None, y: str | None) -> tuple[str, str | None]:
    """The parts to draw, checked."""
    varying = text.varying_parts(table)
    if not varying:
        raise KernelArgumentError(
            f"plot.sweep draws times over what varies, but in the table of {table.kernel} nothing does; give xe.tune a "
            "space with several choices"
        )
    for name in (x, y):
        if name is not None and name not in varying:
            raise KernelArgumentError(
                f"plot.sweep: {name!r} does not vary in the table of {table.kernel}{did_you_mean(name, varying)}; "
                f"what varies is {', '.join(varying)}"
            )
    # The global size often follows from other parts.
    by_rank = sorted(varying, key=lambda name: name == "global_size")
    if x is None:
        left = [name for name in by_rank if name != y]
        return (left or by_rank)[0], y if y is not None else (left[1] if len(left) > 1 else None)
    return x, y


def _choices(table: Table, name: str) -> list[str]:
    """The choices of a part as text, numbers in their order."""
    values = {row.shown(name): row.configuration.get(name) for row in table}

    def rank(shown: str) -> tuple[int, Any]:
        value = values[shown]
        if isinstance(value, int | float):
            return 0, (value,)
        return (1, value) if isinstance(value, tuple) else (2, (shown,))

    return sorted(values, key=rank)


def _is_at(row: Row, x: str, column: str, y: str | None, line: str) -> bool:
    return row.shown(x) == column and (y is None or row.shown(y) == line)
