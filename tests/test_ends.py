"""Groups at the ends of a launch are emulated for themselves where more is known of all others: with equal results."""

import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax
from test_merge_updates import on_a_gpu

import xeemu as xe
from xeemu.knowledge import analysis
from xeemu.launching import chunking, working_set
from xeemu.launching.arguments import ArgumentType
from xeemu.launching.options import Options
from xeemu.launching.preparation import prepare

SIZES = [1, 5, 8, 16, 17, 24, 33, 1000, 2003]


@xe.kernel
def neighbours(wg, data, out):
    i, n = wg.global_id(), data.shape[0]
    total = data.load(i, where=i < n)
    for step in (-1, 2):
        total = total + data.load(i + step, where=(i + step >= 0) & (i + step < n))
    return out.at[i].set(total, where=i < n)


@xe.kernel
def branching(wg, data, out, *, groups):
    """The first and the last group do something else, and so do all in whose data something is large."""
    i, group, n = wg.global_id(), wg.group_id(), data.shape[0]
    value = data.load(i, where=i < n)
    at_an_end = lambda value: value * 10 + lax.fori_loop(0, 9, lambda k, t: t + data[k % n], 0)  # noqa: E731
    value = lax.cond((group == 0) | (group == groups - 1), at_an_end, lambda value: value + 1, value)
    value = lax.cond(data[(group * 8) % n] > 90, lambda value: -value, lambda value: value, value)
    return out.at[i].set(value, where=i < n)


def expected_of_neighbours(data):
    padded = np.pad(data, 2)
    return data + padded[1:-3] + padded[4:]


def expected_of_branches(data, groups):
    n, group = data.size, np.arange(data.size) // 8
    ends = (group == 0) | (group == groups - 1)
    value = np.where(ends, data * 10 + sum(data[k % n] for k in range(9)), data + 1)
    return np.where(data[group * 8 % n] > 90, -value, value).astype(np.int32)


def launches_of(kernel, nd_range, arguments, **static):
    for memory_bytes in (None, 1, 300, 5000):
        yield xe.launch(kernel, nd_range, memory_bytes=memory_bytes)(*arguments, **static)
    yield xe.launch(kernel, nd_range, donate=True)(*arguments, **static)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("one",))
    yield xe.launch(kernel, nd_range, memory_bytes=300, mesh=mesh)(*arguments, **static)
    yield launches.run(on_a_gpu(kernel, nd_range, arguments, static), arguments)[0]


@pytest.mark.every(3)
@pytest.mark.parametrize("n", SIZES)
def test_results_at_both_ends(n):
    data = np.random.default_rng(n).integers(0, 100, n, dtype=np.int32)
    groups = -(-n // 8)
    for got in launches_of(neighbours, xe.NDRange(8 * groups, 8), (data, np.zeros_like(data))):
        np.testing.assert_array_equal(got, expected_of_neighbours(data))
    for got in launches_of(branching, xe.NDRange(8 * groups, 8), (data, np.zeros_like(data)), groups=groups):
        np.testing.assert_array_equal(got, expected_of_branches(data, groups))


@xe.kernel
def rows(wg, data, out):
    """The linear group id of a row of groups, and the rows above and below."""
    (i, j), (n, m) = (wg.global_id(0), wg.global_id(1)), data.shape
    total = data.load((i, j), where=(i < n) & (j < m))
    for step in (-1, 1):
        total = total + data.load((i + step, j), where=(i + step >= 0) & (i + step < n) & (j < m))
    total = total + wg.group_id(0) * 1000 + (wg.group_linear_id() + 1) % 7 * 10_000
    return out.at[i, j].set(total, where=(i < n) & (j < m))


@pytest.mark.every(4)
@pytest.mark.parametrize("memory_bytes", [None, 1, 2000, 20_000])
@pytest.mark.parametrize("shape", [(40, 24), (37, 21), (4, 24), (8, 3)])
def test_rows_of_groups_at_both_ends(shape, memory_bytes):
    data = np.random.default_rng(1).integers(0, 100, shape, dtype=np.int32)
    global_size = (-(-shape[0] // 4) * 4, -(-shape[1] // 8) * 8)
    group = np.add.outer(np.arange(shape[0]) // 4 * (global_size[1] // 8), np.arange(shape[1]) // 8)
    padded = np.pad(data, ((1, 1), (0, 0)))
    expected = data + padded[:-2] + padded[2:] + np.arange(shape[0])[:, None] // 4 * 1000 + (group + 1) % 7 * 10_000
    launch = xe.launch(rows, xe.NDRange(global_size, (4, 8)), memory_bytes=memory_bytes)
    np.testing.assert_array_equal(launch(data, np.zeros_like(data)), expected)


@xe.kernel
def nothing(wg, out):
    value = lax.cond(wg.group_id(0) == 0, lambda value: value + 1, lambda value: value * 2, wg.global_id(0))
    return out.at[wg.global_id(0)].set(value)


@pytest.mark.parametrize("size", [(64, 0), (0, 64)])
def test_ranges_without_work_items(size):
    out = np.arange(64, dtype=np.int32)
    for got in launches_of(nothing, xe.NDRange(size, (8, 8)), (out,)):
        np.testing.assert_array_equal(got, out)


def left(task):
    return analysis.undecided(task.facts)


def test_nothing_is_left_to_decide_between_the_ends():
    data = np.zeros(2**20, np.int32)
    ready = launches.prepared(neighbours, xe.NDRange(2**20, 64), (data, data))
    cut = ready.cut
    assert cut.first == cut.remainder > 0
    assert cut.full * cut.chunk + 2 * cut.remainder == 2**14
    assert left(ready.analysed.task) > 0
    assert left(ready.cut.inner.task) == 0


def test_over_a_mesh_the_ends_are_a_chunk_each():
    data, mesh = np.arange(2**17, dtype=np.int32), jax.make_mesh((1,), ("groups",))
    options, described = Options(1 << 16, False, False, "cpu", mesh), (ArgumentType.of(data),) * 2
    cut = prepare(neighbours, xe.NDRange(2**17, 64), xe.device("h200"), described, (), options).cut
    assert cut.first == cut.remainder == cut.chunk > 0
    assert cut.chunks * cut.chunk == 2**11
    (one,), (expected,) = (
        jax.tree.leaves(xe.launch(neighbours, xe.NDRange(2**17, 64), mesh=m, memory_bytes=1 << 16)(data, data))
        for m in (mesh, None)
    )
    np.testing.assert_array_equal(one, expected)


def test_a_gpu_branches_for_the_groups_at_the_ends_only():
    """It would carry out both branches for all groups; those that data decides stay for all."""
    data, groups = np.zeros(2**16, np.int32), 2**13
    ready = on_a_gpu(branching, xe.NDRange(2**16, 8), (data, data), {"groups": groups})
    assert (ready.cut.inner.first, ready.cut.inner.count) == (1, groups - 2)
    branches = 2
    assert left(ready.analysed.task) - left(ready.cut.inner.task) == branches
    text = jax.jit(ready.emit).lower(data, data).as_text()
    assert f"tensor<{groups}x8xi32>" not in text
    assert f"tensor<{groups - 2}x8xi32>" in text


@xe.kernel
def waiting(wg, data, flags, out):
    """Each group waits for the one before it, and looks at both neighbours of its elements."""
    i, group, n = wg.global_id(), wg.group_id(), data.shape[0]
    total = data[i] + data.load(i - 1, where=i > 0) + data.load(i + 1, where=i < n - 1)
    before = lambda flags: flags.load(group - 1, where=group > 0, other=1)  # noqa: E731
    turns = lax.while_loop(lambda turns: (turns == 0) & (before(flags) == 0), lambda turns: turns + 1, group * 0)
    return flags.at[group].set(1 + turns), out.at[i].set(total)


def test_groups_that_may_wait_for_others_stay_in_order():
    data = np.arange(2**15, dtype=np.int32)
    arguments = data, np.zeros(2**12, np.int32), np.zeros_like(data)
    ready = launches.prepared(waiting, xe.NDRange(2**15, 8), arguments, memory_bytes=20_000)
    assert 1 < ready.cut.chunk < 2**12
    assert ready.cut.inner is None or not ready.cut.inner.first


@given(st.integers(3, 5000), st.data())
def test_chunks_of_rows_leave_as_many_at_both_ends(count, data):
    most = data.draw(st.integers(1, count - 2))
    size, ends = chunking._between(count, most)
    between = count - 2 * ends
    assert between > 0 < ends <= max(size, 1) + 1
    assert between % size == 0
    assert max(most // 2 - 1, 0) < size <= most


ROOM = 4 * 256
"""Bytes of an integer of each work-item."""


@xe.kernel
def busy_at_an_end(wg, data, out):
    """The first and the last group keep much for each work-item, the others one sum."""
    i, group = wg.global_id(), wg.group_id()

    def at_an_end():
        kept = [data[i] // (k + 1) for k in range(8)]
        return sum((x * x for x in kept), start=jnp.zeros(wg.size, jnp.int32))

    def inside():
        return lax.fori_loop(0, 9, lambda k, total: total + data[i - 4 + k] * k, jnp.zeros(wg.size, jnp.int32))

    return out.at[i].set(lax.cond((group == 0) | (group == wg.group_range() - 1), at_an_end, inside))


@pytest.mark.thorough
def test_chunks_between_the_ends_are_as_large_as_what_is_left_of_the_kernel_allows():
    arguments = [np.arange(2**20, dtype=np.int32), np.zeros(2**20, np.int32)]
    ready = launches.prepared(busy_at_an_end, xe.NDRange(2**20, 256), arguments)
    evenly = chunking.evenly(ready.analysed, ready.options, 1)
    assert ready.cut.first
    assert ready.cut.chunk > 1.4 * evenly.chunk
    inner = ready.cut.inner.task
    assert ready.cut.chunk * working_set.group_bytes(inner.facts, 1) <= ready.options.chunk_bytes
    data = arguments[0].astype(np.int64)
    expected = sum(np.pad(data, 4)[k : k + data.size] * k for k in range(9))
    expected[:256] = sum((data[:256] // (k + 1)) ** 2 for k in range(8))
    expected[-256:] = sum((data[-256:] // (k + 1)) ** 2 for k in range(8))
    np.testing.assert_array_equal(launches.run(ready, arguments)[0], expected.astype(np.int32))


def test_what_fuses_takes_no_room():
    @xe.kernel
    def several(wg, data, out, *, uses):
        x = data[data[wg.global_id()] & 255]
        y = x * 3 + 1
        for _ in range(uses - 1):
            y = y ^ lax.cumsum(y)
        return out.at[wg.global_id()].set(y)

    arguments = [np.zeros(2**10, np.int32), np.zeros(2**10, np.int32)]
    ready = [launches.prepared(several, xe.NDRange(2**10, 256), arguments, {"uses": uses}) for uses in (1, 2)]
    once, twice = (working_set.group_bytes(r.facts, 1) for r in ready)
    # What is looked up counts, and so does what two operations use.
    assert (once, twice) == (2 * ROOM, 3 * ROOM)
