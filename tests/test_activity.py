"""Activity: the lanes that take part in each line of a work-group, against masks that NumPy makes."""

import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe


@xe.kernel(sub_group_size=16)
def halved(wg, x):
    lid = wg.local_id()
    tile = wg.local(wg.size, jnp.int32)
    tile = wg.barrier(tile.at[lid].set(x[wg.global_id()]))
    stride = wg.size // 2
    while stride:
        on = lid < stride
        tile = tile.at[lid].set(tile.load(lid + stride, where=on), where=on)
        tile = wg.barrier(tile)
        stride //= 2
    return x.at[wg.group_id()].set(tile[lid], where=lid == 20)


def by_source(items):
    inspection = xe.inspect(halved, xe.NDRange(2 * items, items), group=1, device="max1550")(np.arange(2 * items))
    return {line.source: line for line in inspection.activity}


@pytest.mark.thorough
def test_a_line_counts_the_sub_groups_that_carry_it_out_and_their_lanes():
    lines = by_source(64)
    halving = lines["tile = tile.at[lid].set(tile.load(lid + stride, where=on), where=on)"]
    taken = np.stack([np.arange(64) < stride for stride in (32, 16, 8, 4, 2, 1) for _ in range(2)])
    carried = taken.reshape(12, 4, 16).any(-1)
    assert halving.executions == carried.sum()
    assert halving.efficiency == taken.sum() / (16 * carried.sum())
    of_item = carried.sum(0).repeat(16)
    np.testing.assert_array_equal(halving.shares, np.where(of_item, taken.sum(0) / np.maximum(of_item, 1), np.nan))
    assert np.isnan(halving.shares[32:]).all()


@pytest.mark.thorough
def test_each_access_of_a_line_counts_by_itself():
    last = by_source(64)["return x.at[wg.group_id()].set(tile[lid], where=lid == 20)"]
    assert last.executions == 4 + 1
    assert (last.shares[20], last.shares[16], last.shares[0]) == (1, 0.5, 1)
    assert last.efficiency == 65 / 80


@pytest.mark.parametrize("items", [24, 40])
def test_a_sub_group_that_is_not_full_has_lanes_without_work(items):
    first = by_source(items)["lid = wg.local_id()"]
    assert first.executions == -(-items // 16)
    assert first.efficiency == items / (16 * first.executions)
    assert (first.shares == 1).all()
