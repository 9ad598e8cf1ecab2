"""Terminal: how wide the output is, the colours of what is printed on one, and readers that leave."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, TextIO, cast

NARROWEST = 80
"""Columns of texts where nothing says how many there are."""

_BOLD, _RED, _GREEN, _YELLOW, _CYAN = "1", "1;31", "32", "33", "36"
_COLOURS: Sequence[tuple[str, str]] = (
    (r"^error\b[^:\n]*:", _RED),
    (r"\bDIFFERS\b", _RED),
    (r"^note:", _YELLOW),
    (r"\bbit-equal\b|^no findings$|^no new findings(?=;)", _GREEN),
    (r"^[A-Z]{3,}(?: [A-Z]{2,})*(?=  |$)", _BOLD),
    (r"^  H\d+(?: [\w-]+)+(?=   |$)", _YELLOW),
    (r"(?<![\w./-])[\w./+-]+\.(?:py|cl|cpp|hpp|h):\d+", _CYAN),
)
_PATTERN = re.compile("|".join(f"({pattern})" for pattern, _ in _COLOURS), re.MULTILINE)


class _Unread:
    """A stream that takes what nobody reads any more: a command goes on, and its exit code is what it finds."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._leave()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._leave()

    def _leave(self) -> None:
        """Sends what comes to nowhere, also what Python still writes as it exits."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def unread(stream: TextIO) -> TextIO:
    """The stream, which takes what is written where its reader has left, as `head` does."""
    return cast(TextIO, _Unread(stream))


def width(stream: TextIO) -> int:
    """Columns of a stream, 80 at least; 80 where it is no terminal."""
    return max(NARROWEST, shutil.get_terminal_size().columns) if stream.isatty() else NARROWEST


def has_colours(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """True to print colours: on a terminal, or where `FORCE_COLOR` asks for them, unless `NO_COLOR` forbids it."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") != "0":
        return bool(environ["FORCE_COLOR"])
    return stream.isatty() and environ.get("TERM") != "dumb"


def painted(text: str) -> str:
    """A text with the escape sequences of its colours: what is wrong, heads, hints, and lines of sources."""
    return _PATTERN.sub(_paint, text)


def _paint(found: re.Match[str]) -> str:
    assert found.lastindex is not None
    return f"\033[{_COLOURS[found.lastindex - 1][1]}m{found[0]}\033[0m"
