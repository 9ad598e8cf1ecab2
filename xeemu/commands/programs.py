"""Programs: a SYCL program run from the beginning of `main` to its end, as the command line tells it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import xeemu as xe
from xeemu.commands.notation import UsageError
from xeemu.devices.device import Device

if TYPE_CHECKING:
    from xeemu.programs.results import Result, Submitted

_HEADER = ("kernel", "line", "launch", "time")


def run(path: str, arguments: Sequence[str], device: Device, build: str, std: str | None) -> "Result":
    """A program with the arguments of its command line."""
    kernels = xe.load(path, build, std)
    if not hasattr(kernels, "run"):
        raise UsageError(f"{path} is no SYCL C++, whose host code could be run; name a kernel, {path}:KERNEL")
    result: Result = kernels.run(device=device, arguments=arguments)
    return result


def told(result: "Result", checked: bool) -> str:
    """What a program has printed, its launches with their times on the modelled device, and what is wrong with them."""
    parts = [result.output.rstrip("\n"), _table([_row(s) for s in result.submissions])]
    parts += [str(finding) for finding in result.findings]
    if checked:
        parts += [f"{s.name}, line {s.line}: {finding}" for s in result.submissions for finding in s.findings]
    if result.exit_code:
        parts.append(f"main gives {result.exit_code}")
    return "\n\n".join(part for part in parts if part)


def is_faulty(result: "Result", checked: bool) -> bool:
    """Whether the program says that it failed, or an error is found in it."""
    found = [result.findings, *(s.findings for s in result.submissions if checked)]
    return bool(result.exit_code) or any(findings.errors for findings in found)


def _row(submitted: "Submitted") -> tuple[str, ...]:
    time_s = submitted.time_s
    sizes = submitted.nd_range
    local = "" if sizes.local_size is None else f", local {_sizes(sizes.local_size)}"
    launch = f"global {_sizes(sizes.global_size)}{local}"
    return submitted.name, str(submitted.line), launch, "?" if time_s is None else f"{time_s * 1e6:.4g} us"


def _sizes(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))


def _table(rows: list[tuple[str, ...]]) -> str:
    """The launches in order; empty where there are none."""
    if not rows:
        return ""
    widths = [max(map(len, column)) for column in zip(_HEADER, *rows, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in (_HEADER, *rows)]
    return "\n".join(line.rstrip() for line in lines)
