"""Times: public kernels that were predicted before they were measured, on an NVIDIA H100, and what is said of them now.

times.toml says what was launched, times-h100.csv what was measured and predicted, results-times.md how.
"""

import argparse
import csv
import dataclasses
import math
import pathlib
import statistics
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from yardstick import manifest, results, workers
from yardstick.manifest import Entry

SUITE = "times"  # of a worker's orders and of the outcomes that are kept
DEVICE = "h100"
LAUNCHES = pathlib.Path(__file__).parent / "times.toml"
MEASURED = pathlib.Path(__file__).parent / f"times-{DEVICE}.csv"
FROZEN_EMPTY_US = 4.64  # of an empty launch, in the blind predictions: that of another harness, on an H200
EXACT = 0.01  # relative: up to here a count is the counter's

COUNTERS: Mapping[str, tuple[str, ...]] = {
    "global_load": ("g_ld_sec",),
    "global_store": ("g_st_sec",),
    "global_atomic": ("g_red_sec", "g_atom_sec"),
    "local_load": ("slm_ld_wf",),
    "local_store": ("slm_st_wf",),
    "local_atomic": ("slm_atom_wf",),
}
"""Each count, sectors of global and passes of local memory, and the counters whose sum it should be."""


class Said(NamedTuple):
    """A prediction: microseconds with those of an empty launch, what binds, and the counts by their names."""

    time_us: float
    bound: str
    counts: Mapping[str, int]


class Row(NamedTuple):
    """What was measured: microseconds of a warm launch, and counters by the names of the counts."""

    time_us: float
    counters: Mapping[str, int]


class Summary(NamedTuple):
    """How near predictions are.

    Attributes:
      mean, median: absolute errors in per cent.
      factor: geometric mean of how many times too long or too short.
      rank: Spearman's correlation; NaN for fewer than three.
      exact: of each count, launches where it is the counter's, and launches that have any.
    """

    launches: int
    mean: float
    median: float
    factor: float
    rank: float
    exact: Mapping[str, tuple[int, int]]


# --- What was launched, measured and said before ---


def launches() -> dict[str, Entry]:
    """Entries of the manifests with a launch's own sizes and contents, by number."""
    found = tomllib.loads(LAUNCHES.read_text())
    suites = {own["kernel"].split("/")[0] for own in found.values()}
    entries = {entry.key: entry for suite in suites for entry in manifest.read(suite).entries}
    return {number: _launch(entries[own["kernel"]], own) for number, own in found.items()}


def _launch(entry: Entry, own: Mapping[str, Any]) -> Entry:
    return dataclasses.replace(
        entry,
        global_size=tuple(own["global"]),
        local_size=tuple(own["local"]),
        arguments=tuple(own["arguments"]),
        options=f"{entry.options} {own.get('options', '')}".strip(),
    )


def table() -> dict[str, dict[str, str]]:
    with MEASURED.open() as file:
        return {row["launch"]: row for row in csv.DictReader(file)}


def empty_us() -> float:
    """Of an empty launch, which is part of every time that was measured."""
    return float(table()["empty"]["t_warm_us"])


def measured() -> dict[str, Row]:
    rows = {number: row for number, row in table().items() if number != "empty"}
    return {
        number: Row(
            float(row["t_warm_us"]),
            {name: sum(int(row[column]) for column in columns) for name, columns in COUNTERS.items()},
        )
        for number, row in rows.items()
    }


def blind(empty: float) -> dict[str, Said]:
    """What was said before anybody knew, with an empty launch of so many microseconds; of some launches nothing was."""
    return {
        number: Said(
            float(row["blind_us"]) - FROZEN_EMPTY_US + empty,
            row["blind_bound"],
            {name: int(row[f"blind_{name}"]) for name in COUNTERS},
        )
        for number, row in table().items()
        if row["blind_us"]
    }


def now(outcomes: Mapping[str, Mapping[str, Any]], empty: float) -> dict[str, Said]:
    """What the outcomes of `subject.predicted` say, without those that came to no time."""
    return {
        number: Said(o["time_s"] * 1e6 + empty, o["bound"], o["counts"])
        for number, o in outcomes.items()
        if o.get("time_s") is not None
    }


# --- How near it is ---


def summary(said: Mapping[str, Said], rows: Mapping[str, Row]) -> Summary:
    """Of the launches that are in both, at least one."""
    common = [number for number in said if number in rows]
    predicted = np.array([said[n].time_us for n in common])
    times = np.array([rows[n].time_us for n in common])
    errors = 100 * abs(predicted / times - 1)
    places = [np.argsort(np.argsort(values)) for values in (predicted, times)]
    return Summary(
        len(common),
        float(errors.mean()),
        float(np.median(errors)),
        math.exp(statistics.mean(abs(np.log(predicted / times)))),
        float(np.corrcoef(*places)[0, 1]) if len(common) > 2 else math.nan,
        {name: _exact([(said[n].counts[name], rows[n].counters[name]) for n in common]) for name in COUNTERS},
    )


def _exact(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    some = [(count, counter) for count, counter in pairs if count or counter]
    return sum(abs(count - counter) <= EXACT * counter for count, counter in some), len(some)


HEADER = ("", "launches", "mean error", "median", "factor", "rank", *(name.replace("_", " ") for name in COUNTERS))


def cells(name: str, of: Summary) -> tuple[str, ...]:
    exact = (f"{part} of {whole}" for part, whole in of.exact.values())
    return (
        name,
        str(of.launches),
        f"{of.mean:.1f} %",
        f"{of.median:.1f} %",
        f"{of.factor:.2f}",
        f"{of.rank:.3f}",
        *exact,
    )


def before(rows: Mapping[str, Row]) -> list[tuple[str, ...]]:
    """Cells of the blind predictions of these launches, with either empty launch."""
    said = {"as frozen": blind(FROZEN_EMPTY_US), "with this harness's empty launch": blind(empty_us())}
    return [cells(f"blind, {how}", summary(what, rows)) for how, what in said.items() if what.keys() & rows.keys()]


def by_suite() -> list[tuple[str, ...]]:
    """Cells of the blind predictions of each suite, with this harness's empty launch."""
    said, rows, suites = blind(empty_us()), measured(), {number: entry.suite for number, entry in launches().items()}
    return [
        cells(suite, summary({n: what for n, what in said.items() if suites[n] == suite}, rows))
        for suite in dict.fromkeys(suites.values())
    ]


# --- Runs ---


def main(suites: Collection[str], told: argparse.Namespace, corpus: pathlib.Path, command: Sequence[str]) -> None:
    """Predicts the launches, prints each beside what was measured, and how near all of them are."""
    chosen = {n: e for n, e in launches().items() if e.suite in suites and (told.kernel or "") in e.key}
    orders = [workers.Order(SUITE, number, False, False) for number in ([] if told.table else chosen)]
    for order, outcome in workers.run(orders, command, told.jobs, told.limit, corpus / "errors.txt"):
        results.keep(corpus, SUITE, {order.key: outcome})
        print(
            order.key, "; ".join(f"{key}: {outcome[key]}" for key in ("error", "message") if key in outcome), flush=True
        )
    kept = results.kept(corpus, SUITE)
    rows = {number: row for number, row in measured().items() if number in chosen}
    old, said = blind(empty_us()), now({n: kept[n] for n in chosen if n in kept}, empty_us())
    for number, entry in chosen.items():
        print(line(number, entry, rows[number], old.get(number), said.get(number)))
    for row in (HEADER, *before(rows), *([cells("now", summary(said, rows))] if said else [])):
        print(f"{row[0]:40}" + "".join(f"{cell:>15}" for cell in row[1:]))


def line(number: str, entry: Entry, row: Row, old: Said | None, new: Said | None) -> str:
    """A launch: its time, both predictions, and counts beside counters, those of now if there are any."""
    sizes = "/".join("x".join(map(str, size)) for size in (entry.global_size, entry.local_size))
    called = f"{entry.suite}/{pathlib.Path(entry.file).name}:{entry.name} {sizes}"
    said = {"blind": old, "now": new}
    told = "".join(f"  {when}{error(what, row)}" for when, what in said.items())
    counts = (new or old or Said(0, "", {})).counts
    pairs = (f"{name} {count}/{row.counters[name]}" for name, count in counts.items() if count or row.counters[name])
    return f"{number} {called:72}{row.time_us:11.2f} us{told}  {', '.join(pairs)}"


def error(said: Said | None, row: Row) -> str:
    if said is None:
        return f"{'-':>8}{'':16}"
    return f"{100 * (said.time_us / row.time_us - 1):+6.0f} % {said.bound:15}"
