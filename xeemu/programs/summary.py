"""Summary: a run of a program as text: what it has printed, its launches, its arrays, and what is wrong with it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xeemu.frontends.sycl import ranges
from xeemu.language.ndrange import NDRange

if TYPE_CHECKING:
    from xeemu.programs.results import Result, Submitted


def runs(submissions: "Sequence[Submitted]") -> "list[tuple[Submitted, int]]":
    """The launches in order, those in a row that differ in their arguments alone as one with their number."""
    found: list[tuple[Submitted, int]] = []
    for one in submissions:
        if found and _key(found[-1][0]) == _key(one):
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((one, 1))
    return found


def _key(one: "Submitted") -> tuple[str, str, int, NDRange]:
    return one.name, one.file, one.line, one.nd_range


def launches(of: "Submitted", count: int) -> str:
    """The sizes of a launch, and how many there are of it."""
    many = f", {count} times" if count > 1 else ""
    return f"{ranges.told(of.nd_range)}{many}"


def result(of: "Result") -> str:
    """All of a run, each part after an empty line."""
    parts = [of.output.rstrip("\n"), "\n".join(_launches(of.submissions)), "\n".join(_arrays(of))]
    parts += [str(finding) for finding in (*of.findings, *of.leaks)]
    if of.exit_code:
        parts.append(f"main gives {of.exit_code}")
    return "\n\n".join(part for part in parts if part)


def _launches(submissions: "Sequence[Submitted]") -> list[str]:
    return [f"kernel {s.name}, line {s.line}: {launches(s, count)}" for s, count in runs(submissions)]


def _arrays(of: "Result") -> list[str]:
    """The arrays, each under the first of its names."""
    first = {id(array): name for name, array in reversed(list(of.arrays.items()))}
    shown = {name: of.arrays[name] for name in of.arrays if first[id(of.arrays[name])] == name}
    return [f"array {name}: {array.dtype}[{', '.join(map(str, array.shape))}]" for name, array in shown.items()]
