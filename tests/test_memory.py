"""Loads, stores and atomics of the kernel language, each against a plain Python loop."""

import inspect
import itertools
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest

import xeemu as xe
from xeemu.language.memory import poison

ITEMS, GROUPS = 6, 3
SIZE = ITEMS * GROUPS
RANGE = xe.NDRange(SIZE, ITEMS)
DTYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)
ATOMIC_TYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")


def some(dtype: Any, shape: Any, seed: int = 0) -> np.ndarray:
    """Values that use all the bits of a dtype."""
    random, dtype = np.random.default_rng(seed), jnp.dtype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if jnp.issubdtype(dtype, jnp.floating):
        return random.normal(scale=1e3, size=shape).astype(dtype)
    info = jnp.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype, endpoint=True)


def assert_same(given: Any, expected: np.ndarray) -> None:
    """The same dtype, shape and bits (any NaN is as good as another)."""
    given = np.asarray(given)
    assert given.dtype == expected.dtype
    assert given.shape == expected.shape
    if jnp.issubdtype(given.dtype, jnp.floating):
        given, expected = given.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(given, expected)


def run(function: Any, *arguments: Any, nd_range: xe.NDRange = RANGE, **static: Any) -> Any:
    return xe.launch(xe.kernel(function), nd_range)(*arguments, **static)


# --- Plain loads and stores ---


@pytest.mark.every(4)
@pytest.mark.parametrize("shape", [(SIZE,), (3, 6), (3, 2, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_passes_unchanged_through_every_space(dtype, shape):
    """From global memory over local and private memory of the same rank, by computed indices."""

    def copy(wg, x, place, out, *, shape):
        own, mine = wg.local(shape, x.dtype), wg.private(shape, x.dtype)
        index = jnp.unravel_index(place[wg.global_id()], shape)
        to = jnp.unravel_index(wg.global_id(), shape)
        own = wg.barrier(own.at[index].set(x[index]))
        mine = mine.at[to].set(own[index])
        return out.at[to].set(mine[to])

    x = some(dtype, shape)
    place = np.random.default_rng(1).permutation(SIZE).astype(np.int32)
    out = run(copy, x, place, np.zeros_like(x), shape=shape)
    assert_same(out, x.reshape(-1)[place].reshape(shape))


def test_a_memory_tells_its_shape_dtype_space_and_name():
    seen = []

    def look(wg, x):
        tile = wg.local((2, 3), jnp.uint8)
        bins = wg.private(4, jnp.float32, name="histogram")
        seen.extend((m.shape, m.dtype, m.space, m.name, m.ndim) for m in (x, tile, bins))
        return x

    run(look, np.zeros((5, 2), np.int16))
    assert seen == [
        ((5, 2), np.dtype("int16"), "global", "x", 2),
        ((2, 3), np.dtype("uint8"), "local", "tile", 2),
        ((4,), np.dtype("float32"), "private", "histogram", 1),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_was_never_written_is_poison(dtype):
    def look(wg, local, private, outside):
        i = wg.global_id()
        local = local.at[i].set(wg.local(4, local.dtype)[wg.local_id() % 4])
        private = private.at[i].set(wg.private(4, local.dtype)[wg.local_id() % 4])
        return local, private, outside.at[i].set(outside[i + outside.shape[0]])

    results = run(look, *[np.zeros(SIZE, jnp.dtype(dtype)) for _ in range(3)])
    for result in results:
        assert_same(result, np.full(SIZE, poison(dtype)))


@pytest.mark.parametrize(
    ("dtype", "value"), [("bool", True), ("int8", -91), ("uint16", 0xA5A5), ("int32", -0x5A5A5A5B), ("uint64", None)]
)
def test_poison_is_a_fixed_pattern(dtype, value):
    assert poison(dtype) == (0xA5A5_A5A5_A5A5_A5A5 if value is None else value)


def test_local_memory_is_poisoned_anew_for_each_group():
    def leave(wg, out):
        own = wg.local(ITEMS, jnp.int32)
        out = out.at[wg.global_id()].set(own[wg.local_id()])
        own = own.at[wg.local_id()].set(7)
        return out

    for memory_bytes in (1, None):
        out = xe.launch(xe.kernel(leave), RANGE, memory_bytes=memory_bytes)(np.zeros(SIZE, np.int32))
        assert_same(out, np.full(SIZE, poison("int32")))


# --- Bounds: an index out of them never wraps, clamps or crashes ---

OUTSIDE = {
    "int8": [-1, -128],
    "uint8": [5, 200],
    "int16": [-(2**15), 2**15 - 1],
    "uint16": [2**16 - 1],
    "int32": [-1, -5, -(2**31), 5, 2**31 - 1],
    "uint32": [2**31, 2**32 - 1],
    "int64": [-1, 2**32, -(2**32) + 1, 2**63 - 1],
    "uint64": [2**32 + 1, 2**64 - 1],
}


def loaded(values: np.ndarray, index: Any) -> Any:
    """What a load by one index gives."""
    index = index if isinstance(index, tuple) else (index,)
    inside = all(0 <= int(i) < n for i, n in zip(index, values.shape, strict=True))
    return values[tuple(map(int, index))] if inside else poison(values.dtype)


def stored(values: np.ndarray, indices: Any, written: Any) -> np.ndarray:
    """The memory after the stores, one after the other."""
    values = values.copy()
    for index, x in zip(indices, written, strict=True):
        index = index if isinstance(index, tuple) else (index,)
        if all(0 <= int(i) < n for i, n in zip(index, values.shape, strict=True)):
            values[tuple(map(int, index))] = x
    return values


@pytest.mark.every(2)
@pytest.mark.parametrize("given", ["data", "constants"])
@pytest.mark.parametrize("dtype", OUTSIDE)
def test_an_index_out_of_bounds_gives_poison_and_stores_nothing(dtype, given):
    index = np.array([*(OUTSIDE[dtype] * 6)[: SIZE - 5], 0, 1, 2, 3, 4], dtype)[::-1].copy()
    x = np.arange(10, 15, dtype=np.int32)

    def access(wg, x, index, out, target):
        i = wg.global_id()
        place = index[i] if given == "data" else jnp.asarray(constant)
        return out.at[i].set(x[place]), target.at[place].set(i + 1)

    constant = index[:ITEMS]
    nd_range = RANGE if given == "data" else xe.NDRange(ITEMS, ITEMS)
    used = index if given == "data" else constant
    if dtype in ("int64", "uint64") and given == "constants":
        x = x.astype(np.int64)  # with 32-bit memories alone JAX knows no 64-bit constants
    out, target = run(access, x, index, np.zeros(len(used), x.dtype), np.zeros(5, np.int32), nd_range=nd_range)
    assert_same(out, np.array([loaded(x, i) for i in used], x.dtype))
    assert_same(target, stored(np.zeros(5, np.int32), used, np.arange(1, len(used) + 1)))


@pytest.mark.every(3)
@pytest.mark.parametrize(("dtype", "start"), [(d, s) for d, starts in OUTSIDE.items() for s in starts])
def test_consecutive_and_scalar_indices_out_of_bounds_do_not_wrap(dtype, start):
    """`start + local_id`, computed without overflow in the index's own dtype, where a slice would be tempting."""

    def access(wg, x, start, out, scalar, target):
        i = wg.global_id()
        low, high = int(jnp.iinfo(dtype).min), int(jnp.iinfo(dtype).max) - ITEMS
        base = jnp.clip(start, jnp.asarray(low, dtype), jnp.asarray(high, dtype))
        place = base + wg.local_id().astype(dtype)
        scalar = scalar.at[i].set(jnp.broadcast_to(x[start], (ITEMS,)))
        return out.at[i].set(x[place]), scalar, target.at[place].set(wg.local_id())

    x, zeros = np.arange(10, 18, dtype=np.int32), np.zeros(SIZE, np.int32)
    out, scalar, target = run(access, x, np.dtype(dtype).type(start), zeros, zeros, np.zeros(8, np.int32))
    places = [min(start, int(jnp.iinfo(dtype).max) - ITEMS) + lane for lane in range(ITEMS)]
    assert_same(out, np.array([loaded(x, p) for p in places] * GROUPS))
    assert_same(scalar, np.full(SIZE, loaded(x, start)))
    assert_same(target, stored(np.zeros(8, np.int32), places, range(ITEMS)))


@pytest.mark.parametrize("start", [-1, -ITEMS, 5, 2**31 - 1, -(2**31), 2**32, 2**33 + 1, -(2**32)])
def test_a_python_int_index_out_of_bounds_gives_poison(start):
    def access(wg, x, out):
        return out.at[wg.global_id()].set(jnp.broadcast_to(x[start], (ITEMS,)))

    x = np.arange(10, 15, dtype=np.int64)
    assert_same(run(access, x, np.zeros(SIZE, np.int64)), np.full(SIZE, poison("int64")))


@pytest.mark.every(2)
@pytest.mark.parametrize("space", ["global", "local", "private"])
@pytest.mark.parametrize("row", [-1, 0, 2, 3])
@pytest.mark.parametrize("column", [-1, 4, 5])
def test_bounds_hold_in_each_dimension(space, row, column):
    """A column beyond its row is out of bounds, though the next row lies behind it."""
    x = np.arange(3 * 5, dtype=np.int32).reshape(3, 5)

    def access(wg, x, row, out):
        everything = tuple(np.broadcast_to(i.reshape(1, 15), (ITEMS, 15)) for i in np.indices((3, 5), np.int32))
        memory = x
        if space != "global":
            memory = (wg.local if space == "local" else wg.private)((3, 5), jnp.int32)
            memory = memory.at[everything].set(x[everything])
        place = (row + wg.local_id() - wg.local_id(), jnp.full(ITEMS, column))
        memory = memory.at[place].set(memory[place] + 1)
        out = out.at[wg.global_id()[:, None], np.arange(15, dtype=np.int32)[None]].set(memory[everything])
        return (memory, out) if space == "global" else out

    out = run(access, x, np.int32(row), np.zeros((ITEMS, 15), np.int32), nd_range=xe.NDRange(ITEMS, ITEMS))
    expected = stored(x, [(row, column)], [loaded(x, (row, column)) + np.int32(1)])
    assert_same(out[1] if space == "global" else out, np.tile(expected.reshape(-1), (ITEMS, 1)))


def test_atomics_out_of_bounds_do_nothing_and_fetch_poison():
    def update(wg, x, index, out):
        x = x.atomic[index[wg.global_id()]].add(1)
        old, x = x.atomic[index[wg.global_id()]].fetch_add(10)
        seen = x.atomic[index[wg.global_id()]].load()
        return x, out.at[wg.global_id(), 0].set(old).at[wg.global_id(), 1].set(seen)

    index = np.array([-1, 5, 2, -(2**31), 2**31 - 1, -5] * GROUPS, np.int32)
    x, out = run(update, np.zeros(5, np.int32), index, np.zeros((SIZE, 2), np.int32))
    assert_same(x, np.array([0, 0, 11 * GROUPS, 0, 0], np.int32))
    outside = np.arange(SIZE) % ITEMS != 2
    assert (np.asarray(out)[outside] == poison("int32")).all()
    assert (np.asarray(out)[~outside] != poison("int32")).all()


def test_a_memory_without_elements_is_all_out_of_bounds():
    def access(wg, x, out):
        old, x = x.at[wg.local_id()].set(1).atomic[wg.local_id()].fetch_add(1)
        return x, out.at[wg.global_id(), 0].set(x[wg.local_id()]).at[wg.global_id(), 1].set(old)

    x, out = run(access, np.zeros(0, np.int32), np.zeros((SIZE, 2), np.int32))
    assert x.shape == (0,)
    assert_same(out, np.full((SIZE, 2), poison("int32")))


# --- Masks ---


@pytest.mark.every(3)
@pytest.mark.parametrize("mask", ["static", "data", "group", "all", "none", "scalar"])
@pytest.mark.parametrize("index", ["lane", "data", "uniform", "group"])
def test_masked_work_items_take_no_part(mask, index):
    """Indices and masks of every kind; the masked-out work-items point out of bounds where they can."""
    active = np.random.default_rng(0).integers(0, 2, SIZE).astype(bool)
    place = np.where(active, np.arange(SIZE)[::-1], -7).astype(np.int32)

    def masks(active, items, groups):
        return {
            "static": items % ITEMS < 4,
            "data": active,
            "group": groups == 1,
            "all": items < 2 * SIZE,
            "none": items < 0,
        }

    def access(wg, x, active, place, out, target):
        i, group = wg.global_id(), wg.group_id()
        where = i[0] >= ITEMS if mask == "scalar" else masks(active[i], wg.local_id(), group)[mask]
        at = {"lane": i, "data": place[i], "uniform": 2, "group": place[group]}[index]
        out = out.at[i].set(x.load(at, where=where, other=-wg.local_id()))
        return out, target.at[at].set(wg.local_id() + 1, where=where)

    x = np.arange(10, 10 + SIZE, dtype=np.int32)
    zeros = np.zeros(SIZE, np.int32)
    out, target = run(access, x, active, place, zeros, zeros)
    items, groups = np.arange(SIZE) % ITEMS, np.arange(SIZE) // ITEMS
    where = np.broadcast_to(groups > 0 if mask == "scalar" else masks(active, items, groups)[mask], SIZE)
    at = {"lane": np.arange(SIZE), "data": place, "uniform": np.full(SIZE, 2), "group": place[groups]}[index]
    expected = [loaded(x, a) if w else -i for a, w, i in zip(at, where, items, strict=True)]
    assert_same(out, np.array(expected, np.int32))
    candidates = {(int(a), int(i) + 1) for a, w, i in zip(at, where, items, strict=True) if w}
    written = stored(zeros, at[where], items[where] + 1)
    np.testing.assert_array_equal(np.asarray(target) != 0, written != 0)
    assert all((a, v) in candidates for a, v in enumerate(np.asarray(target).tolist()) if v)


def test_other_is_zero_unless_given_and_may_be_a_python_scalar():
    def access(wg, x, out):
        i = wg.global_id()
        none = i < 0
        out = out.at[i, 0].set(x.load(i, where=none))
        out = out.at[i, 1].set(x.load(i, where=none, other=2.5))
        return out.at[i, 2].set(x.load(0, where=False, other=3))

    out = run(access, np.ones(SIZE, np.float32), np.full((SIZE, 3), 9, np.float32))
    assert_same(out, np.tile(np.array([0, 2.5, 3], np.float32), (SIZE, 1)))


# --- Scalars, private axes, vectors ---


def test_only_a_load_by_scalars_gives_a_scalar():
    shapes = []

    def look(wg, x):
        mine = wg.private(2, jnp.int32).at[0].set(1)
        lid = wg.local_id()
        loads = [x[0], x[wg.group_id()], x.load(0, where=wg.group_id() == 0), x.atomic[0].load()]
        loads += [x[lid], x.load(0, where=lid > 2), x.load(0, where=True), mine[0], x[lid[:1]]]
        shapes.extend(value.shape for value in loads)
        return x

    run(look, np.zeros(SIZE, np.int32))
    assert shapes == [(), (), (), (), (ITEMS,), (ITEMS,), (), (ITEMS,), (ITEMS,)]


def test_one_work_item_writes_by_where():
    def write(wg, out, count):
        first = wg.local_linear_id() == 0
        out = out.at[wg.group_id()].set(wg.group_id() + 1, where=first)
        return out, count.atomic[0].add(1, where=first).atomic[1].add(1)

    out, count = run(write, np.zeros(GROUPS, np.int32), np.zeros(2, np.int32))
    np.testing.assert_array_equal(out, np.arange(GROUPS) + 1)
    np.testing.assert_array_equal(count, [GROUPS, SIZE])


def test_trailing_axes_are_private_to_the_work_item():
    """Vector loads and stores; a missing private axis broadcasts, and so does one of size 1."""

    def access(wg, x, rows, spread, summed):
        i = wg.global_id()
        vector = x[4 * i[:, None] + np.arange(4, dtype=np.int32)]
        rows = rows.at[i, np.arange(4, dtype=np.int32)[None] + jnp.zeros((ITEMS, 1), jnp.int32)].set(vector)
        spread = spread.at[4 * i[:, None] + np.arange(4, dtype=np.int32)].set(i)
        matrix = x.load(
            (4 * i)[:, None, None] + np.array([[0, 1], [2, 3]], np.int32),
            where=(i % 2 == 0)[:, None],
            other=jnp.asarray([[5, 6]])[None],
        )
        return rows, spread, summed.at[i].set(matrix.sum((1, 2)) + vector.sum(1))

    x = np.random.default_rng(0).integers(0, 99, 4 * SIZE).astype(np.int32)
    zeros = np.zeros(4 * SIZE, np.int32)
    rows, spread, summed = run(access, x, zeros.reshape(SIZE, 4), zeros, np.zeros(SIZE, np.int32))
    assert_same(rows, x.reshape(SIZE, 4))
    assert_same(spread, np.repeat(np.arange(SIZE), 4).astype(np.int32))
    sums = x.reshape(SIZE, 4).sum(1)
    assert_same(summed, np.where(np.arange(SIZE) % 2, sums + 22, 2 * sums).astype(np.int32))


def test_private_axes_in_a_two_dimensional_group():
    def access(wg, x, out):
        row, column = wg.global_id(0), wg.global_id(1)
        halves = x[row[..., None], 2 * column[..., None] + np.arange(2, dtype=np.int32)]
        return out.at[row, column].set(halves[..., 0] - halves[..., 1], where=(column % 3 != 0))

    x = np.random.default_rng(0).integers(0, 99, (4, 12)).astype(np.int32)
    out = run(access, x, np.full((4, 6), 7, np.int32), nd_range=xe.NDRange((4, 6), (2, 3)))
    expected = np.where(np.arange(6) % 3 != 0, x[:, ::2] - x[:, 1::2], 7)
    assert_same(out, expected.astype(np.int32))


def test_axes_of_size_one_broadcast_over_the_group():
    def access(wg, out):
        row, column = jnp.arange(2)[:, None], jnp.arange(3)[None]
        return out.at[row, column].set(10 * row + column, where=column > 0)

    out = run(access, np.zeros((2, 3), np.int32), nd_range=xe.NDRange((2, 3), (2, 3)))
    assert_same(out, np.array([[0, 1, 2], [0, 11, 12]], np.int32))


@pytest.mark.parametrize("dynamic", [False, True])
def test_each_work_item_sees_its_own_private_memory(dynamic):
    def access(wg, x, out):
        mine, i = wg.private((2, 3), jnp.int32), wg.global_id()
        for k in range(6):
            mine = mine.at[k // 3, k % 3].set(100 * i + k)
        place = x[i] if dynamic else jnp.full(ITEMS, 4)
        mine = mine.at[place // 3, place % 3].set(-i, where=i % 2 == 0)
        for k in range(6):
            out = out.at[i, k].set(mine[k // 3, k % 3])
        return out

    x = (np.arange(SIZE) * 5 % 6).astype(np.int32)
    expected = 100 * np.arange(SIZE)[:, None] + np.arange(6)
    for i in range(0, SIZE, 2):
        expected[i, x[i] if dynamic else 4] = -i
    assert_same(run(access, x, np.zeros((SIZE, 6), np.int32)), expected.astype(np.int32))


def test_an_update_leaves_the_other_elements_and_the_arguments_alone():
    def write(wg, x):
        return x.at[wg.global_id() * 2].set(5)

    x = np.arange(2 * SIZE + 3, dtype=np.int16)
    before = x.copy()
    given = jnp.asarray(x)
    expected = x.copy()
    expected[: 2 * SIZE : 2] = 5
    assert_same(run(write, given), expected)
    assert_same(run(write, x), expected)
    assert_same(given, before)
    assert_same(x, before)


def test_an_unchanged_memory_can_be_returned():
    x, y = np.arange(5, dtype=np.int32), np.arange(SIZE, dtype=np.int32)

    def identity(wg, x, y):
        return {"y": y.at[wg.global_id()].set(1), "x": (x,)}

    result = run(identity, x, y)
    assert_same(result["x"][0], x)
    assert_same(result["y"], np.ones(SIZE, np.int32))


# --- Atomics ---

UPDATES = {
    "add": operator.add,
    "sub": operator.sub,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
ELEMENTS = 5


def atomic_cases() -> list[Any]:
    integer_only = ("and", "or", "xor")
    return [
        pytest.param(op, dtype, id=f"{op}-{dtype}")
        for op, dtype in itertools.product(UPDATES, ATOMIC_TYPES)
        if not (op in integer_only and dtype.startswith("float"))
    ]


def operands(dtype: str, count: int, seed: int) -> np.ndarray:
    """Floats are small integers, whose sums are exact in any order."""
    if dtype.startswith("float"):
        return np.random.default_rng(seed).integers(-50, 50, count).astype(dtype)
    return some(dtype, count, seed)


@pytest.mark.every(6)
@pytest.mark.parametrize(("op", "dtype"), atomic_cases())
def test_atomic_updates_of_local_and_global_memory(op, dtype):
    """Work-items meet in few elements; some are masked out, some point out of bounds."""
    random = np.random.default_rng(7)
    index = random.integers(-1, ELEMENTS + 1, SIZE).astype(np.int32)
    active = random.integers(0, 5, SIZE) > 0
    initial, x = operands(dtype, ELEMENTS, 1), operands(dtype, SIZE, 2)
    plain = f"{op}_" if op in ("and", "or") else op

    def update(wg, initial, index, x, active, memory, local, old):
        first, second = wg.local(ELEMENTS, x.dtype), wg.local(ELEMENTS, x.dtype)
        lid, i, group = wg.local_id(), wg.global_id(), wg.group_id()
        few = lid < ELEMENTS
        first = wg.barrier(first.at[lid].set(initial[lid], where=few))
        second = wg.barrier(second.at[lid].set(initial[lid], where=few))
        first = wg.barrier(getattr(first.atomic[index[i]], plain)(x[i], where=active[i]))
        got, second = getattr(second.atomic[index[i]], f"fetch_{op}")(x[i], where=active[i])
        second = wg.barrier(second)
        local = local.at[group, 0, lid].set(first[lid], where=few).at[group, 1, lid].set(second[lid], where=few)
        memory = getattr(memory.atomic[index[i]], plain)(x[i], where=active[i])
        return memory, local, old.at[i].set(got)

    blank = np.zeros((GROUPS, 2, ELEMENTS), dtype)
    memory, local, old = run(update, initial, index, x, active, initial, blank, np.zeros(SIZE, dtype))
    part, combine = active & (index >= 0) & (index < ELEMENTS), UPDATES[op]
    with np.errstate(over="ignore"):
        expected, own = initial.copy(), np.tile(initial, (GROUPS, 1))
        for i in np.flatnonzero(part):
            expected[index[i]] = combine(expected[index[i]], x[i])
            own[i // ITEMS, index[i]] = combine(own[i // ITEMS, index[i]], x[i])
        assert_same(memory, expected)
        assert_same(local, np.stack([own, own], 1))
        for group in range(GROUPS):
            rows = slice(group * ITEMS, (group + 1) * ITEMS)
            check_old_values(combine, initial, own[group], np.asarray(old)[rows], index[rows], x[rows], part[rows])


def check_old_values(combine, initial, final, old, index, x, part):
    np.testing.assert_array_equal(old[~part], poison(old.dtype))
    for element in range(ELEMENTS):
        items = np.flatnonzero(part & (index == element))
        changes = [(old[k], combine(old[k], x[k])) for k in items]
        assert oracle.serial_order_exists(initial[element], final[element], changes), (element, changes)


@pytest.mark.parametrize("dtype", ATOMIC_TYPES)
def test_atomic_store_load_and_exchange(dtype):
    """Of those who store to one element some one stays; those who exchange hand on what they found."""

    def update(wg, memory, x, out):
        lid = wg.local_id()
        place = lid % 2
        memory = memory.atomic[place].store(x[lid])
        out = out.at[lid, 0].set(memory.atomic[place].load())
        old, memory = memory.atomic[place].exchange(x[ITEMS + lid])
        return memory, out.at[lid, 1].set(old)

    x = operands(dtype, 2 * ITEMS, 3)
    memory, out = run(update, np.zeros(2, dtype), x, np.zeros((ITEMS, 2), dtype), nd_range=xe.NDRange(ITEMS, ITEMS))
    memory, out = np.asarray(memory), np.asarray(out)
    for place in range(2):
        mine = np.arange(place, ITEMS, 2)
        (kept,) = set(out[mine, 0].tolist())
        assert kept in x[mine].tolist()
        # Every value that was there is found once, or remains.
        found = [*out[mine, 1].tolist(), memory[place].item()]
        assert sorted(found) == sorted([kept, *x[ITEMS + mine].tolist()])


@pytest.mark.parametrize("dtype", ATOMIC_TYPES)
def test_compare_exchange_lets_one_win(dtype):
    def update(wg, memory, expected, desired, old):
        lid = wg.local_id()
        got, memory = memory.atomic[lid // 3].compare_exchange(expected[lid], desired[lid])
        return memory, old.at[lid].set(got)

    initial = np.array([1, 2], dtype)
    expected = np.array([1, 1, 0, 3, 4, 5], dtype)
    desired = np.array([1, 8, 9, 6, 7, 8], dtype)
    memory, old = run(update, initial, expected, desired, np.zeros(ITEMS, dtype), nd_range=xe.NDRange(ITEMS, ITEMS))
    assert_same(memory, np.array([8, 2], dtype))
    assert_same(old, np.array([1, 1, 1, 2, 2, 2], dtype))


def test_compare_exchange_compares_the_bits_of_floats():
    def update(wg, memory, old):
        got, memory = memory.atomic[wg.local_id()].compare_exchange(0.0, 1.0)
        return memory, old.at[wg.local_id()].set(got)

    initial = np.array([0.0, -0.0, np.nan], np.float32)
    memory, old = run(update, initial, np.zeros(3, np.float32), nd_range=xe.NDRange(3, 3))
    assert_same(memory, np.array([1.0, -0.0, np.nan], np.float32))
    np.testing.assert_array_equal(np.signbit(np.asarray(memory)[1:2]), [True])
    assert_same(old, initial)


def test_compare_exchange_loop_adds_like_an_atomic_add():
    """The lock-free update of every text book; in each round someone wins, whatever the order."""

    def update(wg, total, x):
        lid = wg.local_id()

        def attempt(state):
            total, todo = state
            seen = total.atomic[0].load(where=todo)
            old, total = total.atomic[0].compare_exchange(seen, seen + x[wg.global_id()], where=todo)
            return total, todo & (old != seen)

        return jax.lax.while_loop(lambda s: wg.any(s[1]), attempt, (total, lid >= 0))[0]

    x = np.arange(1, SIZE + 1, dtype=np.int32)
    np.testing.assert_array_equal(run(update, np.zeros(1, np.int32), x), [x.sum()])


@pytest.mark.every(2)
@pytest.mark.parametrize("order", ["relaxed", "acquire", "release", "acq_rel", "seq_cst"])
@pytest.mark.parametrize("scope", ["sub_group", "work_group", "device", "system"])
def test_read_modify_writes_take_every_order_and_scope(order, scope):
    def update(wg, total):
        return total.atomic(order=order, scope=scope)[0].add(1)

    np.testing.assert_array_equal(run(update, np.zeros(1, np.int32)), [SIZE])


def test_atomics_with_private_axes_and_scalar_operands():
    def update(wg, bins, old):
        pair = wg.global_id()[:, None] % 2 + np.array([0, 2], np.int32)
        bins = bins.atomic[pair].add(1)
        got, bins = bins.atomic[4].fetch_add(wg.group_id())
        return bins, old.at[wg.global_id()].set(got)

    bins, old = run(update, np.zeros(5, np.int32), np.zeros(SIZE, np.int32))
    np.testing.assert_array_equal(bins, [SIZE // 2] * 4 + [ITEMS * sum(range(GROUPS))])
    assert sorted(np.asarray(old).tolist()) == sorted(sum(sorted(np.arange(SIZE) // ITEMS)[:k]) for k in range(SIZE))


def test_float_atomics_are_the_same_bits_when_asked_for():
    def update(wg, total, x):
        return total.atomic[0].add(x[wg.global_id()])

    size = 1 << 10
    x = np.random.default_rng(0).normal(size=size).astype(np.float32)
    kernel, nd_range = xe.kernel(update), xe.NDRange(size, 64)
    results = [
        np.asarray(xe.launch(kernel, nd_range, deterministic=True)(np.zeros(1, np.float32), x)) for _ in range(2)
    ]
    assert results[0].tobytes() == results[1].tobytes()
    np.testing.assert_allclose(results[0], [x.sum(dtype=np.float64)], rtol=1e-5)


def test_old_values_of_float_sums_are_partial_sums():
    """Each work-item finds what its predecessors left, but for rounding."""

    def update(wg, total, x, old):
        got, total = total.atomic[0].fetch_add(x[wg.global_id()])
        return total, old.at[wg.global_id()].set(got)

    x = np.random.default_rng(0).normal(size=ITEMS).astype(np.float32)
    one_group = xe.NDRange(ITEMS, ITEMS)
    total, old = run(update, np.zeros(1, np.float32), x, np.zeros(ITEMS, np.float32), nd_range=one_group)
    sums = np.cumsum(x, dtype=np.float64)
    np.testing.assert_allclose(old, [0, *sums[:-1]], rtol=1e-5)
    np.testing.assert_allclose(total, sums[-1:], rtol=1e-5)


def test_the_atomic_methods_are_those_of_the_contract():
    from xeemu.language.memory import AtomicTo

    methods = {name for name, _ in inspect.getmembers(AtomicTo, inspect.isfunction) if not name.startswith("_")}
    updates = ("add", "sub", "min", "max", "and", "or", "xor")
    plain = {f"{op}_" if op in ("and", "or") else op for op in updates}
    assert methods == {"load", "store", "exchange", "compare_exchange", *plain, *(f"fetch_{op}" for op in updates)}
