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


@pytest.mark.parametrize(("last", "fresh"), [(N, True), (N - 1, False)])
def test_a_mask_that_is_known_leaves_in_all_elements_or_not(last, fresh):
    @xe.kernel
    def kernel(wg, x, out):
        i = wg.local_id()
        return out.at[i].set(2 * i, where=i < last)

    assert is_fresh(kernel, xe.NDRange(128, 128), X, OUT) == fresh
    expected = np.where(np.arange(N) < last, 2 * np.arange(N), OUT)
    np.testing.assert_array_equal(xe.launch(kernel, xe.NDRange(128, 128))(X, OUT), expected)


@pytest.mark.parametrize("name", IN_PART)
def test_a_memory_that_may_not_be(name):
    assert not is_fresh(stored(IN_PART[name]), xe.NDRange(N, 16), X, OUT)


def test_what_is_not_stored_is_kept():
    half, every = stored(lambda wg, i: i, where=lambda wg, i: i % 2 == 0), stored(lambda wg, i: 2 * i)
    for kernel, nd_range in ((half, xe.NDRange(N, 16)), (every, xe.NDRange(N // 2, 16))):
        assert not is_fresh(kernel, nd_range, X, OUT)
        out = xe.launch(kernel, nd_range)(X, OUT)
        np.testing.assert_array_equal(out[1::2], OUT[1::2])


def test_smaller_launches_keep_the_rest():
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


# --- More work-items than elements ---

GUARDED = {
    "as many": (lambda i: i < N, N, True),
    "more": (lambda i: i < N, N + 16, True),
    "written differently": (lambda i: (i >= 0) & (i <= N - 1), N + 32, True),
    "fewer": (lambda i: i < N, N - 16, False),
    "not the last": (lambda i: i < N - 1, N + 16, False),
    "not the first": (lambda i: (i > 0) & (i < N), N + 16, False),
    "beyond the end": (lambda i: i < N + 3, N + 16, False),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", GUARDED)
@pytest.mark.parametrize("memory_bytes", [1, 1 << 11, None])
def test_guarded_stores(name, memory_bytes):
    guard, items, whole = GUARDED[name]

    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_id()
        return out.at[i].set(x.load(i, where=guard(i)), where=guard(i))

    nd_range, i = xe.NDRange(items, 16), np.arange(N)
    assert is_fresh(kernel, nd_range, X, OUT) == whole
    found = xe.launch(kernel, nd_range, memory_bytes=memory_bytes)(X, OUT)
    np.testing.assert_array_equal(found, np.where(guard(i) & (i < items), X, OUT))


@pytest.mark.parametrize("size", [N, 4 * N + 1, 1009])
@pytest.mark.parametrize("memory_bytes", [1, None])
def test_plain_ranges(size, memory_bytes):
    kernel, x = stored(lambda wg, i: i), np.arange(size, dtype=np.int32)
    assert is_fresh(kernel, xe.NDRange(size), x, x)
    found = xe.launch(kernel, xe.NDRange(size), memory_bytes=memory_bytes)(x, np.full(size, -1, np.int32))
    np.testing.assert_array_equal(found, x)
    assert not is_fresh(kernel, xe.NDRange(size), x, np.zeros(size + 1, np.int32))


PLANES = {
    "in order": (lambda i, j: (i, j), (21, 37), True),
    "transposed": (lambda i, j: (j, i), (37, 21), True),
    "more rows": (lambda i, j: (i, j), (25, 37), False),
    "one id twice": (lambda i, j: (i, i), (21, 21), False),
    "shifted": (lambda i, j: (i, j + 1), (21, 37), False),
}


@pytest.mark.parametrize("name", PLANES)
@pytest.mark.parametrize("nd_range", [xe.NDRange((24, 40), (8, 8)), xe.NDRange((24, 39))], ids=str)
def test_guarded_stores_to_a_matrix(name, nd_range):
    place, shape, whole = PLANES[name]

    @xe.kernel
    def kernel(wg, out):
        i, j = wg.global_id(0), wg.global_id(1)
        row, column = place(i, j)
        there = (row < shape[0]) & (column < shape[1])
        return out.at[row, column].set(1000 * row + column, where=there)

    ready = launches.prepared(kernel, nd_range, (np.zeros(shape, np.int32),), device="max1550")
    assert (0 in ready.overwritten) == whole
    expected = np.full(shape, -1, np.int32)
    for i, j in np.ndindex(*nd_range.global_size):
        row, column = place(i, j)
        if row < shape[0] and column < shape[1]:
            expected[row, column] = 1000 * row + column
    np.testing.assert_array_equal(xe.launch(kernel, nd_range)(np.full(shape, -1, np.int32)), expected)


# --- Several stores ---

SEVERAL = {
    "components": ([lambda i, g: 3 * i, lambda i, g: 3 * i + 2, lambda i, g: 3 * i + 1], True),
    "blocks": ([lambda i, g, k=k: 48 * g + i % 16 + 16 * k for k in range(3)], True),
    "thirds": ([lambda i, g, k=k: i + N * k for k in range(3)], True),
    "one of them missing": ([lambda i, g: 3 * i, lambda i, g: 3 * i + 1], False),
    "one of them twice": ([lambda i, g: 3 * i, lambda i, g: 3 * i + 1, lambda i, g: 3 * i + 1], False),
    "more than there are": ([lambda i, g, k=k: 3 * i + k for k in range(4)], False),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("memory_bytes", [1, None])
def test_stores_that_fill_a_memory_together(name, memory_bytes):
    places, whole = SEVERAL[name]

    @xe.kernel
    def kernel(wg, x, out):
        i, g = wg.global_id(), wg.group_id()
        for k, place in enumerate(places):
            out = out.at[place(i, g)].set(x[i] + 1000 * k)
        return out

    out, i = -1 - np.arange(3 * N, dtype=np.int32), np.arange(N)
    assert is_fresh(kernel, xe.NDRange(N, 16), X, out) == whole
    expected = out.copy()
    if name != "more than there are":  # a race: the next work-item stores there, too
        for k, place in enumerate(places):
            expected[place(i, i // 16)] = X + 1000 * k
        found = xe.launch(kernel, xe.NDRange(N, 16), memory_bytes=memory_bytes)(X, out)
        np.testing.assert_array_equal(found, expected)


def test_a_load_between_stores_sees_what_was_there():
    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_id()
        out = out.at[2 * i].set(x[i])
        return out.at[2 * i + 1].set(out[2 * i] + out[2 * i + 1])

    out = np.arange(2 * N, dtype=np.int32)
    assert not is_fresh(kernel, xe.NDRange(N, 16), X, out)
    np.testing.assert_array_equal(
        xe.launch(kernel, xe.NDRange(N, 16))(X, out), np.stack([X, X + out[1::2]], 1).reshape(-1)
    )


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


@pytest.mark.parametrize("given", [True, False])
def test_groups_that_are_left_store_in_place(given):
    @xe.kernel
    def rows(wg, x, out):
        """Some work-items more than there are elements, of one dimension where the arrays have two."""
        i, width = wg.global_id(), x.shape[1]
        live = i < x.shape[0] * width - 2 * given
        place = i // width, i % width
        return out.at[place].set(x.load(place, where=live) * 2, where=live)

    x = np.ones((1001, 1003), np.float32)
    launch = xe.launch(rows, xe.NDRange(-(-x.size // 256) * 256, 256))
    compiled = launch.lower(x, x).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < x.nbytes / 4
    expected = 2 * x
    expected.reshape(-1)[x.size - 2 * given :] = -1
    np.testing.assert_array_equal(launch(x, np.full_like(x, -1)), expected)
