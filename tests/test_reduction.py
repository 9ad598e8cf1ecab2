"""Atomic updates of one word by all lanes: NVIDIA's compiler makes one of those of a sub-group."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe

GROUPS, SIZE = 3, 128
N = GROUPS * SIZE
RANGE = xe.NDRange(N, SIZE)


def estimated(kernel, dtype=np.uint32, device="h200", words=4):
    given = (jax.ShapeDtypeStruct((N,), dtype), jax.ShapeDtypeStruct((words,), dtype))
    return xe.estimate(kernel, RANGE, device=device)(*given)


@xe.kernel
def total(wg, x, out):
    return out.atomic[0].add(x[wg.global_id()])


@xe.kernel
def total_by_group(wg, x, out):
    return out.atomic[wg.group_id()].add(x[wg.global_id()])


@xe.kernel
def greatest(wg, x, out):
    return out.atomic[1].max(x[wg.global_id()])


@xe.kernel
def of_some(wg, x, out):
    """Lanes 0 to 39: two sub-groups of each work-group."""
    return out.atomic[0].add(x[wg.global_id()], where=wg.local_id() < 40)


@xe.kernel
def numbered(wg, x, out):
    """The old value is used."""
    old, out = out.atomic[0].fetch_add(x[wg.global_id()])
    return out.at[old % 4].set(old)


@xe.kernel
def spread(wg, x, out):
    return out.atomic[wg.global_id() % 2].add(x[wg.global_id()])


@xe.kernel
def swapped(wg, x, out):
    return out.atomic[0].store(x[wg.global_id()])


@pytest.mark.parametrize(
    ("kernel", "updates"),
    [(total, 4 * GROUPS), (total_by_group, 4 * GROUPS), (greatest, 4 * GROUPS), (of_some, 2 * GROUPS)],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_sub_group_updates_a_word_that_all_its_lanes_share_once(kernel, updates):
    report = estimated(kernel)
    assert (report.atomics.global_sectors, report.atomics.global_operations) == (updates, updates)
    busiest = updates if kernel is not total_by_group else updates // GROUPS
    assert report.atomics.contention == busiest


@pytest.mark.parametrize("kernel", [spread, swapped, numbered], ids=lambda kernel: kernel.name)
def test_other_updates_are_those_of_the_lanes(kernel):
    assert estimated(kernel).atomics.global_operations == N


def test_floats_and_wide_integers_are_not_reduced_nor_by_intels_compiler():
    assert estimated(total, np.float32).atomics.global_operations == N
    assert estimated(total, np.uint64).atomics.global_operations == N
    assert estimated(total, device="max1550").atomics.global_operations == N


@xe.kernel
def total_in_local_memory(wg, x, out):
    part = wg.local(1, jnp.uint32)
    part = wg.barrier(part.atomic[0].store(0, where=wg.local_id() == 0))
    part = wg.barrier(part.atomic[0].add(x[wg.global_id()]))
    return out.at[wg.group_id()].set(part[0])


def test_local_memory_has_a_pass_for_each_sub_group():
    of_add = estimated(total_in_local_memory).sites[2]
    assert (of_add.op, of_add.requests, of_add.passes) == ("atomic", 4 * GROUPS, 4 * GROUPS)


@pytest.mark.thorough
def test_the_run_counts_the_same_where_data_decide_who_takes_part():
    @xe.kernel
    def of_positive(wg, x, out):
        mine = x[wg.global_id()]
        return out.atomic[0].add(mine, where=mine > 0)

    x = np.zeros(N, np.uint32)
    x[: SIZE // 2] = 1
    out, report = xe.profile(of_positive, RANGE, device="h200")(x, np.zeros(4, np.uint32))
    assert out[0] == SIZE // 2
    assert (report.atomics.global_sectors, report.atomics.global_operations) == (2, 2)


def test_a_word_that_the_counter_of_a_loop_tells_is_one_for_all():
    """Also where data say how often it is repeated, so that a run counts."""
    source = """kernel void k(global const int *n, global int *out) {
        for (int k = 0; k < n[0]; k++) atomic_sub(&out[get_group_id(0) / (k + 1)], 1); }"""
    given = np.full(1, 2, np.int32), np.zeros(GROUPS, np.int32)
    (site,) = (s for s in xe.profile(xe.load(source)["k"], RANGE, device="h200")(*given)[1].sites if s.op == "atomic")
    assert site.requests == site.lanes == 2 * GROUPS * SIZE // 32
