"""Loads of what was stored before: NumPy's results whatever came in between, and no memory where none is needed."""

import re

import examples
import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import xeemu as xe
from xeemu import kernels
from xeemu.ir import ops

GROUPS, N = 3, 16
NARROW = xe.NDRange(GROUPS * N, N)
DATA = np.arange(GROUPS * N, dtype=np.int32) * 7 % 100
BLANK = np.zeros(GROUPS * N, np.int32)

LINES = st.tuples(st.integers(0, 4), st.sampled_from([1, 2, 3, -1]), st.integers(1, N))
"""Offset, stride and number of the elements that a group's first work-items access."""

STEPS = st.lists(st.tuples(st.sampled_from(["store", "load", "masked", "add"]), LINES), min_size=2, max_size=7)


def places(line):
    offset, stride, count = line
    return offset + stride * np.arange(count) + (2 * N if stride < 0 else 0)


def program(steps):
    """A kernel that adds up what it loads, and weighs it by the number of the load."""

    @xe.kernel
    def kernel(wg, data, out):
        lid = wg.local_id()
        memory = wg.local(4 * N, jnp.int32)
        memory = memory.at[lid].set(data[wg.global_id()])
        for k in range(1, 4):
            memory = memory.at[lid + k * N].set(-k)
        total = jnp.zeros(wg.size, jnp.int32)
        for number, (what, (offset, stride, count)) in enumerate(steps):
            index = offset + stride * lid + (2 * N if stride < 0 else 0)
            live = lid < count
            match what:
                case "store":
                    memory = memory.at[index].set(data[wg.global_id()] * number - total, where=live)
                case "masked":
                    memory = memory.at[index].set(number, where=live & (data[wg.global_id()] % 2 == 0))
                case "add":
                    memory = memory.atomic[index].add(number, where=live)
                case "load":
                    total = total + memory.load(index, where=live) * (number + 1)
            memory = wg.barrier(memory)
        return out.at[wg.global_id()].set(total)

    return kernel


def expected(steps):
    totals = []
    for data in DATA.reshape(GROUPS, N):
        memory, total = np.concatenate([data, *(np.full(N, -k) for k in range(1, 4))]), np.zeros(N, np.int32)
        for number, (what, line) in enumerate(steps):
            where, count = places(line), line[2]
            match what:
                case "store":
                    memory[where] = (data * number - total)[:count]
                case "masked":
                    memory[where] = np.where(data[:count] % 2 == 0, number, memory[where])
                case "add":
                    memory[where] += number
                case "load":
                    total[:count] += memory[where] * (number + 1)
        totals.append(total)
    return np.concatenate(totals)


@pytest.mark.thorough
@settings(derandomize=True, deadline=None, max_examples=examples.some(40))
@given(STEPS)
def test_local_memory_is_numpys(steps):
    np.testing.assert_array_equal(xe.launch(program(steps), NARROW)(DATA, BLANK), expected(steps))


def test_private_memory():
    @xe.kernel
    def kernel(wg, data, out):
        x, odd = data[wg.global_id()], wg.local_id() % 2 == 1
        memory = wg.private(4, jnp.int32)
        for k in range(4):
            memory = memory.at[k].set(x + k)
        memory = memory.at[1].set(memory[0] + memory[2])
        memory = memory.at[3].set(-1, where=odd)
        return out.at[wg.global_id()].set(memory[1] * 10 + memory[3])

    items = np.arange(GROUPS * N)
    result = (2 * DATA + 2) * 10 + np.where(items % 2 == 1, -1, DATA + 3)
    np.testing.assert_array_equal(xe.launch(kernel, NARROW)(DATA, BLANK), result)


@pytest.mark.parametrize(("side", "masked"), [(4, False), (5, False), (5, True)])
def test_a_place_of_two_dimensions_that_is_known(side, masked):
    """Constants are folded to one index, and the store has two."""

    @xe.kernel
    def kernel(wg, data, out):
        i, tile = wg.local_id(), wg.local((side, side), jnp.int32)
        at = tile.at[i // side, i % side]
        x = data[wg.global_id()]
        tile = wg.barrier(at.set(x, where=i < 12) if masked else at.set(x))
        return out.at[wg.global_id()].set(tile[1, 2])

    result = xe.launch(kernel, NARROW)(DATA, BLANK)
    np.testing.assert_array_equal(result, np.repeat(DATA[side + 2 :: N], N))


def test_what_a_loop_and_a_branch_have_stored():
    @xe.kernel
    def kernel(wg, data, out):
        lid = wg.local_id()
        memory = wg.local(N, jnp.int32).at[lid].set(data[wg.global_id()])
        memory = lax.fori_loop(0, 3, lambda k, m: m.at[(lid + k) % N].set(m[(lid + k) % N] + k), memory)
        first = memory[lid]
        memory = lax.cond(wg.group_id() == 1, lambda m: m.at[lid].set(lid), lambda m: m, memory)
        return out.at[wg.global_id()].set(first * 100 + memory[lid])

    group, lid = np.divmod(np.arange(GROUPS * N), N)
    result = (DATA + 3) * 100 + np.where(group == 1, lid, DATA + 3)
    np.testing.assert_array_equal(xe.launch(kernel, NARROW)(DATA, BLANK), result)


def test_the_last_of_several_values_for_one_element_is_loaded():
    @xe.kernel
    def kernel(wg, data, out):
        lid = wg.local_id()
        memory = wg.local(N, jnp.int32).at[lid].set(0)
        memory = memory.at[lid // 2].set(data[wg.global_id()])
        return out.at[wg.global_id()].set(memory[lid])

    stored = np.zeros((GROUPS, N), np.int32)
    stored[:, : N // 2] = DATA.reshape(GROUPS, N)[:, 1::2]
    np.testing.assert_array_equal(xe.launch(kernel, NARROW)(DATA, BLANK), stored.reshape(-1))


@pytest.mark.parametrize("name", ["tree_reduction", "tree_reduction_sequential"])
def test_a_tree_needs_no_local_memory(name):
    example = kernels.example(name)
    inputs = example.inputs((4096,))
    ready = launches.prepared(example.kernel, xe.NDRange(2048, 128), inputs[:2], device="max1550")
    text = jax.jit(ready.emit).lower(*inputs[:2]).compile().as_text()
    assert "scatter" not in text
    assert "128]{1,0} dynamic-update-slice" not in text


def loads(kernel, nd_range, *arguments):
    """How many loads of local memory a kernel has, and a launch of it."""
    analysed = launches.prepared(kernel, nd_range, arguments, device="max1550").analysed
    tasks = (analysed.program, analysed.facts), (analysed.task.program, analysed.task.facts)
    return [
        sum(op.name == ops.LOAD and facts.values[op.operands[0]].space == "local" for op in program.body.ops)
        for program, facts in tasks
    ]


def test_a_memory_that_other_loads_need_is_loaded():
    """Each step of a stencil needs the border, which was stored before all of them."""

    @xe.kernel
    def stencil(wg, x, out):
        lid = wg.local_id()
        m = wg.local(N + 2, jnp.int32).at[lid + 1].set(x[wg.global_id()])
        m = wg.barrier(m.at[(N + 1) * (lid % 2)].set(0))
        for _ in range(3):
            v = m[lid] + m[lid + 1] * 2 + m[lid + 2]
            m = wg.barrier(wg.barrier(m).at[lid + 1].set(v))
        return out.at[wg.global_id()].set(m[lid + 1])

    assert loads(stencil, NARROW, DATA, BLANK) == [10, 9]  # all but that of what is stored to `out`
    expected = DATA.reshape(GROUPS, N)
    for _ in range(3):
        padded = np.pad(expected, ((0, 0), (1, 1)))
        expected = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
    np.testing.assert_array_equal(xe.launch(stencil, NARROW)(DATA, BLANK), expected.reshape(-1))


def test_the_steps_of_a_tree_are_forwarded():
    example = kernels.example("tree_reduction")
    inputs = example.inputs((4096,))
    steps = 7
    assert loads(example.kernel, xe.NDRange(2048, 128), *inputs[:2]) == [2 * steps + 1, 0]


def test_what_many_stores_have_left_is_forwarded():
    rows = 40

    @xe.kernel
    def kernel(wg, x, out):
        lid = wg.local_id()
        memory = wg.local((rows, N), jnp.int32)
        for k in range(rows):
            memory = memory.at[k, lid].set(x[wg.global_id()] * k)
        memory = wg.barrier(memory)
        return out.at[wg.global_id()].set(sum(memory[k, N - 1 - lid] * k for k in range(rows)))

    assert loads(kernel, NARROW, DATA, BLANK) == [rows, 0]
    expected = DATA.reshape(GROUPS, N)[:, ::-1].reshape(-1) * sum(k * k for k in range(rows))
    np.testing.assert_array_equal(xe.launch(kernel, NARROW)(DATA, BLANK), expected)


TILE = 16


@xe.kernel
def tiles(wg, a, b, out):
    """A product of matrices of small integers, kept in 16 bits, by tiles that a row or a column of groups shares."""
    i, j, x, y = wg.global_id(0), wg.global_id(1), wg.local_id(0), wg.local_id(1)
    row, column = wg.local((TILE, TILE), jnp.int16), wg.local((TILE, TILE), jnp.int16)

    def turn(t, carry):
        row, column, total = carry
        row = row.at[x, y].set(a.load((i, t * TILE + y), where=i < a.shape[0], other=0).astype(jnp.int16))
        column = column.at[x, y].set(b[t * TILE + x, j].astype(jnp.int16))
        row, column = wg.barrier(row, column)
        for k in range(TILE):
            total = total + row[x, k].astype(jnp.int32) * column[k, y].astype(jnp.int32)
        return *wg.barrier(row, column), total

    total = lax.fori_loop(0, a.shape[1] // TILE, turn, (row, column, jnp.zeros((TILE, TILE), jnp.int32)))[2]
    return out.at[i, j].set(total, where=i < a.shape[0])


@pytest.mark.every(4)
@pytest.mark.parametrize("memory_bytes", [None, 1, 30000, 60000, 200000])
@pytest.mark.parametrize("rows", [96, 90])
def test_tiles_that_groups_share(rows, memory_bytes):
    random = np.random.default_rng(rows)
    a, b = random.integers(-99, 99, (rows, 48), dtype=np.int32), random.integers(-99, 99, (48, 80), dtype=np.int32)
    launch = xe.launch(tiles, xe.NDRange((96, 80), (TILE, TILE)), memory_bytes=memory_bytes)
    np.testing.assert_array_equal(launch(a, b, np.zeros((rows, 80), np.int32)), a @ b)


def test_what_groups_share_is_compiled_once_for_all_of_them():
    """Else the tiles would be written for each group, twice as much as is computed of them."""
    arrays = [np.zeros(shape, np.int32) for shape in ((96, 48), (48, 80), (96, 80))]
    ready = launches.prepared(tiles, xe.NDRange((96, 80), (TILE, TILE)), arrays, device="max1550")
    text = jax.jit(ready.emit).lower(*arrays).compile().as_text()
    assert "s32[30,16,16]" in text
    assert not re.search(r"s16\[30,16,16\]\S* fusion", text)


def test_a_memory_that_nobody_needs_takes_no_room():
    """A chunk then has so many more groups; who watches a launch sees its memories."""

    @xe.kernel
    def chosen_by_data(wg, data, out):
        memory = wg.barrier(wg.local(N, jnp.int32).at[wg.local_id()].set(data[wg.global_id()]))
        return out.at[wg.global_id()].set(memory[data[wg.global_id()] % N])

    arrays = [np.zeros(shape, np.int32) for shape in ((96, 48), (48, 80), (96, 80))]
    ready = launches.prepared(tiles, xe.NDRange((96, 80), (TILE, TILE)), arrays)
    assert ready.program.local_bytes == 2 * 2 * TILE * TILE
    assert ready.analysed.task.program.local_bytes == 0
    ready = launches.prepared(chosen_by_data, NARROW, [DATA, BLANK])
    assert ready.analysed.task.program.local_bytes == 4 * N


@xe.kernel
def permuted(wg, data, out):
    """Loads places that are known, but no slice of what was stored."""
    lid = wg.local_id()
    memory = wg.barrier(wg.local(N, jnp.int32).at[lid].set(2 * data[wg.global_id()]))
    return out.at[wg.global_id()].set(memory[(lid * lid + 3 * lid) % N])


@xe.kernel
def left_at_different_times(wg, data, out):
    """A loop that groups leave at different times, with a memory that each iteration fills anew."""
    lid = wg.local_id()
    memory = wg.local(N, jnp.int32).at[lid].set(0)

    def turn(state):
        k, memory, total = state
        memory = wg.barrier(memory.at[lid].set(data[wg.global_id()] + k))
        total = total + memory[N - 1 - lid]
        return k + 1, wg.barrier(memory), total

    start = wg.group_id() * 0, memory, jnp.zeros(N, jnp.int32)
    return out.at[wg.global_id()].set(lax.while_loop(lambda state: state[0] < wg.group_id(), turn, start)[2])


def test_a_memory_that_is_looked_up_stays():
    ready = launches.prepared(permuted, NARROW, [DATA, BLANK])
    assert ready.analysed.task.program.local_bytes == 4 * N
    rows, lid = DATA.reshape(GROUPS, N), np.arange(N)
    expected = 2 * rows[:, (lid * lid + 3 * lid) % N].reshape(-1)
    np.testing.assert_array_equal(xe.launch(permuted, NARROW)(DATA, BLANK), expected)


def test_a_memory_that_each_iteration_fills_anew_goes():
    ready = launches.prepared(left_at_different_times, NARROW, [DATA, BLANK])
    assert ready.analysed.task.program.local_bytes == 0
    rows = DATA.reshape(GROUPS, N)
    expected = np.stack([sum((rows[g, ::-1] + k for k in range(g)), np.zeros(N, np.int32)) for g in range(GROUPS)])
    np.testing.assert_array_equal(xe.launch(left_at_different_times, NARROW)(DATA, BLANK), expected.reshape(-1))
