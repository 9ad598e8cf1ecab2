"""Public measurements on Intel devices: what xeemu predicts for each, and how near that is.

`tests/data/intel-published.csv` holds what was published, with its source, and which of it has set a figure of a
device; `tests/data/validation-intel.csv` the predictions beside it, which `scripts/validate --intel` makes.
"""

import ast
import csv
import dataclasses
import pathlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import intel_kernels
import numpy as np
from intel_launches import Launch

import xeemu as xe

DATA = pathlib.Path(__file__).parent / "data"
TABLE = DATA / "validation-intel.csv"

_RATES = {"GB/s": 1e9, "Tops": 1e12, "MLUPs": 1e6}
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Outcome(NamedTuple):
    """A published measurement and its prediction.

    Attributes:
      device, launch: a preset, and a name of `intel_kernels.LAUNCHES`; several with ` then ` between, if one time was
        published for all.
      published, unit, source: as it was published.
      used: true if a figure of the device, or of its generation, was set by it.
      blind: the day on which it was entered before its prediction was known; empty of those before 2026-11-26, whose
        source was chosen so but whose kernels and mechanisms have been worked on since.
      effect: what is in the number that xeemu does not model by design, since a compiler's choice of registers or the
        contents of memory decide it; empty if nothing is known to be.
      changes: figures of the machine in which it differs from the preset, as `field=number`, by semicolons.
      measured_us: the time of the launch that follows.
      predicted_us: None where xeemu gives none.
      bound: what the prediction says binds.
      missing: what the device has no figure for.
    """

    device: str
    launch: str
    published: float
    unit: str
    source: str
    used: bool
    blind: str
    effect: str
    changes: str
    measured_us: float
    predicted_us: float | None
    bound: str
    missing: str

    @property
    def error(self) -> float | None:
        """Of the predicted time, relative to the measured one."""
        return None if self.predicted_us is None else self.predicted_us / self.measured_us - 1


class Ratio(NamedTuple):
    """The times of two launches, divided; of one source and device."""

    device: str
    name: str
    source: str
    used: bool
    blind: str
    effect: str
    measured: float
    predicted: float | None

    @property
    def error(self) -> float | None:
        return None if self.predicted is None else self.predicted / self.measured - 1


_WIDTHS = (1, 2, 4, 8, 16)
_OF_CLPEAK = ("fp32", "fp16", "int32")
_ROWS = ((401408, 24, 1024, 32), (25216, 384, 256, 64), (2048, 1024, 1024, 256), (8192, 320, 256, 64))
_MORE_ROWS = ((1605632, 128, 128, 32), (1, 1024, 1024, 256))
_COPIED = ("ushort", "ushort4", "uchar", "uchar4")
_LONG_ROWS = ("2 x 1310720", "512 x 401408", "128 x 9834496")

# Which two launches of a source are compared: of what was published as one thing before and after a change, both;
# otherwise each with the plainest, the longest or the first.
_COMPARED = (
    ("copied by items", "copied by sub-groups"),
    ("misaligned read", "coalesced read"),
    ("misaligned write", "coalesced write"),
    ("mad int32", "fma fp32"),
    ("fma fp16", "fma fp32"),
    ("fma fp64", "fma fp32"),
    *((f"clpeak float{n}", "clpeak float16") for n in _WIDTHS[:-1]),
    *((f"clpeak {kind} x{n}", f"clpeak {kind} x1") for kind in _OF_CLPEAK for n in _WIDTHS[1:]),
    *((f"clpeak {kind} x1", "clpeak fp32 x1") for kind in _OF_CLPEAK[1:]),
    *((f"vkpeak {kind} x4", f"vkpeak {kind} x1") for kind in _OF_CLPEAK),
    *((f"vkpeak {kind} x1", "vkpeak fp32 x1") for kind in _OF_CLPEAK[1:]),
    *((f"x * x + c, {form}", "a * y + b, 1 chains") for form in ("1 chains", "2 chains", "4 chains", "vectors of 4")),
    *((f"a * y + b, {n} chains", "a * y + b, 1 chains") for n in (2, 4)),
    *((f"mixbench {kind} 40", f"mixbench {kind} 192") for kind in _OF_CLPEAK),
    *((f"mixbench {kind} 192", "mixbench fp32 192") for kind in _OF_CLPEAK[1:]),
    *((f"lattice in {kind}", "lattice in FP32") for kind in ("FP16S", "FP16C")),
    *((f"copy by {name}, 2**{n} items", f"copy by float, 2**{n} items") for n in (16, 20) for name in _COPIED),
    *((f"copy by {name}, in SYCL", "copy by float, in SYCL") for name in ("ushort", "ushort4", "two ushorts")),
    ("scale of 512 MB", "scale of 1024 MB"),
    *((f"layer norm {m} x {n} by {old}", f"layer norm {m} x {n} by {new}") for m, n, old, new in _ROWS + _MORE_ROWS),
    *(
        (f"layer norm {rows} in {kind}", f"layer norm {rows} in float16")
        for rows in _LONG_ROWS
        for kind in ("float32", "bfloat16")
    ),
    *(
        (f"sum {how}", "sum by atomics")
        for how in (
            *(f"of {n} in {form}" for n in (32, 64) for form in ("rows", "columns")),
            "by one work-item",
            "in a tree",
        )
    ),
    *((f"product in {form}", "product") for form in ("tiles", "rows")),
    ("stream triad", "stream copy"),
    ("local reads of 2 bytes", "local reads of 4 bytes"),
    *((f"added by {n} groups", "added by 48 groups") for n in (1, 6, 12, 24, 36, 42)),
    ("added by 44 groups", "added by 42 groups"),
)


def predicted() -> list[Outcome]:
    """The outcomes of all published measurements, by the model as it is."""
    with (DATA / "intel-published.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [predict(*_published(row)) for row in rows]


def _published(row: dict[str, str]) -> tuple[str, str, float, str, str, bool, str, str, str]:
    value, used = float(row["published"]), row["used"] == "yes"
    texts = row["blind"], row["effect"], row["changes"]
    return row["device"], row["launch"], value, row["unit"], row["source"], used, *texts


def predict(
    device: str, name: str, value: float, unit: str, source: str, used: bool, blind: str, effect: str, changes: str
) -> Outcome:
    """The outcome of a published measurement, of a launch or of several in turn."""
    launches = [intel_kernels.LAUNCHES[each]() for each in name.split(" then ")]
    figures = dict(each.split("=") for each in changes.split(";") if each)
    machine = dataclasses.replace(xe.device(device), **{field: ast.literal_eval(n) for field, n in figures.items()})
    reports = [xe.estimate(e.kernel, e.nd_range, device=machine)(*e.arguments, **e.static) for e in launches]
    taken = [_seconds(each, report, machine) for each, report in zip(launches, reports, strict=True)]
    longest = max(reports, key=lambda report: report.time_s or 0.0)
    work = sum(each.work for each in launches)
    seconds = work / (value * _RATES[unit]) if unit in _RATES else value * _TIMES[unit]
    return Outcome(
        device=device,
        launch=name,
        published=value,
        unit=unit,
        source=source,
        used=used,
        blind=blind,
        effect=effect,
        changes=changes,
        measured_us=seconds * 1e6,
        predicted_us=None if None in taken else 1e6 * sum(each or 0.0 for each in taken),
        bound=longest.bound or "?",
        missing=", ".join(dict.fromkeys(name for report in reports for name in report.missing)),
    )


def _seconds(launch: Launch, report: xe.Report, machine: xe.Device) -> float | None:
    """The time of a launch, with the overhead of submitting it where the published one has it."""
    overhead = machine.launch_overhead_s if launch.submitted else 0.0
    return None if report.time_s is None or overhead is None else report.time_s + overhead


def ratios(outcomes: Sequence[Outcome]) -> list[Ratio]:
    """The ratios of pairs of launches of one source on one device."""
    by_name = {(o.device, o.source, o.launch): o for o in outcomes}
    pairs = (
        (by_name[device, source, above], by_name[device, source, below])
        for device, source in dict.fromkeys((o.device, o.source) for o in outcomes)
        for above, below in _COMPARED
        if (device, source, above) in by_name and (device, source, below) in by_name
    )
    return [_ratio(above, below) for above, below in pairs]


def _ratio(above: Outcome, below: Outcome) -> Ratio:
    known = above.predicted_us is not None and below.predicted_us is not None
    return Ratio(
        device=above.device,
        name=f"{above.launch} / {below.launch}",
        source=above.source,
        used=above.used or below.used,
        blind=above.blind and below.blind,
        effect=above.effect or below.effect,
        measured=above.measured_us / below.measured_us,
        predicted=above.predicted_us / below.predicted_us if known else None,
    )


def mean_error(of: Iterable[Outcome | Ratio]) -> float:
    """The mean absolute error in per cent, of those that are predicted."""
    errors = [abs(each.error) for each in of if each.error is not None]
    return 100 * float(np.mean(errors)) if errors else float("nan")


def mean_by_source(of: Sequence[Outcome | Ratio]) -> float:
    """The mean over the sources of `mean_error`, of those that have it."""
    sources = dict.fromkeys(each.source for each in of if each.error is not None)
    return float(np.mean([mean_error(each for each in of if each.source == source) for source in sources]))


# --- The table ---


def write(outcomes: Iterable[Outcome], path: pathlib.Path = TABLE) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Outcome._fields)
        for o in outcomes:
            shown = "" if o.predicted_us is None else f"{o.predicted_us:.4g}"
            used = "yes" if o.used else ""
            writer.writerow(
                (*o[:5], used, o.blind, o.effect, o.changes, f"{o.measured_us:.4g}", shown, o.bound, o.missing)
            )


def read(path: pathlib.Path = TABLE) -> list[Outcome]:
    with path.open() as file:
        return [_read(row) for row in csv.DictReader(file)]


def _read(row: dict[str, str]) -> Outcome:
    return Outcome(
        *_published(row),
        measured_us=float(row["measured_us"]),
        predicted_us=float(row["predicted_us"]) if row["predicted_us"] else None,
        bound=row["bound"],
        missing=row["missing"],
    )
