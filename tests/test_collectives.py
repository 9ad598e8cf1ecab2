"""Group and sub-group algorithms, each against a plain loop over the work-items."""

import dataclasses
import functools
import itertools
import math
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.language.collectives import OPERATIONS, identity
from xeemu.language.memory import poison

DEVICE, LANES, GROUPS = "hd530", 8, 2
SHAPES = [(5,), (20,), (3, 7), (2, 3, 4)]
COMBINE = {
    "add": operator.add,
    "mul": operator.mul,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
REDUCTIONS = ("reduce", "inclusive_scan", "exclusive_scan")


def combine(op: str, values: Any, dtype: np.dtype) -> Any:
    """All values combined from the left, in the dtype; the neutral element if there is none."""
    neutral = {"add": 0, "mul": 1, "or": 0, "xor": 0, "and": True if dtype.kind == "b" else -1}.get(op)
    if neutral is None:
        neutral = {"min": greatest, "max": least}[op](dtype)
    start = np.array(neutral).astype(dtype)[()]
    return functools.reduce(lambda a, b: np.asarray(COMBINE[op](a, b)).astype(dtype)[()], values, start)


def least(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return False
    return -np.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min


def greatest(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return True
    return np.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).max


def rows(count: int, lanes: int) -> list[range]:
    """The work-items of each sub-group, of which the last may be partial."""
    return [range(first, min(first + lanes, count)) for first in range(0, count, lanes)]


def reduced(kind: str, op: str, x: np.ndarray, lanes: int) -> np.ndarray:
    """`x` `[items]`; what each work-item gets."""
    out = np.empty_like(x)
    with np.errstate(all="ignore"):
        for row in rows(len(x), lanes):
            for k, item in enumerate(row):
                end = {"reduce": len(row), "inclusive_scan": k + 1, "exclusive_scan": k}[kind]
                out[item] = combine(op, x[row.start : row.start + end], x.dtype)
    return out


def moved(source: Any, x: np.ndarray, argument: np.ndarray, lanes: int) -> np.ndarray:
    """Each lane gets `x` of the lane `source(lane, argument)`, or poison if there is no such lane."""
    out = np.full_like(x, poison(x.dtype))
    for row in rows(len(x), lanes):
        for lane, item in enumerate(row):
            wanted = source(lane, int(argument[item]))
            if 0 <= wanted < len(row):
                out[item] = x[row[wanted]]
    return out


MOVES = {
    "broadcast": lambda lane, a: a,
    "select": lambda lane, a: a,
    "shift_left": lambda lane, a: lane + a,
    "shift_right": lambda lane, a: lane - a,
    "rotate": lambda lane, a: (lane + a) % LANES,
    "permute_xor": lambda lane, a: lane ^ a,
}


def some(dtype: Any, size: Any, seed: int = 0) -> np.ndarray:
    """Small values of both signs, such that products of floats stay exact."""
    dtype, random = jnp.dtype(dtype), np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.integers(0, 4, size) > 0
    if jnp.issubdtype(dtype, jnp.floating):
        return random.choice([-2.0, -1.0, 1.0, 1.0, 1.0, 1.0], size).astype(dtype)
    return random.integers(0 if dtype.kind == "u" else -9, 10, size).astype(dtype)


def operations(dtype: Any) -> list[str]:
    floating = jnp.issubdtype(jnp.dtype(dtype), jnp.floating)
    return [op for op in OPERATIONS if not (floating and op in ("and", "or", "xor"))]


def run_on_all(function: Any, x: np.ndarray, shape: tuple[int, ...], count: int, out_dtype: Any = None) -> np.ndarray:
    """`function(wg, x)` gives `count` arrays; returns them as `[count, groups, items]`."""

    @xe.kernel(sub_group_size=LANES)
    def kernel(wg, x, out):
        i = wg.group_linear_id() * wg.size + wg.local_linear_id()
        for number, result in enumerate(function(wg, x[i])):
            out = out.at[number, i].set(jnp.broadcast_to(result, shape))
        return out

    nd_range = xe.NDRange((GROUPS * shape[0], *shape[1:]), shape)
    out = xe.launch(kernel, nd_range, device=DEVICE)(x, np.zeros((count, x.size), out_dtype or x.dtype))
    return np.asarray(out).reshape(count, GROUPS, -1)


def check_reductions(shape: tuple[int, ...], dtype: Any, level: str) -> None:
    x = some(dtype, GROUPS * math.prod(shape))
    cases = list(itertools.product(REDUCTIONS, operations(dtype)))
    lanes = LANES if level == "sub_group" else math.prod(shape)

    def everything(wg, value):
        where = wg.sub_group if level == "sub_group" else wg
        return [getattr(where, kind)(value, op) for kind, op in cases]

    results = run_on_all(everything, x, shape, len(cases))
    for (kind, op), result in zip(cases, results, strict=True):
        for own, given in zip(x.reshape(GROUPS, -1), result, strict=True):
            expected = reduced(kind, op, own, lanes)
            np.testing.assert_array_equal(given.astype(float), expected.astype(float), err_msg=f"{kind} {op}")


@pytest.mark.parametrize("level", ["group", "sub_group"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions_and_scans_in_groups_of_every_shape(shape, level):
    check_reductions(shape, np.int32, level)


@pytest.mark.thorough
@pytest.mark.every(4)
@pytest.mark.parametrize("level", ["group", "sub_group"])
@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint16", "int64", "uint64", "float16", "bfloat16", "float32", "float64"],
)
def test_reductions_and_scans_of_every_dtype(dtype, level):
    check_reductions((11,), dtype, level)


@pytest.mark.parametrize("shape", [*SHAPES, (16,), (12,)], ids=str)
def test_chunks_of_a_sub_group_reduce_for_themselves(shape):
    """In the last shapes the sub-groups are full, and the chunks alone; in most, the last chunk is partial."""
    x = some(np.int32, GROUPS * math.prod(shape))
    cases = list(itertools.product(OPERATIONS, (1, 2, 4, LANES)))

    def everything(wg, value):
        return [wg.sub_group.reduce(value, op, chunk=chunk) for op, chunk in cases]

    results = run_on_all(everything, x, shape, len(cases))
    for (op, chunk), result in zip(cases, results, strict=True):
        for own, given in zip(x.reshape(GROUPS, -1), result, strict=True):
            np.testing.assert_array_equal(given, reduced("reduce", op, own, chunk), err_msg=f"{op} {chunk}")


@pytest.mark.parametrize("shape", [*SHAPES, (16,), (12,)], ids=str)
def test_chunks_of_a_sub_group_rotate_for_themselves(shape):
    x = some(np.int32, GROUPS * math.prod(shape), 1)
    cases = list(itertools.product((0, 1, 5, -3), (1, 2, 4, LANES, None)))

    def everything(wg, value):
        return [wg.sub_group.rotate(value, delta, chunk=chunk) for delta, chunk in cases]

    results = run_on_all(everything, x, shape, len(cases))
    for (delta, chunk), result in zip(cases, results, strict=True):
        lanes = chunk or LANES
        for own, given in zip(x.reshape(GROUPS, -1), result, strict=True):
            expected = moved(lambda lane, a, n=lanes: (lane + a) % n, own, np.full(len(own), delta), lanes)
            np.testing.assert_array_equal(given, expected, err_msg=f"{delta} {chunk}")


def test_sub_groups_of_any_size_rotate():
    odd = dataclasses.replace(xe.device("cpu"), sub_group_sizes=(24,), default_sub_group_size=24)

    @xe.kernel
    def around(wg, x, out):
        i = wg.global_id()
        return out.at[i].set(wg.sub_group.rotate(x[i], -5) * 100 + wg.sub_group.rotate(x[i], x[0] + 30))

    x = np.arange(48, dtype=np.int32)
    rows = x.reshape(-1, 24)
    expected = np.roll(rows, 5, 1) * 100 + np.roll(rows, -30, 1)
    found = xe.launch(around, xe.NDRange(48, 48), device=odd)(x, np.zeros_like(x))
    np.testing.assert_array_equal(found, expected.ravel())


@xe.kernel(sub_group_size=16)
def turned(wg, x, out, *, delta: Any = 1, chunk: Any = None):
    """Work-items below 0 get what others below 0 have, each that of the one some lanes above."""
    i = wg.global_id()
    found = wg.cond(x[i] < 0, lambda: wg.sub_group.rotate(x[i], delta, chunk=chunk), lambda: x[i])
    return out.at[i].set(found)


@pytest.mark.parametrize("schedule", [None, 0, 1])
def test_a_rotation_of_chunks_that_are_active_as_a_whole_takes_no_lane_that_is_not(schedule):
    signs = np.array([-1, 1, 1, -1, 1, -1, -1, 1]).repeat(8)
    x = (np.random.default_rng(8).integers(1, 99, 64) * signs).astype(np.int32)
    expected = np.where(x < 0, np.roll(x.reshape(-1, 8), -3, 1).ravel(), x)
    nd_range, arguments = xe.NDRange(64, 32), (x, np.zeros_like(x))
    found = xe.launch(turned, nd_range, schedule=schedule)(*arguments, delta=3, chunk=8)
    np.testing.assert_array_equal(found, expected)
    assert not xe.check(turned, nd_range)(*arguments, delta=3, chunk=8)[1]


@pytest.mark.parametrize(("chunk", "said"), [(None, ""), (16, ""), (8, " in chunks of 8")])
def test_a_rotation_is_listed_and_costs_one_step(chunk, said):
    x = np.full(64, -1, np.int32)
    _, report = xe.profile(turned, xe.NDRange(64, 64), device="max1550")(x, np.zeros_like(x), chunk=chunk)
    assert report.instructions["shuffle"] == 4
    assert f"sub_group rotate{said} (" in str(xe.trace(turned, xe.NDRange(64, 64), device="max1550")(x, x, chunk=chunk))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"chunk": 3}, "a chunk of 3 lanes of a sub-group of 16; give a power of two of at most 16"),
        ({"delta": 1.5}, "the distance of a group algorithm has dtype float32; it is an integer: convert it"),
    ],
)
def test_what_is_no_rotation_is_refused(given, said):
    x = np.zeros(64, np.int32)
    with pytest.raises(xe.KernelError, match=said + r".*\n  at .*rotate"):
        xe.launch(turned, xe.NDRange(64, 64), device="max1550")(x, x, **given)


@xe.kernel(sub_group_size=16)
def chunked(wg, x, out, *, chunk: Any = 4):
    """Work-items below a bound that differs between sub-groups leave in chunks the sums of those beside them."""
    i = wg.global_id()
    total = wg.cond(x[i] > 0, lambda: wg.sub_group.reduce(x[i], "add", chunk=chunk), lambda: jnp.zeros_like(x[i]))
    return out.at[i].set(total)


@pytest.mark.parametrize("schedule", [None, 0, 1])
def test_a_reduction_in_chunks_leaves_out_who_is_not_active_in_every_order(schedule):
    x = np.random.default_rng(8).integers(-9, 10, 80).astype(np.int32)
    out = np.zeros_like(x)
    for group in range(0, 80, 40):
        for row in rows(40, 4):
            own = x[group : group + 40][row]
            out[group : group + 40][row] = np.where(own > 0, own[own > 0].sum(), 0)
    found = xe.launch(chunked, xe.NDRange(80, 40), schedule=schedule)(x, np.zeros_like(x))
    np.testing.assert_array_equal(found, out)
    assert not xe.check(chunked, xe.NDRange(80, 40))(x, np.zeros_like(x))[1]


@pytest.mark.parametrize(("chunk", "steps"), [(1, 0), (2, 1), (4, 2), (16, 4), (None, 4)])
def test_a_reduction_in_chunks_is_listed_and_costs_its_steps(chunk, steps):
    x = np.ones(64, np.int32)
    _, report = xe.profile(chunked, xe.NDRange(64, 64), device="max1550")(x, np.zeros_like(x), chunk=chunk)
    assert report.instructions.get("shuffle", 0) == 4 * steps
    text = "in chunks of" if steps < 4 else "sub_group reduce add ("
    assert text in str(xe.trace(chunked, xe.NDRange(64, 64), device="max1550")(x, x, chunk=chunk))


@pytest.mark.parametrize(
    ("chunk", "said"),
    [
        (3, "a chunk of 3 lanes of a sub-group of 16; give a power of two of at most 16"),
        (32, "a chunk of 32 lanes of a sub-group of 16; give a power of two of at most 16"),
        (0, "a chunk of 0 lanes of a sub-group of 16; give a power of two of at most 16"),
        ("8", "the chunk of a sub-group is a str; give a Python int that is known as the kernel is traced: chunk=8"),
    ],
)
def test_what_is_no_chunk_is_refused(chunk, said):
    x = np.zeros(64, np.int32)
    with pytest.raises(xe.KernelError, match=said + r".*\n  at .*chunk=chunk"):
        xe.launch(chunked, xe.NDRange(64, 64), device="max1550")(x, x, chunk=chunk)


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lanes_exchange_values(shape):
    """By an argument of each lane, also beyond the sub-group; by the same for all."""
    items = GROUPS * math.prod(shape)
    x = some(np.int32, items, 1)
    chosen = np.random.default_rng(2).integers(-2, LANES + 3, items).astype(np.int32)
    uniform = (0, 1, 3, LANES - 1, LANES)
    cases = [*itertools.product(MOVES, uniform), ("shift_left", -1), ("shift_right", -2)]
    cases += [("rotate", -1), ("rotate", 2**31 - 1), ("rotate", -(2**31))]
    own = ("shift_left", "shift_right", "rotate", "permute_xor", "select")

    def everything(wg, value):
        argument = jnp.asarray(chosen)[wg.group_linear_id() * wg.size + wg.local_linear_id()]
        same = [getattr(wg.sub_group, kind)(value, a) for kind, a in cases]
        return same + [getattr(wg.sub_group, kind)(value, argument) for kind in own]

    results = run_on_all(everything, x, shape, len(cases) + len(own))
    arguments = [np.full(items, a) for _, a in cases] + [chosen] * len(own)
    kinds = [kind for kind, _ in cases] + list(own)
    for kind, argument, result in zip(kinds, arguments, results, strict=True):
        expected = [
            moved(MOVES[kind], one, a, LANES)
            for one, a in zip(x.reshape(GROUPS, -1), argument.reshape(GROUPS, -1), strict=True)
        ]
        np.testing.assert_array_equal(result, expected, err_msg=f"{kind} {argument[:3]}")


def test_a_broadcast_from_a_known_lane_takes_a_slice():
    def gathers(lane):
        @xe.kernel(sub_group_size=LANES)
        def spread(wg, x):
            i = wg.global_linear_id()
            return x.at[i].set(wg.sub_group.broadcast(x[i], lane))

        launch = xe.launch(spread, xe.NDRange(GROUPS * 20, 20), device=DEVICE)
        return str(jax.make_jaxpr(launch)(np.zeros(GROUPS * 20, np.int32))).count(" gather[")

    # Lane 4 is not there in the last sub-group of 20 work-items.
    assert [gathers(lane) for lane in (0, 3, 4)] == [0, 0, 1]


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_the_argument_of_an_exchange_has_any_integer_dtype(dtype):
    x = some(np.int64, GROUPS * 11, 3)

    def everything(wg, value):
        one = jnp.ones((), dtype)
        far = jnp.asarray(np.iinfo(dtype).max, dtype)
        arguments = (one, far, wg.local_id().astype(dtype) // one // jnp.full((), 2, dtype))
        return [getattr(wg.sub_group, kind)(value, a) for kind in MOVES if kind != "broadcast" for a in arguments]

    far = np.iinfo(dtype).max
    arguments = [np.full(11, 1), np.full(11, far, object), np.arange(11) // 2]
    results = run_on_all(everything, x, (11,), 15)
    cases = [(kind, a) for kind in MOVES if kind != "broadcast" for a in arguments]
    for (kind, argument), result in zip(cases, results, strict=True):
        expected = [moved(MOVES[kind], own, argument, LANES) for own in x.reshape(GROUPS, -1)]
        np.testing.assert_array_equal(result, expected, err_msg=f"{kind} {argument[:3]}")


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "bfloat16", "uint64", "float64"])
def test_an_absent_lane_gives_poison_of_every_dtype(dtype):
    x = some(dtype, GROUPS * 11)
    result = run_on_all(lambda wg, value: [wg.sub_group.shift_left(value, 3)], x, (11,), 1)[0]
    expected = [moved(MOVES["shift_left"], own, np.full(11, 3), LANES) for own in x.reshape(GROUPS, -1)]
    np.testing.assert_array_equal(result.astype(float), np.array(expected).astype(float))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_all_none(shape):
    """Of bools and, as in C++, of numbers."""
    x = (np.random.default_rng(4).integers(0, 5, GROUPS * math.prod(shape)) == 0).astype(np.int32)
    x[: math.prod(shape)] = 0

    def everything(wg, value):
        return [
            jnp.broadcast_to(getattr(where, kind)(given), shape).astype(jnp.int32)
            for where in (wg, wg.sub_group)
            for kind in ("any", "all", "none")
            for given in (value, value > 0, 1 - value)
        ]

    results = iter(run_on_all(everything, x, shape, 18))
    for lanes in (math.prod(shape), LANES):
        for kind in ("any", "all", "none"):
            for given in (x, x, 1 - x):
                for own, result in zip(given.reshape(GROUPS, -1), next(results), strict=True):
                    for row in rows(len(own), lanes):
                        held = {"any": own[row].any(), "all": own[row].all(), "none": not own[row].any()}[kind]
                        assert (result[row] == held).all(), (lanes, kind)


@pytest.mark.parametrize("shape", [*SHAPES, (32,)], ids=str)
def test_a_ballot_is_the_mask_of_the_lanes_and_a_sub_group_tells_how_many_there_are(shape):
    """Of bools and numbers, also of several elements of a work-item; that of an absent lane is no part of it."""
    x = (np.random.default_rng(5).integers(0, 3, GROUPS * math.prod(shape)) == 0).astype(np.int32)

    def everything(wg, value):
        several = wg.sub_group.ballot(jnp.stack([value > 0, value == 0], axis=-1))
        return [
            wg.sub_group.ballot(value),
            several[..., 0],
            several[..., 1],
            wg.sub_group.local_range().astype(jnp.uint32),
        ]

    held, also, empty, count = run_on_all(everything, x, shape, 4, np.uint32)
    np.testing.assert_array_equal(held, also)
    for number, own in enumerate(x.reshape(GROUPS, -1)):
        for row in rows(len(own), LANES):
            mask = sum(1 << lane for lane, item in enumerate(row) if own[item])
            assert (held[number, row] == mask).all()
            assert (empty[number, row] == (1 << len(row)) - 1 - mask).all()
            assert (count[number, row] == len(row)).all()


@pytest.mark.parametrize("schedule", range(3))
def test_a_ballot_compacts_what_holds_in_every_order(schedule):
    """The usual way to write the elements that hold one after the other, sub-group by sub-group."""

    @xe.kernel(sub_group_size=16)
    def compact(wg, x, out, counts):
        sg, i = wg.sub_group, wg.global_id()
        mask = sg.ballot(x[i] > 0)
        below = (np.uint32(1) << sg.local_id().astype(np.uint32)) - np.uint32(1)
        place = lax.population_count(mask & below).astype(np.int32)
        first = i - sg.local_id()
        out = out.at[first + place].set(x[i], where=x[i] > 0)
        count = lax.population_count(mask).astype(np.int32)
        return out, counts.at[i].set(count * 100 + sg.local_range())

    x = np.random.default_rng(7).integers(-9, 10, 80).astype(np.int32)
    arguments = (x, np.zeros_like(x), np.zeros_like(x))
    expected, counts = np.zeros_like(x), np.zeros_like(x)
    for group in range(0, 80, 40):
        for row in rows(40, 16):
            kept = [v for v in x[group : group + 40][row] if v > 0]
            expected[group + row.start :][: len(kept)] = kept
            counts[group : group + 40][row] = 100 * len(kept) + len(row)
    launches = [xe.launch(compact, xe.NDRange(80, 40), schedule=schedule), xe.launch(compact, xe.NDRange(80, 40))]
    for launch in launches:
        for found, right in zip(launch(*arguments), (expected, counts), strict=True):
            np.testing.assert_array_equal(found, right)
    assert not xe.check(compact, xe.NDRange(80, 40))(*arguments)[1]
    _, report = xe.profile(compact, xe.NDRange(80, 40))(*arguments)
    assert report.instructions["shuffle"] == 2 * 3
    assert "= sub_group ballot (" in str(xe.trace(compact, xe.NDRange(80, 40))(*arguments))


def test_a_ballot_of_more_lanes_than_a_mask_has_is_refused():
    @xe.kernel(sub_group_size=64)
    def wide(wg, out):
        return out.at[wg.global_id()].set(wg.sub_group.ballot(wg.local_id() > 3))  # here

    with pytest.raises(xe.KernelError, match=r"a ballot of 64 lanes does not fit uint32; .*\n.*# here"):
        xe.launch(wide, xe.NDRange(64, 64), device="cpu")(np.zeros(64, np.uint32))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_group_broadcasts_by_linear_id(shape):
    items = math.prod(shape)
    x = some(np.int32, GROUPS * items, 5)
    ids = [0, items // 2, items - 1, items, -1]
    results = run_on_all(lambda wg, value: [wg.broadcast(value, i) for i in ids], x, shape, len(ids))
    for i, result in zip(ids, results, strict=True):
        for own, given in zip(x.reshape(GROUPS, -1), result, strict=True):
            assert (given == (own[i] if 0 <= i < items else poison("int32"))).all()


def test_group_results_are_scalars_of_the_operands_dtype():
    shapes = []

    @xe.kernel
    def look(wg, x):
        value = jnp.ones(wg.size, jnp.uint8)
        results = [wg.reduce(value, "add"), wg.broadcast(value, 0), wg.inclusive_scan(value, "add")]
        results += [
            wg.any(value),
            wg.sub_group.reduce(value, "max"),
            wg.reduce(3, "add"),
            wg.reduce(value[:, None], "min"),
        ]
        shapes.extend((r.shape, r.dtype.name) for r in results)
        return x

    xe.launch(look, xe.NDRange(20, 20))(np.zeros(1, np.int32))
    per_item = (20,)
    assert shapes == [
        ((), "uint8"),
        ((), "uint8"),
        (per_item, "uint8"),
        ((), "bool"),
        (per_item, "uint8"),
        ((), "int32"),
        ((1,), "uint8"),
    ]


def test_private_axes_are_reduced_apart():
    """Each work-item has three values: three reductions at once."""
    x = some(np.int32, (GROUPS * 11, 3), 6)

    @xe.kernel(sub_group_size=LANES)
    def kernel(wg, x, group, lanes):
        i = wg.global_id()[:, None]
        own = np.arange(3, dtype=np.int32)[None]
        value = x[i, own]
        group = group.at[i, own].set(jnp.broadcast_to(wg.reduce(value, "max"), (11, 3)))
        lanes = lanes.at[0, i, own].set(wg.sub_group.exclusive_scan(value, "add"))
        lanes = lanes.at[1, i, own].set(wg.sub_group.permute_xor(value, 1))
        return group, lanes.at[2, i, own].set(jnp.broadcast_to(wg.broadcast(value, 4), (11, 3)))

    launch = xe.launch(kernel, xe.NDRange(GROUPS * 11, 11), device=DEVICE)
    group, lanes = launch(x, np.zeros_like(x), np.zeros((3, *x.shape), np.int32))
    for g, k in itertools.product(range(GROUPS), range(3)):
        own = x[g * 11 : (g + 1) * 11, k]
        given = np.asarray(lanes)[:, g * 11 : (g + 1) * 11, k]
        assert (np.asarray(group)[g * 11 : (g + 1) * 11, k] == own.max()).all()
        np.testing.assert_array_equal(given[0], reduced("exclusive_scan", "add", own, LANES))
        np.testing.assert_array_equal(given[1], moved(MOVES["permute_xor"], own, np.ones(11), LANES))
        assert (given[2] == own[4]).all()


def test_reductions_of_jnp_over_the_work_group_are_the_groups():
    x = some(np.float32, GROUPS * 12, 7)

    @xe.kernel
    def kernel(wg, x, out):
        value = x[wg.global_linear_id()]
        results = (jnp.sum(value), jnp.max(value), jnp.argmax(value.reshape(-1)).astype(jnp.float32), jnp.mean(value))
        for number, result in enumerate(results):
            out = out.at[number, wg.group_linear_id()].set(result, where=wg.local_linear_id() == 0)
        return out

    out = xe.launch(kernel, xe.NDRange((3, GROUPS * 4), (3, 4)))(x, np.zeros((4, GROUPS), np.float32))
    groups = x.reshape(3, GROUPS, 4).transpose(1, 0, 2).reshape(GROUPS, 12)
    expected = [groups.sum(1), groups.max(1), groups.argmax(1), groups.mean(1)]
    np.testing.assert_allclose(out, np.array(expected, np.float32), rtol=1e-6)


def test_a_uniform_operand_counts_once_for_each_work_item():
    results = run_on_all(
        lambda wg, value: [wg.reduce(1, "add"), wg.inclusive_scan(2, "add")], some(np.int32, 40), (20,), 2
    )
    assert (results[0] == 20).all()
    np.testing.assert_array_equal(results[1], [2 * np.arange(1, 21)] * GROUPS)


NEUTRAL = ("bool", "int8", "uint64", "float16", "bfloat16", "float64")


@pytest.mark.parametrize(("dtype", "op"), [(dtype, op) for dtype in NEUTRAL for op in operations(dtype)])
def test_the_identity_is_neutral(dtype, op):
    x = some(dtype, 9)
    np.testing.assert_array_equal([combine(op, [identity(op, dtype), v], x.dtype) for v in x], x)


def test_a_lane_that_is_known_although_groups_compute_it():
    """The argument is 0 for all groups, the value is the same for all."""

    @xe.kernel(sub_group_size=16)
    def kernel(wg, x, out):
        lane = wg.group_id() - wg.group_id()
        first = wg.sub_group.broadcast(wg.local_id() - 1, lane)
        return out.at[wg.global_id()].set(x[wg.global_id()] | first)

    x = np.arange(64, dtype=np.int32)
    out = xe.launch(kernel, xe.NDRange(64, 32))(x, np.zeros(64, np.int32))
    np.testing.assert_array_equal(out, x | np.where(x % 32 < 16, -1, 15))
