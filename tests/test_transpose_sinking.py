"""What is transposed late is what is transposed where it is written, and it is transposed once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from launches import prepared
from threaded import on_a_cpu

import xeemu as xe
from xeemu.emission import transpose_sinking
from xeemu.launching import executables
from xeemu.launching.preparation import Prepared

__all__ = ["on_a_cpu"]

SIDE = 256
X = np.random.default_rng(3).integers(-(2**31), 2**31, (SIDE, SIDE), dtype=np.int32)


def primitives(function, *arguments):
    return [eqn.primitive.name for eqn in jax.make_jaxpr(function)(*arguments).jaxpr.eqns]


# --- Functions ---


KINDS = ["transpose", "reshape", "double", "add x", "add y", "flip", "sum", "repeat", "where", "part", "number"]
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 10**6)), min_size=1, max_size=8)
SHAPES = [(24,), (2, 12), (4, 6), (2, 3, 4), (3, 1, 8), (2, 2, 2, 3), (1, 24), (4, 3, 2)]


def composed(steps, x, y):
    """What steps make of arrays of 24 elements, each of what the one before has left."""
    value = x
    for kind, choice in steps:
        shape = SHAPES[choice % len(SHAPES)]
        match kind:
            case "transpose":
                order = np.random.default_rng(choice).permutation(value.ndim)
                value = value.transpose(*order.tolist())
            case "reshape" if value.size == 24:
                value = value.reshape(shape)
            case "double":
                value = value * 2
            case "add x" if value.size == 24:
                value = value + x.reshape(value.shape)
            case "add y" if value.size == 24:
                value = value + y.reshape(value.shape)
            case "flip" if value.ndim:
                value = jnp.flip(value, choice % value.ndim)
            case "sum" if value.ndim:
                value = value.sum(choice % value.ndim)
            case "repeat":
                value = jnp.broadcast_to(value, (2, *value.shape))
            case "where":
                value = jnp.where(value > choice % 100, value, -value)
            case "part" if value.ndim and value.shape[0] > 1:
                value = value[1:]
            case "number":
                value = value + jnp.full(value.shape, choice % 7, value.dtype)
    return [value]


@pytest.mark.thorough
@given(STEPS)
def test_what_is_put_off_is_what_it_was(steps):
    x, y = np.arange(24, dtype=np.int32), np.random.default_rng(0).integers(100, size=24, dtype=np.int32)
    (expected,) = composed(steps, jnp.asarray(x), jnp.asarray(y))
    late = transpose_sinking.put_off(lambda x, y: composed(steps, x, y))
    for function in (late, jax.jit(late)):
        (found,) = function(x, y)
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


def test_transpositions_that_follow_each_other_are_one():
    def tiles(x):
        rows = x.reshape(4, 2, 8, 2).transpose(0, 2, 1, 3).reshape(32, 2, 2).transpose(0, 2, 1)
        return [rows.reshape(4, 8, 2, 2).transpose(1, 2, 0, 3).reshape(16, 8)]

    x = np.arange(128, dtype=np.int32).reshape(8, 16)
    assert primitives(tiles, x).count("transpose") == 3
    assert primitives(transpose_sinking.put_off(tiles), x).count("transpose") == 1
    np.testing.assert_array_equal(transpose_sinking.put_off(tiles)(x)[0], x.T)


def test_what_comes_to_nothing_is_nothing():
    def back(x):
        return [(x.reshape(8, 4, 4).transpose(2, 0, 1) + 1).transpose(1, 2, 0).reshape(8, 16)]

    x = np.arange(128, dtype=np.int32).reshape(8, 16)
    assert "transpose" not in primitives(transpose_sinking.put_off(back), x)
    np.testing.assert_array_equal(transpose_sinking.put_off(back)(x)[0], x + 1)


def test_what_is_not_needed_is_left_out():
    def function(x):
        jnp.sort(x)
        return [x.T]

    assert primitives(transpose_sinking.put_off(function), X) == [
        "transpose",
        *primitives(lambda x: [x.reshape(X.shape)], X),
    ]


# --- Launches ---


def tiled(tile, padding, change=lambda v: v):
    @xe.kernel
    def kernel(wg, x, y):
        row, column = wg.local_id(0), wg.local_id(1)
        top, left = wg.group_id(0) * tile, wg.group_id(1) * tile
        block = wg.local((tile, tile + padding), x.dtype)
        block = wg.barrier(block.at[row, column].set(change(x[top + row, left + column])))
        return y.at[left + row, top + column].set(block[column, row])

    return kernel


@xe.kernel
def loaded(wg, x, y):
    i, j = wg.global_id(0), wg.global_id(1)
    return y.at[i, j].set(x[j, i])


@xe.kernel
def stored(wg, x, y):
    i, j = wg.global_id(0), wg.global_id(1)
    return y.at[j, i].set(x[i, j])


@xe.kernel
def symmetric(wg, x, y):
    i, j = wg.global_id(0), wg.global_id(1)
    return y.at[i, j].set(x[i, j] + x[j, i])


@xe.kernel
def updated(wg, x, y):
    """What is there is used as well."""
    i, j = wg.global_id(0), wg.global_id(1)
    return y.at[j, i].set(y[j, i] + 3 * x[i, j])


KERNELS = {
    "tiles": (tiled(16, 1), lambda x: x.T),
    "tiles without padding": (tiled(16, 0), lambda x: x.T),
    "computed": (tiled(16, 1, lambda v: 3 * v + 1), lambda x: 3 * x.T + 1),
    "loaded": (loaded, lambda x: x.T),
    "stored": (stored, lambda x: x.T),
    "both": (symmetric, lambda x: x + x.T),
    "updated": (updated, lambda x: 3 * x.T + 7),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("memory_bytes", [None, 1 << 14])
@pytest.mark.parametrize("name", KERNELS)
def test_launches_that_transpose(name, memory_bytes):
    kernel, by_hand = KERNELS[name]
    launch = xe.launch(kernel, xe.NDRange((SIDE, SIDE), (16, 16)), memory_bytes=memory_bytes)
    y = np.full_like(X, 7)
    np.testing.assert_array_equal(launch(X, y), by_hand(X))
    np.testing.assert_array_equal(jax.jit(launch)(X, y), by_hand(X))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64, bool])
@pytest.mark.parametrize(("shape", "tile"), [((96, 256), 8), ((640, 48), 16), ((16, 1024), 16)])
def test_of_any_dtype_and_shape(dtype, shape, tile):
    x = np.random.default_rng(1).integers(2, size=shape).astype(dtype)
    y = np.zeros(shape[::-1], dtype)
    found = xe.launch(tiled(tile, 1), xe.NDRange(shape, (tile, tile)))(x, y)
    np.testing.assert_array_equal(found, x.T)


@xe.kernel
def rotated(wg, x, y):
    i, j, k = wg.global_id(0), wg.global_id(1), wg.global_id(2)
    return y.at[k, i, j].set(x[i, j, k])


def test_three_dimensions():
    x = np.arange(32 * 16 * 64, dtype=np.int32).reshape(32, 16, 64)
    launch = xe.launch(rotated, xe.NDRange(x.shape, (4, 4, 8)))
    np.testing.assert_array_equal(launch(x, np.zeros((64, 32, 16), np.int32)), x.transpose(2, 0, 1))


@pytest.mark.parametrize(("name", "whole"), [("tiles", True), ("stored", True), ("computed", False)])
def test_a_transposition_alone_needs_no_chunks_and_is_one(name, whole, monkeypatch):
    """What would be computed for itself before it is transposed is more than a launch may take to work with."""
    side = 1024
    x = np.arange(side**2, dtype=np.int32).reshape(side, side)
    ready = executables.executable(prepared(KERNELS[name][0], xe.NDRange((side, side), (16, 16)), (x, x)))
    np.testing.assert_array_equal(ready(x, np.zeros_like(x))[0], KERNELS[name][1](x))
    fit: Prepared = ready.prepared
    assert (fit.cut.chunk == fit.cut.groups) == whole
    if whole:
        assert primitives(lambda *xs: fit.emit(*xs), x, x).count("transpose") == 1
