"""Texts: what work-items have printed, from the words that they have kept of it."""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from xeemu.frontends import printed_numbers
from xeemu.frontends.tree import SourceLocation
from xeemu.frontends.types import Scalar

_CONVERSION = re.compile(r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>(?:\.\d*)?)(?:v(?P<count>\d+))?"
                         r"(?P<length>hh|hl|h|ll|l|j|z|t|L)?(?P<kind>[diouxXfFeEgGaAcsp%])")  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of `printf`.

    Attributes:
      text: of a string, or in front of a pointer's offset.
      type: of its numbers, which take a word of 32 bits each, or two; None of a string.
      numbers: those that are known, None for the others.
    """

    text: str = ""
    type: Scalar | None = None
    numbers: tuple[int | float | bool | None, ...] = ()

    @property
    def words(self) -> int:
        """The words that are kept of it."""
        assert self.type is not None or not self.numbers
        return sum(n is None for n in self.numbers) * (2 if self.type is not None and self.type.size == 8 else 1)

    def values(self, words: Iterator[np.uint32]) -> list[Any]:
        """Its numbers, those that are not known from the words."""
        return [self._value(words) if n is None else n for n in self.numbers]

    def _value(self, words: Iterator[np.uint32]) -> Any:
        of = self.type
        assert of is not None
        if of.size == 8:
            return np.array([next(words), next(words)], np.uint32).view(of.dtype)[0].item()
        word = np.array([next(words)], np.uint32)
        return word.view(np.float32 if of.is_float else np.int32 if of.is_signed else np.uint32)[0].item()


@dataclasses.dataclass(frozen=True)
class Piece:
    """A call of `printf`, as far as it is known before the kernel runs, or an `assert`, which is told if it fails."""

    format: str
    place: SourceLocation
    arguments: tuple[Argument, ...]
    failed: bool = False

    @property
    def words(self) -> int:
        return 1 + sum(argument.words for argument in self.arguments)

    def text(self, words: Iterator[np.uint32]) -> str:
        """What is printed, with the words that a work-item has kept."""
        waiting = iter(self.arguments)
        return _CONVERSION.sub(lambda match: _converted(match, waiting, words), self.format)


def _converted(match: re.Match[str], waiting: Iterator[Argument], words: Iterator[np.uint32]) -> str:
    if match["kind"] == "%":
        return "%"
    argument = next(waiting, None)
    if argument is None:
        return match.group()
    numbers = argument.values(words)
    if argument.type is None or match["kind"] in "sp":
        text = argument.text + "".join(f"+{n}" for n in numbers)
        return f"%{match['flags']}{match['width']}{match['precision']}s" % text
    return ",".join(_number(match, argument.type, n) for n in numbers)


def _number(match: re.Match[str], of: Scalar, number: Any) -> str:
    kind = match["kind"]
    if kind == "c":
        return f"%{match['flags']}{match['width']}c" % (int(number) & 0xFF)
    value = float(number) if kind in "fFeEgGaA" else _integer(int(number), kind, match["length"], max(of.size, 4))
    precision = int(match["precision"][1:] or 0) if match["precision"] else None
    return printed_numbers.number(value, kind, match["flags"], int(match["width"] or 0), precision)


def _integer(number: int, kind: str, length: str | None, size: int) -> int:
    """An integer as its conversion reads it, signed or not, of the length that is written."""
    bits = 8 * {"hh": 1, "h": 2, "hl": 4}.get(length or "", size)
    number &= (1 << bits) - 1
    return number - (1 << bits) if kind in "di" and number >> (bits - 1) else number


class Pieces:
    """The calls of `printf` that the traces of a kernel have met, each with a number from 1."""

    def __init__(self) -> None:
        self._numbers: dict[Piece, int] = {}

    def number(self, piece: Piece) -> int:
        return self._numbers.setdefault(piece, len(self._numbers) + 1)

    def __getitem__(self, number: int) -> Piece:
        return list(self._numbers)[number - 1]


@dataclasses.dataclass(frozen=True)
class Line:
    """What one call of `printf` has printed.

    Attributes:
      text: with its line break, if it has one.
      work_item: the global id, in the order of the nd-range's dimensions.
      file, line: of the call.
      failed: that it is of an `assert` that does not hold.
    """

    text: str
    work_item: tuple[int, ...]
    file: str
    line: int
    failed: bool = False

    def __str__(self) -> str:
        return self.text


class Printed(tuple[Line, ...]):
    """What the work-items of a launch have printed, one work-item after the other; `str()` gives the text.

    Attributes:
      lost: the global ids of work-items that have printed more than was kept.
    """

    lost: tuple[tuple[int, ...], ...]

    def __new__(cls, lines: Sequence[Line], lost: Sequence[tuple[int, ...]] = ()) -> "Printed":
        made = super().__new__(cls, lines)
        made.lost = tuple(lost)
        return made

    def __str__(self) -> str:
        return "".join(line.text for line in self)


def spelt(letters: str) -> str:
    """The text whose bytes in UTF-8 are given, each as a character."""
    return letters.encode("latin-1", "replace").decode(errors="replace")


def letters(text: str) -> str:
    """A text's bytes in UTF-8, each as a character, which is how programs hold texts."""
    return text.encode().decode("latin-1")


def of_rows(rows: np.ndarray, pieces: Pieces, shape: tuple[int, ...]) -> Printed:
    """What work-items have printed.

    Args:
      rows: uint32, for each work-item the numbers and words of what it has printed, and last if there was more.
      pieces: by their numbers.
      shape: global size.
    """
    lines: list[Line] = []
    for item in np.flatnonzero(rows[:, 0]).tolist():
        at = tuple(int(k) for k in np.unravel_index(item, shape))
        lines += [
            Line(spelt(text), at, p.place.file, p.place.line, p.failed) for text, p in _of_row(rows[item, :-1], pieces)
        ]
    lost = np.flatnonzero(rows[:, -1]).tolist()
    return Printed(lines, [tuple(int(k) for k in np.unravel_index(item, shape)) for item in lost])


def _of_row(row: np.ndarray, pieces: Pieces) -> Iterator[tuple[str, Piece]]:
    start = 0
    while start < len(row) and row[start]:
        piece = pieces[int(row[start])]
        yield piece.text(iter(row[start + 1 : start + piece.words])), piece
        start += piece.words
