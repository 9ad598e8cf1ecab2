"""Flows: the bytes that go between the memories of a device in a launch."""

import dataclasses
from typing import TYPE_CHECKING

from xeemu.cost import amounts, figures
from xeemu.cost.sites import SiteReport

if TYPE_CHECKING:
    from xeemu.cost.report import Report


@dataclasses.dataclass(frozen=True)
class Flow:
    """What goes between a memory and what is nearer to the work-items.

    Attributes:
      memory: `SLM`, `L1`, `L2` or `DRAM`.
      inner: what is nearer: `work-items`, or the memory before.
      bytes: in both directions; None if it is not known. Of the SLM those that work-items use, of the others those that
        are moved, used or not.
      mark: how the bytes are known, as in a report; `<` where they are so many at most.
      note: what else there is to say, in a few words; empty if nothing.
    """

    memory: str
    inner: str
    bytes: float | None
    mark: str
    note: str

    @property
    def amount(self) -> str:
        """The bytes with their mark, as text."""
        if not self.bytes:
            return "?" if self.bytes is None else "nothing"
        return f"{figures.amount(self.bytes)} {self.mark}"


def of_report(report: "Report") -> tuple[Flow, ...]:
    """The flows of a launch, from the SLM and then from the L1 outwards; none if it uses no memory."""
    work = {term.resource: term.work for term in report.terms if term.unit == "bytes"}
    moved, used = report.global_.bytes_moved, report.global_.bytes_used
    efficiency = report.global_.efficiency
    found = [
        _of_slm(report),
        Flow("L1", "work-items", moved, report.mark("global_"), f"{figures.percent(efficiency)} used" if used else ""),
    ]
    for memory, inner in (("L2", "L1"), ("DRAM", "L2")):
        if memory in work:
            found.append(Flow(memory, inner, work[memory], "?" if work[memory] is None else "~", ""))
    used_slm = report.slm_bytes or report.slm.bytes != 0
    shown = [flow for flow in found if flow.memory != "SLM" or used_slm]
    return tuple(shown) if any(flow.bytes != 0 for flow in shown) else ()


def _of_slm(report: "Report") -> Flow:
    """What work-items use of the SLM; where that was not counted, no more than its passes hold."""
    note = _passes(report.slm.passes)
    if report.slm.bytes is not None:
        return Flow("SLM", "work-items", report.slm.bytes, report.mark("slm"), note)
    held = amounts.total(_held(site) for site in report.sites if site.space == "local")
    return Flow("SLM", "work-items", held, "<", note)


def _held(site: SiteReport) -> float | None:
    """Bytes that the banks serve in the passes of a site, or in the most that it may take."""
    shown, most = site.bank_map, site.most or {}
    passes = most.get("passes") if site.passes is None else site.passes
    return amounts.product(passes, None if shown is None else shown.banks * shown.bank_bytes)


def _passes(passes: int | None) -> str:
    return f"{figures.number(passes)} pass{'' if passes == 1 else 'es'}"
