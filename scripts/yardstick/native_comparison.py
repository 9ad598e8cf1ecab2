"""Native comparison: how a program's output, its return code and its memories stand to what SimSYCL makes of it.

Lines are compared in turn: words are equal; integers are equal; numbers with a point or an exponent, by the rule of
`comparison`, and where both are below ROUNDING, which is what differences of two ways of computing come to. These lines
are left out on both sides: those that tell of time or of the machine (IGNORED), empty ones, and those that two runs of
SimSYCL do not have in common. Where the two runs print the same lines in another order, so may xeemu.

A memory of SimSYCL's is found again where an array of xeemu's agrees with it in all bytes that the two runs of SimSYCL
have in common. Arrays are those at the end and those that kernels were given, by whatever name.
"""

import dataclasses
import re
from collections.abc import Iterable, Sequence

import numpy as np

from yardstick import comparison
from yardstick.native import Native

ROUNDING = 1e-5
IGNORED = re.compile(
    r"\b(time|timing|elapsed|duration|took|sec|secs|seconds?|ms|us|ns|msecs?|usecs?|milliseconds?|microseconds?|"
    r"nanoseconds?|[GMKT]?i?B(ytes)?/s(ec)?|[GMT]?FLOP\w*|throughput|bandwidth|speed-?up|cycles|clock|"
    r"device *(name|id|type)?\s*:|sub-?group sizes?\b|platform|vendor|driver|"
    r"running on|SimSYCL|xeemu|Intel|0x[0-9a-f]{5,}\b)",
    re.I,
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|inf|nan|-nan)(?![\w])", re.I)


@dataclasses.dataclass(frozen=True)
class Likeness:
    """How a run compares.

    Attributes:
      said: `agrees`, `differs`, `silent` (nothing that can be compared but the return code), `no native result`.
      differences: the first that differ, in words; why there is no result.
      lines: how many lines that hold a number were compared.
      memories, found: how many of SimSYCL's memories have bytes to compare, and how many of these are found again.
      seconds: that SimSYCL's first run took.
    """

    said: str
    differences: tuple[str, ...] = ()
    lines: int = 0
    memories: int = 0
    found: int = 0
    seconds: float = 0.0


def compared(native: Native, text: str, status: int, arrays: Iterable[np.ndarray]) -> Likeness:
    """Compares a run of xeemu's with SimSYCL's.

    Args:
      arrays: contents of xeemu's memories.
    """
    if native.error:
        return Likeness("no native result", (native.error,))
    lines, differences = texts(native, text)
    if native.status == native.status_again and status & 0xFF != native.status:  # of a process's status that is left
        differences = (f"returned {status}, not {native.status}", *differences)
    steady = [pair for pair in zip(native.contents, native.contents_again, strict=False) if worth(*pair)]
    those = {(array.dtype.str, array.tobytes()): array for array in arrays}.values()
    found = sum(any(alike(first, second, array) for array in those) for first, second in steady)
    said = "differs" if differences else "agrees" if lines or found else "silent"
    return Likeness(said, differences[:5], lines, len(steady), found, native.seconds)


# --- Texts ---


def texts(native: Native, ours: str) -> tuple[int, tuple[str, ...]]:
    """How many lines with a number can be compared, and how those that can differ."""
    first, second, own = (told(text) for text in (native.text, native.again, ours))
    if first != second and sorted(first) == sorted(second):
        first, second, own = sorted(first), sorted(second), sorted(own)
    if len(first) != len(second):
        return 0, ()
    if len(own) != len(first):
        return numbered(first), (f"{len(own)} lines, not {len(first)}: {unlike(own, first)}",)
    pairs = [(a, b) for a, b, again in zip(own, first, second, strict=True) if like(b, again)]
    return numbered([b for _, b in pairs]), tuple(f"{a!r}, not {b!r}"[:200] for a, b in pairs if not like(a, b))


def told(text: str) -> list[str]:
    """The lines that say something of the results."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in lines if line and not IGNORED.search(line)]


def numbered(lines: Iterable[str]) -> int:
    return sum(_NUMBER.search(line) is not None for line in lines)


def unlike(own: Sequence[str], theirs: Sequence[str]) -> str:
    """The first lines at which two texts part."""
    k = next(
        (k for k, (a, b) in enumerate(zip(own, theirs, strict=False)) if not like(a, b)), min(map(len, (own, theirs)))
    )
    a, b = (lines[k][:80] if k < len(lines) else "nothing" for lines in (own, theirs))
    return f"{a!r}, not {b!r}"


def like(a: str, b: str) -> bool:
    """True if two lines say the same, apart from rounding."""
    if a == b:
        return True
    if _NUMBER.sub("#", a) != _NUMBER.sub("#", b):
        return False
    ours, theirs = _NUMBER.findall(a), _NUMBER.findall(b)
    exact = [x == y for x, y in zip(ours, theirs, strict=True)]
    rounded = [rough(x) or rough(y) for x, y in zip(ours, theirs, strict=True)]
    x, y = (np.array(list(map(float, numbers))) for numbers in (ours, theirs))
    near = close(x, y)
    return all(e or (r and n) for e, r, n in zip(exact, rounded, near, strict=True))


def rough(number: str) -> bool:
    """True if a number is one that is rounded, by how it is written."""
    return not re.fullmatch(r"[-+]?\d+", number)


def close(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    small = (np.abs(ours) < ROUNDING) & (np.abs(theirs) < ROUNDING)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    allowed = comparison.RELATIVE["f4"] * np.abs(theirs)
    return small | same | (np.abs(ours - theirs) <= allowed)


# --- Memories ---


def worth(first: np.ndarray, second: np.ndarray) -> bool:
    """True if two runs left anything in common in a memory."""
    return len(first) == len(second) and bool((first == second).any())


def alike(first: np.ndarray, second: np.ndarray, ours: np.ndarray) -> bool:
    """True if an array agrees with a memory in what two runs have in common, element by element."""
    ours = np.ascontiguousarray(ours)
    if ours.nbytes != len(first) or not ours.nbytes or ours.dtype.names is not None:
        return ours.nbytes == len(first) and records_alike(first, second, ours)
    theirs, again = (whole.view(ours.dtype) for whole in (first, second))
    steady = theirs.view(np.uint8).reshape(len(theirs), -1) == again.view(np.uint8).reshape(len(theirs), -1)
    part = steady.all(axis=1)
    return comparison.compared(ours.reshape(-1)[part], theirs[part]).wrong == 0


def records_alike(first: np.ndarray, second: np.ndarray, ours: np.ndarray) -> bool:
    """The same for records, byte by byte."""
    raw = ours.view(np.uint8).reshape(-1)
    return len(raw) == len(first) and bool((raw == first)[first == second].all())
