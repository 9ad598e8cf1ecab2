"""Baseline: findings that a project has looked at and accepts, known again by what they are, not by line numbers.

A finding is known by its kind, its memory and the texts of its lines, so that lines may move. What was accepted as a
note is not accepted as an error.
"""

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from xeemu import documents
from xeemu.faults.findings import ERROR, Finding, Findings


@dataclasses.dataclass(frozen=True)
class Accepted:
    """What a finding is known by.

    Attributes:
      kind: of it.
      memory: the name of the memory that it is about; empty if none is.
      sources: the texts of its lines, without indentation.
      severity: `"error"`, or `"note"`.
    """

    kind: str
    memory: str
    sources: tuple[str, ...]
    severity: str

    @classmethod
    def of(cls, finding: Finding) -> "Accepted":
        """What a finding is known by."""
        return cls(finding.kind, finding.memory, tuple(site.source for site in finding.sites), finding.severity)


class Baseline(frozenset[Accepted]):
    """The findings that are accepted."""

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> "Baseline":
        """The one that accepts some findings."""
        return cls(map(Accepted.of, findings))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Baseline":
        """The baseline in a file that `save` has written.

        Raises:
          KernelArgumentError: the file holds none.
        """
        return documents.read(path, "baseline", cls._built, "xeemu check --write-baseline FILE")

    @classmethod
    def _built(cls, data: Mapping[str, Any]) -> "Baseline":
        return cls(Accepted(e["kind"], e["memory"], tuple(e["sources"]), e["severity"]) for e in data["accepted"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it into a file of JSON, in an order that depends on nothing but what it accepts."""
        entries = sorted((dataclasses.asdict(accepted) for accepted in self), key=json.dumps)
        documents.write(path, "baseline", {"accepted": entries})

    def remaining(self, findings: Findings) -> Findings:
        """The findings that it does not accept."""
        rest = (finding for finding in findings if not self._accepts(Accepted.of(finding)))
        return Findings(rest, findings.proved, findings.watched)

    def _accepts(self, found: Accepted) -> bool:
        return found in self or dataclasses.replace(found, severity=ERROR) in self
