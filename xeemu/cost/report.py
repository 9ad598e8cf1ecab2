"""Report: what a launch costs, where in the source, and what binds."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xeemu import documents
from xeemu.cost import comparison, page, storage, terms, text
from xeemu.cost.comparison import Comparison
from xeemu.cost.latency import Waiting
from xeemu.cost.sites import AtomicTotals, GlobalTotals, LocalTotals, SiteReport
from xeemu.cost.terms import Term
from xeemu.devices.occupancy import Occupancy
from xeemu.language import public
from xeemu.language.places import from_here

LEVER_GAIN = 1.05
"""A hint that gains less is not what the time depends on."""


@dataclasses.dataclass(frozen=True)
class Hint:
    """What could be written instead.

    Attributes:
      kind: see the list in the room's README.
      sites: where, the costliest first; empty where it is about the whole launch.
      text: the pattern with its numbers, and what to write instead.
      gain: how many times less time the launch takes with the change, as the model times it; None if that is not known.
    """

    kind: str
    sites: tuple[SiteReport, ...]
    text: str
    gain: float | None

    @property
    def effect(self) -> str:
        """The gain as a sentence."""
        if self.gain is None:
            return "What it gains is not known."
        if self.gain < LEVER_GAIN:
            return "As the model times it, it gains nothing here: something else binds."
        return f"As the model times it, the launch takes {self.gain:.3g}x less time."

    def __str__(self) -> str:
        where = f" at {text.place(self.sites[0])}" if self.sites else ""
        return f"{self.kind}{where}: {self.text} {self.effect}"


class _LazyField:
    """A field of a frozen dataclass, `()` by default, that is given itself or as a function of nothing, which is called
    when somebody asks for it first."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return ()
        found = instance.__dict__[self._name]
        if callable(found):
            found = instance.__dict__[self._name] = found()
        return found

    def __set__(self, instance: Any, given: Any) -> None:
        instance.__dict__[self._name] = given


def _lazy() -> Any:
    return _LazyField()


@public.members
@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Report:
    """What a launch costs on a modelled device. `str(report)` is the whole of it, in ASCII and 80 columns.

    Hints are tried when they are first asked for, be it by `str`, `to_dict` or a copy: until then the report keeps what
    the launch is made of.

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
      static: the static parameters of the launch by name, and the numbers and texts that a function around the kernel
        has given it: numbers and strings, of anything else its text.
      source: lines of the kernel with their numbers; where empty, only those with a memory operation are printed.

      time_s: without the overhead of submitting the launch; see `limit`.
      cycles: the same in cycles of the device.
      between_s: the least and the most that the time may be, where data decide it; the most None where something is
        missing, which can only take longer. None where the time is known, or where a loop may go on for ever.
      perhaps_missing: what is missing of these bounds.
      bound: the binding resource.
      occupancy: an `Occupancy`.
      sites: memory operations, in the order of the source.
      slm: totals of local memory.
      global_: totals of global memory, and of private memory outside registers.
      atomics: totals of atomic operations.
      barriers: barriers that work-groups executed.
      instructions: that sub-groups executed, by class; whole numbers.
      registers: bytes of registers that a work-item needs.
      spill_bytes: bytes of a work-item that do not fit its registers.
      terms: what each resource would take, were it alone.
      waits: what sub-groups wait for, the longest first: what the term `latency` is made of.
      overstated: memories of which data decide what is accessed again: nothing is taken to be, so that the launch may
        take less time.
      understated: memories of which data decide where they are stored to or updated: they are taken not to meet in the
        L2, so that the launch may take more time.
      hints: what could be written instead, what gains most first.
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
    source: tuple[tuple[int, str], ...] = _lazy()
    static: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    time_s: float | None
    cycles: float | None
    bound: str | None
    occupancy: Occupancy | None
    sites: tuple[SiteReport, ...]
    slm: LocalTotals
    global_: GlobalTotals
    atomics: AtomicTotals
    barriers: int | None
    instructions: Mapping[str, float] | None
    registers: int | None
    spill_bytes: int | None
    terms: tuple[Term, ...]
    waits: tuple[Waiting, ...] = ()
    overstated: tuple[str, ...] = ()
    understated: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = _lazy()
    not_modelled: tuple[str, ...] = ()
    sampled_groups: int | None = None
    marks: Mapping[str, str] = dataclasses.field(default_factory=dict)
    between_s: tuple[float, float | None] | None = None
    perhaps_missing: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    def lever(self) -> Hint | None:
        """The hint that gains most; None if none gains 5 %."""
        first = self.hints[0] if self.hints else None
        return first if first is not None and first.gain is not None and first.gain >= LEVER_GAIN else None

    @property
    def missing(self) -> tuple[str, ...]:
        """What the launch uses and the device has no figure for, so that the time leaves it out: a resource, or `issue
        of` a class of instructions."""
        return tuple(dict.fromkeys((*self.perhaps_missing, *terms.missing(self.terms))))

    @property
    def limit(self) -> str:
        """What the time is, apart from the errors of the model: `at least` where something is `missing`, `at most`
        where it is `overstated`; empty where it is neither, or may be both, or lies between two times."""
        if self.time_s is None:
            return "at least" if self.between_s is not None and self.between_s[1] is None else ""
        more = bool(self.missing or self.understated or self.spill_bytes or self.marks.get("barriers") == ">")
        if self.missing and not self.overstated:
            return "at least"
        return "at most" if self.overstated and not more else ""

    def mark(self, name: str) -> str:
        """How the figure `name` is known; one that was not marked is modelled, or not known where it is `None`."""
        return "?" if getattr(self, name) is None else self.marks.get(name, "~")

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = text.WIDTH) -> str:
        """The report as text; lines of the source have the columns that are left of so many, 80 at least."""
        return text.of_report(self, width)

    def _repr_html_(self) -> str:
        return page.fragment(self)

    def to_dict(self) -> dict[str, Any]:
        """The same figures as plain dictionaries, lists, strings and numbers, ready for JSON."""
        data: dict[str, Any] = storage.plain(self)
        return data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report into a file of JSON, which `Report.load` reads; paths of sources are kept as they are seen
        from the folder in which the program runs."""
        documents.write(path, "report", self._relative().to_dict())

    def __repr__(self) -> str:
        return f"<Report of {self.kernel} on {self.device}: {text.duration(self)}, bound by {self.bound or '?'}>"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Report":
        """The report in a file that `save` has written.

        Raises:
          KernelArgumentError: the file holds none.
        """
        remedy = "report.save(path) or xeemu profile --save"
        return documents.read(path, "report", lambda data: storage.built(cls, data), remedy)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as one page of HTML that needs nothing else; written into a file too, if one is given."""
        made = page.of_report(self)
        if path is not None:
            Path(path).write_text(made, encoding="utf-8")
        return made

    def diff(self, baseline: "Report") -> Comparison:
        """The figures that differ from those of a report before this one, a row each; `str` is a table, empty if none
        does.

        A site is the same in both if its operation, its memory and its place among the like are, so that lines may have
        moved. What only one of them has is `-` in the other.
        """
        return comparison.compare(baseline, self)

    def _relative(self) -> "Report":
        hints = tuple(dataclasses.replace(hint, sites=_sites_from_here(hint.sites)) for hint in self.hints)
        waits = tuple(dataclasses.replace(w, site=w.site and _site_from_here(w.site)) for w in self.waits)
        file, sites = from_here(self.file), _sites_from_here(self.sites)
        return dataclasses.replace(self, file=file, sites=sites, hints=hints, waits=waits)


def _sites_from_here(sites: tuple[SiteReport, ...]) -> tuple[SiteReport, ...]:
    return tuple(map(_site_from_here, sites))


def _site_from_here(site: SiteReport) -> SiteReport:
    return dataclasses.replace(site, file=from_here(site.file))
