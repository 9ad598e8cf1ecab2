"""Laws of the emulator, on random programs: it agrees with the scalar oracle, and nothing but the program matters."""

import math
from typing import Any
from unittest import mock

import chex
import examples
import jax
import jax.numpy as jnp
import numpy as np
import oracle
import programs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

import xeemu as xe
from xeemu.language.memory import poison
from xeemu.launching import chunking

OPERATIONS = ("add", "sub", "min", "max", "and", "or", "xor", "exchange", "compare_exchange")
GROUPS, ITEMS, ELEMENTS = 5, 20, 6

LAW = settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


def launched(program: programs.Program, **options: Any) -> Any:
    kernel = programs.kernel(program)
    return xe.launch(kernel, program.nd_range, device=programs.DEVICE, **options)(*program.arguments)


def in_chunks_of(groups: int) -> Any:
    """A launch in this context emulates so many groups at a time."""
    return mock.patch.object(chunking, "_chunk", return_value=groups)


def assert_as_the_oracle_says(program: programs.Program, results: Any) -> None:
    chex.assert_trees_all_equal(jax.tree.map(np.asarray, results), programs.expected(program, poison), strict=True)


def assert_as_the_oracle_says_in_chunks(program: programs.Program, groups: int) -> None:
    """So also `scripts/fuzz-laws`, with at most so many groups at a time."""
    with in_chunks_of(min(groups, math.prod(program.group_range))):
        assert_as_the_oracle_says(program, launched(program))


@pytest.mark.thorough
@settings(LAW, max_examples=examples.some(80))
@given(programs.programs())
def test_programs_mean_the_same_in_every_order_of_the_groups(program):
    backwards = range(math.prod(program.group_range))[::-1]
    chex.assert_trees_all_equal(programs.expected(program, poison), programs.expected(program, poison, backwards))


@pytest.mark.optimized
@settings(LAW, max_examples=examples.some(30))
@given(programs.programs())
def test_the_emulator_agrees_with_the_oracle(program):
    assert_as_the_oracle_says(program, launched(program))


@pytest.mark.thorough
@settings(LAW, max_examples=examples.some(25))
@given(programs.programs(plain=True))
def test_the_emulator_agrees_with_the_oracle_on_plain_ranges(program):
    assert_as_the_oracle_says(program, launched(program))


@pytest.mark.long
@settings(LAW, max_examples=600)
@given(st.one_of(programs.programs(), programs.programs(), programs.programs(plain=True)), st.integers(1, 7))
def test_the_emulator_agrees_with_the_oracle_on_many_programs(program, chunk):
    assert_as_the_oracle_says_in_chunks(program, chunk)


@settings(LAW, max_examples=examples.some(15))
@given(programs.programs(), st.data())
def test_chunks_of_any_size_change_nothing(program, data):
    groups = math.prod(program.group_range)
    with in_chunks_of(data.draw(st.integers(1, groups), label="chunk")):
        assert_as_the_oracle_says(program, launched(program))


@pytest.mark.thorough
@settings(LAW, max_examples=examples.some(8))
@given(programs.programs())
def test_the_least_memory_changes_nothing(program):
    chex.assert_trees_all_equal(launched(program, memory_bytes=1), launched(program))


@pytest.mark.thorough
@settings(LAW, max_examples=examples.some(10))
@given(programs.programs(types=("float32", "float64")))
def test_deterministic_and_donated_launches_change_nothing(program):
    assert_as_the_oracle_says(program, launched(program, deterministic=True, donate=True))


@pytest.mark.every(2)
@pytest.mark.parametrize("chunk", [2, 5])
@pytest.mark.parametrize("op", ["add", "fetch_add", "sub", "fetch_sub"])
def test_deterministic_float_atomics_round_in_the_order_of_the_work_items(op, chunk):
    random = np.random.default_rng(chunk)
    index = random.integers(0, 3, GROUPS * ITEMS).astype(np.int32)
    x = random.lognormal(0, 8, GROUPS * ITEMS).astype(np.float32)

    @xe.kernel
    def update(wg, total, index, x):
        i = wg.global_id()
        result = getattr(total.atomic[index[i]], op)(x[i])
        return result[1] if op.startswith("fetch") else result

    with in_chunks_of(chunk):
        launch = xe.launch(update, xe.NDRange(GROUPS * ITEMS, ITEMS), deterministic=True)
        total = launch(np.zeros(3, np.float32), index, x)
    expected = np.zeros(3, np.float32)
    for place, term in zip(index, x, strict=True):
        expected[place] += -term if op.endswith("sub") else term
    np.testing.assert_array_equal(total, expected)


@pytest.mark.thorough
@settings(LAW, max_examples=examples.some(8))
@given(programs.programs(types=programs.NARROW_TYPES))
def test_jit_changes_nothing(program):
    call = xe.launch(programs.kernel(program), program.nd_range, device=programs.DEVICE)
    chex.assert_trees_all_equal(jax.jit(call)(*program.arguments), call(*program.arguments), strict=True)


@pytest.mark.thorough
@settings(LAW, max_examples=examples.some(12))
@given(programs.programs(), st.data())
def test_permuting_the_groups_changes_nothing(program, data):
    order = data.draw(st.permutations(range(math.prod(program.group_range))), label="order")
    kernel = programs.kernel(program, permuted=True)
    launch = xe.launch(kernel, program.nd_range, device=programs.DEVICE)
    assert_as_the_oracle_says(program, launch(np.array(order, np.int32), *program.arguments))


def count_in_groups(wg, x, bins):
    """A histogram in local memory, added to the global one."""
    own = wg.local(8, jnp.int32)
    lid = wg.local_id()
    own = wg.barrier(own.at[lid].set(0, where=lid < 8))
    own = wg.barrier(own.atomic[x[wg.global_id()]].add(1))
    return bins.atomic[lid].add(own[lid], where=lid < 8)


@pytest.mark.every(2)
@pytest.mark.parametrize("chunk", range(1, 8))
def test_the_last_chunk_need_not_be_full(chunk):
    x = np.random.default_rng(0).integers(0, 8, 7 * 20).astype(np.int32)
    with in_chunks_of(chunk):
        bins = xe.launch(
            xe.kernel(count_in_groups), xe.NDRange(7 * 20, 20), device=programs.DEVICE, memory_bytes=chunk
        )(x, np.zeros(8, np.int32))
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=8))


def test_equal_launches_trace_once():
    traces = []

    @xe.kernel
    def scale(wg, x, *, factor):
        traces.append(factor)
        return x.at[wg.global_id()].set(x[wg.global_id()] * np.int32(factor))

    def run(size, **static):
        return xe.launch(scale, xe.NDRange(size, 4))(np.arange(size, dtype=np.int32), **static)

    for _ in range(3):
        np.testing.assert_array_equal(run(8, factor=3), 3 * np.arange(8))
    assert traces == [3]
    run(8, factor=2)
    run(12, factor=3)
    run(8, factor=3)
    assert traces == [3, 2, 3]


def test_a_launch_in_a_jitted_function_traces_once():
    kernel = xe.kernel(count_in_groups)

    @jax.jit
    @chex.assert_max_traces(n=1)
    def count(x):
        return xe.launch(kernel, xe.NDRange(40, 20))(x, jnp.zeros(8, jnp.int32))

    for seed in range(3):
        x = np.random.default_rng(seed).integers(0, 8, 40).astype(np.int32)
        np.testing.assert_array_equal(count(x), np.bincount(x, minlength=8))


@pytest.mark.every(4)
@pytest.mark.parametrize(("dtype", "chunk"), [("int32", 1), ("int32", 5), ("uint64", 2)])
@pytest.mark.parametrize("op", OPERATIONS)
def test_old_values_are_those_of_some_serial_order(op, dtype, chunk):
    """All groups meet in a few elements; some work-items are masked out, some out of bounds."""
    random = np.random.default_rng(OPERATIONS.index(op))
    index = random.integers(-1, ELEMENTS + 1, GROUPS * ITEMS).astype(np.int32)
    masked = random.integers(0, 4, GROUPS * ITEMS) == 0
    x, desired = random.integers(0, 4, (2, GROUPS * ITEMS)).astype(dtype)
    initial = random.integers(0, 4, ELEMENTS).astype(dtype)

    @xe.kernel
    def update(wg, elements, index, active, x, desired, old):
        i = wg.global_id()
        place = elements.atomic[index[i]]
        method = getattr(place, op if op.endswith("exchange") else f"fetch_{op}")
        values = (x[i], desired[i]) if op == "compare_exchange" else (x[i],)
        got, elements = method(*values, where=active[i])
        return elements, old.at[i].set(got)

    with in_chunks_of(chunk):
        final, old = xe.launch(update, xe.NDRange(GROUPS * ITEMS, ITEMS))(
            initial, index, ~masked, x, desired, np.zeros(GROUPS * ITEMS, dtype)
        )
    final, old = np.asarray(final), np.asarray(old)
    took_part = ~masked & (index >= 0) & (index < ELEMENTS)
    np.testing.assert_array_equal(old[~took_part], poison(np.dtype(dtype)))
    for element in range(ELEMENTS):
        items = np.flatnonzero(took_part & (index == element))
        operands = [(x[k], desired[k]) if op == "compare_exchange" else (x[k],) for k in items]
        with np.errstate(over="ignore"):
            changes = [(old[k], oracle.UPDATE[op](old[k], *values)) for k, values in zip(items, operands, strict=True)]
        assert oracle.serial_order_exists(initial[element], final[element], changes), (element, changes)


def test_a_varying_loop_and_branch_read_as_in_sycl():
    """The example of a group that leaves a loop early: each adds up its own number of terms, odd groups twice."""

    @xe.kernel
    def sums(wg, terms, total):
        group = wg.group_id()
        first = lax.fori_loop(0, terms[group], lambda k, s: s + k.astype(jnp.int32), jnp.zeros((), jnp.int32))
        value = lax.cond(group % 2 == 1, lambda v: 2 * v, lambda v: v, first)
        return total.at[wg.global_id()].set(jnp.broadcast_to(value, (4,)) + wg.local_id())

    terms = np.array([3, 0, 5, 2, 1], np.int32)
    total = xe.launch(sums, xe.NDRange(20, 4))(terms, np.zeros(20, np.int32))
    value = terms * (terms - 1) // 2 * np.array([1, 2, 1, 2, 1])
    np.testing.assert_array_equal(total, (value[:, None] + np.arange(4)).ravel())
