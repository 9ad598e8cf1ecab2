"""Formats: `printf` on the host."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Scalar, Type

_CONVERSION = re.compile(r"%([-+ #0]*)(\d+|\*)?(?:\.(\d+|\*)?)?(hh|h|ll|l|j|z|t|L)?([diouxXfFeEgGaAcsp%])")


def formatted(form: str, values: Sequence[Any], given: Sequence[Type], text: Callable[[Any], str]) -> str:
    """A text with values in it; `text` reads a string."""
    waiting = iter(zip(values, given, strict=False))
    return _CONVERSION.sub(lambda match: _one(match, waiting, text), form)


def _one(match: re.Match[str], waiting: Iterator[tuple[Any, Type]], text: Callable[[Any], str]) -> str:
    flags, width, precision, _, kind = match.groups()
    if kind == "%":
        return "%"
    width, precision = (str(next(waiting, (0, None))[0]) if part == "*" else part for part in (width, precision))
    found: tuple[Any, Type | None] = next(waiting, (UNKNOWN, None))
    value, of = found
    if value is UNKNOWN:
        return "?"
    head = f"%{flags}{width or ''}" + (f".{precision}" if precision is not None else "." * ("." in match[0]))
    match kind:
        case "s":
            return f"{head}s" % text(value)
        case "c":
            return f"{head}c" % chr(int(value) & 0xFF)
        case "p":
            return hex(value[1])
        case "f" | "F" | "e" | "E" | "g" | "G":
            return f"{head}{kind}" % float(value)
        case "a" | "A":
            return float(value).hex()
    number = int(value)
    if kind not in "di" and number < 0:
        number &= (1 << (8 * of.size if isinstance(of, Scalar) else 64)) - 1
    return f"{head}{'d' if kind in 'iu' else kind}" % number
