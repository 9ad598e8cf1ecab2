"""Programs: a SYCL program run from the beginning of `main` to its end, as the command line tells it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import xeemu as xe
from xeemu.commands import printing
from xeemu.commands.notation import UsageError
from xeemu.devices.device import Device
from xeemu.programs import summary

if TYPE_CHECKING:
    from xeemu.programs.results import Result, Submitted

_HEADER = ("kernel", "line", "launch", "time")


def run(path: str, arguments: Sequence[str], device: Device, build: str, std: str | None) -> "Result":
    """A program with the arguments of its command line."""
    kernels = xe.load(path, build, std=std)
    if not hasattr(kernels, "run"):
        raise UsageError(f"{path} is no SYCL C++, whose host code could be run; name a kernel, {path}:KERNEL")
    result: Result = kernels.run(device=device, arguments=arguments)
    return result


def told(result: "Result", checked: bool) -> str:
    """What a program has printed, its launches with their times on the modelled device, and what is wrong with them."""
    rows = [_row(s, n) for s, n in summary.runs(result.submissions)]
    parts = [result.output.rstrip("\n"), printing.table(_HEADER, rows) if rows else ""]
    parts += [str(finding) for finding in result.findings]
    if checked:
        parts += [*_findings(result.submissions), *map(str, result.leaks)]
    if result.exit_code:
        parts.append(f"main gives {result.exit_code}")
    return "\n\n".join(part for part in parts if part)


def is_faulty(result: "Result", checked: bool) -> bool:
    """True if the program says that it failed, or an error is found in it."""
    found = [result.findings, *(s.findings for s in result.submissions if checked)]
    return bool(result.exit_code) or any(findings.errors for findings in found)


def _findings(submissions: "Sequence[Submitted]") -> list[str]:
    """What is wrong with the launches; of several of one kernel each finding at the same lines once."""
    found: dict[object, str] = {}
    for s in submissions:
        for finding in s.findings:
            key = s.name, s.line, finding.kind, finding.memory, finding.sites
            found.setdefault(key, f"{s.name}, line {s.line}: {finding}")
    return list(found.values())


def _row(submitted: "Submitted", count: int) -> tuple[str, ...]:
    """A launch, with the time of the first of those in a row that differ in their arguments alone."""
    report = submitted.timed
    time = "?" if report.time_s is None else f"{report.limit} {report.time_s * 1e6:.4g} us ~".lstrip()
    return submitted.name, str(submitted.line), summary.launches(submitted, count), time
