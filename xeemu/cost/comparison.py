"""Comparison: the figures of two reports, a row for each that differs."""

import dataclasses
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xeemu.cost import figures
from xeemu.cost.storage import plain
from xeemu.errors import KernelArgumentError
from xeemu.language.places import short_place
from xeemu.language.source import called
from xeemu.pages import notebook
from xeemu.pages.notebook import Columns

if TYPE_CHECKING:
    from xeemu.cost.report import Report

_LOCAL_FIGURES = ("requests", "passes", "ideal_passes", "degree", "bytes_used")
_OTHER_FIGURES = ("requests", "lines", "sectors", "bytes_used", "bytes_moved")
_TEXTS = ("hints", "lever", "source", "waits", "marks", "not_modelled", "file")
_COSTS = ("time_s", "cycles", "slm", "global_", "atomics", "barriers", "instructions", "registers", "spill_bytes")
_NO_COSTS = ("bytes_used", "ideal_passes", "efficiency", "bytes")
ABSENT = "-"
"""A figure of one report that the other does not have."""


@dataclasses.dataclass(frozen=True)
class Row:
    """A figure that differs.

    Attributes:
      figure: its name, such as `slm.passes` or `load tile: passes`.
      before, after: the figure of the earlier and of the later report; None if it is not known, `ABSENT` if it is none.
      unit: such as `passes`, `bytes` or `s`; empty for numbers without one and for words.
      where: file and line of a site, in the later report or else in the earlier; empty for the whole launch.
    """

    figure: str
    before: Any
    after: Any
    unit: str = ""
    where: str = ""

    @property
    def factor(self) -> float | None:
        """How many times as much it is; None if one of the two is no number, or the earlier one is 0."""
        return self.after / self.before if _is_number(self.before, self.after) and self.before else None

    @property
    def is_cost(self) -> bool:
        """True if more of it is worse for the launch as a whole."""
        first, *rest = self.figure.split(".")
        if not rest and first.endswith(" cycles"):  # of a resource
            return True
        return first in _COSTS and not any(name in _NO_COSTS for name in rest)

    def has_risen(self, share: float) -> bool:
        """True if it has risen by more than a share of what it was, or is not known any more.

        One that only the later report has has risen, and one that only the earlier has has not.
        """
        if self.before is None or self.after == ABSENT:
            return False
        return not _is_number(self.before, self.after) or self.after > self.before * (1 + share)

    @property
    def shown(self) -> tuple[str, str, str]:
        """The earlier figure, the later one and how many times as much it is, as text."""
        factor = "" if self.factor is None else f"{self.factor:.3g}x"
        before, after = _shown(self.before, self.unit), _shown(self.after, self.unit)
        if before == after and self.is_exact:
            return str(self.before), str(self.after), ""
        return before, after, factor

    @property
    def is_exact(self) -> bool:
        """True if both are whole numbers, as counters are, so that a difference of one counts."""
        return _is_number(self.before, self.after) and not isinstance(self.before + self.after, float)

    @property
    def is_seen(self) -> bool:
        """True if the two differ as they are shown; a time or cycles of the model may round to the same."""
        return self.shown[0] != self.shown[1]

    def __str__(self) -> str:
        before, after, times = self.shown
        factor = f"  ({times})" if times else ""
        change = f"{before:>14} -> {after}{factor}"
        where = f"   {self.where}" if self.where else ""
        return figures.ascii_only(f"{figures.cut(self.figure, 36):36} {change}{where}")


class Comparison(tuple[Row, ...]):
    """The rows of two reports that differ; `str(comparison)` is a table, and empty where none does.

    A row whose two figures round to the same is not in the table.

    A site is the same in both if its operation, its memory and its place among the like are, so that lines may have
    moved.
    """

    def __str__(self) -> str:
        return "\n".join(str(row) for row in self if row.is_seen)

    def __repr__(self) -> str:
        return str(self) or "no figure differs"  # what a prompt shows

    def _repr_html_(self) -> str:
        return notebook.tables("Differences", self._parts, repr(self))

    def to_html(self, path: str | os.PathLike[str] | None = None, title: str = "Differences", about: str = "") -> str:
        """The same as one page of HTML that needs nothing else; written into a file too, if one is given.

        Args:
          path: of the file.
          title: of the page.
          about: a line below it, such as which reports are compared.

        Raises:
          KernelArgumentError: Jinja is not installed: `pip install jinja2`.
          OSError: the file cannot be written.
        """
        made = notebook.page(title, self._parts, about)
        if path is not None:
            Path(path).write_text(made, encoding="utf-8")
        return made

    @property
    def _parts(self) -> tuple[Columns, str]:
        rows = [(row.figure, *row.shown, row.where) for row in self if row.is_seen]
        return Columns(("figure", "before", "after", "factor", "where"), rows), "" if rows else "no figure differs"

    def risen(self, share: float, names: Collection[str] = ()) -> tuple[Row, ...]:
        """The figures that have risen by more than a share (0.05 is 5 %), or are not known any more.

        Args:
          share: of what they were.
          names: the figures that are meant, named as the rows are; by default all costs of the launch.
        """
        meant = (row for row in self if (row.figure in names if names else row.is_cost))
        return tuple(row for row in meant if row.has_risen(share))

    def to_dict(self) -> list[dict[str, Any]]:
        """The same as plain data."""
        return [plain(row) for row in self]


def compare(before: "Report", after: "Report") -> Comparison:
    """The figures of a later report that differ from those of an earlier one.

    Raises:
      KernelArgumentError: the earlier one is no report.
    """
    if not isinstance(before, type(after)):
        raise KernelArgumentError(
            f"the baseline is {called(before)}; give a report, as in report.diff(xe.Report.load('baseline.json'))"
        )
    old, new = _figures(before), _figures(after)
    places = _places(before) | _places(after)
    rows = ((name, old.get(name, ABSENT), new.get(name, ABSENT)) for name in dict.fromkeys([*old, *new]))
    return Comparison(Row(name, a, b, _unit(name), places.get(name.split(":")[0], "")) for name, a, b in rows if a != b)


def numbers(*reports: "Report") -> list[str]:
    """The names of the figures that are a number in one of some reports at least, as rows have them."""
    each = [(name, value) for report in reports for name, value in _figures(report).items()]
    return list(dict.fromkeys(name for name, value in each if _is_number(value)))


def _figures(report: "Report") -> dict[str, Any]:
    """Every figure by a name that two reports share: `slm.passes`, `load tile 2: degree`."""
    data = {name: value for name, value in plain(report).items() if name not in _TEXTS}
    sites, terms = data.pop("sites"), data.pop("terms")
    found = dict(_flat(data)) | {f"{term['resource']} cycles": term["cycles"] for term in terms}
    for name, site in zip(_names(sites), sites, strict=True):
        names = _LOCAL_FIGURES if site["space"] == "local" else _OTHER_FIGURES
        found |= {f"{name}: {figure}": site[figure] for figure in names}
    return found | {_hint_name(hint): "given" for hint in report.hints}


def _names(sites: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the sites are called in both reports: operation, memory and, from the second of the like on, a number."""
    counts: dict[str, int] = {}
    names = []
    for site in sites:
        kind = f"{site['op']} {site['memory']}"
        counts[kind] = counts.get(kind, 0) + 1
        names.append(f"{kind} {counts[kind]}" if counts[kind] > 1 else kind)
    return names


def _places(report: "Report") -> dict[str, str]:
    """Where the sites are, by their names."""
    sites = [plain(site) for site in report.sites]
    return {n: short_place(s["file"], s["line"]) for n, s in zip(_names(sites), sites, strict=True)}


def _hint_name(hint: Any) -> str:
    where = f" {hint.sites[0].op} {hint.sites[0].memory}" if hint.sites else ""
    return f"hint: {hint.kind}{where}"


def _flat(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif not isinstance(value, list):
            yield f"{prefix}{name}", value
        elif value and _is_number(*value):
            yield f"{prefix}{name}", "x".join(map(str, value))  # a size
        else:
            yield from ((f"{prefix}{name}: {word}", "yes") for word in value)


def _unit(name: str) -> str:
    last = name.replace(": ", ".").replace(" ", ".").split(".")[-1]
    if last in ("passes", "ideal_passes", "excess", "local_passes"):
        return "passes"
    if last.startswith("bytes") or last.endswith("bytes"):
        return "bytes"
    if last.endswith("_s"):
        return "s"
    return last if last in ("requests", "lines", "sectors", "cycles") else ""


def _is_number(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _shown(value: Any, unit: str) -> str:
    if value is None:
        return "?"
    if isinstance(value, bool | str):
        return figures.cut(str(value), 14)
    return figures.seconds(value) if unit == "s" else figures.number(value)
