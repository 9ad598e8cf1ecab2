"""Values put together along axes are what NumPy makes of them, whatever their shape."""

import examples
import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import COMBINE

from xeemu.devices.target import CPU
from xeemu.emission import row_reductions
from xeemu.planning.row_reductions import longest, of_axes

FIGURES = CPU.reductions


def expected(values, op, axes):
    with np.errstate(over="ignore"):
        return COMBINE[op].reduce(values, axis=tuple(axes), dtype=values.dtype, keepdims=False) if axes else values


def reduced(x, op, axes):
    """Values put together, rows in pieces if they are such as are taken so."""
    return row_reductions.reduced(jnp.asarray(x), op, axes, of_axes(x.shape, axes, x.dtype, FIGURES))


def numbers(shape, dtype="int32"):
    info = np.iinfo(dtype)
    return np.random.default_rng(0).integers(info.min, info.max, shape, dtype, endpoint=True)


@pytest.mark.every(6)
@pytest.mark.parametrize("op", COMBINE)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int8", "int16", "int64"])
@pytest.mark.parametrize("length", [1, 255, 256, 4096, 5000, 2**18 + 300])
def test_rows(op, dtype, length):
    with jax.enable_x64(dtype == "int64"):
        x = numbers((2, length), dtype)
        found = reduced(x, op, (1,))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected(x, op, (1,)))


@pytest.mark.thorough
@settings(max_examples=examples.some(60))
@given(st.data())
def test_any_axes(data):
    shape = data.draw(st.lists(st.sampled_from([1, 2, 3, 8, 40, 256, 300]), min_size=1, max_size=4), label="shape")
    while np.prod(shape) > 10**6:
        shape.pop()
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, max_size=len(shape)), label="axes")
    op, x = data.draw(st.sampled_from(sorted(COMBINE)), label="op"), numbers(shape)
    for found in reduced(x, op, axes), row_reductions.reduced(jnp.asarray(x), op, axes, None):
        np.testing.assert_array_equal(found, expected(x, op, axes))


@pytest.mark.parametrize("op", ["and", "or", "xor"])
def test_truth(op):
    x = np.random.default_rng(0).random((3, 5000)) < 0.5
    found = reduced(x, op, (1,))
    np.testing.assert_array_equal(found, COMBINE[op].reduce(x, axis=1))


def test_rows_of_none():
    for shape in (0, 300), (300, 0):
        found = reduced(np.zeros(shape, np.int32), "add", (1,))
        np.testing.assert_array_equal(found, np.zeros(shape[0]))


def test_floats_are_left_to_the_compiler():
    x = np.arange(70_000, dtype=np.float32)
    assert of_axes(x.shape, (0,), x.dtype, FIGURES) is None
    assert reduced(x, "max", (0,)) == 69_999


@pytest.mark.parametrize("shape", [(2**20,), (4, 2**18), (2**20 + 4321,)])
def test_a_row_of_what_is_computed_takes_no_memory(shape):
    """XLA would write all that is computed, and then a thirty-second of it."""
    x = numbers(shape)
    row = jax.jit(lambda x: reduced(x * 3 + (x >> 2), "add", (x.ndim - 1,)))
    assert launches.temporary_bytes(row, x) < 1 << 14


@pytest.mark.parametrize("parts", [1, 16])
def test_longest(parts):
    for length in (0, 255, 256, 4095, 4096, 5000, 2**20, 10**6, 10**9 + 7):
        piece = longest(length, parts, FIGURES)
        found = piece.length if piece else 0
        assert found <= length
        assert found % (256 * parts) == 0
        assert length - found < max(256 * parts, 0.05 * length)


@pytest.mark.parametrize(
    ("shape", "axes", "pieces"),
    [
        ((300,), (0,), [(1, 256), (None, 44)]),
        ((2, 1, 8, 32), (1, 2, 3), [(1, 256)]),
        ((5000,), (0,), [(16, 4096), (1, 768), (None, 136)]),
        ((16, 5000), (1,), [(1, 4864), (None, 136)]),
        ((255,), (0,), None),
        ((300, 2), (0,), None),
        ((0, 300), (1,), None),
    ],
)
def test_rows_are_cut_into_pieces_the_longest_first(shape, axes, pieces):
    """Few rows in parts for as many cores; what is left at the end is the compiler's."""
    plan = of_axes(shape, axes, np.dtype(np.int32), FIGURES)
    found = plan and [(getattr(piece, "parts", None), piece.length) for piece in plan.pieces]
    assert found == pieces
    assert of_axes(shape, axes, np.dtype(np.int32), None) is None
