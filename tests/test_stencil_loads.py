"""Loads of neighbours are read at once, and are what each of them would be by itself."""

import itertools

import examples
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from launches import prepared, temporary_bytes

import xeemu as xe


@xe.kernel
def stencil(wg, x, out, *, taps, other=(0,), guarded=True):
    """The weighted sum of the elements around each, with what stands for those that do not exist."""
    d = len(x.shape)
    place = [wg.global_id(k) for k in range(d)]
    here = [p < n for p, n in zip(place, x.shape, strict=True)]
    total = jnp.zeros_like(place[0])
    for k, tap in enumerate(taps):
        index = tuple(p + t for p, t in zip(place, tap, strict=True))
        there = jnp.stack([(i >= 0) & (i < n) for i, n in zip(index, x.shape, strict=True)]).all(0)
        if guarded:
            there = None
            for i, n in zip(index, x.shape, strict=True):
                inside = (i >= 0) & (i < n)
                there = inside if there is None else there & inside
        total += (k + 1) * x.load(index, where=there, other=other[k % len(other)])
    return out.at[tuple(place)].set(total, where=jnp.stack(here).all(0))


def by_numpy(x, taps, other=(0,)):
    total = np.zeros_like(x)
    for k, tap in enumerate(taps):
        wide = np.full([n + 2 * abs(t) for n, t in zip(x.shape, tap, strict=True)], other[k % len(other)], x.dtype)
        wide[tuple(slice(abs(t), abs(t) + n) for n, t in zip(x.shape, tap, strict=True))] = x
        first = [abs(t) + t for t in tap]
        total += (k + 1) * wide[tuple(slice(f, f + n) for n, f in zip(x.shape, first, strict=True))]
    return total


def array(*shape):
    return np.random.default_rng(0).integers(-1000, 1000, shape, dtype=np.int32)


SHAPES = {
    1: (array(1000), xe.NDRange(1024, 32)),
    2: (array(50, 70), xe.NDRange((56, 72), (8, 8))),
    3: (array(9, 20, 30), xe.NDRange((10, 20, 32), (2, 4, 8))),
}
CROSSES = {d: [(0,) * d, *(tuple(s * (k == n) for k in range(d)) for n in range(d) for s in (-1, 1))] for d in SHAPES}
_SIDES = {1: (-2, -1, 0, 1, 2), 2: (-2, 0, 1), 3: (-1, 2)}
SQUARES = {d: list(itertools.product(_SIDES[d], repeat=d)) for d in SHAPES}


@pytest.mark.every(18)
@pytest.mark.parametrize("memory_bytes", [1, 1 << 14, None])
@pytest.mark.parametrize("taps", [CROSSES, SQUARES], ids=["cross", "square"])
@pytest.mark.parametrize("dimensions", SHAPES)
@pytest.mark.parametrize("guarded", [True, False])
def test_stencils(dimensions, taps, memory_bytes, guarded):
    x, nd_range = SHAPES[dimensions]
    launched = xe.launch(stencil, nd_range, memory_bytes=memory_bytes)
    for other in ((0,), (1, 2)):
        static = {"taps": tuple(taps[dimensions]), "other": other, "guarded": guarded}
        found = launched(x, np.zeros_like(x), **static)
        np.testing.assert_array_equal(found, by_numpy(x, taps[dimensions], other))


@pytest.mark.thorough
@settings(max_examples=examples.some(20))
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=6),
    st.sampled_from([None, 1 << 13]),
    st.sampled_from([(20, 30), (16, 64), (3, 5), (33, 8)]),
)
def test_any_neighbours(taps, memory_bytes, shape):
    x = array(*shape)
    nd_range = xe.NDRange(tuple(-(-n // 8) * 8 for n in shape), (8, 8))
    found = xe.launch(stencil, nd_range, memory_bytes=memory_bytes)(x, np.zeros_like(x), taps=tuple(taps))
    np.testing.assert_array_equal(found, by_numpy(x, taps))


def emitted(taps, memory_bytes):
    x, nd_range = array(512, 512), xe.NDRange((512, 512), (16, 16))
    return prepared(stencil, nd_range, (x, np.zeros_like(x)), {"taps": taps}, memory_bytes=memory_bytes), x


def branches(taps):
    """Where chunks of some groups are filled in, if they are at the edge."""
    ready, x = emitted(taps, 1 << 20)
    assert ready.cut.chunk < ready.cut.groups
    return str(jax.make_jaxpr(ready.emit)(x, x)).count("cond[")


def test_a_square_is_filled_once():
    few, many = branches(((0, -1), (0, 0), (0, 1))), branches(tuple(SQUARES[2]))
    assert 0 < few <= many <= 2 * few


def test_neighbours_too_far_apart_are_read_one_by_one():
    assert branches(((-500, 0), (500, 0), (0, -250), (0, 250))) > branches(((-2, 0), (2, 0), (0, -2), (0, 2)))


@pytest.mark.thorough
def test_a_few_fuse_where_all_groups_are_one_chunk():
    """Around more than a few of them it pays to fill in a rectangle, which takes memory."""
    taken = {}
    for name, taps in ("few", CROSSES[2]), ("many", itertools.product(range(-2, 3), repeat=2)):
        ready, x = emitted(tuple(taps), 1 << 30)
        assert ready.cut.chunk == ready.cut.groups
        taken[name] = temporary_bytes(ready.compiled, x, x)
    assert taken["few"] < 1 << 12 < x.nbytes <= taken["many"] < 2 * x.nbytes


@xe.kernel
def smoothed_in_place(wg, x, *, rounds):
    """Every second row is made of the rows beside it, and then these of that."""
    i, j = wg.global_id(0), wg.global_id(1)
    n, m = x.shape
    for odd in range(rounds):
        total = jnp.zeros_like(i)
        for di, dj in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
            r, c = i + di, j + dj
            total += x.load((r, c), where=(r >= 0) & (r < n) & (c >= 0) & (c < m), other=-3)
        x = x.at[i, j].set(total, where=(i % 2 == odd % 2) & (i < n) & (j < m))
    return x


def test_neighbours_before_and_after_a_store():
    """One work-group, for others would race."""
    x = array(16, 16)
    found = xe.launch(smoothed_in_place, xe.NDRange((16, 16), (16, 16)))(x, rounds=1)
    expected = by_numpy(x, [(-1, -1)], (-3,))
    for tap in ((-1, 1), (1, -1), (1, 1)):
        expected += by_numpy(x, [tap], (-3,))
    np.testing.assert_array_equal(found, np.where(np.arange(16)[:, None] % 2 == 0, expected, x))


@xe.kernel
def in_a_loop(wg, x, out, *, turns):
    i, j = wg.global_id(0), wg.global_id(1)
    m = x.shape[1]

    def step(k, total):
        for t in (-1, 1):
            c = j + t
            total += (k + 1) * x.load((i, c), where=(c >= 0) & (c < m), other=2)
        return total

    out = out.at[i, j].set(lax.fori_loop(0, turns, step, jnp.zeros_like(i)))
    upper = lax.cond(wg.group_id(0) > 0, lambda: step(4, jnp.zeros_like(i)), lambda: jnp.zeros_like(i))
    return out.at[i, j].set(out[i, j] + upper)


@pytest.mark.parametrize("turns", [1, 3, 40])
def test_neighbours_in_loops_and_branches(turns):
    x = array(32, 64)
    found = xe.launch(in_a_loop, xe.NDRange((32, 64), (8, 8)))(x, np.zeros_like(x), turns=turns)
    both = by_numpy(x, [(0, -1)], (2,)) + by_numpy(x, [(0, 1)], (2,))
    times = turns * (turns + 1) // 2 + np.where(np.arange(32)[:, None] >= 8, 5, 0)
    np.testing.assert_array_equal(found, both * times)


@xe.kernel
def without_masks(wg, x, out):
    """What is out of bounds reads as poison."""
    i, j = wg.global_id(0), wg.global_id(1)
    return out.at[i, j].set(x[i, j - 1] + x[i, j + 1])


@pytest.mark.parametrize("memory_bytes", [1, None])
def test_neighbours_beyond_the_edge_are_poison(memory_bytes):
    x = array(32, 32).astype(np.float32)
    found = xe.launch(without_masks, xe.NDRange((32, 32), (8, 8)), memory_bytes=memory_bytes)(x, np.zeros_like(x))
    assert np.isnan(np.asarray(found)[:, [0, -1]]).all()
    np.testing.assert_array_equal(found[:, 1:-1], x[:, :-2] + x[:, 2:])
