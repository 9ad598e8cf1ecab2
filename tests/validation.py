"""Whole kernels against an NVIDIA H200: what xeemu says of each row of `kernels_h200.csv`, and how near that is.

`tests/data/validation.csv` holds the outcome for all rows; `scripts/validate` makes it and prints its summary.
"""

import csv
import math
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import jax
import measured_kernels
import numpy as np

import xeemu as xe

TABLE = pathlib.Path(__file__).parent / "data" / "validation.csv"
OVERHEAD_US = 4.64
"""Of an empty launch, which is part of every time that was measured: the row `empty`."""

COUNTERS: Mapping[str, tuple[str, ...]] = {
    "local_load_passes": ("slm_ld_wf",),
    "local_store_passes": ("slm_st_wf",),
    "local_atomic_passes": ("slm_atom_wf",),
    "global_load_sectors": ("g_ld_sec",),
    "global_store_sectors": ("g_st_sec",),
    "global_atomic_sectors": ("g_red_sec", "g_atom_sec"),
}
"""Each count, and the counters whose sum it should be."""

_CHOSEN = ("tile", "pad", "slm_bytes")
_COLUMNS = ("cid", "kernel", "params", "wg", *(c for name in COUNTERS for c in (name, f"{name}_h200")))


class Outcome(NamedTuple):
    """A kernel, what xeemu says of it, and what the GPU did.

    Attributes:
      cid, kernel, params, wg: which row it is.
      counts: emulated, by the names of `COUNTERS`.
      measured: the counters' values.
      time_us: predicted, with the overhead of a launch.
      measured_us: the time that was measured.
      bound: what the prediction says binds.
    """

    cid: int
    kernel: str
    params: str
    wg: int
    counts: Mapping[str, int]
    measured: Mapping[str, int]
    time_us: float
    measured_us: float
    bound: str


def emulate(row: Mapping[str, str]) -> Outcome:
    """The outcome of a row: estimated where no argument's contents matter, else profiled."""
    case = measured_kernels.case(row)
    wants_data = any(not isinstance(a, jax.ShapeDtypeStruct) and np.ndim(a) for a in case.arguments)
    if wants_data:
        _, report = xe.profile(case.kernel, case.nd_range, device="h200")(*case.arguments, **case.static)
    else:
        report = xe.estimate(case.kernel, case.nd_range, device="h200")(*case.arguments, **case.static)
    assert report.time_s is not None
    assert report.bound is not None
    return Outcome(
        cid=int(row["cid"]),
        kernel=row["kernel"],
        params=row["params"],
        wg=int(row["wg"]),
        counts=counted(report),
        measured={name: sum(int(row[c] or 0) for c in columns) for name, columns in COUNTERS.items()},
        time_us=report.time_s * 1e6 + OVERHEAD_US,
        measured_us=float(row["t_warm_us"]),
        bound=report.bound,
    )


def counted(report: xe.Report) -> dict[str, int]:
    """The figures of a report that there are counters for."""

    def total(space: str, op: str, figure: str) -> int:
        return sum(getattr(site, figure) for site in report.sites if (site.space, site.op) == (space, op))

    passes = {f"local_{op}_passes": total("local", op, "passes") for op in ("load", "store", "atomic")}
    sectors = {f"global_{op}_sectors": total("global", op, "sectors") for op in ("load", "store", "atomic")}
    return passes | sectors


# --- The table ---


def write(outcomes: Iterable[Outcome], path: pathlib.Path = TABLE) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*_COLUMNS, "time_us", "time_us_h200", "bound"))
        for o in outcomes:
            pairs = (value for name in COUNTERS for value in (o.counts[name], o.measured[name]))
            writer.writerow(
                (o.cid, o.kernel, o.params, o.wg, *pairs, f"{o.time_us:.4g}", f"{o.measured_us:g}", o.bound)
            )


def read(path: pathlib.Path = TABLE) -> list[Outcome]:
    with path.open() as file:
        return [_outcome(row) for row in csv.DictReader(file)]


def _outcome(row: Mapping[str, str]) -> Outcome:
    return Outcome(
        cid=int(row["cid"]),
        kernel=row["kernel"],
        params=row["params"],
        wg=int(row["wg"]),
        counts={name: int(row[name]) for name in COUNTERS},
        measured={name: int(row[f"{name}_h200"]) for name in COUNTERS},
        time_us=float(row["time_us"]),
        measured_us=float(row["time_us_h200"]),
        bound=row["bound"],
    )


# --- How near it is ---


class Accuracy(NamedTuple):
    """Of the times of some rows: errors in per cent, and Spearman's rank correlation (NaN for fewer than three)."""

    rows: int
    error: float
    bias: float
    rank: float


def accuracy(outcomes: Iterable[Outcome], overhead_us: float = 0.0) -> Accuracy:
    """How near the predicted times are, `overhead_us` taken off both."""
    chosen = list(outcomes)
    measured = np.array([o.measured_us for o in chosen]) - overhead_us
    predicted = np.array([o.time_us for o in chosen]) - overhead_us
    errors = 100 * (predicted / measured - 1)
    rank = spearman(measured, predicted) if len(chosen) > 2 else math.nan
    return Accuracy(len(chosen), float(np.abs(errors).mean()), float(errors.mean()), rank)


def held_out(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Those of families that have set no figure of the device: no source of one names the family."""
    texts = [source.text for source in xe.device("h200").sources]
    return [o for o in outcomes if not any(re.search(rf"\b{o.kernel}\b", text) for text in texts)]


def without_overhead(outcomes: Iterable[Outcome]) -> Accuracy:
    """The accuracy of the kernels' own time, where that is the longer part of the measured one."""
    return accuracy((o for o in outcomes if o.measured_us > 2 * OVERHEAD_US), OVERHEAD_US)


def variants(outcomes: Iterable[Outcome]) -> list[list[Outcome]]:
    """Outcomes that do the same with another kernel, tile, padding or work-group size; at least two each."""
    rows = {int(row["cid"]): row for row in measured_kernels.rows()}
    found: dict[tuple[object, ...], list[Outcome]] = {}
    for o in outcomes:
        task = o.kernel.split("_")[0]
        if task not in ("conv", "hist", "mm", "table"):
            task = o.kernel
        problem = {k: v for k, v in measured_kernels.parameters(rows[o.cid]).items() if k not in _CHOSEN}
        items = None if task == "hist" else int(rows[o.cid]["grid"]) * o.wg
        found.setdefault((task, tuple(problem.items()), items), []).append(o)
    return [group for group in found.values() if len(group) > 1]


def well_chosen(group: Sequence[Outcome], within: float = 0.05) -> bool:
    """True if the variant that is predicted to be the fastest is nearly as fast as the one that was."""
    chosen = min(group, key=lambda o: o.time_us)
    return chosen.measured_us <= (1 + within) * min(o.measured_us for o in group)


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's rank correlation; equal values share the mean of their ranks. NaN where all values are equal."""
    if len(set(a)) < 2 or len(set(b)) < 2:
        return math.nan
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value, equal ones sharing their mean."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[which]


def ratios(outcomes: Sequence[Outcome], name: str) -> np.ndarray:
    """Measured by emulated of one count, for the rows where either is more than 0."""
    pairs = [(o.measured[name], o.counts[name]) for o in outcomes if o.measured[name] or o.counts[name]]
    return np.array([m / c if c else math.inf for m, c in pairs])
