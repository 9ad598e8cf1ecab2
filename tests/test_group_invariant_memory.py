"""Local memories that all groups fill alike are one memory: with the same results, and only where that is sound."""

from unittest import mock

import examples
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from launches import prepared, run
from test_merge_updates import on_a_gpu

import xeemu as xe
from xeemu import kernels
from xeemu.ir import ops
from xeemu.launching import executables
from xeemu.passes import group_invariant_memory, scratchpad_copies

GROUPS, N = 6, 16
ND_RANGE = xe.NDRange(GROUPS * N, N)
TABLE = np.arange(N, dtype=np.int32) * 5 % 13
DATA = np.arange(GROUPS * N, dtype=np.int32) * 7 % 11
BLANK = np.zeros(GROUPS * N, np.int32)

# How a step stores to a memory, and whether that is the same in all groups as long as the memories are.
STORES = {
    "table": True,
    "data": False,
    "constant": True,
    "of some work-items": True,
    "of some groups": False,
    "of work-items by the table": True,
    "of work-items by data": False,
    "to places by the table": True,
    "to places by data": False,
    "beyond the end": True,
    "itself": True,
    "the other": True,
    "an atomic operation": False,
    "if the scalar says so": True,
    "if the group says so": False,
    "in a loop": True,
    "in a loop as often as the scalar says": True,
    "in a loop as often as the group says": False,
}
LOADS = ("own", "next", "by the table", "by data", "of some work-items", "the first", "beyond the end", "strided")
STEPS = st.tuples(st.sampled_from(["a", "b"]), st.one_of(st.sampled_from([*STORES]), st.sampled_from(LOADS)))


def stored(wg, how, memory, other, table, data, scalar):
    """A memory after a step."""
    lid, gid, group = wg.local_id(), wg.global_id(), wg.group_id()
    count = lambda k, m: m.at[lid].set(m[lid] * 3 + k)  # noqa: E731
    match how:
        case "table":
            return memory.at[lid].set(table[lid])
        case "data":
            return memory.at[lid].set(data[gid])
        case "constant":
            return memory.at[lid].set(7)
        case "of some work-items":
            return memory.at[lid + 1].set(table[lid] + 1, where=lid < N // 2)
        case "of some groups":
            return memory.at[lid].set(5, where=group == 2)
        case "of work-items by the table":
            return memory.at[lid].set(11, where=table[lid] > 6)
        case "of work-items by data":
            return memory.at[lid].set(12, where=data[gid] > 6)
        case "to places by the table":
            return memory.at[table[lid]].set(table[lid] * 2)
        case "to places by data":
            return memory.at[data[gid]].set(data[gid] * 2)
        case "beyond the end":
            return memory.at[lid + N - 3].set(lid + 20)
        case "itself":
            return memory.at[lid].set(memory[N - 1 - lid] * 2 + 1)
        case "the other":
            return memory.at[lid].set(other[lid] + 1)
        case "an atomic operation":
            return memory.atomic[lid // 2].add(1)
        case "if the scalar says so":
            return lax.cond(scalar > 2, lambda m: m.at[lid].set(30), lambda m: m, memory)
        case "if the group says so":
            return lax.cond(group > 2, lambda m: m.at[lid].set(31), lambda m: m, memory)
        case "in a loop":
            return lax.fori_loop(0, 5, count, memory)
        case "in a loop as often as the scalar says":
            return lax.fori_loop(0, scalar, count, memory)
        case "in a loop as often as the group says":
            return lax.fori_loop(0, group, count, memory)


def loaded(wg, how, memory, table, data):
    """What each work-item loads in a step."""
    lid, gid = wg.local_id(), wg.global_id()
    match how:
        case "own":
            return memory[lid]
        case "next":
            return memory[(lid + 1) % N]
        case "by the table":
            return memory[table[lid]]
        case "by data":
            return memory[data[gid]]
        case "of some work-items":
            return memory.load(lid, where=data[gid] > 4, other=-1)
        case "the first":
            return memory[0]
        case "beyond the end":
            return memory[lid + 5]
        case "strided":
            return memory[(gid * 3) % N]


def program(steps):
    @xe.kernel
    def kernel(wg, table, data, scalar, out):
        memories = {name: wg.local(N, jnp.int32, name=name) for name in "ab"}
        total = jnp.zeros(N, jnp.int32)
        for number, (name, how) in enumerate(steps):
            memory, other = memories[name], memories["b" if name == "a" else "a"]
            if how in STORES:
                memories[name] = wg.barrier(stored(wg, how, memory, other, table, data, scalar))
            else:
                total = total * 3 + loaded(wg, how, memory, table, data) * (number + 1)
        for memory in memories.values():
            total = total * 5 + memory[table[wg.local_id()]]  # so that the memories are needed
        return out.at[wg.global_id()].set(total)

    return kernel


def alike(steps):
    """The names of the memories that all groups fill alike."""
    found = {"a", "b"} - {name for name, how in steps if how in STORES and not STORES[how]}
    copies = {name for name, how in steps if how == "the other"}
    return found - {name for name in copies if ({"a", "b"} - {name}) - found}


def found_alike(ready):
    """The names of those that are one memory as the launch is emitted."""
    task = ready.analysed.task
    allocations = (op for op in task.program.body.ops if op.name == ops.ALLOCATE)
    return {op.attributes["name"] for op in allocations if task.facts.values[op.results[0]].group_invariant}


def bypassed(ready):
    """The names of those that are no memories any more (see `scratchpad_elimination`)."""
    return {a.name for a in ready.program.allocations} - {a.name for a in ready.analysed.task.program.allocations}


def launches_of(kernel, arguments):
    yield xe.launch(kernel, ND_RANGE)(*arguments)
    yield xe.launch(kernel, ND_RANGE, memory_bytes=1)(*arguments)
    yield run(on_a_gpu(kernel, ND_RANGE, arguments), arguments)[0]
    yield jax.jit(xe.launch(kernel, ND_RANGE))(*arguments)


@pytest.mark.thorough
@settings(max_examples=examples.some(15))
@given(st.lists(STEPS, min_size=1, max_size=6), st.integers(0, 4))
def test_results_are_those_of_a_memory_for_each_group(steps, scalar):
    arguments = TABLE, DATA, np.int32(scalar), BLANK
    ready = prepared(program(steps), ND_RANGE, arguments)
    assert found_alike(ready) == alike(steps) - bypassed(ready)
    with (
        mock.patch.object(group_invariant_memory, "analyse", return_value=None),
        mock.patch.object(scratchpad_copies, "of_program") as found,
    ):
        found.return_value = ()
        ready = prepared(program(steps), ND_RANGE, arguments)
        assert not found_alike(ready)
        (expected,) = run(ready, arguments)
    for got in launches_of(program(steps), arguments):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.thorough
@pytest.mark.every(3)
@pytest.mark.parametrize("how", STORES)
def test_what_makes_memories_differ(how):
    """What is stored in this way decides; and it is loaded in every way."""
    steps = [("a", "table"), ("b", "constant"), ("a", how), *(("a", load) for load in LOADS)]
    arguments = TABLE, DATA, np.int32(3), BLANK
    ready = prepared(program(steps), ND_RANGE, arguments)
    assert found_alike(ready) == ({"a", "b"} if STORES[how] else {"b"})
    with mock.patch.object(group_invariant_memory, "analyse", return_value=None):
        (expected,) = run(prepared(program(steps), ND_RANGE, arguments), arguments)
    for got in launches_of(program(steps), arguments):
        np.testing.assert_array_equal(got, expected)


def test_a_table_takes_no_room_and_is_filled_once():
    """So there are as many groups in a chunk as if they had no local memory, here all of them."""
    example = kernels.example("table_copy_bad")
    size = (256, 4096, 256)
    arguments = example.inputs(size)
    ready = prepared(example.kernel, example.nd_range(size), arguments)
    whole = executables._single_chunk(ready)
    assert whole is not None
    text = jax.jit(whole.emit).lower(*arguments).as_text()
    assert "4096x256xi32" in text
    assert "tensor<1048576xi32>" in text


@pytest.mark.thorough
def test_who_watches_a_launch_sees_the_memory_of_each_group():
    @xe.kernel
    def kernel(wg, table, out):
        lid = wg.local_id()
        memory = wg.local(N, jnp.int32, name="memory").at[lid // 2].set(table[lid])
        return out.at[wg.global_id()].set(memory[lid // 2])

    _, findings = xe.check(kernel, ND_RANGE)(TABLE, BLANK)
    places = {(finding.kind, finding.memory) for finding in findings.errors}
    assert places == {("data-race", "memory")}


@xe.kernel
def twice(wg, table, data, out):
    """Tables of two dimensions, filled by one function, of which one group or the other takes more turns."""
    x, y = wg.local_id(0), wg.local_id(1)

    @jax.jit
    def filled(memory, factor):
        memory = memory.at[x, y].set(table[x * 4 + y] * factor)
        return wg.barrier(memory.at[y, x].set(memory[x, y] + 1, where=x == y))

    one, two = (filled(wg.local((4, 4), jnp.int32, name=name), factor) for name, factor in (("one", 2), ("two", 3)))
    turns = wg.group_id(0) + 2 * wg.group_id(1)
    more = lambda state: (state[0] + 1, state[1] + one[x, y] * two[(y + state[0]) % 4, x])  # noqa: E731
    total = lax.while_loop(lambda state: state[0] < turns, more, (turns * 0, jnp.zeros((4, 4), jnp.int32)))[1]
    place = wg.global_id(0), wg.global_id(1)
    return out.at[place].set(total + two[data[place] % 4, y])


def test_tables_of_two_dimensions():
    nd_range, data = xe.NDRange((8, 12), (4, 4)), np.arange(96, dtype=np.int32).reshape(8, 12) * 5 % 7
    table, lanes = np.arange(16, dtype=np.int32).reshape(4, 4) * 3, np.arange(4)
    one, two = (table * factor + np.eye(4, dtype=np.int32) for factor in (2, 3))
    expected = np.zeros_like(data)
    for i, j in np.ndindex(2, 3):
        part = np.s_[4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
        turns = range(i + 2 * j)
        expected[part] = sum((one * two[(lanes + k) % 4].T for k in turns), np.zeros((4, 4), np.int32))
        expected[part] += two[data[part] % 4, lanes]
    arguments = table.reshape(-1), data, np.zeros_like(data)
    ready = prepared(twice, nd_range, arguments)
    assert found_alike(ready) == {"one", "two"}
    for got in (xe.launch(twice, nd_range)(*arguments), xe.launch(twice, nd_range, memory_bytes=1)(*arguments)):
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(run(on_a_gpu(twice, nd_range, arguments), arguments)[0], expected)
