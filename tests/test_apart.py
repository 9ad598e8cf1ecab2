"""What a mask leaves out of a load is computed apart from the rest, with the same results."""

import warnings

import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_joining import on_a_gpu

import xeemu as xe

SIZE, GROUPS = 64, 50
COMBINE = {"add": (jnp.add, np.add), "max": (jnp.maximum, np.maximum), "xor": (jnp.bitwise_xor, np.bitwise_xor)}


@xe.kernel
def prefixes(wg, x, y, *, op, backwards):
    """Hillis and Steele's: in each step a work-item takes what another one has that is twice as far away."""
    i, lid = wg.global_linear_id(), wg.local_linear_id()
    apply, neutral = COMBINE[op][0], np.iinfo(x.dtype).min if op == "max" else 0
    sums = wg.barrier(wg.local(wg.size, x.dtype).at[lid].set(x[i]))
    distance = 1
    while distance < wg.size:
        place = lid + distance if backwards else lid - distance
        there = place < wg.size if backwards else place >= 0
        value = apply(sums[lid], sums.load(place, where=there, other=neutral))
        sums = wg.barrier(wg.barrier(sums).at[lid].set(value))
        distance *= 2
    return y.at[i].set(sums[lid])


def results(kernel, nd_range, arguments, static):
    """Those of a launch: as usual, with one group at a time, in a jitted function, as for a GPU."""
    launch = xe.launch(kernel, nd_range)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield launch(*arguments, **static)
        yield xe.launch(kernel, nd_range, memory_bytes=1)(*arguments, **static)
        yield jax.jit(lambda *xs: launch(*xs, **static))(*arguments)
        yield launches.run(on_a_gpu(kernel, nd_range, arguments, static), arguments)[0]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int16"])
@pytest.mark.parametrize("op", COMBINE)
def test_prefixes(op, dtype, backwards):
    info = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(info.min, info.max, SIZE * GROUPS, dtype, endpoint=True)
    rows = x.reshape(GROUPS, SIZE)[:, :: -1 if backwards else 1]
    with np.errstate(over="ignore"):
        expected = COMBINE[op][1].accumulate(rows, axis=1, dtype=x.dtype)[:, :: -1 if backwards else 1]
    for shape in (SIZE * GROUPS, SIZE), ((8 * GROUPS, 8), (8, 8)):
        for got in results(prefixes, xe.NDRange(*shape), (x, np.zeros_like(x)), {"op": op, "backwards": backwards}):
            np.testing.assert_array_equal(got, expected.ravel())


def test_nothing_is_padded():
    """XLA would decide for each element of a padded array where it is from."""
    x = np.ones(1 << 16, np.int32)
    ready = launches.prepared(prefixes, xe.NDRange(1 << 16, 256), (x, x), {"op": "add", "backwards": False})
    text = launches.compiled(ready.compiled, x, x).as_text()
    assert " pad(" not in text
    assert " concatenate(" in text


@xe.kernel
def several(wg, x, y, *, spans, other, private):
    """Sums of what different masks leave in, more of it computed, some of it stored for a part of the work-items."""
    i, lid = wg.global_linear_id(), wg.local_linear_id()
    tile = wg.barrier(wg.local(2 * wg.size, jnp.int32).at[lid].set(x[i]).at[lid + wg.size].set(-x[i]))
    total = jnp.full(wg.size, 3, jnp.int32)
    for k, (first, last, shift) in enumerate(spans):
        there = (lid >= first) & (lid < last)
        found = tile.load(lid + shift, where=there, other=other if k % 2 else lid)
        total = total * 5 + jnp.where(found % 3 == 0, found, k) + wg.group_id()
    if private:
        total = (total[:, None] + jnp.arange(2, dtype=jnp.int32)).sum(1)
    tile = wg.barrier(wg.barrier(tile).at[lid].set(total, where=lid > 2))
    return y.at[i].set(total ^ tile[lid])


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 32), st.integers(0, 32), st.integers(0, 32)), min_size=1, max_size=4),
    st.integers(-3, 3),
    st.booleans(),
)
def test_any_masks(spans, other, private):
    x = np.random.default_rng(1).integers(-100, 100, 32 * 40, dtype=np.int32)
    rows = x.reshape(40, 32)
    tiles, lid = np.concatenate([rows, -rows], axis=1), np.arange(32)
    total = np.full((40, 32), 3, np.int32)
    for k, (first, last, shift) in enumerate(spans):
        found = np.where((lid >= first) & (lid < last), tiles[:, lid + shift], other if k % 2 else lid)
        total = (total * 5 + np.where(found % 3 == 0, found, k) + np.arange(40)[:, None]).astype(np.int32)
    if private:
        total = 2 * total + 1
    expected = total ^ np.where(lid > 2, total, rows)
    static = {"spans": tuple(spans), "other": other, "private": private}
    for got in results(several, xe.NDRange(x.size, 32), (x, np.zeros_like(x)), static):
        np.testing.assert_array_equal(got, expected.ravel())
