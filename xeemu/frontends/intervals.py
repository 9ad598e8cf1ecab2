"""Intervals: the least and greatest value that an integer expression can have over the launch, in exact integers."""

import functools
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

Interval: TypeAlias = tuple[int, int]

_INT32 = np.iinfo(np.int32)


@functools.lru_cache(maxsize=64)
def of_type(dtype: np.dtype) -> Interval:
    """All that an integer type, or bool, can hold."""
    if dtype.kind == "b":
        return 0, 1
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def within(inner: Interval, outer: Interval) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def fits_int32(interval: Interval | None) -> bool:
    return interval is not None and within(interval, (int(_INT32.min), int(_INT32.max)))


def joined(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def binary(op: str, a: Interval, b: Interval) -> Interval | None:
    """Of the exact result of an operator of C; None where nothing is known."""
    rule = _BINARY.get(op)
    return None if rule is None else rule(a, b)


def compared(op: str, a: Interval, b: Interval) -> bool | None:
    """The result of a comparison that the intervals decide, else None."""
    if op in (">", ">="):
        return compared("<" if op == ">" else "<=", b, a)
    if op == "<":
        return True if a[1] < b[0] else False if a[0] >= b[1] else None
    if op == "<=":
        return True if a[1] <= b[0] else False if a[0] > b[1] else None
    equal = True if a[0] == a[1] == b[0] == b[1] else False if a[1] < b[0] or b[1] < a[0] else None
    return equal if op == "==" or equal is None else not equal


def quotient(a: int, b: int) -> int:
    """C's division, towards zero."""
    magnitude = abs(a) // abs(b)
    return magnitude if (a < 0) == (b < 0) else -magnitude


def _product(a: Interval, b: Interval) -> Interval:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _quotient(a: Interval, b: Interval) -> Interval | None:
    if b[0] <= 0 <= b[1]:
        return None
    ends = [quotient(x, y) for x in a for y in b] + [0] * (a[0] <= 0 <= a[1])
    return min(ends), max(ends)


def _remainder(a: Interval, b: Interval) -> Interval | None:
    if b[0] <= 0 <= b[1]:
        return None
    most = max(abs(b[0]), abs(b[1])) - 1
    if b[0] == b[1] and a[0] >= 0 and a[1] <= most:
        return a
    return (max(a[0], -most) if a[0] < 0 else 0), (min(a[1], most) if a[1] > 0 else 0)


def _and(a: Interval, b: Interval) -> Interval | None:
    positive = [x[1] for x in (a, b) if x[0] >= 0]
    return (0, min(positive)) if positive else None


def _or(a: Interval, b: Interval) -> Interval | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return 0, (1 << max(a[1], b[1]).bit_length()) - 1


def _left(a: Interval, b: Interval) -> Interval | None:
    if not (b[0] >= 0 and b[1] < 64):
        return None
    return _product(a, (1 << b[0], 1 << b[1]))


def _right(a: Interval, b: Interval) -> Interval | None:
    if not (b[0] >= 0 and b[1] < 64):
        return None
    ends = [x >> y for x in a for y in b]
    return min(ends), max(ends)


_BINARY: dict[str, Callable[[Interval, Interval], Interval | None]] = {
    "+": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "-": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "*": _product,
    "/": _quotient,
    "%": _remainder,
    "&": _and,
    "|": _or,
    "^": _or,
    "<<": _left,
    ">>": _right,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}
