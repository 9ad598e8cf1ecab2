"""Declarations: how the source declares a kernel and its parameters, and what is written above it."""

import linecache
import re
from collections.abc import Sequence

from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import effects
from xeemu.frontends.tree import Declaration, Variable
from xeemu.frontends.types import Array, Scalar, Type

_COMMENT = re.compile(r"^\s*(//+|/\*+|\*+/?)\s?|\s*\*+/\s*$")


def parameter(of: Variable) -> str:
    """A parameter as the source declares it."""
    return of.declared or f"{of.type} {of.name}"


def kernel(of: Function) -> str:
    """A kernel as C declares it, without its attributes."""
    return f"void {of.name}({', '.join(map(parameter, of.parameters))})"


def shapes(of: Function) -> dict[str, tuple[int, ...]]:
    """The dimensions of the arrays of numbers that a kernel and its functions declare, of names that have one alone."""
    found: dict[str, set[tuple[int, ...]]] = {}
    for function in effects.functions(of):
        for node in effects.nodes(function.body):
            for variable in node.variables if isinstance(node, Declaration) else ():
                if isinstance(variable.type, Array):
                    found.setdefault(variable.name, set()).add(_dimensions(variable.type))
    return {name: next(iter(some)) for name, some in found.items() if len(some) == 1}


def _dimensions(of: Type) -> tuple[int, ...]:
    """Of an array of numbers; none of anything else."""
    if isinstance(of, Array):
        return (of.count, *_dimensions(of.element))
    return () if isinstance(of, Scalar) else (0,)


def lines(of: Function) -> tuple[tuple[int, str], ...]:
    """A function's lines with their numbers, from its declaration to its closing brace; none if not at hand."""
    text = [line.rstrip("\n") for line in linecache.getlines(of.place.file)]
    if not 1 <= of.place.line <= len(text):
        return ()
    first = _first(text, of.place.line)
    last = _closing(text, of.place.line)
    return tuple((n, text[n - 1]) for n in range(first, last + 1))


def summary(of: Function) -> str:
    """The first line of the comment above a function; empty if there is none."""
    text = linecache.getlines(of.place.file)
    last = _first(text, of.place.line) - 1 if 1 <= of.place.line <= len(text) else 0
    block: list[str] = []
    inside = False
    while last >= 1 and (line := text[last - 1].strip()) and (inside or line.startswith("//") or line.endswith("*/")):
        block.append(line)
        inside = (inside or line.endswith("*/")) and "/*" not in line
        last -= 1
    if any(re.search(r"copyright|licen[sc]e", line, re.IGNORECASE) for line in block):
        return ""  # it is on the file
    words = (_COMMENT.sub("", _COMMENT.sub("", line)).strip() for line in reversed(block))
    return next((w for w in words if re.search(r"\w", w)), "")


def _first(text: Sequence[str], line: int) -> int:
    """The line on which the declaration begins that goes on, or ends, in a line."""
    while line > 1 and (above := text[line - 2].strip()) and not _ends_something(above):
        line -= 1
    return line


def _ends_something(line: str) -> bool:
    return line.endswith(("}", ";", "*/")) or line.startswith(("#", "//", "/*", "*"))


_TOKEN = re.compile(r'//|/\*|\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[{}]')


def _closing(text: Sequence[str], line: int) -> int:
    """The line of the brace that closes the first block that opens in a line or below."""
    depth, comment = 0, False
    for number in range(line, len(text) + 1):
        for token in _TOKEN.findall(text[number - 1]):
            if comment or token == "/*":
                comment = token != "*/"
            elif token == "//":
                break
            elif token in "{}":
                depth += 1 if token == "{" else -1
                if depth == 0 and token == "}":
                    return number
    return len(text)
