"""Report: what a launch costs, where in the source, and what binds; as text, as plain data, and against another one.

Counts are totals over the launch. Words: a *request* is one memory instruction of one sub-group, split as the device
splits it; a *pass* is one serial cycle of the banks that serve it; *ideal* is the passes without conflicts; *degree* is
passes / requests; *excess* is passes - ideal. A figure that is not known is `None`, printed as `?`, and never 0.

Nothing is computed while a report is printed beyond quotients and differences of its own figures.
"""

import dataclasses
import html
import math
import os
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol

from xeemu.cost.timing import Term
from xeemu.devices.bankmap import BankMap

_WIDTH = 80
_Op = Literal["load", "store", "atomic"]
_Space = Literal["local", "global", "private"]


class OccupancyLike(Protocol):
    """What a report shows of an `Occupancy`: groups are work-groups resident on an Xe core."""

    @property
    def fraction(self) -> float | None: ...
    @property
    def average(self) -> float | None: ...
    @property
    def peak(self) -> float | None: ...
    @property
    def groups(self) -> int | None: ...
    @property
    def limiter(self) -> str | None: ...
    @property
    def constraints(self) -> Mapping[str, Any]: ...
    @property
    def next_step(self) -> Any: ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class SiteReport:
    """One memory operation of the source.

    Attributes:
      file: path as Python knows it.
      line: 1-based; 0 if it is not known.
      source: the line without its indentation.
      memory: the name of the memory in the kernel.
      op: `load`, `store` or `atomic`.
      space: `local`, `global` or `private`.
      shape: elements of the memory in each dimension (of one work-item, for private memory).
      dtype: of its elements.
      lanes: work-items that took part, summed over the requests.
      requests: memory instructions of sub-groups, as the device splits them.
      passes: bank passes; of local memory.
      ideal_passes: passes without conflicts; of local memory.
      lines: cache lines that the requests touch, each request's counted; of global and private memory.
      sectors: the same for the parts of a line that the device moves alone.
      bytes_used: different bytes that the lanes of a request use, summed over requests.
      bytes_moved: bytes of the sectors (lines, where they are not divided) that the requests touch.
      closed_form: whether the counts were known at trace time, so that no run was needed.
      errors: standard errors of the counts, by name, where they were made on a sample of the work-groups.
      bank_map: of local memory, one execution by a work-group: in closed form the one with the most excess passes, else
        the last one of the first group.
    """

    file: str
    line: int
    source: str
    memory: str
    op: _Op
    space: _Space
    shape: tuple[int, ...] = ()
    dtype: str = ""
    lanes: int | None = None
    requests: int | None = None
    passes: int | None = None
    ideal_passes: int | None = None
    lines: int | None = None
    sectors: int | None = None
    bytes_used: int | None = None
    bytes_moved: int | None = None
    closed_form: bool = False
    errors: Mapping[str, float] | None = None
    bank_map: BankMap | None = None

    @property
    def degree(self) -> float | None:
        """Passes per request: 1 without conflicts, 16 for a 16-way one."""
        return _ratio(self.passes, self.requests)

    @property
    def excess(self) -> int | None:
        """Passes that conflicts add."""
        return _difference(self.passes, self.ideal_passes)

    @property
    def efficiency(self) -> float | None:
        """Bytes used of bytes moved; over 1 where lanes share what was moved."""
        return _ratio(self.bytes_used, self.bytes_moved)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LocalTotals:
    """Requests to local memory: their bank passes, those without conflicts, and the bytes that they used."""

    requests: int | None
    passes: int | None
    ideal_passes: int | None
    bytes: int | None

    @property
    def excess(self) -> int | None:
        """Passes that conflicts add."""
        return _difference(self.passes, self.ideal_passes)

    @classmethod
    def of(cls, sites: Iterable[SiteReport]) -> "LocalTotals":
        """The sums over the sites of local memory; a sum with an unknown part is not known."""
        local = [site for site in sites if site.space == "local"]
        return cls(
            requests=_total(site.requests for site in local),
            passes=_total(site.passes for site in local),
            ideal_passes=_total(site.ideal_passes for site in local),
            bytes=_total(site.bytes_used for site in local),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class GlobalTotals:
    """Requests to global memory, and to private memory that is not in registers."""

    requests: int | None
    lines: int | None
    sectors: int | None
    bytes_used: int | None
    bytes_moved: int | None

    @property
    def efficiency(self) -> float | None:
        """Bytes used of bytes moved."""
        return _ratio(self.bytes_used, self.bytes_moved)

    @classmethod
    def of(cls, sites: Iterable[SiteReport]) -> "GlobalTotals":
        """The sums over the sites of global and private memory; a sum with an unknown part is not known."""
        outside = [site for site in sites if site.space != "local"]
        return cls(
            requests=_total(site.requests for site in outside),
            lines=_total(site.lines for site in outside),
            sectors=_total(site.sectors for site in outside),
            bytes_used=_total(site.bytes_used for site in outside),
            bytes_moved=_total(site.bytes_moved for site in outside),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class AtomicTotals:
    """Atomic operations.

    Attributes:
      local_requests: requests to local memory.
      local_passes: their bank passes.
      global_operations: lanes that updated global memory.
      global_sectors: updates of a sector that they took: over its sectors, the most lanes of a request on one word.
      contention: the most lanes, over the whole launch, that updated one address of global memory.
    """

    local_requests: int | None
    local_passes: int | None
    global_operations: int | None
    global_sectors: int | None
    contention: int | None


@dataclasses.dataclass(frozen=True)
class Hint:
    """What could be written instead.

    Attributes:
      kind: `bank conflict`, `table copy`, `uncoalesced`, `contended atomics` or `low occupancy`.
      sites: where, the costliest first; empty where it is about the whole launch.
      text: the pattern with its numbers, and what to write instead.
      bound: what it gains at most.
    """

    kind: str
    sites: tuple[SiteReport, ...]
    text: str
    bound: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """What a launch costs on a modelled device. `str(report)` is the whole of it, in ASCII and 80 columns.

    Attributes:
      kernel: name of the kernel's function.
      device: name of the modelled device.
      global_size: work-items in each dimension.
      local_size: work-items of a work-group in each dimension.
      sub_group_size: work-items.
      groups: work-groups of the launch.
      slm_bytes: local memory of a work-group, as the kernel asks for it.
      version: of xeemu.
      file: the kernel's file.
      source: lines of the kernel with their numbers; where empty, only those with a memory operation are printed.

      time_s: without the overhead of submitting the launch.
      cycles: the same in cycles of the device.
      bound: the binding resource.
      occupancy: an `Occupancy`.
      sites: memory operations, in the order of the source.
      slm: totals of local memory.
      global_: totals of global memory, and of private memory outside registers.
      atomics: totals of atomic operations.
      barriers: barriers that work-groups executed.
      instructions: that sub-groups executed, by class.
      registers: bytes of registers that a work-item needs.
      spill_bytes: bytes of a work-item that do not fit its registers.
      terms: what each resource would take, were it alone.
      hints: what could be written instead.
      not_modelled: the assumptions that this report leaned on.
      sampled_groups: work-groups on which was counted what depends on data; None for all.
      marks: how a figure, named as the attribute, is known: `=` counted exactly, `~` modelled or estimated from a
        sample, `?` not known.
    """

    kernel: str
    device: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    sub_group_size: int
    groups: int
    slm_bytes: int
    version: str
    file: str
    source: tuple[tuple[int, str], ...] = ()

    time_s: float | None
    cycles: float | None
    bound: str | None
    occupancy: OccupancyLike | None
    sites: tuple[SiteReport, ...]
    slm: LocalTotals
    global_: GlobalTotals
    atomics: AtomicTotals
    barriers: int | None
    instructions: Mapping[str, int] | None
    registers: int | None
    spill_bytes: int | None
    terms: tuple[Term, ...]
    hints: tuple[Hint, ...] = ()
    not_modelled: tuple[str, ...] = ()
    sampled_groups: int | None = None
    marks: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def mark(self, name: str) -> str:
        """How the figure `name` is known; one that was not marked is modelled, or not known where it is `None`."""
        return "?" if getattr(self, name) is None else self.marks.get(name, "~")

    def __str__(self) -> str:
        sections = (_header, _verdict, _hints, _source, _banks, _global, _instructions, _occupancy, _bound, _assumed)
        blocks = (section(self) for section in sections)
        return "\n\n".join("\n".join(_ascii(line) for line in block) for block in blocks if block)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """The same figures as plain dictionaries, lists, strings and numbers, ready for JSON."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def diff(self, baseline: "Report") -> str:
        """The figures that differ from those of a report before this one, a row each; empty if none does.

        A site is the same in both if its operation, its memory and its place among the like are, so that lines may have
        moved. What only one of them has is `-` in the other.
        """
        before, after = _figures(baseline), _figures(self)
        rows = [(name, before.get(name, "-"), after.get(name, "-")) for name in dict.fromkeys([*before, *after])]
        return "\n".join(_ascii(_change(name, old, new)) for name, old, new in rows if old != new)


# --- Sections: a list of lines, or an empty one ---


def _header(report: Report) -> list[str]:
    local = "x".join(map(str, report.local_size))
    sizes = [
        f"nd-range {'x'.join(map(str, report.global_size))}",
        f"work-group {local} = {math.prod(report.local_size)} items",
        f"sub-group {report.sub_group_size}",
        f"SLM {_bytes(report.slm_bytes)}",
    ]
    title = f"xeemu {report.version}   device {report.device}"
    name = _cut(report.kernel, _WIDTH - len(title) - 2)
    plural = "" if report.groups == 1 else "s"
    place = [f"{_cut(os.path.basename(report.file), 50)}   {report.groups} work-group{plural}"]
    return [f"{name}{title:>{_WIDTH - len(name)}}", *_wrap("   ".join(sizes)), *place]


def _verdict(report: Report) -> list[str]:
    lines = ["VERDICT"]
    time = f"{_seconds(report.time_s)} = {_number(report.cycles)} cycles, after the launch was submitted"
    lines.append(_marked(f"  time       {time}", report.mark("time_s")))
    binding = next((term for term in report.terms if term.resource == report.bound), None)
    what = "?"
    if binding is not None:
        what = f"{binding.resource}: {_number(binding.work)} {binding.unit}, {_percent(binding.share)} of the time"
    lines.append(_marked(f"  bound      {what}", report.mark("bound")))
    if report.hints:
        first = report.hints[0]
        where = f" ({_place(first.sites[0])})" if first.sites else ""
        lines.append(f"  lever      {_cut(f'H1 {first.kind}{where}', _WIDTH - 13)}")
    return lines


def _hints(report: Report) -> list[str]:
    lines = ["HINTS"] if report.hints else []
    for number, hint in enumerate(report.hints, 1):
        heads = [f"{_place(site)}   {site.source}" for site in hint.sites[:3]] or ["the whole launch"]
        lines.append(_cut(f"  H{number} {hint.kind}   {heads[0]}", _WIDTH))
        indent = " " * len(f"  H{number} {hint.kind}   ")
        lines += [_cut(f"{indent}{head}", _WIDTH) for head in heads[1:]]
        if len(hint.sites) > 3:
            lines.append(f"{indent}{len(hint.sites) - 3} more")
        lines += _wrap(hint.text, "     ") + _wrap(hint.bound, "     ")
    return lines


def _source(report: Report) -> list[str]:
    if not report.sites and not report.source:
        return []
    lines = [f"{'SOURCE':41}{'req':>9}{'passes':>9}{'ideal':>8}{'lines':>8}{'eff':>5}"]
    for file in dict.fromkeys([report.file, *(site.file for site in report.sites)]):
        if file != report.file:
            lines.append(f"      {_cut(os.path.basename(file), 34)}")
        sites = [site for site in report.sites if site.file == file]
        lines += _listing(sites, dict(report.source) if file == report.file else {})
    return lines


def _listing(sites: list[SiteReport], texts: Mapping[int, str]) -> list[str]:
    by_line: dict[int, list[SiteReport]] = {}
    for site in sites:
        by_line.setdefault(site.line, []).append(site)
    lines = []
    for line in sorted({*texts, *by_line}):
        here = by_line.get(line, [])
        text = texts[line] if line in texts else here[0].source
        lines.append(f"{line:>4}  {_cut(text, 34):35}{_gutter(here) if here else ''}")
    return lines


def _gutter(sites: list[SiteReport]) -> str:
    slm, outside = LocalTotals.of(sites), GlobalTotals.of(sites)
    local = any(site.space == "local" for site in sites)
    far = any(site.space != "local" for site in sites)
    passes = (_number(slm.passes), _number(slm.ideal_passes)) if local else (".", ".")
    lines = (_number(outside.lines), _percent(outside.efficiency)) if far else (".", ".")
    requests = _number(_total(site.requests for site in sites))
    return f"{requests:>9}{passes[0]:>9}{passes[1]:>8}{lines[0]:>8}{lines[1]:>5}"


def _banks(report: Report) -> list[str]:
    sites = [site for site in report.sites if site.space == "local"]
    if not sites:
        return []
    heads = f"{'requests':>10}{'passes':>10}{'ideal':>10}{'degree':>8}{'excess':>10}"
    lines = [_marked(f"{'SLM BANKS':28}{heads}", report.mark("slm"))]
    for site in sites:
        lines.append(f"{_label(site)}{_bank_figures(site)}")
        lines += _errors(site, ("requests", "passes", "ideal_passes"), 10)
    if len(sites) > 1:
        lines.append(f"{'  all':28}{_bank_figures(report.slm)}")
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
    return ["", *_wrap(title, "  "), *(f"     {line}" for line in worst.bank_map.lines())]


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


def _bank_figures(counts: SiteReport | LocalTotals) -> str:
    degree = _ratio(counts.passes, counts.requests)
    shown = "?" if degree is None else f"{degree:.2f}"
    figures = f"{_number(counts.requests):>10}{_number(counts.passes):>10}{_number(counts.ideal_passes):>10}"
    return f"{figures}{shown:>8}{_number(counts.excess):>10}"


def _global(report: Report) -> list[str]:
    sites = [site for site in report.sites if site.space != "local"]
    if not sites:
        return []
    heads = f"{'requests':>9}{'lines':>9}{'sectors':>9}{'used':>9}{'moved':>9}{'eff':>5}"
    lines = [_marked(f"{'GLOBAL MEMORY':28}{heads}", report.mark("global_"))]
    for site in sites:
        lines.append(f"{_label(site)}{_line_figures(site)}")
        lines += _errors(site, ("requests", "lines", "sectors", "bytes_used", "bytes_moved"), 9)
    if len(sites) > 1:
        lines.append(f"{'  all':28}{_line_figures(report.global_)}")
    lines += _footnote(report, sites)
    if report.atomics.global_operations != 0:
        lines += _wrap(_atomic_text(report.atomics), "  ")
    return lines


def _line_figures(counts: SiteReport | GlobalTotals) -> str:
    figures = f"{_number(counts.requests):>9}{_number(counts.lines):>9}{_number(counts.sectors):>9}"
    used, moved = _number(counts.bytes_used), _number(counts.bytes_moved)
    return f"{figures}{used:>9}{moved:>9}{_percent(counts.efficiency):>5}"


def _footnote(report: Report, sites: list[SiteReport]) -> list[str]:
    labels = {_how(site) for site in sites}
    lines = ["     * counted as the kernel ran; the others follow from the source"] if "*" in labels else []
    if "~" in labels:
        lines.append(f"     ~ estimated from {report.sampled_groups} of {report.groups} work-groups, drawn at random")
    return lines


def _atomic_text(atomics: AtomicTotals) -> str:
    lanes, updates = _number(atomics.global_operations), _number(atomics.global_sectors)
    busiest = f"the busiest address takes {_number(atomics.contention)} lanes"
    return f"atomics: {lanes} lanes in {updates} updates of a sector; {busiest}"


def _instructions(report: Report) -> list[str]:
    classes = report.instructions or {}
    shown = "   ".join(f"{name} {_number(count)}" for name, count in classes.items()) if classes else "none"
    counted = "?" if report.instructions is None else shown
    registers = f"{_number(report.registers)} bytes of a work-item, {_number(report.spill_bytes)} of them spilled"
    return [
        _marked("INSTRUCTIONS", report.mark("instructions")),
        *_wrap(f"by class   {counted}", "  "),
        _marked(f"  barriers   {_number(report.barriers)} by work-groups", report.mark("barriers")),
        _marked(f"  registers  {registers}", report.mark("registers")),
    ]


def _occupancy(report: Report) -> list[str]:
    occupancy = report.occupancy
    if occupancy is None:
        return ["OCCUPANCY  ?"]
    lines = ["OCCUPANCY                work-groups per Xe core"]
    for name, groups in occupancy.constraints.items():
        limit = "   <- limit" if name == occupancy.limiter else ""
        lines.append(f"  {_cut(name, 24):24}{_number(groups):>8}{limit}")
    shares = f"{_percent(occupancy.fraction)} in the steady state, {_percent(occupancy.average)} on average"
    lines.append(_marked(f"  occupancy  {shares}, {_percent(occupancy.peak)} at the peak", report.mark("occupancy")))
    if occupancy.next_step is not None:
        lines += _wrap(f"next step  {occupancy.next_step}", "  ")
    return lines


def _bound(report: Report) -> list[str]:
    if not report.terms:
        return []
    lines = [_marked(f"{'BOUND':17}{'work':>12} {'':15}{'per cycle':>11}{'cycles':>11}{'share':>7}", "~")]
    for term in report.terms:
        if term.cycles == 0:
            continue
        limit = " <-" if term.resource == report.bound else ""
        figures = f"{_number(term.work):>12} {term.unit:15}{_number(term.peak):>11}{_number(term.cycles):>11}"
        lines.append(f"  {term.resource:15}{figures}{_percent(term.share):>7}{limit}")
    return lines


def _assumed(report: Report) -> list[str]:
    return ["NOT MODELLED", *_wrap("; ".join(report.not_modelled), "  ")] if report.not_modelled else []


# --- Words and numbers ---


def _label(site: SiteReport) -> str:
    return f"{site.line:>5}{_how(site)}{site.op:7}{_cut(site.memory, 14):15}"


def _how(site: SiteReport) -> str:
    """A sign for how the counts of a site are known."""
    if site.closed_form:
        return " "
    return "*" if site.errors is None else "~"


def _place(site: SiteReport) -> str:
    return f"{os.path.basename(site.file)}:{site.line}"


def _marked(text: str, mark: str) -> str:
    return f"{_cut(text, _WIDTH - 2):{_WIDTH - 1}}{mark}"


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode("ascii").rstrip()


def _number(value: float | None) -> str:
    """Under ten million as it is, to four digits or the whole number; else four digits and a power of 1000."""
    if value is None:
        return "?"
    if abs(value) < 1000:
        return f"{value:.4g}"
    if abs(value) < 1e7:
        return f"{value:.0f}"
    for power, suffix in ((1e6, "M"), (1e9, "G"), (1e12, "T")):
        if abs(value) < 999.95 * power:
            return f"{value / power:.4g}{suffix}"
    return f"{value:.3e}"


def _bytes(value: int) -> str:
    return f"{value // 1024} KiB" if value and value % 1024 == 0 else f"{value} B"


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.0f}%"


def _seconds(value: float | None) -> str:
    if value is None:
        return "?"
    for unit, size in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if value < 999.5 * size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} s"


def _ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else a / b


def _difference(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a - b


def _total(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


# --- Plain data ---


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        names += [name for name, member in vars(type(value)).items() if isinstance(member, property)]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _figures(report: Report) -> dict[str, Any]:
    """Every figure by a name that two reports share: `slm.passes`, `load tile 2: degree`."""
    plain = report.to_dict()
    sites = plain.pop("sites")
    terms = {term["resource"]: term["cycles"] for term in plain.pop("terms")}
    hints = {_hint_name(hint): "given" for hint in report.hints}
    for text in ("hints", "source", "marks", "not_modelled", "file"):
        del plain[text]
    figures = dict(_flat(plain))
    figures.update((f"{resource} cycles", cycles) for resource, cycles in terms.items())
    counts: dict[str, int] = {}
    for site in sites:
        kind = f"{site['op']} {site['memory']}"
        counts[kind] = counts.get(kind, 0) + 1
        number = f" {counts[kind]}" if counts[kind] > 1 else ""
        figures.update((f"{kind}{number}: {name}", site[name]) for name in _SITE_FIGURES)
    return {**figures, **hints}


_SITE_FIGURES = ("requests", "passes", "ideal_passes", "degree", "lines", "sectors", "bytes_used", "bytes_moved")


def _hint_name(hint: Hint) -> str:
    where = f" {hint.sites[0].op} {hint.sites[0].memory}" if hint.sites else ""
    return f"hint: {hint.kind}{where}"


def _flat(plain: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in plain.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield f"{prefix}{name}", "x".join(map(str, value))
        else:
            yield f"{prefix}{name}", value


def _change(name: str, old: Any, new: Any) -> str:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (old, new))
    factor = f"  ({new / old:.3g}x)" if numbers and old else ""
    return f"{_cut(name, 36):36} {_shown(name, old):>14} -> {_shown(name, new)}{factor}"


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "?"
    if isinstance(value, bool | str):
        return _cut(str(value), 14)
    return _seconds(value) if name.endswith("_s") else _number(value)
