"""Text: a report in ASCII and 80 columns, section by section; a figure that is not known is `?`, and never 0.

Nothing is computed while a report is printed beyond quotients and differences of its own figures.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from xeemu.cost import amounts
from xeemu.cost.figures import WIDTH, ascii_only, cut, marked, number, percent, seconds, size, wrap
from xeemu.cost.sites import AtomicTotals, GlobalTotals, LocalTotals, SiteReport, ratio
from xeemu.language.places import file_name, short_place
from xeemu.plurals import counted, fitting

if TYPE_CHECKING:
    from xeemu.cost.latency import Waiting
    from xeemu.cost.report import Report


def of_report(report: "Report", width: int = WIDTH) -> str:
    """The whole of a report, with lines of the source in what a width of 80 columns or more leaves."""
    before = (_header, _verdict, _hints)
    after = (_banks, _global, _instructions, _occupancy, _bound, _latency, _assumed)
    blocks = [section(report) for section in before]
    blocks += [_source(report, _SOURCE + max(0, width - WIDTH)), *(section(report) for section in after)]
    return "\n\n".join("\n".join(ascii_only(line) for line in block) for block in blocks if block)


_SOURCE = 34  # columns of a line of the source, of 80
_MOST_PLACES = 3  # of a hint
_FEWEST_WAITED = 0.01  # of the latency, for a line
_UNKNOWN = "not known"

RULE = (
    "The cycles of each alone. SLM, L1 and barriers, behind one port, add up; of L2 and DRAM, one path, the longer "
    "counts; of issue and of what arithmetic waits, what both have counts once. The launch takes the cube root of the "
    "sum of the cubes, and its bound is the largest. Outermost loops of work-groups that start together do not overlap."
)
"""How the terms of the time come together."""

# --- Sections: a list of lines, or an empty one ---


def _header(report: "Report") -> list[str]:
    local = "x".join(map(str, report.local_size))
    sizes = [
        f"nd-range {'x'.join(map(str, report.global_size))}",
        f"work-group {local} = {counted(math.prod(report.local_size), 'item')}",
        f"sub-group {report.sub_group_size}",
        f"SLM {size(report.slm_bytes)}",
    ]
    title = f"xeemu {report.version}   device {report.device}"
    name = cut(report.kernel, WIDTH - len(title) - 2)
    place = [f"{cut(file_name(report.file), 50)}   {counted(report.groups, 'work-group')}"]
    return [f"{name}{title:>{WIDTH - len(name)}}", *wrap("   ".join(sizes)), *place]


def _verdict(report: "Report") -> list[str]:
    lines = ["VERDICT"]
    time = f"{duration(report)} = {number(report.cycles)} cycles, after the launch was submitted"
    if report.between_s is not None:
        time = f"{duration(report)}, as data decide"
    lines.append(marked(f"  time       {time}", "~" if report.between_s else report.mark("time_s")))
    caveats = list(of_caveats(report))
    lines += [line for label, text in caveats if label == _UNKNOWN for line in _hung(label, text)]
    binding = next((term for term in report.terms if term.resource == report.bound), None)
    what = "?"
    if binding is not None:
        work = f"{number(binding.work)} {fitting(binding.work, binding.unit)}"
        what = f"{binding.resource}: {work}, {percent(binding.share)} of the time"
    lines.append(marked(f"  bound      {what}", report.mark("bound")))
    if binding is not None and binding.resource == "latency" and report.waits:
        lines.append(marked(f"  waits      {cut(_longest(report.waits[0]), WIDTH - 15)}", "~"))
    lines += [line for label, text in caveats if label != _UNKNOWN for line in _hung(label, text)]
    if report.hints:
        lines.append(marked(f"  lever      {cut(_lever(report), WIDTH - 15)}", "~"))
    return lines


def duration(report: "Report") -> str:
    """How long the launch takes, or between how long, in a few words."""
    if report.between_s is not None:
        least, most = report.between_s
        return f"at least {seconds(least)}" if most is None else f"between {seconds(least)} and {seconds(most)}"
    return f"{report.limit} {seconds(report.time_s)}".strip()


def of_caveats(report: "Report") -> Iterator[tuple[str, str]]:
    """What is not known of the time, and why the launch may take more or less, each with a label of the verdict."""
    if site := _unforeseen(report):
        yield (
            _UNKNOWN,
            f"what the {site.op} of {site.memory} in line {site.line} costs depends on data: xe.profile(...) counts "
            "it, in large launches with sample=1000",
        )
    if report.time_s is None and report.between_s is None:
        return
    if report.missing:
        yield "without", f"{', '.join(report.missing)}: {report.device} has no figure for it"
    if report.overstated:
        named = ", ".join(report.overstated)
        yield "may be", f"less: data decide what of {named} is accessed again, and nothing is taken to be"
    if report.understated:
        named = ", ".join(report.understated)
        yield "may be", f"more: data decide where {named} is written, and no two places are taken to meet"


def _unforeseen(report: "Report") -> SiteReport | None:
    """Where the time is not known, the first memory operation of which data decide what was not counted."""
    sites = (site for site in report.sites if not site.closed_form and site.bytes_used is None and site.passes is None)
    return next(sites, None) if report.cycles is None else None


def _lever(report: "Report") -> str:
    first = report.lever
    if first is None:
        return "none of the hints gains 5 %"
    where = f" ({place(first.sites[0])})" if first.sites else ""
    return f"H1 {first.kind}{where}: {first.gain:.3g}x less time"


def _hung(label: str, text: str) -> list[str]:
    """A line of the verdict, with what does not fit under its first column."""
    head, *rest = wrap(text, " " * 13)
    return [f"  {label:11}{head.strip()}", *rest]


def _hints(report: "Report") -> list[str]:
    lines = ["HINTS"] if report.hints else []
    for k, hint in enumerate(report.hints, 1):
        heads = places(hint.sites) or ["the whole launch"]
        lines.append(cut(f"  H{k} {hint.kind}   {heads[0]}", WIDTH))
        indent = " " * len(f"  H{k} {hint.kind}   ")
        lines += [cut(f"{indent}{head}", WIDTH) for head in heads[1:_MOST_PLACES]]
        if len(heads) > _MOST_PLACES:
            lines.append(f"{indent}{len(heads) - _MOST_PLACES} more")
        lines += wrap(hint.text, "     ") + wrap(hint.effect, "     ")
    return lines


def places(sites: Iterable[SiteReport]) -> list[str]:
    """The lines of sites, each once: where it is, and its text."""
    return list(dict.fromkeys(f"{place(site)}   {site.source}" for site in sites))


def _source(report: "Report", width: int) -> list[str]:
    if not report.sites and not report.source:
        return []
    lines = [f"{'SOURCE':{width + 7}}{'req':>9}{'passes':>9}{'ideal':>8}{'lines':>8}{'eff':>5}"]
    for file in dict.fromkeys([report.file, *(site.file for site in report.sites)]):
        if file != report.file:
            lines.append(f"      {cut(file_name(file), width)}")
        sites = [site for site in report.sites if site.file == file]
        lines += _listing(sites, dict(report.source) if file == report.file else {}, width)
    return lines


def _listing(sites: list[SiteReport], texts: Mapping[int, str], width: int) -> list[str]:
    by_line: dict[int, list[SiteReport]] = {}
    for site in sites:
        by_line.setdefault(site.line, []).append(site)
    lines = []
    for line in sorted({*texts, *by_line}):
        here = by_line.get(line, [])
        text = texts[line] if line in texts else here[0].source
        lines.append(f"{line:>4}  {cut(text, width):{width + 1}}{_gutter(here) if here else ''}")
    return lines


def _gutter(sites: list[SiteReport]) -> str:
    local, far = ([site for site in sites if (site.space == "local") is inside] for inside in (True, False))
    passes = (_total(local, "passes"), _total(local, "ideal_passes")) if local else (".", ".")
    lines = (_total(far, "lines"), _efficiency(GlobalTotals.of(far))) if far else (".", ".")
    requests = _total(sites, "requests")
    return f"{requests:>9}{passes[0]:>9}{passes[1]:>8}{lines[0]:>8}{lines[1]:>5}"


def _banks(report: "Report") -> list[str]:
    sites = [site for site in report.sites if site.space == "local"]
    if not sites:
        return []
    heads = f"{'requests':>10}{'passes':>10}{'ideal':>10}{'degree':>8}{'excess':>10}"
    lines = [marked(f"{'SLM BANKS':28}{heads}", report.mark("slm"))]
    for site in sites:
        lines.append(f"{_label(site)}{_bank_figures(site, [site])}")
        lines += _errors(site, ("requests", "passes", "ideal_passes"), 10)
    if len(sites) > 1:
        lines.append(f"{'  all':28}{_bank_figures(report.slm, sites)}")
    return lines + _footnote(report, sites) + _worst_map(sites)


def _worst_map(sites: list[SiteReport]) -> list[str]:
    """The bank map of the site with the most excess passes."""
    worst = max((site for site in sites if site.bank_map), key=lambda site: site.excess or 0, default=None)
    if worst is None or worst.bank_map is None or not worst.excess:
        return []
    which = "the worst execution" if worst.closed_form else "an execution"
    title = (
        f"{which} of the {worst.op} in line {worst.line} by a work-group: a row for each request with what each bank "
        "has to serve, and its passes"
    )
    return ["", *wrap(title, "  "), *(f"     {line}" for line in worst.bank_map.lines())]


def _errors(site: SiteReport, names: tuple[str, ...], width: int) -> list[str]:
    """A row with the standard errors of a site's figures, in per cent, under them."""
    if site.errors is None:
        return []
    shown = (_relative(site.errors.get(name), getattr(site, name)) for name in names)
    return [f"{'      standard error':28}{''.join(f'{figure:>{width}}' for figure in shown)}"]


def _relative(error: float | None, figure: int | None) -> str:
    if error is None or figure is None or not math.isfinite(error):
        return "?"
    return f"{100 * error / figure if figure else 0:.2g}%"


def _total(sites: Sequence[SiteReport], name: str) -> str:
    """The sum of a count; after `<` the most that it may be, where it is not known."""
    known = [getattr(site, name) for site in sites]
    total = amounts.total(known)
    mosts = ((site.most or {}).get(name) if n is None else n for site, n in zip(sites, known, strict=True))
    most = amounts.total(mosts) if total is None else None
    return number(total) if most is None else f"<{number(most)}"


def _bank_figures(counts: SiteReport | LocalTotals, sites: Sequence[SiteReport]) -> str:
    degree = ratio(counts.passes, counts.requests)
    shown = "." if counts.requests == 0 else "?" if degree is None else f"{degree:.2f}"
    figures = "".join(f"{_total(sites, name):>10}" for name in ("requests", "passes", "ideal_passes"))
    return f"{figures}{shown:>8}{number(counts.excess):>10}"


def _global(report: "Report") -> list[str]:
    sites = [site for site in report.sites if site.space != "local"]
    if not sites:
        return []
    heads = f"{'requests':>9}{'lines':>9}{'sectors':>9}{'used':>9}{'moved':>9}{'eff':>5}"
    lines = [marked(f"{'GLOBAL MEMORY':28}{heads}", report.mark("global_"))]
    for site in sites:
        lines.append(f"{_label(site)}{_line_figures(site, [site])}")
        lines += _errors(site, ("requests", "lines", "sectors", "bytes_used", "bytes_moved"), 9)
    if len(sites) > 1:
        lines.append(f"{'  all':28}{_line_figures(report.global_, sites)}")
    lines += _footnote(report, sites)
    if report.atomics.global_operations != 0:
        lines += wrap(of_atomics(report.atomics), "  ")
    return lines


def _line_figures(counts: SiteReport | GlobalTotals, sites: Sequence[SiteReport]) -> str:
    names = ("requests", "lines", "sectors", "bytes_used", "bytes_moved")
    return "".join(f"{_total(sites, name):>9}" for name in names) + f"{_efficiency(counts):>5}"


def _efficiency(counts: SiteReport | GlobalTotals) -> str:
    """The share of the bytes moved that are used; a point where it is known that none are moved."""
    return "." if counts.bytes_moved == 0 else percent(counts.efficiency)


def _footnote(report: "Report", sites: list[SiteReport]) -> list[str]:
    labels = {_how(site) for site in sites if not site.doubtful}
    lines = []
    if any(site.most is not None for site in sites):
        lines.append("     < at most, whatever the data are; the others follow from the source")
    elif "*" in labels:
        lines.append("     * counted as the kernel ran; the others follow from the source")
    if any(site.doubtful for site in sites):
        lines.append("     ~ what compilers leave of it; some may leave out more or less")
    if "~" in labels:
        lines.append(f"     ~ estimated from {report.sampled_groups} of {report.groups} work-groups, drawn at random")
    return lines


def of_atomics(atomics: AtomicTotals) -> str:
    """What a launch's atomic operations on global memory come to, in a sentence."""
    lanes, updates = number(atomics.global_operations), number(atomics.global_sectors)
    busiest = f"the busiest address takes {number(atomics.contention)} lanes"
    return f"atomics: {lanes} lanes in {updates} updates of a sector; {busiest}"


def _instructions(report: "Report") -> list[str]:
    classes = report.instructions or {}
    # A space that no line is broken at.
    shown = "   ".join(f"{name}\xa0{number(count)}" for name, count in classes.items()) if classes else "none"
    counted = "?" if report.instructions is None else shown
    registers = f"{number(report.registers)} bytes of a work-item, {number(report.spill_bytes)} of them spilled"
    return [
        marked("INSTRUCTIONS", report.mark("instructions")),
        *(line.replace("\xa0", " ") for line in wrap(f"by class   {counted}", "  ")),
        marked(f"  barriers   {number(report.barriers)} by work-groups", report.mark("barriers")),
        marked(f"  registers  {registers}", report.mark("registers")),
    ]


def _occupancy(report: "Report") -> list[str]:
    occupancy = report.occupancy
    if occupancy is None:
        return ["OCCUPANCY  ?"]
    lines = ["OCCUPANCY                work-groups per Xe core"]
    for name, groups in occupancy.constraints.items():
        limit = "   <- limit" if name == occupancy.limiter else ""
        lines.append(f"  {cut(name, 24):24}{number(groups):>8}{limit}")
    shares = f"{percent(occupancy.fraction)} in the steady state, {percent(occupancy.average)} on average"
    lines.append(marked(f"  occupancy  {shares}, {percent(occupancy.peak)} at the peak", report.mark("occupancy")))
    if occupancy.next_step is not None:
        lines += wrap(f"next step  {occupancy.next_step}", "  ")
    return lines


def _bound(report: "Report") -> list[str]:
    if not report.terms:
        return []
    lines = [marked(f"{'BOUND':17}{'work':>12} {'':15}{'per cycle':>11}{'cycles':>11}{'share':>7}", "~")]
    for term in report.terms:
        if term.cycles == 0:
            continue
        limit = " <-" if term.resource == report.bound else ""
        unit = fitting(term.work, term.unit)
        figures = f"{number(term.work):>12} {unit:15}{number(term.peak):>11}{number(term.cycles):>11}"
        lines.append(f"  {term.resource:15}{figures}{percent(term.share):>7}{limit}")
    return lines + wrap(RULE, "  ")


def _latency(report: "Report") -> list[str]:
    shown = [wait for wait in report.waits if wait.share is None or wait.share >= _FEWEST_WAITED]
    if not shown:
        return []
    lines = [marked(f"{'LATENCY':28}{'times':>12}{'cycles each':>15}{'of all waits':>14}", "~")]
    for wait in shown:
        label = f"      {wait.cause:22}" if wait.site is None else _label(wait.site)
        figures = f"{number(wait.times):>12}{number(wait.cycles_each):>15}{percent(wait.share):>14}"
        lines.append(f"{label}{figures}")
    return lines


def _longest(wait: "Waiting") -> str:
    """What is waited for for longest, in a sentence."""
    what = wait.cause if wait.site is None else f"{wait.site.op} of {wait.site.memory} ({place(wait.site)})"
    return f"{what}: {number(wait.cycles_each)} cycles each time, {percent(wait.share)} of the latency"


def _assumed(report: "Report") -> list[str]:
    return ["NOT MODELLED", *wrap("; ".join(report.not_modelled), "  ")] if report.not_modelled else []


def _label(site: SiteReport) -> str:
    return f"{site.line:>5}{_how(site)}{site.op:7}{cut(site.memory, 14):15}"


def _how(site: SiteReport) -> str:
    """A sign for how the counts of a site are known."""
    if site.doubtful:
        return "~"
    if site.closed_form or site.most is not None:
        return " "
    return "*" if site.errors is None else "~"


def place(site: SiteReport) -> str:
    """File and line of a site."""
    return short_place(site.file, site.line)
