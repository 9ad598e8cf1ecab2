"""Page: an inspection as HTML, with a slider over its steps."""

import dataclasses
import linecache
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from xeemu.inspection import text
from xeemu.language.places import file_name
from xeemu.pages import listing, notebook, rendering

if TYPE_CHECKING:
    from xeemu.inspection.inspection import Inspection, Step

_MOST_STEPS = 300
_MOST_ITEMS = 64
_MOST_CELLS = 32


@dataclasses.dataclass(frozen=True)
class _Square:
    """A cell of a table: its text, and its class (`off` of who is not active, `new` of what has changed)."""

    text: str
    kind: str = ""


@dataclasses.dataclass(frozen=True)
class _Grid:
    """A memory: its title, its rows with the number of the first element of each, and how many are not shown."""

    title: str
    rows: list[tuple[str, list[_Square]]]
    hidden: int


def of_inspection(inspection: "Inspection") -> str:
    """A page that needs nothing else."""
    return rendering.render("inspection.html", view=_view(inspection))


def fragment(inspection: "Inspection") -> str:
    """An inspection in a notebook; as text where Jinja is not installed."""
    return notebook.fragment("inspection_parts.html", str(inspection), view=_view(inspection))


def _view(inspection: "Inspection") -> Mapping[str, Any]:
    shown = inspection.steps[:_MOST_STEPS]
    items = np.ndindex(inspection.local_size)
    return {
        "title": f"{inspection.kernel}, work-group {text.id_of(inspection.group)}",
        "sizes": text.sizes(inspection),
        "items": [text.id_of(ids) for ids in items][:_MOST_ITEMS],
        "hidden": max(0, int(np.prod(inspection.local_size)) - _MOST_ITEMS),
        "left": len(inspection.steps) - len(shown),
        "listings": _listings(shown),
        "steps": list(map(_step, shown)),
    }


def _listings(steps: "tuple[Step, ...]") -> list[tuple[str, str, list[listing.ListingLine]]]:
    """For each file its path, its name, and its lines from the first one of a step to the last."""
    found = []
    for file in dict.fromkeys(step.file for step in steps):
        texts = {step.line: step.source for step in steps if step.file == file}
        numbers = range(min(texts), max(texts) + 1)
        texts |= {n: line.rstrip() for n in numbers if (line := linecache.getline(file, n))}
        found.append((file, file_name(file), listing.lines(texts, (), {})))
    return found


def _step(step: "Step") -> Mapping[str, Any]:
    active = step.active.reshape(-1)[:_MOST_ITEMS]
    return {
        "file": step.file,
        "line": step.line,
        "place": text.place(step),
        "source": step.source,
        "turn": step.turn,
        "active": int(step.active.sum()),
        "count": step.active.size,
        "ordering": step.ordering,
        "rows": [
            (name, [_Square(cell, "" if on else "off") for cell, on in zip(cells, active, strict=False)])
            for name, cells in text.rows(step)
        ],
        "memories": [_grid(name, values, step.changed.get(name)) for name, values in step.memories.items()],
    }


def _grid(name: str, values: np.ma.MaskedArray, changed: np.ndarray | None) -> _Grid:
    width = values.shape[-1] if values.ndim > 1 else _MOST_CELLS // 2
    new = np.zeros(values.size, bool) if changed is None else changed.reshape(-1)
    cells = [cell for row in text.grid(values) for cell in row]
    rows = []
    for at in range(0, min(len(cells), width * _MOST_CELLS), max(width, 1)):
        squares = [_Square(cells[n], "new" if new[n] else "") for n in range(at, min(at + width, len(cells)))]
        rows.append((_first(at, values.shape), squares[:_MOST_CELLS]))
    shown = sum(len(row) for _, row in rows)
    shape = " x ".join(map(str, values.shape))
    return _Grid(f"{name}: {shape} of {values.dtype}", rows, values.size - shown)


def _first(element: int, shape: tuple[int, ...]) -> str:
    """The number of a row's first element; of a memory of several axes those before the last."""
    if len(shape) < 2:
        return str(element)
    return ", ".join(str(int(n)) for n in np.unravel_index(element, shape)[:-1])
