"""Page: a sweep as tables for a notebook."""

from typing import TYPE_CHECKING

from xeemu.pages import notebook
from xeemu.pages.listing import ListingFigure
from xeemu.pages.notebook import Columns
from xeemu.plurals import counted
from xeemu.sweeps import text

if TYPE_CHECKING:
    from xeemu.sweeps.ranking import Row, Table

_MOST_ROWS = 200


def fragment(table: "Table") -> str:
    """The configurations by their time, and why others are invalid; as text where Jinja is not installed."""
    varying = text.varying_parts(table)
    rows = [row for row in table if row.reason is None]
    unit = text.unit_of(rows)
    ranked = [_ranked(n, row, unit, varying) for n, row in enumerate(rows[:_MOST_ROWS], 1)]
    invalid = [(str(count), ", ".join(common), reason) for count, common, reason in text.reasons(table, varying)]
    parts = (
        Columns(("", f"time {unit}", "bound", "occupancy", *varying), ranked, text=0),
        f"and {counted(len(rows) - _MOST_ROWS, 'configuration')} more" if len(rows) > _MOST_ROWS else "",
        text.notes(rows),
        Columns(("configurations", "which", "why"), invalid, "Invalid", text=3),
    )
    return notebook.tables(text.title(table), parts, str(table), ", ".join(text.same(table, varying)))


def _ranked(number: int, row: "Row", unit: str, varying: list[str]) -> list[str | ListingFigure]:
    time = ListingFigure(text.timed(row, unit).strip(), number=-1.0 if row.time_s is None else row.time_s)
    occupancy = ListingFigure(text.percent(row.occupancy), number=-1.0 if row.occupancy is None else row.occupancy)
    return [str(number), time, row.bound or "?", occupancy, *map(row.shown, varying)]
