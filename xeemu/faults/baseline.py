"""Baseline: findings that a project has looked at and accepts, known again by what they are, not by line numbers.

A finding is known by its kind, its memory and the texts of its lines, so that lines may move.
"""

import collections
import dataclasses
import json
import os
from collections.abc import Iterable
from pathlib import Path

from xeemu.errors import KernelArgumentError
from xeemu.faults.findings import Finding, Findings

_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Accepted:
    """What a finding is known by.

    Attributes:
      kind: of it.
      memory: the name of the memory that it is about; empty if none is.
      sources: the texts of its lines, without indentation.
    """

    kind: str
    memory: str
    sources: tuple[str, ...]

    @classmethod
    def of(cls, finding: Finding) -> "Accepted":
        """What a finding is known by."""
        return cls(finding.kind, finding.memory, tuple(site.source for site in finding.sites))


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
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if not isinstance(data, dict) or data.get("xeemu baseline") != _FORMAT:
                raise ValueError(f"it does not begin with 'xeemu baseline': {_FORMAT}")
            return cls(Accepted(e["kind"], e["memory"], tuple(e["sources"])) for e in data["accepted"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise KernelArgumentError(
                f"{os.fspath(path)} is no baseline: {error}; write one by xeemu check --write-baseline FILE"
            ) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it into a file of JSON, in an order that depends on nothing but what it accepts."""
        entries = sorted((dataclasses.asdict(accepted) for accepted in self), key=json.dumps)
        data = {"xeemu baseline": _FORMAT, "accepted": entries}
        Path(path).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    def remaining(self, findings: Findings) -> Findings:
        """The findings that it does not accept."""
        rest = (finding for finding in findings if Accepted.of(finding) not in self)
        return Findings(rest, findings.proved, findings.watched)

    def unused(self, findings: Findings) -> tuple[Accepted, ...]:
        """What it accepts and nothing has any more."""
        there = collections.Counter(map(Accepted.of, findings))
        return tuple(sorted((accepted for accepted in self if not there[accepted]), key=dataclasses.astuple))
