"""Page: a report as HTML: the verdict, the time by resource, the source with its costs, banks, memories, occupancy."""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xeemu.cost import figures, pictures, text
from xeemu.cost.sites import GlobalTotals, LocalTotals, SiteReport, ratio
from xeemu.language.places import file_name
from xeemu.pages import listing, notebook, rendering
from xeemu.pages.listing import ListingFigure, ListingLine
from xeemu.plurals import counted, fitting

if TYPE_CHECKING:
    from xeemu.cost.report import Hint, Report

_COLUMNS = ("requests", "bank passes", "excess", "lines", "bytes moved")


def of_report(report: "Report") -> str:
    """The page of a report, which needs nothing else."""
    return rendering.render("report.html", report=report, view=_view(report))


def fragment(report: "Report") -> str:
    """A report in a notebook; as text where Jinja is not installed."""
    return notebook.fragment("report_parts.html", str(report), report=report, view=_view(report))


@dataclasses.dataclass(frozen=True)
class _TableRow:
    """A row of a table: its cells, and its class."""

    cells: tuple[ListingFigure, ...]
    kind: str = ""


def _view(report: "Report") -> Mapping[str, Any]:
    """What the template shows, in words."""
    local = [site for site in report.sites if site.space == "local"]
    outside = [site for site in report.sites if site.space != "local"]
    return {
        **_verdict(report),
        "places": _places,
        "terms": _terms(report),
        "rule": text.RULE,
        "waits": _waits(report),
        "levels": pictures.chain(report),
        "columns": _COLUMNS,
        "listings": _listings(report),
        "local": _rows(local, report.slm, ("requests", "passes", "ideal_passes", "degree", "excess")),
        "maps": pictures.grids(local),
        "outside": _rows(
            outside, report.global_, ("requests", "lines", "sectors", "bytes_used", "bytes_moved", "efficiency")
        ),
        "atomics": text.of_atomics(report.atomics) if report.atomics.global_operations else "",
        "instructions": _instructions(report),
        "constraints": _constraints(report),
        "stairs": pictures.stairs(report),
    }


def _verdict(report: "Report") -> dict[str, Any]:
    occupancy = report.occupancy
    binding = next((term for term in report.terms if term.resource == report.bound), None)
    items = math.prod(report.local_size)
    sizes = (
        f"nd-range {'x'.join(map(str, report.global_size))}, {counted(report.groups, 'work-group')} of "
        f"{counted(items, 'work-item')}, sub-groups of {report.sub_group_size}, {figures.size(report.slm_bytes)} of "
        "local memory each"
    )
    return {
        "sizes": sizes,
        "file": file_name(report.file),
        "time": text.duration(report),
        "cycles": figures.number(report.cycles),
        "bound": "" if binding is None else f"{figures.number(binding.work)} {fitting(binding.work, binding.unit)}",
        "occupancy": figures.percent(occupancy.fraction if occupancy else None),
        "caveats": [f"{label} {sentence}" for label, sentence in text.of_caveats(report)],
        "limiter": f"limited by {occupancy.limiter}" if occupancy and occupancy.limiter else "",
    }


def _places(hint: "Hint") -> list[str]:
    return list(dict.fromkeys(map(text.place, hint.sites)))[:3]


def _terms(report: "Report") -> list[dict[str, Any]]:
    most = max((term.cycles or 0.0 for term in report.terms), default=0.0)
    return [
        {
            "name": term.resource,
            "binds": term.resource == report.bound,
            "length": (term.cycles or 0.0) / most if most else 0.0,
            "is_known": term.cycles is not None,
            "share": figures.percent(term.share),
            "cycles": figures.number(term.cycles),
            "work": f"{figures.number(term.work)} {fitting(term.work, term.unit)}",
            "peak": figures.number(term.peak),
        }
        for term in report.terms
        if term.cycles != 0
    ]


def _waits(report: "Report") -> list[_TableRow]:
    """What sub-groups wait for."""
    found = []
    for wait in report.waits:
        what, line = (wait.cause, None) if wait.site is None else (f"{wait.site.op} {wait.site.memory}", wait.site.line)
        numbers = (_cell(wait.times), _cell(wait.cycles_each), _cell(wait.share, "efficiency"))
        found.append(_TableRow((ListingFigure(what), ListingFigure("") if line is None else _cell(line), *numbers)))
    return found


def _listings(report: "Report") -> list[tuple[str, list[ListingLine]]]:
    """For each file of the report its lines with what they cost."""
    files = dict.fromkeys([report.file, *(site.file for site in report.sites)])
    numbered: dict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
    for number, hint in enumerate(report.hints, 1):
        for site in hint.sites[:1]:
            numbered[site.file, site.line].append((f"H{number} {hint.kind}", hint.text))
    found = []
    for file in files:
        sites = [site for site in report.sites if site.file == file]
        texts = dict(report.source) if file == report.file else {}
        texts = texts or _read(file, sites) or {site.line: site.source for site in sites}
        notes = {line: told for (where, line), told in numbered.items() if where == file}
        found.append((file_name(file), listing.lines(texts, _columns(report, sites), notes)))
    return found


def _read(file: str, sites: Sequence[SiteReport]) -> dict[int, str]:
    """The lines of a file around its sites, where it is at hand."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    numbers = [site.line for site in sites if 0 < site.line <= len(lines)]
    first, last = max(min(numbers, default=1) - 5, 1), min(max(numbers, default=0) + 5, len(lines))
    return {n: lines[n - 1] for n in range(first, last + 1)}


def _columns(report: "Report", sites: Sequence[SiteReport]) -> list[dict[int, ListingFigure]]:
    """What the lines cost, a column for each of `_COLUMNS`, with the share of the launch's as heat."""
    by_line: dict[int, list[SiteReport]] = defaultdict(list)
    for site in sites:
        by_line[site.line].append(site)
    everything = _costs(report.sites)
    costs = {line: _costs(here) for line, here in by_line.items()}
    columns = []
    for k in range(len(_COLUMNS)):
        known = {line: cost[k] for line, cost in costs.items() if cost[k] != 0}
        shown = {line: figures.number(figure) for line, figure in known.items()}
        columns.append(listing.cells(known, everything[k] or 0, shown))
    return columns


def _costs(sites: Iterable[SiteReport]) -> tuple[float | None, ...]:
    """The figures of `_COLUMNS` of some sites together."""
    sites = list(sites)
    slm, outside = LocalTotals.of(sites), GlobalTotals.of(sites)
    requests = None if None in (slm.requests, outside.requests) else (slm.requests or 0) + (outside.requests or 0)
    return requests, slm.passes, slm.excess, outside.lines, outside.bytes_moved


def _rows(sites: Sequence[SiteReport], totals: Any, names: Sequence[str]) -> list[_TableRow]:
    found = [
        _TableRow((ListingFigure(f"{site.op} {site.memory}"), _cell(site.line), *_cells(site, names)), "")
        for site in sites
    ]
    if len(sites) > 1:
        found.append(_TableRow((ListingFigure("all"), ListingFigure(), *_cells(totals, names)), "total"))
    return found


def _cells(counts: Any, names: Sequence[str]) -> list[ListingFigure]:
    degree = ratio(counts.passes, counts.requests) if "degree" in names else None
    return [_cell(degree if name == "degree" else getattr(counts, name), name) for name in names]


def _cell(value: float | None, name: str = "") -> ListingFigure:
    shown = figures.percent(value) if name == "efficiency" else figures.number(value)
    return ListingFigure(shown, number=-1.0 if value is None else value)


def _instructions(report: "Report") -> list[_TableRow]:
    counts: dict[str, float | None] = {
        **({"?": None} if report.instructions is None else report.instructions),
        "barriers, by work-groups": report.barriers,
        "registers of a work-item, bytes": report.registers,
        "of them spilled": report.spill_bytes,
    }
    return [_TableRow((ListingFigure(name), _cell(count))) for name, count in counts.items()]


def _constraints(report: "Report") -> list[_TableRow]:
    if report.occupancy is None:
        return []
    limiter = report.occupancy.limiter
    each = report.occupancy.constraints.items()
    return [
        _TableRow((ListingFigure(name), _cell(groups)), "binds" if name == limiter else "") for name, groups in each
    ]
