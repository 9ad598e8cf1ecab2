"""Ranking: configurations of a launch by their predicted time, as values and as a table."""

import dataclasses
import html
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from xeemu.devices.device import Device
from xeemu.language.ndrange import NDRange

ALWAYS = ("device", "global_size", "local_size", "sub_group_size")
"""The parts of every configuration."""

LAUNCH = (*ALWAYS, "grf_size")
"""The parts of a configuration that are no static parameters."""

_WIDTH = 80
_REASONS = 10  # that are told in a text
_FIGURES = 35  # columns of the table that are left of the configuration
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@dataclasses.dataclass(frozen=True)
class Row:
    """One configuration of a launch, and what it would cost.

    Attributes:
      configuration: `device` (an `xe.Device`), `global_size`, `local_size` (None for a plain range), `sub_group_size`,
        `grf_size` if the space has it, and every static parameter of the kernel; what the space names comes first. A
        kernel that requires no sub-group size is launched with one by `dataclasses.replace(kernel, sub_group_size=16)`.
      time_s: as in a `Report`: modelled, without the overhead of submitting the launch.
      bound: the binding resource.
      occupancy: hardware threads in use in the steady state, 0 to 1.
      mark: how the time is known: `~` modelled, `?` not known.
      reason: why the configuration is invalid, `code: message` of the error; None if it is not.
      basis: what the time rests on: the `shapes` alone, a `run`, or a run with a `sample` of the work-groups counted.
      missing: resources that the launch uses and for which the device has no figure: the time is then a lower bound.
    """

    configuration: Mapping[str, Any]
    time_s: float | None = None
    bound: str | None = None
    occupancy: float | None = None
    mark: str = "?"
    reason: str | None = None
    basis: Literal["shapes", "run", "sample"] | None = None
    missing: tuple[str, ...] = ()

    @property
    def nd_range(self) -> NDRange:
        """The nd-range of the launch."""
        return NDRange(self.configuration["global_size"], self.configuration["local_size"])

    @property
    def static(self) -> dict[str, Any]:
        """The static parameters of the launch, to be given by keyword."""
        return {name: value for name, value in self.configuration.items() if name not in LAUNCH}

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data; a device is its name."""
        configuration = {name: _plain(value) for name, value in self.configuration.items()}
        return {**vars(self), "configuration": configuration, "missing": list(self.missing)}


class Table(tuple[Row, ...]):
    """The rows of a sweep: by predicted time, the best first; then those of unknown time; then the invalid ones.

    A time that is a lower bound (`row.missing`) ranks as if it were the time, and `str` puts `>` before it.

    Among equals the order is that of the space, whose last key changes fastest. `str(table)` is a text in ASCII and 80
    columns.

    Attributes:
      kernel: name of the kernel's function.
    """

    kernel: str

    def __new__(cls, kernel: str, rows: Iterable[Row]) -> "Table":
        self = super().__new__(cls, sorted(rows, key=_rank))
        self.kernel = kernel
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.kernel, tuple(self)

    @property
    def best(self) -> Row | None:
        """The row with the least time; None if no time is known."""
        return self[0] if self and self[0].time_s is not None else None

    @property
    def invalid(self) -> tuple[Row, ...]:
        """The rows that cannot be launched, each with its reason."""
        return tuple(row for row in self if row.reason is not None)

    def top(self, rows: int) -> "Table":
        """The first rows, as a table."""
        return Table(self.kernel, self[:rows])

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, strings and numbers, ready for JSON."""
        return {"kernel": self.kernel, "rows": [row.to_dict() for row in self]}

    def __str__(self) -> str:
        varying = _varying(self)
        blocks = (_header(self, varying), _ranking(self, varying), _invalid(self, varying))
        text = "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)
        return text.encode("ascii", "replace").decode("ascii")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


# --- The text ---


def _rank(row: Row) -> tuple[int, float]:
    if row.reason is not None:
        return 2, 0.0
    return (1, 0.0) if row.time_s is None else (0, row.time_s)


def _varying(table: Table) -> list[str]:
    """The parts of the configuration that are not the same in all rows."""
    names = dict.fromkeys(name for row in table for name in row.configuration)
    return [name for name in names if len({_shown(row, name) for row in table}) > 1]


def _header(table: Table, varying: Sequence[str]) -> list[str]:
    counts = {
        "timed": sum(row.time_s is not None for row in table),
        "not known": sum(row.time_s is None and row.reason is None for row in table),
        "invalid": len(table.invalid),
    }
    shown = "".join(f", {count} {what}" for what, count in counts.items() if count)
    title = f"{_cut(table.kernel, 30)}: {len(table)} configuration{'s' * (len(table) != 1)}{shown}"
    same = [f"{name} {_shown(row, name)}" for row in table[:1] for name in row.configuration if name not in varying]
    return [title, *_pairs(same, _WIDTH)]


def _ranking(table: Table, varying: Sequence[str]) -> list[str]:
    rows = [row for row in table if row.reason is None]
    if not rows:
        return []
    unit = _unit(rows[0].time_s)
    head, *cells = _columns(rows, varying)
    lines = [f"{'':{_FIGURES}}{line}" for line in head[:-1]]
    lines.append(f"{f'time {unit}':>14}    {'bound':12}{'occ':>5}{head[-1]}")
    for number, (row, (first, *more)) in enumerate(zip(rows, cells, strict=True), 1):
        lines.append(f"{number:>4}{_time(row, unit)} {_cut(row.bound or '?', 12):12}{_percent(row.occupancy)}{first}")
        lines += [f"{'':{_FIGURES}}{line}" for line in more]
    return lines + _notes(rows)


def _columns(rows: Sequence[Row], names: Sequence[str]) -> list[list[str]]:
    """For the head and each row the lines of its configuration: columns where they fit, else names with values.

    In the head of a column the words of a name are one below the other.
    """
    words = [name.split("_") for name in names]
    height = max(map(len, words), default=1)
    head = list(zip(*([""] * (height - len(each)) + each for each in words), strict=True)) or [()]
    body = [tuple(_shown(row, name) for name in names) for row in rows]
    widths = [max(map(len, column)) for column in zip(*head, *body, strict=True)]
    if sum(widths) + 2 * len(widths) <= _WIDTH - _FIGURES:
        lines = ["".join(f"  {cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in head + body]
        return [lines[: len(head)], *([line] for line in lines[len(head) :])]
    pairs = (_pairs([f"{name} {_shown(row, name)}" for name in names], _WIDTH - _FIGURES - 2) for row in rows)
    return [["  configuration"], *([f"  {line}" for line in lines] for lines in pairs)]


def _time(row: Row, unit: str) -> str:
    """The time, from column 4 on; a sign before it for a lower bound, and its mark after it."""
    time = "?" if row.time_s is None else f"{'>' if row.missing else ''}{_number(row.time_s / _UNITS[unit])}"
    return f"{time:>10} {row.mark if row.time_s is not None else ' '}{'*' if row.basis != 'shapes' else ' '}"


def _notes(rows: Sequence[Row]) -> list[str]:
    """What the signs mean, of those that are there."""
    sampled = ", on a sample of the work-groups" * any(row.basis == "sample" for row in rows)
    missing: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.missing and row.time_s is not None:
            missing.setdefault(row.configuration["device"].name, {}).update(dict.fromkeys(row.missing))
    lacks = "; ".join(f"{device} has no figure for {', '.join(names)}" for device, names in missing.items())
    notes = {
        "~ modelled": any(row.time_s is not None for row in rows),
        f"* counted as the kernel ran{sampled}": any(row.basis != "shapes" for row in rows),
        f"> at least, and ranked by that: {lacks}": bool(missing),
        "? not known: it depends on data where only shapes were given, or on a figure that the device lacks": any(
            row.time_s is None for row in rows
        ),
    }
    return _wrap("; ".join(note for note, there in notes.items() if there), "     ")


def _invalid(table: Table, varying: Sequence[str]) -> list[str]:
    """Each reason once, with what the configurations that have it have in common."""
    by_reason: dict[str, list[Row]] = {}
    for row in table.invalid:
        by_reason.setdefault(row.reason or "", []).append(row)
    lines = ["INVALID"] if by_reason else []
    for reason, rows in list(by_reason.items())[:_REASONS]:
        common = [name for name in varying if len({_shown(row, name) for row in rows}) == 1]
        count = f"{len(rows)} configuration{'s' * (len(rows) != 1)}"
        pairs = [count, *(f"{name} {_shown(rows[0], name)}" for name in common)]
        lines += [f"  {line}" for line in _pairs(pairs, _WIDTH - 2)] + _wrap(" ".join(reason.split()), "     ")
    if len(by_reason) > _REASONS:
        lines.append(f"  {len(by_reason) - _REASONS} reasons more")
    return lines


def _pairs(pairs: Sequence[str], width: int) -> list[str]:
    """Names with values in lines, three spaces between them and no pair on two lines."""
    lines: list[str] = []
    for pair in pairs:
        if lines and len(lines[-1]) + 3 + len(pair) <= width:
            lines[-1] += f"   {pair}"
        else:
            lines.append(_cut(pair, width))
    return lines


def _shown(row: Row, name: str) -> str:
    value = row.configuration.get(name)
    if value is None and name in LAUNCH:
        return "plain" if name == "local_size" else "?"
    if isinstance(value, tuple) and name in LAUNCH:
        return "x".join(map(str, value))
    return _cut(str(_plain(value)), 24)


def _unit(time_s: float | None) -> str:
    """The largest unit of which a time has one at least."""
    return next((unit for unit, size in _UNITS.items() if time_s is not None and time_s >= size), "ns")


def _number(value: float) -> str:
    """Three digits at least, and no more after the point than that takes; a power of ten from ten million on."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}" if value < 1e7 else f"{value:.2e}"


def _percent(value: float | None) -> str:
    return f"{'?' if value is None else f'{100 * value:.0f}%':>5}"


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _plain(value: Any) -> Any:
    """A value of a configuration as JSON has it."""
    if isinstance(value, Device):
        return value.name
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return getattr(value, "__name__", str(value))
