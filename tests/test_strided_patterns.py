"""Strided patterns against NumPy: what a pattern is, and elements and windows of random ones."""

import itertools

import examples
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xeemu.knowledge import strided_patterns, strided_slices
from xeemu.knowledge.strided_patterns import StridedAxis, StridedPattern

AXES = st.lists(st.tuples(st.integers(2, 4), st.sampled_from([0, 0, 1, -1, 2, 3, -3, 4, 8, -8, 12, 16])), max_size=3)


def addresses(axes):
    """`[n]` addresses of axes of (size, stride), the last one fastest."""
    sums = [sum(parts) for parts in itertools.product(*(range(0, n * s, s) if s else [0] * n for n, s in axes))]
    return np.array(sums, np.int64)


@pytest.mark.parametrize(
    ("pattern", "axes"),
    [
        ([7], ()),
        ([3, 4, 5, 6], ((4, 1),)),
        ([6, 5, 4], ((3, -1),)),
        ([2, 2, 2], ((3, 0),)),
        ([0, 1, 16, 17, 32, 33], ((3, 16), (2, 1))),
        ([0, 0, 4, 4], ((2, 4), (2, 0))),
        ([0, 1, 2, 0, 1, 2], ((2, 0), (3, 1))),
        ([0, 4, 8, 1, 5, 9], ((2, 1), (3, 4))),
    ],
)
def test_the_axes_of_a_pattern(pattern, axes):
    assert strided_patterns.of_pattern(np.array(pattern)) == StridedPattern(tuple(StridedAxis(*axis) for axis in axes))


@pytest.mark.parametrize("pattern", [[0, 1, 2, 2], [0, 1, 3], [0, 1, 5, 7], [0, 1, 4, 5, 9, 10]])
def test_a_pattern_that_is_none(pattern):
    assert strided_patterns.of_pattern(np.array(pattern)) is None


@pytest.mark.thorough
@settings(derandomize=True, deadline=None, max_examples=examples.some(150))
@given(AXES)
def test_elements_and_windows_are_those_of_numpy(axes):
    pattern = addresses(axes)
    strided = strided_patterns.of_pattern(pattern)
    assert strided is not None
    low = pattern.min()
    assert (strided.count, strided.least, strided.span) == (len(pattern), low, pattern.max() - low + 1)
    if not strided.injective:
        return
    assert strided.distinct == len(set(pattern.tolist()))
    window = np.arange(2 * strided.span, dtype=np.float32).reshape(2, -1)
    found = np.asarray(strided_slices.elements(window, strided))
    np.testing.assert_array_equal(found.reshape(2, -1), window[:, pattern - low])
    if strided.dense:
        once = found[(slice(None), *(slice(None) if axis.stride else -1 for axis in strided.axes))]
        np.testing.assert_array_equal(strided_slices.window(once, strided), window.reshape(2, *strided.extents))


@settings(derandomize=True, deadline=None, max_examples=examples.some(150))
@given(AXES)
def test_elements_that_meet_are_not_apart(axes):
    pattern = addresses(axes)
    strided = strided_patterns.of_pattern(pattern)
    assert strided is not None
    steps = [axis for axis in strided.axes if axis.stride]
    met = len(set(pattern.tolist())) < np.prod([axis.size for axis in steps], dtype=int)
    assert not (met and strided.injective)


@settings(derandomize=True, deadline=None, max_examples=examples.some(150))
@given(AXES, st.lists(st.sampled_from([1, 2, 4, 5, 16, 24]), min_size=1, max_size=3))
def test_a_split_pattern_has_the_same_addresses(axes, shape):
    pattern = np.add.outer(addresses(axes), np.arange(np.prod(shape))).reshape(-1)
    strided = strided_patterns.of_pattern(pattern)
    if strided is None:
        return
    parted = strided.split(tuple(shape))
    whole = addresses([(axis.size, axis.stride) for axis in parted.axes])
    np.testing.assert_array_equal(whole - whole[0], pattern - pattern[0])


def test_a_pattern_is_split_where_an_array_has_rows():
    line = strided_patterns.of_pattern(np.arange(4 * 16 * 16))
    assert line.split((4, 16, 16)).sizes == (4, 16, 16)
    assert line.split((16, 4, 16)).sizes == (16, 4, 16)
    assert line.split((64, 4, 4)).sizes == (64, 4, 4)
    assert line.split((3,)).sizes == (1024,)


@pytest.mark.parametrize(
    ("axes", "turned"),
    [
        (((4, -6), (2, -3), (3, -1)), (24,)),
        (((2, 12), (4, -3), (3, -1)), (2, 12)),
        (((2, -12), (4, 3), (3, -1)), (2, 4, 3)),
        (((2, -1), (3, 0), (4, -2)), (8,)),
        (((2, -8), (3, -2), (2, 1)), (2, 3, 2)),
    ],
)
def test_what_is_a_row_is_turned_round_as_one(axes, turned):
    """As `reverse` of 16 x 16 entries compilers copied a table entry by entry, a fifth slower than one of 256."""
    strided, pattern = StridedPattern(tuple(StridedAxis(*axis) for axis in axes)), addresses(axes)
    window = np.arange(2 * strided.span, dtype=np.int32).reshape(2, -1)
    found = np.asarray(strided_slices.elements(window, strided))
    np.testing.assert_array_equal(found.reshape(2, -1), window[:, pattern - strided.least])
    turns = [
        eqn.outvars[0].aval.shape
        for eqn in jax.make_jaxpr(lambda w: strided_slices.elements(w, strided))(window).eqns
        if eqn.primitive.name == "rev"
    ]
    assert turns == [(2, *turned)]


@pytest.mark.parametrize("lead", [(), (2,)])
@pytest.mark.parametrize(
    ("chosen", "operations"),
    [
        (np.arange(20).reshape(4, 5).T, ["transpose"]),
        (np.arange(20).reshape(4, 5)[1:3, ::-1], ["slice", "rev"]),
        (np.arange(3, 18, 3), ["slice", "slice"]),
        (np.array([0, 1, 3, 7]), None),
    ],
)
def test_what_is_a_slice_of_an_array_is_taken_as_one(lead, chosen, operations):
    """Of the array, or of it laid flat; the whole array is not sliced."""
    array, flat = np.arange(np.prod(lead, dtype=int) * 20).reshape(*lead, 4, 5), chosen.reshape(-1)

    cut = strided_patterns.cut((4, 5), flat)
    assert (cut is None) == (operations is None)
    if cut is None:
        return

    def taken(x):
        return strided_slices.sliced(x, cut, len(lead), chosen.shape)

    np.testing.assert_array_equal(taken(array), array.reshape(*lead, 20)[..., chosen])
    made = [eqn.primitive.name for eqn in jax.make_jaxpr(taken)(array).eqns]
    assert [name for name in made if name in ("slice", "transpose", "rev")] == operations
