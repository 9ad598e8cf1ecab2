"""Checks: which findings of a check count, and the forms in which they are told."""

import argparse
import json
from collections.abc import Callable, Mapping

import xeemu as xe
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


def failing(findings: Findings, least: str) -> tuple[Finding, ...]:
    """The findings for which a check fails: errors, with `least` of "note" all but what is mostly meant."""
    return findings.errors if least == "error" else findings.faults


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
