"""Accesses whose lanes are all masked: by hand, and against the counters of an H200."""

import jax
import jax.numpy as jnp
import measured_kernels
import numpy as np
import pytest

import xeemu as xe

ITEMS, SIZE = 1024, 256
FLOATS = jax.ShapeDtypeStruct((ITEMS,), np.dtype(np.float32))


@xe.kernel(sub_group_size=32)
def by_mask(wg, x, *, items):
    lid = wg.local_id()
    tile = wg.barrier(wg.local(wg.size, jnp.float32).at[lid].set(x[wg.global_id()]))
    tile = wg.barrier(tile.at[lid].set(tile.load(lid, where=lid < items) + 1, where=lid < items))
    return x.at[wg.global_id()].set(tile[lid])


@xe.kernel(sub_group_size=32)
def by_branch(wg, x, *, items):
    lid = wg.local_id()
    tile = wg.barrier(wg.local(wg.size, jnp.float32).at[lid].set(x[wg.global_id()]))
    tile = wg.cond(lid < items, lambda tile: tile.at[lid].set(tile[lid] + 1), lambda tile: tile, tile)
    return x.at[wg.global_id()].set(wg.barrier(tile)[lid])


def slm_passes(report):
    return next(term.work for term in report.terms if term.resource == "SLM")


@pytest.mark.parametrize("items", [32, 100, 256])
def test_a_masked_access_is_issued_by_sub_groups_that_have_no_lanes(items):
    report = xe.estimate(by_mask, xe.NDRange(ITEMS, SIZE), device="h200")(FLOATS, items=items)
    groups, sub_groups = ITEMS // SIZE, SIZE // 32
    assert report.slm.requests == groups * (2 * sub_groups + 2 * -(-items // 32))
    assert report.instructions["memory"] == groups * sub_groups * (4 + 2)
    assert slm_passes(report) == groups * (4 * sub_groups + 2)  # two barriers


def test_in_a_branch_that_no_lane_takes_nothing_is_issued():
    report = xe.estimate(by_branch, xe.NDRange(ITEMS, SIZE), device="h200")(FLOATS, items=32)
    assert report.instructions["memory"] == report.slm.requests + report.global_.requests


def test_a_run_that_counts_says_the_same_as_an_estimate():
    x = np.ones(ITEMS, np.float32)
    launch = by_mask, xe.NDRange(ITEMS, SIZE)
    _, report = xe.profile(*launch, device="h200")(x, items=40)
    assert report.instructions == xe.estimate(*launch, device="h200")(x, items=40).instructions


def test_devices_without_the_figure_have_no_passes_for_it():
    report = xe.estimate(by_mask, xe.NDRange(ITEMS, SIZE), device="max1550")(FLOATS, items=32)
    assert slm_passes(report) == report.slm.passes


def test_passes_of_a_tree_reduction_are_those_of_the_counters():
    """One for each barrier of a work-group; and a sub-group has one more at its end, as in all measured kernels."""
    rows = [row for row in measured_kernels.rows() if row["kernel"] == "reduce_inter"]
    assert len(rows) == 12
    for row in rows[::3]:
        case = measured_kernels.case(row)
        report = xe.estimate(case.kernel, case.nd_range, device="h200")(*case.arguments, **case.static)
        sub_groups = report.groups * int(row["wg"]) // 32
        counted = int(row["slm_wf"]) - sub_groups
        assert counted == pytest.approx(slm_passes(report), rel=0.02), row["cid"]


def test_the_figures_have_a_source():
    for name in ("slm_masked_passes", "slm_barrier_passes"):
        assert "counters" in xe.device("h200").source(name)
