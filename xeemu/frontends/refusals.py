"""Refusals: what is wrong with a source, with its file, line and column and a caret below."""

import linecache

from xeemu.errors import KernelError
from xeemu.frontends.tree import SourceLocation
from xeemu.language.places import from_here


class Unplaced(KernelError):
    """An error of what has no place in the user's file; whoever knows one says it there."""


def at(place: SourceLocation, message: str) -> KernelError:
    """An error of the source; the message says what to write instead."""
    if not place.line:
        return Unplaced(message)
    where = f"\n  at {from_here(place.file)}:{place.line}:{place.column}"
    text = linecache.getline(place.file, place.line).rstrip("\n")
    if not text.strip():
        return KernelError(message + where)
    indent = "".join(c if c == "\t" else " " for c in text[: max(place.column - 1, 0)])
    return KernelError(f"{message}{where}\n    {text}\n    {indent}^")
