"""What a kernel asks of its work-group: ids, ranges, barriers, block messages; plain ranges."""

import itertools
import math
import os

import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.language.memory import poison

RANGES = [
    ((6,), (3,)),
    ((4, 6), (2, 3)),
    ((2, 12), (1, 4)),
    ((4, 3, 10), (2, 3, 5)),
    ((2, 2, 2), (1, 1, 1)),
]
PLAIN = [(1,), (7,), (97,), (1000,), (10007,), (3, 5), (2, 601), (2, 3, 7), (5, 1, 1)]


def every_id(global_size, local_size):
    """For each work-item, as SYCL counts: `(global, local, group, linears...)`, in row-major order of global ids."""
    for ids in itertools.product(*map(range, global_size)):
        local = tuple(i % n for i, n in zip(ids, local_size, strict=True))
        group = tuple(i // n for i, n in zip(ids, local_size, strict=True))
        groups = tuple(n // s for n, s in zip(global_size, local_size, strict=True))
        yield ids, local, group, linear(ids, global_size), linear(local, local_size), linear(group, groups)


def linear(ids, sizes):
    total = 0
    for i, n in zip(ids, sizes, strict=True):
        total = total * n + i
    return total


@pytest.mark.parametrize(("global_size", "local_size"), RANGES, ids=str)
def test_ids_in_one_to_three_dimensions(global_size, local_size):
    dimensions = len(global_size)

    @xe.kernel(sub_group_size=8)
    def write(wg, out):
        at, group = wg.global_linear_id(), wg.local_linear_id() * 0
        rows = [wg.global_id(d) for d in range(dimensions)]
        rows += [wg.local_id(d) for d in range(dimensions)]
        rows += [wg.group_id(d) + group for d in range(dimensions)]
        rows += [wg.global_linear_id(), wg.local_linear_id(), wg.group_linear_id() + group]
        rows += [wg.sub_group.local_id(), wg.sub_group.group_id()]
        for number, row in enumerate(rows):
            out = out.at[number, at].set(row)
        return out

    nd_range = xe.NDRange(global_size, local_size)
    out = xe.launch(write, nd_range, device="hd530")(
        np.full((3 * dimensions + 5, math.prod(global_size)), -1, np.int32)
    )
    expected = [
        (*ids, *local, *group, total, own, number, own % 8, own // 8)
        for ids, local, group, total, own, number in every_id(global_size, local_size)
    ]
    np.testing.assert_array_equal(np.asarray(out).T, expected)


@pytest.mark.parametrize(("global_size", "local_size"), RANGES, ids=str)
def test_sizes_are_python_ints_and_ids_have_the_groups_shape(global_size, local_size):
    seen = []

    @xe.kernel(sub_group_size=16)
    def look(wg, x):
        dimensions = range(len(global_size))
        sizes = [tuple(f(d) for d in dimensions) for f in (wg.global_range, wg.local_range, wg.group_range)]
        seen.append((*sizes, wg.size, wg.sub_group.size))
        ids = [wg.local_id(), wg.global_id(), wg.local_linear_id(), wg.global_linear_id()]
        ids += [wg.sub_group.local_id(), wg.sub_group.group_id()]
        scalars = [wg.group_id(), wg.group_linear_id()]
        seen.append(({i.shape for i in ids}, {s.shape for s in scalars}, {i.dtype.name for i in ids + scalars}))
        return x

    xe.launch(look, xe.NDRange(global_size, local_size), device="a770")(np.zeros(1, np.float32))
    groups = tuple(n // s for n, s in zip(global_size, local_size, strict=True))
    assert seen[0] == (global_size, local_size, groups, math.prod(local_size), 16)
    assert all(type(n) is int for size in seen[0][:3] for n in size)
    assert seen[1] == ({local_size}, {()}, {"int32"})


@pytest.mark.parametrize(("device", "size"), [("hd530", 16), ("max1550", 32)])
def test_the_devices_sub_group_size_holds_where_the_kernel_requires_none(device, size):
    seen = []

    @xe.kernel
    def look(wg, x):
        seen.append(wg.sub_group.size)
        return x

    xe.launch(look, xe.NDRange(64, 64), device=device)(np.zeros(1, np.int32))
    assert seen == [size]


# --- Barriers and fences ---


def test_a_barrier_returns_what_it_is_given():
    seen = []

    @xe.kernel
    def look(wg, x):
        a, b = wg.local(2, jnp.int32, name="a"), wg.local((3, 4), jnp.uint8, name="b")
        for barrier in (wg.barrier, wg.sub_group.barrier, wg.fence):
            assert barrier() is None
            a = barrier(a)
            a, b, x = barrier(a, b, x)
            seen.append([(m.name, m.space, m.shape) for m in (a, b, x)])
        a = wg.barrier(a, where=wg.local_id() < 8)
        wg.fence(a, order="seq_cst", scope="device")
        return x

    xe.launch(look, xe.NDRange(8, 8))(np.zeros(1, np.int32))
    assert seen == [[("a", "local", (2,)), ("b", "local", (3, 4)), ("x", "global", (1,))]] * 3


def test_work_items_meet_at_a_barrier():
    """Each reads what another has written: reversing a tile."""

    @xe.kernel
    def reverse(wg, x, out):
        tile, lid = wg.local(wg.size, x.dtype), wg.local_id()
        tile = wg.barrier(tile.at[lid].set(x[wg.global_id()]))
        return out.at[wg.global_id()].set(tile[wg.size - 1 - lid])

    x = np.arange(35, dtype=np.int16)
    out = xe.launch(reverse, xe.NDRange(35, 7))(x, np.zeros_like(x))
    np.testing.assert_array_equal(out, x.reshape(5, 7)[:, ::-1].reshape(-1))


# --- Block loads and stores ---


@pytest.mark.parametrize("space", ["global", "local"])
@pytest.mark.parametrize("items", [8, 16, 20, 5])
def test_a_block_message_moves_consecutive_elements(space, items):
    """Of a group whose last sub-group may be partial; the base is a scalar or one value per sub-group."""

    @xe.kernel(sub_group_size=8)
    def move(wg, x, uniform, each):
        sg, i = wg.sub_group, wg.global_id()
        memory = x
        if space == "local":
            memory = wg.local(x.shape, x.dtype)
            everything = np.broadcast_to(np.arange(*x.shape, dtype=np.int32), (items, *x.shape))
            memory = wg.barrier(memory.at[everything].set(x[everything]))
        uniform = uniform.at[i].set(sg.load(memory, 3))
        first = wg.group_id() * items + 8 * sg.group_id()
        return uniform, sg.store(each, first, sg.load(memory, 2 * sg.group_id()))

    x = np.random.default_rng(0).integers(0, 99, 40).astype(np.int32)
    blank = np.zeros(2 * items, np.int32)
    uniform, each = xe.launch(move, xe.NDRange(2 * items, items), device="hd530")(x, blank, blank)
    item = np.arange(2 * items) % items
    np.testing.assert_array_equal(uniform, x[3 + item % 8])
    np.testing.assert_array_equal(each, x[2 * (item // 8) + item % 8])


def test_a_block_message_out_of_bounds():
    @xe.kernel(sub_group_size=8)
    def move(wg, x, out):
        out = wg.sub_group.store(out, 13, wg.local_id())
        return wg.sub_group.store(out, 0, wg.sub_group.load(x, -3))

    x = np.arange(10, 20, dtype=np.int32)
    out = xe.launch(move, xe.NDRange(8, 8), device="hd530")(x, np.full(16, -1, np.int32))
    bad = poison("int32")
    np.testing.assert_array_equal(out, [bad, bad, bad, 10, 11, 12, 13, 14, *[-1] * 5, 0, 1, 2])


# --- Plain ranges ---


@pytest.mark.parametrize("size", PLAIN, ids=str)
def test_a_plain_range_has_every_work_item_once(size):
    @xe.kernel
    def visit(wg, visits, ids, total):
        at = tuple(wg.global_id(d) for d in range(len(size)))
        assert tuple(wg.global_range(d) for d in range(len(size))) == size
        ids = ids.at[at].set(wg.global_linear_id())
        return visits.atomic[at].add(1), ids, total.atomic[0].add(1)

    blank = np.zeros(size, np.int32)
    visits, ids, total = xe.launch(visit, xe.NDRange(size))(blank, blank, np.zeros(1, np.int32))
    np.testing.assert_array_equal(visits, np.ones(size))
    np.testing.assert_array_equal(ids, np.arange(math.prod(size)).reshape(size))
    assert np.asarray(total) == [math.prod(size)]


@pytest.mark.parametrize("size", [1, 13, 1009])
def test_a_plain_range_leaves_what_lies_beyond_it(size):
    """The work-items that fill up the last group do not exist: they store nothing, and no atomic of theirs counts."""

    @xe.kernel
    def write(wg, out, old):
        i = wg.global_id()
        mine = wg.private(2, jnp.int32).at[i % 2].set(i)
        out = out.at[i].set(mine[i % 2])
        got, out = out.atomic[size + 1].fetch_add(1)
        return out, old.at[i].set(got)

    out, old = xe.launch(write, xe.NDRange(size))(np.full(2 * size + 2, -1, np.int32), np.zeros(size, np.int32))
    expected = np.full(2 * size + 2, -1)
    expected[:size] = np.arange(size)
    expected[size + 1] = size - 1
    np.testing.assert_array_equal(out, expected)
    assert sorted(np.asarray(old).tolist()) == list(range(-1, size - 1))


def test_a_plain_range_takes_the_required_work_group_size():
    seen = []

    @xe.kernel(work_group_size=(2, 3))
    def look(wg, x):
        seen.append((wg.local_range(0), wg.local_range(1)))
        return x.at[wg.global_id(0), wg.global_id(1)].set(wg.global_linear_id())

    out = xe.launch(look, xe.NDRange((4, 9)))(np.zeros((4, 9), np.int32))
    assert seen == [(2, 3)]
    np.testing.assert_array_equal(out, np.arange(36).reshape(4, 9))


@pytest.mark.parametrize(
    ("what", "use"),
    [
        ("local memory", lambda wg: wg.local(4, jnp.int32)),
        ("a barrier", lambda wg: wg.barrier()),
        ("a group algorithm", lambda wg: wg.reduce(wg.local_id(), "add")),
        ("a group algorithm", lambda wg: wg.inclusive_scan(wg.local_id(), "add")),
        ("a group algorithm", lambda wg: wg.exclusive_scan(wg.local_id(), "add")),
        ("a group algorithm", lambda wg: wg.broadcast(wg.local_id(), 0)),
        ("a group algorithm", lambda wg: wg.any(wg.local_id())),
        ("a group algorithm", lambda wg: wg.all(wg.local_id())),
        ("a group algorithm", lambda wg: wg.none(wg.local_id())),
        ("a sub-group", lambda wg: wg.sub_group.size),
        ("a group algorithm", lambda wg: jnp.sum(wg.local_id())),
    ],
)
def test_a_plain_range_has_no_group_features(what, use):
    @xe.kernel
    def kernel(wg, x):
        return x.at[wg.global_id()].set(jnp.where(use(wg) is None, 1, 2))

    with pytest.raises(
        xe.KernelArgumentError, match=f"the kernel uses {what}, but it is launched over a plain range"
    ) as e:
        xe.launch(kernel, xe.NDRange(10))(np.zeros(10, np.int32))
    assert e.value.code == "kernel_argument"
    assert "give the launch a local size: xe.NDRange((10,), local_size)\n  at " in str(e.value)
    assert f"{os.path.relpath(__file__)}:{use.__code__.co_firstlineno}: " in str(e.value)
