"""Additions to one of few elements are counted by comparisons where threads share a launch, as NumPy counts them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hosts import take
from jax import lax
from threaded import counts, on_a_cpu, three_cores

import xeemu as xe
from xeemu.emission import small_histograms
from xeemu.launching import cores

__all__ = ["counts", "on_a_cpu", "three_cores"]

GROUPS = 7
RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def any_results(monkeypatch):
    """Launches are shared that have as many results as updates."""
    take(monkeypatch, "threads", merged_ns=1e-9)


@xe.kernel
def counting(wg, x, out, *, turns, space, size, span=None, added=(1,), masked=False, dtype="int32", shape=None):
    """Each work-item adds numbers to elements of its group or its own, which all are added to the results."""
    memory, lid = getattr(wg, space)(shape or size, dtype), wg.local_id()
    first, span = (0, size) if span is None else (span[0], span[1] - span[0])

    def place(p):
        return p if shape is None else (p // shape[1], p % shape[1])

    if space == "private":
        memory = lax.fori_loop(0, size, lambda k, memory: memory.at[place(k)].set(7), memory)
    else:
        memory = wg.barrier(memory.at[place(lid)].set(7, where=lid < size))

    def turn(k, memory):
        word = x[(wg.group_id() * turns + k) * wg.size + lid]
        for n, number in enumerate(added):
            p, live = place((word >> 5 * n) % span + first), word % 3 > 0 if masked else None
            if space == "private":
                memory = memory.at[p].set(memory[p] + np.dtype(dtype).type(number), where=live)
            elif number < 0:
                memory = memory.atomic[p].sub(-number, where=live)
            else:
                memory = memory.atomic[p].add(number, where=live)
        return memory

    memory = lax.fori_loop(0, turns, turn, memory)
    if space == "private":
        return lax.fori_loop(0, size, lambda k, out: out.atomic[k].add(memory[place(k)].astype(out.dtype)), out)
    memory = wg.barrier(memory)
    return out.atomic[lid].add(memory[place(lid)], where=lid < size)


def expected(x, out, turns, items, space, size, span=None, added=(1,), masked=False, dtype="int32", shape=None):
    first, span = (0, size) if span is None else (span[0], span[1] - span[0])
    out = out + out.dtype.type(7 * GROUPS * (items if space == "private" else 1))
    for n, number in enumerate(added):
        words = x[x % 3 > 0] if masked else x
        places = (words >> 5 * n) % span + first
        with np.errstate(over="ignore"):
            np.add.at(out, places[places < size], np.array(number).astype(out.dtype))
    return out


CASES = [
    *({"space": space, "turns": turns} for space in ("private", "local") for turns in (16, 33, 64, 100)),
    *({"space": space, "added": (1,) * n} for space in ("private", "local") for n in (2, 3, 8, 9)),
    {"space": "private", "added": (3, 1, -2, 1)},
    {"space": "local", "added": (3, 1, -2, 1)},
    {"space": "private", "span": (5, 13), "masked": True},
    {"space": "local", "span": (5, 13), "masked": True},
    {"space": "private", "span": (9, 21)},
    {"space": "local", "span": (9, 21)},
    {"space": "private", "span": (15, 40), "added": (1, 1), "masked": True},
    {"space": "local", "span": (15, 40), "added": (1, 1), "masked": True},
    {"space": "private", "span": (3, 5), "added": (1,) * 8},
    {"space": "local", "span": (3, 5), "added": (1,) * 8},
    {"space": "private", "size": 300, "span": (268, 300)},
    {"space": "local", "size": 32, "items": 48},
    {"space": "private", "size": 64, "items": 48},
    {"space": "private", "size": 24, "shape": (4, 6)},
    {"space": "local", "size": 15, "shape": (3, 5)},
    *({"space": "private", "dtype": dtype} for dtype in ("uint8", "int16", "uint32", "int64")),
    *({"space": "local", "dtype": dtype} for dtype in ("uint32", "int64")),
]


@pytest.mark.every(8)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_counted_is_what_is_added(case, counts, monkeypatch):
    given = {"turns": 64, "size": 16} | case
    items, dtype = given.pop("items", 16), given.get("dtype", "int32")
    x = RNG.integers(0, 2**31, GROUPS * given["turns"] * items, np.int32)
    before = RNG.integers(0, 100, given["size"]).astype(dtype if np.dtype(dtype).itemsize > 2 else np.int32)
    wanted = expected(x, before, items=items, **given)
    found = []
    added = small_histograms.added
    monkeypatch.setattr(
        small_histograms, "added", lambda b, updates, plan: found.extend(updates) or added(b, updates, plan)
    )
    with jax.enable_x64(dtype == "int64"):
        result = xe.launch(counting, xe.NDRange(GROUPS * items, items))(x, before, **given)
    np.testing.assert_array_equal(result, wanted)
    assert counts == [3]
    assert found


def test_updates_of_some_work_items_are_counted_for_themselves(counts, monkeypatch):
    """Their numbers are known beforehand, so that fewer are looked at."""
    found = []
    added = small_histograms.added
    monkeypatch.setattr(
        small_histograms, "added", lambda b, updates, plan: found.extend(updates) or added(b, updates, plan)
    )

    @xe.kernel
    def kernel(wg, x, out):
        memory, lid = wg.local(16, jnp.int32), wg.local_id()
        memory = wg.barrier(memory.at[lid].set(0))

        def turn(k, memory):
            word = x[(wg.group_id() * 64 + k) * 16 + lid]
            memory = memory.atomic[word % 8].add(1).atomic[word // 8 % 8].add(1, where=lid < 5)
            return memory.atomic[word // 64 % 8].add(1, where=lid % 2 == 0)

        memory = wg.barrier(lax.fori_loop(0, 64, turn, memory))
        return out.atomic[lid].add(memory[lid])

    x = RNG.integers(0, 2**9, GROUPS * 64 * 16, np.int32)
    places = [x % 8, x.reshape(-1, 16)[:, :5].reshape(-1) // 8 % 8, x[::2] // 64 % 8]
    wanted = sum(np.bincount(p, minlength=16) for p in places)
    np.testing.assert_array_equal(xe.launch(kernel, xe.NDRange(GROUPS * 16, 16))(x, np.zeros(16, np.int32)), wanted)
    assert counts == [3]
    assert len({update.target.shape for update in found}) == 3


def updates(case, monkeypatch):
    """How many updates of a launch are counted."""
    given = {"turns": 64, "size": 16, "space": "private"} | case
    x, before = RNG.integers(0, 2**31, GROUPS * 64 * 16, np.int32), np.zeros(given["size"], given.get("dtype", "int32"))
    found = []
    monkeypatch.setattr(small_histograms, "added", lambda buffer, updates, plan: found.extend(updates) or buffer.data)
    jax.block_until_ready(xe.launch(counting, xe.NDRange(GROUPS * 16, 16))(x, before, **given))
    return len(found)


@pytest.mark.thorough
def test_many_elements_or_numbers_with_a_fraction_are_not_counted(counts, monkeypatch):
    assert updates({}, monkeypatch) == 1
    assert updates({"size": 65}, monkeypatch) == 0
    assert updates({"size": 33, "space": "local"}, monkeypatch) == 0


def test_a_program_that_xla_divides_among_threads_does_not_count(monkeypatch):
    """Its steps are too short for that."""
    monkeypatch.setattr(cores, "count", lambda: 1)
    assert updates({}, monkeypatch) == 0


def test_floats_are_not_counted(counts):
    @xe.kernel
    def kernel(wg, x, out):
        memory, lid = wg.local(16, jnp.float32), wg.local_id()
        memory = wg.barrier(memory.at[lid].set(2**24 - 8))
        memory = lax.fori_loop(0, 64, lambda k, m: m.atomic[x[k * 16 + lid] % 4].add(1), memory)
        memory = wg.barrier(memory)
        return out.at[lid].set(memory[lid])

    x = RNG.integers(0, 2**31, 64 * 16, np.int32)
    result = xe.launch(kernel, xe.NDRange(16, 16))(x, np.zeros(16, np.float32))
    np.testing.assert_array_equal(result, np.where(np.arange(16) < 4, 2**24, 2**24 - 8))
