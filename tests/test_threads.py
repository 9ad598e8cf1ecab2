"""A launch that the cores of a CPU share gives the bits of one core, or is not shared."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from hosts import cpu_with, take
from jax import lax
from threaded import counts, on_a_cpu, three_cores

import xeemu as xe
from xeemu.devices import target
from xeemu.launching import cores, executables, threads
from xeemu.launching.launch import _launched

__all__ = ["counts", "cpu_with", "on_a_cpu", "target", "three_cores"]

BINS, ITEMS = 8, 16
RNG = np.random.default_rng(7)
X = RNG.integers(0, 2**31, 4096, dtype=np.int32)
BEFORE = RNG.integers(0, 2**31, BINS, dtype=np.int32)
SPREAD = xe.NDRange(X.size, ITEMS)
REFERENCES = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@xe.kernel
def updated(wg, x, out, *, op="add"):
    i = wg.global_id()
    return getattr(out.atomic[x[i] % BINS], op)(x[i])


@xe.kernel
def in_local_bins(wg, x, count, largest):
    """Two memories, each updated in its own way, by way of local memory."""
    lid, i = wg.local_id(), wg.global_id()
    bins = wg.local(BINS, jnp.int32)
    bins = wg.barrier(bins.atomic[lid].store(0, where=lid < BINS))
    bins = wg.barrier(bins.atomic[x[i] % BINS].add(1))
    count = count.atomic[lid].sub(bins.atomic[lid].load(where=lid < BINS), where=lid < BINS)
    return count, largest.atomic[x[i] % BINS].max(x[i])


@xe.kernel
def two_memories(wg, x, out):
    """One of them alone depends on the order, but the other one on what is found there."""
    i = wg.global_id()
    old, x = x.atomic[i % BINS].fetch_add(1)
    return x, out.atomic[old % BINS].add(1)


@xe.kernel
def old_values(wg, x, out):
    old, out = out.atomic[x[wg.global_id()] % BINS].fetch_add(1)
    return out.atomic[old % BINS].add(1)


@xe.kernel
def exchanged(wg, x, out):
    _, out = out.atomic[x[wg.global_id()] % BINS].exchange(1)
    return out


@xe.kernel
def added_and_kept_large(wg, x, out):
    i = wg.global_id()
    return out.atomic[x[i] % BINS].add(1).atomic[x[i] % BINS].max(3)


@xe.kernel
def stored(wg, x, out):
    return out.at[x[wg.global_id()] % BINS].set(1)


@xe.kernel
def told(wg, x, out):
    """One group leaves a message that others may find: no race, as all of it is atomic."""
    x = x.atomic[0].store(7, where=(wg.group_id() == 0) & (wg.local_id() == 0))
    return x, out.atomic[x.atomic[0].load() % BINS].max(wg.global_id())


@xe.kernel
def also_returned(wg, x, out):
    return x, out.atomic[x[wg.global_id()] % BINS].add(1)


@xe.kernel
def at_the_end(wg, x, out):
    """The last group does something else, so that it is emulated for itself."""
    i = wg.global_id()
    found = lax.cond(wg.group_id() == wg.group_range() - 1, lambda: x[X.size - 1 - i], lambda: x[i + 1])
    return out.atomic[found % BINS].add(1)


@xe.kernel
def rows_of_bins(wg, x, rows, *, turns):
    """Each group counts for itself, and doubles what was there; one element of a row stays as it is."""
    lid, gid = wg.local_id(), wg.group_id()
    bins = wg.local(BINS, jnp.int32)
    bins = wg.barrier(bins.atomic[lid].store(0, where=lid < BINS))

    def count(k, bins):
        return bins.atomic[x[(gid * turns + k) * wg.size + lid] % BINS].add(1)

    bins = wg.barrier(lax.fori_loop(0, turns, count, bins))
    own = lid < BINS - 1
    found = bins.load(lid, where=own).astype(rows.dtype) + 2 * rows.load((gid, lid), where=own)
    return rows.at[gid, lid].set(found, where=own)


@pytest.mark.parametrize("op", REFERENCES)
def test_updates_of_each_kind_are_put_together(op, counts):
    expected = BEFORE.copy()
    REFERENCES[op].at(expected, X % BINS, X)
    np.testing.assert_array_equal(xe.launch(updated, SPREAD)(X, BEFORE, op=op), expected)
    assert counts == [3]


def test_each_memory_is_put_together_in_its_own_way(counts):
    count, largest = xe.launch(in_local_bins, SPREAD)(X, BEFORE, BEFORE)
    np.testing.assert_array_equal(count, BEFORE - np.bincount(X % BINS, minlength=BINS))
    expected = BEFORE.copy()
    np.maximum.at(expected, X % BINS, X)
    np.testing.assert_array_equal(largest, expected)
    assert counts == [3]


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8", "float16"])
def test_stores_of_groups_that_keep_apart_are_put_together(dtype, counts):
    turns, groups = 64, 16
    x = RNG.integers(0, 1000, groups * turns * ITEMS, np.int32)
    rows = RNG.integers(0, 50, (groups, BINS)).astype(dtype)
    expected = 2 * rows
    for own, some in zip(expected, x.reshape(groups, -1), strict=True):
        own += np.bincount(some % BINS, minlength=BINS).astype(dtype)
    expected[:, -1] = rows[:, -1]
    if rows.dtype.kind == "f":
        expected[3, -1] = rows[3, -1] = np.nan
    result = xe.launch(rows_of_bins, xe.NDRange(groups * ITEMS, ITEMS))(x, rows, turns=turns)
    np.testing.assert_array_equal(result, expected)
    assert counts == [3]


def test_elements_of_64_bits_keep_them(counts):
    x, before = X.astype(np.int64) << 31, BEFORE.astype(np.int64) << 30
    expected = before.copy()
    np.add.at(expected, x % 7, x)

    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_id()
        return out.atomic[x[i] % 7].add(x[i])

    result = xe.launch(kernel, SPREAD)(x, before)
    assert result.dtype == np.int64
    np.testing.assert_array_equal(result, expected)
    assert counts == [3]


@pytest.mark.parametrize("groups", [3, 4, 7, 97])
def test_groups_that_are_left_are_carried_out_once(groups, counts, monkeypatch):
    take(monkeypatch, "threads", merged_ns=1e-9)
    x = X[: groups * ITEMS]
    result = xe.launch(updated, xe.NDRange(x.size, ITEMS))(x, BEFORE)
    expected = BEFORE.copy()
    np.add.at(expected, x % BINS, x)
    np.testing.assert_array_equal(result, expected)
    assert counts == [3]


def test_a_group_at_the_end_is_carried_out_once(counts):
    found = np.roll(X, -1)
    found[-ITEMS:] = X[:ITEMS][::-1]
    none, memory_bytes = np.zeros(BINS, np.int32), 1 << 14
    assert launches.prepared(at_the_end, SPREAD, [X, none], memory_bytes=memory_bytes).cut.inner is not None
    launch = xe.launch(at_the_end, SPREAD, memory_bytes=memory_bytes)
    np.testing.assert_array_equal(launch(X, none), np.bincount(found % BINS, minlength=BINS))
    assert counts[-1] == 3


@pytest.mark.parametrize("memory_bytes", [1, 4096, 1 << 16])
def test_threads_share_the_bound_of_memory(memory_bytes):
    ready = launches.prepared(updated, SPREAD, [X, BEFORE], {}, memory_bytes=memory_bytes)
    executable = executables.Executable(ready)
    np.testing.assert_array_equal(executable(X, BEFORE)[0], xe.launch(updated, SPREAD)(X, BEFORE))
    assert executable._working_bytes <= memory_bytes or executable.prepared.cut.least


@pytest.mark.parametrize(
    "kernel", [told, two_memories, old_values, exchanged, added_and_kept_large, stored, also_returned]
)
def test_what_may_depend_on_the_others_is_not_shared(kernel, counts, monkeypatch):
    take(monkeypatch, "threads", merged_ns=1e-9)
    jax.block_until_ready(xe.launch(kernel, SPREAD)(X, BEFORE))
    assert not counts


def test_floats_are_added_in_one_order(counts):
    x = X.astype(np.float32)

    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_id()
        return out.atomic[x[i].astype(jnp.int32) % BINS].add(x[i])

    jax.block_until_ready(xe.launch(kernel, SPREAD)(x, BEFORE.astype(np.float32)))
    assert not counts


def test_small_launches_are_not_shared(counts, monkeypatch):
    take(monkeypatch, "threads", thread_ns=1e6)
    jax.block_until_ready(xe.launch(updated, SPREAD)(X, BEFORE))
    assert not counts


def test_results_as_large_as_the_work_are_not_shared(counts):
    @xe.kernel
    def kernel(wg, x, out):
        return out.atomic[x[wg.global_id()] % out.shape[0]].add(1)

    jax.block_until_ready(xe.launch(kernel, SPREAD)(X, np.zeros(X.size // 16, np.int32)))
    assert not counts


@pytest.mark.parametrize("options", [{"donate": True}, {"mesh": True}, {"schedule": jax.random.key(0)}])
def test_other_launches_are_not_shared(options, counts):
    if "mesh" in options:
        options = {"mesh": jax.make_mesh((1,), ("groups",))}
    before = jnp.asarray(BEFORE)
    small = xe.NDRange(64, ITEMS)
    jax.block_until_ready(xe.launch(updated, small, **options)(jnp.asarray(X[:64]), before))
    assert not counts


def test_a_launch_that_is_part_of_a_jit_is_not_shared(counts):
    expected = xe.launch(updated, SPREAD)(X, BEFORE)
    assert counts == [3]
    np.testing.assert_array_equal(jax.jit(xe.launch(updated, SPREAD))(X, BEFORE), expected)
    assert counts == [3]


def test_a_launch_with_arrays_while_a_jit_is_traced_is_shared(counts):
    @jax.jit
    def beside(y):
        return y + jnp.asarray(xe.launch(updated, SPREAD)(X, BEFORE))

    result = beside(jnp.zeros(BINS, jnp.int32))
    assert counts == [3]
    np.testing.assert_array_equal(result, xe.launch(updated, SPREAD)(X, BEFORE))


@pytest.mark.parametrize("shared", [True, False])
def test_without_jit_it_gives_the_same(shared, monkeypatch):
    monkeypatch.setattr(cores, "count", lambda: 3 if shared else 1)
    small, x = xe.NDRange(512, ITEMS), X[:512]
    with jax.disable_jit():
        result = xe.launch(updated, small)(x, BEFORE)
    expected = BEFORE.copy()
    np.add.at(expected, x % BINS, x)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("guard", ["disallow", "disallow_explicit"])
def test_nothing_is_transferred_but_the_arguments(guard, counts):
    x, out = jnp.asarray(X), jnp.asarray(BEFORE)
    with jax.transfer_guard(guard):
        result = xe.launch(updated, SPREAD)(x, out)
    np.testing.assert_array_equal(result, xe.launch(updated, SPREAD)(X, BEFORE))
    assert counts == [3]


def printed(script, **environment):
    """What a script prints that has this module as `t`, and small launches shared by three threads."""
    begin = """
import sys
sys.path[:0] = sys.argv[1:]
import jax
import jax.numpy as jnp
import numpy as np
import test_threads as t
t.cores.count, t.target.TARGETS = lambda: 3, t.cpu_with("threads", thread_ns=1e-9)
launch = t.xe.launch(t.updated, t.SPREAD)
"""
    command = [sys.executable, "-c", begin + script, str(Path(__file__).parent), *sys.path]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.thorough
def test_launches_as_python_shuts_down():
    script = """
import atexit
expected = launch(t.X, t.BEFORE)
atexit.register(lambda: print(np.array_equal(expected, launch(t.X, t.BEFORE))))
"""
    assert printed(script) == "True\n"


def test_threads_run_where_the_arrays_are():
    """And it is known beforehand where that is."""
    script = """
from xeemu.launching.arguments import device_of
expected = np.asarray(launch(t.X, t.BEFORE))
first, *_, last = jax.devices()
def ran(device, *given):
    foreseen, result = device_of(given), launch(*given)
    print(np.array_equal(result, expected), foreseen == device, result.devices() == {device})
with jax.default_device(last):
    uncommitted = jnp.asarray(t.X), jnp.asarray(t.BEFORE)
    ran(last, t.X, t.BEFORE)
    ran(last, *uncommitted)
with jax.default_device("cpu"):
    ran(first, t.X, t.BEFORE)
committed = jax.device_put((t.X, t.BEFORE), last)
ran(first, t.X, t.BEFORE)
ran(first, *uncommitted)
ran(last, *committed)
ran(last, t.X, committed[1])
"""
    assert (
        printed(script, XLA_FLAGS="--xla_force_host_platform_device_count=3", JAX_PLATFORMS="cpu")
        == 7 * "True True True\n"
    )


@pytest.mark.thorough
def test_arguments_on_several_devices_are_not_for_threads():
    script = """
mesh = jax.make_mesh((3,), ("a",))
everywhere = jax.device_put(t.X, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec()))
expected = launch(t.X, t.BEFORE)
print(np.array_equal(launch(everywhere, t.BEFORE), expected), np.array_equal(launch(t.X, t.BEFORE), expected))
"""
    assert printed(script, XLA_FLAGS="--xla_force_host_platform_device_count=3", JAX_PLATFORMS="cpu") == "True True\n"


def test_launches_that_follow_each_other_do_so():
    """Nobody waits for a launch, and each one takes what the one before gives."""
    launch, out = xe.launch(updated, SPREAD), jnp.asarray(BEFORE)
    for _ in range(20):
        out = launch(X, out)
    expected = BEFORE + 20 * (np.asarray(launch(X, BEFORE)) - BEFORE)
    np.testing.assert_array_equal(out, expected)


def test_arrays_of_numpy_and_of_jax_share_one_compilation(monkeypatch):
    compiled, call = [], threads.Threaded._program
    monkeypatch.setattr(
        threads.Threaded, "_program", lambda self, given: compiled.append(call(self, given)) or compiled[-1]
    )
    launch = xe.launch(updated, SPREAD)
    jax.block_until_ready([launch(X, BEFORE), launch(jnp.asarray(X), jnp.asarray(BEFORE)), launch(X, BEFORE)])
    assert len(compiled) == 4  # the first one is asked what it takes, too
    assert len({id(program) for program in compiled}) == 1


def test_scalars_are_given_to_all(counts):
    @xe.kernel
    def kernel(wg, x, out, step):
        return out.atomic[x[wg.global_id()] % BINS].add(step)

    result = xe.launch(kernel, SPREAD)(X, np.zeros(BINS, np.int32), 5)
    np.testing.assert_array_equal(result, 5 * np.bincount(X % BINS, minlength=BINS))
    assert counts == [3]


def test_an_unshared_launch_gives_the_same(monkeypatch):
    shared = xe.launch(in_local_bins, SPREAD)(X, BEFORE, BEFORE)
    monkeypatch.setattr(cores, "count", lambda: 1)
    for cached in (_launched, executables.executable):
        cached.cache_clear()
    for own, other in zip(shared, xe.launch(in_local_bins, SPREAD)(X, BEFORE, BEFORE), strict=True):
        np.testing.assert_array_equal(own, other)
