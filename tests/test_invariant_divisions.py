"""Division by a number that is known when the program runs: what NumPy and XLA give, for every divisor."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax
from launches import prepared

import xeemu as xe
from xeemu.emission import invariant_divisions
from xeemu.language.memory import poison

DTYPES = ("int32", "uint32")


def edges(dtype):
    info = np.iinfo(dtype)
    near = [0, 1, 2, 3, 5, 7, 100, 255, 256, 65535, 65536, 65537, 2**30, info.max // 2, info.max - 1, info.max]
    return np.array([*near, *(-n for n in near if info.min), *([info.min, info.min + 1] if info.min else [])], dtype)


@pytest.mark.parametrize("name", ["div", "rem"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_edges(dtype, name):
    dividends, by_xla = edges(dtype), jax.jit(getattr(lax, name))
    divided = jax.jit(lambda a, b: invariant_divisions.divided(name, a, b))
    for divisor in edges(dtype):
        expected = by_xla(dividends, np.full_like(dividends, divisor))
        np.testing.assert_array_equal(divided(dividends, divisor), expected, err_msg=f"{divisor}")


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_any_numbers(dtype, data):
    info = np.iinfo(dtype)
    numbers = st.integers(int(info.min), int(info.max))
    dividends = np.array(data.draw(st.lists(numbers, min_size=8, max_size=8)), dtype)
    divisor = np.dtype(dtype).type(data.draw(numbers.filter(bool)))
    for name in ("div", "rem"):
        expected = getattr(lax, name)(dividends, np.full_like(dividends, divisor))
        np.testing.assert_array_equal(invariant_divisions.divided(name, jnp.asarray(dividends), divisor), expected)


ITEMS, GROUP = 300, 20


@xe.kernel
def places(wg, width, out, *, signed):
    """Rows and columns, rounded towards minus infinity as Python does, and as C does."""
    i = wg.global_linear_id() - (ITEMS // 2 if signed else 0)
    row, column = i // width, i % width
    return out.at[wg.global_linear_id()].set(row * 1000 + column * 10 + lax.rem(i, jnp.broadcast_to(width, i.shape)))


@pytest.mark.every(3)
@pytest.mark.parametrize("width", [1, 2, 7, 17, 299, 300, 5000, -1, -7])
@pytest.mark.parametrize("signed", [False, True])
def test_rows_and_columns_of_a_width_that_is_an_argument(signed, width):
    i = np.arange(ITEMS, dtype=np.int64) - (ITEMS // 2 if signed else 0)
    expected = i // width * 1000 + i % width * 10 + np.fmod(i, width)
    result = xe.launch(places, xe.NDRange(ITEMS, GROUP))(np.int32(width), np.zeros(ITEMS, np.int32), signed=signed)
    np.testing.assert_array_equal(result, expected.astype(np.int32))


def test_no_division_of_many_is_left():
    arguments = np.int32(7), np.zeros(ITEMS, np.int32)
    text = (
        jax.jit(prepared(places, xe.NDRange(ITEMS, GROUP), arguments, {"signed": True}).emit)
        .lower(*arguments)
        .as_text()
    )
    divisions = [line for line in text.splitlines() if "stablehlo.divide" in line or "stablehlo.remainder" in line]
    assert not [line for line in divisions if re.search(r"tensor<\d+x", line)]


MANY = 8192


@xe.kernel
def looking_up(wg, table, width, out, *, turns):
    """Elements that are found by a division, alone and in loops; a wrong width leads beyond the table."""
    i, lid = wg.global_linear_id(), wg.local_linear_id()
    if turns == 0:
        return out.at[i].set(table.load(i % width, where=i % 3 > 0, other=-1) + table[i // width % width])
    bins = wg.local(16, jnp.int32)
    bins = wg.barrier(bins.at[lid].set(0, where=lid < 16))

    def turn(k, bins):
        return bins.atomic[table[(i + k) % width] % 16].add(1)

    bins = wg.barrier(lax.fori_loop(0, turns, turn, bins))
    total = lax.fori_loop(0, turns, lambda k, total: total + table[(i + k) % width], 0 * i)
    return out.at[i].set(total + bins[i % 16])


def looked_up(table, width, turns):
    """`out` of the kernel."""
    i = np.arange(MANY)

    def at(place):
        return np.where(place < table.size, table[np.minimum(place, table.size - 1)], poison(np.int32))

    if turns == 0:
        return (np.where(i % 3 > 0, at(i % width), -1) + at(i // width % width)).astype(np.int32)
    found = np.stack([at((i + k) % width) for k in range(turns)])
    groups = found.reshape(turns, -1, 64).swapaxes(0, 1).reshape(-1, turns * 64)
    bins = np.stack([np.bincount(group % 16, minlength=16) for group in groups])
    return (found.sum(axis=0) + bins[i // 64, i % 16]).astype(np.int32)


@pytest.mark.parametrize(("turns", "width"), [(0, 1), (0, 7), (0, 1000), (0, 1024), (5, 1), (5, 999)])
def test_elements_found_by_division(turns, width):
    table = np.random.default_rng(0).integers(1000, size=1000, dtype=np.int32)
    arguments, nd_range = (table, np.int32(width), np.zeros(MANY, np.int32)), xe.NDRange(MANY, 64)
    found = np.asarray(xe.launch(looking_up, nd_range)(*arguments, turns=turns))
    np.testing.assert_array_equal(found, looked_up(table, width, turns))


def test_places_that_many_look_up_are_computed_before():
    """In the only loop of the program, where they are many enough."""
    arguments, static = (np.zeros(9, np.int32), np.int32(9), np.zeros(MANY, np.int32)), {"turns": 0}
    text = jax.jit(prepared(looking_up, xe.NDRange(MANY, 64), arguments, static).emit).lower(*arguments).as_text()
    assert text.count("stablehlo.while") == 2
    few = prepared(looking_up, xe.NDRange(64, 64), arguments, static).emit
    assert "stablehlo.while" not in jax.jit(few).lower(*arguments).as_text()
