"""Formats: `printf` on the host, and numbers as its streams print them."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xeemu.frontends import printed_numbers
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Scalar, Type

_CONVERSION = re.compile(r"%([-+ #0]*)(\d+|\*)?(?:\.(-?\d+|\*)?)?(hh|h|ll|l|j|z|t|L)?([diouxXfFeEgGaAcsp%])")
_BITS = {"hh": 8, "h": 16, "": 32, "l": 64, "ll": 64, "j": 64, "z": 64, "t": 64}
FIXED, SCIENTIFIC, SHOWPOINT, SHOWPOS, UPPERCASE = 1, 2, 32, 64, 256
"""Flags of streams, as our header `ostream` has them."""


@dataclasses.dataclass(frozen=True)
class Reader:
    """What looks at pointers.

    Attributes:
      text: reads a string.
      number: gives the number that stands for an address.
    """

    text: Callable[[Any], str]
    number: Callable[[Any], int]


def formatted(form: str, values: Sequence[Any], given: Sequence[Type], reader: Reader) -> str:
    """A text with values in it."""
    waiting = iter(zip(values, given, strict=False))
    return _CONVERSION.sub(lambda match: _one(match, waiting, reader), form)


def _one(match: re.Match[str], waiting: Iterator[tuple[Any, Type]], reader: Reader) -> str:
    flags, width, precision, length, kind = match.groups()
    if kind == "%":
        return "%"
    width, precision = (str(next(waiting, (0, None))[0]) if part == "*" else part for part in (width, precision))
    found: tuple[Any, Type | None] = next(waiting, (UNKNOWN, None))
    value, of = found
    if value is UNKNOWN:
        return "?"
    if "." in match[0] and precision is None:
        precision = "0"
    given = "" if precision is None or precision.startswith("-") else f".{precision}"
    if kind in "diouxXfFeEgGaA":
        number = _whole(int(value), kind, length or "", of) if kind in "diouxX" else float(value)
        return printed_numbers.number(number, kind, *_room(flags, width), int(given[1:]) if given else None)
    plain = f"%{flags.replace('0', '')}{width or ''}"
    if kind == "s":
        return f"{plain}{given}s" % ("(null)" if value[0] is None and not value[1] else reader.text(value))
    return f"{plain}s" % (chr(int(value) & 0xFF) if kind == "c" else pointer(value, reader.number))


def pointer(value: Any, number: Callable[[Any], int]) -> str:
    """An address, as `%p` prints it."""
    return "(nil)" if value[0] is None and not value[1] else hex(number(value))


def _whole(x: int, kind: str, length: str, of: Type | None) -> int:
    """The number of a type that a conversion prints; what is longer than it says is taken whole."""
    bits = _BITS[length]
    if not length and isinstance(of, Scalar):
        bits = max(bits, 8 * of.size)
    x &= (1 << bits) - 1
    return x - (1 << bits) if kind in "di" and x >> (bits - 1) else x


def _room(flags: str, width: str | None) -> tuple[str, int]:
    """The flags and the width of a conversion; a negative one is to the left."""
    number = int(width or 0)
    return (flags, number) if number >= 0 else (f"{flags}-", -number)


def streamed(x: float, digits: int, flags: int) -> str:
    """A number as a stream prints it, by its flags and precision."""
    style = flags & (FIXED | SCIENTIFIC)
    kind = {0: "g", FIXED: "f", SCIENTIFIC: "e"}.get(style, "a")
    kind = kind.upper() if flags & UPPERCASE else kind
    marks = ("+" if flags & SHOWPOS else "") + ("#" if flags & SHOWPOINT else "")
    # Hexadecimal digits are all there, whatever the precision.
    return printed_numbers.number(x, kind, marks, 0, None if kind in "aA" else digits)
