"""Overlaps: tiles with borders and overlapping frames, with the results of NumPy."""

import itertools
import math

import examples
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import xeemu as xe
from xeemu.language.memory import poison

POISON = int(poison(np.int32))
CHUNKS = (None, 1, 1 << 11, 1 << 14)


@xe.kernel
def framed(wg, x, y, *, hop, first, guard, odd):
    """Each group takes a frame, which overlaps the next ones."""
    g, lid = wg.group_id(), wg.local_id()
    i = g * hop + lid + first
    where = (i >= 0) & (i < x.shape[0]) if guard else None
    value = x.load(i, where=where, other=-3 if guard else None)
    return y.at[g, lid].set(value, where=value % 2 == 1 if odd else None)


def frames(x, groups, size, hop, first, blank):
    i = hop * np.arange(groups)[:, None] + np.arange(size) + first
    return np.where((i >= 0) & (i < len(x)), x[np.clip(i, 0, len(x) - 1)], blank)


@pytest.mark.thorough
@given(
    size=st.sampled_from([4, 16, 32]),
    hop=st.integers(-20, 20),
    first=st.integers(-40, 40),
    length=st.integers(1, 700),
    guard=st.booleans(),
    odd=st.booleans(),
    memory_bytes=st.sampled_from(CHUNKS),
)
@settings(max_examples=examples.some(25), deadline=None)
def test_frames_wherever_they_lie(size, hop, first, length, guard, odd, memory_bytes):
    groups, x = 24, np.arange(length, dtype=np.int32)
    launch = xe.launch(framed, xe.NDRange(groups * size, size), memory_bytes=memory_bytes)
    got = launch(x, np.full((groups, size), -9, np.int32), hop=hop, first=first, guard=guard, odd=odd)
    found = frames(x, groups, size, hop, first, -3 if guard else POISON)
    np.testing.assert_array_equal(got, np.where(found % 2 == 1, found, -9) if odd else found)


# --- Tiles with borders ---


@xe.kernel
def bordered(wg, x, y, *, halo, guard, only):
    """Each group takes its tile and what is around it, row by row, in as many goes as that needs."""
    dimensions = len(x.shape)
    tile = [wg.local_range(d) for d in range(dimensions)]
    full = [n + 2 * halo for n in tile]
    group = 0
    for d in range(dimensions):
        group = group * wg.group_range(d) + wg.group_id(d)
    for go in range(-(-math.prod(full) // wg.size)):
        place = rest = wg.local_linear_id() + go * wg.size
        index = []
        for d in reversed(range(dimensions)):
            index.insert(0, wg.group_id(d) * tile[d] - halo + (rest % full[d] if d else rest))
            rest = rest // full[d]
        live, there = place < math.prod(full), place >= 0
        for i, n in zip(index, x.shape, strict=True):
            there = there & (i >= 0) & (i < n)
        where = (there & live if only else there) if guard else live if only else None
        value = x.load(tuple(index), where=where, other=None if where is None else -3)
        y = y.at[group, place].set(value, where=live)
    return y


def tiles(x, tile, halo, blank):
    wide = np.pad(x, halo, constant_values=blank)
    firsts = itertools.product(*(range(0, n, t) for n, t in zip(x.shape, tile, strict=True)))
    return np.array(
        [wide[tuple(slice(f, f + t + 2 * halo) for f, t in zip(at, tile, strict=True))].ravel() for at in firsts]
    )


@pytest.mark.thorough
@given(
    tile=st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=3),
    groups=st.lists(st.integers(1, 5), min_size=3, max_size=3),
    halo=st.integers(0, 3),
    guard=st.booleans(),
    only=st.booleans(),
    memory_bytes=st.sampled_from(CHUNKS),
)
@settings(max_examples=examples.some(25), deadline=None)
def test_tiles_with_borders(tile, groups, halo, guard, only, memory_bytes):
    if math.prod(n + 2 * halo for n in tile) > 8 * math.prod(tile):
        halo = 0  # as many goes as that take long to compile
    shape = tuple(n * t for n, t in zip(groups, tile, strict=False))
    x = np.random.default_rng(0).integers(100, size=shape, dtype=np.int32)
    expected = tiles(x, tile, halo, -3 if guard else POISON)
    launch = xe.launch(bordered, xe.NDRange(shape, tuple(tile)), memory_bytes=memory_bytes)
    got = launch(x, np.zeros_like(expected), halo=halo, guard=guard, only=only)
    np.testing.assert_array_equal(got, expected)


@xe.kernel
def inside_only(wg, x, y):
    """The tiles of a matrix that has a border of its own, of the same rows for groups side by side."""
    place = wg.local_linear_id()
    row, column = wg.group_id(0) * 4 + place // 8, place % 8
    return y.at[wg.global_id(0), wg.global_id(1)].set(x[row, column] + wg.group_id(1))


@pytest.mark.parametrize("memory_bytes", CHUNKS)
def test_tiles_that_groups_share(memory_bytes):
    x = np.random.default_rng(1).integers(100, size=(40, 8), dtype=np.int32)
    nd_range, y = xe.NDRange((64, 32), (8, 8)), np.zeros((64, 32), np.int32)
    expected = np.block([[x[4 * g : 4 * g + 8] + h for h in range(4)] for g in range(8)])
    np.testing.assert_array_equal(xe.launch(inside_only, nd_range, memory_bytes=memory_bytes)(x, y), expected)


# --- Where else loads are ---


@xe.kernel
def frame_by_frame(wg, x, y, *, turns):
    """Frames further and further on, beyond the end of the memory as well."""
    start = wg.group_id() * 5 + wg.local_id()

    def add(k, total):
        return total * 3 + x.load(start + 7 * k, where=start + 7 * k < x.shape[0], other=1)

    return y.at[wg.global_id()].set(lax.fori_loop(0, turns, add, jnp.zeros(wg.size, jnp.int32)))


@pytest.mark.parametrize("memory_bytes", CHUNKS)
def test_frames_in_a_loop(memory_bytes):
    x = np.random.default_rng(2).integers(100, size=150, dtype=np.int32)
    start = 5 * np.arange(24)[:, None] + np.arange(16)
    expected = np.zeros_like(start)
    for k in range(9):
        i = start + 7 * k
        expected = expected * 3 + np.where(i < len(x), x[np.minimum(i, len(x) - 1)], 1)
    launch = xe.launch(frame_by_frame, xe.NDRange(24 * 16, 16), memory_bytes=memory_bytes)
    np.testing.assert_array_equal(launch(x, np.zeros(24 * 16, np.int32), turns=9), expected.ravel())


def test_a_memory_that_is_stored_to():
    """What is loaded is what was there before the launch's stores, which are elsewhere."""

    @xe.kernel
    def kernel(wg, x):
        value = x.load(wg.group_id() * 3 + wg.local_id()) * 2
        return x.at[200 + wg.global_id()].set(value)

    x = np.arange(400, dtype=np.int32)
    expected = x.copy()
    expected[200:328] = 2 * frames(x, 16, 8, 3, 0, 0).ravel()
    np.testing.assert_array_equal(xe.launch(kernel, xe.NDRange(128, 8))(x), expected)


def test_a_check_sees_where_a_frame_leaves_the_memory():
    x, y = np.arange(100, dtype=np.int32), np.zeros((16, 8), np.int32)
    static = {"hop": 6, "first": 0, "guard": False, "odd": False}
    check = xe.check(framed, xe.NDRange(128, 8))
    assert not check(x, y, **static)[1]
    _, (finding,) = check(x[:95], y, **static)
    assert (finding.address, finding.count) == ((95,), 3)
