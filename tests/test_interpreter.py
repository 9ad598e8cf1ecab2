"""What a launch is compiled to: nothing that nobody asked for, and no copies of memories."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.kernels import EXAMPLES
from xeemu.language.memory import poison
from xeemu.launching import preparation
from xeemu.launching.arguments import ArgumentType
from xeemu.launching.options import Options

SMALL = {
    "convolution_global": (1 << 20, 257),
    "convolution_slm": (1 << 20, 257),
    "histogram_private": (1 << 18,),
    "histogram_registers": (1 << 18,),
    "histogram_slm": (1 << 18,),
    "histogram_slm_1024": (1 << 18,),
    "matmul_tiled": (64, 64, 64),
    "tree_reduction": (1 << 14,),
    "tree_reduction_sequential": (1 << 14,),
}


def prepared(kernel: xe.Kernel, nd_range: xe.NDRange, *arguments: Any, memory_bytes: int | None = None, **static: Any):
    options = Options(memory_bytes, False, True, "cpu")
    descriptions = tuple(map(ArgumentType.of, arguments))
    return preparation.prepare(
        kernel, nd_range, xe.device("max1550"), descriptions, kernel.bind_static(static), options
    )


def compiled(launch: Any, *arguments: Any) -> Any:
    with jax.enable_x64(launch.program.wide):
        return launch.compiled.lower(*arguments).compile()


def copies(hlo: str) -> list[int]:
    """The elements of each copy in compiled code. One inside a fusion is a step of its loop, and copies no array."""
    found, fused = [], False
    for line in hlo.splitlines():
        if head := re.match(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$", line):
            fused = head.group(1).startswith(("fused", "wrapped"))
        elif not fused and (copy := re.search(r"= \w+\[([\d,]*)\]\S* copy\(", line)):
            found.append(int(np.prod([int(n) for n in copy.group(1).split(",") if n])))
    return found


def copied_memories(launch: Any, *arguments: Any) -> list[int]:
    """The copies as large as some memory of the launch is for a chunk, if the launch has the room for one.

    What XLA calls a copy of a memory seen in another shape needs none: it is the memory itself.
    """
    program, sizes = launch.program, {a.size: a.nbytes for a in arguments if np.ndim(a)}
    for memory in program.allocations:
        copies_ = launch.cut.chunk * (program.geometry.items if memory.space == "private" else 1)
        sizes[memory.elements * copies_] = 0
    ready = compiled(launch, *arguments)
    room = ready.memory_analysis().temp_size_in_bytes
    return [n for n in copies(ready.as_text()) if n > 1 and sizes.get(n, room + 1) <= room]


class TestCopies:
    @pytest.mark.every(4)
    @pytest.mark.parametrize("name", EXAMPLES)
    def test_no_memory_is_copied_but_for_its_first_contents(self, name):
        """Each chunk begins with a fresh copy of the poison for each local memory; nothing else is copied.

        But for the bins that the histogram in registers updates all at once: XLA has their sums in another place.
        """
        example = EXAMPLES[name]
        inputs = example.inputs(SMALL.get(name, example.size))
        nd_range = example.nd_range(SMALL.get(name, example.size))
        launch = prepared(example.kernel, nd_range, *inputs, **example.static)
        # Beside the copies proper: the one that the rest after the last full chunk makes.
        parts = 2 if launch.program.geometry.groups % launch.cut.chunk else 1
        at_once = [256] if name == "histogram_registers" else []
        found = copied_memories(launch, *inputs)
        assert found == at_once or len(found) <= parts * len(launch.program.allocations)

    def test_a_loaded_value_that_outlives_the_update_makes_no_copy(self):
        @xe.kernel
        def swap(wg, data, old):
            i = wg.global_id()
            x = data[i ^ 1]
            data = data.at[i].set(0)
            return data, old.at[i].set(x)

        n = 1 << 16
        arguments = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        launch = prepared(swap, xe.NDRange(n, 64), *arguments, memory_bytes=1 << 14)
        assert launch.cut.chunk < n // 64
        assert copied_memories(launch, *arguments) == []


def loops(jaxpr: Any) -> list[Any]:
    """The scan equations of a jaxpr, outermost first, also those inside others."""
    found = []
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "scan":
            found.append(eqn)
        for value in eqn.params.values():
            if hasattr(value, "jaxpr"):
                found += loops(value.jaxpr)
    return found


class TestNothingExtra:
    def test_a_launch_carries_its_memories_and_nothing_else(self):
        example = EXAMPLES["histogram_slm"]
        inputs = example.inputs((1 << 20,))
        launch = prepared(example.kernel, example.nd_range((1 << 20,)), *inputs, memory_bytes=1 << 14, **example.static)
        with jax.enable_x64(launch.program.wide):
            jaxpr = jax.make_jaxpr(launch.emit)(*inputs).jaxpr
        chunks, words = loops(jaxpr)
        # The counter and the histogram of the launch; the counter and the bins of the groups.
        assert [v.aval.shape for v in chunks.outvars] == [(), (256,)]
        assert [v.aval.shape for v in words.outvars] == [(), (launch.cut.chunk, 256)]

    def test_consecutive_accesses_are_slices(self):
        @xe.kernel
        def copy(wg, source, target):
            i = wg.global_id()
            return target.at[i].set(source[i])

        n = 1 << 12
        arguments = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        launch = prepared(copy, xe.NDRange(n, 64), *arguments)
        names = {e.primitive.name for e in jax.make_jaxpr(launch.emit)(*arguments).jaxpr.eqns}
        assert {"dynamic_slice", "dynamic_update_slice"} <= names
        assert not names & {"gather", "scatter"}

    def test_a_uniform_value_is_computed_once_for_all_groups(self):
        @xe.kernel
        def scale(wg, x, factor):
            i = wg.global_id()
            s = jnp.exp(factor)
            return x.at[i].set(x[i] * s)

        x = np.ones(256, np.float32)
        launch = prepared(scale, xe.NDRange(256, 64), x, np.float32(2))
        exps = [e for e in jax.make_jaxpr(launch.emit)(x, np.float32(2)).jaxpr.eqns if e.primitive.name == "exp"]
        assert [e.outvars[0].aval.shape for e in exps] == [()]

    def test_a_static_mask_touches_its_own_work_items_alone(self):
        @xe.kernel
        def first(wg, x, sums):
            total = wg.reduce(x[wg.global_id()], "add")
            return sums.at[wg.group_id()].set(total, where=wg.local_id() == 0)

        x, sums = np.arange(1024, dtype=np.int32), np.zeros(16, np.int32)
        launch = prepared(first, xe.NDRange(1024, 64), x, sums)
        names = [e.primitive.name for e in jax.make_jaxpr(launch.emit)(x, sums).jaxpr.eqns]
        assert "scatter" not in names
        np.testing.assert_array_equal(launch.compiled(x, sums)[0], x.reshape(16, 64).sum(1))


class TestLoops:
    def test_a_streaming_loop_is_unrolled_and_one_with_stores_that_lie_apart_is_not(self):
        @xe.kernel
        def both(wg, x, y):
            lid = wg.local_id()
            tile = wg.local(64 * 12, jnp.int32)
            tile = lax.fori_loop(0, 12, lambda k, tile: tile.at[12 * lid + 5 * k % 12].set(x[lid]), tile)
            tile = wg.barrier(tile)
            t = lax.fori_loop(0, 128, lambda k, t: t + tile[wg.local_id() + k], jnp.zeros(64, jnp.int32))
            return y.at[lid].set(t)

        x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
        launch = prepared(both, xe.NDRange(64, 64), x, y)
        stores, streams = loops(jax.make_jaxpr(launch.emit)(x, y).jaxpr)
        assert (stores.params["length"], streams.params["length"]) == (12, 2)
        np.testing.assert_array_equal(
            launch.compiled(x, y)[0], np.convolve(np.repeat(np.arange(64), 12), np.ones(128), "valid")[:64]
        )


class TestWindows:
    @pytest.mark.every(4)
    @pytest.mark.parametrize("offset", [-65, -64, -1, 0, 1, 63, 64, 65])
    @pytest.mark.parametrize("memory_bytes", [1, 1 << 20])
    def test_a_window_that_reaches_over_an_end_gives_poison_there(self, offset, memory_bytes):
        @xe.kernel
        def shifted(wg, x, y):
            i = wg.global_id()
            return y.at[i].set(x[i + offset])

        n = 256
        x, y = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        index = np.arange(n) + offset
        inside = (index >= 0) & (index < n)
        expected = np.where(inside, x[np.clip(index, 0, n - 1)], poison(np.int32))
        result = xe.launch(shifted, xe.NDRange(n, 64), memory_bytes=memory_bytes)(x, y)
        np.testing.assert_array_equal(result, expected)


@xe.kernel(sub_group_size=16)
def blocks_of_rows(wg, x, out, *, length):
    """In each round a group reads a line of every 64 elements, `length` of them at a time side by side."""
    lid = wg.local_id()

    def add(k, out):
        place = wg.group_id() * 128 + k * length + lid // length * 64 + lid % length
        return out.atomic[x[place] % 8].add(1)

    return lax.fori_loop(0, 2, add, out)


@pytest.mark.parametrize("length", [1, 4, 8])
def test_elements_that_follow_each_other_are_looked_up_together(length):
    lid, groups = np.arange(32), np.arange(6)[:, None]
    x = np.random.default_rng(0).integers(0, 1 << 20, 6 * 128 + 32 * 64, np.int32)
    places = [groups * 128 + k * length + lid // length * 64 + lid % length for k in range(2)]
    expected = np.bincount((x[np.stack(places)] % 8).reshape(-1), minlength=8)
    out = np.zeros(8, np.int32)
    ready = launches.prepared(blocks_of_rows, xe.NDRange(192, 32), (x, out), {"length": length}, "max1550")
    np.testing.assert_array_equal(ready.compiled(x, out)[0], expected)
    assert f"slice_sizes = array<i64: {length}>" in ready.compiled.lower(x, out).as_text()


def test_windows_do_not_move_for_work_items_that_take_no_part():
    @xe.kernel
    def kernel(wg, x, out):
        lid = wg.local_id()

        def add(k, out):
            place = wg.group_id() * 100 + k * 8 + lid // 8 * 64 + lid % 8
            live = place < x.shape[0]
            return out.atomic[x.load(place, where=live, other=0) % 8].add(1, where=live)

        return lax.fori_loop(0, 3, add, out)

    lid, (gid, k) = np.arange(32), np.mgrid[:6, :3]
    x = np.random.default_rng(0).integers(0, 1 << 20, 613, np.int32)
    places = gid[..., None] * 100 + k[..., None] * 8 + lid // 8 * 64 + lid % 8
    expected = np.bincount(x[places[places < x.size]] % 8, minlength=8)
    np.testing.assert_array_equal(xe.launch(kernel, xe.NDRange(192, 32))(x, np.zeros(8, np.int32)), expected)
