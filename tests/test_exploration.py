"""Exploration: in which orders a launch is run, and that those are not begun that would be given up."""

import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.faults import exploration
from xeemu.language.geometry import Geometry
from xeemu.stepping import recording, turns

ITEMS, GROUP = 512, 64


@xe.kernel(sub_group_size=16)
def queued(wg, x, queue, tail):
    """Each work-item takes a place for what it keeps, so that who stores where depends on whose turn it is."""
    i = wg.global_id()

    def step(k, carry):
        queue, tail = carry
        kept = (x[i] + k) % 3 == 0
        place, tail = tail.atomic[0].fetch_add(1, where=kept)
        return queue.at[place].set(x[i], where=kept), tail

    return lax.fori_loop(0, 4, step, (queue, tail))


@pytest.fixture
def runs(monkeypatch):
    """Of each run in an order the order, what it took, and what it was allowed to take."""
    seen, recorded = [], recording.recorded

    def noted(program, given, order, history, most):
        seen.append((order, recorded(program, given, order, history, most), most))
        return seen[-1][1]

    monkeypatch.setattr(recording, "recorded", noted)
    return seen


def checked(items):
    x, queue = np.arange(items, dtype=np.int32), np.zeros(4 * items, np.int32)
    return xe.check(queued, xe.NDRange(items, GROUP))(x, queue, np.zeros(1, np.int32))


@pytest.mark.thorough
def test_an_order_that_would_be_given_up_is_not_begun(runs):
    _, findings = checked(ITEMS)
    assert not findings.errors
    assert all(taken.effort <= most for _, taken, most in runs)
    # In lockstep, and group by group forwards and backwards.
    assert len(runs) >= 3
    assert len(runs) < exploration._ORDERS


def test_no_order_takes_less_than_it_is_said_to_take_at_least(runs):
    checked(GROUP)
    assert len(runs) > 3
    for order, taken, most in runs:
        if taken.effort <= most:
            assert recording.least_effort(order, taken.steps) <= taken.effort
    assert {type(order) for order, *_ in runs} <= {turns.Fixed, turns.Turns}


def test_turns_of_work_items_that_never_go_on_together_add_up():
    geometry = Geometry((4,), (2,), 2, False, np.dtype(np.int32))
    steps = np.array([[3, 1], [2, 5]])
    by_group = np.array([[0, 0], [1, 1]])
    assert turns.Fixed(by_group, geometry).least_turns(steps) == 3 + 5
    assert turns.Fixed(np.zeros_like(by_group), geometry).least_turns(steps) == 5
    assert turns.Fixed(np.arange(4).reshape(2, 2), geometry).least_turns(steps) == 11
    assert turns.Turns.plain(0, geometry).least_turns(steps) == 5
