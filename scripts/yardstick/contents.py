"""Contents that follow from places alone, so that another program on another machine makes the same arrays.

In descriptions as in arguments.py, of which `zeros`, `full`, `ramp`, numbers and local memory are used as they are:

    float hashed 1024 -1 1        floats in [-1, 1); in [0, 1) if not told; of records, in all their words
    int hashed 1024 2 5           integers from 2 up to, not including, 5 (`hashed 1024 5`: from 0 on)
    uint bits 64                  all bits
    int permuted 64               0 to 63, shuffled
    int clamped 64 -1             the place plus -1, within 0 and 63
    int near 4096 64 8            4096 / 64 neighbours of each of 64 rows, at most 8 away: the i-th of all rows together
    int mesh 4096 64 8            the same; one in 64 is -1, one in 128 is -2
    int row_lengths 64 8          of 64 rows of a sparse matrix, 0 to 8 each; `csr_offsets 65 8`: where the rows begin
    int jds_lengths 64 8          of 64 groups of rows, 1 to 8 each, the longest first
    float circle 150 50 8 2 1     50 points of a circle of radius 8, then of 10, of 12: y, or x with 0 in place of 1
    float disc 625 25             1 inside a disc in a square of 25 x 25, else 0
    float falling 20              descending edges of bins, as of angles that grow
    float lattice 4000 200        a fluid at rest in 200 cells of 20 numbers each, the last a cell's flags
    float lattice_planes 4000 200    the same in 20 planes
    {int starting,int count} nodes 64 6            64 nodes of a graph with 6 edges each
    {float weight,long assign,float cost} points 64    of a clustering in which all belong to the first

The numbers are SplitMix64's (Steele, Lea, Flood 2014) of the place and of the argument's position.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from yardstick import arguments
from yardstick.arguments import Argument

ALIKE = ("zeros", "full", "ramp")  # arguments.py's forms that draw nothing


def made(descriptions: Sequence[str]) -> list[Argument]:
    """The arguments of a launch."""
    return [argument(description, at) for at, description in enumerate(descriptions)]


def argument(description: str, at: int = 0) -> Argument:
    name, form, words = arguments.split(description)
    if form not in FORMS:
        if form in arguments.FORMS and form not in ALIKE:
            raise arguments.DescriptionError(f"{description!r}: {form!r} does not follow from places alone")
        return arguments.argument(description, at)
    dtype = arguments.type_of(name).dtype
    count, *numbers = (float(word) if "." in word else int(word) for word in words)
    return Argument("array", FORMS[form](dtype, at, count, *numbers).astype(dtype, copy=False))


# --- Numbers of places ---


def mixed(x: np.ndarray) -> np.ndarray:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def hashes(count: int, at: int) -> np.ndarray:
    return mixed(np.arange(count, dtype=np.uint64) + np.uint64((at + 1) << 40))


def upper(count: int, at: int) -> np.ndarray:
    """31 bits of each."""
    return (hashes(count, at) >> np.uint64(33)).astype(np.int64)


def _hashed(dtype: np.dtype, at: int, count: int, *bounds: float) -> np.ndarray:
    if dtype.names is not None:
        return _hashed(np.dtype("f4"), at, count * dtype.itemsize // 4).astype("f4").view(dtype)
    low, high = (0, *(bounds or (1,)))[-2:]
    if dtype.kind == "f":
        return (hashes(count, at) >> np.uint64(40)).astype(np.float64) * 2.0**-24 * (high - low) + low
    return ((hashes(count, at) >> np.uint64(32)) % np.uint64(high - low)).astype(np.int64) + low


def _bits(dtype: np.dtype, at: int, count: int) -> np.ndarray:
    return hashes(count, at) >> np.uint64(64 - 8 * dtype.itemsize)


def _permuted(dtype: np.dtype, at: int, count: int) -> np.ndarray:
    return np.argsort(hashes(count, at), kind="stable")


# --- Rows, neighbours and places ---


def _clamped(dtype: np.dtype, at: int, count: int, step: int) -> np.ndarray:
    return np.clip(np.arange(count) + step, 0, count - 1)


def _near(dtype: np.dtype, at: int, count: int, rows: int, most: int) -> np.ndarray:
    return np.clip(np.arange(count) % rows + upper(count, at) % (2 * most + 1) - most, 0, rows - 1)


def _mesh(dtype: np.dtype, at: int, count: int, rows: int, most: int) -> np.ndarray:
    bits = hashes(count, at + 17) & np.uint64(127)
    return np.where(bits < 2, -1, np.where(bits == 2, -2, _near(dtype, at, count, rows, most)))


def _row_lengths(dtype: np.dtype, at: int, rows: int, most: int) -> np.ndarray:
    """Of every argument the same, since several tell of one matrix."""
    return (mixed(np.arange(rows, dtype=np.uint64) + np.uint64(7 << 50)) >> np.uint64(33)).astype(np.int64) % (most + 1)


def _csr_offsets(dtype: np.dtype, at: int, count: int, most: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(_row_lengths(dtype, at, count - 1, most))])


def _jds_lengths(dtype: np.dtype, at: int, count: int, most: int) -> np.ndarray:
    return np.sort(_row_lengths(dtype, at, count, most - 1) + 1)[::-1]


# --- Shapes ---


def _circle(dtype: np.dtype, at: int, count: int, points: int, first: float, step: float, axis: int) -> np.ndarray:
    k, n = np.divmod(np.arange(count), points)
    angle = 2 * np.pi * n / points
    return (np.sin(angle) if axis else np.cos(angle)) * (k * step + first)


def _disc(dtype: np.dtype, at: int, count: int, side: int) -> np.ndarray:
    i, j = np.divmod(np.arange(count), side)
    return (i - side // 2) ** 2 + (j - side // 2) ** 2 < (side // 2) ** 2


def _falling(dtype: np.dtype, at: int, count: int) -> np.ndarray:
    return np.cos(np.radians(10 ** (np.arange(count) / 5.0) / 60))


# --- Records and cells ---

_AT_REST = np.array([1 / 3] + [1 / 18] * 6 + [1 / 36] * 12 + [0], np.float32)


def _flags(count: int, at: int) -> np.ndarray:
    """One cell in 16 is an obstacle."""
    return (hashes(count, at) & np.uint64(15) == 0).astype(np.int32).view(np.float32)


def _lattice(dtype: np.dtype, at: int, count: int, cells: int) -> np.ndarray:
    made = np.resize(_AT_REST, count)
    made[19::20] = _flags(count // 20, at)
    return made


def _lattice_planes(dtype: np.dtype, at: int, count: int, cells: int) -> np.ndarray:
    made = np.zeros(count, np.float32)
    made[: 20 * cells] = np.repeat(_AT_REST, cells)
    made[19 * cells :] = _flags(count - 19 * cells, at)
    return made


def _nodes(dtype: np.dtype, at: int, count: int, edges: int) -> np.ndarray:
    return np.rec.fromarrays([np.arange(count) * edges, np.full(count, edges)], dtype)


def _points(dtype: np.dtype, at: int, count: int) -> np.ndarray:
    cost = _hashed(np.dtype("f4"), at, count, 0, 12)
    return np.rec.fromarrays([np.ones(count), np.zeros(count), cost], dtype)


FORMS: dict[str, Callable[..., Any]] = {
    "hashed": _hashed,
    "bits": _bits,
    "permuted": _permuted,
    "clamped": _clamped,
    "near": _near,
    "mesh": _mesh,
    "row_lengths": _row_lengths,
    "csr_offsets": _csr_offsets,
    "jds_lengths": _jds_lengths,
    "circle": _circle,
    "disc": _disc,
    "falling": _falling,
    "lattice": _lattice,
    "lattice_planes": _lattice_planes,
    "nodes": _nodes,
    "points": _points,
}
