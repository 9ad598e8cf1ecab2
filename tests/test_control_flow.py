"""Loops, branches and calls in kernels, whose scalars may differ between work-groups, against plain Python."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

ITEMS, GROUPS = 4, 5
SIZE = ITEMS * GROUPS
RANGE = xe.NDRange(SIZE, ITEMS)
TRIPS = np.array([3, 0, 5, 2, 1], np.int32)


def run(function, *arguments, **static):
    """In one chunk and in several, with the same results."""
    kernel = xe.kernel(function)
    whole = xe.launch(kernel, RANGE)(*arguments, **static)
    single = xe.launch(kernel, RANGE, memory_bytes=1)(*arguments, **static)
    jax.tree.map(np.testing.assert_array_equal, whole, single)
    return jax.tree.map(np.asarray, whole)


def blank(dtype=np.int32, shape=SIZE):
    return np.zeros(shape, dtype)


# --- fori_loop and scan ---


@pytest.mark.parametrize("bounds", [(0, 4), (2, 7), (3, 3), (4, 1), (-2, 2)])
@pytest.mark.parametrize("traced", [False, True])
def test_fori_loop_counts(bounds, traced):
    def kernel(wg, low, high, out):
        low, high = (low, high) if traced else bounds

        def body(k, out):
            return out.at[wg.global_id()].set(10 * out[wg.global_id()] + k)

        return lax.fori_loop(low, high, body, out)

    out = run(kernel, *map(np.int32, bounds), blank())
    assert set(out.tolist()) == {functools.reduce(lambda a, k: 10 * a + k, range(*bounds), 0)}


def test_trip_counts_differ_between_groups():
    """Global, local and private memory, and a value, carried through a loop of the group's own length."""

    def kernel(wg, trips, out, total):
        lid, i = wg.local_id(), wg.global_id()
        tile = wg.local(ITEMS, jnp.int32).at[lid].set(lid)
        mine = wg.private(2, jnp.int32).at[0].set(0).at[1].set(0)

        def body(k, carry):
            out, total, tile, mine, value = carry
            tile = wg.barrier(tile.at[lid].set(tile[(lid + 1) % ITEMS]))
            mine = mine.at[k % 2].set(mine[k % 2] + tile[lid])
            out = out.at[i, 0].set(k + 1)
            return out, total.atomic[0].add(k), tile, mine, value * 2 + k

        start = (out, total, tile, mine, jnp.ones((), jnp.int32))
        out, total, tile, mine, value = lax.fori_loop(0, trips[wg.group_id()], body, start)
        for column, x in enumerate((tile[lid], mine[0], mine[1], jnp.broadcast_to(value, (ITEMS,)))):
            out = out.at[i, column + 1].set(x)
        return out, total

    out, total = run(kernel, TRIPS, blank(shape=(SIZE, 5)), blank(shape=1))
    expected, added = [], 0
    for g, lid in itertools.product(range(GROUPS), range(ITEMS)):
        mine, value = [0, 0], 1
        for k in range(TRIPS[g]):
            mine[k % 2] += (lid + k + 1) % ITEMS
            value, added = value * 2 + k, added + k
        expected.append([TRIPS[g], (lid + TRIPS[g]) % ITEMS, *mine, value])
    np.testing.assert_array_equal(out, expected)
    assert total == [added]


@pytest.mark.thorough
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("varying", [False, True])
def test_scan_over_elements_stacks_results(reverse, varying):
    """The elements and the stacked results are the same for all groups, or each group's own."""

    def kernel(wg, xs, out, stacks):
        elements = jnp.arange(3, dtype=jnp.int32) * (wg.group_id() if varying else 2)
        rows = elements[:, None] + (wg.local_id() if varying else jnp.zeros(ITEMS, jnp.int32))[None]

        def body(carry, x):
            out, total = carry
            scalar, row = x
            out = out.at[wg.global_id()].set(10 * out[wg.global_id()] + scalar)
            return (out, total * 3 + row), (total + row, scalar)

        start = (out, jnp.zeros(ITEMS, jnp.int32))
        (out, total), (ys, scalars) = lax.scan(body, start, (elements, rows), reverse=reverse)
        for k in range(3):
            stacks = (
                stacks.at[wg.global_id(), k]
                .set(ys[k])
                .at[wg.global_id(), 3 + k]
                .set(jnp.broadcast_to(scalars[k], (ITEMS,)))
            )
        return out, stacks.at[wg.global_id(), 6].set(total)

    out, stacks = run(kernel, blank(), blank(), blank(shape=(SIZE, 7)))
    order = [2, 1, 0] if reverse else [0, 1, 2]
    for g, lid in itertools.product(range(GROUPS), range(ITEMS)):
        elements = [k * (g if varying else 2) for k in range(3)]
        rows = [e + (lid if varying else 0) for e in elements]
        digits, total, ys = 0, 0, [0, 0, 0]
        for k in order:
            digits, ys[k], total = 10 * digits + elements[k], total + rows[k], total * 3 + rows[k]
        assert out[g * ITEMS + lid] == digits
        assert stacks[g * ITEMS + lid].tolist() == [*ys, *elements, total]


def test_scan_over_loaded_elements_without_carry():
    def kernel(wg, x, out):
        i = wg.global_id()
        _, ys = lax.scan(lambda c, e: (c, e * e), None, x[i[:, None] + np.arange(3, dtype=np.int32)].T)
        return out.at[i].set(ys.sum(0))

    x = np.arange(SIZE + 2, dtype=np.int32)
    np.testing.assert_array_equal(
        run(kernel, x, blank()), [sum(int(v) ** 2 for v in x[i : i + 3]) for i in range(SIZE)]
    )


def test_a_scan_of_no_iterations_leaves_everything():
    def kernel(wg, out):
        return lax.fori_loop(0, 0, lambda k, out: out.at[wg.global_id()].set(7), out)

    x = np.arange(SIZE, dtype=np.int32)
    np.testing.assert_array_equal(run(kernel, x), x)


@pytest.mark.parametrize("length", [0, 1, 2, 100])
def test_a_loop_whose_body_has_no_operations(length):
    """It hands values on, or what it stored at one place is a value that it does not compute."""

    def kernel(wg, x, out, turned):
        i = wg.global_id()
        value = x[i]
        out, _ = lax.scan(lambda out, _: (out.at[i].set(value), None), out, None, length=length)
        (a, b), _ = lax.scan(lambda both, _: (both[::-1], None), (i, value), None, length=length)
        return out, turned.at[i].set(a - 2 * b)

    x, i = np.arange(SIZE, dtype=np.int32) + 7, np.arange(SIZE)
    out, turned = run(kernel, x, blank(), blank())
    np.testing.assert_array_equal(out, x if length else 0)
    np.testing.assert_array_equal(turned, x - 2 * i if length % 2 else i - 2 * x)


def test_a_counter_may_change_sign_or_width_in_a_carry():
    """Carries that only later iterations push out of their first interval."""

    def kernel(wg, x, out):
        def body(k, carry):
            down, up, narrow, out = carry
            out = out.at[wg.global_id(), k].set(x.load(down + wg.local_id()) + x.load(up))
            return down - 1, up * 2, narrow * jnp.uint8(16), out

        start = (jnp.int32(2), jnp.int32(1), jnp.uint8(16), out)
        *_, narrow, out = lax.fori_loop(0, 5, body, start)
        return out.at[wg.global_id(), 5].set(narrow.astype(jnp.int32) + wg.local_id())

    x = np.arange(100, 110, dtype=np.int32)
    bad = -1515870811

    def at(i):
        return int(x[i]) if 0 <= i < 10 else bad

    wrapped = np.array([[at(2 - k + lid) + at(2**k) for k in range(5)] + [lid] for lid in range(ITEMS)], np.int64)
    np.testing.assert_array_equal(
        run(kernel, x, blank(shape=(SIZE, 6))), np.tile(wrapped.astype(np.int32), (GROUPS, 1))
    )


# --- while_loop ---


def collatz(n):
    steps = 0
    while n > 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


def test_while_loops_end_at_each_groups_own_time():
    def kernel(wg, out):
        def body(state):
            n, steps, out = state
            out = out.atomic[wg.group_id()].add(1, where=wg.local_id() == 0)
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1, out

        start = (wg.group_id() + 5, jnp.zeros((), jnp.int32), out)
        _, steps, out = lax.while_loop(lambda s: s[0] > 1, body, start)
        return out.at[GROUPS + wg.group_id()].set(steps)

    expected = [collatz(g + 5) for g in range(GROUPS)]
    np.testing.assert_array_equal(run(kernel, blank(shape=2 * GROUPS)), expected * 2)


@pytest.mark.thorough
def test_a_predicate_may_load_from_the_carried_memory_and_ask_the_group():
    """Until the group's numbers are sorted: odd-even transposition, any() as the predicate."""

    def kernel(wg, x):
        lid, first = wg.local_id(), wg.group_id() * ITEMS

        def unsorted(state):
            x, _ = state
            return wg.any((lid < ITEMS - 1) & (x[first + lid] > x.load(first + lid + 1, where=lid < ITEMS - 1)))

        def swap(state):
            x, parity = state
            left = (lid % 2 == parity) & (lid < ITEMS - 1)
            a, b = x[first + lid], x.load(first + lid + 1, where=left)
            x = x.at[first + lid].set(jnp.minimum(a, b), where=left)
            x = x.at[first + lid + 1].set(jnp.maximum(a, b), where=left)
            return wg.barrier(x), 1 - parity

        return lax.while_loop(unsorted, swap, (x, jnp.zeros((), jnp.int32)))[0]

    x = np.random.default_rng(0).integers(0, 99, SIZE).astype(np.int32)
    np.testing.assert_array_equal(run(kernel, x), np.sort(x.reshape(GROUPS, ITEMS)).reshape(-1))


def test_a_while_loop_whose_bound_is_loaded_in_the_loop():
    def kernel(wg, trips, out):
        def body(state):
            k, out = state
            return k + 1, out.at[wg.global_id()].set(out[wg.global_id()] + k)

        return lax.while_loop(lambda s: s[0] < trips[wg.group_id()], body, (jnp.zeros((), jnp.int32), out))[1]

    expected = np.repeat([sum(range(t)) for t in TRIPS], ITEMS)
    np.testing.assert_array_equal(run(kernel, TRIPS, blank()), expected)


# --- cond and switch ---


def test_cond_on_a_scalar_that_all_groups_share():
    def kernel(wg, n, out):
        return lax.cond(n > 0, lambda o: o.at[wg.global_id()].set(n), lambda o: o, out)

    np.testing.assert_array_equal(run(kernel, np.int32(3), blank()), np.full(SIZE, 3))
    np.testing.assert_array_equal(run(kernel, np.int32(-3), blank()), blank())


@pytest.mark.thorough
def test_branches_that_only_some_groups_take():
    """Each branch updates other memories; the results are memories and values of every kind."""

    def kernel(wg, out, total):
        g, lid, i = wg.group_id(), wg.local_id(), wg.global_id()
        tile = wg.local(ITEMS, jnp.int32).at[lid].set(-1)

        def even(out, total, tile):
            old, total = total.atomic[0].fetch_add(1)
            return out, total, tile.at[lid].set(lid), g * 10, old >= 0, jnp.float32(0.5)

        def odd(out, total, tile):
            out = out.at[i, 0].set(100 + i)
            return out, total, tile, jnp.int32(7), lid < 2, lid[0].astype(jnp.float32)

        out, total, tile, scalar, flags, real = lax.cond(g % 2 == 0, even, odd, out, total, tile)
        row = (
            tile[lid],
            lid * 0 + scalar,
            flags.astype(jnp.int32),
            jnp.broadcast_to(real * 2, (ITEMS,)).astype(jnp.int32),
        )
        for column, x in enumerate(row):
            out = out.at[i, column + 1].set(x)
        return out, total

    out, total = run(kernel, blank(shape=(SIZE, 5)), blank(shape=1))
    for g, lid in itertools.product(range(GROUPS), range(ITEMS)):
        i = g * ITEMS + lid
        expected = [0, lid, g * 10, 1, 1] if g % 2 == 0 else [100 + i, -1, 7, lid < 2, 0]
        assert out[i].tolist() == expected
    assert total == [3 * ITEMS]


@pytest.mark.parametrize("source", ["group", "data"])
def test_switch_clamps_its_index(source):
    def kernel(wg, chosen, out):
        branches = [lambda o, k=k: o.at[wg.global_id()].set(10 + k) for k in range(3)]
        index = wg.group_id() - 1 if source == "group" else chosen[wg.group_id()]
        return lax.switch(index, branches, out)

    chosen = np.array([5, -7, 1, 2, 0], np.int32)
    index = np.arange(GROUPS) - 1 if source == "group" else chosen
    np.testing.assert_array_equal(run(kernel, chosen, blank()), np.repeat(10 + np.clip(index, 0, 2), ITEMS))


@pytest.mark.parametrize("first", [0, 1])
def test_branches_may_reach_a_memory_as_operand_or_by_closure(first):
    """Both ways lead to one memory: what the groups of one branch write, the other's must not undo."""

    def kernel(wg, m):
        i = wg.global_id()
        ways = [lambda b: b.at[i].set(2 * b[i] + 1), lambda b: m.at[i].set(3 * m[i] + 2)]
        return lax.cond(wg.group_id() % 2 == 0, ways[first], ways[1 - first], m)

    x = np.arange(SIZE, dtype=np.int32)
    even = np.arange(SIZE) // ITEMS % 2 == 0
    results = (2 * x + 1, 3 * x + 2)
    np.testing.assert_array_equal(run(kernel, x), np.where(even, results[first], results[1 - first]))


def test_a_memory_passes_through_a_branch_unchanged_and_keeps_its_version():
    """The branch returns it as it came, so that the version before the branch may still be read."""

    def kernel(wg, out):
        tile = wg.local(ITEMS, jnp.int32).at[wg.local_id()].set(wg.local_id())
        after, value = lax.cond(wg.group_id() > 2, lambda t: (t, t[0]), lambda t: (t, t[1]), tile)
        return out.at[wg.global_id()].set(tile[wg.local_id()] + after[wg.local_id()] + 10 * value)

    expected = 2 * (np.arange(SIZE) % ITEMS) + 10 * (np.arange(SIZE) // ITEMS <= 2)
    np.testing.assert_array_equal(run(kernel, blank()), expected)


def test_both_branches_may_start_from_one_version():
    def kernel(wg, out):
        i = wg.global_id()
        tile = wg.local(ITEMS, jnp.int32).at[wg.local_id()].set(5)
        change = [lambda t, k=k: t.atomic[wg.local_id()].add(k) for k in (1, 2)]
        tile = lax.cond(wg.group_id() == 1, *change, tile)
        return out.at[i].set(tile[wg.local_id()])

    np.testing.assert_array_equal(run(kernel, blank()), np.where(np.arange(SIZE) // ITEMS == 1, 6, 7))


# --- Nesting ---


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_inner_loop_uses_the_counter_of_the_outer_one(dynamic):
    """As a tiled matrix multiplication does; nothing here differs between groups."""

    def kernel(wg, n, out):
        first = wg.local_id() == 0

        def inner(j, state, k):
            out, total = state
            return out.atomic[k + j].add(1, where=first), total + k * j

        def outer(k, state):
            return lax.fori_loop(0, n if dynamic else 5, functools.partial(inner, k=k), state)

        out, total = lax.fori_loop(0, 4, outer, (out, jnp.zeros((), jnp.int32)))
        return out.at[9].set(total)

    expected = [0] * 10
    for k, j in itertools.product(range(4), range(5)):
        expected[k + j] += GROUPS
        expected[9] += k * j
    np.testing.assert_array_equal(run(kernel, np.int32(5), blank(shape=10)), expected)


def test_a_group_may_count_down():
    """From its own start, in steps that no interval bounds."""

    def kernel(wg, out):
        def body(state):
            n, out = state
            return n - 1, out.atomic[wg.global_id()].add(n)

        return lax.while_loop(lambda s: s[0] > 0, body, (wg.group_id() + 2, out))[1]

    expected = np.repeat([sum(range(g + 3)) for g in range(GROUPS)], ITEMS)
    np.testing.assert_array_equal(run(kernel, blank()), expected)


@pytest.mark.thorough
def test_varying_loops_in_varying_branches_in_varying_loops():
    def kernel(wg, trips, out, total):
        g, i = wg.group_id(), wg.global_id()

        def inner(k, carry):
            out, total, value = carry
            return out.at[i].set(out[i] + k), total.atomic[k].add(1), value + k

        def long(carry):
            return lax.fori_loop(0, trips[g], inner, carry)

        def short(carry):
            out, total, value = carry
            return out, total.atomic[7].add(1, where=wg.local_id() == 0), value - 1

        def outer(state):
            n, carry = state
            return n - 1, lax.cond((n + g) % 2 == 0, long, short, carry)

        start = (trips[GROUPS - 1 - g], (out, total, jnp.zeros((), jnp.int32)))
        _, (out, total, value) = lax.while_loop(lambda s: s[0] > 0, outer, start)
        return out.at[i].set(out[i] * 100 + value), total

    out, total = run(kernel, TRIPS, blank(), blank(shape=8))
    expected, counts = [], [0] * 8
    for g in range(GROUPS):
        x = value = 0
        for n in range(TRIPS[GROUPS - 1 - g], 0, -1):
            if (n + g) % 2 == 0:
                for k in range(TRIPS[g]):
                    x, value = x + k, value + k
                    counts[k] += ITEMS
            else:
                value -= 1
                counts[7] += 1
        expected += [x * 100 + value] * ITEMS
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(total, counts)


def test_a_masked_store_in_a_branch_of_a_loop():
    """The mask of the work-items meets those of the branch and of the loop."""

    def kernel(wg, trips, out):
        def body(k, out):
            def write(out):
                return out.at[wg.global_id()].set(k, where=wg.local_id() >= k)

            return lax.cond(k % 2 == wg.group_id() % 2, write, lambda out: out, out)

        return lax.fori_loop(0, trips[wg.group_id()], body, out)

    expected = np.full((GROUPS, ITEMS), -1)
    for g, lid in itertools.product(range(GROUPS), range(ITEMS)):
        for k in range(TRIPS[g]):
            if k % 2 == g % 2 and lid >= k:
                expected[g, lid] = k
    np.testing.assert_array_equal(run(kernel, TRIPS, np.full(SIZE, -1, np.int32)), expected.reshape(-1))


def test_collectives_inside_varying_control_flow():
    def kernel(wg, trips, out):
        def body(k, total):
            return total + wg.reduce(wg.local_id() * k, "add")

        total = lax.fori_loop(0, trips[wg.group_id()], body, jnp.zeros((), jnp.int32))
        total = lax.cond(total > 10, lambda t: wg.reduce(wg.local_id() + t, "max"), lambda t: t, total)
        return out.at[wg.global_id()].set(jnp.broadcast_to(total, (ITEMS,)))

    totals = [sum(6 * k for k in range(t)) for t in TRIPS]
    np.testing.assert_array_equal(
        run(kernel, TRIPS, blank()), np.repeat([t + 3 if t > 10 else t for t in totals], ITEMS)
    )


# --- Calls ---


@jax.jit
def increment(memory, index):
    return memory.at[index].set(memory[index] + 1)


def test_a_nested_jit_takes_memories_of_every_space():
    """One function, called with different memories and spaces, twice with each."""

    def kernel(wg, a, b):
        tile = wg.local(ITEMS, jnp.int32).at[wg.local_id()].set(10)
        mine = wg.private(1, jnp.int32).at[0].set(100)
        for _ in range(2):
            a, b = increment(a, wg.global_id()), increment(b, wg.global_id() * 2)
            tile, mine = increment(tile, wg.local_id()), increment(mine, jnp.zeros(ITEMS, jnp.int32))
        return a.at[wg.global_id()].set(a[wg.global_id()] + tile[wg.local_id()] + mine[0]), b

    a, b = run(kernel, blank(), blank(shape=2 * SIZE))
    np.testing.assert_array_equal(a, np.full(SIZE, 2 + 12 + 102))
    np.testing.assert_array_equal(b, np.where(np.arange(2 * SIZE) % 2, 0, 2))


def test_a_device_function_and_a_kernel_called_by_a_kernel():
    @xe.kernel
    def scale(wg, x, *, by):
        return x.at[wg.global_id()].set(x[wg.global_id()] * by)

    def shift(wg, memory, amount):
        index = wg.local_id() if memory.space == "local" else wg.global_id()
        return memory.at[index].set(memory[index] + amount)

    def kernel(wg, a, b):
        tile = shift(wg, wg.local(ITEMS, jnp.int32).at[wg.local_id()].set(1), 1)
        a, b = shift(wg, a, tile[0]), shift(wg, b, wg.group_id())
        return scale(wg, shift(wg, a, 1), by=3), scale(wg, b, by=-1)

    a, b = run(kernel, np.arange(SIZE, dtype=np.int32), blank())
    np.testing.assert_array_equal(a, 3 * (np.arange(SIZE) + 3))
    np.testing.assert_array_equal(b, -(np.arange(SIZE) // ITEMS))


def test_jit_inside_a_varying_branch_inside_jit():
    @jax.jit
    def outer(memory, index, group):
        return lax.cond(group % 2 == 1, lambda m: increment(increment(m, index), index), lambda m: m, memory)

    def kernel(wg, out):
        return outer(outer(out, wg.global_id(), wg.group_id()), wg.global_id(), wg.group_id())

    np.testing.assert_array_equal(run(kernel, blank()), 4 * (np.arange(SIZE) // ITEMS % 2))


def test_checkpoint_and_custom_derivatives_are_calls():
    @jax.custom_jvp
    def square(x):
        return x * x

    square.defjvp(lambda primals, tangents: (square(primals[0]), 2 * primals[0] * tangents[0]))

    def kernel(wg, out):
        i = wg.global_id()
        value = jax.checkpoint(square)(i.astype(jnp.float32))
        return out.at[i].set(value + jax.nn.relu(value - 10))

    x = np.arange(SIZE, dtype=np.float32) ** 2
    np.testing.assert_array_equal(run(kernel, blank(np.float32)), x + np.maximum(x - 10, 0))


def test_pytrees_of_memories_pass_through_loops_and_leave_the_kernel():
    def kernel(wg, a, b, c):
        i = wg.global_id()

        def body(k, state):
            first, second = state["pair"]
            return {"pair": (first.at[i].set(first[i] + k), second), "last": state["last"].atomic[k].add(1)}

        return lax.fori_loop(0, 3, body, {"pair": (a, b), "last": c})

    x = np.arange(SIZE, dtype=np.int32)
    result = run(kernel, x, x, blank(shape=3))
    np.testing.assert_array_equal(result["pair"][0], x + 3)
    np.testing.assert_array_equal(result["pair"][1], x)
    np.testing.assert_array_equal(result["last"], [SIZE] * 3)


def test_two_buffers_in_turn_are_one_memory_with_two_rows():
    """What the contract recommends in place of a swap: Hillis and Steele's scan."""

    def kernel(wg, x):
        lid, i = wg.local_id(), wg.global_id()
        rows = wg.local((2, ITEMS), jnp.int32).at[0, lid].set(x[i])

        def body(k, rows):
            back = lid - (1 << k)
            total = rows[k % 2, lid] + rows.load((k % 2, back), where=back >= 0)
            return wg.barrier(rows.at[1 - k % 2, lid].set(total))

        rows = lax.fori_loop(0, 2, body, wg.barrier(rows))
        return x.at[i].set(rows[0, lid])

    x = np.random.default_rng(0).integers(0, 99, SIZE).astype(np.int32)
    np.testing.assert_array_equal(run(kernel, x), np.cumsum(x.reshape(GROUPS, ITEMS), 1).reshape(-1))
