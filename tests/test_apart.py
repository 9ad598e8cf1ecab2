"""What a mask leaves out of a load is computed apart from the rest, with the same results."""

import warnings

import examples
import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from test_merge_updates import on_a_gpu

import xeemu as xe

SIZE, GROUPS = 64, 50
COMBINE = {"add": (jnp.add, np.add), "max": (jnp.maximum, np.maximum), "xor": (jnp.bitwise_xor, np.bitwise_xor)}


@xe.kernel
def prefixes(wg, x, y, *, op, backwards, again):
    """Hillis and Steele's: in each step a work-item takes what another one has that is twice as far away.

    What it has itself it loads `again`, or keeps.
    """
    i, lid = wg.global_linear_id(), wg.local_linear_id()
    apply, neutral = COMBINE[op][0], np.iinfo(x.dtype).min if op == "max" else 0
    value = x[i]
    sums = wg.barrier(wg.local(wg.size, x.dtype).at[lid].set(value))
    distance = 1
    while distance < wg.size:
        place = lid + distance if backwards else lid - distance
        there = place < wg.size if backwards else place >= 0
        value = apply(sums[lid] if again else value, sums.load(place, where=there, other=neutral))
        sums = wg.barrier(wg.barrier(sums).at[lid].set(value))
        distance *= 2
    return y.at[i].set(sums[lid] if again else value)


def results(kernel, nd_range, arguments, static):
    """Those of a launch: as usual, with one group at a time, in a jitted function, as for a GPU."""
    launch = xe.launch(kernel, nd_range)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield launch(*arguments, **static)
        yield xe.launch(kernel, nd_range, memory_bytes=1)(*arguments, **static)
        yield jax.jit(lambda *xs: launch(*xs, **static))(*arguments)
        yield launches.run(on_a_gpu(kernel, nd_range, arguments, static), arguments)[0]


@pytest.mark.every(8)
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int16"])
@pytest.mark.parametrize("op", COMBINE)
def test_prefixes(op, dtype, backwards, again):
    info = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(info.min, info.max, SIZE * GROUPS, dtype, endpoint=True)
    rows = x.reshape(GROUPS, SIZE)[:, :: -1 if backwards else 1]
    with np.errstate(over="ignore"):
        expected = COMBINE[op][1].accumulate(rows, axis=1, dtype=x.dtype)[:, :: -1 if backwards else 1]
    static = {"op": op, "backwards": backwards, "again": again}
    for shape in (SIZE * GROUPS, SIZE), ((8 * GROUPS, 8), (8, 8)):
        for got in results(prefixes, xe.NDRange(*shape), (x, np.zeros_like(x)), static):
            np.testing.assert_array_equal(got, expected.ravel())


def compiled(kernel, static=None):
    x = np.ones(1 << 16, np.int32)
    ready = launches.prepared(kernel, xe.NDRange(1 << 16, 256), (x, x), static)
    return launches.compiled(ready.compiled, x, x).as_text()


def test_what_is_shifted_again_is_not_padded():
    """XLA would decide for each element of a padded array where it is from, in every step that takes it."""
    assert " concatenate(" in compiled(prefixes, {"op": "add", "backwards": False, "again": True})


@xe.kernel
def differences(wg, x, y):
    i, lid = wg.global_linear_id(), wg.local_linear_id()
    tile = wg.barrier(wg.local(wg.size, jnp.int32).at[lid].set(x[i]))
    return y.at[i].set(tile[lid] - tile.load(lid - 1, where=lid >= 1))


def test_what_is_loaded_last_is_padded():
    """One pass does it all."""
    x = np.random.default_rng(0).integers(-100, 100, SIZE * GROUPS, dtype=np.int32)
    rows = x.reshape(GROUPS, SIZE)
    for got in results(differences, xe.NDRange(x.size, SIZE), (x, np.zeros_like(x)), {}):
        np.testing.assert_array_equal(got, np.diff(rows, axis=1, prepend=0).ravel())
    assert " concatenate(" not in compiled(differences)


@xe.kernel
def shared_masks(wg, x, y):
    """Several loads under one mask, of which one is what another one has where it is left out, and an exponential."""
    i, lid = wg.global_linear_id(), wg.local_linear_id()
    a = wg.barrier(wg.local(wg.size, jnp.float32).at[lid].set(x[i]))
    b = wg.barrier(wg.local(wg.size, jnp.float32).at[lid].set(-x[i]))
    there = lid >= 3
    first = a.load(lid - 3, where=there, other=0.5)
    second = b.load(lid - 2, where=there, other=first + x[i])
    value = jnp.exp(first * second) + jnp.where(lid % 2 == 0, first, second)
    a, b = wg.barrier(a, b)
    a = wg.barrier(a.at[lid].set(value))
    b = wg.barrier(b.at[lid].set(second, where=lid < 9))
    return y.at[i].set(a[wg.size - 1 - lid] + b[lid] + wg.reduce(first, "max"))


@pytest.mark.thorough
def test_loads_under_one_mask():
    x = np.random.default_rng(0).uniform(0, 1, SIZE * GROUPS).astype(np.float32)
    rows, lid = x.reshape(GROUPS, SIZE), np.arange(SIZE)
    first = np.where(lid >= 3, rows[:, np.maximum(lid - 3, 0)], np.float32(0.5))
    second = np.where(lid >= 3, -rows[:, np.maximum(lid - 2, 0)], first + rows)
    value = np.exp(first * second) + np.where(lid % 2 == 0, first, second)
    expected = value[:, ::-1] + np.where(lid < 9, second, -rows) + first.max(1, keepdims=True)
    for got in results(shared_masks, xe.NDRange(x.size, SIZE), (x, np.zeros_like(x)), {}):
        np.testing.assert_allclose(np.asarray(got).reshape(rows.shape), expected, rtol=1e-5, atol=1e-5)


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


@pytest.mark.thorough
@settings(max_examples=examples.some(12))
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


ELEMENTWISE = {
    "exp": jnp.exp,
    "sqrt": lambda x: jnp.sqrt(jnp.abs(x)),
    "power": lambda x: jnp.power(jnp.abs(x), jnp.float32(1.5)),
    "powers of itself": lambda x: jnp.power(jnp.abs(x), x),
    "arc tangent": lambda x: jnp.arctan2(x, jnp.float32(2)) + jnp.arctan2(jnp.float32(2), x),
    "rounding": lambda x: jnp.round(x * 3) + jnp.floor(x) + lax.reduce_precision(x, 8, 7),
    "bits": lambda x: lax.bitcast_convert_type(x, jnp.int32).astype(jnp.float32),
    "finite": lambda x: jnp.where(jnp.isfinite(1 / x), jnp.tanh(x), jnp.nextafter(x, jnp.float32(9))),
    "clamped": lambda x: lax.erf(lax.clamp(jnp.float32(-1), x, jnp.float32(1))),
    "barrier": lambda x: sum(lax.optimization_barrier((jnp.sin(x), jnp.cos(x)))),
}


@xe.kernel
def masked_scan(wg, x, y, *, name):
    """A step of a scan through local memory, with an operation on what the mask leaves in."""
    i, lid = wg.global_id(), wg.local_id()
    tile = wg.barrier(wg.local(wg.size, jnp.float32).at[lid].set(x[i]))
    value = ELEMENTWISE[name](tile.load(lid - 2, where=lid >= 2, other=1))
    tile = wg.barrier(wg.barrier(tile).at[lid].set(value))
    return y.at[i].set(tile[lid] + ELEMENTWISE[name](x[i]))


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_operations_on_what_a_mask_leaves_in(name):
    x = np.random.default_rng(0).uniform(-2, 2, SIZE * GROUPS).astype(np.float32)
    before = np.pad(x.reshape(GROUPS, SIZE), ((0, 0), (2, 0)), constant_values=1)[:, :SIZE]
    before[:, :2] = 1
    expected = ELEMENTWISE[name](jnp.asarray(before.ravel())) + ELEMENTWISE[name](jnp.asarray(x))
    for got in results(masked_scan, xe.NDRange(x.size, SIZE), (x, np.zeros_like(x)), {"name": name}):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
