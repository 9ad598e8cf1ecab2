"""What passes the caches, by hand: an L1 of 1000 bytes in each of 10 cores, an L2 of 100000."""

import dataclasses

import jax
import measured_kernels
import numpy as np
import pytest

import xeemu as xe
from xeemu.cost.caches import (
    opened_pages,
    partly_stored,
    past_l1,
    past_l2,
    store_lines,
    stored_at_a_time,
)
from xeemu.cost.caches import stored as stored_in_all
from xeemu.cost.footprint import Footprint
from xeemu.cost.traffic import Loaded, Scratch, Stored, Traffic

SMALL = dataclasses.replace(
    xe.device("h200"), l1_bytes_per_core=1000, l2_bytes=100_000, l2_kept_bytes=None, xe_cores=10
)


def traffic(*loads, stores=(), scratch=None, groups=100, resident=20.0, other_bytes=0.0):
    return Traffic(groups, resident, loads, stores, scratch, other_bytes)


def loaded(moved, group, launch, bursts=None):
    sectors = Footprint(group, launch)
    return Loaded(moved, moved / 128, sectors, bursts or sectors, sectors)


def stored(moved, group, launch, gaps=0.0, lines=None):
    sectors = Footprint(group, launch)
    return Stored(moved, moved if gaps else 0.0, moved / 128, sectors, lines or sectors, gaps)


def test_what_a_group_loads_twice_passes_the_l1_once():
    assert past_l1(traffic(loaded(100 * 800, 400, 40_000)), SMALL) == 100 * 400
    assert past_l1(traffic(loaded(100 * 200, 400, 40_000)), SMALL) == 100 * 200


@pytest.mark.parametrize(("group", "passes"), [(500, 1), (501, 3)])
def test_what_a_loop_goes_through_again_passes_the_l1_again_if_the_resident_groups_do_not_fit(group, passes):
    """Two groups to a core; a loop around the loads makes three passes."""
    sectors = Footprint(group, 100 * group, passes=3)
    load = Loaded(10**9, 10**9 / 128, sectors, sectors, None)
    assert past_l1(traffic(load), SMALL) == 100 * group * passes
    without = dataclasses.replace(SMALL, l1_bytes_per_core=None, slm_bytes_per_core=1000)
    assert past_l1(traffic(load), without) == 100 * group * passes


def test_stores_of_each_pass_are_written_again_in_so_far_as_the_l2_cannot_hold_them():
    sectors = Footprint(2000, 200_000, passes=3)
    store = Stored(600_000, 0.0, 600_000 / 128, sectors, sectors, gaps=0.0)
    assert past_l2(traffic(stores=[store]), SMALL) == 200_000 * (1 + 2 / 2)


def test_what_fits_the_l1_passes_it_once_for_each_core():
    assert past_l1(traffic(loaded(100 * 800, 400, 900)), SMALL) == 10 * 900
    assert past_l1(traffic(loaded(4 * 800, 400, 900), groups=4), SMALL) == 4 * 400
    together = traffic(loaded(100 * 800, 400, 900), loaded(100 * 800, 400, 900))
    assert past_l1(together, SMALL) == 2 * 100 * 400


def test_stores_pass_the_l1():
    assert past_l1(traffic(stores=[stored(5000, 50, 5000)]), SMALL) == 5000


def scratch(group_bytes):
    return Scratch(700_000, 300_000, 100_000, load_lines=7000, store_lines=3000, group_bytes=group_bytes)


@pytest.mark.parametrize(("group_bytes", "loaded"), [(500, 0), (501, 700_000)])
def test_loads_of_scratch_stay_in_the_l1_where_that_of_all_resident_groups_fits(group_bytes, loaded):
    assert past_l1(traffic(scratch=scratch(group_bytes)), SMALL) == 300_000 + loaded
    assert past_l1(traffic(scratch=scratch(2 * group_bytes), groups=10), SMALL) == 300_000 + loaded


def test_lines_of_scratch_that_the_l2_does_not_hold_open_a_page_each():
    far = traffic(scratch=scratch(10_000))
    assert past_l2(far, SMALL) == (700_000 + 300_000) / 2
    assert opened_pages(far, SMALL) == (7000 + 3000) / 2
    near = traffic(scratch=scratch(5000))
    assert past_l2(near, SMALL) == opened_pages(near, SMALL) == 0


def test_scratch_is_stored_through_the_slices_of_the_l2():
    moved = traffic(stores=[stored(5000, 50, 5000, gaps=1.0)], scratch=scratch(100))
    assert stored_in_all(moved) == 5000 + 300_000
    assert partly_stored(moved) == 5000 + 100_000
    assert store_lines(moved) == 5000 / 128 + 3000
    assert stored_at_a_time(moved) == 20 * (50 + 100)


def test_what_fits_the_l2_is_not_fetched():
    assert past_l2(traffic(loaded(10**6, 10_000, 60_000)), SMALL) == 0
    assert past_l2(traffic(loaded(10**6, 10_000, 60_000), other_bytes=50_000), SMALL) == 60_000


def test_what_does_not_fit_is_fetched_once_and_what_is_asked_for_again_in_part():
    stream = traffic(loaded(200_000, 2000, 200_000))
    assert past_l2(stream, SMALL) == 200_000
    again = traffic(loaded(10**6, 4000, 200_000))
    assert past_l2(again, SMALL) == 200_000 + (1 - 0.5) * (400_000 - 200_000)


def test_what_is_asked_for_often_stays_while_a_stream_goes_by():
    """A row of 1000 bytes, which each of 100 groups loads, beside a matrix of 200,000 bytes, each byte loaded once."""
    row = loaded(100 * 1000, 1000, 1000)
    assert past_l2(traffic(loaded(200_000, 2000, 200_000), row), SMALL) == 200_000 + 1000


def test_what_is_asked_for_again_comes_again_where_the_l2_keeps_less_than_its_size():
    kept = dataclasses.replace(SMALL, l2_kept_bytes=50_000)
    assert past_l2(traffic(loaded(10**6, 4000, 200_000)), kept) == 200_000 + (1 - 0.25) * (400_000 - 200_000)
    assert past_l2(traffic(loaded(10**6, 10_000, 60_000)), kept) == 0


def test_sectors_are_fetched_in_bursts():
    strided = traffic(loaded(200_000, 2000, 200_000, bursts=Footprint(4000, 400_000)))
    assert past_l2(strided, SMALL) == 400_000


@pytest.mark.parametrize(("gaps", "times"), [(0.0, 1), (0.25, 1.25), (1.0, 2)])
def test_stores_with_gaps_fetch_what_lies_between_them(gaps, times):
    store = stored(200_000, 2000, 200_000, gaps)
    assert past_l2(traffic(stores=[store]), SMALL) == times * 200_000
    assert opened_pages(traffic(stores=[store]), SMALL) == pytest.approx(times * 200_000 / 128)


def test_each_line_that_is_stored_opens_a_page():
    """With 32 of 128 bytes in 6250 lines, each fetched and written back."""
    store = stored(200_000, 2000, 200_000, gaps=1.0, lines=Footprint(8000, 800_000))
    assert opened_pages(traffic(stores=[store]), SMALL) == 2 * 6250
    assert opened_pages(traffic(stores=[stored(2000, 20, 2000)]), SMALL) == 0


def test_pages_of_loads_that_are_asked_for_again_are_opened_again_in_so_far_as_they_do_not_fit():
    again = traffic(loaded(10**8, 4000, 200_000))
    assert opened_pages(again, SMALL) == pytest.approx((200_000 + (1 - 0.5) * (400_000 - 200_000)) / 1024)


def test_the_resident_groups_store_to_a_part_of_what_the_launch_does():
    assert stored_at_a_time(traffic(stores=[stored(5000, 50, 5000)])) == 20 * 50
    assert stored_at_a_time(traffic(stores=[stored(5000, 5000, 5000)])) == 5000


def test_without_the_size_of_the_l2_what_passes_it_is_not_known():
    assert past_l2(traffic(loaded(1, 1, 1)), dataclasses.replace(SMALL, l2_bytes=None)) is None


# --- Neighbours that are resident together ---


def test_what_resident_neighbours_share_is_fetched_once_for_all():
    """Groups of 4000 bytes, each 1000 after the one before: 20 of them lie within 23,000."""
    load = loaded(400 * 4000, 4000, 403_000)
    shared = dataclasses.replace(load, added_bytes=23_000 / 20)
    alone, together = (past_l2(traffic(each, groups=400), SMALL) for each in (load, shared))
    assert together == pytest.approx(403_000, rel=0.15)
    assert alone > 2.5 * together
    wide = dataclasses.replace(load, added_bytes=100_001 / 20)  # more than the L2 holds
    assert past_l2(traffic(wide, groups=400), SMALL) == alone


@xe.kernel(sub_group_size=32)
def five_points(wg, x, out):
    """The sum of an element of a matrix and of its four neighbours, with an edge around."""
    row, column = wg.global_id(0) + 1, wg.global_id(1) + 1
    total = x[row, column] + x[row - 1, column] + x[row + 1, column] + x[row, column - 1] + x[row, column + 1]
    return out.at[row - 1, column - 1].set(total)


@pytest.mark.parametrize("local_range", [(1, 128), (8, 32), (32, 8)])
def test_a_stencil_fetches_its_matrix_once(local_range):
    size = 2**13
    shapes = [jax.ShapeDtypeStruct((n, n), np.dtype(np.float32)) for n in (size + 2, size)]
    report = xe.estimate(five_points, xe.NDRange((size, size), local_range), device="h200")(*shapes)
    dram = next(term for term in report.terms if term.resource == "DRAM")
    assert (dram.work, dram.unit) == (pytest.approx(2 * 4 * size**2, rel=0.1), "bytes")


@pytest.mark.thorough
def test_bytes_that_neighbours_share_are_those_of_the_counters():
    """Convolutions in groups of 64, which load five times what is theirs, and a copy that begins within a sector."""
    for cid in ("64", "92", "459"):
        row = next(row for row in measured_kernels.rows() if row["cid"] == cid)
        case = measured_kernels.case(row)
        report = xe.estimate(case.kernel, case.nd_range, device="h200")(*case.arguments, **case.static)
        counted = int(row["warm_dram_rd_bytes"]) + int(row["warm_dram_wr_bytes"])
        dram = next(term for term in report.terms if term.resource == "DRAM")
        assert dram.work == pytest.approx(counted, rel=0.06), cid
