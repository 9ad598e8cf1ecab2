"""Loops that are emitted by blocks, as on a GPU, give the same; their loads are parts of one window."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import prepared, run
from test_kernels import EXAMPLES_FOR_TESTS, JUDGED, SIZES
from test_merge_updates import on_a_gpu

import xeemu as xe
from xeemu.ir import control, ops
from xeemu.launching.chunking import ChunkedLaunch
from xeemu.planning import loop_accesses, strip_lengths


@pytest.mark.every(3)
@pytest.mark.parametrize("name", [name for name in JUDGED if EXAMPLES_FOR_TESTS[name].run is None])
def test_an_example_as_emitted_for_a_gpu(name):
    e, size = EXAMPLES_FOR_TESTS[name], SIZES[name][-1]
    inputs = e.inputs(size)
    outputs = jax.tree.leaves(run(on_a_gpu(e.kernel, e.nd_range(size), inputs, e.static), inputs))
    for got, want in zip(outputs, jax.tree.leaves(e.reference(*inputs)), strict=True):
        np.testing.assert_allclose(got, want, rtol=e.rounding or 0)


@xe.kernel
def windows(wg, x, out, *, turns, step=1, start=0, local=False):
    i, lid = wg.global_linear_id(), wg.local_linear_id()
    first = wg.group_id() * wg.size + start
    if local:
        tile = wg.local(x.shape[0], jnp.int32)
        for k in range(0, x.shape[0], wg.size):
            tile = tile.at[k + lid].set(x[k + lid])
        x, first = wg.barrier(tile), start

    def turn(k, total):
        return 3 * total + x[first + k * step + lid] * x[k]

    return out.at[i].set(lax.fori_loop(0, turns, turn, lid * 0))


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("turns", "step", "start", "local"),
    [
        *((turns, 1, 0, False) for turns in (1, 2, 64, 65, 257)),
        (70, 0, 5, True),
        (130, 2, 1, False),
        (70, 2, 1, True),
        (130, -1, 300, False),
        (130, -3, 900, True),
        (70, 40, 0, False),
    ],
)
def test_a_loop_by_blocks_gives_the_same(turns, step, start, local):
    x = np.random.default_rng(0).integers(-9, 9, size=4096, dtype=np.int32)
    if step < 0 and start + step * turns < 0:
        turns = start // -step
    arguments, static = (x, np.zeros(256, np.int32)), {"turns": turns, "step": step, "start": start, "local": local}
    (got,) = run(on_a_gpu(windows, xe.NDRange(256, 64), arguments, static), arguments)
    want, i = np.zeros(256, np.int64), np.arange(256)
    for k in range(turns):
        place = (i % 64 if local else i) + start + k * step
        want = (3 * want + x[place].astype(np.int64) * x[k]) % 2**32
    np.testing.assert_array_equal(got.view(np.uint32), want.astype(np.uint32))


def test_slices_of_a_block_are_parts_of_one_window():
    x = np.zeros(4096, np.int32)
    arguments = (x, np.zeros(256, np.int32))
    ready = on_a_gpu(windows, xe.NDRange(256, 64), arguments, {"turns": 640})
    text = ready.compiled.lower(*arguments).as_text()
    # One for the elements of the groups and one for the factor, in the body of the loop over blocks.
    assert text.count("stablehlo.dynamic_slice") == 2


def test_a_loop_over_rows_is_emitted_as_it_is():
    rows = jnp.arange(200)

    @xe.kernel
    def sums(wg, x, out):
        lid = wg.local_linear_id()
        total, each = lax.scan(lambda t, row: (t + x[lid] * row, t), lid * 0, rows)
        return out.at[lid].set(total + each[3])

    arguments = (np.arange(64, dtype=np.int32), np.zeros(64, np.int32))
    (got,) = run(on_a_gpu(sums, xe.NDRange(64, 64), arguments), arguments)
    np.testing.assert_array_equal(got, np.arange(64) * (199 * 100) + np.arange(64) * 3)


@pytest.mark.parametrize(
    ("index", "move"),
    [
        (lambda k, lid, x: k + lid, 1),
        (lambda k, lid, x: 5 - 2 * k + lid, -2),
        (lambda k, lid, x: (k + 3) * 4 + lid, 4),
        (lambda k, lid, x: lid, 0),
        (lambda k, lid, x: k * k + lid, None),
        (lambda k, lid, x: k // 2 + lid, None),
        (lambda k, lid, x: lid + x[k], None),
    ],
)
def test_how_a_load_moves(index, move):
    @xe.kernel
    def sums(wg, x, out):
        lid = wg.local_linear_id()
        return out.at[lid].set(lax.fori_loop(0, 9, lambda k, t: t + out[index(k, lid, x)], lid * 0))

    arguments = (np.zeros(64, np.int32), np.zeros(64, np.int32))
    ready = on_a_gpu(sums, xe.NDRange(16, 16), arguments)
    structures = ((n, control.of(e)) for n, e in enumerate(ready.program.body.ops))
    ((number, scan),) = ((n, s) for n, s in structures if isinstance(s, control.Scan))
    moves = loop_accesses.moves(ready.facts.inner[number][0])
    loads = [n for n, e in enumerate(scan.body.ops) if e.name == ops.LOAD]
    assert moves.get(loads[-1]) == move


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("turns", "step", "start", "local"),
    [
        (1, 1, 0, False),
        (16, 1, 3, False),
        (257, 1, 0, True),
        (35, 2, 1, True),
        (130, -1, 300, False),
        (70, -3, 900, True),
    ],
)
def test_many_work_items_on_a_cpu_take_fewer_iterations_at_a_time(turns, step, start, local):
    n, static = 8192, {"turns": turns, "step": step, "start": start, "local": local}
    x = np.random.default_rng(0).integers(-9, 9, size=12288, dtype=np.int32)
    arguments = x, np.zeros(n, np.int32)
    ready = prepared(windows, xe.NDRange(n, 64), arguments, static)
    ready = dataclasses.replace(ready, chosen=ChunkedLaunch(n // 64, n // 64))
    (got,) = run(ready, arguments)
    want, i = np.zeros(n, np.int64), np.arange(n)
    for k in range(turns):
        place = (i % 64 if local else i) + start + k * step
        want = (3 * want + x[place].astype(np.int64) * x[k]) % 2**32
    np.testing.assert_array_equal(got.view(np.uint32), want)
    products = len(re.findall(r"= mul (?:\w+ )?3:i32", str(jax.make_jaxpr(ready.emit)(*arguments))))
    block = strip_lengths.evenly(turns, min(turns, 16))
    found = block + turns % block
    assert found <= products <= found + 1


@pytest.mark.thorough
@pytest.mark.parametrize(("groups", "chunk"), [(65, 4), (20, 8)])
def test_groups_that_are_left_behind_have_short_code(groups, chunk):
    @xe.kernel
    def kernel(wg, x, out):
        def turn(k, total):
            return total * 3 + x[k]

        return out.at[wg.global_linear_id()].set(lax.fori_loop(0, 256, turn, wg.local_id()))

    x, out = np.arange(256, dtype=np.int32), np.zeros(4 * groups, np.int32)
    ready = prepared(kernel, xe.NDRange(4 * groups, 4), (x, out))
    ready = dataclasses.replace(ready, chosen=ChunkedLaunch(groups, chunk))
    products = re.findall(r"= mul \w+ 3:i32", str(jax.make_jaxpr(ready.emit)(x, out)))
    assert 64 + 4 <= len(products) < 64 + 8
    (got,) = run(ready, (x, out))
    want = np.arange(4 * groups, dtype=np.int32) % 4
    for k in x:
        want = want * 3 + k
    np.testing.assert_array_equal(got, want)
