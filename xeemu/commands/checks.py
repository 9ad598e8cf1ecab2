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


def settled(findings: Findings, given: argparse.Namespace, title: str) -> Findings:
    """The findings that no baseline accepts; writes the files that the command line asks for."""
    if given.write_baseline:
        Baseline.of(findings).save(given.write_baseline)
    left = Baseline.load(given.baseline).remaining(findings) if given.baseline else findings
    if given.html:
        left.to_html(given.html, title=title)
    return left


def failing(left: Findings, given: argparse.Namespace) -> tuple[Finding, ...]:
    """The findings for which a check fails: errors, with --fail-on note all but what is mostly meant.

    A check that writes a baseline accepts all of them, and fails for none.
    """
    if given.write_baseline:
        return ()
    return left.errors if given.fail_on == "error" else left.faults


def told(left: Findings, found: Findings, given: argparse.Namespace) -> str:
    """The findings that are left of all that were found, as a text that says how many a baseline accepts."""
    if left == found:
        return str(left)
    accepted = f"{len(found) - len(left)} accepted by {given.baseline}"
    return f"{left}\n\n{accepted}" if left else f"no new findings; {accepted}"


def written(found: Findings, path: str) -> str:
    """What is told of a baseline that has been written."""
    return f"{path}: {len(found)} finding{'' if len(found) == 1 else 's'} written"


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
