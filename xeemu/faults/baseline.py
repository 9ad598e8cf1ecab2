"""Baseline: findings that a project has looked at and accepts, known again by what they are, not by line numbers.

A finding is known by its kernel, its kind, its memory and the texts of its lines, so that lines may move; of those that
are known by the same, as many are accepted as there were. What was accepted as a note is not accepted as an error.
Kernels of one name are told apart by their files and static parameters; one whose file has moved is known by its name.
"""

import collections
import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from xeemu import documents
from xeemu.faults.findings import ERROR, NOTE, Finding, Findings
from xeemu.language.kernel import Kernel


@dataclasses.dataclass(frozen=True)
class Subject:
    """A kernel whose findings are accepted.

    Attributes:
      kernel: its name.
      file: of its source, from the folder of the baseline on; empty if not known.
      static: its static parameters, and numbers and texts of the function that has made it, as `factor=3`, with commas
        between them.
    """

    kernel: str
    file: str = ""
    static: str = ""

    @classmethod
    def of(cls, kernel: Kernel, static: Mapping[str, Any], path: str | os.PathLike[str]) -> "Subject":
        """A kernel with static parameters, for the baseline in a file."""
        folder = os.path.dirname(os.path.abspath(path))
        file = os.path.relpath(kernel.function.__code__.co_filename, folder)
        known = {**kernel.captured, **static}
        return cls(kernel.name, Path(file).as_posix(), ", ".join(f"{name}={known[name]!r}" for name in sorted(known)))


@dataclasses.dataclass(frozen=True)
class Fingerprint:
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
    def of(cls, finding: Finding) -> "Fingerprint":
        """What a finding is known by."""
        return cls(finding.kind, finding.memory, (*(site.source for site in finding.sites), *_further(finding)))


@dataclasses.dataclass(frozen=True, order=True)
class Accepted:
    """Findings of one fingerprint that are accepted, of one kernel and severity.

    Attributes:
      kernel, file, static: as of a `Subject`; without a kernel, in files of before these were told apart, of any.
      kind, memory, sources: the fingerprint.
      severity: `"error"`, or `"note"`.
      count: how many of them; None in files of before they were counted: any number.
    """

    kernel: str
    file: str
    static: str
    kind: str
    memory: str
    sources: tuple[str, ...]
    severity: str
    count: int | None

    @property
    def subject(self) -> Subject:
        """The kernel of which they are."""
        return Subject(self.kernel, self.file, self.static)

    @property
    def fingerprint(self) -> Fingerprint:
        """What they are known by."""
        return Fingerprint(self.kind, self.memory, self.sources)


@dataclasses.dataclass(frozen=True)
class Baseline:
    """The findings that are accepted, of any number of kernels.

    Attributes:
      accepted: all of them, none twice.
    """

    accepted: frozenset[Accepted] = frozenset()

    @classmethod
    def of(cls, findings: Iterable[Finding], subject: Subject) -> "Baseline":
        """The one that accepts the findings of a kernel."""
        alike = collections.Counter((Fingerprint.of(finding), finding.severity) for finding in findings)
        about = subject.kernel, subject.file, subject.static
        return cls(
            frozenset(
                Accepted(*about, known_by.kind, known_by.memory, known_by.sources, severity, count)
                for (known_by, severity), count in alike.items()
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

    def save_into(self, path: str | os.PathLike[str], subject: Subject) -> None:
        """Writes it into a file; what the file accepts of other kernels than this one stays.

        Raises:
          KernelArgumentError: there is such a file, and it holds no baseline.
        """
        kept = Baseline.load(path).accepted if Path(path).exists() else frozenset()
        replaced = (subject, Subject(subject.kernel))
        others = frozenset(entry for entry in kept if entry.subject not in replaced)
        Baseline(self.accepted | others).save(path)

    @property
    def is_dated(self) -> bool:
        """True if it is of a file that knew neither kernels nor counts."""
        return any(entry.count is None for entry in self.accepted)

    def remaining(self, findings: Findings, subject: Subject) -> Findings:
        """The findings of a kernel that it does not accept.

        Of findings with one fingerprint that are more than it accepts, all remain: which one is new cannot be told.
        """
        alike = collections.defaultdict(list)
        for finding in findings:
            alike[Fingerprint.of(finding)].append(finding)
        entries = self._about(subject)
        beyond = {fingerprint for fingerprint, some in alike.items() if not _accepts(entries, fingerprint, some)}
        rest = (finding for finding in findings if Fingerprint.of(finding) in beyond)
        return Findings(rest, findings.proved, findings.watched)

    def knows(self, finding: Finding, subject: Subject) -> bool:
        """True if it accepts findings with the fingerprint of this one, of a kernel."""
        return any(entry.fingerprint == Fingerprint.of(finding) for entry in self._about(subject))

    def _about(self, subject: Subject) -> list[Accepted]:
        """What it accepts of a kernel: of that in its file or, if there is nothing of that one, in any."""
        named = [e for e in self.accepted if not e.kernel or (e.kernel, e.static) == (subject.kernel, subject.static)]
        return [entry for entry in named if entry.file == subject.file] or named


def _further(finding: Finding) -> Iterable[str]:
    """The texts of lines that only further accesses of one cause stand in."""
    return (site.source for site in finding.lines if site not in finding.sites)


def _accepts(entries: Iterable[Accepted], fingerprint: Fingerprint, findings: list[Finding]) -> bool:
    counts: dict[str, float] = collections.defaultdict(float)
    for entry in entries:
        if entry.fingerprint == fingerprint:
            counts[entry.severity] += float("inf") if entry.count is None else entry.count
    errors = sum(finding.severity == ERROR for finding in findings)
    # What was accepted as an error is accepted as a note too.
    return errors <= counts[ERROR] and len(findings) <= counts[ERROR] + counts[NOTE]


def _entry(data: Mapping[str, Any]) -> Accepted:
    """An accepted finding of a file; older files have no `kernel`, `file`, `static` or `count`."""
    count = data.get("count")
    if count is not None and (not isinstance(count, int) or count < 1):
        raise ValueError(f"an accepted finding has the count {count!r}, not a number from 1")
    kernel, file, static = (data.get(name, "") for name in ("kernel", "file", "static"))
    return Accepted(kernel, file, static, data["kind"], data["memory"], tuple(data["sources"]), data["severity"], count)
