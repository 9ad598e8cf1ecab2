"""Kernels that were predicted before they were measured, against an NVIDIA H100."""

import math

import fresh_contents
import fresh_kernels
import fresh_validation
import numpy as np
import pytest
import validation

OUTCOMES = validation.read(fresh_validation.TABLE)
BLIND = fresh_validation.blind()

# Families of which nvcc makes one access of several of the source: of unrolled loops whose places follow each other, of
# the components of a vector at one place, and of what was loaded before.
LONG_LOOPS = {"filter", "long_filter", "product", "product_double", "lu", "layer_norm"}
MERGED = {*LONG_LOOPS, "bodies", "nearest", "scan", "argmax", "bitonic"}
# Who comes first decides what others do.
UNORDERED = "hash"


def test_every_launch_that_was_measured_is_as_it_was_measured():
    for number, row in fresh_validation.rows().items():
        launch = fresh_kernels.LAUNCHES[number]
        assert (launch.family, launch.task, launch.kernel) == (row["family"], row["task"], row["kernel"])
        assert "x".join(map(str, launch.local)) == row["local"]
        groups = math.prod(launch.size) // math.prod(launch.local)
        assert groups == int(row["groups"])
    assert len(fresh_kernels.LAUNCHES) == 194
    assert len({launch.kernel for launch in fresh_kernels.LAUNCHES.values()}) == 101


def test_what_was_said_before_is_kept():
    reached = validation.accuracy(BLIND)
    assert reached.rows == 192
    assert reached.error == pytest.approx(58.7, abs=0.05)
    assert reached.rank == pytest.approx(0.882, abs=0.001)
    assert fresh_validation.median_error(BLIND) == pytest.approx(14.8, abs=0.05)
    groups = fresh_validation.variants(BLIND)
    assert (sum(map(validation.well_chosen, groups)), len(groups)) == (37, 45)


def test_times_are_near_those_of_the_gpu():
    """The rules have changed since, with these rows in sight."""
    reached = validation.accuracy(OUTCOMES)
    assert reached.error <= 19  # [18.3]
    assert reached.rank >= 0.965  # [0.969]
    assert fresh_validation.median_error(OUTCOMES) <= 13  # [12.1]
    groups = fresh_validation.variants(OUTCOMES)
    assert sum(map(validation.well_chosen, groups)) >= 39  # [40 of 45]


@pytest.mark.parametrize("name", ["global_load_sectors", "global_store_sectors", "global_atomic_sectors"])
def test_sectors_are_those_of_the_counters(name):
    for o in OUTCOMES:
        if o.kernel not in MERGED:
            near = 0.001 if o.kernel != UNORDERED and name != "global_atomic_sectors" else 0.03
            assert o.measured[name] == pytest.approx(o.counts[name], rel=near), o


@pytest.mark.parametrize("name", [name for name in validation.COUNTERS if name.endswith("passes")])
def test_passes_are_within_20_percent_of_the_counters(name):
    """The most are of small counts, behind others' traffic."""
    for o in OUTCOMES:
        if o.kernel not in MERGED:
            assert 0.99 * o.counts[name] <= o.measured[name] <= 1.2 * o.counts[name], o


def test_a_cycle_goes_through_all_elements():
    following = fresh_contents.contents(fresh_contents.Buffer("I", 1024, "cycle"), 0, ())
    at, seen = 0, set()
    for _ in range(1024):
        seen.add(at)
        at = int(following[at])
    assert (at, len(seen)) == (0, 1024)


def test_rows_end_where_the_next_begin():
    begin = fresh_contents.contents(fresh_contents.Buffer("I", 1025, "rows"), 0, ()).astype(int)
    lengths = np.diff(begin)
    assert (begin[0], begin[-1], lengths.min() >= 0, lengths.max() <= 64) == (0, 32 * 1024, True, True)


@pytest.mark.parametrize("number", [8, 26, 38, 54, 76, 90, 105, 132, 155, 165, 181, 190])
def test_the_table_is_what_is_said_today(number):
    report = fresh_validation.report_of(fresh_kernels.LAUNCHES[number])
    (listed,) = (o for o in OUTCOMES if o.cid == number)
    assert report.time_s * 1e6 + validation.OVERHEAD_US == pytest.approx(listed.time_us, rel=1e-3)
    assert (report.bound, validation.counted(report)) == (listed.bound, dict(listed.counts))
