"""A random program checked by `xe.check` and by the brute-force checker, and how the two compare."""

import dataclasses
import pathlib

import interleavings
import rendering
from interleavings import Program, Verdict
from rendering import Rendered

import xeemu as xe


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What both say of a program.

    Attributes:
      rendered: the program as a kernel.
      brute: the races over all interleavings.
      findings: of `xe.check`; the error if it has refused the program.
      verdict: `"found"`, `"clean"`, `"false alarm"`, `"missed"`, `"hidden"` (racy, but not along the orders of
        lockstep), `"benign"` (all racing stores are of one value) or `"refused"`.
      same: true if both name the same pairs of lines.
    """

    rendered: Rendered
    brute: Verdict
    findings: xe.Findings | xe.Error
    verdict: str
    same: bool

    @property
    def wrong(self) -> bool:
        return self.verdict in ("false alarm", "missed", "refused")

    @property
    def words(self) -> list[str]:
        """What a table counts."""
        racy = ["racy"] if self.brute.racy else []
        return ["programs", self.verdict, *racy, *(["same pairs"] if self.verdict == "found" and self.same else [])]

    def __str__(self) -> str:
        every = "" if self.brute.exhaustive else " (not all interleavings)"
        races = sorted((memory, sorted(lines)) for memory, lines in self.rendered.pairs(self.brute.races))
        return f"{self.verdict}\n{self.rendered.program}\nbrute force{every}: {races}\ncheck: {self.findings}"


def compare(program: Program, folder: pathlib.Path, name: str) -> Comparison:
    """Checks a program both ways; its kernel is written to a file of that name."""
    rendered, brute = rendering.render(program, folder, name), interleavings.everywhere(program)
    try:
        findings = rendered.check()
    except xe.Error as error:
        return Comparison(rendered, brute, error, "refused", False)
    found = rendering.races_of(findings)
    return Comparison(
        rendered, brute, findings, _verdict(program, brute, bool(found)), found == rendered.pairs(brute.races)
    )


def _verdict(program: Program, brute: Verdict, found: bool) -> str:
    if found:
        # A random choice of interleavings may have none of those that race.
        return "found" if brute.racy or not brute.exhaustive else "false alarm"
    if not brute.racy:
        return "benign" if brute.benign else "clean"
    along = (interleavings.lockstep(program, together) for together in (False, True))
    return "missed" if any(verdict.racy for verdict in along) else "hidden"
