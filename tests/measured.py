"""Tables measured on one NVIDIA H200 with its hardware counters, in `tests/data`.

`patterns_*.csv` are index tables of one request: bytes per lane, mask of active lanes, 32 byte offsets. `micro_*.csv`
are the counters of one request with such a pattern, by operation; `occupancy.csv` the resident work-groups of an SM.
"""

import csv
import gzip
import pathlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_DATA = pathlib.Path(__file__).parent / "data"


class Measured(NamedTuple):
    """All rows of one operation and width: `addresses` and `active` of shape [rows, 32], counters by column."""

    op: str
    width: int
    addresses: np.ndarray
    active: np.ndarray
    counters: dict[str, np.ndarray]


def rows(name: str) -> list[dict[str, str]]:
    path = _DATA / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return list(csv.DictReader(file))


def requests(patterns: str, counters: str) -> Iterator[Measured]:
    by_pid = {row["pid"]: row for row in rows(patterns)}
    groups: dict[tuple[str, int], list[dict[str, str]]] = {}
    for row in rows(counters):
        groups.setdefault((row["op"], int(row["width"])), []).append(row)
    for (op, width), group in groups.items():
        own = [by_pid[row["pid"]] for row in group]
        addresses = np.array([row["byte_offsets"].split() for row in own], dtype=np.int32)
        masks = np.array([int(row["mask"], 16) for row in own], dtype=np.uint32)
        active = (masks[:, None] >> np.arange(32, dtype=np.uint32) & 1).astype(bool)
        columns = [name for name in group[0] if name not in ("op", "pid", "width")]
        values = {name: np.array([float(row[name] or 0) for row in group]) for name in columns}
        yield Measured(op, width, addresses, active, values)
