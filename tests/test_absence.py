"""Values of lanes that do not exist: found where they are used, silent where they are masked out or replaced."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

SIZE = 16
X = np.arange(80, dtype=np.int32)
USED, HARMLESS = {}, {}


def used(items=32, part="value of the store"):
    """A kernel in which a value of an absent lane is used, taken on the line marked with an arrow."""

    def add(function):
        USED[function.__name__] = xe.kernel(sub_group_size=SIZE)(function), items, part
        return function

    return add


def harmless(items=40):
    def add(function):
        HARMLESS[function.__name__] = xe.kernel(sub_group_size=SIZE)(function), items
        return function

    return add


def summed(wg, x):
    """The usual sum of a sub-group in its first lane."""
    for delta in (8, 4, 2, 1):
        x = x + wg.sub_group.shift_left(x, delta)  # <-
    return x


# --- Used ---


@used()
def stored_by_all(wg, x, y, n):
    i = wg.global_id()
    return y.at[i].set(wg.sub_group.shift_left(x[i]))  # <-


@used()
def the_first_lane_of_a_shift_right(wg, x, y, n):
    i = wg.global_id()
    return y.at[i].set(x[i] - wg.sub_group.shift_right(x[i]))  # <-


@used(40)
def a_sum_in_a_partial_sub_group(wg, x, y, n):
    i = wg.global_id()
    return y.at[i].set(summed(wg, x[i]), where=wg.sub_group.local_id() == 0)


@used(40)
def a_sum_in_a_loop(wg, x, y, n):
    i = wg.global_id()
    total = lax.fori_loop(0, 4, lambda k, total: total + wg.sub_group.shift_left(total, 8 >> k), x[i])  # <-
    return y.at[i].set(total, where=wg.sub_group.local_id() == 0)


@used(40)
def a_butterfly_in_a_partial_sub_group(wg, x, y, n):
    i = wg.global_id()
    total, mask = x[i], 1
    while mask < SIZE:
        total = total + wg.sub_group.permute_xor(total, mask)  # <-
        mask *= 2
    return y.at[i].set(total)


@used(40)
def the_last_lane_of_a_partial_sub_group(wg, x, y, n):
    i = wg.global_id()
    return y.at[i].set(wg.sub_group.broadcast(x[i], SIZE - 1))  # <-


@used()
def a_lane_of_ones_own_choice(wg, x, y, n):
    i = wg.global_id()
    return y.at[i].set(wg.sub_group.select(x[i], wg.sub_group.local_id() * 2))  # <-


@used(part="index of the load")
def an_index(wg, x, y, n):
    i = wg.global_id()
    place = wg.sub_group.shift_left(i, 1)  # <-
    return y.at[i].set(x[place] * 2)


@used(part="mask of the store")
def a_mask(wg, x, y, n):
    i = wg.global_id()
    ends = wg.sub_group.shift_left(x[i]) != x[i]  # <-
    return y.at[i].set(1, where=ends)


@used(part="predicate of the cond")
def a_predicate(wg, x, y, n):
    i = wg.global_id()
    unsorted = wg.any(wg.sub_group.shift_left(x[i]) < x[i])  # <-
    return lax.cond(unsorted, lambda y: y.at[i].set(1), lambda y: y, y)


@used(part="value of the atomic add")
def a_share_of_a_sum(wg, x, y, n):
    i = wg.global_id()
    steps = jnp.abs(wg.sub_group.shift_left(x[i]) - x[i])  # <-
    return y.atomic[0].add(wg.reduce(steps, "add"), where=wg.local_id() == 0)


@used(40)
def a_mask_by_the_size_of_a_full_sub_group(wg, x, y, n):
    """Right but for the last sub-group."""
    i, lane = wg.global_id(), wg.sub_group.local_id()
    following = wg.sub_group.shift_left(x[i])  # <-
    return y.at[i].set(jnp.where(lane + 1 < wg.sub_group.size, following, x[i]))


@used()
def below_a_scalar(wg, x, y, n):
    i = wg.global_id()
    return y.at[i].set(wg.sub_group.shift_left(x[i]), where=i < n)  # <-


@used(40)
def a_rotation_of_a_partial_sub_group(wg, x, y, n):
    i = wg.global_id()
    return y.at[i].set(wg.sub_group.rotate(x[i], 2**31 - 1))  # <-


@used(38)
def a_rotation_of_a_partial_chunk(wg, x, y, n):
    i = wg.global_id()
    return y.at[i].set(wg.sub_group.rotate(x[i], 1, chunk=4))  # <-


@used(32)
def a_rotation_by_those_who_are_active(wg, x, y, n):
    i, odd = wg.global_id(), wg.local_id() % 2 == 1
    return y.at[i].set(wg.cond(odd, lambda: wg.sub_group.rotate(x[i], 1), lambda: x[i]))  # <-


@used()
def a_ballot(wg, x, y, n):
    i = wg.global_id()
    mask = wg.sub_group.ballot(wg.sub_group.shift_left(x[i]) > 3)  # <-
    return y.at[i].set(mask.astype(jnp.int32), where=wg.sub_group.local_id() == 0)


@used()
def several_elements(wg, x, y, n):
    i = wg.global_id()
    pairs = jnp.stack([x[i], -x[i]], axis=-1)
    return y.at[i].set(wg.sub_group.shift_left(pairs).sum(-1))  # <-


# --- Harmless ---


@harmless(32)
def a_sum_in_full_sub_groups(wg, x, y, n):
    i = wg.global_id()
    return y.at[i].set(summed(wg, x[i]), where=wg.sub_group.local_id() == 0)


@harmless(32)
def a_butterfly(wg, x, y, n):
    i = wg.global_id()
    total = lax.fori_loop(0, 4, lambda k, total: total + wg.sub_group.permute_xor(total, 1 << k), x[i])
    return y.at[i].set(total)


@harmless()
def a_rotation_of_full_chunks(wg, x, y, n):
    i = wg.global_id()
    return y.at[i].set(wg.sub_group.rotate(x[i], 2**31 - 1, chunk=8))


@harmless()
def a_rotation_by_as_many_as_there_are_between(wg, x, y, n):
    i, even = wg.global_id(), wg.local_id() % 2 == 0
    return y.at[i].set(wg.cond(even, lambda: wg.sub_group.rotate(x[i], -2, chunk=8), lambda: x[i]))


@harmless()
def a_scan(wg, x, y, n):
    """The usual one: what comes from below the first lane is left out."""
    i, lane = wg.global_id(), wg.sub_group.local_id()
    total = x[i]
    for delta in (1, 2, 4, 8):
        total = jnp.where(lane >= delta, total + wg.sub_group.shift_right(total, delta), total)
    return y.at[i].set(total)


@harmless()
def a_scan_of_segments(wg, x, y, n):
    """Data has its say as well, but only where the lane exists."""
    i, lane = wg.global_id(), wg.sub_group.local_id()
    total, key = x[i], x[i] // 5
    for delta in (1, 2, 4, 8):
        same = (lane >= delta) & (wg.sub_group.shift_right(key, delta) == key)
        total = jnp.where(same, total + wg.sub_group.shift_right(total, delta), total)
    return y.at[i].set(total)


@harmless()
def the_ends_of_runs(wg, x, y, n):
    i, lane = wg.global_id(), wg.sub_group.local_id()
    ends = (lane == wg.sub_group.local_range() - 1) | (wg.sub_group.shift_left(x[i] // 3) != x[i] // 3)
    return y.at[i].set(1, where=ends)


@harmless()
def masked_by_how_many_there_are(wg, x, y, n):
    i, sg = wg.global_id(), wg.sub_group
    return y.at[i].set(sg.shift_left(x[i]), where=sg.local_id() + 1 < sg.local_range())


@harmless()
def the_last_lane_that_there_is(wg, x, y, n):
    i, sg = wg.global_id(), wg.sub_group
    return y.at[i].set(sg.select(x[i], sg.local_range() - 1) + sg.broadcast(x[i], 7))


@harmless()
def multiplied_by_zero(wg, x, y, n):
    i, sg = wg.global_id(), wg.sub_group
    return y.at[i].set(x[i] + sg.shift_left(x[i]) * (sg.local_id() + 1 < sg.local_range()).astype(jnp.int32))


@harmless()
def masked_by_ids_of_the_launch(wg, x, y, n):
    i = wg.global_id()
    return y.at[i].set(wg.sub_group.shift_left(x[i]), where=(i % 40 % SIZE < SIZE - 1) & (i % 40 < 39))


@harmless()
def left_to_data(wg, x, y, n):
    """What data decides is not known before the run."""
    i = wg.global_id()
    return y.at[i].set(wg.sub_group.shift_left(x[i]), where=x[i] < 15).at[i].set(wg.sub_group.select(x[i], x[i] % 16))


@harmless()
def never_used(wg, x, y, n):
    i = wg.global_id()
    wg.sub_group.shift_left(x[i], 3)
    return y.at[i].set(wg.sub_group.inclusive_scan(x[i], "add"))


@harmless()
def a_branch_that_is_not_taken(wg, x, y, n):
    i = wg.global_id()
    return lax.cond(n > 100, lambda y: y.at[i].set(wg.sub_group.shift_left(x[i])), lambda y: y.at[i].set(1), y)


def checked(kernel, items):
    return xe.check(kernel, xe.NDRange(2 * items, items))(X[: 2 * items], np.zeros_like(X), 80)[1]


@pytest.mark.parametrize("name", USED)
def test_it_is_found(name):
    kernel, items, part = USED[name]
    (found,) = [f for f in checked(kernel, items) if f.kind == "absent-lane"]
    assert found.severity == "error"
    assert found.sites[0].source.endswith("# <-")
    assert f"\n  {part} " in str(found)
    assert found.memory == found.space == ""


@pytest.mark.parametrize("name", HARMLESS)
def test_it_is_not_found_where_it_does_no_harm(name):
    assert not [f for f in checked(*HARMLESS[name]) if f.kind == "absent-lane"]


def test_the_message():
    kernel, items, _ = USED["a_sum_in_a_partial_sub_group"]
    (found,) = checked(kernel, items)
    take, use = found.sites
    assert str(found) == (
        "error: absent-lane: shift_left takes a value from lane 8, which does not exist, and it is used\n"
        f"  shift_left {take}\n"
        "    by work-item 32: local 32 of group 0, sub-group 2, which has lanes 0 to 7\n"
        f"  value of the store {use}\n"
        "    by work-item 32: local 32 of group 0, sub-group 2\n"
        "  What such a lane gives is unspecified in SYCL; here it is the poison value.\n"
        "  Choose another value where the lane is not below sg.local_range(), with jnp.where, or mask the\n"
        "  use; reductions and scans leave out by themselves what is absent."
    )
    assert (found.count, found.groups) == (1, ((0,),))


def test_the_message_of_a_lane_of_a_chunk_numbers_it_in_the_sub_group():
    kernel, items, _ = USED["a_rotation_of_a_partial_chunk"]
    (found,) = checked(kernel, items)
    assert "rotate takes a value from lane 6, which does not exist" in str(found)
    assert "by work-item 37: local 37 of group 0, sub-group 2, which has lanes 0 to 5\n" in str(found)


def test_the_message_of_a_lane_in_front_of_all():
    @xe.kernel(sub_group_size=SIZE)
    def shifted(wg, x, y):
        return y.at[wg.global_id()].set(wg.sub_group.shift_right(x[wg.global_id()], 1))

    (found,) = xe.check(shifted, xe.NDRange(16, 16))(X[:16], np.zeros_like(X))[1]
    assert "takes a value from lane -1" in str(found)
    assert "Choose another value where the lane is below 0, with jnp.where" in str(found)


@pytest.mark.parametrize("trips", [3, 1000])
def test_loops_of_any_length_end(trips):
    @xe.kernel(sub_group_size=SIZE)
    def turned(wg, x, y):
        i, lane = wg.global_id(), wg.sub_group.local_id()

        def turn(k, held):
            moved = wg.sub_group.shift_left(held)
            return jnp.where(lane == SIZE - 1, k, moved)

        return y.at[i].set(lax.fori_loop(0, trips, turn, x[i]))

    assert not xe.check(turned, xe.NDRange(32, 32))(X, np.zeros_like(X))[1]
