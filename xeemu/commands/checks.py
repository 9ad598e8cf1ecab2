"""Checks: which findings of a check count, and the forms in which they are told; which figures of two reports do."""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence

import xeemu as xe
from xeemu.commands.notation import UsageError
from xeemu.cost import comparison
from xeemu.errors import did_you_mean
from xeemu.faults import exchange
from xeemu.faults.baseline import Baseline
from xeemu.faults.findings import Finding, Findings
from xeemu.kernels.example import Example
from xeemu.plurals import counted


def settled(findings: Findings, given: argparse.Namespace, example: Example) -> Findings:
    """The findings of a check that no baseline accepts; writes the files that the command line asks for."""
    kernel = example.kernel.name
    left = Baseline.load(given.baseline).remaining(findings, kernel) if given.baseline else findings
    if given.write_baseline:
        Baseline.of(findings, kernel).save_into(given.write_baseline, kernel)
    if given.html:
        left.to_html(given.html, title=f"{example.name}: what is wrong")
    return left


def failing(left: Findings, given: argparse.Namespace) -> tuple[Finding, ...]:
    """The findings for which a check fails: errors, with --fail-on note all but what is mostly meant.

    A check that writes a baseline accepts all of them, and fails for none.
    """
    if given.write_baseline:
        return ()
    return left.errors if given.fail_on == "error" else left.faults


def told(left: Findings, found: Findings, given: argparse.Namespace, kernel: str) -> str:
    """The findings that are left of all that were found, as a text that says what of them a baseline accepts."""
    if not given.baseline:
        return str(left)
    baseline = Baseline.load(given.baseline)
    lines = [str(left) if left else "no new findings"]
    if accepted := len(found) - len(left):
        lines.append(f"{accepted} accepted by {given.baseline}")
    if alike := sum(baseline.knows(finding, kernel) for finding in left):
        lines.append(f"{counted(alike, 'finding')} of kinds that {given.baseline} knows, more of them than it accepts")
    if baseline.is_dated:
        lines.append(f"{given.baseline} knows neither kernels nor counts; write it again with --write-baseline")
    return ("\n\n" if left else "; ").join(lines)


def written(found: Findings, path: str, kernel: str) -> str:
    """What is told of a baseline that has been written."""
    return f"{path}: {counted(len(found), 'finding')} of {kernel} written"


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


def formatted(findings: Findings, form: str) -> str:
    """The findings in a form of `FORMATS`, as lines."""
    text = FORMATS[form](findings)
    return f"{text}\n" if text else ""


FORMATS: Mapping[str, Callable[[Findings], str]] = {
    "text": str,
    "json": lambda findings: json.dumps(findings.to_dict(), indent=2),
    "github": exchange.annotations,
    "sarif": lambda findings: json.dumps(exchange.sarif(findings, xe.__version__), indent=2),
}
