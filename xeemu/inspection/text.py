"""Text: an inspection as a table, a row for each value and access of a step, a column for each work-item."""

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from xeemu.ir.table import AccessKind
from xeemu.language.places import short_place
from xeemu.plurals import counted, plural

if TYPE_CHECKING:
    from xeemu.inspection.inspection import Access, Inspection, Step

INACTIVE, UNWRITTEN = "-", "?"
_MOST_COLUMNS = 16
_MOST_ROWS = 16
_MOST_STEPS = 200
_LABEL = 22

Row = tuple[str, list[str]]
"""What it is, and a cell for each work-item or element."""


def of_inspection(
    inspection: "Inspection", items: Sequence[int] | None = None, lines: Collection[int] | None = None
) -> str:
    """The table of all steps, of the first ones where there are many.

    Args:
      inspection: the steps.
      items: the work-items to tell of, by their linear local ids; None for all.
      lines: the lines to tell of; None for all.
    """
    group, steps = id_of(inspection.group), counted(len(inspection.steps), "step")
    head = f"{inspection.kernel}, work-group {group} of {sizes(inspection)}: {steps}"
    if items is not None:
        head += f"; of {plural(len(items), 'work-item')} {', '.join(map(str, items))}"
    told = [step for step in inspection.steps if lines is None or step.line in lines]
    shown = told[:_MOST_STEPS]
    left = len(told) - len(shown)
    more = [f"... and {counted(left, 'step')} more: inspection.steps, inspection.at(line)"] if left else []
    return "\n".join([head, *(of_step(step, items) for step in shown), *more])


def sizes(inspection: "Inspection") -> str:
    """The launch's sizes, in words."""
    groups = [-(-n // s) for n, s in zip(inspection.global_size, inspection.local_size, strict=True)]
    items, noun = " x ".join(map(str, inspection.local_size)), plural(math.prod(inspection.local_size), "work-item")
    return f"{' x '.join(map(str, groups))}, {items} {noun} in sub-groups of {inspection.sub_group_size}"


def id_of(ids: Sequence[int]) -> str:
    """An id: a number, or numbers in brackets."""
    return str(ids[0]) if len(ids) == 1 else f"({', '.join(map(str, ids))})"


def of_step(step: "Step", chosen: Sequence[int] | None = None) -> str:
    """The line, and under it what each work-item, or some, held and did, and the memories that it has changed."""
    lines = [f"{step.number:>4}  {place(step)}: {step.source}{_apart(step)}"]
    items = rows(step)
    if chosen is not None:
        items = [(label, [cells[k] for k in chosen]) for label, cells in items]
    width = max((len(cell) for _, cells in items for cell in cells[:_MOST_COLUMNS]), default=1)
    lines += [_line(row, width) for row in items]
    for name in step.changed:
        lines += _memory(name, step.memories[name])
    return "\n".join(lines)


def place(step: "Step") -> str:
    """File and line of a step."""
    return short_place(step.file, step.line)


def _apart(step: "Step") -> str:
    """How often the line was come to, and by how many work-items, where that tells something."""
    active, items = int(step.active.sum()), step.active.size
    told = [f"time {step.turn}"] * (step.turn > 1) + [f"{active} of {counted(items, 'work-item')}"] * (active < items)
    return f"   [{', '.join(told)}]" if told else ""


def rows(step: "Step") -> list[Row]:
    """What the work-items of a step held and did, a cell for each work-item in linear order."""
    found: list[Row] = []
    for access in step.accesses:
        found += of_access(access, step.active)
    found += [(name, of_items(values, step.active)) for name, values in step.values.items()]
    return found


def of_access(access: "Access", active: np.ndarray) -> list[Row]:
    """The elements of an access, and what was loaded from or stored to them."""
    verb = access.op if access.op in get_args(AccessKind) else f"atomic {access.op}"
    elements = of_items(access.elements, active, access.shape)
    return [(f"{verb} {access.memory}", elements), ("  value", of_items(access.values, active))]


def of_items(values: np.ma.MaskedArray, active: np.ndarray, shape: tuple[int, ...] = ()) -> list[str]:
    """A cell for each work-item; numbers are those of elements where the shape of their memory is given."""
    each = values.reshape(active.size, -1)
    return [",".join(_cell(value, shape) for value in _few(row)) for row in each]


def _few(row: Any) -> list[object]:
    return [*row[:4], ...] if len(row) > 4 else list(row)


def _cell(value: Any, shape: tuple[int, ...]) -> str:
    if value is np.ma.masked:
        return INACTIVE
    if value is ...:
        return "..."
    if shape:
        return f"[{','.join(str(int(n)) for n in np.unravel_index(int(value), shape))}]"
    return number(value)


def number(value: Any) -> str:
    """A number as short as it is exact, of floats five digits."""
    if isinstance(value, np.bool_ | bool):
        return "T" if value else "F"
    return f"{int(value)}" if isinstance(value, np.integer) else f"{float(value):.5g}"


def grid(values: np.ma.MaskedArray) -> list[list[str]]:
    """A memory as rows of cells: along its last axis, or of as many elements as fit where it has one."""
    flat = (
        values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
        if values.ndim > 1
        else _wrapped(values.reshape(-1))
    )
    return [[UNWRITTEN if value is np.ma.masked else number(value) for value in row] for row in flat]


def _wrapped(values: np.ma.MaskedArray) -> list[np.ma.MaskedArray]:
    return [values[at : at + _MOST_COLUMNS] for at in range(0, len(values), _MOST_COLUMNS)]


def _memory(name: str, values: np.ma.MaskedArray) -> list[str]:
    shown = grid(values)
    count = min(len(shown), _MOST_ROWS)
    width = max((len(cell) for row in shown[:count] for cell in row[:_MOST_COLUMNS]), default=1)
    label = f"= {name}"
    lines = [_line((label if n == 0 else "", shown[n]), width) for n in range(count)]
    hidden = len(shown) - count
    more = f"{'':8}... {counted(hidden, 'row')} more of {math.prod(values.shape)} elements"
    return [*lines, *([more] if hidden else [])]


def _line(row: Row, width: int) -> str:
    label, cells = row
    label = label if len(label) < _LABEL else f"{label[: _LABEL - 4]}..."
    more = f" ...{len(cells) - _MOST_COLUMNS} more" if len(cells) > _MOST_COLUMNS else ""
    return f"{'':8}{label:<{_LABEL}}" + " ".join(f"{cell:>{width}}" for cell in cells[:_MOST_COLUMNS]) + more
