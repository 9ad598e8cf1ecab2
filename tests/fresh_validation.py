"""Kernels that were predicted before they were measured, against an NVIDIA H100: what xeemu says of them now, and what
it said before anybody knew (*blind*).

`tests/data/fresh-h100.csv` has the times and counters, and the blind prediction beside them; `validation-fresh.csv`
has the outcome of today. `scripts/validate --fresh` makes that and prints both. They are validation's outcomes, whose
kernel is the family here, and whose parameters are the task, the kernel and its local size.
"""

import csv
import math
import pathlib
from collections.abc import Iterable, Mapping, Sequence

import fresh_kernels
import numpy as np
import validation
from fresh_kernels import Launch
from validation import COUNTERS, OVERHEAD_US, Outcome

import xeemu as xe

MEASURED = pathlib.Path(__file__).parent / "data" / "fresh-h100.csv"
TABLE = pathlib.Path(__file__).parent / "data" / "validation-fresh.csv"


def rows() -> dict[int, dict[str, str]]:
    """Those that were measured, by number; without those of empty launches."""
    with MEASURED.open() as file:
        every = {int(row["cid"]): row for row in csv.DictReader(file)}
    return {number: every[number] for number in fresh_kernels.LAUNCHES}


def blind() -> list[Outcome]:
    """What was said before, but for two kernels of which no time was."""
    return [_outcome(row, float(row["blind_us"]), row["blind_bound"]) for row in rows().values() if row["blind_us"]]


def predicted(families: Sequence[str] = ()) -> list[Outcome]:
    """What is said now, of some families or of all; without those of which no time is."""
    found = []
    for number, row in rows().items():
        launch = fresh_kernels.LAUNCHES[number]
        if launch.family in families or not families:
            report = report_of(launch)
            if report.time_s is not None and report.bound is not None:
                time_us = report.time_s * 1e6 + OVERHEAD_US
                found.append(_outcome(row, time_us, report.bound, validation.counted(report)))
    return found


def report_of(launch: Launch) -> xe.Report:
    """Estimated where data decide nothing, else profiled."""
    kernel, nd_range = launch.loaded(), launch.nd_range
    report = xe.estimate(kernel, nd_range, device="h100")(*launch.shapes())
    if report.between_s is None and report.bound is not None:
        return report
    return xe.profile(kernel, nd_range, device="h100")(*launch.contents())[1]


def _outcome(row: Mapping[str, str], time_us: float, bound: str, counts: Mapping[str, int] | None = None) -> Outcome:
    return Outcome(
        cid=int(row["cid"]),
        kernel=row["family"],
        params=f"{row['task']} {row['kernel']} {row['local']}",
        wg=math.prod(map(int, row["local"].split("x"))),
        counts=counts or dict.fromkeys(COUNTERS, 0),
        measured={name: sum(int(row[c]) for c in columns) for name, columns in COUNTERS.items()},
        time_us=time_us,
        measured_us=float(row["t_warm_us"]),
        bound=bound,
    )


def variants(outcomes: Iterable[Outcome]) -> list[list[Outcome]]:
    """Those of one task each; at least two."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(fresh_kernels.LAUNCHES[outcome.cid].task, []).append(outcome)
    return [group for group in found.values() if len(group) > 1]


def median_error(outcomes: Iterable[Outcome]) -> float:
    """In per cent, of the times."""
    return float(np.median([100 * abs(o.time_us / o.measured_us - 1) for o in outcomes]))
