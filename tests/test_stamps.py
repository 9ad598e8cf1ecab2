"""Stamps hold what was put into them, and the greatest is that of the last or of the first."""

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

from xeemu.faults.stamps import NOBODY, StampFormat, blank

LAYOUTS = [
    StampFormat(1, 1, False),
    StampFormat(1, 1024, False),
    StampFormat(2**20, 256, False),
    StampFormat(2**22, 1024, True),
]


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def arrays(*numbers):
    return tuple(jnp.asarray(number, np.int64) for number in numbers)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@hypothesis.given(st.data())
@hypothesis.settings(max_examples=20, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
def test_a_stamp_says_what_was_put_into_it(layout, data):
    most = min(layout.most_barriers, 2**40)
    group, item = data.draw(st.integers(0, layout.groups - 1)), data.draw(st.integers(0, layout.items - 1))
    epoch, barriers = data.draw(st.integers(0, most)), data.draw(st.integers(0, most)) if layout.fenced else 0
    put = arrays(group, epoch, item, barriers)
    for pack, read in ((layout.last, layout.read_last), (layout.first, layout.read_first)):
        stamp = pack(*put)
        assert int(stamp) >= 0
        assert [int(field) for field in read(stamp)] == [1, group, epoch, item, barriers]


def test_nobody_has_used_a_blank():
    layout = StampFormat(4, 64, True)
    assert not layout.read_last(blank(3)).used.any()
    assert int(layout.last(*arrays(0, 0, 0, 0))) > NOBODY
    assert int(layout.first(*arrays(3, 0, 63, 0))) > NOBODY


def test_the_greatest_stamps_name_the_last_and_the_first():
    layout = StampFormat(4, 64, False)
    zero = jnp.int64(0)
    order = [(0, 5, 9), (2, 0, 3), (2, 1, 4), (2, 1, 60)]
    last = [int(layout.last(*arrays(g, e, i), zero)) for g, e, i in order]
    assert last == sorted(last)
    order = [(2, 1, 3), (2, 2, 60), (2, 2, 4), (0, 0, 9)]
    first = [int(layout.first(*arrays(g, e, i), zero)) for g, e, i in order]
    assert first == sorted(first)


def test_there_is_room_for_many_barriers():
    assert StampFormat(2**22, 1024, True).most_barriers >= 2**15 - 1
    assert StampFormat(1, 1024, False).most_barriers >= 2**50
