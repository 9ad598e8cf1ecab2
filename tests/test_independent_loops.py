"""Loops whose iterations update elements of their own are emitted by blocks, with the results of a scalar program."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax
from test_reduction_loops import emitted, longer, numbers, results

import xeemu as xe

ITEMS, GROUPS = 4, 3
AT = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "xor": np.bitwise_xor}
HOW = ("store", "double", *AT)


@xe.kernel
def spreading(wg, x, out, *, length, size, space, how, first, move, apart, masked):
    """In iteration k work-item l of each group updates element `first + move * k + apart * l` of a memory."""
    gid, lid = wg.group_id(), wg.local_id()
    items = wg.size if space == "private" else 1
    memory = out if space == "global" else getattr(wg, space)(size, x.dtype)
    for k in range(size if space == "private" else -(-size // wg.size) if space == "local" else 0):
        place = k if space == "private" else k * wg.size + lid
        memory = memory.at[place].set(100, where=place < size)
    memory = wg.barrier(memory) if space == "local" else memory

    def turn(k, memory):
        place = first + move * k + apart * lid + (gid * size if space == "global" else 0)
        value = x[(gid * length + k) * wg.size + lid]
        where = value % 3 > 0 if masked else None
        if how == "store":
            return memory.at[place].set(value, where=where)
        if how == "double":
            return memory.at[place].set(memory[place] * 2 + value, where=where)
        return getattr(memory.atomic[place], how)(value, where=where)

    memory = lax.fori_loop(0, length, turn, memory)
    if space == "global":
        return memory
    memory = wg.barrier(memory) if space == "local" else memory
    for k in range(size if space == "private" else -(-size // wg.size)):
        place = k if space == "private" else k * wg.size + lid
        live = place < size
        to = (gid * size + place) * items + (lid if space == "private" else 0)
        out = out.at[to].set(memory.load(place, where=live), where=live)
    return out


def spread(x, out, length, size, space, how, first, move, apart, masked):
    """`out` of the kernel."""
    memory = (out if space == "global" else np.full_like(out, 100)).copy()
    memory = memory.reshape(GROUPS, size, -1)
    words = x.reshape(GROUPS, length, ITEMS)
    for gid, k, lid in itertools.product(range(GROUPS), range(length), range(ITEMS)):
        value, place = words[gid, k, lid], (gid, first + move * k + apart * lid, lid if space == "private" else 0)
        if masked and not value % 3 > 0:
            continue
        with np.errstate(over="ignore"):
            old = memory[place]
            memory[place] = value if how == "store" else old * 2 + value if how == "double" else AT[how](old, value)
    return memory.reshape(-1)


def check(length, space, how, move, apart, masked=False, dtype="int32", spare=0):
    """True if the launch has the results of the scalar program; the loops of all that are emitted."""
    first = max(0, -move * max(length - 1, 0))
    size = first + max(move, 0) * max(length - 1, 0) + apart * (ITEMS - 1) + 1 + spare
    how_far = {"first": first, "move": move, "apart": apart}
    static = {"length": length, "size": size, "space": space, "how": how, "masked": masked, **how_far}
    x = numbers(GROUPS * length * ITEMS, dtype)
    out = numbers(GROUPS * size * (ITEMS if space == "private" else 1), dtype, seed=1)
    nd_range = xe.NDRange(GROUPS * ITEMS, ITEMS)
    np.testing.assert_array_equal(xe.launch(spreading, nd_range)(x, out, **static), spread(x, out, **static))
    return emitted(spreading, nd_range, (x, out), static)


@pytest.mark.every(2)
@pytest.mark.parametrize("space", ["private", "local", "global"])
@pytest.mark.parametrize("how", HOW)
def test_every_space_and_operation(space, how):
    if space == "private" and how in AT:
        return  # there are no atomic operations there
    apart = 0 if space == "private" else 1
    found = check(11, space, how, move=1 if space == "private" else ITEMS, apart=apart)
    assert found == [] or (space, how) == ("local", "store")  # which is streamed


@pytest.mark.every(2)
@pytest.mark.parametrize("move", [1, -1])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("length", [0, 4, 13, *longer([1], [3], [64], [257])])
def test_private_memory(move, masked, length):
    found = check(length, "private", "store", move, 0, masked)
    assert found == [] or length < 4


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("move", "apart", "spare"),
    [(ITEMS, 1, 0), (-ITEMS, 1, 3), (1, 0, 2), *longer((-1, 0, 0), (40, 1, 0), (1, 40, 0), (8, 2, 1), (7, 1, 0))],
)
@pytest.mark.parametrize("space", ["local", "global"])
@pytest.mark.parametrize("how", ["add", *longer(["double"], ["store"], ["max"])])
def test_places(space, how, move, apart, spare):
    """Those of iterations lie next to each other, or between each other's."""
    if apart or how in AT:
        check(12, space, how, move, apart, spare=spare)
        check(12, space, how, move, apart, masked=True, spare=spare)


@pytest.mark.parametrize("space", ["local", "global"])
@pytest.mark.parametrize("how", ["add", "max", *longer(["sub"], ["xor"])])
def test_one_place_for_all_iterations(space, how):
    assert check(12, space, how, 0, 1) == []
    assert check(12, space, how, 0, 0, masked=True) == []


@pytest.mark.parametrize("dtype", ["int8", "uint64", *longer(["uint8"], ["int16"], ["int64"])])
def test_dtypes(dtype):
    with jax.enable_x64(dtype.endswith("64")):
        assert dtype[-2:] not in ("32", "64") or check(12, "global", "add", 1, 0, dtype=dtype) == []
        assert check(12, "private", "double", 1, 0, dtype=dtype) == []


@pytest.mark.long
@given(
    st.integers(0, 70),
    st.sampled_from(["private", "local", "global"]),
    st.sampled_from(HOW),
    st.integers(-9, 9),
    st.integers(0, 9),
    st.booleans(),
    st.integers(0, 3),
)
def test_any_place(length, space, how, move, apart, masked, spare):
    if space == "private":
        apart, how = 0, how if how in ("store", "double") else "store"
    places = [move * k + apart * lid for k in range(length) for lid in range(1 if space == "private" else ITEMS)]
    if how in AT or len(set(places)) == len(places):  # else it is a race
        check(length, space, how, move, apart, masked, spare=spare)


@xe.kernel
def privately(wg, x, hist, *, bins):
    """A histogram in bins of each work-item, as one writes it: cleared, counted and added up in loops."""
    counts = lax.fori_loop(0, bins, lambda k, c: c.at[k].set(0), wg.private(bins, jnp.uint32))
    i = wg.global_id()
    for k in range(3):
        place = x.load(3 * i + k, where=3 * i + k < x.shape[0], other=0) % bins
        counts = counts.at[place].set(counts[place] + 1)
    return lax.fori_loop(0, bins, lambda k, hist: hist.atomic[k].add(counts[k].astype(hist.dtype)), hist)


@pytest.mark.parametrize(("items", "bins"), [(30, 16), (29, 47), *longer((1, 16), (64, 47))])
def test_a_private_histogram(items, bins):
    x = np.random.default_rng(0).integers(1000, size=3 * items, dtype=np.int32)
    nd_range, arguments = xe.NDRange(items, 1 if items % 5 else 5), (x, np.ones(bins, np.int64))
    with jax.enable_x64(True):
        for got in results(privately, nd_range, arguments, {"bins": bins}):
            np.testing.assert_array_equal(got, 1 + np.bincount(x % bins, minlength=bins))
        assert emitted(privately, nd_range, arguments, {"bins": bins}) == []


@xe.kernel
def sums(wg, x, out, *, length):
    i = wg.global_id()
    return lax.fori_loop(0, length, lambda k, out: out.atomic[k].add(x[i * length + k]), out)


@pytest.mark.parametrize("deterministic", [False, True])
def test_sums_of_floats(deterministic):
    """In one order if that is asked for."""
    length = 33
    x = np.random.default_rng(0).normal(size=(12, length)).astype(np.float32)
    launch = xe.launch(sums, xe.NDRange(12, 4), deterministic=deterministic)
    got = np.asarray(launch(x.reshape(-1), np.zeros(length, np.float32), length=length))
    np.testing.assert_allclose(got, x.sum(axis=0), rtol=1e-5)
    if deterministic:
        expected = np.zeros(length, np.float32)
        for row in x:
            expected += row
        np.testing.assert_array_equal(got, expected)


@xe.kernel
def depending(wg, x, out, *, how):
    """Loops that look as if their iterations had nothing to do with each other."""
    lid = wg.local_id()
    if how == "behind":  # loads what the iteration before has stored
        return lax.fori_loop(1, 40, lambda k, out: out.at[k].set(out[k - 1] + x[k], where=lid == 0), out)
    if how == "ahead":  # loads what a later one stores
        return lax.fori_loop(0, 39, lambda k, out: out.at[k].set(out[k + 1] + x[k], where=lid == 0), out)
    if how == "returning":  # what is added up in one place is used
        return lax.fori_loop(0, 40, lambda k, out: out.atomic[0].add(out[0] + x[k], where=lid == 0), out)
    if how == "old":
        step = lambda k, c: (c[0] + (old := c[1].atomic[k].fetch_add(x[k], where=lid == 0))[0], old[1])  # noqa: E731
        total, out = lax.fori_loop(0, 40, step, (jnp.zeros(wg.size, jnp.int32), out))
        return out.at[0].set(total, where=lid == 0)
    twice = lambda k, out: out.at[k].set(x[k], where=lid == 0).at[40 - k].set(7, where=lid == 0)  # noqa: E731
    return lax.fori_loop(0, 40, twice, out)


def depended(x, out, how):
    out = out.copy()
    if how == "old":
        total = out[:40].sum(dtype=np.int32)
        out[:40] += x[:40]
        out[0] = total
        return out
    for k in range(1, 40) if how == "behind" else range(39) if how == "ahead" else range(40):
        if how == "behind":
            out[k] = out[k - 1] + x[k]
        elif how == "ahead":
            out[k] = out[k + 1] + x[k]
        elif how == "returning":
            out[0] += out[0] + x[k]
        else:
            out[k] = x[k]
            out[40 - k] = 7
    return out


@pytest.mark.parametrize("how", ["behind", "ahead", "returning", "old", "twice"])
def test_iterations_that_depend_on_each_other(how):
    x, out = (np.random.default_rng(n).integers(9, size=41, dtype=np.int32) for n in range(2))
    with np.errstate(over="ignore"):
        expected = depended(x, out, how)
    for got in results(depending, xe.NDRange(4, 4), (x, out), {"how": how}):
        np.testing.assert_array_equal(got, expected)
    assert emitted(depending, xe.NDRange(4, 4), (x, out), {"how": how})


@xe.kernel
def branching(wg, x, out):
    """Some groups update, and some work-items have no element."""
    gid, i, n = wg.group_id(), wg.global_id(), x.shape[0] // 8

    def update(out):
        return lax.fori_loop(0, 8, lambda k, out: out.at[k * n + i].set(x[k * n + i] + k, where=i < n), out)

    return lax.cond(x[gid] > 4, update, lambda out: out, out)


@pytest.mark.parametrize("n", [32, 30])
def test_in_branches(n):
    x = np.random.default_rng(0).integers(9, size=8 * n, dtype=np.int32)
    expected = np.full_like(x, -1).reshape(8, n)
    groups = np.repeat(x[: -(-n // 4)] > 4, 4)[:n]
    expected[:, groups] = (x.reshape(8, n) + np.arange(8, dtype=np.int32)[:, None])[:, groups]
    for got in results(branching, xe.NDRange(32, 4), (x, np.full_like(x, -1))):
        np.testing.assert_array_equal(got, expected.reshape(-1))


def test_beyond_a_memory_nothing_is_updated():
    x, out = np.arange(40, dtype=np.int32), np.zeros(30, np.int32)

    @xe.kernel
    def beyond(wg, x, out):
        i = wg.global_id()
        return lax.fori_loop(0, 40, lambda k, out: out.at[k].set(x[k] + i, where=(i == 0) & (k < 30)), out)

    for got in results(beyond, xe.NDRange(1, 1), (x, out)):
        np.testing.assert_array_equal(got, x[:30])


@xe.kernel
def both(wg, x, out, totals, *, length, used):
    """Each work-item writes down words of its own and combines them; `used` if what it writes follows from the sum."""
    i = wg.global_linear_id()

    def turn(k, state):
        out, total, most = state
        word = x[i * length + k]
        out = out.at[12 * k + i].set(word * 3 + (total if used else 0))
        return out, total + word, jnp.maximum(most, word)

    out, total, most = lax.fori_loop(0, length, turn, (out, i * 2, i))
    return out, totals.at[i].set(total ^ most)


@pytest.mark.parametrize("length", [1, 3, 40, *longer([257])])
@pytest.mark.parametrize("used", [False, True])
def test_sums_beside_what_is_written(length, used):
    """They are found together, unless what is written follows from a sum."""
    x, i = numbers(12 * length).reshape(12, length), np.arange(12, dtype=np.int32)
    expected, total, most = np.zeros((length, 12), np.int32), i * 2, i
    with np.errstate(over="ignore"):
        for k in range(length):
            expected[k] = x[:, k] * 3 + (total if used else 0)
            total, most = total + x[:, k], np.maximum(most, x[:, k])
    arguments = x.reshape(-1), np.zeros(12 * length, np.int32), np.zeros(12, np.int32)
    static = {"length": length, "used": used}
    out, totals = xe.launch(both, xe.NDRange(12, 4))(*arguments, **static)
    np.testing.assert_array_equal(out, expected.reshape(-1))
    np.testing.assert_array_equal(totals, total ^ most)
    if length > 3:
        assert (emitted(both, xe.NDRange(12, 4), arguments, static) == []) is not used
