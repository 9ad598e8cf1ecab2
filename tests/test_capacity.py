"""Memory: what a launch takes beside its arguments and results, and the refusal of what cannot fit."""

import dataclasses
import re
import resource

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from launches import prepared
from threaded import on_a_cpu

import xeemu as xe
from xeemu.devices import target
from xeemu.kernels import EXAMPLES
from xeemu.launching import capacity, cores, executables
from xeemu.launching.arguments import ArgumentType
from xeemu.launching.executables import Executable
from xeemu.launching.options import Options
from xeemu.launching.preparation import prepare
from xeemu.planning import straight_programs

__all__ = ["on_a_cpu"]  # figures and messages are those of a CPU, wherever the tests run

RANGE = xe.NDRange(4096, 64)
X, Y = np.arange(4096, dtype=np.int32), np.zeros(4096, np.int32)  # 16384 bytes each


@xe.kernel
def scale(wg, x, y):
    i = wg.global_id()
    return y.at[i].set(2 * x[i])


@xe.kernel
def gather(wg, x, y):
    """Needs an array of indices in each chunk, and is not proved to be in bounds."""
    i = wg.global_id()
    return y.at[x[i]].set(x[4095 - i])


@pytest.fixture
def available(monkeypatch):
    """Sets the memory that there is, and lets small launches be looked at."""

    def set_to(available_bytes):
        monkeypatch.setattr(target, "TARGETS", {"cpu": dataclasses.replace(target.CPU, unasked_bytes=0)})
        monkeypatch.setattr(capacity, "available_bytes", lambda device: available_bytes)

    return set_to


# --- What is refused ---


def refused(call):
    with pytest.raises(xe.MemoryAllocationError) as error:
        call()
    assert error.value.code == "memory_allocation"
    return str(error.value)


def test_a_launch_that_cannot_fit_is_refused_with_the_numbers(available):
    available(30_000)
    assert refused(lambda: xe.launch(scale, RANGE, memory_bytes=4096)(X, Y)) == (
        "the launch takes 53248 bytes of memory, and 30000 bytes are available on this machine: 32768 bytes for "
        "arguments that are not there yet, 16384 bytes for results, 4096 bytes to work with. Launch a part of the work "
        "at a time, on the part of the arrays that it needs; donate=True lets results take the place of arguments that "
        "may be lost; memory_bytes= bounds what is there to work with"
    )


def test_arguments_that_are_there_take_no_memory(available):
    available(25_000)
    x, y = jnp.asarray(X), jnp.asarray(Y)
    np.testing.assert_array_equal(xe.launch(scale, RANGE, memory_bytes=4096)(x, y), 2 * X)
    refused(lambda: xe.launch(scale, RANGE, memory_bytes=4096)(X, y))


def test_donated_arguments_make_room_for_results(available):
    x, y = jnp.asarray(X), jnp.asarray(Y)
    available(8192)
    refused(lambda: xe.launch(scale, RANGE, memory_bytes=4096)(x, y))
    np.testing.assert_array_equal(xe.launch(scale, RANGE, memory_bytes=4096, donate=True)(x, y), 2 * X)
    assert "donate=True" not in refused(lambda: xe.launch(scale, RANGE, memory_bytes=4096, donate=True)(X, Y))


def test_it_is_looked_at_in_every_launch(available):
    launch = xe.launch(scale, RANGE, memory_bytes=2048)
    available(None)
    np.testing.assert_array_equal(launch(X, Y), 2 * X)
    available(10)
    refused(lambda: launch(X, Y))
    available(1 << 20)
    np.testing.assert_array_equal(launch(X, Y), 2 * X)


def test_nothing_is_compiled_for_what_is_refused(available, monkeypatch):
    monkeypatch.setattr(capacity.Measured, "working_bytes", lambda *_: pytest.fail("was compiled"))
    available(10)
    for transformation in (xe.launch, xe.profile):
        refused(lambda t=transformation: t(gather, xe.NDRange(4096, 32))(X, Y))


@pytest.mark.thorough
def test_a_check_counts_what_its_observers_keep(available):
    """A shadow of the results, four times as large, that goes in and comes out of the chunks, once there is doubt."""
    available(100_000)
    xe.launch(gather, RANGE, memory_bytes=1)(X, Y)
    xe.check(gather, RANGE)(X, Y)
    message = refused(lambda: xe.check(gather, RANGE)(X // 2, Y))
    kept = int(re.search(r"(\d+) bytes to work with", message)[1])
    assert kept > 8 * Y.nbytes
    available(None)
    xe.check(gather, RANGE)(X, Y)


def test_small_launches_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(capacity, "available_bytes", lambda device: pytest.fail("was asked"))
    np.testing.assert_array_equal(xe.launch(scale, RANGE)(X, Y), 2 * X)


def test_devices_that_share_a_memory_take_as_much_each(available):
    (device, *_) = jax.local_devices(backend="cpu")
    mesh = jax.make_mesh((1,), ("groups",), devices=[device])
    available(1 << 20)
    np.testing.assert_array_equal(xe.launch(scale, RANGE, mesh=mesh)(X, Y), 2 * X)
    available(40_000)
    assert "Each device has the arguments and the results as a whole" in refused(
        lambda: xe.launch(scale, RANGE, mesh=mesh)(X, Y)
    )
    need = capacity.Need(6 << 30, 3 << 20, 5)
    available(12 << 30)
    capacity.check(need, device, "Stop")
    assert refused(lambda: capacity.check(need, device, "Stop", copies=2)) == (
        "the launch takes 12.01 GiB of memory, and 12.00 GiB are available on this machine: 6.00 GiB for arguments "
        "that are not there yet, 3.00 MiB for results, 5 bytes to work with on each of 2 devices that share it. Stop"
    )


# --- What there is ---

MEMINFO = "MemTotal:       2000 kB\nMemAvailable:   1000 kB\nHugePages_Free: 0\nSwapFree:  24 kB\n"


@pytest.fixture
def system(tmp_path):
    """Writes files of a system and gives the memory that it leaves."""

    def left(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return capacity.host_bytes(tmp_path / "proc", tmp_path / "groups")

    return left


def test_the_memory_of_a_system_without_control_groups(system):
    assert system({}) is None
    assert system({"proc/meminfo": MEMINFO}) == 1024 * 1024


@pytest.mark.parametrize(
    ("line", "folder", "limit", "usage", "file_pages"),
    [
        ("0::/a/b", "groups/", "memory.max", "memory.current", "inactive_file 100\nother 5"),
        (
            "4:memory:/a/b",
            "groups/memory/",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file 100",
        ),
    ],
    ids=["v2", "v1"],
)
def test_the_least_that_a_control_group_leaves(system, line, folder, limit, usage, file_pages):
    files = {"proc/meminfo": MEMINFO, "proc/self/cgroup": f"2:cpu:/\n{line}\n", f"{folder}a/memory.stat": file_pages}
    files |= {f"{folder}a/{limit}": "9000\n", f"{folder}a/{usage}": "2000\n"}
    assert system(files) == 9000 - 2000 + 100
    assert (
        system({f"{folder}a/b/{limit}": "max" if "max" in limit else str(2**62), f"{folder}a/b/{usage}": "7"}) == 7100
    )
    assert system({f"{folder}{limit}": "3000", f"{folder}{usage}": "2999"}) == 1
    assert system({f"{folder}{usage}": "3001"}) == 0


def test_this_machine_has_memory():
    there = capacity.available_bytes(jax.devices()[0])
    assert there is None or there > 0


# --- The working set ---


def compiled_bytes(kernel, nd_range, arguments, static, memory_bytes):
    """What the compiler takes for a launch that fits, and the groups at a time; nothing is run."""
    options = Options(memory_bytes, False, False, "cpu")
    described = tuple(map(ArgumentType.of, arguments))
    ready = prepare(kernel, nd_range, xe.device("max1550"), described, kernel.bind_static(static), options)
    executable = Executable(ready)
    with jax.enable_x64(ready.program.wide):
        return executable._fit(arguments), executable.prepared.cut.chunk


@pytest.mark.every(4)
@pytest.mark.parametrize("count", [2, 16])
@pytest.mark.parametrize("memory_bytes", [None, 1 << 18])
@pytest.mark.parametrize("name", ["histogram_slm_1024", "matmul_tiled", "tree_reduction", "table_copy_bad"])
def test_the_working_set_keeps_to_its_bound(name, memory_bytes, count, monkeypatch):
    """Of the first two the compiler takes up to five times what is analysed; each thread takes a group at least."""
    monkeypatch.setattr(cores, "count", lambda: count)
    example = EXAMPLES[name]
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) if x.ndim else x for x in example.inputs(example.size)]
    nd_range = example.nd_range(example.size)
    taken_bytes, chunk = compiled_bytes(example.kernel, nd_range, shapes, example.static, memory_bytes)
    assert taken_bytes <= (memory_bytes or 16 << 20)
    assert chunk > 1


def test_a_single_group_is_the_least():
    shapes = [jax.ShapeDtypeStruct(X.shape, X.dtype)] * 2
    taken_bytes, chunk = compiled_bytes(gather, RANGE, shapes, {}, 1)
    assert chunk == 1
    assert 1 < taken_bytes < 8192


def test_a_chunk_that_is_made_smaller_gives_the_same(monkeypatch):
    found = []
    fit = Executable._fit
    monkeypatch.setattr(Executable, "_fit", lambda self, given: found.append(self) or fit(self, given))
    x = np.random.default_rng(0).permutation(4096).astype(np.int32)
    expected = np.zeros_like(x)
    expected[x] = x[::-1]
    launch = xe.launch(gather, RANGE, memory_bytes=4097)
    np.testing.assert_array_equal(launch(x, Y), expected)
    first = prepared(gather, RANGE, [x, Y], device="max1550", memory_bytes=4097)
    assert found[0].prepared.cut.chunk < first.cut.chunk
    np.testing.assert_array_equal(launch(x, Y), expected)
    assert len(found) == 1


def test_local_memory_of_a_chunk_is_indexed_by_32_bits():
    """A bound beyond them, so that its arithmetic alone would let more groups in."""

    @xe.kernel
    def kernel(wg, x):
        tile = wg.local(1 << 14, jnp.uint8).at[wg.local_id()].set(1)
        return x.at[wg.group_id()].set(tile[x[wg.group_id()].astype(jnp.int32)])

    groups = 1 << 20
    shapes = [jax.ShapeDtypeStruct((groups,), np.uint8)]
    ready = prepared(kernel, xe.NDRange(groups, 1), shapes, memory_bytes=1 << 40)
    assert ready.cut.chunk << 14 < 2**31 <= 4 * (ready.cut.chunk << 14)


# --- Launches as a whole ---

MANY = 1 << 20


@xe.kernel
def reversed_in_groups(wg, x, y):
    """Values that all fuse: what is loaded from local memory is what was stored."""
    i, lid, last = wg.global_id(), wg.local_id(), wg.size - 1
    tile = wg.barrier(wg.local(wg.size, jnp.int32).at[lid].set(3 * x[i]))
    return y.at[i].set(tile[last - lid])


@xe.kernel
def looping(wg, x, y):
    i = wg.global_id()
    return y.at[i].set(jax.lax.fori_loop(0, 5, lambda k, v: v * x[i] + k, x[i]))


@xe.kernel
def fetching(wg, x, y):
    old, y = y.atomic[wg.global_id()].fetch_add(1)
    return x.at[wg.global_id()].set(old), y


@xe.kernel
def beyond(wg, x, y):
    """Windows that only the first and the last chunk have out of bounds."""
    i = wg.global_id()
    return y.at[i].set(x.load(i - 1, where=i > 0) + x.load(i + 1, where=i < MANY - 1))


@pytest.mark.parametrize(
    ("kernel", "memory_bytes", "whole"),
    [
        (scale, None, True),
        (reversed_in_groups, None, True),
        (scale, 1 << 20, False),
        (gather, None, False),
        (looping, None, False),
        (fetching, None, False),
        (beyond, None, False),
    ],
)
def test_a_launch_whose_values_fuse_needs_no_chunks(kernel, memory_bytes, whole):
    shapes = [jax.ShapeDtypeStruct((MANY,), np.int32)] * 2
    taken_bytes, chunk = compiled_bytes(kernel, xe.NDRange(MANY, 64), shapes, {}, memory_bytes)
    assert (chunk == MANY // 64) == whole
    assert taken_bytes <= (memory_bytes or (2 if whole else 16) << 20)


def normalised(value):
    @xe.kernel
    def kernel(wg, x, y):
        i = wg.global_id()
        return y.at[i].set(value(wg, x[i]))

    return kernel


@pytest.mark.parametrize(
    ("value", "straight"),
    [
        (lambda wg, v: jnp.exp(v) / wg.reduce(jnp.exp(v), "add"), False),
        (lambda wg, v: jnp.where(wg.reduce(jnp.sqrt(v), "max") > 2, jnp.sqrt(v), v), False),
        (lambda wg, v: v / wg.reduce(jnp.exp(v), "add"), True),
        (lambda wg, v: (v - wg.reduce(v, "max")) * wg.reduce(v - wg.reduce(v, "max"), "add"), True),
        (lambda wg, v: jnp.exp(v) + 1 / jnp.exp(v), True),
    ],
    ids=["softmax", "a choice", "a sum alone", "differences", "no algorithm"],
)
def test_what_takes_long_and_is_used_after_an_algorithm_too_does_not_fuse(value, straight):
    """It is not compiled as a whole then, only to see that it takes as much as its arrays."""
    x = np.ones(MANY, np.float32)
    ready = prepared(normalised(value), xe.NDRange(MANY, 64), (x, x))
    assert straight_programs.is_straight(ready.analysed.task.facts) == straight


def test_what_many_others_are_moved_sums_of_does_not_fuse():
    """Each sum is needed at two places, so that the first is at two for each way to go through the others."""
    x = np.ones(MANY, np.int32)
    for distances, kept in (((1, 2, 4), 0), ((1, 2, 4, 8, 16, 32), 1)):

        def prefix_sums(wg, v, distances=distances):
            for distance in distances:
                v = v + jnp.pad(v[:-distance], (distance, 0))
            return v

        ready = prepared(normalised(prefix_sums), xe.NDRange(MANY, 64), (x, x))
        assert straight_programs.is_straight(ready.analysed.task.facts)
        assert straight_programs.materialised_bytes(ready.analysed.task.facts) == kept * 64 * 4
        assert (executables._single_chunk(ready) is None) == bool(kept)


def test_a_tree_of_sums_keeps_those_of_a_level_and_no_more_memory():
    """The compiler's own figure: sums of pairs, eight times, are needed at 16 places each on one level."""

    @xe.kernel
    def tree(wg, x, y):
        v = x[wg.global_id()]
        while v.shape[0] > 1:
            v = v[::2] + v[1::2]
        return y.at[wg.group_id()].set(v[0])

    shapes = [jax.ShapeDtypeStruct((MANY,), np.int32), jax.ShapeDtypeStruct((MANY // 256,), np.int32)]
    ready = prepared(tree, xe.NDRange(MANY, 256), shapes)
    kept = straight_programs.materialised_bytes(ready.analysed.task.facts)
    assert kept == 16 * 4
    taken_bytes, chunk = compiled_bytes(tree, xe.NDRange(MANY, 256), shapes, {}, None)
    assert chunk == MANY // 256
    assert kept * chunk <= taken_bytes <= kept * chunk + 1024


@pytest.mark.thorough
def test_a_launch_as_a_whole_gives_the_same():
    x = np.random.default_rng(0).integers(2**20, size=MANY, dtype=np.int32)
    given = (reversed_in_groups, xe.NDRange(MANY, 64))
    expected = 3 * x.reshape(-1, 64)[:, ::-1].reshape(-1)
    for memory_bytes in (None, 1 << 16):
        np.testing.assert_array_equal(xe.launch(*given, memory_bytes=memory_bytes)(x, np.zeros_like(x)), expected)


def test_a_launch_beyond_the_bound_is_cut_in_chunks_whatever_it_is():
    shapes = [jax.ShapeDtypeStruct((1 << 28,), np.int32)] * 2
    taken_bytes, chunk = compiled_bytes(scale, xe.NDRange(1 << 28, 64), shapes, {}, None)
    assert chunk < 1 << 22
    assert taken_bytes <= 16 << 20


def test_the_limits_of_the_process(system, monkeypatch):
    limits = {resource.RLIMIT_AS: resource.RLIM_INFINITY, resource.RLIMIT_DATA: 700 * 1024}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limits[which], resource.RLIM_INFINITY))
    status = {"proc/meminfo": MEMINFO, "proc/self/status": "Name:\tpython\nVmSize:\t900 kB\nVmData:\t300 kB\n"}
    assert system(status) == 400 * 1024
    limits[resource.RLIMIT_AS] = 1000 * 1024
    assert system(status) == 100 * 1024


@pytest.mark.parametrize("error", [ValueError, MemoryError, jax.errors.JaxRuntimeError])
def test_an_allocation_that_fails_all_the_same_is_a_refusal(error):
    said = "did not get the memory that it takes: Out of memory alloc"
    assert error in capacity.ALLOCATION_ERRORS
    with pytest.raises(xe.MemoryAllocationError, match=said):
        capacity.refuse_failed(error("RESOURCE_EXHAUSTED: Out of memory allocating 4096 bytes."))


def test_other_errors_are_left_to_the_caller():
    capacity.refuse_failed(ValueError("another"))


def test_an_array_that_is_given_as_a_shape_and_cannot_fit_is_refused_before_it_is_made():
    shape = jax.ShapeDtypeStruct((1 << 40,), np.int32)
    for transformation in (xe.launch, xe.check, xe.profile):
        with pytest.raises(xe.MemoryAllocationError, match=r"takes 4096\.00 GiB of memory, and .* on this machine"):
            transformation(gather, RANGE)(X, shape)
