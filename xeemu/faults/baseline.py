"""Baseline: findings that a project has looked at and accepts, known again by what they are, not by line numbers.

A finding is known by its kernel, its kind, its memory and the texts of its lines, so that lines may move; of those that
are known by the same, as many are accepted as there were. What was accepted as a note is not accepted as an error.
"""

import collections
import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from xeemu import documents
from xeemu.faults.findings import ERROR, NOTE, Finding, Findings


@dataclasses.dataclass(frozen=True)
class Mark:
    """What a finding of a kernel is known by.

    Attributes:
      kind: of it.
      memory: the name of the memory that it is about; empty if none is.
      sources: the texts of its lines, without indentation.
    """

    kind: str
    memory: str
    sources: tuple[str, ...]

    @classmethod
    def of(cls, finding: Finding) -> "Mark":
        """What a finding is known by."""
        return cls(finding.kind, finding.memory, tuple(site.source for site in finding.sites))


@dataclasses.dataclass(frozen=True, order=True)
class Accepted:
    """Findings of one mark that are accepted, of one kernel and severity.

    Attributes:
      kernel: its name; empty in files of before kernels were told apart: any kernel.
      kind, memory, sources: the mark.
      severity: `"error"`, or `"note"`.
      count: how many of them; None in files of before they were counted: any number.
    """

    kernel: str
    kind: str
    memory: str
    sources: tuple[str, ...]
    severity: str
    count: int | None

    def covers(self, kernel: str, mark: Mark) -> bool:
        """Whether it is about findings of a kernel with a mark."""
        return self.kernel in ("", kernel) and Mark(self.kind, self.memory, self.sources) == mark


@dataclasses.dataclass(frozen=True)
class Baseline:
    """The findings that are accepted, of any number of kernels.

    Attributes:
      accepted: all of them, none twice.
    """

    accepted: frozenset[Accepted] = frozenset()

    @classmethod
    def of(cls, findings: Iterable[Finding], kernel: str) -> "Baseline":
        """The one that accepts the findings of a kernel."""
        alike = collections.Counter((Mark.of(finding), finding.severity) for finding in findings)
        return cls(
            frozenset(
                Accepted(kernel, mark.kind, mark.memory, mark.sources, severity, count)
                for (mark, severity), count in alike.items()
            )
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Baseline":
        """The baseline in a file that `save` has written.

        Raises:
          KernelArgumentError: the file holds none.
        """
        return documents.read(path, "baseline", cls._built, "xeemu check --write-baseline FILE")

    @classmethod
    def _built(cls, data: Mapping[str, Any]) -> "Baseline":
        return cls(frozenset(map(_entry, data["accepted"])))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it into a file of JSON, in an order that depends on nothing but what it accepts."""
        entries = sorted(self.accepted, key=lambda entry: (*dataclasses.astuple(entry)[:-1], entry.count or 0))
        documents.write(path, "baseline", {"accepted": [dataclasses.asdict(entry) for entry in entries]})

    def save_into(self, path: str | os.PathLike[str], kernel: str) -> None:
        """Writes it into a file; what the file accepts of other kernels than this one stays.

        Raises:
          KernelArgumentError: there is such a file, and it holds no baseline.
        """
        kept = Baseline.load(path).accepted if Path(path).exists() else frozenset()
        others = frozenset(entry for entry in kept if entry.kernel != kernel)
        Baseline(self.accepted | others).save(path)

    @property
    def is_dated(self) -> bool:
        """Whether it is of a file that knew neither kernels nor counts."""
        return any(entry.count is None for entry in self.accepted)

    def remaining(self, findings: Findings, kernel: str) -> Findings:
        """The findings of a kernel that it does not accept.

        Of findings with the same mark that are more than it accepts, all remain: which one is new cannot be told.
        """
        alike = collections.defaultdict(list)
        for finding in findings:
            alike[Mark.of(finding)].append(finding)
        beyond = {mark for mark, some in alike.items() if not self._accepts(kernel, mark, some)}
        rest = (finding for finding in findings if Mark.of(finding) in beyond)
        return Findings(rest, findings.proved, findings.watched)

    def knows(self, finding: Finding, kernel: str) -> bool:
        """Whether it accepts findings with the mark of this one, of a kernel."""
        return any(entry.covers(kernel, Mark.of(finding)) for entry in self.accepted)

    def _accepts(self, kernel: str, mark: Mark, findings: list[Finding]) -> bool:
        errors = sum(finding.severity == ERROR for finding in findings)
        accepted_errors = self._count(kernel, mark, ERROR)
        # What was accepted as an error is accepted as a note too.
        return errors <= accepted_errors and len(findings) <= accepted_errors + self._count(kernel, mark, NOTE)

    def _count(self, kernel: str, mark: Mark, severity: str) -> float:
        """How many findings of a mark and severity it accepts; infinitely many where they were not counted."""
        covering = (entry for entry in self.accepted if entry.severity == severity and entry.covers(kernel, mark))
        return sum(float("inf") if entry.count is None else entry.count for entry in covering)


def _entry(data: Mapping[str, Any]) -> Accepted:
    """An accepted finding of a file; older files have neither `kernel` nor `count`."""
    count = data.get("count")
    if count is not None and (not isinstance(count, int) or count < 1):
        raise ValueError(f"an accepted finding has the count {count!r}, not a number from 1")
    kernel, sources = data.get("kernel", ""), tuple(data["sources"])
    return Accepted(kernel, data["kind"], data["memory"], sources, data["severity"], count)
