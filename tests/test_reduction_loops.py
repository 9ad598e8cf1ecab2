"""Loops that reduce integers do it by blocks of iterations, with the results of NumPy bit by bit."""

import warnings

import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from jax import lax
from jax.extend import core as jex_core
from test_merge_updates import on_a_gpu

import xeemu as xe
from xeemu.language.memory import poison

OPS = {
    "add": (lambda a, b: a + b, np.add),
    "sub": (lambda a, b: a - b, np.subtract),
    "mul": (lambda a, b: a * b, np.multiply),
    "min": (jnp.minimum, np.minimum),
    "max": (jnp.maximum, np.maximum),
    "and": (lambda a, b: a & b, np.bitwise_and),
    "or": (lambda a, b: b | a, np.bitwise_or),
    "xor": (lambda a, b: b ^ a, np.bitwise_xor),
}


def longer(*cases):
    """Cases of a test that are for the long run."""
    return [pytest.param(*case, marks=pytest.mark.long) for case in cases]


def scans(jaxpr):
    """The lengths of the loops of a jaxpr."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "scan":
            yield eqn.params["length"]
        for inner in jex_core.jaxprs_in_params(eqn.params):
            yield from scans(inner)


def emitted(kernel, nd_range, arguments, static=None, memory_bytes=None):
    """The lengths of the loops that are emitted for a launch."""
    ready = launches.prepared(kernel, nd_range, arguments, static, memory_bytes=memory_bytes)
    with jax.enable_x64(ready.program.wide):
        return list(scans(jax.make_jaxpr(ready.emit)(*arguments).jaxpr))


def results(kernel, nd_range, arguments, static=None):
    """Those of a launch: as usual, with one group at a time, in a jitted function, as for a GPU."""
    static = static or {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", xe.KernelWarning)
        launch = xe.launch(kernel, nd_range)
        yield np.asarray(launch(*arguments, **static))
        yield np.asarray(xe.launch(kernel, nd_range, memory_bytes=1)(*arguments, **static))
        yield np.asarray(jax.jit(lambda *xs: launch(*xs, **static))(*arguments))
        ready = on_a_gpu(kernel, nd_range, arguments, static)
        yield launches.run(ready, arguments)[0]


def numbers(count, dtype="int32", seed=0):
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max, count, dtype, endpoint=True)


@xe.kernel
def reducing(wg, x, out, *, op, length, how):
    """Each work-item reduces numbers of its own, in a value or in a memory of some space."""
    i, lid, apply = wg.global_id(), wg.local_id(), OPS[op][0]
    if how == "value":
        return out.at[i].set(lax.fori_loop(0, length, lambda k, t: apply(t, x[i * length + k]), out[i]))
    if how == "global":
        return lax.fori_loop(0, length, lambda k, o: o.at[i].set(apply(o[i], x[i * length + k])), out)
    place = lid if how == "local" else 0
    memory = wg.local(wg.size, x.dtype) if how == "local" else wg.private(1, x.dtype)
    memory = memory.at[place].set(out[i])
    memory = lax.fori_loop(0, length, lambda k, m: m.at[place].set(apply(m[place], x[i * length + k])), memory)
    return out.at[i].set(memory[place])


def reduced(x, out, op, length):
    expected = out.copy()
    with np.errstate(over="ignore"):
        for column in x[: out.size * length].reshape(out.size, length).T:
            expected = OPS[op][1](expected, column)
    return expected


@xe.kernel
def every_operation(wg, x, out):
    def turn(k, totals):
        return [OPS[op][0](total, x[k]) for op, total in zip(OPS, totals, strict=True)]

    for n, total in enumerate(lax.fori_loop(0, x.shape[0], turn, [out[n] for n in range(len(OPS))])):
        out = out.at[n].set(total)
    return out


@pytest.mark.parametrize(
    "dtype",
    [
        "int32",
        *(pytest.param(dtype, marks=pytest.mark.thorough) for dtype in ("int8", "uint64")),
        *longer(["uint8"], ["int16"], ["uint16"], ["uint32"], ["int64"]),
    ],
)
def test_every_operation_and_dtype(dtype):
    x, out = numbers(101, dtype), numbers(len(OPS), dtype, seed=1)
    expected = np.concatenate([reduced(x, out[n : n + 1], op, 101) for n, op in enumerate(OPS)])
    with jax.enable_x64(dtype.endswith("64")):
        for got in results(every_operation, xe.NDRange(1, 1), (x, out)):
            np.testing.assert_array_equal(got, expected)
        assert not emitted(every_operation, xe.NDRange(1, 1), (x, out))


@pytest.mark.thorough
@pytest.mark.every(4)
@pytest.mark.parametrize("how", ["value", "global", "local", "private"])
@pytest.mark.parametrize(
    ("groups", "items", "length"),
    [
        (1, 1, 0),
        (5, 1, 33),
        (2, 2, 1000),
        *longer((1, 1, 1), (1, 4, 31), (1, 1, 32), (40, 4, 100), (1, 1, 16387)),
    ],
)
def test_values_and_memories(how, groups, items, length):
    x, out = numbers(max(groups * items * length, 1)), numbers(groups * items, seed=1)
    static = {"op": "add", "length": length, "how": how}
    for got in results(reducing, xe.NDRange(groups * items, items), (x, out), static):
        np.testing.assert_array_equal(got, reduced(x, out, "add", length))


@pytest.mark.parametrize("how", ["value", "global", "local", "private"])
def test_a_long_loop_of_single_elements_is_one_pass(how):
    """Which takes no memory; what is left of 2^20 + 1 iterations is emitted once more."""
    for length in (2**20, 2**20 + 1):
        arguments, static = (np.ones(length, np.int32), np.ones(1, np.int32)), {"op": "xor", "length": length}
        assert not emitted(reducing, xe.NDRange(1, 1), arguments, static | {"how": how})
        ready = launches.prepared(reducing, xe.NDRange(1, 1), arguments, static | {"how": how})
        assert launches.temporary_bytes(ready.compiled, *arguments) < 1 << 12
        got = xe.launch(reducing, xe.NDRange(1, 1))(*arguments, **static, how=how)
        assert int(np.asarray(got)[0]) == 1 ^ length % 2


@pytest.mark.thorough
@pytest.mark.parametrize("length", [4096, 5000, *longer([4095], [4097], [70_001], [1_000_003])])
@pytest.mark.parametrize("op", ["add", "min", *longer(["mul"], ["and"])])
def test_rows_of_any_length(length, op):
    x, out = numbers(length), numbers(1, seed=1)
    for got in results(reducing, xe.NDRange(1, 1), (x, out), {"op": op, "length": length, "how": "value"}):
        np.testing.assert_array_equal(got, reduced(x, out, op, length))


@xe.kernel
def side_by_side(wg, x, out):
    lid = wg.local_id()
    turns = x.shape[0] // wg.size
    return out.at[lid].set(lax.fori_loop(0, turns, lambda k, t: t + x[k * wg.size + lid], out[lid]))


def test_a_long_loop_of_several_elements_has_few_blocks():
    """2^19 iterations of two are 32 blocks of 2^14."""
    arguments = np.ones(2**20, np.int32), np.ones(2, np.int32)
    assert emitted(side_by_side, xe.NDRange(2, 2), arguments) == [32]
    got = xe.launch(side_by_side, xe.NDRange(2, 2))(*arguments)
    np.testing.assert_array_equal(got, [1 + 2**19, 1 + 2**19])


def test_many_work_items_have_work_enough():
    x, out = np.ones(64 * 4096, np.int32), np.zeros(64, np.int32)
    assert emitted(reducing, xe.NDRange(64, 64), (x, out), {"op": "add", "length": 4096, "how": "value"}) == [64]


@pytest.mark.parametrize("memory_bytes", [1, 1 << 12, 1 << 16, 1 << 30])
def test_blocks_keep_to_the_bound_of_memory(memory_bytes):
    length, arguments = 2**17, (numbers(2**18), np.ones(2, np.int32))
    got = xe.launch(side_by_side, xe.NDRange(2, 2), memory_bytes=memory_bytes)(*arguments)
    np.testing.assert_array_equal(got, 1 + arguments[0].reshape(-1, 2).sum(0, dtype=np.int32))
    loops = emitted(side_by_side, xe.NDRange(2, 2), arguments, memory_bytes=memory_bytes)
    turns = length // loops[0]
    assert turns == 64 if memory_bytes < 1 << 10 else turns <= min(max(memory_bytes // 16, 64), 2**14)


@pytest.mark.parametrize("memory_bytes", [1 << 16, pytest.param(None, marks=pytest.mark.thorough)])
def test_rows_that_do_not_fuse_keep_to_the_bound_of_memory(memory_bytes):
    """Several are reduced of what is looked up."""
    x, places = numbers(1000), np.random.default_rng(0).integers(0, 1000, 2**20, dtype=np.int32)
    arguments = x, places, np.zeros(2, np.int32)
    ready = launches.prepared(looked_up, xe.NDRange(1, 1), arguments, memory_bytes=memory_bytes)
    program = launches.compiled(ready.compiled, *arguments)
    (got,) = jax.tree.leaves(program(*arguments))
    np.testing.assert_array_equal(got, [x[places].sum(dtype=np.int32), x[places].min()])
    assert program.memory_analysis().temp_size_in_bytes <= (memory_bytes or 16 << 20)


@xe.kernel
def looked_up(wg, x, places, out):
    def turn(k, found):
        total, least = found
        return total + x[places[k]], jnp.minimum(least, x[places[k]])

    total, least = lax.fori_loop(0, places.shape[0], turn, (jnp.int32(0), jnp.int32(2**31 - 1)))
    return out.at[0].set(total).at[1].set(least)


@xe.kernel
def conditional(wg, x, out, *, length, how):
    """What takes part differs from iteration to iteration."""
    i, total = wg.global_id(), wg.private(1, jnp.int32)
    if how == "store":
        total = total.at[0].set(x[i])

        def turn(k, total):
            word = x[i + k]
            total = total.at[0].set(total[0] + word, where=word % 3 > 0)
            return total.at[0].set(total[0] - k, where=word % 5 > 0)

        return out.at[i].set(lax.fori_loop(0, length, turn, total)[0])

    def choose(k, total):
        word = x[i + k]
        if how == "where":
            return jnp.where(word % 3 > 0, total + word, total) - jnp.where(word % 5 > 0, k, 0)
        loaded = x.load(i + k, where=word % 3 > 0, other=0)
        return total + loaded - jnp.where(word % 5 > 0, k, 0)

    return out.at[i].set(lax.fori_loop(0, length, choose, x[i]))


@pytest.mark.thorough
@pytest.mark.every(2)
@pytest.mark.parametrize("how", ["store", "where", "load"])
@pytest.mark.parametrize("length", [40, 1000])
@pytest.mark.parametrize("items", [1, 3])
def test_masks(how, length, items):
    x, out = numbers(length + 2 * items), np.zeros(2 * items, np.int32)
    expected = x[: 2 * items].copy()
    with np.errstate(over="ignore"):
        for k in range(length):
            word = x[k : k + 2 * items]
            expected += np.where(word % 3 > 0, word, 0) - np.where(word % 5 > 0, k, 0).astype(np.int32)
    for got in results(conditional, xe.NDRange(2 * items, items), (x, out), {"length": length, "how": how}):
        np.testing.assert_array_equal(got, expected)


@xe.kernel
def leaving(wg, x, out, *, start, move, length, gathered):
    """Loads that may be out of bounds, of elements a constant further each or of any."""
    i = wg.global_id()

    def turn(k, total):
        place = start + i + k * move
        return total + x[x[k] % 997 + place if gathered else place]

    return out.at[i].set(lax.fori_loop(0, length, turn, i * 0))


@pytest.mark.thorough
@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("start", "move", "length", "gathered"),
    [
        *((start, 1, 300, False) for start in (698, 699, -1)),
        *longer(*((start, 1, 300, False) for start in (0, 2000, -400))),
        *((start, -1, 300, False) for start in (299, 298)),
        *longer(*((start, -1, 300, False) for start in (997, 998))),
        *((start, 3, 300, False) for start in (100, 101)),
        *longer((-3, 3, 300, False), (997, 0, 300, False), (998, 0, 300, False)),
        (0, 2**24, 300, False),
        (5, 40, 2000, False),
        *((start, 1, 300, True) for start in (0, 2, -1)),
    ],
)
def test_loads_that_may_leave_the_memory(start, move, length, gathered):
    x, total, i = numbers(1000), np.zeros(3, np.int32), np.arange(3, dtype=np.int64)
    x[:] = x % 1000
    x = np.concatenate([x, np.zeros(max(length - 1000, 0), np.int32)])
    with np.errstate(over="ignore"):
        for k in range(length):
            place = start + i + k * move + (x[k] % 997 if gathered else 0)
            place = place.astype(np.int32)
            inside = (place >= 0) & (place < x.size)
            total += np.where(inside, x[np.where(inside, place, 0)], poison(np.dtype(np.int32)))
    static = {"start": start, "move": move, "length": length, "gathered": gathered}
    for got in results(leaving, xe.NDRange(3, 3), (x, np.zeros(3, np.int32)), static):
        np.testing.assert_array_equal(got, total)


@xe.kernel
def at_run_time(wg, x, out, start, *, length):
    return out.at[0].set(lax.fori_loop(0, length, lambda k, t: t + x[start + 2 * k], out[0]))


@pytest.mark.parametrize(
    "start", [3, pytest.param(2, marks=pytest.mark.thorough), *longer([0], [-1], [2**31 - 1], [-(2**31)])]
)
def test_bounds_that_are_known_when_the_program_runs(start):
    length = 150
    x, out = numbers(2 * length + 1), np.ones(1, np.int32)
    place = (start + 2 * np.arange(length, dtype=np.int64)).astype(np.int32)
    inside = (place >= 0) & (place < x.size)
    loaded = np.where(inside, x[np.where(inside, place, 0)], poison(np.dtype(np.int32)))
    for got in results(at_run_time, xe.NDRange(1, 1), (x, out, np.int32(start)), {"length": length}):
        assert got[0] == np.int32(1) + loaded.sum(dtype=np.int32)


@xe.kernel
def divergent(wg, x, out, *, length):
    """Only some of the groups go through the loop."""
    gid, lid = wg.group_id(), wg.local_id()
    total = wg.local(wg.size, jnp.uint32)
    total = total.at[lid].set(x[lid])

    def loop(total):
        return lax.fori_loop(0, length, lambda k, t: t.at[lid].set(jnp.maximum(t[lid], x[k] ^ number)), total)

    def value():
        return lax.fori_loop(0, length, lambda k, t: t + x[k + gid], jnp.uint32(0))

    number = gid.astype(jnp.uint32)
    total = wg.barrier(lax.cond(x[gid] % 2 > 0, loop, lambda total: total, total))
    return out.at[wg.global_id()].set(total[lid] + lax.cond(gid > 1, value, lambda: jnp.uint32(7)))


@pytest.mark.thorough
@pytest.mark.parametrize("length", [50, 1000])
@pytest.mark.parametrize("groups", [1, 5])
def test_groups_that_do_not_run_keep_what_they_have(groups, length):
    x, out = numbers(length + groups, "uint32"), np.zeros(2 * groups, np.uint32)
    expected = np.zeros((groups, 2), np.uint32)
    for gid in range(groups):
        most = (x[:length] ^ np.uint32(gid)).max() if x[gid] % 2 else np.uint32(0)
        added = x[gid : gid + length].sum(dtype=np.uint32) if gid > 1 else np.uint32(7)
        expected[gid] = np.maximum(x[:2], most) + added
    for got in results(divergent, xe.NDRange(2 * groups, 2), (x, out), {"length": length}):
        np.testing.assert_array_equal(got, expected.reshape(-1))


@xe.kernel
def at_different_lengths(wg, x, lengths, out, *, block):
    """Groups leave the outer loop at different times."""
    gid = wg.group_id()

    def blocks(state):
        b, total = state
        total = lax.fori_loop(0, block, lambda k, t: t.at[gid].set(t[gid] ^ x[b * block + k]), total)
        return b + 1, total

    return lax.while_loop(lambda state: state[0] < lengths[gid], blocks, (jnp.int32(0), out))[1]


def test_a_loop_in_a_loop_that_groups_leave():
    block, lengths = 40, np.asarray([0, 3, 1, 2, 0, 5], np.int32)
    x, out = numbers(5 * block), numbers(6, seed=1)
    expected = [start ^ np.bitwise_xor.reduce(x[: n * block]) for start, n in zip(out, lengths, strict=True)]
    for got in results(at_different_lengths, xe.NDRange(6, 1), (x, lengths, out), {"block": block}):
        np.testing.assert_array_equal(got, expected)


@xe.kernel
def several(wg, x, out, low, *, length):
    """Several reductions, with counters of different widths that the loads move by, and that are used afterwards."""
    i = wg.global_id()

    def turn(_, state):
        out, low, found, down, each, narrow = state
        word = x[down] ^ x[each]
        out = out.at[i].set(out[i] + word * narrow.astype(jnp.int32))
        low = low.at[i].set(jnp.minimum(low[i], word), where=word < 1000)
        return out, low, found | (x[down] % 1009 == 12), down - 2, each + 3, narrow + np.int8(7)

    start = out, low, jnp.zeros((), bool), jnp.int32(2 * length), i, jnp.int8(-5)
    out, low, found, down, each, narrow = lax.fori_loop(0, length, turn, start)
    rest = found.astype(jnp.int32) * 1000 + down + each + narrow.astype(jnp.int32)
    return out.at[i].set(out[i] + rest), low


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize("length", [33, 64, 1001])
@pytest.mark.parametrize("items", [1, 2])
def test_several_carries(length, items):
    x, out, low = numbers(3 * length + items), numbers(items, seed=1), numbers(items, seed=2)
    i, narrow = np.arange(items), np.int8(-5)
    totals, least, found = out.copy(), low.copy(), np.bool_(False)
    with np.errstate(over="ignore"):
        for k in range(length):
            word = x[2 * length - 2 * k] ^ x[i + 3 * k]
            totals += word * np.int32(narrow)
            least = np.where(word < 1000, np.minimum(least, word), least)
            found |= x[2 * length - 2 * k] % 1009 == 12
            narrow += np.int8(7)
        totals += np.int32(1000) * found + (i + 3 * length).astype(np.int32) + np.int32(narrow)
    for memory_bytes in (None, 1):
        got = xe.launch(several, xe.NDRange(items, items), memory_bytes=memory_bytes)(x, out, low, length=length)
        np.testing.assert_array_equal(got[0], totals)
        np.testing.assert_array_equal(got[1], least)


OTHERWISE = {
    "used in a sum": lambda k, x, a, b: (a + x, b + a),
    "used in an index": lambda k, x, a, b: (a + x, b ^ k ^ a % 2),
    "exchanged": lambda k, x, a, b: (b + x, a + 1),
    "two operations": lambda k, x, a, b: (jnp.minimum(jnp.maximum(a, x), b), b),
    "scaled": lambda k, x, a, b: (a * 3 + x, b + x),
    "from what is left": lambda k, x, a, b: (x - a, b),
    "set": lambda k, x, a, b: (jnp.where(x > 0, x, a + x), b),
    "twice itself": lambda k, x, a, b: (a + a + x, b),
    "narrowed": lambda k, x, a, b: ((a + x).astype(jnp.int8).astype(jnp.int32), b),
    "turned round": lambda k, x, a, b: (a[::-1] + x, b),
    "a branch": lambda k, x, a, b: (lax.cond(x[0] > 0, lambda a: a + 1, lambda a: a ^ 1, a), b),
}


def otherwise(x, i, how, length, loop):
    """The kernel's arithmetic, with a loop of JAX's or one of Python's."""

    def turn(k, state):
        return OTHERWISE[how](k, x[i + k], *state)

    return loop(0, length, turn, (i * 1, i * 0))


def in_python(low, high, turn, state):
    for k in range(low, high):
        state = turn(jnp.int32(k), state)
    return state


@xe.kernel
def of_another_kind(wg, x, out, *, how, length):
    a, b = otherwise(x, wg.global_id(), how, length, lax.fori_loop)
    return out.at[wg.global_id()].set(a * 5 + b)


@pytest.mark.every(2)
@pytest.mark.parametrize("how", OTHERWISE)
def test_what_is_carried_and_used_otherwise(how):
    length, i = 50, jnp.arange(2, dtype=jnp.int32)
    x, out = numbers(length + 2), np.zeros(2, np.int32)
    a, b = otherwise(jnp.asarray(x), i, how, length, in_python)
    for got in results(of_another_kind, xe.NDRange(2, 2), (x, out), {"how": how, "length": length}):
        np.testing.assert_array_equal(got, a * 5 + b)


@xe.kernel
def running(wg, x, out, sums, *, length):
    """Every sum on the way is stored."""

    def turn(k, state):
        out, sums = state
        out = out.at[0].set(out[0] + x[k])
        return out, sums.at[k].set(out[0])

    return lax.fori_loop(0, length, turn, (out, sums))


def test_sums_that_are_stored_on_the_way():
    x = numbers(100)
    got = xe.launch(running, xe.NDRange(1, 1))(x, np.ones(1, np.int32), np.zeros(100, np.int32), length=100)
    sums = np.cumsum(x, dtype=np.int32) + np.int32(1)
    np.testing.assert_array_equal(got[0], sums[-1:])
    np.testing.assert_array_equal(got[1], sums)


def test_floats_are_summed_in_order():
    x, out = np.random.default_rng(0).standard_normal(5000).astype(np.float32), np.zeros(1, np.float32)
    total = np.float32(0)
    for number in x:
        total += number
    static = {"op": "add", "length": 5000, "how": "global"}
    for got in results(reducing, xe.NDRange(1, 1), (x, out), static):
        assert got[0] == total
    assert emitted(reducing, xe.NDRange(1, 1), (x, out), static) == [5000 // 50]


@xe.kernel
def by_elements(wg, x, out, *, reverse, length):
    def turn(total, k):
        return total + x[k] * k, total

    total, before = lax.scan(turn, out[0], jnp.arange(length, dtype=jnp.int32), reverse=reverse)
    return out.at[0].set(total + before[3])


@xe.kernel
def carried_only(wg, x, out, *, reverse, length):
    def turn(state, _):
        k, total = state
        return (k + 1, total + x[k] * k), None

    return out.at[0].set(lax.scan(turn, (jnp.int32(0), out[0]), None, reverse=reverse, length=length)[0][1])


@pytest.mark.thorough
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(reverse):
    x, out = numbers(100), np.ones(1, np.int32)
    words = x * np.arange(100, dtype=np.int32)
    before = words[4:].sum(dtype=np.int32) if reverse else words[:3].sum(dtype=np.int32)
    expected = np.int32(1) + words.sum(dtype=np.int32)
    static = {"reverse": reverse, "length": 100}
    for got in results(by_elements, xe.NDRange(1, 1), (x, out), static):
        assert got[0] == expected + before + np.int32(1)
    for got in results(carried_only, xe.NDRange(1, 1), (x, out), static):
        assert got[0] == expected


@xe.kernel
def traced(wg, x, out, length):
    return lax.fori_loop(0, length, lambda k, t: t.at[0].set(t[0] + x[k]), out)


@pytest.mark.parametrize("length", [0, 1, 77, 100])
def test_trip_counts_that_are_known_when_the_program_runs(length):
    x, out = numbers(100), np.ones(1, np.int32)
    for got in results(traced, xe.NDRange(1, 1), (x, out, np.int32(length))):
        assert got[0] == np.int32(1) + x[:length].sum(dtype=np.int32)


@xe.kernel
def tables(wg, x, table, out, *, length):
    """Look-ups in tables of several spaces and dimensions, of places that depend on data."""
    i, lid = wg.global_id(), wg.local_id()
    own, shared = wg.private(4, jnp.int32), wg.local((4, 4), jnp.int32)
    for k in range(4):
        own = own.at[k].set(x[k] + lid)
        shared = shared.at[k, lid].set(x[k] - lid, where=lid < 4)
    shared = wg.barrier(shared)

    def turn(k, total):
        word = x[k] & 3
        near = own[word] + own[k & 3] + shared[word, k & 3] + shared[k % 4, lid % 4] + table[k % 5, i % 3]
        return total + near * wg.reduce(lid + k, "max")

    return out.at[i].set(lax.fori_loop(0, length, turn, i * 0))


@pytest.mark.thorough
@pytest.mark.parametrize(("groups", "items"), [(1, 4), (3, 5)])
def test_tables(groups, items):
    length = 99
    x, table = numbers(length), numbers(15, seed=1).reshape(5, 3)
    gid, lid = np.divmod(np.arange(groups * items, dtype=np.int32), np.int32(items))
    i, total = gid * items + lid, np.zeros(groups * items, np.int32)
    with np.errstate(over="ignore"):
        for k in range(length):
            word = x[k] & 3
            near = x[word] + lid + x[k & 3] + lid + (x[word] - (k & 3)) + (x[k % 4] - lid % 4) + table[k % 5, i % 3]
            total += near * np.int32(items - 1 + k)
    out = np.zeros(groups * items, np.int32)
    for got in results(tables, xe.NDRange(groups * items, items), (x, table, out), {"length": length}):
        np.testing.assert_array_equal(got, total)


@xe.kernel
def nested(wg, x, out, *, rows, length):
    """Sums of rows, and their greatest, in a memory and in a value."""

    def row(r, state):
        out, most = state
        total = lax.fori_loop(0, length, lambda k, t: t + x[r * length + k], jnp.int32(0))
        out = lax.fori_loop(0, length, lambda k, o: o.at[0].set(o[0] + x[k] * total), out)
        return out, jnp.maximum(most, total)

    out, most = lax.fori_loop(0, rows, row, (out, jnp.int32(0)))
    return out.at[0].set(out[0] ^ most)


@pytest.mark.thorough
def test_nested_loops():
    rows, length = 7, 90
    x, out = numbers(rows * length), np.ones(1, np.int32)
    sums = x.reshape(rows, length).sum(axis=1, dtype=np.int32)
    with np.errstate(over="ignore"):
        total = np.int32(1) + (x[:length] * sums[:, None]).sum(dtype=np.int32)
    for got in results(nested, xe.NDRange(1, 1), (x, out), {"rows": rows, "length": length}):
        assert got[0] == total ^ max(sums.max(), 0)


@pytest.mark.thorough
def test_a_single_work_item_among_others_that_do_not_exist():
    """A plain range of one work-item, as an example has it."""

    @xe.kernel
    def kernel(wg, x, out):
        return lax.fori_loop(0, 500, lambda k, o: o.at[0].set(o[0] + x[k]), out)

    x, out = numbers(500), np.ones(1, np.int32)
    for got in results(kernel, xe.NDRange(1), (x, out)):
        assert got[0] == np.int32(1) + x.sum(dtype=np.int32)
