"""Look-ups by a remainder give what a gather gives, and are copies of rounds where that is worth while."""

import re
from unittest import mock

import examples
import jax.numpy as jnp
import numpy as np
import pytest
from hosts import cpu_with, take
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from threaded import on_a_cpu

import xeemu as xe
from xeemu.devices import target
from xeemu.emission import access
from xeemu.launching import cores

__all__ = ["on_a_cpu"]

RNG = np.random.default_rng(5)
ITEMS, GROUPS = 48, 64


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch):
    take(monkeypatch, "cycles", fewest=64, copies=4)


@pytest.fixture
def found(monkeypatch):
    """The periodic gathers that were made, on a CPU of few cores."""
    monkeypatch.setattr(cores, "count", lambda: 2)
    read, seen = access._periods, []
    monkeypatch.setattr(access, "_periods", lambda plan, *given: seen.append(plan) or read(plan, *given))
    return seen


def launched(index, table, items=ITEMS, groups=GROUPS, memory_bytes=None, local=False, **static):
    """A launch in which each work-item looks up what `index` of its id says, and NumPy's answer."""

    @xe.kernel
    def kernel(wg, table, y):
        i, lid = wg.global_id(), wg.local_id()
        source = table
        if local:
            source = wg.local(table.shape[0], jnp.int32)
            for first in range(0, table.shape[0], wg.size):
                live = first + lid < table.shape[0]
                source = source.at[first + lid].set(table.load(first + lid, where=live), where=live)
            source = wg.barrier(source)
        return y.at[i].set(2 * source[index(i)] + lid)

    count = items * groups
    launch = xe.launch(kernel, xe.NDRange(count, items), memory_bytes=memory_bytes)
    i = np.arange(count)
    expected = 2 * table[index(i)] + i % items
    return launch(table, np.zeros(count, np.int32)), expected


def test_xla_finds_a_round_once_and_then_copies_it(found):
    @xe.kernel
    def kernel(wg, table, y):
        i = wg.global_id()
        return y.at[i].set(2 * table[i % 100])

    launch = xe.launch(kernel, xe.NDRange(ITEMS * 1024, ITEMS))
    arrays = np.zeros(100, np.int32), np.zeros(ITEMS * 1024, np.int32)
    text = launch.lower(*map(jnp.asarray, arrays)).compile().as_text()
    assert re.findall(r"= s32\[(\d+)\S* gather\(", text) == [str(found[0].gathered)]
    assert "while(" not in text


@pytest.mark.thorough
@settings(max_examples=examples.some(25), deadline=None)
@given(st.integers(1, 200), st.integers(0, 9), st.booleans(), st.integers(0, 300), st.integers(1, 64), st.booleans())
def test_lookups_are_those_of_a_gather(divisor, offset, backwards, shift, items, local):
    table = RNG.integers(0, 1000, divisor + offset, np.int32)

    def index(i):
        rest = (i + shift) % divisor
        return divisor - 1 + offset - rest if backwards else rest + offset

    with mock.patch.object(target, "TARGETS", cpu_with("cycles", fewest=64, copies=4)):
        for memory_bytes in None, 1 << 15:
            result, expected = launched(index, table, items, 40, memory_bytes, local)
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("index", "seen"),
    [
        (lambda i: i % 100, (100, 0, 1)),
        (lambda i: 99 - i % 100, (100, 99, -1)),
        (lambda i: 3 + (7 - i % 5), (5, 10, -1)),
        (lambda i: (i + 5) % 100 - 0, (100, 0, 1)),
    ],
)
def test_what_a_periodic_gather_is(index, seen, found):
    result, expected = launched(index, RNG.integers(0, 1000, 100, np.int32))
    np.testing.assert_array_equal(result, expected)
    assert [(gather.index.divisor, gather.index.offset, gather.index.sign) for gather in found] == [seen]


@pytest.mark.parametrize(
    "index",
    [
        lambda i: i % 64,  # no division
        lambda i: i // 48 % 100,  # the same for all of a group
        lambda i: (2 * i) % 99,
        lambda i: i % 48 % 5,  # not one group's after the other's
        lambda i: i % 100 * 0 + i % 50 % 7,
        lambda i: i % 99 + i % 2,
    ],
)
def test_what_is_none(index, found):
    result, expected = launched(index, RNG.integers(0, 1000, 100, np.int32))
    np.testing.assert_array_equal(result, expected)
    assert not found


def test_a_cpu_of_many_cores_looks_up(found, monkeypatch):
    monkeypatch.setattr(cores, "count", lambda: 16)
    launched(lambda i: i % 100, RNG.integers(0, 1000, 100, np.int32))
    assert not found


@pytest.mark.parametrize("first", [0, 3_000_000_000, 2_654_435_769])
def test_numbers_of_all_their_bits(first, found):
    table = RNG.integers(0, 1000, 1000, np.int32)
    result, expected = launched(lambda i: (i.astype(np.uint32) + np.uint32(first)) % np.uint32(100), table)
    np.testing.assert_array_equal(result, expected)
    assert found


def test_few_rounds_are_looked_up(found):
    launched(lambda i: i % 997, RNG.integers(0, 1000, 997, np.int32))
    assert not found


def test_what_may_be_out_of_bounds_is_looked_up(found):
    @xe.kernel
    def kernel(wg, table, y):
        return y.at[wg.global_id()].set(table[wg.global_id() % 100])

    y = np.zeros(ITEMS * GROUPS, np.int32)
    table = RNG.integers(0, 1000, 99, np.int32)
    result = xe.launch(kernel, xe.NDRange(y.size, ITEMS))(table, y)
    poison = np.frombuffer(b"\xa5" * 4, np.int32)
    np.testing.assert_array_equal(result, np.resize(np.concatenate([table, poison]), y.size))
    assert not found


def test_masked_lookups_and_lookups_in_loops():
    @xe.kernel
    def kernel(wg, table, y):
        i = wg.global_id()
        first = table.load(i % 7, where=i % 3 > 0, other=-1)
        total = lax.fori_loop(0, 5, lambda k, t: t + table[(i + k) % 11], jnp.zeros(wg.size, jnp.int32))
        return y.at[i].set(first + total)

    table, i = RNG.integers(0, 1000, 11, np.int32), np.arange(ITEMS * GROUPS)
    result = xe.launch(kernel, xe.NDRange(i.size, ITEMS))(table, np.zeros(i.size, np.int32))
    expected = np.where(i % 3 > 0, table[i % 7], -1) + sum(table[(i + k) % 11] for k in range(5))
    np.testing.assert_array_equal(result, expected)


def test_a_memory_that_is_updated_afterwards_is_looked_up_as_it_was():
    @xe.kernel
    def kernel(wg, x, y):
        i = wg.global_id()
        y = y.at[i].set(x[i % 10])
        return x.atomic[i % 10].add(1), y

    x, i = RNG.integers(0, 1000, 10, np.int32), np.arange(480)
    after, y = xe.launch(kernel, xe.NDRange(480, 480))(x, np.zeros(480, np.int32))
    np.testing.assert_array_equal(y, x[i % 10])
    np.testing.assert_array_equal(after, x + 48)
