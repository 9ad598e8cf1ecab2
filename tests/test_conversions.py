"""64-bit data: never cut silently; values that JAX widens only because its 64-bit mode is on convert back."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import refusals
from jax import lax

import xeemu as xe

ITEMS, SIZE = 4, 8
RANGE = xe.NDRange(SIZE, ITEMS)
WIDE = {
    "int64": np.array([-(2**63), 2**63 - 1, 2**40 + 1, -(2**33), 5, -1, 2**32, 2**31]),
    "uint64": np.array([2**64 - 1, 2**63, 2**40 + 1, 0, 5, 2**33, 2**32, 2**31], np.uint64),
    "float64": np.array([1e300, -1e-300, 0.1, 2.0**53 + 2, -0.5, 1 / 3, np.inf, 2.0**-1000]),
}
INT64 = np.zeros(SIZE, np.int64)


def run(function, *arguments):
    return jax.tree.map(np.asarray, xe.launch(xe.kernel(function), RANGE)(*arguments))


def blank(dtype):
    return np.zeros(SIZE, dtype)


# --- Wide data stays wide ---


@pytest.mark.parametrize("dtype", WIDE)
def test_wide_data_through_every_operation(dtype):
    """Loads, stores, local and private memory, exchange, collectives, scalars: bit by bit."""

    def kernel(wg, x, scalar, out):
        i, lid = wg.global_id(), wg.local_id()
        tile, own = wg.local(ITEMS, dtype), wg.private(1, dtype)
        tile = wg.barrier(tile.at[lid].set(x[i]))
        own = own.at[0].set(x[i])
        old, tile = tile.atomic[lid].exchange(own[0])
        rows = [tile[lid], old, wg.sub_group.select(x[i], lid), wg.inclusive_scan(x[i], "max"), own[0]]
        rows += [jnp.broadcast_to(v, (ITEMS,)) for v in (wg.reduce(x[i], "min"), wg.broadcast(x[i], 1), scalar, x[2])]
        for number, row in enumerate(rows):
            out = out.at[number, i].set(row)
        return out

    x = WIDE[dtype]
    scalar = x.dtype.type(x[1])
    out = run(kernel, x, scalar, np.zeros((9, SIZE), dtype))
    groups = x.reshape(-1, ITEMS)
    spread = [np.repeat(v, ITEMS) for v in (groups.min(1), groups[:, 1])]
    expected = [
        x,
        x,
        x,
        np.maximum.accumulate(groups, 1).reshape(-1),
        x,
        *spread,
        np.full(SIZE, scalar),
        np.full(SIZE, x[2]),
    ]
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(out, np.array(expected, x.dtype))


@pytest.mark.parametrize("dtype", WIDE)
def test_wide_atomics_carry_over_32_bits(dtype):
    def kernel(wg, x, total):
        total = total.atomic[0].add(x[wg.global_id()])
        _, total = total.atomic[1].fetch_sub(x[wg.global_id()])
        return total

    x = np.full(SIZE, 2**31 + 1).astype(dtype)
    with np.errstate(over="ignore"):
        expected = np.array([x.sum(), np.zeros((), dtype) - x.sum()])
    np.testing.assert_array_equal(run(kernel, x, np.zeros(2, dtype)), expected)


def test_wide_local_memory_alone_makes_a_kernel_wide():
    def kernel(wg, x, low, high):
        i, lid = wg.global_id(), wg.local_id()
        total = wg.local(1, jnp.uint64)
        total = wg.barrier(total.at[0].set(0, where=lid == 0))
        total = wg.barrier(total.atomic[0].add(x[i]))
        low = low.at[i].set((total[0] & jnp.uint64(0xFFFFFFFF)).astype(jnp.uint32))
        return low, high.at[i].set((total[0] >> jnp.uint64(32)).astype(jnp.uint32))

    x = np.full(SIZE, 2**32 - 1, np.uint32)
    low, high = run(kernel, x, blank(np.uint32), blank(np.uint32))
    assert set(high.astype(np.uint64) << np.uint64(32) | low) == {ITEMS * (2**32 - 1)}


@pytest.mark.parametrize("dtype", WIDE)
def test_results_keep_their_width_outside_jit_whatever_jax_does_by_default(dtype):
    def kernel(wg, x):
        return x.at[wg.global_id()].set(x[wg.global_id()])

    assert not jax.config.jax_enable_x64
    result = xe.launch(xe.kernel(kernel), RANGE)(WIDE[dtype])
    assert isinstance(result, jax.Array)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, WIDE[dtype])
    again = xe.launch(xe.kernel(kernel), RANGE)(result)
    np.testing.assert_array_equal(again, WIDE[dtype])


# --- A narrow kernel stays narrow ---


def test_a_kernel_without_wide_memories_knows_no_wide_types():
    seen = []

    def kernel(wg, x, n):
        values = [
            wg.global_id(),
            jnp.arange(ITEMS),
            jnp.sum(x[wg.global_id()]),
            jnp.argmax(wg.local_id()),
            n,
            jnp.zeros(2),
        ]
        seen.extend(v.dtype.itemsize for v in values)
        return x

    run(kernel, blank(np.int32), 3)
    assert seen == [4] * 6


def test_ids_are_int32_in_a_wide_kernel_too():
    seen = []

    def kernel(wg, x):
        seen.extend(i.dtype.name for i in (wg.global_id(), wg.local_id(), wg.group_id(), wg.sub_group.local_id()))
        return x

    run(kernel, INT64)
    assert seen == ["int32"] * 4


# --- What the mode widens converts back ---

WIDENED = {
    "arange": lambda wg, x: jnp.arange(ITEMS),
    "sum": lambda wg, x: jnp.sum(x),
    "sum of bools": lambda wg, x: jnp.sum(x > 3),
    "cumsum": lambda wg, x: jnp.cumsum(x),
    "argmax": lambda wg, x: jnp.argmax(x),
    "argsort": lambda wg, x: jnp.argsort(-x),
    "prod": lambda wg, x: jnp.prod(x % 3 + 1),
    "count_nonzero": lambda wg, x: jnp.count_nonzero(x),
    "zeros": lambda wg, x: jnp.sum(jnp.zeros(2, int)) + jnp.arange(ITEMS) * 2,
    "searchsorted": lambda wg, x: jnp.searchsorted(jnp.arange(4), jnp.arange(ITEMS)),
}


@pytest.mark.parametrize("name", WIDENED)
def test_integers_widened_by_the_mode_convert_back(name):
    """The same 32-bit results with and without a 64-bit argument beside them."""

    def kernel(wg, x, out, other):
        return out.at[wg.global_id()].set(WIDENED[name](wg, x[wg.global_id()])), other

    x = np.random.default_rng(0).integers(-9, 9, SIZE).astype(np.int32)
    narrow, _ = run(kernel, x, blank(np.int32), blank(np.int32))
    wide, _ = run(kernel, x, blank(np.int32), INT64)
    np.testing.assert_array_equal(wide, narrow)


@pytest.mark.parametrize(
    "make", [lambda: jnp.zeros(ITEMS), lambda: jnp.linspace(0, 1, ITEMS), lambda: jnp.ones(()) * 0.5]
)
def test_floats_widened_by_the_mode_convert_back(make):
    def kernel(wg, out, other):
        return out.at[wg.global_id()].set(make()), other

    narrow, _ = run(kernel, blank(np.float32), blank(np.int32))
    wide, _ = run(kernel, blank(np.float32), INT64)
    np.testing.assert_allclose(wide, narrow, rtol=1e-6)


def test_widened_values_pass_through_control_flow():
    def kernel(wg, x, out, other):
        def body(k, carry):
            out, total = carry
            total = total + jnp.sum(x[wg.global_id()])
            return out.at[wg.global_id()].set(total), total

        out, total = lax.fori_loop(0, 3, body, (out, jnp.sum(jnp.arange(3))))
        value = jax.jit(lambda t: lax.cond(t > 0, lambda t: t + 1, lambda t: t - 1, t))(total)
        return out.atomic[wg.global_id()].add(value), other

    x = np.arange(SIZE, dtype=np.int32)
    totals = np.repeat(3 + 3 * x.reshape(-1, ITEMS).sum(1), ITEMS)
    np.testing.assert_array_equal(run(kernel, x, blank(np.int32), INT64)[0], 2 * totals + 1)


# --- Python scalars and counters ---


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64", "float16", "float64"])
@pytest.mark.parametrize("other", ["int32", "int64"])
def test_python_scalars_and_counters_that_fit_go_anywhere(dtype, other):
    def kernel(wg, out, other):
        out = out.at[0].set(100)
        out = out.at[1].set(True)
        if dtype.startswith("float"):
            return out.at[2].set(-2.5), other
        return lax.fori_loop(0, 3, lambda k, out: out.at[2 + k].set(k).at[5 + k].set(2 * k + 1), out), other

    out, _ = run(kernel, np.zeros(8, dtype), blank(other))
    rest = [-2.5, 0, 0, 0, 0, 0] if dtype.startswith("float") else [0, 1, 2, 1, 3, 5]
    np.testing.assert_array_equal(out, np.array([100, 1, *rest], dtype))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", 2**63 - 1),
        ("int64", -(2**63)),
        ("uint64", 2**64 - 1),
        ("uint32", 2**32 - 1),
        ("float64", 2**53),
        ("float32", 0.1),
    ],
)
def test_python_scalars_up_to_the_limits(dtype, value):
    def kernel(wg, out):
        return out.at[wg.global_id()].set(value)

    np.testing.assert_array_equal(run(kernel, blank(dtype)), np.full(SIZE, value, dtype))


@pytest.mark.parametrize("other", ["int32", "int64"])
@pytest.mark.parametrize(("value", "dtype"), [(7, "int32"), (-7, "int32"), (0.1, "float32"), (True, "bool")])
def test_python_arguments_have_the_default_width_of_the_kernel(value, dtype, other):
    """As wide as loop counters are, so that they may bound a loop; they fit 32 bits, and no store refuses them."""
    seen = []

    def kernel(wg, n, out, other):
        seen.append((n.shape, n.dtype.name))
        return out.at[wg.global_id()].set(jnp.broadcast_to(n, (ITEMS,)).astype(out.dtype)), other

    out, _ = run(kernel, value, blank(dtype), blank(other))
    np.testing.assert_array_equal(out, np.full(SIZE, value, dtype))
    wide = other == "int64" and dtype != "bool"
    assert seen == [((), dtype.replace("32", "64") if wide else dtype)]


# --- Genuine 64-bit values ---

refused = refusals.Refusals(RANGE)
PAIR = (blank(np.int32), INT64)
REALS = (blank(np.float32), blank(np.float64))


def lossy(given, name, holds):
    return (
        f"a value of dtype {given} stored in {name}, which holds {holds}, could lose bits; say that it may: "
        f"value.astype(jnp.{holds})"
    )


@refused(lossy("int64", "out", "int32"), *PAIR)
def loaded(wg, out, x):
    return out.at[wg.global_id()].set(x[wg.global_id()])  # <-


@refused(lossy("int64", "out", "int32"), *PAIR)
def asked_for_by_astype(wg, out, x):
    return out.at[wg.global_id()].set(out[wg.global_id()].astype(jnp.int64) * 3), x  # <-


@refused(lossy("int64", "out", "int32"), *PAIR)
def asked_for_by_convert(wg, out, x):
    wide = lax.convert_element_type(out[wg.global_id()], jnp.int64) * 3
    return out.at[wg.global_id()].set(wide), x  # <-


@refused(lossy("int64", "out", "int32"), *PAIR)
def asked_for_by_the_constructor(wg, out, x):
    return out.at[wg.global_id()].set(jnp.int64(out[wg.global_id()]) * 3), x  # <-


@refused(lossy("int64", "out", "int32"), *PAIR)
def asked_for_by_asarray(wg, out, x):
    return out.at[wg.global_id()].set(jnp.asarray(out[wg.global_id()], jnp.int64) * 3), x  # <-


@refused(lossy("int64", "out", "int32"), *PAIR)
def asked_for_by_bitcast(wg, out, x):
    halves = jnp.stack([out[wg.global_id()], wg.local_id()], -1)
    return out.at[wg.global_id()].set(lax.bitcast_convert_type(halves, jnp.int64)), x  # <-


@refused(lossy("int64", "out", "int32"), *PAIR)
def from_an_atomic(wg, out, x):
    old, x = x.atomic[0].fetch_add(1)
    return out.at[wg.global_id()].set(old), x  # <-


@refused(lossy("int64", "out", "int32"), *PAIR)
def through_a_collective(wg, out, x):
    return out.at[0].set(wg.reduce(x[wg.global_id()], "add"))  # <-


@refused(lossy("int64", "out", "int32"), *PAIR)
def through_arithmetic_and_jnp(wg, out, x):
    return out.at[0].set(jnp.sum(x[wg.global_id()] + jnp.arange(ITEMS)))  # <-


@refused(lossy("int64", "out", "int32"), *PAIR)
def through_the_carry_of_a_loop(wg, out, x):
    def body(k, state):
        out, value = state
        out = out.at[0].set(value)  # <-
        return out, value + x[k]

    return lax.fori_loop(0, 3, body, (out, jnp.sum(jnp.arange(3))))[0]


@refused(lossy("int64", "out", "int32"), *PAIR)
def before_a_loop_that_may_have_no_iterations(wg, out, x):
    value = lax.while_loop(lambda value: value < 0, lambda value: jnp.sum(jnp.arange(3)), x[0])
    return out.at[0].set(value)  # <-


@refused(lossy("int64", "out", "int32"), *PAIR)
def through_a_branch(wg, out, x):
    value = lax.cond(wg.group_id() == 0, lambda: x[0], lambda: jnp.sum(jnp.arange(3)))
    return out.at[0].set(value)  # <-


@refused(lossy("int64", "out", "int32"), *PAIR)
def through_a_nested_jit(wg, out, x):
    return out.at[0].set(jax.jit(lambda v: v + 1)(x[0]))  # <-


@refused(lossy("int64", "tile", "int32"), *PAIR)
def into_local_memory_by_an_atomic(wg, out, x):
    tile = wg.local(1, jnp.int32)
    tile = tile.at[0].set(0).atomic[0].add(x[wg.global_id()])  # <-
    return out


@refused(lossy("int64", "out", "int32"), *PAIR)
def from_a_constant_array(wg, out, x):
    table = jnp.asarray(np.array([2**40, 1, 2, 3]))
    return out.at[wg.global_id()].set(table[wg.local_id()]), x  # <-


@refused(lossy("int64", "x", "float64"), blank(np.float64), INT64)
def whole_numbers_into_reals(wg, x, n):
    return x.at[wg.global_id()].set(n[wg.global_id()])  # <-


@refused(lossy("float64", "out", "float32"), *REALS)
def real_numbers(wg, out, x):
    return out.at[wg.global_id()].set(x[wg.global_id()] * 0.5)  # <-


@refused(lossy("uint64", "out", "uint32"), blank(np.uint32), blank(np.uint64))
def unsigned_numbers(wg, out, x):
    return out.at[wg.global_id()].set(x[wg.global_id()] >> jnp.uint64(1))  # <-


@refused(lossy("int64", "out", "int32"), blank(np.int32), np.int64(3))
def scalar_argument(wg, out, n):
    return out.at[wg.global_id()].set(n)  # <-


@pytest.mark.parametrize(("function", "message", "arguments"), refused.cases)
def test_a_wide_value_needs_astype_to_be_cut(function, message, arguments):
    assert refused.error(function, arguments) == f"{message}\n  at {refusals.site(function)}"


def test_astype_cuts():
    def kernel(wg, x, out):
        return out.at[wg.global_id()].set(x[wg.global_id()].astype(jnp.int32))

    x = WIDE["int64"]
    np.testing.assert_array_equal(run(kernel, x, blank(np.int32)), x.astype(np.int32))


def test_a_wide_value_that_is_known_to_fit_needs_none():
    def kernel(wg, x, out):
        return out.at[wg.global_id()].set(x[wg.global_id()] & 0xFF)

    x = WIDE["int64"]
    np.testing.assert_array_equal(run(kernel, x, blank(np.int32)), x & 0xFF)


INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")


def holds(dtype, given):
    """True if every value of `given` is one of `dtype`, found out by trying the extremes."""
    if given == dtype:
        return True
    if dtype == "bool":
        return False
    if given in FLOATS:
        mine, other = jnp.finfo(dtype) if dtype in FLOATS else None, jnp.finfo(given)
        return mine is not None and mine.nmant >= other.nmant and mine.maxexp >= other.maxexp
    low, high = (0, 1) if given == "bool" else (int(jnp.iinfo(given).min), int(jnp.iinfo(given).max))
    if dtype in FLOATS:
        return high < 2 ** (jnp.finfo(dtype).nmant + 1) + 1
    return int(jnp.iinfo(dtype).min) <= low and high <= int(jnp.iinfo(dtype).max)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_exactly_the_lossless_conversions_are_allowed(dtype):
    """From a memory of every dtype into one of `dtype`."""
    for given in INTEGERS + FLOATS:

        def kernel(wg, x, out):
            return out.at[wg.global_id()].set(x[wg.global_id()])

        launch = xe.launch(xe.kernel(kernel), RANGE)
        arguments = (jax.ShapeDtypeStruct((SIZE,), given), jax.ShapeDtypeStruct((SIZE,), dtype))
        arguments = tuple(np.ones(a.shape, jnp.dtype(a.dtype)) for a in arguments)
        if holds(dtype, given):
            np.testing.assert_array_equal(np.asarray(launch(*arguments)).astype(float), np.ones(SIZE))
        else:
            with pytest.raises(
                xe.KernelError, match=f"a value of dtype {given} stored in out, which holds {dtype}, could"
            ):
                launch(*arguments)


@pytest.mark.parametrize("collective", ["reduce", "inclusive_scan", "broadcast"])
def test_a_numpy_constant_beyond_32_bits_is_not_cut_by_a_collective(collective):
    def kernel(wg, out):
        value = np.int64(2**40)
        result = wg.broadcast(value, 0) if collective == "broadcast" else getattr(wg, collective)(value, "max")
        return out.at[wg.global_id()].set(result)

    with pytest.raises(xe.KernelError, match="is a NumPy constant of int64 with values beyond int32"):
        run(kernel, blank(np.int32))


def test_inside_jit_jax_has_already_decided():
    def kernel(wg, x):
        return x.at[wg.global_id()].set(x[wg.global_id()] + 1)

    launch = jax.jit(xe.launch(xe.kernel(kernel), RANGE))
    assert launch(np.arange(SIZE)).dtype == np.int32
    with jax.enable_x64(True):
        result = launch(np.arange(SIZE) + 2**40)
    assert result.dtype == np.int64
    np.testing.assert_array_equal(result, np.arange(SIZE) + 2**40 + 1)


def test_a_wide_local_memory_works_inside_a_narrow_jit():
    def kernel(wg, x):
        total = wg.local(1, jnp.uint64)
        total = wg.barrier(total.at[0].set(0)).atomic[0].add(x[wg.global_id()])
        return x.at[wg.global_id()].set((total[0] >> jnp.uint64(32)).astype(jnp.uint32))

    x = np.full(SIZE, 2**32 - 1, np.uint32)
    np.testing.assert_array_equal(jax.jit(xe.launch(xe.kernel(kernel), RANGE))(x), [ITEMS - 1] * SIZE)


def test_every_pair_of_wide_and_narrow_integers_in_one_kernel():
    """All eight integer dtypes side by side keep their own values."""
    arrays = [np.array([int(jnp.iinfo(d).min), int(jnp.iinfo(d).max)], d) for d in INTEGERS[1:]]

    def swap(wg, a, b, c, d, e, f, g, h):
        first = wg.local_id() % 2
        return [m.at[first].set(m[1 - first], where=wg.local_id() < 2) for m in (a, b, c, d, e, f, g, h)]

    results = xe.launch(xe.kernel(swap), xe.NDRange(4, 4))(*arrays)
    for before, after in itertools.zip_longest(arrays, results):
        assert after.dtype == before.dtype
        np.testing.assert_array_equal(after, before[::-1])
