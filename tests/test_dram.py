"""DRAM: what the L2 still holds is not fetched again, and pages that others close are opened again for each request."""

import dataclasses

import jax.numpy as jnp
import pytest
from advice import F32, floats
from jax import lax

import xeemu as xe

N = 2**22


def term(report, resource):
    return next(each for each in report.terms if each.resource == resource)


@xe.kernel
def three_rows(wg, u, out):
    """A row of groups reads what the row before it has read, whose groups are gone."""
    row, column = wg.global_id(0) + 1, wg.global_id(1)
    return out.at[row, column].set(u[row - 1, column] + u[row, column] + u[row + 1, column])


def test_rows_that_later_groups_load_again_are_fetched_once_while_the_l2_holds_them():
    report = xe.estimate(three_rows, xe.NDRange((2048, 2048), (1, 256)), device="hd530")(*(floats(2050, 2048),) * 2)
    assert 4 * 2 * 2048**2 <= term(report, "DRAM").work < 1.3 * 4 * 2 * 2048**2
    small = dataclasses.replace(xe.device("hd530"), l2_bytes=2**15)
    again = xe.estimate(three_rows, xe.NDRange((2048, 2048), (1, 256)), device=small)(*(floats(2050, 2048),) * 2)
    assert term(again, "DRAM").work > 1.7 * 4 * 2 * 2048**2


@xe.kernel
def gone_through(wg, x, out, *, loops):
    """Each work-group goes through a part of its own, so many times."""
    first = wg.group_id() * 256 * wg.size + wg.local_id()
    total = jnp.zeros(wg.size, F32)
    for _ in range(loops):
        total = lax.fori_loop(0, 256, lambda k, t: t * 0.5 + x[first + k * wg.size], total)
    return out.at[wg.global_id()].set(total)


@pytest.mark.parametrize(("l2_bytes", "times"), [(3 * 2**18, 2), (2**24, 1)])
def test_what_a_group_goes_through_in_two_loops_is_fetched_twice_unless_the_l2_holds_it(l2_bytes, times):
    device = dataclasses.replace(xe.device("hd530"), l2_bytes=l2_bytes)
    once, twice = (
        term(
            xe.estimate(gone_through, xe.NDRange(N // 4, 256), device=device)(floats(64 * N), floats(N // 4), loops=k),
            "DRAM",
        )
        for k in (1, 2)
    )
    assert (twice.work - N) / (once.work - N) == pytest.approx(times, rel=0.01)


@xe.kernel
def added_up(wg, x, out, *, apart):
    """Sixteen words of each work-item: those of a group side by side, or a part of the memory of its own each."""
    first, step = (wg.group_id() * 16 * wg.size, wg.size) if apart else (wg.group_id() * wg.size, wg.global_range())
    at = first + wg.local_id()
    return out.at[wg.global_id()].set(sum(x[at + k * step] for k in range(16)))


def test_a_bank_with_pages_of_many_streams_opens_one_for_each_request():
    """Sixteen streams, far apart, of the same bytes: in banks without number they take no longer."""
    banks = dataclasses.replace(xe.device("hd530"), dram_bytes_per_s=51e9)
    without = dataclasses.replace(banks, dram_banks=None)
    near, far, unbounded = (
        xe.estimate(added_up, xe.NDRange(N, 256), device=device)(floats(16 * N), floats(N), apart=apart)
        for device, apart in ((banks, True), (banks, False), (without, False))
    )
    near, far, unbounded = (term(each, "DRAM") for each in (near, far, unbounded))
    assert near.work == pytest.approx(far.work, rel=0.01)
    assert far.cycles > 1.1 * unbounded.cycles
    assert far.cycles > 1.1 * near.cycles


@xe.kernel
def words_apart(wg, x, out, *, stride):
    return out.at[wg.global_id()].set(x[wg.global_id() * stride])


def test_an_l1_serves_scattered_lines_one_by_one():
    near, far = (
        term(
            xe.estimate(words_apart, xe.NDRange(2**20, 256), device="max1550")(floats(2**25), floats(2**20), stride=s),
            "L1",
        )
        for s in (1, 32)
    )
    requests = 2**20 / 16
    assert near.cycles * 128 == pytest.approx(2 * requests)
    assert far.cycles * 128 == pytest.approx((16 + 1) * requests)
