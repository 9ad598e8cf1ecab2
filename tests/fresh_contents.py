"""What the arguments of `fresh_kernels` hold: numbers that follow from places alone, as where they were measured."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

DTYPES = {"F": np.float32, "D": np.float64, "I": np.uint32, "L": np.uint64, "B": np.uint8}


class Buffer(NamedTuple):
    """An argument in global memory.

    Attributes:
      kind: F or D for floats of 32 or 64 bits, B, I or L for unsigned integers of 8, 32 or 64.
      count: elements.
      fill: `zero`; `unit` for 0 to 1; `above` for 0.5 to 1.5; `hashed`; or a key of `_FILLS`.
      most: for `mod`, above all elements.
    """

    kind: str
    count: int
    fill: str = "zero"
    most: int = 0


Argument = Buffer | int | float


def _mixed(x: np.ndarray) -> np.ndarray:
    """Steele's SplitMix64 of uint64."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def contents(buffer: Buffer, at: int, arguments: Sequence[Argument]) -> np.ndarray:
    """The contents of an argument, which is number `at` of some."""
    if buffer.fill == "zero":
        return np.zeros(buffer.count, DTYPES[buffer.kind])
    if buffer.fill == "hashed":
        keys = arguments[0]
        assert isinstance(keys, Buffer)
        return _hashed(contents(keys, 0, arguments), buffer.count)
    places = np.arange(buffer.count, dtype=np.uint64)
    bits = _mixed(places + np.uint64((at + 1) << 40))
    if buffer.kind in "FD":
        return _floats(bits, buffer.kind) + DTYPES[buffer.kind](0.5 * (buffer.fill == "above"))
    if buffer.kind in "LB":
        return bits if buffer.kind == "L" else (bits >> np.uint64(56)).astype(np.uint8)
    return _FILLS[buffer.fill](places, (bits >> np.uint64(32)).astype(np.uint32), buffer.most)


def _floats(bits: np.ndarray, kind: str) -> np.ndarray:
    """From 0 to 1."""
    digits = 24 if kind == "F" else 53
    return (bits >> np.uint64(64 - digits)).astype(DTYPES[kind]) * DTYPES[kind](2.0**-digits)


def _cycle(places: np.ndarray, _: np.ndarray, __: int) -> np.ndarray:
    """The next element of each in a cycle through all, whose number is a power of two (Hull and Dobell, 1962)."""
    return ((np.uint64(1664525) * places + np.uint64(1013904223)) & np.uint64(len(places) - 1)).astype(np.uint32)


def _rows(places: np.ndarray, bits: np.ndarray, _: int) -> np.ndarray:
    """Where rows of 0 to 64 elements begin, 32 in the mean, and where the last ends."""
    begin = 32 * places.astype(np.int64) - 16 + bits % 33
    begin[0], begin[-1] = 0, 32 * (len(places) - 1)
    return begin.astype(np.uint32)


_FILLS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "bits": lambda _, bits, __: bits,
    "odd": lambda _, bits, __: bits | np.uint32(1),
    "mod": lambda _, bits, most: bits % np.uint32(most),
    "cycle": _cycle,
    "rows": _rows,
}


def _hashed(keys: np.ndarray, size: int) -> np.ndarray:
    """A table that `hash_insert` has filled in the order of the keys."""
    table, mask = [0] * size, size - 1
    for key in keys.tolist():
        at = ((key * 2654435761 & 0xFFFFFFFF) >> 7) & mask
        while table[at] not in (0, key):
            at = (at + 1) & mask
        table[at] = key
    return np.array(table, np.uint32)
