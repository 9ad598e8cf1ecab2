"""Guards: masks that say what the bounds of a memory say are not looked at, and others are."""

import itertools

import examples
import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from test_merge_updates import on_a_gpu

import xeemu as xe
from xeemu.ir import ops
from xeemu.launching.executables import Executable
from xeemu.passes import pipeline

N = 37
DATA = np.arange(100, 100 + N, dtype=np.int32)


def guards(kernel, nd_range, *arguments, **static):
    """How many accesses of a kernel have masks that are guards."""
    ready = launches.prepared(kernel, nd_range, arguments, static, "max1550")
    before, after = (
        pipeline.optimised(ready.program, ready.options.target, after=name).program.body.walk()
        for name in ("forward_stores", "drop_redundant_masks")
    )
    return sum(map(has_mask, before)) - sum(map(has_mask, after))


def has_mask(op):
    return op.name in ops.ACCESSES and op.attributes["access"].masked and not op.attributes["access"].bounded


def test_each_that_is_masked_out_may_be_given_something_else():
    """By way of local memory, too, from which others load it."""
    given = np.arange(16, dtype=np.int32)

    @xe.kernel
    def kernel(wg, data, out):
        i, own = wg.global_id(), wg.local_id()
        tile = wg.local(32, jnp.int32).at[own].set(data[i])
        tile = wg.barrier(tile.at[own + 16].set(data.load(i + 16, where=i + 16 < 64, other=given)))
        return out.at[i].set(tile[own + 5])

    x = np.arange(100, 164, dtype=np.int32)
    result = xe.launch(kernel, xe.NDRange(64, 16))(x, np.zeros(64, np.int32))
    np.testing.assert_array_equal(result, np.concatenate([x, given])[5 : 5 + 64])


@xe.kernel
def masked(wg, data, out, *, how):
    i = wg.global_id() - 2
    n = data.shape[0]
    live = {
        "both": (i >= 0) & (i < n),
        "other words": (n - 1 >= i) & (i > -1),
        "anew": (wg.global_id() - 2 >= 0) & (wg.global_id() - 2 < n),
        "wider": (i.astype(jnp.int32) >= 0) & (i <= n - 1),
        "and more": (i >= -5) & (i >= 0) & (i < n) & (i < n + 4),
        "only below": i < n,
        "too narrow": (i >= 0) & (i < n - 1),
        "too wide": (i >= 0) & (i <= n),
        "something else": (i >= 0) & (i < n) & (wg.local_id() % 2 == 0),
        "either": (i >= 0) | (i < n),
        "not": ~(i < 0) & (i < n),
        "of another": (i >= 0) & (i + 1 < n),
    }[how]
    return out.at[wg.global_id()].set(data.load(i, where=live, other=-1))


LIVE = {
    "only below": lambda i: i < N,
    "too narrow": lambda i: (i >= 0) & (i < N - 1),
    "too wide": lambda i: (i >= 0) & (i <= N),
    "something else": lambda i: (i >= 0) & (i < N) & ((i + 2) % 8 % 2 == 0),
    "either": lambda i: i > -99,
    "of another": lambda i: (i >= 0) & (i + 1 < N),
}
GUARDS = ("both", "other words", "anew", "wider", "and more")


@pytest.mark.parametrize("how", [*GUARDS, "not", *LIVE])
def test_masked_loads(how):
    out = np.zeros(48, np.int32)
    got = xe.launch(masked, xe.NDRange(48, 8))(DATA, out, how=how)
    i = np.arange(48) - 2
    inside = (i >= 0) & (i < N)
    live = LIVE[how](i) if how in LIVE else inside
    poison = np.int32(0xA5A5A5A5 - 2**32)
    loaded = np.where(inside, DATA[i.clip(0, N - 1)], poison)
    np.testing.assert_array_equal(got, np.where(live, loaded, -1))
    assert guards(masked, xe.NDRange(48, 8), DATA, out, how=how) == (how in GUARDS)


@xe.kernel
def stored(wg, out, *, least, end):
    i = wg.global_id()
    return out.at[i].set(2 * i, where=(i >= least) & (i < end))


@pytest.mark.parametrize(("least", "end"), [*itertools.product((-3, 0, 1), (N - 1, N, N + 1))])
def test_masked_stores(least, end):
    out = np.full(N, -1, np.int32)
    i = np.arange(N)
    expected = np.where((i >= least) & (i < end), 2 * i, -1)
    np.testing.assert_array_equal(xe.launch(stored, xe.NDRange(40, 8))(out, least=least, end=end), expected)
    assert guards(stored, xe.NDRange(40, 8), out, least=least, end=end) == (least <= 0 and end == N)


@xe.kernel
def narrow(wg, data, out):
    """8 bits of an id are another number than the id."""
    i = wg.global_id()
    return out.at[i].set(data.load(i, where=i.astype(jnp.int8) < 37, other=-1))


def test_a_condition_on_some_bits_of_an_index():
    out = np.zeros(320, np.int32)
    got = xe.launch(narrow, xe.NDRange(320, 32))(DATA, out)
    i = np.arange(320)
    poison = np.int32(0xA5A5A5A5 - 2**32)
    expected = np.where(i.astype(np.int8) < 37, np.where(i < N, DATA[i.clip(0, N - 1)], poison), -1)
    np.testing.assert_array_equal(got, expected)
    assert not guards(narrow, xe.NDRange(320, 32), DATA, out)


@xe.kernel
def computed(wg, data, out, fill):
    """What is masked out is not known before the launch."""
    i = wg.global_id()
    return out.at[i].set(data.load(i, where=i < data.shape[0], other=fill))


def test_other_values_that_are_not_known():
    got = xe.launch(computed, xe.NDRange(40, 8))(DATA, np.zeros(40, np.int32), np.int32(5))
    np.testing.assert_array_equal(got, np.pad(DATA, (0, 3), constant_values=5))


@xe.kernel
def stencil(wg, data, out, *, offsets):
    i, j = wg.global_id(0), wg.global_id(1)
    n, m = data.shape
    total = jnp.zeros((wg.local_range(0), wg.local_range(1)), data.dtype)
    for di, dj in offsets:
        k, l = i + di, j + dj  # noqa: E741
        total = total + data.load((k, l), where=(k >= 0) & (k < n) & (l >= 0) & (l < m))
    return out.at[i, j].set(total, where=(i < n) & (j < m))


@pytest.mark.thorough
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.tuples(st.sampled_from((1, 2, 4, 8)), st.sampled_from((1, 4, 8))),
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=3, unique=True),
    st.sampled_from((None, 1, 1 << 10, 1 << 13)),
)
@settings(max_examples=examples.some(25), deadline=None)
def test_stencils_of_all_sizes(shape, local, offsets, memory_bytes):
    data = np.random.default_rng(0).integers(100, size=shape, dtype=np.int32)
    wide = np.pad(data, 3)
    expected = sum(wide[3 + i : 3 + i + shape[0], 3 + j : 3 + j + shape[1]] for i, j in offsets)
    nd_range = xe.NDRange([-(-n // s) * s for n, s in zip(shape, local, strict=True)], local)
    launch = xe.launch(stencil, nd_range, memory_bytes=memory_bytes)
    np.testing.assert_array_equal(launch(data, np.zeros_like(data), offsets=tuple(offsets)), expected)


def test_stencils_neither_gather_nor_select():
    data = np.zeros((200, 200), np.int32)
    arguments, static = (data, data), {"offsets": ((0, 0), (-1, 0), (0, 1))}
    ready = launches.prepared(stencil, xe.NDRange((208, 208), (16, 16)), arguments, static, "max1550")
    text = str(jax.make_jaxpr(ready.emit)(*arguments))
    assert " gather[" not in text
    assert " scatter" not in text
    assert " select_n[" not in text.replace(":i32[] = select_n", "")


# --- The last row of groups for itself ---


@xe.kernel
def scaled(wg, data, out):
    i = wg.global_id()
    return out.at[i].set(2 * data.load(i, where=i < data.shape[0]), where=i < out.shape[0])


@pytest.mark.every(6)
@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 1000, 1001, 4099])
@pytest.mark.parametrize("memory_bytes", [None, 1, 100, 1000, 10_000])
def test_a_last_group_that_is_cut_off(n, memory_bytes):
    data = np.arange(n, dtype=np.int32)
    launch = xe.launch(scaled, xe.NDRange(-(-n // 8) * 8, 8), memory_bytes=memory_bytes)
    np.testing.assert_array_equal(launch(data, np.zeros_like(data)), 2 * data)


def test_all_groups_but_the_last_are_within_bounds():
    data = np.zeros(2**20 + 5, np.int32)
    ready = launches.prepared(scaled, xe.NDRange(2**20 + 64, 64), (data, data), {}, "max1550")
    cut = ready.cut
    assert cut.inner is not None
    assert cut.full * cut.chunk + cut.remainder == 2**14 + 1
    assert cut.remainder == 1
    whole = xe.NDRange(2**20, 64)
    assert launches.prepared(scaled, whole, (data[: 2**20], data[: 2**20]), {}, "max1550").cut.inner is None


@xe.kernel
def numbered(wg, out):
    return out.at[wg.global_id()].set(wg.group_id() + 1)


@pytest.mark.parametrize("memory_bytes", [None, 1, 1000])
def test_a_plain_range_whose_last_group_has_fewer_work_items(memory_bytes):
    n = 2003  # a prime, so that no group size divides it
    got = xe.launch(numbered, xe.NDRange(n), memory_bytes=memory_bytes)(np.zeros(n, np.int32))
    np.testing.assert_array_equal(got, np.arange(n) // 256 + 1)


@xe.kernel
def held(wg, out):
    """The masks of a single group are known before it runs; the loop carries the elements as values."""
    i = wg.global_id()
    live = i < out.shape[0]
    return lax.fori_loop(0, 5, lambda k, out: out.at[i].set(out.load(i, where=live) + k, where=live), out)


@pytest.mark.parametrize("groups", [1, 2])
def test_guards_of_memories_that_a_loop_carries_as_values(groups):
    n = 8 * groups - 3
    got = xe.launch(held, xe.NDRange(8 * groups, 8))(np.arange(n, dtype=np.int32))
    np.testing.assert_array_equal(got, np.arange(n) + 10)


@xe.kernel
def first_lanes(wg, table, out):
    """Masks on the local id alone choose elements before the program runs; they need no bounds."""
    lid, group = wg.local_id(), wg.group_id()
    live = lid < table.shape[0]
    return out.at[group, lid].set(table.load(lid, where=live, other=7) + group, where=live)


def test_masks_on_the_local_id_stay_slices():
    table, out = np.arange(10, dtype=np.int32), np.zeros((6, 10), np.int32)
    nd_range = xe.NDRange(6 * 16, 16)
    np.testing.assert_array_equal(xe.launch(first_lanes, nd_range)(table, out), table + np.arange(6)[:, None])
    assert guards(first_lanes, nd_range, table, out) == 0
    text = str(jax.make_jaxpr(launches.prepared(first_lanes, nd_range, (table, out), {}, "max1550").emit)(table, out))
    assert not any(word in text for word in (" gather[", " scatter", " cond["))


@xe.kernel
def one_place(wg, memory, out):
    i = wg.global_id()

    def step(k, carry):
        total, memory = carry
        return total + memory.load(i, where=i < 1, other=7), memory.at[i].set(k, where=i == 0)

    total, memory = lax.fori_loop(0, 3, step, (jnp.zeros(8, jnp.int32), memory))
    return memory, out.at[i].set(total)


def test_other_values_of_a_memory_that_a_loop_carries_as_a_value():
    memory, out = xe.launch(one_place, xe.NDRange(8, 8))(np.full(1, -1, np.int32), np.zeros(8, np.int32))
    np.testing.assert_array_equal(memory, [2])
    np.testing.assert_array_equal(out, [0] + [21] * 7)


@pytest.mark.parametrize("shape", [(13, 9), (16, 8), (3, 40)])
def test_guards_as_a_gpu_has_them(shape):
    data, offsets = (
        np.random.default_rng(1).integers(100, size=shape, dtype=np.int32),
        ((0, 0), (-1, 0), (0, 1), (2, -2)),
    )
    wide = np.pad(data, 2)
    expected = sum(wide[2 + i : 2 + i + shape[0], 2 + j : 2 + j + shape[1]] for i, j in offsets)
    nd_range = xe.NDRange([-(-n // 4) * 4 for n in shape], (4, 4))
    arguments = data, np.zeros_like(data)
    (got,) = launches.run(on_a_gpu(stencil, nd_range, arguments, {"offsets": offsets}), arguments)
    np.testing.assert_array_equal(got, expected)


@xe.kernel
def counted(wg, x, out):
    i, j = wg.global_id(0), wg.global_id(1)
    live = i < x.shape[0]
    place = x.load((i, j), where=live)
    old, out = out.atomic[place, j % 16].fetch_add(1, where=live)
    return out.atomic[(place + old) % 16, 3].max(old, where=live)


@pytest.mark.thorough
@pytest.mark.parametrize("memory_bytes", [70_000, 95_000])
def test_a_last_row_that_would_take_too_much_memory(memory_bytes):
    x = np.arange(7 * 1024, dtype=np.int32).reshape(7, 1024) % 97
    arguments = x, np.zeros((97, 16), np.int32)
    executable = Executable(
        launches.prepared(counted, xe.NDRange((8, 1024), (2, 16)), arguments, {}, "max1550", memory_bytes)
    )
    executable(*arguments)
    assert executable._working_bytes <= memory_bytes
