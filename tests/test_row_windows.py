"""Row views: reads and writes of NumPy's elements, wherever a start may be, and none where a row would be left."""

import examples
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xeemu.emission import rectangles
from xeemu.knowledge import strided_patterns
from xeemu.knowledge.strided_patterns import StridedAxis, StridedPattern
from xeemu.planning import strided_windows

AXES = st.lists(
    st.builds(StridedAxis, st.integers(2, 4), st.sampled_from([-24, -8, -2, -1, 1, 2, 3, 4, 6, 8, 12, 24])), max_size=3
)


def addresses(strided):
    """`[*extents]`, in the order in which a memory has them, from the least one."""
    pattern = np.zeros((), np.int64)
    for k in strided.moving:
        pattern = np.add.outer(pattern, np.arange(strided.axes[k].size) * abs(strided.axes[k].stride))
    return pattern


def check(view, first, data, where):
    start, rectangle = view
    starts, data = rectangles.in_rows(start, jnp.int32(first)), jnp.asarray(data)
    np.testing.assert_array_equal(rectangles.read(rectangle, data, starts).reshape(where.shape), data[where])
    values = -1 - np.arange(where.size, dtype=data.dtype).reshape(where.shape)
    expected = np.array(data)
    expected[where] = values
    np.testing.assert_array_equal(rectangles.written(rectangle, data, jnp.asarray(values), starts), expected)


@pytest.mark.thorough
@settings(derandomize=True, deadline=None, max_examples=examples.some(300))
@given(AXES, st.integers(0, 30), st.sampled_from([0, 1, 2, 6, 8, 24, 48]), st.sampled_from([48, 96, 100, 144]))
def test_elements_are_those_of_numpy_at_every_start(axes, offset, unit, length):
    strided = StridedPattern(tuple(axes))
    if not strided.injective:
        return
    where = addresses(strided)
    for start in range(offset, length - strided.span + 1, unit or length):
        sliced, scattered = (strided_windows.in_rows(strided, offset, unit, length, how) for how in (True, False))
        assert (sliced is None) == (scattered is None)
        if sliced is None:
            return
        check(sliced, start, np.arange(length, dtype=np.int32), where + start)
        check(scattered, start, np.arange(length, dtype=np.int32), where + start)


def test_rows_of_a_matrix():
    tile = strided_patterns.of_pattern(np.add.outer(np.arange(4) * 48, np.arange(16)).reshape(-1))
    step = 16  # tiles lie side by side
    start, rectangle = strided_windows.in_rows(tile, 0, step, 10 * 48, True)
    assert (rectangle.shape, rectangle.sizes) == ((10, 48), (4, 16))
    assert [int(place) for place in rectangles.in_rows(start, jnp.int32(3 * 48 + 2 * step))] == [3, 32]


def test_none_where_a_row_may_be_left():
    tile = strided_patterns.of_pattern(np.add.outer(np.arange(4) * 48, np.arange(16)).reshape(-1))
    assert strided_windows.in_rows(tile, 0, 8, 10 * 48, True) is None
    assert strided_windows.in_rows(tile, 4, 16, 10 * 48, True) is None
    assert strided_windows.in_rows(tile, 0, 16, 10 * 48 + 1, True) is None
