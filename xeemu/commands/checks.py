"""Checks: which findings of a check count, and the forms in which they are told; which figures of two reports do."""

import argparse
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence

import xeemu as xe
from xeemu.commands.notation import UsageError
from xeemu.cost import comparison
from xeemu.errors import did_you_mean
from xeemu.faults import exchange
from xeemu.faults.baseline import Baseline, Subject
from xeemu.faults.exchange import Refusal
from xeemu.faults.findings import Finding, Findings
from xeemu.kernels.example import Example
from xeemu.plurals import counted


@dataclasses.dataclass(frozen=True)
class CheckedKernel:
    """A kernel that was checked.

    Attributes:
      example: it, with its launch.
      findings: all that was found.
      subject: what the baseline that accepts findings knows the kernel by; None where none does.
      accepted: the baseline that accepts findings; None where none does.
    """

    example: Example
    findings: Findings
    subject: Subject | None
    accepted: Baseline | None

    @property
    def left(self) -> Findings:
        """The findings that no baseline accepts."""
        if self.accepted is None or self.subject is None:
            return self.findings
        return self.accepted.remaining(self.findings, self.subject)


Outcome = CheckedKernel | Refusal


def settled(findings: Findings, given: argparse.Namespace, example: Example) -> CheckedKernel:
    """A kernel with its findings; writes the files that the command line asks for."""
    read, write = given.baseline, given.write_baseline
    # A subject has its file from the folder of the baseline on.
    subjects = {path: Subject.of(example.kernel, example.static, path) for path in (read, write) if path}
    done = CheckedKernel(example, findings, subjects.get(read), Baseline.load(read) if read else None)
    if write:
        Baseline.of(findings, subjects[write]).save_into(write, subjects[write])
    if given.html:
        done.left.to_html(given.html, title=f"{example.name}: what is wrong")
    return done


def failing(done: CheckedKernel, given: argparse.Namespace) -> tuple[Finding, ...]:
    """The findings for which a check fails: errors, with --fail-on note all but what is mostly meant.

    A check that writes a baseline accepts all of them, and fails for none.
    """
    if given.write_baseline:
        return ()
    return done.left.errors if given.fail_on == "error" else done.left.faults


def told(done: CheckedKernel, given: argparse.Namespace) -> str:
    """The findings that are left of all that were found, as a text that says what of them a baseline accepts."""
    left, baseline, subject = done.left, done.accepted, done.subject
    if baseline is None or subject is None:
        return str(left)
    lines = [str(left) if left else "no new findings"]
    if accepted := len(done.findings) - len(left):
        lines.append(f"{accepted} accepted by {given.baseline}")
    if alike := sum(baseline.knows(finding, subject) for finding in left):
        lines.append(f"{counted(alike, 'finding')} of kinds that {given.baseline} knows, more of them than it accepts")
    if baseline.is_dated:
        lines.append(f"{given.baseline} knows neither kernels nor counts; write it again with --write-baseline")
    return ("\n\n" if left else "; ").join(lines)


def written(done: CheckedKernel, path: str) -> str:
    """What is told of a baseline that has been written."""
    return f"{path}: {counted(len(done.findings), 'finding')} of {done.example.kernel.name} written"


def figures(given: argparse.Namespace, before: xe.Report, after: xe.Report) -> Sequence[str]:
    """The figures for which a comparison of two reports fails, by default the time; none stands for all costs.

    Raises:
      UsageError: a figure is a number in neither of the reports, or it is not said how much it may rise.
    """
    if given.fail_above is None:
        if given.fail_on:
            raise UsageError("--fail-on tells which figures --fail-above is about; write --fail-above 5% too")
        return ()
    names: Sequence[str] = given.fail_on or ["time_s"]
    if "all" in names:
        return ()
    known = comparison.numbers(before, after)
    for name in names:
        if name not in known:
            raise UsageError(
                f"--fail-on {name}: neither report has a number for it{did_you_mean(name, known)}; name figures as the "
                "rows of xeemu diff do, such as --fail-on time_s,slm.passes, or write --fail-on all"
            )
    return names


def unlike(before: xe.Report, after: xe.Report) -> list[str]:
    """Notes of two reports that are of two kernels, or of two devices."""
    pairs = {"kernel": (before.kernel, after.kernel), "device": (before.device, after.device)}
    return [f"note: the {what} is another one: {old}, then {new}" for what, (old, new) in pairs.items() if old != new]


def formatted(outcomes: Sequence[Outcome], given: argparse.Namespace, form: str) -> str:
    """What was found in a form of `FORMATS`, as lines."""
    text = FORMATS[form](outcomes, given)
    return f"{text}\n" if text else ""


def _json(outcomes: Sequence[Outcome], given: argparse.Namespace) -> str:
    """Of one kernel its findings, of a list of them an object each."""
    data = [{"refused": o.message} if isinstance(o, Refusal) else o.left.to_dict() for o in outcomes]
    if given.list is None:
        return json.dumps(data[0], indent=2)
    names = [None if isinstance(o, Refusal) else o.example.name for o in outcomes]
    return json.dumps([{"kernel": name, **one} for name, one in zip(names, data, strict=True)], indent=2)


def _annotations(outcomes: Sequence[Outcome], given: argparse.Namespace) -> str:
    fails = [finding for o in outcomes if isinstance(o, CheckedKernel) for finding in failing(o, given)]
    return exchange.annotations(_all(outcomes), fails)


def _all(outcomes: Sequence[Outcome]) -> list[exchange.Told]:
    return [told for o in outcomes for told in ([o] if isinstance(o, Refusal) else o.left)]


FORMATS: Mapping[str, Callable[[Sequence[Outcome], argparse.Namespace], str]] = {
    "json": _json,
    "github": _annotations,
    "sarif": lambda outcomes, given: json.dumps(exchange.sarif(_all(outcomes), xe.__version__), indent=2),
}
"""The forms for other programs, beside the text as which each check is told when it is done."""
