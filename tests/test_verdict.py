"""Verdicts: equal bits, relative differences, and what a difference is called."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from xeemu.commands.verdict import compare, describe

ARRAYS = arrays.arrays(st.sampled_from([np.int8, np.uint64, np.float32, np.float64, np.bool_]), st.integers(0, 9))


@given(ARRAYS)
def test_an_array_is_bit_equal_to_itself(array):
    verdict = compare((array, {"a": array}), (array.copy(), {"a": array}))
    assert verdict.agrees
    assert verdict.text == "bit-equal to the NumPy reference"


@given(ARRAYS.filter(lambda array: array.size), st.data())
def test_one_changed_bit_differs_and_is_found(array, data):
    place = data.draw(st.integers(0, array.size - 1))
    changed = array.copy()
    changed.view(f"u{array.itemsize}")[place] ^= 1
    verdict = compare(changed, array)
    assert verdict.agrees is False
    assert verdict.text.startswith(f"DIFFERS: 1 of {array.size} elements of output 0, the first at [{place}]: got ")


def test_equal_bits_tell_signed_zeros_apart_and_nans_together():
    assert compare(np.array([np.nan]), np.array([np.nan])).agrees
    assert not compare(np.array([0.0]), np.array([-0.0])).agrees


@pytest.mark.parametrize(("factor", "agrees"), [(1 + 1e-6, True), (1 - 1e-6, True), (1 + 3e-6, False)])
def test_rounding_is_the_largest_relative_difference(factor, agrees):
    expected = np.array([0.0, -1e-20, 1.0, 1e20])
    verdict = compare(expected * factor, expected, rounding=2e-6)
    assert verdict.agrees is agrees
    if agrees:
        assert verdict.text == "within 1e-06 of the NumPy reference (allowed: 2e-06)"
    else:
        assert "3 of 4 elements of output 0, the first at [1]: got -1.000003e-20, the reference gives -1e-20" in (
            verdict.text
        )


@pytest.mark.parametrize(("got", "expected"), [(np.nan, 1.0), (1.0, np.nan), (np.inf, 1.0), (1.0, 0.0), (1.0, np.inf)])
def test_no_rounding_makes_up_for_what_is_no_small_difference(got, expected):
    assert not compare(np.array([got]), np.array([expected]), rounding=0.5).agrees


def test_the_first_difference_may_be_in_a_later_output_of_several_dimensions():
    same, expected = np.zeros(3), np.zeros((2, 3), np.int32)
    got = expected.copy()
    got[1, 2] = 5
    text = compare((same, got), (same, expected)).text
    assert text == "DIFFERS: 1 of 6 elements of output 1, the first at [1, 2]: got 5, the reference gives 0"


@pytest.mark.parametrize(
    ("got", "expected", "message"),
    [
        (np.zeros(3, np.int32), np.zeros(3, np.int64), "output 0 is int32[3], the reference gives int64[3]"),
        (np.zeros(3), np.zeros((3, 1)), "output 0 is float64[3], the reference gives float64[3,1]"),
        (np.zeros(3), (np.zeros(3),), "the outputs are PyTreeDef(*), the reference gives PyTreeDef((*,))"),
    ],
)
def test_shape_dtype_and_structure_must_be_the_same(got, expected, message):
    assert compare(got, expected).text == f"DIFFERS: {message}"


def test_describes_an_array_by_dtype_and_shape():
    assert describe(np.zeros((2, 3), jnp.bfloat16)) == "bfloat16[2,3]"
