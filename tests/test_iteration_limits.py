"""Loops that do not end are given up with their line, and those that end are not counted."""

import inspect
import re

import hosts
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.ir import control
from xeemu.knowledge import termination
from xeemu.language import importing
from xeemu.language.memory import poison
from xeemu.launching.arguments import ArgumentType
from xeemu.launching.options import Options
from xeemu.launching.preparation import prepare

N = xe.NDRange(128, 64)
ONE = np.zeros(1, np.int32)


@xe.kernel
def spin(wg, lock):
    """A spin lock of which no work-item leaves the loop before all have had the lock."""

    def attempt(state):
        got, lock = state
        old, lock = lock.atomic(order="acquire")[0].exchange(1)
        return got | (old == 0), lock

    start = jnp.zeros(64, bool), lock
    _, lock = lax.while_loop(lambda state: ~wg.all(state[0]), attempt, start)  # spins
    return lock


@xe.kernel
def nested(wg, x, out):
    """An endless loop inside a branch, a loop of known length and one that counts."""

    def inner(n):
        return lax.while_loop(lambda n: n < 10, lambda n: n + x[0], n)  # inner

    def counted(k, total):
        return lax.cond(k > 1, inner, lambda n: n, total)

    total = lax.fori_loop(0, 5, counted, jnp.int32(0))
    _, total = lax.while_loop(lambda s: s[0] < x[1], lambda s: (s[0] + 1, inner(s[1])), (jnp.int32(0), total))
    return out.at[wg.global_id()].set(total)


@xe.kernel
def apart(wg, x, out):
    """A loop that groups leave at different times, and group 1 never."""
    own = wg.group_id()
    n = lax.while_loop(lambda n: n < 3, lambda n: n + jnp.where(own == 1, x[0], 1), jnp.int32(0))  # apart
    return out.at[wg.global_id()].set(n)


def line(kernel, mark):
    lines, first = inspect.getsourcelines(kernel.function)
    return f":{first + next(k for k, text in enumerate(lines) if text.rstrip().endswith(f'# {mark}'))}:"


CASES = [
    (spin, "spins", (ONE,), None),
    (nested, "inner", (np.array([0, 3], np.int32), np.zeros(128, np.int32)), np.array([1, 3], np.int32)),
    (apart, "apart", (np.zeros(1, np.int32), np.zeros(128, np.int32)), np.ones(1, np.int32)),
]


@pytest.mark.parametrize(("kernel", "mark", "arguments", "ending"), CASES, ids=["spin", "nested", "apart"])
def test_a_loop_that_does_not_end_is_an_error_with_its_line(kernel, mark, arguments, ending):
    with pytest.raises(xe.KernelError, match="a loop has not ended after 500 iterations") as error:
        xe.launch(kernel, N, max_iterations=500)(*arguments)
    assert line(kernel, mark) in str(error.value)
    if ending is not None:
        result = xe.launch(kernel, N, max_iterations=500)(ending, *arguments[1:])
        np.testing.assert_array_equal(result, xe.check(kernel, N)(ending, *arguments[1:])[0])


@pytest.mark.every(2)
@pytest.mark.parametrize("key", [0, 1, 4, 5])
@pytest.mark.parametrize(("kernel", "mark", "arguments", "ending"), CASES, ids=["spin", "nested", "apart"])
def test_so_it_is_under_a_schedule(kernel, mark, arguments, ending, key):
    with pytest.raises(xe.KernelError, match="has not ended after 20 iterations; if it would") as error:
        xe.launch(kernel, N, schedule=key, max_iterations=20)(*arguments)
    assert line(kernel, mark) in str(error.value)
    if ending is not None:
        result = xe.launch(kernel, N, schedule=key)(ending, *arguments[1:])
        np.testing.assert_array_equal(result, xe.launch(kernel, N)(ending, *arguments[1:]))


@pytest.mark.parametrize("key", [0, 5])
def test_a_lock_that_nobody_gets_is_told_under_a_schedule_once_nothing_changes(key):
    with pytest.raises(xe.KernelError, match="never ends: no work-item gets on") as error:
        xe.launch(spin, N, schedule=key)(ONE)
    assert line(spin, "spins") in str(error.value)


@pytest.mark.parametrize("untested", [1, 2, 4])
def test_a_loop_of_just_so_many_iterations_ends(untested, monkeypatch):
    """Also where several follow each other before anybody looks, of which the last ones are none."""
    hosts.take(monkeypatch, "strips", untested=untested)
    arguments = np.ones(1, np.int32), np.zeros(128, np.int32)
    assert (xe.launch(apart, N, max_iterations=3)(*arguments) == 3).all()
    with pytest.raises(xe.KernelError, match="after 2 iterations"):
        xe.launch(apart, N, max_iterations=2)(*arguments)


@pytest.mark.parametrize("untested", [1, 4])
def test_iterations_that_follow_each_other_are_apart_for_the_compiler(untested, monkeypatch):
    hosts.take(monkeypatch, "strips", untested=untested)
    arguments = (jax.ShapeDtypeStruct((n,), np.int32) for n in (1, 128))
    (loop,) = re.findall(r"stablehlo.while.*", xe.launch(apart, N).lower(*arguments).as_text(), re.DOTALL)
    assert loop.count("stablehlo.optimization_barrier") == (untested if untested > 1 else 0)


@pytest.mark.parametrize("untested", [2, 3, 4])
def test_groups_that_have_left_a_loop_store_nothing(untested, monkeypatch):
    @xe.kernel
    def kernel(wg, lengths, out):
        """Group g stores to as many elements as its length says, and adds to all that it stores to."""
        i, own = wg.global_id(), lengths[wg.group_id()]

        def again(state):
            k, total, out = state
            return k + 1, total + k, out.at[i, k].set(total + 1).atomic[i, 5].add(1)

        _, total, out = lax.while_loop(lambda s: s[0] < own, again, (jnp.int32(0), jnp.int32(0), out))
        return out.at[i, 6].set(total)

    lengths, out = np.array([0, 1, 3, 5], np.int32), np.full((16, 7), -1, np.int32)
    expected = out.copy()
    for row, length in zip(expected, np.repeat(lengths, 4), strict=True):
        row[:length] = 1 + np.cumsum(np.arange(length)) - np.arange(length)
        row[5:] = length - 1, length * (length - 1) // 2
    hosts.take(monkeypatch, "strips", untested=untested)
    np.testing.assert_array_equal(xe.launch(kernel, xe.NDRange(16, 4))(lengths, out), expected)


@pytest.mark.parametrize(("kernel", "mark", "arguments", "ending"), CASES, ids=["spin", "nested", "apart"])
def test_so_it_is_in_a_check(kernel, mark, arguments, ending):
    """The loop is named that was given up first; those around it end with it."""
    with pytest.raises(xe.KernelError, match="a loop has not ended after 500 iterations") as error:
        xe.check(kernel, N, max_iterations=500)(*arguments)
    assert line(kernel, mark) in str(error.value)


def test_a_check_soon_ends_where_a_loop_around_does_not_end_for_long():
    """Else 2^30 iterations of 1,000 would have to go by."""

    @xe.kernel
    def around(wg, x, out):
        def inner(k, total):
            return lax.while_loop(lambda n: n < 10, lambda n: n + x[0], total)

        return out.at[wg.global_id()].set(lax.fori_loop(0, x[1], inner, jnp.int32(0)))

    with pytest.raises(xe.KernelError, match="a loop has not ended after 1000 iterations"):
        xe.check(around, N, max_iterations=1000)(np.array([0, 2**30], np.int32), np.zeros(128, np.int32))


def test_a_check_counts_what_a_launch_counts():
    """A loop that surely ends is given up by neither."""

    @xe.kernel
    def counted(wg, x, out):
        return out.at[wg.global_id()].set(lax.fori_loop(0, x[0], lambda k, total: total + k, jnp.int32(0)))

    arguments = np.full(1, 10, np.int32), np.zeros(128, np.int32)
    result, findings = xe.check(counted, N, max_iterations=3)(*arguments)
    assert not findings
    np.testing.assert_array_equal(result, xe.launch(counted, N, max_iterations=3)(*arguments))


def test_inside_a_jit_all_results_are_poison():
    arguments = np.zeros(1, np.int32), np.zeros(128, np.int32)
    result = jax.jit(xe.launch(apart, N, max_iterations=10))(*arguments)
    assert (result == poison(np.dtype(np.int32))).all()
    assert (jax.jit(xe.launch(apart, N))(np.ones(1, np.int32), arguments[1]) == 3).all()


def test_over_a_mesh():
    mesh = jax.make_mesh((1,), ("groups",))
    arguments = np.zeros(1, np.int32), np.zeros(128, np.int32)
    with pytest.raises(xe.KernelError, match="after 10 iterations"):
        xe.launch(apart, N, mesh=mesh, max_iterations=10)(*arguments)
    assert (xe.launch(apart, N, mesh=mesh)(np.ones(1, np.int32), arguments[1]) == 3).all()


@pytest.mark.parametrize("wrong", [0, -1, 2**31, 1.5, "many", True])
def test_a_wrong_number_of_iterations(wrong):
    with pytest.raises(xe.KernelArgumentError, match="max_iterations is"):
        xe.launch(apart, N, max_iterations=wrong)


LOOPS = [
    (lambda n, x: lax.fori_loop(0, n, lambda k, s: s + x, x), True),
    (lambda n, x: lax.while_loop(lambda s: (s[0] < n) & (s[1] > 3), lambda s: (s[0] + 1, s[1] * x), (0, x)), True),
    (lambda n, x: lax.while_loop(lambda s: n > s, lambda s: s + 1, x), True),
    (lambda n, x: lax.while_loop(lambda s: s >= 0, lambda s: s - 4, x), True),
    (lambda n, x: lax.while_loop(lambda s: s != n, lambda s: s - 1, x), True),
    (lambda n, x: lax.while_loop(lambda s: s < 100, lambda s: s + 7, x), True),
    (lambda n, x: lax.while_loop(lambda s: s < n * 3 + x, lambda s: s + 1, x), True),
    (lambda n, x: lax.while_loop(lambda s: s[0] < s[1] + n, lambda s: (s[0] + 1, s[1]), (x, n)), True),
    (lambda n, x: lax.while_loop(lambda s: s < n - s, lambda s: s + 1, x), False),
    (lambda n, x: lax.while_loop(lambda s: s < n, lambda s: s + 7, x), False),
    (lambda n, x: lax.while_loop(lambda s: s <= n, lambda s: s + 1, x), False),
    (lambda n, x: lax.while_loop(lambda s: s <= 2**31 - 1, lambda s: s + 1, x), False),
    (lambda n, x: lax.while_loop(lambda s: s < n, lambda s: s - 1, x), False),
    (lambda n, x: lax.while_loop(lambda s: s != 8, lambda s: s + 2, x), False),
    (lambda n, x: lax.while_loop(lambda s: s[0] < s[1], lambda s: (s[0] + 1, s[1] + x), (x, n)), False),
    (lambda n, x: lax.while_loop(lambda s: (s[0] < n) | (s[1] > 3), lambda s: (s[0] + 1, s[1]), (0, x)), False),
    (lambda n, x: lax.while_loop(lambda s: s < n, lambda s: s * 2, x), False),
]


@pytest.mark.parametrize(("loop", "ends"), LOOPS)
def test_which_loops_surely_end(loop, ends):
    body = importing.imported(jax.make_jaxpr(loop)(jnp.int32(3), jnp.int32(5)))
    (found,) = (s for s in map(control.of, body.walk()) if isinstance(s, control.While))
    assert termination.surely_ends(found) == ends


# Of each work-item, from its element of `first` to the next one; what else it has is `x`.
LOOPS_OF_EACH = [
    (lambda wg, k, x, first, i: wg.while_loop(lambda k: k < first[i + 1], lambda k: k + 1, k), True),
    (lambda wg, k, x, first, i: wg.while_loop(lambda k: first[i + 1] > k, lambda k: k + 1, k), True),
    (lambda wg, k, x, first, i: wg.while_loop(lambda k: (x[k] > 0) & (k < first[i + 1]), lambda k: k + 1, k), True),
    (lambda wg, k, x, first, i: wg.while_loop(lambda k: k != 90, lambda k: k + 1, k), True),
    (lambda wg, k, x, first, i: wg.while_loop(lambda k: k < 90, lambda k: k + 7, k), True),
    (lambda wg, k, x, first, i: wg.while_loop(lambda s: s[0] < s[1], lambda s: (s[0] + 1, s[1]), (k, k + 9))[0], True),
    (lambda wg, k, x, first, i: wg.while_loop(lambda k: k < first[i + 1], lambda k: k + x[k], k), False),
    (lambda wg, k, x, first, i: wg.while_loop(lambda k: k < first[i + 1], lambda k: k + 2, k), False),
    (lambda wg, k, x, first, i: wg.while_loop(lambda k: k < 90 * x[k], lambda k: k + 1, k), False),
    (lambda wg, k, x, first, i: wg.while_loop(lambda k: (k < 90) | (x[k] > 1), lambda k: k + 1, k), False),
    (
        lambda wg, k, x, first, i: wg.while_loop(
            lambda s: s[0] < s[1], lambda s: (s[0] + 1, s[1] + s[0] % 2), (k, k + 9)
        )[0],
        False,
    ),
    (
        lambda wg, k, x, first, i: wg.while_loop(
            lambda k: k < 90, lambda k: k + wg.cond(x[k] > 0, lambda: 1, lambda: 0), k
        ),
        False,
    ),
    (
        lambda wg, k, x, first, i: wg.while_loop(
            lambda k: k < first[i + 1] * (first.atomic[0].load() + 1), lambda k: k + 1, k
        ),
        False,
    ),
]


@pytest.mark.parametrize(("loop", "ends"), LOOPS_OF_EACH)
def test_which_loops_of_each_work_item_surely_end(loop, ends):
    """A launch gives up only others."""
    first, x = np.arange(0, 9 * 9, 9, dtype=np.int32), np.ones(100, np.int32)

    @xe.kernel
    def kernel(wg, first, x, out):
        i = wg.global_id()
        return out.at[i].set(loop(wg, first[i], x, first, i))

    def launched(**limits):
        return xe.launch(kernel, xe.NDRange(8, 4), **limits)(first, x, np.zeros(8, np.int32)).tolist()

    assert min(np.array(launched()) - first[:8]) >= 9
    if ends:
        assert launched(max_iterations=3) == launched()
    else:
        with pytest.raises(xe.KernelError, match="a loop has not ended after 3 iterations"):
            launched(max_iterations=3)


ROWS = """
kernel void rows(global const int* first, global const int* x, global int* out) {
    int i = get_global_id(0), sum = 0;
    for (int k = first[i]; k < first[i + 1]; k++) {
        if (x[k] == 5) continue;
        sum += x[k];
        if (sum > 100) break;
    }
    out[i] = sum;
}"""


def test_so_it_is_with_loops_of_c():
    rows = xe.load(ROWS)["rows"]
    first, x = np.arange(0, 9 * 9, 9, dtype=np.int32), np.arange(100, dtype=np.int32) % 7
    expected = [sum(v for v in x[k : k + 9] if v != 5) for k in first[:8]]
    result = xe.launch(rows, xe.NDRange(8, 4), max_iterations=3)(first, x, np.zeros(8, np.int32))
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("value", [1, 0])
def test_the_loop_that_was_given_up_is_put_where_the_host_reads_it(value):
    arguments = np.full(1, value, np.int32), np.zeros(128, np.int32)
    options = Options(None, False, False, "gpu", max_iterations=50)
    ready = prepare(apart, N, xe.device("max1550"), tuple(map(ArgumentType.of, arguments)), (), options)
    *_, given_up = ready.compiled(*arguments)
    assert given_up.sharding.memory_kind == "pinned_host"
    assert bool(given_up) == (value == 0)
