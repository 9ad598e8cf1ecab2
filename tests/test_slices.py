"""Accesses whose addresses form a strided pattern: the results of NumPy, and neither gathers nor scatters."""

import functools
import itertools

import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.launching import executables

GROUPS, N = 5, 16
DATA = np.arange(GROUPS * N * 4, dtype=np.int32) * 7 % 1000
BLANK = np.zeros(GROUPS * N, np.int32)
NARROW, SQUARE = xe.NDRange(GROUPS * N, N), xe.NDRange((GROUPS * 4, 4), (4, 4))


def looks_up(kernel, nd_range, *arguments):
    """True if a launch gathers or scatters."""
    ready = launches.prepared(kernel, nd_range, arguments, device="max1550")
    text = str(jax.make_jaxpr(ready.emit)(*arguments))
    return " gather[" in text or " scatter" in text


def launched(kernel, nd_range, *arguments):
    return np.asarray(xe.launch(kernel, nd_range)(*arguments))


@pytest.mark.parametrize(
    "index",
    [
        lambda wg: wg.global_id() * 4,
        lambda wg: wg.global_range(0) - 1 - wg.global_id(),
        lambda wg: wg.local_id() * 3 + 1,
        lambda wg: wg.group_id() + wg.local_id() * wg.group_range(0),
        lambda wg: wg.global_id() % wg.size,
        lambda wg: 2 * wg.group_id() + 0 * wg.local_id(),
    ],
    ids=["strided", "reversed", "shared", "interleaved", "remainder", "one for the group"],
)
def test_loads_of_patterns(index):
    @xe.kernel
    def kernel(wg, data, out):
        return out.at[wg.global_id()].set(data[index(wg)])

    group, item = np.divmod(np.arange(GROUPS * N), N)

    class Ids:
        size = N
        global_id = staticmethod(lambda: group * N + item)
        local_id = staticmethod(lambda: item)
        group_id = staticmethod(lambda: group)
        global_range = staticmethod(lambda d: GROUPS * N)
        group_range = staticmethod(lambda d: GROUPS)

    np.testing.assert_array_equal(launched(kernel, NARROW, DATA, BLANK), DATA[index(Ids)])
    assert not looks_up(kernel, NARROW, DATA, BLANK)


@xe.kernel
def transposed(wg, data, out):
    x, y = wg.local_id(0), wg.local_id(1)
    tile = wg.local((4, 4), jnp.int32)
    tile = wg.barrier(tile.at[y, x].set(data[wg.global_id(0) * 4 + y]))
    return out.at[wg.global_id(0) * 4 + y].set(tile[x, y] + 10 * tile[x, 3] + 100 * tile[0, y])


def test_tiles_rows_and_columns():
    tiles = DATA[: GROUPS * N].reshape(GROUPS, 4, 4).transpose(0, 2, 1)
    expected = tiles + 10 * tiles[:, :, 3:] + 100 * tiles[:, :1]
    np.testing.assert_array_equal(launched(transposed, SQUARE, DATA[: GROUPS * N], BLANK), expected.ravel())
    assert not looks_up(transposed, SQUARE, DATA[: GROUPS * N], BLANK)


@xe.kernel
def backwards(wg, data, out):
    shared = wg.local(N, jnp.int32)
    shared = wg.barrier(shared.at[N - 1 - wg.local_id()].set(data[wg.global_id()], where=data[wg.global_id()] % 2 == 0))
    return out.at[wg.global_id()].set(shared.load(wg.local_id(), where=data[wg.global_range(0) - 1] > -1, other=0))


def test_a_masked_store_that_runs_backwards():
    group, item = np.divmod(np.arange(GROUPS * N), N)
    source = DATA[: GROUPS * N].reshape(GROUPS, N)[group, N - 1 - item]
    got = launched(backwards, NARROW, DATA[: GROUPS * N], BLANK)
    np.testing.assert_array_equal(got[source % 2 == 0], source[source % 2 == 0])
    assert len(set(got[source % 2 == 1])) == 1  # uninitialised


@xe.kernel
def last_entry(wg, data, out):
    """The work-items beyond the table all store its last entry."""
    index = jnp.minimum(wg.local_id(), 9)
    table = wg.local(10, jnp.int32)
    table = wg.barrier(table.at[index].set(data[index]))
    return out.at[wg.global_id()].set(table[9 - wg.local_id() // 2])


def test_stores_of_one_value_to_one_element():
    expected = DATA[9 - np.arange(GROUPS * N) % N // 2]
    np.testing.assert_array_equal(launched(last_entry, NARROW, DATA, BLANK), expected)


@pytest.mark.every(4)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.float32])
@pytest.mark.parametrize(
    ("op", "ufunc"), [("add", np.add), ("sub", np.subtract), ("min", np.minimum), ("max", np.maximum)]
)
@pytest.mark.parametrize("place", ["one", "row", "own", "backwards"])
def test_atomic_updates_of_patterns(op, ufunc, place, dtype):
    """All work-items update one element, groups the same row, each its own, or the same from the end."""

    @xe.kernel
    def kernel(wg, data, out):
        ids = {"one": 3, "row": wg.local_id(), "own": wg.global_id(), "backwards": N - 1 - wg.local_id()}
        update = getattr(out.atomic[ids[place]], op)
        return update(data[wg.global_id()], where=data[wg.global_id()] % 3 != 0)

    data = DATA[: GROUPS * N].astype(dtype)
    group, item = np.divmod(np.arange(GROUPS * N), N)
    places = {"one": 0 * item + 3, "row": item, "own": group * N + item, "backwards": N - 1 - item}[place]
    expected = np.full(GROUPS * N, 50, dtype)
    ufunc.at(expected, places[data % 3 != 0], data[data % 3 != 0])
    before = np.full(GROUPS * N, 50, dtype)
    np.testing.assert_array_equal(launched(kernel, NARROW, data, before), expected)
    with jax.enable_x64(np.dtype(dtype).itemsize == 8):
        assert not looks_up(kernel, NARROW, data, before)


@pytest.mark.parametrize(("op", "ufunc"), [("and_", np.bitwise_and), ("or_", np.bitwise_or), ("xor", np.bitwise_xor)])
def test_bits_of_all_work_items(op, ufunc):
    @xe.kernel
    def kernel(wg, data, out):
        return getattr(out.atomic[2], op)(data[wg.global_id()])

    before = np.full(4, 0x5A5A, np.int32)
    expected = before.copy()
    ufunc.at(expected, np.full(GROUPS * N, 2), DATA[: GROUPS * N])
    np.testing.assert_array_equal(launched(kernel, NARROW, DATA[: GROUPS * N], before), expected)
    assert not looks_up(kernel, NARROW, DATA[: GROUPS * N], before)


def test_adding_nothing_leaves_a_negative_zero():
    @xe.kernel
    def kernel(wg, data, out):
        return out.atomic[wg.local_id()].add(data[wg.global_id()], where=data[wg.global_id()] > 0)

    before = np.full(N, -0.0, np.float32)
    assert np.signbit(launched(kernel, NARROW, np.full(GROUPS * N, -1, np.float32), before)).all()


@pytest.mark.parametrize("index", [lambda i: 2 * i - 3, lambda i: 60 - i])
def test_a_strided_pattern_that_leaves_the_memory(index):
    """Loads give the poison and stores are dropped, as ever."""

    @xe.kernel
    def kernel(wg, data, out):
        i = wg.global_id()
        return out.at[i].set(data.load(index(i), where=i >= 0, other=-5) & 0xFFFF)

    short = DATA[:40]
    places = index(np.arange(GROUPS * N))
    inside = (places >= 0) & (places < 40)
    got = launched(kernel, NARROW, short, BLANK)
    np.testing.assert_array_equal(got[inside], short[places[inside]])
    assert len(set(got[~inside])) == 1


def test_private_copies_of_one_element_are_stored_to_one_by_one():
    @xe.kernel
    def kernel(wg, out):
        i, lid = wg.global_linear_id(), wg.local_id()
        own = wg.private(3, jnp.int32)
        for k in range(3):
            own = own.at[k].set(0)
        own = own.at[(lid * lid) % 3].set(i + 1)
        return out.at[i].set(own[0] * 10000 + own[1] * 100 + own[2])

    i = np.arange(GROUPS * N)
    expected = (i + 1) * np.array([10000, 100, 1])[(i % N) ** 2 % 3]
    np.testing.assert_array_equal(launched(kernel, NARROW, BLANK), expected)


@pytest.mark.parametrize("which", range(7))
def test_choices_between_what_groups_share_and_what_they_do_not(which):
    """Scalars that differ between groups next to others that do not."""

    def chosen(g, x, where, clamp):
        return [
            where(g > 1, g, 7),
            where(g > 1, 7, g),
            where(x[0] > -1, g, 7),
            where(x[g] > 1, x[g], x[0]),
            where(g > 1, 3, 7),
            where(x[g] > 1, 3, 7),
            clamp(x[g], x[0], x[g + 2]),
        ][which]

    @xe.kernel
    def kernel(wg, x, out):
        return out.at[wg.global_id()].set(chosen(wg.group_id(), x, jnp.where, lax.clamp))

    clamp = lambda low, value, high: np.minimum(np.maximum(value, low), high)  # noqa: E731
    expected = np.repeat([chosen(g, DATA, np.where, clamp) for g in range(GROUPS)], N)
    np.testing.assert_array_equal(launched(kernel, NARROW, DATA, BLANK), expected)


@pytest.mark.every(2)
@pytest.mark.parametrize("op", ["add", "sub", "min", "max", "xor"])
@pytest.mark.parametrize("local_size", [256, 32])
def test_many_atomic_operations_on_one_element(op, local_size):
    n = 2**15
    data = (np.arange(n, dtype=np.int32) * 7919 + 13) % 100_003 - 50_000
    odd = np.arange(n) % 3 == 0

    @xe.kernel
    def kernel(wg, data, words):
        i = wg.global_id()
        words = getattr(words.atomic[0], op)(data[i])
        return getattr(words.atomic[1], op)(data[i], where=i % 3 == 0)

    got = launched(kernel, xe.NDRange(n, local_size), data, np.array([5, -5], np.int32))
    combine = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "xor": np.bitwise_xor}[op]
    for word, start, values in ((got[0], 5, data), (got[1], -5, data[odd])):
        assert word == functools.reduce(combine, values.astype(np.int64), np.int64(start)).astype(np.int32)


# --- Launches of several dimensions ---


@xe.kernel
def placed(wg, data, out, row, column, *, how):
    """Elements of a matrix of the launch's size by the ids of both dimensions, or of the last two of three."""
    last = len(out.shape) - 1 if how != "flat" else 1
    i, j = wg.global_id(last - 1), wg.global_id(last)
    n, m = wg.global_range(last - 1), wg.global_range(last)
    if how == "transposed":
        return out.at[j, i].set(data[i, j] + row[i])
    if how == "flat":
        return out.at[i * m + j].set(data[(n - 1 - i) * m + j] + column[j])
    if how == "added":
        return out.atomic[i, j].add(data[i, j] * row[i])
    if how == "tile":
        x, y = wg.local_id(last - 1), wg.local_id(last)
        tile = wg.barrier(wg.local((wg.local_range(0), wg.local_range(1)), jnp.int32).at[x, y].set(data[i, j]))
        return out.at[i, j].set(tile[wg.local_range(0) - 1 - x, y])
    k = wg.global_id(0)
    return out.at[k, i, j].set(data[i, j] + 1000 * k)


def placed_by_numpy(data, out, row, column, how, local):
    match how:
        case "transposed":
            return (data + row[:, None]).T
        case "flat":
            return (data.reshape(row.size, -1)[::-1] + column).reshape(-1)
        case "added":
            return out + data * row[:, None]
        case "tile":
            return data.reshape(-1, local, data.shape[1])[:, ::-1].reshape(data.shape)
    return data + 1000 * np.arange(out.shape[0])[:, None, None]


@pytest.mark.every(4)
@pytest.mark.parametrize("memory_bytes", [None, 1, 1 << 9, 1 << 12, 1 << 14])
@pytest.mark.parametrize("groups", [(5, 7), (8, 4), (1, 6), (6, 1), (16, 16)])
@pytest.mark.parametrize("how", ["transposed", "flat", "added", "tile", "three"])
def test_launches_of_several_dimensions(how, groups, memory_bytes):
    (n, m), (a, b) = (4 * groups[0], 2 * groups[1]), (4, 2)
    rng = np.random.default_rng(n * m)
    data = rng.integers(100, size=(n, m), dtype=np.int32)
    row, column = np.arange(n, dtype=np.int32), 50 * np.arange(m, dtype=np.int32)
    out = rng.integers(100, size={"transposed": (m, n), "three": (3, n, m)}.get(how, (n, m)), dtype=np.int32)
    if how == "flat":
        data, out = data.reshape(-1), out.reshape(-1)
    nd_range = xe.NDRange((3, n, m), (1, a, b)) if how == "three" else xe.NDRange((n, m), (a, b))
    launch = xe.launch(placed, nd_range, memory_bytes=memory_bytes)
    expected = placed_by_numpy(data, out, row, column, how, a)
    np.testing.assert_array_equal(launch(data, out, row, column, how=how), expected)


@pytest.mark.parametrize(
    ("how", "memory_bytes"),
    [("transposed", None), *itertools.product(("flat", "added", "tile"), (None, 1 << 14))],
)
def test_a_block_of_groups_of_two_dimensions_is_a_window(how, memory_bytes):
    data = np.zeros((256, 256), np.int32)
    arguments = data, data, np.zeros(256, np.int32), np.zeros(256, np.int32)
    if how == "flat":
        arguments = data.reshape(-1), data.reshape(-1), *arguments[2:]
    ready = launches.prepared(
        placed, xe.NDRange((256, 256), (16, 16)), arguments, {"how": how}, "max1550", memory_bytes
    )
    assert ready.cut.chunk > 1
    with jax.enable_x64(ready.program.wide):
        text = str(jax.make_jaxpr(ready.emit)(*arguments))
    assert " gather[" not in text
    assert " scatter" not in text


@xe.kernel
def transposed_to(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory):
    i, j = wg.global_id(0), wg.global_id(1)
    return y.at[j, i].set(x[i, j])


def test_a_transposition_looks_nothing_up():
    x = np.arange(2048 * 1024, dtype=np.int32).reshape(2048, 1024)
    nd_range, arguments = xe.NDRange(x.shape, (8, 8)), (x, np.zeros(x.shape[::-1], np.int32))
    assert not looks_up(transposed_to, nd_range, *arguments)
    np.testing.assert_array_equal(xe.launch(transposed_to, nd_range)(*arguments), x.T)


@xe.kernel
def scaled_rows(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory, *, parts: int):
    """Each group scales a row to the sum of 1, a part of it at a time, and puts the sum at its end."""
    row, lid = wg.group_id(), wg.local_id()
    found = [x[row, lid + k * wg.size] for k in range(parts)]
    total = wg.reduce(sum(found), "add")
    for k, part in enumerate(found):
        y = y.at[row, lid + k * wg.size].set(part // total, where=None if k else lid < wg.size - 1)
    return y.at[row, parts * wg.size].set(total)


@pytest.mark.parametrize("memory_bytes", [None, 1, 1 << 16])
def test_a_memory_that_is_written_part_by_part(memory_bytes):
    """No part is scattered element by element, and no part makes a copy of the memory."""
    x = np.random.default_rng(5).integers(1, 100, (1 << 11, 1 << 7), dtype=np.int32) << 8
    y = np.full((x.shape[0], x.shape[1] + 1), -1, np.int32)
    total = x.sum(1, keepdims=True, dtype=np.int32)
    expected = np.concatenate([x // total, total], 1)
    expected[:, 31] = -1
    nd_range = xe.NDRange(32 << 11, 32)
    ready = launches.prepared(scaled_rows, nd_range, (x, y), {"parts": 4}, "max1550", memory_bytes)
    assert "update_window_dims=()" not in str(jax.make_jaxpr(ready.emit)(x, y))
    executable = executables.executable(ready)
    np.testing.assert_array_equal(executable.run((x, y))[0], expected)
    assert executable._working_bytes < y.nbytes


@xe.kernel
def vectors(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory, *, parts: int, last: bool):
    """The components of a vector for each work-item, side by side; perhaps all but the last one."""
    i = wg.global_linear_id()
    for k in range(parts if last else parts - 1):
        y = y.at[parts * i + k].set(x[i] * (k + 1))
    return y


@pytest.mark.parametrize("memory_bytes", [None, 1, 1000])
@pytest.mark.parametrize(("parts", "last"), [(2, True), (3, True), (3, False), (8, False)])
def test_components_side_by_side(parts, last, memory_bytes):
    x, nd_range = np.arange(1, 1025, dtype=np.int32), xe.NDRange(1024, 32)
    y = np.full((1024, parts), -1, np.int32)
    expected = x[:, None] * np.arange(1, parts + 1)
    expected[:, parts - 1] = expected[:, parts - 1] if last else -1
    launch = xe.launch(vectors, nd_range, memory_bytes=memory_bytes)
    np.testing.assert_array_equal(launch(x, y.reshape(-1), parts=parts, last=last), expected.reshape(-1))
    ready = launches.prepared(vectors, nd_range, (x, y.reshape(-1)), {"parts": parts, "last": last}, "max1550")
    assert "update_window_dims=()" not in str(jax.make_jaxpr(ready.emit)(x, y.reshape(-1)))


@xe.kernel
def in_several_shapes(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory, *, how: str):
    """The even elements, then a line, the odd ones, or what was there before."""
    i, n = wg.global_linear_id(), wg.global_range(0)
    y = y.at[2 * i].set(x[i])
    if how == "line":
        return y.at[2 * n + i].set(x[i] + 1)
    if how == "other rows":
        return y.at[2 * n + 4 * i].set(x[i] + 1, where=i < n // 4)
    if how == "loaded":
        return y.at[2 * i + 1].set(y[2 * i] + 1)
    if how == "beyond":
        return y.at[2 * i + 2 * n - 7].set(x[i] + 1)
    return lax.cond((wg.group_id() % 2) == 0, lambda y: y.at[2 * i + 1].set(x[i] + 1), lambda y: y, y)


@pytest.mark.every(2)
@pytest.mark.parametrize("memory_bytes", [None, 1])
@pytest.mark.parametrize("how", ["line", "other rows", "loaded", "beyond", "branch"])
def test_stores_that_do_not_agree(how, memory_bytes):
    n = 512
    x, y = np.arange(100, 100 + n, dtype=np.int32), np.full(3 * n, -1, np.int32)
    expected = y.copy()
    for group in range(n // 32):
        i = np.arange(group * 32, group * 32 + 32)
        expected[2 * i] = x[i]
        if how == "line":
            expected[2 * n + i] = x[i] + 1
        elif how == "other rows":
            expected[2 * n + 4 * i[i < n // 4]] = x[i[i < n // 4]] + 1
        elif how == "loaded":
            expected[2 * i + 1] = x[i] + 1
        elif how == "beyond":
            inside = 2 * i + 2 * n - 7 < 3 * n
            expected[2 * i[inside] + 2 * n - 7] = x[i[inside]] + 1
        elif group % 2 == 0:
            expected[2 * i + 1] = x[i] + 1
    got = xe.launch(in_several_shapes, xe.NDRange(n, 32), memory_bytes=memory_bytes)(x, y, how=how)
    np.testing.assert_array_equal(got, expected)
