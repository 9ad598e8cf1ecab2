"""Text: a sweep as a table in ASCII and 80 columns."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xeemu.plurals import counted

if TYPE_CHECKING:
    from xeemu.sweeps.ranking import Row, Table

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

_WIDTH = 80
_REASONS = 10  # that are told
_FIGURES = 35  # columns of the table that are left of the configuration
_SIGNS = {"at least": ">", "at most": "<"}


def of_table(table: "Table") -> str:
    """The whole sweep: its title, the configurations by their time, and why others are invalid."""
    varying = varying_parts(table)
    blocks = (_header(table, varying), _ranking(table, varying), _invalid(table, varying))
    text = "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)
    return text.encode("ascii", "replace").decode("ascii")


def varying_parts(table: "Table") -> list[str]:
    """The parts of the configuration that are not the same in all rows."""
    names = dict.fromkeys(name for row in table for name in row.configuration)
    return [name for name in names if len({row.shown(name) for row in table}) > 1]


def title(table: "Table") -> str:
    """The kernel, and how many configurations there are of which kind."""
    counts = {
        "timed": sum(row.time_s is not None for row in table),
        "between two times": sum(row.most_s is not None for row in table),
        "not known": sum(row.time_s is None and row.most_s is None and row.reason is None for row in table),
        "invalid": len(table.invalid),
    }
    shown = "".join(f", {count} {what}" for what, count in counts.items() if count)
    return f"{cut(table.kernel, 30)}: {counted(len(table), 'configuration')}{shown}"


def same(table: "Table", varying: Sequence[str]) -> list[str]:
    """What all configurations have in common, each part with its value."""
    return [f"{name} {row.shown(name)}" for row in table[:1] for name in row.configuration if name not in varying]


def _header(table: "Table", varying: Sequence[str]) -> list[str]:
    return [title(table), *_pairs(same(table, varying), _WIDTH)]


def _ranking(table: "Table", varying: Sequence[str]) -> list[str]:
    rows = [row for row in table if row.reason is None]
    if not rows:
        return []
    unit = unit_of(rows)
    head, *cells = _columns(rows, varying)
    lines = [f"{'':{_FIGURES}}{line}" for line in head[:-1]]
    lines.append(f"{f'time {unit}':>14}    {'bound':12}{'occ':>5}{head[-1]}")
    for number, (row, (first, *more)) in enumerate(zip(rows, cells, strict=True), 1):
        figures = f"{number:>4}{timed(row, unit):>13} {cut(row.bound or '?', 12):12}{percent(row.occupancy):>5}"
        lines.append(f"{figures}{first}")
        lines += [f"{'':{_FIGURES}}{line}" for line in more]
    return lines + _wrap(notes(rows), "     ")


def _columns(rows: Sequence["Row"], names: Sequence[str]) -> list[list[str]]:
    """For the head and each row the lines of its configuration: columns where they fit, else names with values.

    In the head of a column the words of a name are one below the other.
    """
    words = [name.split("_") for name in names]
    height = max(map(len, words), default=1)
    head = list(zip(*([""] * (height - len(each)) + each for each in words), strict=True)) or [()]
    body = [tuple(row.shown(name) for name in names) for row in rows]
    widths = [max(map(len, column)) for column in zip(*head, *body, strict=True)]
    if sum(widths) + 2 * len(widths) <= _WIDTH - _FIGURES:
        lines = ["".join(f"  {cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in head + body]
        return [lines[: len(head)], *([line] for line in lines[len(head) :])]
    pairs = (_pairs([f"{name} {row.shown(name)}" for name in names], _WIDTH - _FIGURES - 2) for row in rows)
    return [["  configuration"], *([f"  {line}" for line in lines] for lines in pairs)]


def timed(row: "Row", unit: str) -> str:
    """The time: a sign before it for a bound, and two columns with its marks after it."""
    least, most = (None if each is None else _number(each / UNITS[unit]) for each in (row.least_s, row.most_s))
    figure = "?" if least is None else f"?>{least}" if most is None else f"{least}-{most}"
    if row.time_s is not None:
        figure = f"{_SIGNS.get(row.limit, '')}{_number(row.time_s / UNITS[unit])}"
    return f"{figure} {row.mark if row.time_s is not None else ' '}{'*' if row.basis != 'shapes' else ' '}"


def notes(rows: Sequence["Row"]) -> str:
    """What the signs mean, of those that are there."""
    sampled = ", on a sample of the work-groups" * any(row.basis == "sample" for row in rows)
    missing: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.missing and row.time_s is not None:
            missing.setdefault(row.configuration["device"].name, {}).update(dict.fromkeys(row.missing))
    lacks = "; ".join(f"{device} has no figure for {', '.join(names)}" for device, names in missing.items())
    signs = {_SIGNS.get(row.limit) for row in rows if row.time_s is not None}
    told = {
        "~ modelled": any(row.time_s is not None for row in rows),
        f"* counted as the kernel ran{sampled}": any(row.basis != "shapes" for row in rows),
        f"> at least, and ranked by that: {lacks}": ">" in signs,
        "< at most, and ranked by that: data decide what is accessed again": "<" in signs,
        f"left out: {lacks}": bool(missing) and ">" not in signs,
        "?> as data decide, at least so long, and ranked by that": any(
            row.least_s is not None and row.most_s is None for row in rows
        ),
        "- as data decide, between the two, and ranked by the least": any(row.most_s is not None for row in rows),
        "? not known: it depends on data where only shapes were given, or on a figure that the device lacks": any(
            row.time_s is None and row.most_s is None for row in rows
        ),
    }
    return "; ".join(note for note, there in told.items() if there)


def _invalid(table: "Table", varying: Sequence[str]) -> list[str]:
    told = reasons(table, varying)
    lines = ["INVALID"] if told else []
    for count, common, reason in told[:_REASONS]:
        several = counted(count, "configuration")
        lines += [f"  {line}" for line in _pairs([several, *common], _WIDTH - 2)] + _wrap(reason, "     ")
    if len(told) > _REASONS:
        lines.append(f"  {len(told) - _REASONS} reasons more")
    return lines


def reasons(table: "Table", varying: Sequence[str]) -> list[tuple[int, list[str], str]]:
    """Each reason of invalid configurations once: how many have it, what these have in common, and the reason."""
    by_reason: dict[str, list[Row]] = {}
    for row in table.invalid:
        by_reason.setdefault(row.reason or "", []).append(row)
    return [
        (len(rows), [f"{n} {rows[0].shown(n)}" for n in varying if len({r.shown(n) for r in rows}) == 1], one_line(why))
        for why, rows in by_reason.items()
    ]


def _pairs(pairs: Sequence[str], width: int) -> list[str]:
    """Names with values in lines, three spaces between them and no pair on two lines."""
    lines: list[str] = []
    for pair in pairs:
        if lines and len(lines[-1]) + 3 + len(pair) <= width:
            lines[-1] += f"   {pair}"
        else:
            lines.append(cut(pair, width))
    return lines


def unit_of(rows: Sequence["Row"]) -> str:
    """The largest unit of which the first row's time, or the least that it may be, has one at least."""
    time_s = (rows[0].time_s or rows[0].least_s) if rows else None
    return next((unit for unit, size in UNITS.items() if time_s is not None and time_s >= size), "ns")


def _number(value: float) -> str:
    """Three digits at least, and no more after the point than that takes; a power of ten from ten million on."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}" if value < 1e7 else f"{value:.2e}"


def percent(value: float | None) -> str:
    """A share, 0 to 1, in percent; `?` where it is not known."""
    return "?" if value is None else f"{100 * value:.0f}%"


def one_line(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def cut(text: str, width: int) -> str:
    """A text of at most a width; dots stand for what is left out."""
    return text if len(text) <= width else text[: width - 3] + "..."
