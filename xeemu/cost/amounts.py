"""Amounts: arithmetic with figures that may not be known."""

from collections.abc import Iterable
from typing import TypeVar

N = TypeVar("N", int, float)


def product(a: float | None, b: float | None) -> float | None:
    """0 where a factor is 0: what is not there needs no figure."""
    if a == 0 or b == 0:
        return 0.0
    return None if a is None or b is None else a * b


def quotient(a: float | None, b: float | None) -> float | None:
    """0 where the dividend is 0; not known where the divisor is 0."""
    if a == 0:
        return 0.0
    return None if a is None or not b else a / b


def difference(a: float | None, b: float | None) -> float | None:
    """At least 0."""
    return None if a is None or b is None else max(0.0, a - b)


def total(addends: Iterable[N | None]) -> N | None:
    """Not known where an addend is not."""
    each = list(addends)
    known = [addend for addend in each if addend is not None]
    return sum(known) if len(known) == len(each) else None


def most(each: Iterable[N | None]) -> N | None:
    """The greatest of numbers that are at least 0, 0 without any; not known where one is not."""
    found = list(each)
    known = [number for number in found if number is not None]
    return max(known, default=0) if len(known) == len(found) else None
