"""Page: findings as HTML: each with its message, its lines in the source, and who met whom."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xeemu.faults import timeline
from xeemu.language.places import file_name, short_place
from xeemu.pages import listing, notebook, rendering
from xeemu.pages.listing import ListingLine

if TYPE_CHECKING:
    from xeemu.faults.findings import Finding, Findings
    from xeemu.language.source import Site

_AROUND = 3


def of_findings(findings: "Findings", title: str) -> str:
    """The page of a check's findings, which needs nothing else; `title` says of what."""
    return rendering.render("findings.html", view=_view(findings, title))


def fragment(findings: "Findings") -> str:
    """A check's findings in a notebook; as text where Jinja is not installed."""
    return notebook.fragment("findings_parts.html", str(findings), view=_view(findings, "Findings"))


def fragment_of_one(finding: "Finding") -> str:
    """A finding for a notebook; as text where Jinja is not installed."""
    view = {"whole": False, "findings": [_card(finding)]}
    return notebook.fragment("findings_parts.html", str(finding), view=view)


def _view(findings: "Findings", title: str) -> Mapping[str, Any]:
    return {
        "title": title,
        "whole": True,
        "findings": list(map(_card, findings)),
        "proved": _places(findings.proved),
        "watched": _places(findings.watched),
    }


def _card(finding: "Finding") -> Mapping[str, Any]:
    head, *rest = str(finding).splitlines()
    return {
        "severity": finding.severity,
        "head": head,
        "rest": "\n".join(rest),
        "timeline": timeline.of_finding(finding),
        "who": _who(finding),
        "listings": _listings(finding),
    }


def _who(finding: "Finding") -> list[dict[str, str]]:
    """Each work-item of the example, with the line that it executes where each has its own."""
    lines = finding.sites if len(finding.sites) == len(finding.work_items) else (None,) * len(finding.work_items)
    return [
        {"item": str(item), "line": "" if site is None else f"{_name(site)}: {site.source}"}
        for item, site in zip(finding.work_items, lines, strict=True)
    ]


def _listings(finding: "Finding") -> list[tuple[str, list[ListingLine]]]:
    """The lines of each file around those of the finding."""
    files = dict.fromkeys(site.file for site in finding.lines)
    return [(file_name(file), _around([s for s in finding.lines if s.file == file])) for file in files]


def _around(sites: Sequence["Site"]) -> list[ListingLine]:
    numbers = [site.line for site in sites]
    texts = {site.line: site.source for site in sites}
    try:
        lines = Path(sites[0].file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    near = {n for at in numbers for n in range(at - _AROUND, at + _AROUND + 1) if 0 < n <= len(lines)}
    texts |= {n: lines[n - 1] for n in near if lines[n - 1].strip() or min(numbers) < n < max(numbers)}
    return listing.lines(texts, (), {}, frozenset(numbers))


def _places(sites: Sequence["Site"]) -> list[str]:
    return list(dict.fromkeys(_name(site) for site in sorted(sites, key=lambda site: (site.file, site.line))))


def _name(site: "Site") -> str:
    return short_place(site.file, site.line)
