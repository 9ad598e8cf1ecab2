"""Launches whose results consist of parts are shared by the cores of a CPU, and give what one core gives."""

import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from hosts import take
from jax import lax
from threaded import counts, on_a_cpu, three_cores

import xeemu as xe
from xeemu.kernels import EXAMPLES
from xeemu.launching import cores, executables, thread_partition
from xeemu.launching.launch import _launched
from xeemu.launching.thread_partition import ResultParts

__all__ = ["counts", "on_a_cpu", "three_cores"]

ITEMS = 16
RNG = np.random.default_rng(3)
SIZES = [(48, 16), (240, 16), (1000, 16), (1000, 10), (4096, 16)]


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch):
    """Several for each thread, and many chunks."""
    take(monkeypatch, "threads", piece_ns=1e3)


def alone(monkeypatch, launched, *arrays, **static):
    """What one core makes of a launch that `launched` makes."""
    with monkeypatch.context() as patch:
        patch.setattr(cores, "count", lambda: 1)
        for cached in (_launched, executables.executable):
            cached.cache_clear()
        results = jax.tree.map(np.asarray, launched()(*arrays, **static))
    for cached in (_launched, executables.executable):
        cached.cache_clear()
    return results


def compare(monkeypatch, counts, kernel, nd_range, *arrays, **static):
    def launched():
        return xe.launch(kernel, nd_range, memory_bytes=1 << 14)

    expected = alone(monkeypatch, launched, *arrays, **static)
    assert not counts
    shared = launched()(*arrays, **static)
    assert counts[-1] > 1
    jax.tree.map(np.testing.assert_array_equal, shared, expected)
    return shared


@xe.kernel
def summed(wg, x, y):
    """A loop, so that the launch is cut into chunks."""
    i = wg.global_id()
    total = lax.fori_loop(0, 9, lambda k, total: total + x[i + k], jnp.zeros(wg.size, x.dtype))
    return y.at[i].set(total)


@pytest.mark.every(2)
@pytest.mark.parametrize(("size", "items"), SIZES)
def test_each_element_is_stored_once(size, items, counts, monkeypatch):
    x = RNG.integers(0, 100, size + 8, np.int32)
    nd_range = xe.NDRange(size - size % items, items)
    shared = compare(monkeypatch, counts, summed, nd_range, x, np.full(nd_range.size, 7, np.int32))
    np.testing.assert_array_equal(shared, np.convolve(x[: nd_range.size + 8], np.ones(9, np.int32), "valid"))


@pytest.mark.parametrize("nd_range", [xe.NDRange(1024, ITEMS), xe.NDRange(1013), xe.NDRange(1010)])
def test_the_last_group_may_have_fewer_elements(nd_range, counts, monkeypatch):
    x, y = RNG.integers(0, 100, 1200, np.int32), np.full(1010, 7, np.int32)
    shared = compare(monkeypatch, counts, summed, nd_range, x, y)
    np.testing.assert_array_equal(shared, np.convolve(x[:1018], np.ones(9, np.int32), "valid"))


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "float16", "bfloat16", "int64", "float64"])
def test_all_types_keep_their_bits(dtype, counts, monkeypatch):
    @xe.kernel
    def kernel(wg, x, y):
        i = wg.global_id()
        return lax.fori_loop(0, 3, lambda k, y: y.at[3 * i + k].set(x[i + k]), y)

    x = RNG.integers(0, 100, 1000).astype(jnp.dtype(dtype))
    if x.dtype.kind == "f":
        x[17] = np.nan
    shared = compare(monkeypatch, counts, kernel, xe.NDRange(960, ITEMS), x, np.zeros(2880, x.dtype))
    assert shared.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(shared).reshape(-1, 3), np.stack([x[k : 960 + k] for k in range(3)], 1))


@xe.kernel
def in_place(wg, x, factor):
    """Every third work-item leaves its element as it is, and the elements beyond the groups stay, too."""
    i = wg.global_id()

    def step(k, x):
        return x.at[i].set(factor * x[i] + k, where=i % 3 > 0)

    return lax.fori_loop(0, 5, step, x)


@pytest.mark.every(2)
@pytest.mark.parametrize(("size", "items"), SIZES)
def test_what_was_there_before_stays_and_can_be_loaded(size, items, counts, monkeypatch):
    x = RNG.integers(0, 100, size - size % items, np.int32)
    shared = compare(monkeypatch, counts, in_place, xe.NDRange(x.size, items), x, 3)
    np.testing.assert_array_equal(shared[::3], x[::3])


@xe.kernel
def old_values(wg, x, y):
    """Atomic operations that nobody else has a part in, and their old values."""
    i = wg.global_id()

    def step(k, carry):
        x, y = carry
        old, x = x.atomic[wg.group_id()].fetch_add(1, where=wg.local_id() == k)
        return x, y.at[i].set(old, where=wg.local_id() == k)

    return lax.fori_loop(0, wg.size, step, (x, y))


def test_old_values_within_a_part(counts, monkeypatch):
    x = RNG.integers(0, 100, 40, np.int32)
    _, old = compare(monkeypatch, counts, old_values, xe.NDRange(640, ITEMS), x, np.zeros(640, np.int32))
    np.testing.assert_array_equal(old, (x[:, None] + np.arange(ITEMS)).reshape(-1))


@pytest.mark.parametrize(("n", "m"), [(32, 32), (64, 24), (30, 32), (32, 30), (61, 23)])
def test_tiles_of_matrices(n, m, counts, monkeypatch):
    inner = 6
    a, b = RNG.integers(0, 10, (n, inner), np.int32), RNG.integers(0, 10, (inner, m), np.int32)
    nd_range = xe.NDRange((-(-n // 4) * 4, -(-m // 8) * 8), (4, 8))

    @xe.kernel
    def product(wg, a, b, c):
        i, j = wg.global_id(0), wg.global_id(1)
        live_i, live_j = i < n, j < m

        def add(k, total):
            return total + a.load((i, k), where=live_i, other=0) * b.load((k, j), where=live_j, other=0)

        total = lax.fori_loop(0, inner, add, jnp.zeros((4, 8), jnp.int32))
        return c.at[i, j].set(total, where=live_i & live_j)

    shared = compare(monkeypatch, counts, product, nd_range, a, b, np.full((n, m), 7, np.int32))
    np.testing.assert_array_equal(shared, a @ b)


def test_results_in_parts_and_results_that_are_merged(counts, monkeypatch):
    take(monkeypatch, "threads", merged_ns=1e-9)

    @xe.kernel
    def kernel(wg, x, y, count, largest):
        i = wg.global_id()

        def step(k, carry):
            y, count = carry
            return y.at[i].set(y[i] + x[i + k]), count.atomic[x[i + k] % 4].add(1)

        y, count = lax.fori_loop(0, 5, step, (y, count))
        return y, count, largest.atomic[0].max(x[i])

    x, y = RNG.integers(0, 100, 1004, np.int32), RNG.integers(0, 100, 1000, np.int32)
    count, largest = RNG.integers(0, 100, 4, np.int32), np.zeros(1, np.int32)
    y_after, count_after, largest_after = compare(
        monkeypatch, counts, kernel, xe.NDRange(1000, 10), x, y, count, largest
    )
    windows = np.lib.stride_tricks.sliding_window_view(x, 5)
    np.testing.assert_array_equal(y_after, y + windows.sum(1))
    np.testing.assert_array_equal(count_after, count + np.bincount(windows.reshape(-1) % 4))
    assert largest_after[0] == x[:1000].max()


def test_groups_at_the_ends_for_themselves(counts, monkeypatch):
    """More is known of those between."""
    example = EXAMPLES["convolution_slm"]
    nd_range, inputs = example.nd_range((256 * 40, 33)), example.inputs((256 * 40, 33))
    assert launches.prepared(example.kernel, nd_range, inputs, memory_bytes=1 << 14).cut.inner is not None
    shared = compare(monkeypatch, counts, example.kernel, nd_range, *inputs)
    np.testing.assert_array_equal(shared, example.reference(*inputs))


def test_a_launch_leaves_the_results_of_others_alone(counts):
    """And its arguments: results are arrays of their own, also where they are given to the next launch."""
    x = jnp.asarray(RNG.integers(0, 100, 4096, np.int32))
    before, launch = np.array(x), xe.launch(in_place, xe.NDRange(4096, ITEMS))
    results, expected = [x], [before]
    for _ in range(6):
        results.append(launch(results[-1], 2))
        expected.append(np.asarray(launch(expected[-1], 2)))
    assert set(counts) == {3}
    for own, other in zip(results, expected, strict=True):
        np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(x, before)


def test_a_result_may_be_donated(counts):
    x = RNG.integers(0, 100, 4096, np.int32)
    shared = xe.launch(in_place, xe.NDRange(4096, ITEMS))(x, 2)
    expected = np.array(shared) + 1
    np.testing.assert_array_equal(jax.jit(lambda y: y + 1, donate_argnums=0)(shared), expected)
    assert shared.is_deleted()


@pytest.mark.parametrize("guard", ["disallow", "disallow_explicit"])
def test_nothing_is_transferred_but_the_arguments(guard, counts):
    x, factor = jnp.arange(4096, dtype=jnp.int32), jnp.int32(2)
    with jax.transfer_guard(guard):
        result = xe.launch(in_place, xe.NDRange(4096, ITEMS))(x, factor)
    np.testing.assert_array_equal(result, xe.launch(in_place, xe.NDRange(4096, ITEMS))(np.asarray(x), 2))
    assert set(counts) == {3}


def test_where_jax_compiles_nothing_it_gives_the_same(counts, monkeypatch):
    x, nd_range = RNG.integers(0, 100, 640, np.int32), xe.NDRange(640, ITEMS)
    expected = alone(monkeypatch, lambda: xe.launch(in_place, nd_range), x, 3)
    with jax.disable_jit():
        np.testing.assert_array_equal(xe.launch(in_place, nd_range)(x, 3), expected)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_error_in_a_thread_is_one_of_the_launch(error, counts, monkeypatch):
    """The other threads take no more pieces, and the next launch is right again."""
    x, nd_range = RNG.integers(0, 100, 4096, np.int32), xe.NDRange(4096, ITEMS)
    launch, taken = xe.launch(in_place, nd_range), []
    expected = launch(x, 3)

    def fail(self, piece):
        taken.append(piece)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(ResultParts, "slices", fail)
        with pytest.raises(error):
            launch(x, 3)
    assert len(taken) <= counts[-1] < shared(in_place, nd_range, x, 3).pieces
    np.testing.assert_array_equal(launch(x, 3), expected)


def test_where_jax_looks_for_nan_it_finds_them(counts):
    @xe.kernel
    def kernel(wg, x):
        return lax.fori_loop(0, 3, lambda k, x: x.at[wg.global_id()].set(jnp.log(x[wg.global_id()])), x)

    x = np.full(640, 1e10, np.float32)
    x[77] = -1
    launch = xe.launch(kernel, xe.NDRange(640, ITEMS))
    assert np.isnan(launch(x)[77])
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        launch(x)
    assert set(counts) == {3}


def test_results_without_elements(counts):
    @xe.kernel
    def kernel(wg, x, none):
        i = wg.global_id()
        none = lax.fori_loop(0, 2, lambda k, none: none.at[i, k].set(1), none)
        return lax.fori_loop(0, 3, lambda k, x: x.at[i].set(x[i] + k), x), none

    x, none = xe.launch(kernel, xe.NDRange(640, ITEMS))(np.zeros(640, np.int32), np.zeros((640, 0), np.int32))
    assert (np.asarray(x) == 3).all()
    assert none.shape == (640, 0)


@pytest.mark.parametrize("spec", [("a", None), (None, "a"), ("a",), ()])
def test_arguments_of_a_mesh_of_one_device(spec, counts):
    """Of which a result has not the rank."""

    @xe.kernel
    def kernel(wg, x, y):
        i = wg.global_id()
        return lax.fori_loop(0, 3, lambda k, y: y.at[i].set(y[i] + x[i, k]), y)

    x, y = RNG.integers(0, 100, (640, 3), np.int32), np.zeros(640, np.int32)
    mesh = jax.sharding.Mesh(jax.local_devices(backend="cpu")[:1], ("a",))
    sharded = jax.device_put(x, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec)))
    np.testing.assert_array_equal(xe.launch(kernel, xe.NDRange(640, ITEMS))(sharded, y), x.sum(1))
    assert counts == [3]


# --- How it is shared ---


def shared(kernel, nd_range, *arrays, memory_bytes=None):
    return thread_partition.of_launch(launches.prepared(kernel, nd_range, arrays, memory_bytes=memory_bytes))


def test_every_group_is_in_one_piece_and_every_element_in_one_part():
    for size, items in SIZES:
        size -= size % items
        found = shared(in_place, xe.NDRange(size, items), np.zeros(size, np.int32), 3, memory_bytes=1 << 12)
        (parts,) = found.combinations
        assert parts.starts[0] == 0
        assert parts.starts[-1] == size
        assert len(parts.starts) == len(found.bounds) == found.pieces + 1
        assert not found.pieces % found.count
        for piece in range(found.pieces):
            there, here = parts.slices(piece)
            assert there.stop - there.start == here.stop - here.start <= parts.size
            assert parts.origins[piece] + here.start == there.start
            assert 0 <= parts.origins[piece] <= size - parts.size


def test_a_piece_makes_no_more_than_fits_the_working_set(monkeypatch):
    take(monkeypatch, "threads", piece_ns=1e12)
    size = 1 << 20
    for memory_bytes in None, 1 << 18, 1 << 14:
        found = shared(summed, xe.NDRange(size, 64), *2 * [np.zeros(size, np.float32)], memory_bytes=memory_bytes)
        (parts,) = found.combinations
        assert found.count * 4 * parts.size <= (memory_bytes or 16 << 20)


def test_what_is_moved_for_little_work_is_not_shared(monkeypatch):
    arguments = xe.NDRange(4096, ITEMS), *2 * [np.zeros(4096, np.int32)]
    assert shared(summed, *arguments).count == 3
    take(monkeypatch, "threads", moved_ns=1e3)
    assert shared(summed, *arguments) is None
    take(monkeypatch, "threads", moved_ns=0)
    take(monkeypatch, "threads", thread_ns=1e9)
    assert shared(summed, *arguments) is None
