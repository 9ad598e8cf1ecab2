"""Comparisons of fields of one value are one where that is proved, with the results of NumPy and JAX in any case."""

import functools
import re
from unittest import mock

import examples
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from launches import prepared, run

import xeemu as xe
from xeemu import kernels
from xeemu.cost import costing
from xeemu.launching import preparation
from xeemu.planning import compare_fusion

N, GROUPS, COLUMNS = 16, 3, 4
ND_RANGE = xe.NDRange(GROUPS * N, N)
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@xe.kernel
def kernel(wg, x, out, *, compare, uniform=False):
    """Stores for some columns of each work-item whether `compare(c, lane, column)`, of a value and what is known."""
    lid = wg.local_id()
    c = x[lid] if uniform else x[wg.global_id()]
    lane, column = lid.astype(x.dtype), jnp.arange(COLUMNS, dtype=x.dtype)[None]
    found = jnp.broadcast_to(compare(c[:, None], lane[:, None], column), (N, COLUMNS))
    for k in range(COLUMNS):
        out = out.at[wg.global_id() * COLUMNS + k].set(found[:, k].astype(jnp.int32))
    return out


def values_of(dtype):
    """For the first group any bits; for the others the lanes and small numbers above, not negative and negative."""
    some = np.random.default_rng(0).integers(0, 256, size=8 * N, dtype=np.uint8).view(dtype)[:N]
    low, high = np.arange(N), N * (np.arange(N) % COLUMNS)
    return np.concatenate([some, (low + high).astype(dtype), (low - N - high).astype(dtype)])


def launched(compare, values, uniform=False):
    """How many comparisons have been joined, and whether each column of each work-item was met."""
    arguments, static = (values, np.zeros(GROUPS * N * COLUMNS, np.int32)), {"compare": compare, "uniform": uniform}
    ready = prepared(kernel, ND_RANGE, arguments, static)
    joined = compare_fusion.of_body(ready.facts)
    return len(joined), run(ready, arguments)[0].reshape(GROUPS * N, COLUMNS) > 0


def expected(compare, values, uniform=False):
    values = np.tile(values[:N], GROUPS) if uniform else values
    lane, column = (np.arange(GROUPS * N) % N).astype(values.dtype), np.arange(COLUMNS).astype(values.dtype)
    found = compare(values[:, None], lane[:, None], column[None])
    return np.broadcast_to(found, (GROUPS * N, COLUMNS))


def check(compare, values, joined, reference=None, uniform=False):
    count, result = launched(compare, values, uniform)
    np.testing.assert_array_equal(result, expected(reference or compare, values, uniform))
    assert count == joined
    return result


def outside(compare, values):
    """What a function gives outside a kernel."""
    lane, column = np.arange(N).astype(values.dtype)[:, None], np.arange(COLUMNS).astype(values.dtype)[None]
    with jax.enable_x64(True):
        rows = [compare(jnp.asarray(c[:, None]), lane, column) for c in values.reshape(-1, N)]
    return np.concatenate([np.broadcast_to(row, (N, COLUMNS)) for row in rows])


def of_type(value, like):
    return np.asarray(value, like.dtype)[()]


def split(c, lane, column, count=4):
    """The comparison that the register histogram makes."""
    return (lane == (c & of_type((1 << count) - 1, c))) & (column == c >> of_type(count, c))


@pytest.mark.every(4)
@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_two_fields_of_any_integer(dtype, uniform):
    values = values_of(dtype)[N:]
    assert check(split, np.concatenate([values, values[:N]]), 1, uniform=uniform).any()


@pytest.mark.every(2)
@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 7])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_lanes_beyond_the_field_are_compared_as_written(dtype, count):
    compare = functools.partial(split, count=count)
    # So are columns that no value can be in.
    check(compare, values_of(dtype), int(1 << count >= N and (COLUMNS - 1) << count <= np.iinfo(dtype).max))


ORDERS = {
    "as it is": lambda a, low, b, high: (a == low) & (b == high),
    "turned": lambda a, low, b, high: (high == b) & (low == a),
    "one turned": lambda a, low, b, high: (low == a) & (b == high),
    "not": lambda a, low, b, high: (a != low) | (high != b),
    "mixed": lambda a, low, b, high: (a != low) & (b == high),
    "or": lambda a, low, b, high: (a == low) | (b == high),
    "xor": lambda a, low, b, high: (a == low) ^ (b == high),
}


@pytest.mark.parametrize("order", ORDERS)
def test_operands_in_any_order(order):
    def compare(c, lane, column):
        return ORDERS[order](lane, c & of_type(15, c), column, c >> of_type(4, c))

    check(compare, values_of("uint32"), int(order not in ("mixed", "or", "xor")))


def test_columns_beyond_the_field_are_compared_as_written():
    def compare(c, lane, column):
        byte = c & of_type(0xFF, c)
        return (lane == (byte & of_type(15, c))) & (column + of_type(14, c) == byte >> of_type(4, c))

    check(compare, values_of("uint32"), 0)


def test_what_negative_values_are_compared_with():
    def compare(c, lane, column):
        return (lane == (c & of_type(15, c))) & (column - of_type(2, c) == c >> of_type(4, c))

    assert check(compare, values_of("int32"), 1)[:, :2].any()


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("shift", [lax.shift_right_logical, lax.shift_right_arithmetic])
@pytest.mark.parametrize("above", ["nothing", "signs"])
def test_the_top_bit_is_shifted_as_written(dtype, shift, above):
    """With what values with the top bit give if the bits above are nothing, or signs."""
    logical, bits = shift is lax.shift_right_logical, 8 * np.dtype(dtype).itemsize
    first = (1 << bits - (4 if above == "nothing" else 0)) - COLUMNS
    first = np.array(first, f"u{bits // 8}").astype(dtype)[()]

    def compare(c, lane, column):
        return (lane == (c & of_type(15, c))) & (column + first == shift(c, of_type(4, c)))

    count, result = launched(compare, values_of(dtype))
    np.testing.assert_array_equal(result, outside(compare, values_of(dtype)))
    assert result.any() == (logical == (above == "nothing"))
    assert count == (dtype.startswith("u") if logical else not dtype.startswith("u")) * result.any()


def of_bytes(c, lane, column):
    """Of another dtype than what they are part of."""
    byte = (c & of_type(0xFF, c)).astype(jnp.int32)
    return (lane.astype(jnp.int32) == byte & 15) & (column == (byte >> 4).astype(c.dtype))


def of_narrowed(c, lane, column):
    narrow = (c & of_type(15, c)).astype(jnp.uint8), (c >> of_type(4, c) & of_type(15, c)).astype(jnp.uint8)
    return (lane.astype(jnp.uint8) == narrow[0]) & (column.astype(jnp.uint8) == narrow[1])


def of_narrowed_far(c, lane, column):
    """Too narrow for both fields in their places."""
    narrow = (c & of_type(15, c)).astype(jnp.uint8), (c >> of_type(8, c) & of_type(15, c)).astype(jnp.uint8)
    return (lane.astype(jnp.uint8) == narrow[0]) & (column.astype(jnp.uint8) == narrow[1])


def of_cut(c, lane, column):
    """Of low bits, which are not the value."""
    low, high = c.astype(jnp.uint8) & np.uint8(15), c.astype(jnp.uint8) >> np.uint8(4)
    return (lane.astype(jnp.uint8) == low) & (column.astype(jnp.uint8) + np.uint8(12) == high)


def of_signed_quotients(c, lane, column):
    """Which are rounded towards zero."""
    signed = c.astype(f"int{8 * c.dtype.itemsize}")
    low, high = lane.astype(signed.dtype), column.astype(signed.dtype)
    return (low == (signed & of_type(15, signed))) & (lax.div(signed, of_type(16, signed)) == high)


def of_signed_remainders(c, lane, column):
    """Which have the sign of what is divided."""
    signed = c.astype(f"int{8 * c.dtype.itemsize}")
    low, high = lane.astype(signed.dtype), column.astype(signed.dtype) - of_type(COLUMNS, signed)
    return (low == lax.rem(signed, of_type(16, signed))) & (high == signed >> of_type(4, signed))


def of_quotients(c, lane, column):
    byte = c & of_type(0xFF, c)
    return (lane == lax.rem(byte, of_type(16, c))) & (lax.div(byte, of_type(16, c)) == column)


def of_operators(c, lane, column):
    """Which `jax.numpy` defines as functions."""
    return (lane == c % of_type(16, c)) & (c // of_type(16, c) == column)


def of_moved(c, lane, column):
    rows = c.reshape(2, N // 2, 1)
    low = lane.reshape(2, N // 2, 1) == (rows & of_type(15, c))
    high = jnp.broadcast_to(rows >> of_type(4, c), (2, N // 2, COLUMNS)) == column[None]
    return low.reshape(N, 1) & high.reshape(N, COLUMNS)


def of_three(c, lane, column):
    two, three, four = (of_type(k, c) for k in (2, 3, 4))
    return (lane & three == c & three) & (column == (c >> two) & three) & (lane >> two == c >> four)


def of_a_part(c, lane, column):
    """Other bits may be set."""
    return (lane == (c & of_type(15, c))) & (column == (c >> of_type(4, c)) & of_type(7, c))


def of_some_bits(c, lane, column):
    even, odd = of_type(0b0101, c), of_type(0b1010, c)
    return (lane & even == c & even) & (lane & odd == c & odd)


def of_others(c, lane, column):
    """Of other elements of the value."""
    return (lane == (c & of_type(15, c))) & (column == c[::-1] >> of_type(4, c))


def of_results_moved(c, lane, column):
    return ((lane == (c & of_type(15, c))) & (column == c >> of_type(4, c)))[:, ::-1]


def of_turned(c, lane, column):
    turned = c[::-1]
    return (lane == (turned & of_type(15, c))) & (column == turned >> of_type(4, c))


def of_turned_twice(c, lane, column):
    """Which is two values, and that before them would have to be turned."""
    return (lane == (c[::-1] & of_type(15, c))) & (column == c[::-1] >> of_type(4, c))


def of_unknown(c, lane, column):
    return (c & of_type(15, c) == c >> of_type(4, c)) & (column == c >> of_type(4, c))


def of_overlapping(c, lane, column):
    return (lane == (c & of_type(31, c))) & (column == c >> of_type(4, c))


FIELDS = {
    of_bytes: 1,
    of_narrowed: 1,
    of_narrowed_far: 1,
    of_cut: 0,
    of_signed_quotients: 0,
    of_signed_remainders: 0,
    of_quotients: 1,
    of_operators: 1,
    of_moved: 1,
    of_three: 2,
    of_a_part: 1,
    of_some_bits: 1,
    of_others: 0,
    of_results_moved: 1,
    of_turned: 1,
    of_turned_twice: 0,
    of_unknown: 0,
    of_overlapping: 0,
}


@pytest.mark.every(4)
@pytest.mark.parametrize("dtype", ["uint16", "uint64"])
@pytest.mark.parametrize("compare", FIELDS, ids=lambda compare: compare.__name__)
def test_fields_as_they_are_written(compare, dtype):
    values = values_of(dtype)
    count, result = launched(compare, values)
    np.testing.assert_array_equal(result, outside(compare, values))
    assert count == FIELDS[compare]


@pytest.mark.parametrize(("dtype", "expected"), [("uint64", "uint8"), ("uint16", "uint8"), ("uint8", "uint8")])
def test_what_is_compared_as_narrow_is_so_together(dtype, expected):
    arguments = (values_of(dtype), np.zeros(GROUPS * N * COLUMNS, np.int32))
    ready = prepared(kernel, ND_RANGE, arguments, {"compare": of_narrowed, "uniform": False})
    (joint,) = compare_fusion.of_body(ready.facts).values()
    assert joint.bits.dtype == expected


TAKING = {
    "and": lambda c, k: c & of_type((1 << k) - 1, c),
    "shift": lambda c, k: c >> of_type(k, c),
    "rem": lambda c, k: lax.rem(c, of_type(1 << k, c)),
    "div": lambda c, k: lax.div(c, of_type(1 << k, c)),
}
FIELD = st.tuples(
    st.lists(st.tuples(st.sampled_from(sorted(TAKING)), st.integers(0, 6)), max_size=3), st.integers(0, 9)
)
"""What is taken of what was taken before, and by how much less the lane or column is that it is compared with."""


@settings(max_examples=examples.some(25))
@given(FIELD, FIELD, st.sampled_from(["int8", "uint8", "int16", "uint32"]), st.booleans())
def test_any_fields_are_compared_as_written(low, high, dtype, equal):
    def side(c, field, known):
        steps, less = field
        for name, k in steps:
            c = TAKING[name](c, k)
        return (c == known - of_type(less, c)) if equal else (c != known - of_type(less, c))

    def compare(c, lane, column):
        one, other = side(c, low, lane), side(c, high, column)
        return one & other if equal else one | other

    values = values_of(dtype)
    np.testing.assert_array_equal(launched(compare, values)[1], outside(compare, values))


def comparisons(emit, *arguments):
    """How many comparisons of integers for equality are left by a compiler."""
    with jax.enable_x64(True):
        text = jax.jit(emit).lower(*arguments).compile().as_text()
    return len(re.findall(r"compare\(.*direction=EQ", text))


@pytest.mark.parametrize("compare", [split, of_three, of_overlapping])
def test_the_parts_are_not_compared_any_more(compare):
    arguments = (values_of("uint32"), np.zeros(GROUPS * N * COLUMNS, np.int32))
    ready = prepared(kernel, ND_RANGE, arguments, {"compare": compare, "uniform": False})
    # The columns of a row lie side by side and are stored at once, under one mask.
    assert comparisons(ready.emit, *arguments) == (2 if compare is of_overlapping else 1)


def test_groups_of_two_dimensions_that_load_for_some_work_items():
    @xe.kernel
    def plane(wg, x, out):
        i, j = wg.local_id(0), wg.local_id(1)
        place = wg.group_id(1) * 32 + i * 8 + j
        c = x.load(place, where=i < 3)
        met = (i == c & 3) & (j == c >> 2)
        return out.at[place].set(1, where=met & (i < 3))

    x = np.tile(np.arange(4)[:, None] + 4 * np.arange(8), (2, 1, 1)).astype(np.int32)
    x[1] += x[1] % 3
    place = np.arange(4)[:, None] + 4 * np.arange(8)
    expected = (x == place) & (np.arange(4)[:, None] < 3)
    got = xe.launch(plane, xe.NDRange((4, 16), (4, 8)))(x.reshape(-1), np.zeros(64, np.int32))
    np.testing.assert_array_equal(got, expected.reshape(-1))


def test_the_register_histogram_compares_each_byte_once():
    example = kernels.EXAMPLES["histogram_registers"]
    inputs = example.inputs((16384,))
    ready = prepared(example.kernel, example.nd_range((16384,)), inputs, example.static, "max1550")
    (number,) = ready.facts.inner
    (facts,) = ready.facts.inner[number]
    # A word of each lane of a sub-group has 8 bytes.
    assert len(compare_fusion.of_body(facts)) == 16 * 8
    np.testing.assert_array_equal(run(ready, inputs)[0], example.reference(*inputs))


def test_what_a_kernel_costs_stays_what_it_says():
    arguments = (values_of("uint32"), np.zeros(GROUPS * N * COLUMNS, np.int32))
    result, report = xe.profile(kernel, ND_RANGE, device="max1550")(*arguments, compare=split)
    costing._profile.cache_clear()
    preparation._prepared.cache_clear()
    with mock.patch.object(compare_fusion, "of_body", return_value={}) as found:
        unchanged, as_written = xe.profile(kernel, ND_RANGE, device="max1550")(*arguments, compare=split)
    preparation._prepared.cache_clear()
    assert found.called
    np.testing.assert_array_equal(result, unchanged)
    assert str(report) == str(as_written)
