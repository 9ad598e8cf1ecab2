"""Loops that only update memories find their updates by blocks of iterations, with the results of NumPy."""

import re
import warnings

import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from jax import lax
from test_merge_updates import on_a_gpu

import xeemu as xe

ITEMS, BINS = 8, 16
AT = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}


@xe.kernel
def counting(wg, x, out, *, turns, space="local", ops=("add",), masked=False, dtype="int32"):
    """Each work-item takes words of its own, and updates bins by their parts."""
    bins, gid, lid = getattr(wg, space)(BINS, dtype), wg.group_id(), wg.local_id()
    for k in range(BINS // ITEMS) if space == "local" else range(BINS):
        bins = bins.at[ITEMS * k + lid if space == "local" else k].set(100)
    bins = wg.barrier(bins) if space == "local" else bins

    def turn(k, bins):
        word = x[(gid * turns + k) * ITEMS + lid]
        for n, op in enumerate(ops):
            place, live = (word >> 4 * n) % BINS, word % 3 > 0
            if space == "local":
                bins = getattr(bins.atomic[place], op)((word + n).astype(dtype), where=live if masked else None)
            else:
                bins = bins.at[place].set(bins[place] + (word + n).astype(dtype), where=live if masked else None)
        return bins

    bins = lax.fori_loop(0, turns, turn, bins)
    bins = wg.barrier(bins) if space == "local" else bins
    for k in range(BINS // ITEMS) if space == "local" else range(BINS):
        place = ITEMS * k + lid if space == "local" else k
        out = out.at[(gid * BINS + place) * ITEMS + (0 if space == "local" else lid)].set(bins[place])
    return out


def counted(x, groups, turns, space, ops, masked, dtype):
    """`out` of the kernel, as a scalar program."""
    out = np.zeros((groups, BINS, ITEMS), dtype)
    words = x[: groups * turns * ITEMS].reshape(groups, turns, ITEMS)
    for gid in range(groups):
        bins = np.full((BINS, 1 if space == "local" else ITEMS), 100, dtype)
        for k in range(turns):
            for n, op in enumerate(ops):
                word = words[gid, k]
                live = word % 3 > 0 if masked else np.full(ITEMS, True)
                place = ((word >> 4 * n) % BINS)[live], (0 if space == "local" else np.arange(ITEMS))
                lanes = (place[0], np.broadcast_to(place[1], ITEMS)[live])
                with np.errstate(over="ignore"):
                    AT[op].at(bins, lanes, (word + n)[live].astype(dtype))
        out[gid, :, : bins.shape[1]] = bins
    return out.reshape(-1)


def words(count, seed=0):
    return np.random.default_rng(seed).integers(0, 2**30, max(count, 1), np.int32)


CASES = [
    *(({"turns": turns}, 6) for turns in (0, 1, 2, 63, 64, 65, 100, 131)),
    *(({"turns": 5}, groups) for groups in (1, 2, 7)),
    *(({"turns": 9, "ops": ops}, 4) for ops in (("add",) * 3, ("add", "sub"), ("min", "min"), ("max",))),
    ({"turns": 9, "ops": ("max", "add")}, 4),
    *(({"turns": 70, "masked": True, "space": space}, 4) for space in ("local", "private")),
    *(({"turns": turns, "space": "private", "ops": ("add", "add")}, 5) for turns in (1, 64, 90)),
    *(({"turns": 3, "dtype": dtype}, 4) for dtype in ("uint32", "int64", "float32")),
]


@pytest.mark.thorough
@pytest.mark.every(4)
@pytest.mark.parametrize(("static", "groups"), CASES)
def test_the_bins_are_those_of_a_scalar_program(static, groups):
    given = {"space": "local", "ops": ("add",), "masked": False, "dtype": "int32"} | static
    x = words(groups * given["turns"] * ITEMS)
    expected = counted(x, groups, **given)
    wide = given["dtype"] == "int64"
    with jax.enable_x64(wide):
        out = np.zeros(expected.size, given["dtype"])
        launch = xe.launch(counting, xe.NDRange(groups * ITEMS, ITEMS))
        np.testing.assert_array_equal(launch(x, out, **given), expected)
        ready = on_a_gpu(counting, xe.NDRange(groups * ITEMS, ITEMS), (x, out), given)
        with jax.enable_x64(ready.program.wide):
            np.testing.assert_array_equal(ready.compiled(x, out)[0], expected)


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize(("groups", "memory_bytes"), [(2048, None), (2048, 1 << 14), (2047, None), (64, 1)])
def test_chunks_and_blocks_keep_to_the_bound_of_memory(groups, memory_bytes):
    given = {"turns": 20, "space": "local", "ops": ("add", "add"), "masked": True, "dtype": "uint32"}
    x = words(groups * given["turns"] * ITEMS)
    out = np.zeros(groups * BINS * ITEMS, np.uint32)
    launch = xe.launch(counting, xe.NDRange(groups * ITEMS, ITEMS), memory_bytes=memory_bytes)
    np.testing.assert_array_equal(launch(x, out, **given), counted(x, groups, **given))


def wide_scatters(static, groups=64, turns=64):
    """The scatters that update what all iterations of a block find."""
    x, out = words(groups * turns * ITEMS), np.zeros(groups * BINS * ITEMS, np.int32)
    ready = launches.prepared(counting, xe.NDRange(groups * ITEMS, ITEMS), (x, out), {"turns": turns} | static)
    assert (ready.cut.chunk, ready.cut.iterations) == (groups, turns)
    found = turns * groups * ITEMS
    return re.findall(rf"tensor<{found}x1xi32>, tensor<{found}xi32>\) -> ", ready.compiled.lower(x, out).as_text())


@pytest.mark.parametrize("space", ["local", "private"])
@pytest.mark.parametrize("ops", [("add",), ("add", "add", "add")])
def test_an_update_is_one_scatter(ops, space):
    assert len(wide_scatters({"ops": ops, "space": space})) == len(ops)


def test_a_bound_of_memory_makes_blocks_shorter():
    x, out = words(64 * 64 * ITEMS), np.zeros(64 * BINS * ITEMS, np.int32)
    ready = launches.prepared(counting, xe.NDRange(64 * ITEMS, ITEMS), (x, out), {"turns": 64}, memory_bytes=1 << 10)
    assert 1 <= ready.cut.iterations < 64


@xe.kernel
def ordered(wg, x, out, *, what):
    """Loops that are not updated in any order."""
    bins, lid = wg.local(BINS, jnp.int32), wg.local_id()
    for k in range(BINS // ITEMS):
        bins = bins.at[ITEMS * k + lid].set(0)
    bins = wg.barrier(bins)

    def turn(k, state):
        bins, seen = state
        place = (x[k * ITEMS + lid] + (seen if what == "carried" else 0)) % BINS
        if what == "fetched":
            old, bins = bins.atomic[place].fetch_add(1)
            seen = seen + old
        elif what == "loaded":
            bins = wg.barrier(bins.atomic[place].add(1))
            seen = seen + bins[lid]
            bins = wg.barrier(bins)
        elif what == "carried":
            bins = bins.atomic[place].add(1)
            seen = seen * 3 + place
        elif what == "stored":
            bins = bins.at[place].set(k)
        return bins, seen

    bins, seen = lax.fori_loop(0, 20, turn, (bins, lid * 0))
    bins = wg.barrier(bins)
    out = out.at[lid].set(seen)
    for k in range(BINS // ITEMS):
        out = out.at[ITEMS * (k + 1) + lid].set(bins[ITEMS * k + lid])
    return out


def in_order(x, what):
    bins, seen = np.zeros(BINS, np.int32), np.zeros(ITEMS, np.int32)
    for k in range(20):
        place = (x[k * ITEMS : (k + 1) * ITEMS] + (seen if what == "carried" else 0)) % BINS
        if what == "stored":
            bins[place] = k
        else:
            for lane, p in enumerate(place):
                seen[lane] += bins[p] if what == "fetched" else 0
                bins[p] += 1
        seen += bins[:ITEMS] if what == "loaded" else 0
        seen = seen * np.int32(3) + place if what == "carried" else seen
    return np.concatenate([seen, bins])


@pytest.mark.parametrize("what", ["fetched", "loaded", "carried", "stored"])
def test_what_depends_on_the_order_is_left_in_it(what):
    x, out = words(20 * ITEMS), np.zeros(ITEMS + BINS, np.int32)
    with np.errstate(over="ignore"):
        expected = in_order(x, what)
    np.testing.assert_array_equal(xe.launch(ordered, xe.NDRange(ITEMS, ITEMS))(x, out, what=what), expected)


@xe.kernel
def divergent(wg, x, lengths, out):
    """Each group goes through a different number of blocks, in a loop that updates two memories and reads a third."""
    ones, twos, lid, gid = wg.local(BINS, jnp.int32), wg.local(BINS, jnp.uint32), wg.local_id(), wg.group_id()
    table = wg.local(ITEMS, jnp.int32)
    table = table.at[lid].set(x[lid])
    for k in range(BINS // ITEMS):
        ones, twos = ones.at[ITEMS * k + lid].set(0), twos.at[ITEMS * k + lid].set(0)
    ones, twos, table = wg.barrier(ones, twos, table)

    def block(state):
        b, ones, twos = state

        def turn(k, state):
            ones, twos, n = state
            place = (x[(b * 10 + k) * ITEMS + lid] + table[(lid + k) % ITEMS] + n) % BINS
            return ones.atomic[place].add(k), twos.atomic[place].max(place.astype(jnp.uint32)), n + 5

        ones, twos, _ = lax.fori_loop(0, 10, turn, (ones, twos, jnp.int32(2)))
        return b + 1, ones, twos

    _, ones, twos = lax.while_loop(lambda state: state[0] < lengths[gid], block, (jnp.int32(0), ones, twos))
    ones, twos = wg.barrier(ones, twos)
    for k in range(BINS // ITEMS):
        place = ITEMS * k + lid
        out = out.at[gid * BINS + place].set(ones[place] * 1000 + twos[place].astype(jnp.int32))
    return out


@pytest.mark.thorough
def test_groups_that_have_left_update_nothing():
    lengths = np.asarray([0, 3, 1, 2, 0, 5], np.int32)
    x, out = words(50 * ITEMS), np.zeros(lengths.size * BINS, np.int32)
    expected = np.zeros((lengths.size, BINS), np.int64)
    for gid, length in enumerate(lengths):
        ones, twos = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64)
        for b in range(length):
            for k in range(10):
                lid = np.arange(ITEMS)
                place = (x[(b * 10 + k) * ITEMS + lid].astype(np.int64) + x[(lid + k) % ITEMS] + 2 + 5 * k) % 2**32
                place = place.astype(np.uint32).view(np.int32) % BINS
                np.add.at(ones, place, k)
                np.maximum.at(twos, place, place)
        expected[gid] = ones * 1000 + twos
    launch = xe.launch(divergent, xe.NDRange(lengths.size * ITEMS, ITEMS))
    np.testing.assert_array_equal(launch(x, lengths, out).reshape(expected.shape), expected)


@xe.kernel
def ragged(wg, x, out):
    """Private bins of work-items of which the last ones do not exist."""
    counts, i = wg.private(4, jnp.int32), wg.global_id()
    for k in range(4):
        counts = counts.at[k].set(0)

    def turn(k, counts):
        place = x[i * 7 + k] % 4
        return counts.at[place].set(counts[place] + 1)

    counts = lax.fori_loop(0, 7, turn, counts)
    for k in range(4):
        out = out.at[4 * i + k].set(counts[k])
    return out


@pytest.mark.parametrize("n", [1, 13, 64, 1001])
def test_plain_ranges_have_their_own_bins(n):
    x, out = words(7 * n), np.zeros(4 * n, np.int32)
    expected = (x.reshape(n, 7, 1) % 4 == np.arange(4)).sum(axis=1).reshape(-1)
    np.testing.assert_array_equal(xe.launch(ragged, xe.NDRange(n))(x, out), expected)


@xe.kernel
def at_one_place(wg, x, out):
    """A place that the loop does not change, which it carries as a value."""
    i, counts = wg.global_id(), wg.private(4, jnp.int32)
    for k in range(4):
        counts = counts.at[k].set(0)
    place = x[i] & 3

    def turn(k, counts):
        return counts.at[place].set(counts[place] + 1)

    counts = lax.fori_loop(0, 3, lambda k, counts: lax.fori_loop(0, 20, turn, counts), counts)
    for k in range(4):
        out = out.at[4 * i + k].set(counts[k])
    return out


@pytest.mark.parametrize("groups", [1, 2, 3, 8])
def test_a_place_that_stays_the_same_is_updated_as_often(groups):
    x = words(groups * ITEMS)
    expected = (60 * (x[:, None] % 4 == np.arange(4))).reshape(-1)
    launch = xe.launch(at_one_place, xe.NDRange(groups * ITEMS, ITEMS))
    np.testing.assert_array_equal(launch(x, np.zeros(4 * x.size, np.int32)), expected)


@xe.kernel
def growing(wg, x, out, *, dtype):
    """What grows in the loop differs between groups, between work-items or not at all, and is used afterwards."""
    bins, gid, lid = wg.local(BINS, jnp.int32), wg.group_id(), wg.local_id()
    for k in range(BINS // ITEMS):
        bins = bins.at[ITEMS * k + lid].set(0)
    bins = wg.barrier(bins)

    def turn(k, state):
        bins, each, own, wrapping = state
        place = (x[k] + each + own + wrapping.astype(jnp.int32)) % BINS
        return bins.atomic[place].add(1), each + 3, own - 5, wrapping + jnp.asarray(30_000, dtype)

    start = bins, x[gid], x[gid * ITEMS + lid], jnp.asarray(7, dtype)
    bins, each, own, wrapping = lax.fori_loop(0, 70, turn, start)
    bins = wg.barrier(bins)
    out = out.at[gid, 0, lid].set(own + each + wrapping.astype(jnp.int32))
    for k in range(BINS // ITEMS):
        out = out.at[gid, 1 + k, lid].set(bins[ITEMS * k + lid])
    return out


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["int16", "uint32"])
@pytest.mark.parametrize("groups", [1, 2, 3, 4])
def test_what_grows_in_the_loop_has_grown_after_it(groups, dtype):
    x = words(70 + groups * ITEMS) % 1000
    each, own = x[:groups, None], x[: groups * ITEMS].reshape(groups, ITEMS)
    expected = np.zeros((groups, 1 + BINS // ITEMS, ITEMS), np.int32)
    grown = (7 + 30_000 * np.arange(71)).astype(dtype).astype(np.int32)
    for k in range(70):
        place = (x[k] + each + 3 * k + own - 5 * k + grown[k]) % BINS
        for gid in range(groups):
            np.add.at(expected[gid, 1:].reshape(-1), place[gid], 1)
    expected[:, 0] = own - 5 * 70 + each + 3 * 70 + grown[70]
    launch = xe.launch(growing, xe.NDRange(groups * ITEMS, ITEMS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(launch(x, np.zeros_like(expected), dtype=dtype), expected)


@xe.kernel
def of_different_widths(wg, x, out):
    bins, lid = wg.local(BINS, jnp.int32), wg.local_id()
    for k in range(BINS // ITEMS):
        bins = bins.at[ITEMS * k + lid].set(0)
    bins = wg.barrier(bins)

    def turn(k, bins):
        bins = bins.atomic[x[k * ITEMS + lid] % BINS].add(k, where=lid < 3)
        return bins.atomic[x[lid + k] % BINS].sub(2)

    bins = wg.barrier(lax.fori_loop(0, 20, turn, bins))
    for k in range(BINS // ITEMS):
        out = out.at[ITEMS * k + lid].set(bins[ITEMS * k + lid])
    return out


@pytest.mark.thorough
def test_updates_of_different_widths_are_joined_on_a_gpu():
    x, out = words(20 * ITEMS), np.zeros(BINS, np.int32)
    expected = np.zeros(BINS, np.int32)
    for k in range(20):
        np.add.at(expected, x[k * ITEMS : k * ITEMS + 3] % BINS, k)
        np.subtract.at(expected, x[k : k + ITEMS] % BINS, 2)
    ready = on_a_gpu(of_different_widths, xe.NDRange(ITEMS, ITEMS), (x, out))
    np.testing.assert_array_equal(ready.compiled(x, out)[0], expected)
    np.testing.assert_array_equal(xe.launch(of_different_widths, xe.NDRange(ITEMS, ITEMS))(x, out), expected)


def test_a_loop_of_few_updates_copies_no_memory():
    turns = 3
    x, out = words(64 * turns * ITEMS), np.zeros(64 * BINS * ITEMS, np.int32)
    ready = launches.prepared(counting, xe.NDRange(64 * ITEMS, ITEMS), (x, out), {"turns": turns})
    text = ready.compiled.lower(x, out).as_text()
    assert f"tensor<{turns * 64 * ITEMS}x1xi32>" in text
    assert f"tensor<{turns * 32 * ITEMS}x1xi32>" not in text


@pytest.mark.thorough
@pytest.mark.parametrize(("items", "groups"), [(8, 4), (5, 3)])
@pytest.mark.parametrize("turns", [3, 70])
def test_updates_of_own_memory_beyond_its_end_are_dropped(items, groups, turns):
    @xe.kernel
    def kernel(wg, x, out):
        def turn(k, bins):
            place = x[(wg.group_id() * turns + k) * items + wg.local_id()]
            return bins.at[place].set(bins[place] + k)

        bins = lax.fori_loop(0, turns, turn, wg.private(BINS, jnp.int32).at[jnp.arange(BINS)[None]].set(0))
        return out.at[wg.global_id()[:, None], jnp.arange(BINS)[None]].set(bins[jnp.arange(BINS)[None]])

    x = np.random.default_rng(0).integers(-3, BINS + 3, groups * turns * items, np.int32)
    expected = np.zeros((groups, items, BINS), np.int32)
    for gid, k, lid in np.ndindex(groups, turns, items):
        place = x[(gid * turns + k) * items + lid]
        if 0 <= place < BINS:
            expected[gid, lid, place] += k
    expected = expected.reshape(-1, BINS)
    nd_range, out = xe.NDRange(groups * items, items), np.zeros_like(expected)
    np.testing.assert_array_equal(xe.launch(kernel, nd_range)(x, out), expected)
    np.testing.assert_array_equal(on_a_gpu(kernel, nd_range, (x, out)).compiled(x, out)[0], expected)


@xe.kernel
def weighted(wg, x, out, *, rounds, turns):
    """Bins that grow by a number of each work-item, which the loop around carries as a value and changes."""
    gid, lid = wg.group_id(), wg.local_id()
    weight = wg.private(1, jnp.int32).at[0].set(gid + lid)
    bins = wg.barrier(wg.local(ITEMS, jnp.int32).at[lid].set(0))

    def again(r, state):
        bins, weight = state

        def turn(k, bins):
            return bins.atomic[x[(gid * turns + k) * ITEMS + lid] % ITEMS].add(weight[0])

        return lax.fori_loop(0, turns, turn, bins), weight.at[0].set(weight[0] * 3 + r)

    bins, _ = lax.fori_loop(0, rounds, again, (bins, weight))
    return out.at[gid * ITEMS + lid].set(wg.barrier(bins)[lid])


def test_a_memory_that_the_loop_around_carries_as_a_value():
    groups, rounds, turns = 6, 3, 40
    x = np.random.default_rng(2).integers(0, 99, groups * turns * ITEMS, dtype=np.int32)
    expected, lanes = np.zeros((groups, ITEMS), np.int32), np.arange(ITEMS)
    for gid, places in enumerate(x.reshape(groups, turns, ITEMS) % ITEMS):
        weight = gid + lanes
        for r in range(rounds):
            np.add.at(expected[gid], places, np.broadcast_to(weight, places.shape))
            weight = weight * 3 + r
    out, static = np.zeros(groups * ITEMS, np.int32), {"rounds": rounds, "turns": turns}
    found = xe.launch(weighted, xe.NDRange(groups * ITEMS, ITEMS))(x, out, **static)
    np.testing.assert_array_equal(np.asarray(found).reshape(groups, ITEMS), expected)
