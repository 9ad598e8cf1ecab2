"""Memories, vectors, loops and launches of no elements, under every transformation."""

import examples
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import xeemu as xe
from xeemu.language import primitives
from xeemu.language.memory import Memory, MemoryType, poison

ITEMS = 4
OUT_OF_BOUNDS = "out-of-bounds"


def memory(wg, space, shape, name):
    """An uninitialised memory, also one of no elements."""
    version = primitives.allocate_p.bind(space=space, shape=shape, dtype=np.dtype(np.int32), name=name)[0]
    return Memory(version, MemoryType(space, (wg.size,), name))


@xe.kernel
def everything(wg, out, counts, *, tile, own, axis, turns):
    """Accesses of all kinds to memories of a few elements or none, `axis` at a time, `turns` times."""
    lid, column = wg.local_id(), jnp.broadcast_to(jnp.arange(axis), (wg.size, axis))
    index = lid[:, None] + column
    t, p = memory(wg, "local", (tile,), "t"), memory(wg, "private", (own, 2), "p")
    t = t.at[lid].set(0, where=lid < tile)
    for k in range(own):
        p = p.at[k, 1].set(k)
    t = wg.barrier(t)

    def turn(k, carry):
        t, p, counts, total = carry
        t = t.atomic[index].add(1, where=index < tile)
        counts = counts.atomic[index, 0].add(1, where=(index < counts.shape[0]) & (counts.shape[1] > 0))
        p = p.at[column, 1].set(p.load((column, 1), where=column < own) + 1, where=column < own)
        return t, p, counts, total + p.load((column, 1), where=column < own).sum(axis=1)

    t, p, counts, total = lax.fori_loop(0, turns, turn, (t, p, counts, jnp.zeros(ITEMS, jnp.int32)))
    _, stacked = lax.scan(lambda c, k: (c, column + k), 0, jnp.arange(turns))
    t = wg.barrier(t)
    old, t = t.atomic[index].fetch_add(0, where=index < tile)
    taken = jnp.where(index < tile, wg.sub_group.shift_right(old, 0), 0)
    reduced = wg.reduce(column, "add").sum() + wg.exclusive_scan(column, "add").sum(axis=1)
    return out.at[wg.global_id()].set(total + stacked.sum(axis=(0, 2)) + taken.sum(axis=1) + reduced), counts


def expected(size, shape, tile, own, axis, turns):
    """What `everything` makes of zeros."""
    counts = np.zeros(shape, np.int32)
    columns = range(axis)
    within = [[i + c for c in columns] for i in range(ITEMS)]
    if counts.shape[1]:
        for row in range(shape[0]):
            counts[row, 0] = size // ITEMS * turns * sum(index.count(row) for index in within)
    total = sum(k + t for t in range(1, turns + 1) for k in range(min(own, axis)))
    stacked = sum(c + k for k in range(turns) for c in columns)
    seen = [turns * sum(sum(index.count(e) for index in within) for e in within[i] if e < tile) for i in range(ITEMS)]
    out = [total + stacked + seen[i] + (ITEMS + i) * sum(columns) for i in range(ITEMS)]
    return np.resize(out, size).astype(np.int32), counts


def transformed(kernel, nd_range, arguments, static, devices=1):
    """The results of every transformation that has some; those that have none are called too."""
    mesh = jax.make_mesh((devices,), ("groups",))
    for options in (
        {},
        {"deterministic": True},
        {"memory_bytes": 4096},
        {"schedule": 0},
        {"schedule": 3},
        {"mesh": mesh},
    ):
        yield xe.launch(kernel, nd_range, **options)(*arguments, **static)
    yield jax.jit(lambda *given: xe.launch(kernel, nd_range)(*given, **static))(*arguments)
    for device in "max1550", "hd530":
        outputs, report = xe.profile(kernel, nd_range, device=device)(*arguments, **static)
        assert str(report)
        assert report.to_dict()
        yield outputs
    assert str(xe.estimate(kernel, nd_range)(*arguments, **static))
    assert str(xe.trace(kernel, nd_range)(*arguments, **static))
    assert len(xe.tune(kernel, {"global_size": [nd_range.global_size[0]], "local_size": [ITEMS]})(*arguments, **static))


few = st.sampled_from((0, 1, 3))


@settings(max_examples=4)
@given(size=st.sampled_from((0, 8)), shape=st.tuples(few, few), tile=few, own=few, axis=few, turns=st.integers(0, 2))
def test_all_transformations_take_what_is_empty(size, shape, tile, own, axis, turns):
    _agree(size, shape, tile, own, axis, turns)


@pytest.mark.thorough
@settings(max_examples=examples.some(36))
@given(size=st.sampled_from((0, 8)), shape=st.tuples(few, few), tile=few, own=few, axis=few, turns=st.integers(0, 2))
def test_all_transformations_take_what_is_empty_in_many_ways(size, shape, tile, own, axis, turns):
    _agree(size, shape, tile, own, axis, turns)


def _agree(size, shape, tile, own, axis, turns):
    static = {"tile": tile, "own": own, "axis": axis, "turns": turns}
    arguments, nd_range = (np.zeros(size, np.int32), np.zeros(shape, np.int32)), xe.NDRange(size, ITEMS)
    outputs, findings = xe.check(everything, nd_range)(*arguments, **static)
    assert findings == ()
    for got in outputs, *transformed(everything, nd_range, arguments, static):
        for array, right in zip(got, expected(size, shape, **static), strict=True):
            np.testing.assert_array_equal(array, right)


@xe.kernel
def beyond(wg, out, x, *, space):
    """Accesses of all kinds to a memory of no elements: all are out of bounds."""
    m, lid = x if space == "global" else memory(wg, space, (0,), "x"), wg.local_id()
    m = m.at[lid].set(1)
    m = m if space == "private" else m.atomic[0].add(1)
    return out.at[wg.global_id()].set(m[lid] + m[0]), *([m] if space == "global" else [])


@pytest.mark.parametrize("space", ["global", "local", "private"])
def test_an_access_to_no_elements_is_out_of_bounds(space):
    arguments, static = (np.zeros(8, np.int32), np.zeros(0, np.int32)), {"space": space}
    nd_range = xe.NDRange(8, ITEMS)
    outputs, findings = xe.check(beyond, nd_range)(*arguments, **static)
    assert {(f.kind, f.memory) for f in findings} == {(OUT_OF_BOUNDS, "x")}
    assert len(findings) == (2 if space == "private" else 3)
    results = [outputs]
    for options in {}, {"schedule": 0}, {"schedule": 3}:
        results.append(xe.launch(beyond, nd_range, **options)(*arguments, **static))
    assert str(xe.profile(beyond, nd_range)(*arguments, **static)[1])
    assert str(xe.estimate(beyond, nd_range)(*arguments, **static))
    with np.errstate(over="ignore"):
        garbage = poison(np.int32) + poison(np.int32)
    for got in results:
        np.testing.assert_array_equal(jax.tree.leaves(got)[0], np.full(8, garbage))


@xe.kernel
def copied(wg, x, y, z):
    i = wg.global_id()
    return y.at[i].set(x[0]), z.at[i].set(x[i], where=i == 3)


def test_a_mesh_takes_arguments_that_are_all_empty():
    empty, mesh = np.zeros(0, np.int32), jax.make_mesh((1,), ("groups",))
    for result in xe.launch(copied, xe.NDRange(16, 4), mesh=mesh)(empty, empty, empty):
        assert result.shape == (0,)


@xe.kernel
def untouched(wg, x, *, vectors):
    """A loop and a branch that hand a memory on as it is."""
    held = jnp.zeros((wg.size, vectors), jnp.int32)
    x, held = lax.fori_loop(0, 3, lambda k, c: (c[0], c[1] + k), (x, held))
    x, held = lax.cond(wg.group_id() == 0, lambda x, v: (x, v), lambda x, v: (x, v + 1), x, held)
    return x.at[wg.global_id()].set(held.sum(axis=1))


@pytest.mark.parametrize("vectors", [0, 2])
def test_control_flow_that_leaves_a_memory_alone_runs_under_a_schedule(vectors):
    x = np.zeros(8, np.int32)
    result = xe.launch(untouched, xe.NDRange(8, ITEMS), schedule=1)(x, vectors=vectors)
    np.testing.assert_array_equal(result, vectors * np.repeat([3, 4], ITEMS))
