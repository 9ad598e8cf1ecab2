"""The footprint of accesses, against the addresses of all work-items listed by NumPy."""

import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.cost import footprint

GROUPS, SIZE = 24, 32


def of_loads(kernel, *arguments, **static):
    """`(group, launch)` bytes of the sectors that the loads from the first argument touch."""
    ready = launches.prepared(kernel, xe.NDRange(GROUPS * SIZE, SIZE), arguments, static)
    taken = launches.taken(ready, arguments)
    first = [o for os in taken.operations.values() for o in os if o.access_site.memory.name == "x"]
    return footprint.of_memory(first, taken, None, 32)


def listed(addresses):
    """Bytes of sectors of `[groups, n]` elements of 4 bytes: of a group in the middle, and of all."""
    sectors = addresses * 4 // 32
    return 32.0 * len(np.unique(sectors[GROUPS // 2])), 32.0 * len(np.unique(sectors))


def words(n):
    return jax.ShapeDtypeStruct((n,), np.dtype(np.uint32))


ITEMS = np.arange(GROUPS * SIZE).reshape(GROUPS, SIZE)


@xe.kernel(sub_group_size=32)
def strided(wg, x, y, *, stride):
    i = wg.global_id()
    return y.at[i].set(x[i * stride])


@pytest.mark.parametrize("stride", [1, 2, 8, 16])
def test_a_stride(stride):
    assert of_loads(strided, words(GROUPS * SIZE * stride), words(GROUPS * SIZE), stride=stride).group == pytest.approx(
        listed(ITEMS * stride)[0]
    )


@pytest.mark.parametrize("stride", [1, 2, 8])
def test_a_stride_over_the_launch(stride):
    found = of_loads(strided, words(GROUPS * SIZE * stride), words(GROUPS * SIZE), stride=stride)
    assert found.launch == listed(ITEMS * stride)[1]


@pytest.mark.parametrize(("first", "stride", "gaps"), [(0, 1, 0), (0, 2, 1), (0, 8, 1), (3, 1, 2 / 5)])
def test_pieces_that_a_group_does_not_touch_all_of(first, stride, gaps):
    """32 words fill four sectors of 32 bytes; from the fourth word on, two of five are touched in part."""

    @xe.kernel(sub_group_size=32)
    def beginning(wg, x, y):
        i = wg.global_id()
        return y.at[i].set(x[first + i * stride])

    found = of_loads(beginning, words(GROUPS * SIZE * stride + first), words(GROUPS * SIZE))
    assert found.gaps == pytest.approx(gaps)


def test_what_repeats_nowhere_ends_where_the_memory_does():
    """Rows whose order a product of the row's number with itself makes are no series of their ids."""

    @xe.kernel(sub_group_size=32)
    def shuffled(wg, x, y):
        g = wg.group_id() % 97 * (wg.group_id() % 89) % 24
        return y.at[wg.global_id()].set(x[g * SIZE + wg.local_id()])

    groups = 97 * 89 * 24
    arguments = (words(GROUPS * SIZE), words(groups * SIZE))
    ready = launches.prepared(shuffled, xe.NDRange(groups * SIZE, SIZE), arguments, {})
    taken = launches.taken(ready, arguments)
    first = [o for os in taken.operations.values() for o in os if o.access_site.memory.name == "x"]
    found = footprint.of_memory(first, taken, 4.0 * groups * SIZE, 32)
    assert (found.group, found.launch, found.is_most) == (4 * SIZE, 4 * GROUPS * SIZE, False)


@xe.kernel(sub_group_size=32)
def windowed(wg, x, y, *, width):
    i = wg.global_id()
    total = lax.fori_loop(0, width, lambda k, t: t + x[i + k], jnp.zeros(SIZE, jnp.uint32))
    return y.at[i].set(total)


@pytest.mark.parametrize("width", [1, 5, 64])
def test_windows_that_overlap(width):
    n = GROUPS * SIZE
    addresses = (ITEMS[:, :, None] + np.arange(width)).reshape(GROUPS, -1)
    found = of_loads(windowed, words(n + width), words(n), width=width)
    assert (found.group, found.launch) == listed(addresses)


@xe.kernel(sub_group_size=32)
def shared(wg, x, y):
    i = wg.global_id()
    return y.at[i].set(x[wg.local_id()] + x[64 + wg.local_id()])


@xe.kernel(sub_group_size=32)
def again(wg, x, y, *, outer, inner):
    """Loops in which the address follows the inner one, and the outer one not."""
    first = wg.group_id() * 1024 + wg.local_id()

    def once(_, total):
        return lax.fori_loop(0, inner, lambda k, t: t + x[first + k * SIZE], total)

    return y.at[wg.global_id()].set(lax.fori_loop(0, outer, once, jnp.zeros_like(first, jnp.uint32)))


@pytest.mark.parametrize(("outer", "inner", "passes"), [(5, 4, 5), (1, 4, 1), (5, 1, 1)])
def test_passes_are_the_iterations_of_loops_around_that_touch_the_same(outer, inner, passes):
    """Without a loop inside that the address follows it is the same element that is loaded again, which L1s keep."""
    found = of_loads(again, words(GROUPS * 1024), words(GROUPS * SIZE), outer=outer, inner=inner)
    assert (found.group, found.passes) == (inner * SIZE * 4, passes)


def test_what_all_groups_share_and_two_loads_of_one_memory():
    addresses = np.tile(np.concatenate([np.arange(SIZE), 64 + np.arange(SIZE)]), (GROUPS, 1))
    found = of_loads(shared, words(128), words(GROUPS * SIZE))
    assert (found.group, found.launch) == listed(addresses)


@xe.kernel(sub_group_size=32)
def gathered(wg, x, y):
    i = wg.global_id()
    return y.at[i].set(x[y[i]])


def test_what_depends_on_data_is_bounded_by_what_is_moved_and_by_the_memory():
    ready = launches.prepared(gathered, xe.NDRange(GROUPS * SIZE, SIZE), (words(100), words(GROUPS * SIZE)))
    taken = launches.taken(ready, (words(100), words(GROUPS * SIZE)))
    loads = [o for os in taken.operations.values() for o in os if o.access_site.memory.name == "x"]
    assert footprint.of_memory(loads, taken, None, 32) is None
    assert footprint.of_memory(loads, taken, 2400.0, 32) == footprint.Footprint(100.0, 416.0, is_most=True)


@xe.kernel(sub_group_size=32)
def beyond(wg, x, y, *, start):
    i = wg.global_id()
    return y.at[i].set(x[start + i])


@pytest.mark.parametrize("start", [-5000, 5000])
def test_accesses_out_of_bounds_touch_nothing(start):
    assert of_loads(beyond, words(100), words(GROUPS * SIZE), start=start).launch == 0
    report = xe.estimate(beyond, xe.NDRange(GROUPS * SIZE, SIZE))(words(100), words(GROUPS * SIZE), start=start)
    assert isinstance(report.time_s, float)
    assert report.time_s > 0


WAYS = {
    "side by side": lambda g, lane: 32 * g + lane,
    "parts of granules": lambda g, lane: 3 * (32 * g + lane),
    "a granule on": lambda g, lane: 8 * g + lane,
    "a part of one on": lambda g, lane: 5 * g + lane,
    "the same": lambda g, lane: lane,
    "backwards": lambda g, lane: 32 * (GROUPS - 1 - g) + 2 * lane,
    "in turns": lambda g, lane: 32 * (g % 3) + lane,
    "lanes apart": lambda g, lane: g * (lane + 1),
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_what_groups_add_to_neighbours_is_what_all_of_them_touch(way, masked):
    groups, lanes = np.arange(GROUPS)[:, None], np.arange(SIZE)[None]

    @xe.kernel(sub_group_size=32)
    def neighbours(wg, x, y):
        g, lane = wg.group_id(), wg.local_id()
        where = lane < g if masked else lane < 24
        return y.at[wg.global_id()].set(x.load(WAYS[way](g, lane), where=where, other=0))

    places = np.broadcast_to(WAYS[way](groups, lanes), (GROUPS, SIZE))
    arguments = (words(int(places.max()) + 1), words(GROUPS * SIZE))
    ready = launches.prepared(neighbours, xe.NDRange(GROUPS * SIZE, SIZE), arguments, {})
    taken = launches.taken(ready, arguments)
    first = [o for os in taken.operations.values() for o in os if o.access_site.memory.name == "x"]
    for number in (1, 5, GROUPS):
        here = slice((GROUPS - number) // 2, (GROUPS - number) // 2 + number)
        touched = np.broadcast_to((lanes < groups) if masked else lanes < 24, places.shape)[here]
        granules = 32 * len(np.unique(places[here][touched] // 8))
        span = 4 * (int(places[here].max()) - int(places[here].min()) + 1)
        assert footprint.of_consecutive(first, taken, number, 32) == min(granules, span) / number
