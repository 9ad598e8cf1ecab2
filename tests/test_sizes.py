"""Kernels that require no sub-group size: a note where they are right at some only."""

import jax.numpy as jnp
import numpy as np
import pytest
from notes import found, line

import xeemu as xe

KIND = "sub-group-size"
N = xe.NDRange(128, 64)
A = np.arange(128, dtype=np.int32)
OUT = np.zeros(128, np.int32)


def _butterfly(wg, a, out):
    x = a[wg.global_id()]
    for distance in (16, 8, 4, 2, 1):
        x = x + wg.sub_group.permute_xor(x, distance) % 1000  # note
    return out.at[wg.global_id()].set(x, where=wg.local_id() % 32 == 0)


@xe.kernel
def butterfly(wg, a, out):
    return _butterfly(wg, a, out)


@xe.kernel
def two_halves(wg, a, out):
    sg, sums = wg.sub_group, wg.local(2, jnp.int32)
    total = sg.reduce(a[wg.global_id()], "add")
    sums = wg.barrier(sums.at[sg.group_id()].set(total, where=sg.local_id() == 0))  # note
    return out.at[wg.global_id()].set(sums[0] + sums[1])


@xe.kernel
def asserted(wg, a, out):  # note
    assert wg.sub_group.size == 32
    return out.at[wg.global_id()].set(a[wg.global_id()])


@xe.kernel
def summed(wg, a, out):
    i = wg.global_id()
    return out.at[i].set(wg.sub_group.reduce(a[i], "add"))


@xe.kernel
def in_lockstep(wg, a, out):
    sg, tile, lid = wg.sub_group, wg.local(64, jnp.int32), wg.local_id()
    tile = sg.barrier(tile.at[lid].set(lid))
    return out.at[wg.global_id()].set(tile[lid ^ 31])  # note


@xe.kernel
def counting(wg, a, out):
    """No order of work-items tells in what it gives, as nobody uses the old value."""
    n = wg.barrier(wg.local(1, jnp.int32).atomic[0].store(0))
    _, n = n.atomic[0].fetch_add(1)
    return out.at[wg.global_id()].set(wg.sub_group.reduce(a[wg.global_id()], "add") + wg.barrier(n)[0])


@xe.kernel
def numbering(wg, a, out):
    n = wg.barrier(wg.local(1, jnp.int32).atomic[0].store(0))
    number, _ = n.atomic[0].fetch_add(1, where=wg.sub_group.local_id() == 0)
    return out.at[wg.global_id()].set(wg.sub_group.reduce(a[wg.global_id()], "add") + number)


@pytest.mark.parametrize("kernel", [two_halves, asserted, in_lockstep], ids=lambda kernel: kernel.name)
def test_found_where_a_size_has_to_be_required(kernel):
    (finding,) = found(kernel, N, A, OUT, kind=KIND)
    assert finding.severity == "note"
    assert line(kernel, "note") in [site.line for site in finding.sites]
    assert "right at 32 only" in finding.text
    assert "    at 16: " in finding.text
    assert "Require it: @xe.kernel(sub_group_size=32)" in finding.text


def test_results_are_compared_unless_an_order_of_work_items_tells_in_them():
    (finding,) = found(counting, N, A, OUT, kind=KIND)
    assert "    at 16: another result, " in finding.text
    assert not found(numbering, N, A, OUT, kind=KIND)


def test_another_result_is_shown():
    (finding,) = found(summed, N, A, OUT, kind=KIND)
    assert "    at 16: another result, " in finding.text
    assert "the kernel gives another result at another sub-group size, and requires none" in finding.text
    assert "If one result is meant, require it: @xe.kernel(sub_group_size=32)" in finding.text.replace("\n ", "")


def test_a_lane_that_a_size_has_not_is_shown():
    (finding,) = found(butterfly, N, A, OUT, kind=KIND)
    assert "    at 16: absent-lane" in finding.text


@pytest.mark.thorough
def test_silent_where_the_size_is_required():
    for kernel in butterfly, two_halves, in_lockstep:
        requiring = xe.kernel(sub_group_size=32)(kernel.function)
        assert not found(requiring, N, A, OUT, kind=KIND)


@xe.kernel
def of_any_size(wg, a, out):
    sg = wg.sub_group
    sums = wg.local(wg.size // sg.size, jnp.float32)
    total = sg.reduce(a[wg.global_id()].astype(jnp.float32) / 3, "add")
    sums = wg.barrier(sums.at[sg.group_id()].set(total, where=sg.local_id() == 0))
    total = sum(sums[k] for k in range(wg.size // sg.size))
    return out.at[wg.global_id()].set(total)


@pytest.mark.parametrize("device", ["max1550", "a770", "cpu", "h200"])
def test_silent_where_it_is_right_at_all(device):
    assert not found(of_any_size, N, A, OUT.astype(np.float32), kind=KIND, device=device)


def test_without_sub_groups_no_other_size_is_tried():
    sizes = []

    @xe.kernel
    def copy(wg, a, out):
        sizes.append(wg.size)
        return out.at[wg.global_id()].set(a[wg.global_id()])

    xe.check(copy, N)(A, OUT)
    assert len(sizes) == 1
