"""Loops and branches that work-items take differently: against the oracle, under schedules, checked and counted."""

from typing import Any
from unittest import mock

import examples
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

import xeemu as xe
from xeemu.language import divergence
from xeemu.language.memory import poison
from xeemu.launching import chunking

GROUPS, ITEMS, LANES = 3, 24, 8
RANGE = xe.NDRange(GROUPS * ITEMS, ITEMS)
DEVICE = "a770"
LAW = settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
VARIABLES = 3


# --- Random nests, as a kernel and as the program of one work-item ---

EXPRESSIONS = st.tuples(st.integers(0, VARIABLES - 1), st.integers(-3, 3), st.integers(0, 7))
SIMPLE = st.one_of(
    st.tuples(st.just("set"), st.integers(0, VARIABLES - 1), EXPRESSIONS),
    st.tuples(st.just("store"), EXPRESSIONS),
    st.tuples(st.just("count"), EXPRESSIONS, EXPRESSIONS),
    st.tuples(
        st.sampled_from(["reduce", "inclusive_scan", "exclusive_scan", "shift_left"]),
        st.integers(0, VARIABLES - 1),
        st.sampled_from(["add", "max", "xor"]),
        EXPRESSIONS,
    ),
)


def _nested(inner: Any) -> Any:
    block = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("cond"), EXPRESSIONS, block, block),
        st.tuples(st.just("for"), st.integers(0, VARIABLES - 1), EXPRESSIONS, EXPRESSIONS, block),
        st.tuples(st.just("while"), EXPRESSIONS, block),
    )


# A nest of two or three levels, then perhaps another statement.
BLOCKS = st.lists(st.one_of(_nested(st.one_of(SIMPLE, _nested(SIMPLE))), SIMPLE), min_size=1, max_size=2)
ALGORITHMS = ("reduce", "inclusive_scan", "exclusive_scan", "shift_left")


def value(values: Any, expression: tuple[int, int, int]) -> Any:
    variable, factor, summand = expression
    return values[variable] * np.int32(factor) + np.int32(summand)


def rendered(block: list[Any]) -> xe.Kernel:
    def execute(wg: Any, block: list[Any], state: Any) -> Any:
        for statement in block:
            state = one(wg, statement, *state)
        return state

    def one(wg: Any, statement: Any, values: Any, out: Any, counts: Any) -> Any:
        kind, sub_group = statement[0], wg.sub_group
        state = (values, out, counts)
        match statement:
            case ("set", variable, expression):
                values = replaced(values, variable, value(values, expression))
            case ("store", expression):
                out = out.at[wg.global_id()].set(value(values, expression))
            case ("count", where, expression):
                counts = counts.atomic[value(values, where) & 7].add(value(values, expression))
            case (_, variable, op, expression) if kind in ALGORITHMS:
                x = value(values, expression)
                found = sub_group.shift_left(x, 1) if kind == "shift_left" else getattr(sub_group, kind)(x, op)
                values = replaced(values, variable, found)
            case ("cond", expression, then, otherwise):
                even = value(values, expression) & 1 == 0
                sides = [lambda *state, side=side: execute(wg, side, state) for side in (then, otherwise)]
                return wg.cond(even, *sides, *state)
            case ("for", variable, low, high, body):

                def turn(i: Any, state: Any) -> Any:
                    return execute(wg, body, (replaced(state[0], variable, state[0][variable] + i), *state[1:]))

                return wg.fori_loop(value(values, low) & 3, value(values, high) & 7, turn, state)
            case ("while", expression, body):

                def step(carry: Any) -> Any:
                    left, state = carry
                    return left - 1 - (state[0][0] & 1), execute(wg, body, state)

                start = value(values, expression) & 7
                return wg.while_loop(lambda carry: carry[0] > 0, step, (start, state))[1]
        return values, out, counts

    @xe.kernel(sub_group_size=LANES)
    def nest(wg, x, out, counts):
        first = x[wg.global_id()]
        values, out, counts = execute(wg, block, ((first, wg.local_id(), first * 0), out, counts))
        for k in range(VARIABLES):
            out = out.at[(k + 1) * wg.global_range() + wg.global_id()].set(values[k])
        return out, counts

    return nest


def replaced(values: Any, variable: int, new: Any) -> Any:
    return tuple(new if k == variable else old for k, old in enumerate(values))


def told(block: list[Any]) -> Any:
    def execute(item: Any, block: list[Any], v: list[Any], out: Any, counts: Any, path: tuple[int, ...]) -> Any:
        for n, statement in enumerate(block):
            place = (*path, n)
            match statement:
                case ("set", variable, expression):
                    v[variable] = value(v, expression)
                case ("store", expression):
                    item.store(out, item.global_linear_id(), value(v, expression))
                case ("count", where, expression):
                    yield item.atomic(counts, value(v, where) & 7, "add", value(v, expression), place=place)
                case (kind, variable, op, expression) if kind in ALGORITHMS:
                    x, shifts = value(v, expression), kind == "shift_left"
                    v[variable] = yield item.over_sub_group(kind, x, None if shifts else op, int(shifts), place=place)
                case ("cond", expression, *sides):
                    side = int(value(v, expression) & 1 != 0)
                    yield from execute(item, sides[side], v, out, counts, (*place, side))
                case ("for", variable, low, high, body):
                    bounds = value(v, low) & 3, value(v, high) & 7
                    for turn, i in enumerate(range(*bounds)):
                        v[variable] = v[variable] + np.int32(i)
                        yield from execute(item, body, v, out, counts, (*place, turn))
                case ("while", expression, body):
                    left, turn = value(v, expression) & 7, 0
                    while left > 0:
                        left = left - 1 - (v[0] & 1)
                        yield from execute(item, body, v, out, counts, (*place, turn))
                        turn += 1

    def program(item, x, out, counts):
        gid = item.global_linear_id()
        first = item.load(x, gid)
        v = [first, item.local_id(), first * np.int32(0)]
        yield from execute(item, block, v, out, counts, ())
        for k in range(VARIABLES):
            item.store(out, (k + 1) * GROUPS * ITEMS + gid, v[k])

    return program


def arguments() -> tuple[np.ndarray, ...]:
    x = np.arange(GROUPS * ITEMS, dtype=np.int32) * 37 % 11
    return x, np.zeros(GROUPS * ITEMS * (VARIABLES + 1), np.int32), np.zeros(8, np.int32)


def expected(block: list[Any]) -> list[np.ndarray]:
    sizes = [(GROUPS * ITEMS,), (ITEMS,)]
    return oracle.run(told(block), *sizes, arguments(), sub_group_size=LANES, poison=lambda d: poison(d))[1:]


def assert_same(results: Any, wanted: Any) -> None:
    for result, each in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(result), each)


@pytest.mark.thorough
@pytest.mark.optimized
@settings(LAW, max_examples=4)
@given(BLOCKS)
def test_nests_mean_what_the_oracle_says(block):
    assert_same(xe.launch(rendered(block), RANGE, device=DEVICE)(*arguments()), expected(block))


@pytest.mark.thorough
@settings(LAW, max_examples=examples.some(10))
@given(BLOCKS, st.integers(0, 99))
def test_nests_mean_the_same_in_chunks_and_under_a_schedule(block, key):
    kernel, wanted = rendered(block), expected(block)
    with mock.patch.object(chunking, "_chunk", return_value=2):
        assert_same(xe.launch(kernel, RANGE, device=DEVICE)(*arguments()), wanted)
    assert_same(xe.launch(kernel, RANGE, device=DEVICE, schedule=key)(*arguments()), wanted)


@pytest.mark.thorough
@settings(LAW, max_examples=examples.some(12))
@given(BLOCKS)
def test_a_profile_counts_nests_without_changing_them(block):
    kernel, wanted = rendered(block), expected(block)
    results, report = xe.profile(kernel, RANGE, device=DEVICE)(*arguments())
    assert_same(results, wanted)
    known = xe.estimate(kernel, RANGE, device=DEVICE)(*arguments())
    assert known.instructions in (None, report.instructions)


# --- Who is active ---


def test_one_function_traced_under_two_masks_is_traced_twice():
    """Of `lax.fori_loop` JAX keeps what it has traced of a function: the mask is part of what it is kept by."""

    def add(k, y):
        return y.at[jnp.arange(8)].set(y[jnp.arange(8)] + 1)

    @xe.kernel
    def both(wg, x, y):
        sides = [lambda y: lax.fori_loop(0, 3, add, y), lambda y: lax.fori_loop(0, 3, add, lax.fori_loop(0, 1, add, y))]
        return wg.cond(x[wg.local_id()] > 0, *sides, y)

    x = np.array([1, 0, 0, 1, 1, 0, 1, 0], np.int32)
    result = xe.launch(both, xe.NDRange(8, 8))(x, np.zeros(8, np.int32))
    np.testing.assert_array_equal(np.asarray(result), np.where(x > 0, 3, 4))


def test_a_jitted_device_function_is_traced_for_each_mask():
    import jax

    mark = jax.jit(lambda m, i, n: m.at[i].set(n))

    @xe.kernel
    def both(wg, y):
        lid = wg.local_id()
        y = wg.cond(lid < 3, lambda y: mark(y, lid, 1), lambda y: mark(y, lid, 2), y)
        return mark(y, lid + 8, 3)

    result = xe.launch(both, xe.NDRange(8, 8))(np.zeros(16, np.int32))
    np.testing.assert_array_equal(np.asarray(result), [1] * 3 + [2] * 5 + [3] * 8)


def test_the_mask_is_a_scope_of_the_trace():
    seen = []

    @xe.kernel
    def scopes(wg, y):
        lid = wg.local_id()
        seen.append(divergence.active())
        with divergence.within(lid < 5):
            with divergence.within(lid > 1):
                y = y.at[lid].set(1)
            y = y.atomic[lid].add(2)
        seen.append(divergence.active())
        return y.atomic[lid].add(4)

    result = xe.launch(scopes, xe.NDRange(8, 8))(np.zeros(8, np.int32))
    np.testing.assert_array_equal(np.asarray(result), [6, 6, 7, 7, 7, 4, 4, 4])
    assert seen == [None] * 2


def test_private_axes_and_given_masks_are_masked_as_well():
    @xe.kernel
    def wide(wg, y):
        lid = wg.local_id()
        four = lid[:, None] * 4 + jnp.arange(4)
        odd = jnp.arange(4) % 2 == 1
        return wg.cond(
            lid < 2, lambda y: y.at[four].set(7, where=jnp.broadcast_to(odd, (4, 4))), lambda y: y.at[four].set(1), y
        )

    result = xe.launch(wide, xe.NDRange(4, 4))(np.zeros(16, np.int32))
    np.testing.assert_array_equal(np.asarray(result), [0, 7] * 4 + [1] * 8)


def test_memories_of_operands_and_of_around_go_from_one_side_to_the_other():
    @xe.kernel
    def mixed(wg, x, y):
        lid = wg.local_id()
        tile = wg.local(8, jnp.int32)
        tile = tile.at[lid].set(lid)

        def then(y):
            return y.at[lid].set(tile[lid]), tile.at[lid].set(50), lid * 2

        def otherwise(y):
            return y.at[lid].set(-1), tile.at[lid].set(tile[lid] + 10), 7

        y, tile, n = wg.cond(x[lid] > 2, then, otherwise, y)
        return y.atomic[lid].add(tile[lid] * 100 + n * 10000)

    x = np.arange(8, dtype=np.int32)
    result = np.asarray(xe.launch(mixed, xe.NDRange(8, 8))(x, np.zeros(8, np.int32)))
    first = np.where(x > 2, x, -1) + np.where(x > 2, 50, x + 10) * 100
    np.testing.assert_array_equal(result, first + np.where(x > 2, 2 * x, 7) * 10000)


def test_values_that_a_loop_leaves_as_they_are_stay_scalars():
    shapes = []

    @xe.kernel
    def kept(wg, x, y):
        def turn(k, carry):
            n, total = carry
            return n, total + n * k

        n, total = wg.fori_loop(0, wg.local_id(), turn, (x[0], 0))
        shapes.extend([n.shape, total.shape])
        return y.at[wg.local_id()].set(total)

    result = xe.launch(kept, xe.NDRange(8, 8))(np.full(8, 3, np.int32), np.zeros(8, np.int32))
    np.testing.assert_array_equal(np.asarray(result), [3 * sum(range(k)) for k in range(8)])
    assert shapes == [(), (8,)]


def test_what_is_alike_for_all_work_items_is_an_ordinary_loop():
    @xe.kernel
    def uniform(wg, x, y):
        n = wg.fori_loop(0, 4, lambda k, n: n + x[k], 0)
        n = wg.while_loop(lambda n: n < 100, lambda n: n * 2, n)
        n = wg.cond(x[0] == 0, lambda n: n + 1, lambda n: n, n)
        return y.at[wg.local_id()].set(n)

    text = str(xe.trace(uniform, xe.NDRange(8, 8))(np.arange(8, dtype=np.int32), np.zeros(8, np.int32)))
    assert "loop 4 times" in text
    assert "work-items" not in text.split("return")[0].split("\n", 2)[2]
    result = xe.launch(uniform, xe.NDRange(8, 8))(np.arange(8, dtype=np.int32), np.zeros(8, np.int32))
    np.testing.assert_array_equal(np.asarray(result), [193] * 8)


def test_the_listing_names_the_work_items_of_loops_and_branches():
    @xe.kernel
    def loops(wg, x, y):
        n = wg.fori_loop(0, x[wg.local_id()], lambda k, n: n + k, 0)

        def then(y):
            return y.at[wg.local_id()].set(wg.while_loop(lambda n: n > 5, lambda n: n // 2, n))

        return wg.cond(n > 3, then, lambda y: y, y)

    text = str(xe.trace(loops, xe.NDRange(8, 8))(np.arange(8, dtype=np.int32), np.zeros(8, np.int32)))
    for words in ("loop at most", "loop for the work-items", "if there are work-items", "for all work-items"):
        assert words in text


@pytest.mark.parametrize("size", [37, pytest.param((5, 7), marks=pytest.mark.thorough)])
def test_plain_ranges_take_work_items_that_do_not_exist_into_no_loop(size):
    @xe.kernel
    def plain(wg, x, y):
        i = wg.global_linear_id()
        n = wg.fori_loop(0, x[i], lambda k, n: n + 1, jnp.uint32(0))
        n = wg.while_loop(lambda n: n < 2 * x[i], lambda n: n + 1, n)
        return wg.cond(x[i] > 3, lambda y: y.at[i].set(n), lambda y: y, y)

    # The poison of uint32 is some thousands of millions.
    x = np.arange(np.prod(size), dtype=np.uint32) % 9
    nd_range = xe.NDRange(size)
    result, findings = xe.check(plain, nd_range)(x, 0 * x)
    np.testing.assert_array_equal(result, np.where(x > 3, 2 * x, 0))
    assert not findings
    np.testing.assert_array_equal(np.asarray(xe.launch(plain, nd_range)(x, 0 * x)), result)


def test_bounds_of_unsigned_integers_and_of_both_kinds():
    @xe.kernel
    def bounds(wg, low, high, y):
        lid = wg.local_id()
        n = wg.fori_loop(low[lid], high[lid], lambda i, n: n + i, jnp.uint32(0))
        n = n + wg.fori_loop(2, high[lid], lambda i, n: n + 1, jnp.uint32(0)) * 100
        return y.at[lid].set(n + wg.fori_loop(low[lid], 5, lambda i, n: n + 1, jnp.uint32(0)) * 10000)

    low, high = np.array([[3, 5, 0, 7], [5, 3, 0, 9]], np.uint32)
    result = np.asarray(xe.launch(bounds, xe.NDRange(4, 4))(low, high, np.zeros(4, np.uint32)))
    wanted = [
        sum(range(a, b)) + 100 * len(range(2, b)) + 10000 * len(range(a, 5)) for a, b in zip(low, high, strict=True)
    ]
    np.testing.assert_array_equal(result, wanted)


# --- Checks ---


def test_bounds_of_a_loop_over_ids_are_proved():
    x = np.zeros(128, np.float32)
    _, findings = xe.check(triangle, xe.NDRange(128, 64))(x, x)
    assert not findings
    assert not findings.watched


@pytest.mark.parametrize("defined", [True, False])
def test_what_work_items_compute_that_are_not_active_is_nobodys(defined):
    """A division by zero matters to those that come to it: in a sub-group's sum, a bound, a predicate, an index."""

    @xe.kernel(sub_group_size=16)
    def divides(wg, d, y):
        i = wg.global_id()
        v = d[i]

        def then(y):
            quotient = lax.div(jnp.full_like(v, 12), v)
            total = wg.sub_group.reduce(quotient, "add")
            n = wg.fori_loop(0, quotient, lambda k, n: n + 1, total)
            n = wg.while_loop(lambda n: n < quotient, lambda n: n + 1, n)
            return y.at[i * 13 + lax.min(quotient, jnp.full_like(v, 12))].set(n)

        return wg.cond(v != 0 if defined else v < 3, then, lambda y: y.at[i].set(0, where=i < 0), y)

    _, findings = xe.check(divides, xe.NDRange(16, 16))(np.arange(16, dtype=np.int32) % 4, np.zeros(208, np.int32))
    assert {f.kind for f in findings} == (set() if defined else {"undefined-arithmetic", "out-of-bounds"})


# --- Costs ---


def instructions(kernel: xe.Kernel, *arrays: np.ndarray) -> Any:
    nd_range = xe.NDRange(128, 64)
    report = xe.profile(kernel, nd_range)(*arrays)[1]
    known = xe.estimate(kernel, nd_range)(*arrays)
    return report, known


@xe.kernel(sub_group_size=16)
def triangle(wg, x, y):
    """Work-item `i` sums `i` elements."""
    lid = wg.local_id()
    total = wg.fori_loop(0, lid, lambda k, total: total * 2.5 + x[lid + k], jnp.float32(0))
    return y.at[wg.global_id()].set(total)


def test_a_triangle_costs_what_its_sub_groups_turn():
    """The sub-groups of a group turn 15, 31, 47 and 63 times."""
    report, known = instructions(triangle, np.ones(128, np.float32), np.zeros(128, np.float32))
    turns = 2 * (15 + 31 + 47 + 63)
    ends = 2 * 4  # each sub-group ends once
    assert report.instructions["control"] == turns + ends
    assert report.instructions["f32"] == turns
    load = next(site for site in report.sites if site.op == "load")
    assert (load.requests, load.lanes) == (turns, 2 * sum(range(64)))
    assert (known.instructions, known.time_s) == (report.instructions, report.time_s)


def test_trip_counts_of_data_are_counted_by_sub_group_as_the_kernel_runs():
    @xe.kernel(sub_group_size=16)
    def trips(wg, x, y):
        i = wg.global_id()
        total = wg.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] * 2.5), (x[i], jnp.float32(1)))[1]
        return y.at[i].set(total)

    x = (np.arange(128) * 41 % 29).astype(np.int32)
    report, known = instructions(trips, x, np.zeros(128, np.float32))
    assert report.instructions["f32"] == x.reshape(-1, 16).max(1).sum()
    assert known.instructions is None


def test_sides_are_counted_for_the_sub_groups_that_take_them():
    @xe.kernel(sub_group_size=16)
    def sides(wg, x, y):
        i = wg.global_id()

        def then(v):
            return lax.fori_loop(0, 10, lambda k, v: v * 2.5 + 1, v)

        return y.at[i].set(wg.cond(wg.local_id() < 20, then, lambda v: v * 3.5, x[i]))

    report, known = instructions(sides, np.ones(128, np.float32), np.zeros(128, np.float32))
    assert report.instructions["f32"] == 2 * (2 * 10 + 3)
    assert known.instructions == report.instructions


def test_scalar_loads_are_requests_of_the_sub_groups_that_are_active():
    @xe.kernel(sub_group_size=16)
    def alike(wg, x, y):
        def then(y):
            return y.at[wg.global_id()].set(x[3] + x[wg.group_id()])

        return wg.cond(wg.local_id() >= 40, then, lambda y: y, y)

    report, known = instructions(alike, np.arange(128, dtype=np.int32), np.zeros(128, np.int32))
    assert [site.requests for site in report.sites] == [2 * 2 * 2, 2 * 2]
    assert [site.requests for site in known.sites] == [site.requests for site in report.sites]


# --- What is refused ---


def refusal(function: Any, *arrays: np.ndarray, **options: Any) -> str:
    with pytest.raises(xe.KernelError) as caught:
        xe.check(xe.kernel(function), xe.NDRange(8, 8), **options)(*(arrays or (np.zeros(8, np.int32),)))
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda wg, c: (c, c), "returns (int32[8], int32[8]) where it was given int32[8]"),
        (lambda wg, c: c * 1.5, "is int32 before and float32 after an iteration"),
        (lambda wg, c: c.sum(), "sum over all work-items, in a loop or branch that not all of them execute"),
        (lambda wg, c: c[:4], "has shape (4,), which does not begin with the work-group's shape (8,)"),
    ],
)
def test_bodies_that_break_the_carry_are_refused(body, message):
    def kernel(wg, y):
        n = wg.while_loop(lambda c: c < 5, lambda c: body(wg, c), wg.local_id())  # <-
        return y.at[wg.local_id()].set(n)

    text = refusal(kernel)
    assert message in text
    assert "# <-" in text or "lambda wg, c" in text


@pytest.mark.parametrize(
    ("then", "otherwise", "message"),
    [
        (lambda y: y, lambda y: 0, "the sides of wg.cond give (memory y) and (int32[])"),
        (lambda y: None, lambda y: y, "the sides of wg.cond give () and (memory y)"),
        (lambda y: 1.5, lambda y: y[0], "part 0 of the result of wg.cond is float32[] where the predicate is true"),
        (lambda y: y, 3, "otherwise of wg.cond is an int; give a function"),
        (lambda y: y, lambda: 3, "otherwise of wg.cond is called with 1 argument(s)"),
    ],
)
def test_sides_that_differ_are_refused(then, otherwise, message):
    assert message in refusal(lambda wg, y: wg.cond(wg.local_id() < 3, then, otherwise, y))


def test_memories_keep_their_places():
    def sides(wg, x, y):
        return wg.cond(wg.local_id() < 3, lambda x, y: (x, y), lambda x, y: (y, x), x, y)

    def loop(wg, x, y):
        return wg.fori_loop(0, wg.local_id(), lambda k, carry: carry[::-1], (x, y))

    def lost(wg, x, y):
        wg.cond(wg.local_id() < 3, lambda y: y.at[0].set(1), lambda y: y, y)
        return y

    def made(wg, x, y):
        def then(y):
            tile = wg.local(8, jnp.int32)
            return y.at[0].set(tile[0])

        return wg.cond(wg.local_id() < 3, then, lambda y: y, y)

    two = np.zeros(8, np.int32), np.zeros(8, np.int32)
    assert "is memory x where the predicate is true and memory y where it is false" in refusal(sides, *two)
    assert "is memory x, but the body returns another memory there, y" in refusal(loop, *two)
    assert "an update of global memory y is lost" in refusal(lost, *two)
    assert "local memory tile is made inside a branch" in refusal(made, *two)


def test_predicates_and_bounds_are_of_the_work_items():
    def cond(pred):
        return refusal(lambda wg, y: wg.cond(pred(wg), lambda y: y, lambda y: y, y))

    assert "the predicate of wg.cond is int32[8]; a predicate is bool" in cond(lambda wg: wg.local_id())
    assert "the predicate of wg.cond has shape (4,)" in cond(lambda wg: wg.local_id()[:4] < 2)
    text = refusal(lambda wg, y: wg.fori_loop(0, wg.local_id().astype(jnp.float32), lambda k, y: y, y))
    assert "a bound of wg.fori_loop is float32[8]; a bound is an integer" in text


def test_loops_that_wait_for_a_flag_are_refused_in_the_words_of_its_memory():
    def far(wg, flags):
        i = wg.global_id()
        wg.while_loop(lambda seen: seen == 0, lambda seen: flags.atomic[i ^ 1].load(), i * 0)  # <-
        return flags

    def near(wg, flags):
        lid = wg.local_id()
        told = wg.local(8, jnp.int32)
        told = told.atomic[lid].store(1)
        wg.while_loop(lambda n: told.atomic[7 - lid].load() == 0, lambda n: n, 0)  # <-
        return flags

    for kernel, words in ((far, "for other work-groups"), (near, "for other work-items of its group")):
        text = refusal(kernel)
        assert words in text
        assert text.endswith("# <-")


def test_a_naive_spin_lock_ends_at_its_line():
    def lock(wg, held, y):
        def attempt(carry):
            return carry[1].atomic[0].compare_exchange(0, 1)

        _, held = wg.while_loop(lambda carry: carry[0] != 0, attempt, (1, held))  # <-
        y = y.at[0].set(y[0] + 1)
        return held.atomic[0].store(0), y

    text = refusal(lock, np.zeros(1, np.int32), np.zeros(1, np.int32), max_iterations=50)
    assert "a loop has not ended after 50 iterations" in text
    assert text.endswith("# <-")


def test_a_lock_that_is_left_inside_the_loop_works_in_every_order():
    @xe.kernel
    def lock(wg, held, y):
        def critical(held, y):
            y = y.at[0].set(y[0] + 1)
            return held.atomic(order="release")[0].store(0), y

        def attempt(carry):
            old, held = carry[1].atomic(order="acquire")[0].compare_exchange(0, 1)
            return old, *wg.cond(old == 0, critical, lambda held, y: (held, y), held, carry[2])

        return wg.while_loop(lambda carry: carry[0] != 0, attempt, (1, held, y))[1:]

    zero = np.zeros(1, np.int32)
    for options in ({}, {"schedule": 3}):
        _, y = xe.launch(lock, xe.NDRange(8, 8), **options)(zero, zero)
        assert int(y[0]) == 8
