"""Memories that a launch overwrites: what was in them is not copied, and everything else of them is kept."""

import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu import kernels

N = 96
X = np.arange(N, dtype=np.int32) * 7 % 100
OUT = -1 - np.arange(N, dtype=np.int32)


def stored(index, value=lambda x: x, where=None):
    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_linear_id()
        return out.at[index(wg, i)].set(value(x[i]), where=where(wg, i) if where else None)

    return kernel


WHOLE = {
    "in order": lambda wg, i: i,
    "from the end": lambda wg, i: N - 1 - i,
    "groups interleaved": lambda wg, i: wg.local_linear_id() * wg.group_range(0) + wg.group_linear_id(),
    "groups from the end": lambda wg, i: (wg.group_range(0) - 1 - wg.group_id(0)) * wg.size + wg.local_id(0),
}
IN_PART = {
    "one twice": lambda wg, i: jnp.maximum(i, 1),
    "shared": lambda wg, i: wg.local_linear_id(),
    "unknown": lambda wg, i: (i * 5) % N,
    "shifted": lambda wg, i: i + 1,
}


def is_fresh(kernel, nd_range, *arguments):
    ready = launches.prepared(kernel, nd_range, arguments, device="max1550")
    return 1 in ready.overwritten


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("memory_bytes", [1, None])
def test_a_memory_that_is_overwritten(name, memory_bytes):
    kernel, nd_range = stored(WHOLE[name]), xe.NDRange(N, 16)
    assert is_fresh(kernel, nd_range, X, OUT)
    out = np.asarray(xe.launch(kernel, nd_range, memory_bytes=memory_bytes)(X, OUT))
    np.testing.assert_array_equal(np.sort(out), np.sort(X))
    np.testing.assert_array_equal(xe.launch(kernel, nd_range, donate=True)(X, jnp.asarray(OUT)), out)


@pytest.mark.parametrize("name", IN_PART)
def test_a_memory_that_may_not_be(name):
    assert not is_fresh(stored(IN_PART[name]), xe.NDRange(N, 16), X, OUT)


def test_what_is_not_stored_is_kept():
    half, every = stored(lambda wg, i: i, where=lambda wg, i: i % 2 == 0), stored(lambda wg, i: 2 * i)
    for kernel, nd_range in ((half, xe.NDRange(N, 16)), (every, xe.NDRange(N // 2, 16))):
        assert not is_fresh(kernel, nd_range, X, OUT)
        out = xe.launch(kernel, nd_range)(X, OUT)
        np.testing.assert_array_equal(out[1::2], OUT[1::2])


def test_ragged_ranges_and_smaller_launches_keep_the_rest():
    kernel = stored(lambda wg, i: i)
    for size, local in ((N - 1, None), (N - 16, 16)):
        assert not is_fresh(kernel, xe.NDRange(size, local), X, OUT)
        out = xe.launch(kernel, xe.NDRange(size, local))(X, OUT)
        np.testing.assert_array_equal(out, np.where(np.arange(N) < size, X, OUT))


def test_a_memory_that_is_also_loaded_is_not_fresh():
    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_id()
        return out.at[i].set(x[i] + out[i])

    assert not is_fresh(kernel, xe.NDRange(N, 16), X, OUT)
    np.testing.assert_array_equal(xe.launch(kernel, xe.NDRange(N, 16))(X, OUT), X + OUT)


def test_a_store_in_a_loop_or_a_branch_is_not_taken_for_all():
    @xe.kernel
    def loop(wg, x, out):
        i = wg.global_id()
        return lax.fori_loop(0, x[0], lambda k, out: out.at[i].set(x[i] + k), out)

    @xe.kernel
    def branch(wg, x, out):
        i = wg.global_id()
        return lax.cond(wg.group_id() > 1, lambda out: out.at[i].set(x[i]), lambda out: out, out)

    for kernel, expected in ((loop, OUT), (branch, np.where(np.arange(N) < 32, OUT, X))):
        assert not is_fresh(kernel, xe.NDRange(N, 16), X, OUT)
        np.testing.assert_array_equal(xe.launch(kernel, xe.NDRange(N, 16))(X, OUT), expected)


def test_tiles_of_a_matrix():
    @xe.kernel
    def transposed(wg, x, out):
        i, j = wg.global_id(0), wg.global_id(1)
        return out.at[j, i].set(x[i, j])

    x = np.arange(24 * 40, dtype=np.float32).reshape(24, 40)
    nd_range = xe.NDRange((24, 40), (8, 8))
    assert is_fresh(transposed, nd_range, x, np.zeros((40, 24), np.float32))
    np.testing.assert_array_equal(xe.launch(transposed, nd_range)(x, np.full((40, 24), -1, np.float32)), x.T)


def test_the_convolution_copies_nothing():
    example = kernels.example("convolution_global")
    size = (1 << 16, 17)
    inputs = example.inputs(size)
    ready = launches.prepared(example.kernel, example.nd_range(size), inputs, device="max1550")
    text = jax.jit(ready.emit).lower(*inputs).compile().as_text()
    assert "copy(%arguments" not in text
