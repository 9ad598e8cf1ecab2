"""What was thought to run shortly, and runs for longer than it took to compile, is compiled again with all effort."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.emission import compiling
from xeemu.faults import checking
from xeemu.faults.screening import Screened
from xeemu.launching import recompiling
from xeemu.launching.executables import Watched
from xeemu.launching.recompiling import Recompiled

ITEMS = 64
ND_RANGE = xe.NDRange(ITEMS, 32)


class Clock:
    """Of which each reading is as much later as the next of some seconds, or as the last of them."""

    def __init__(self, *steps):
        self.now, self.steps = 0.0, list(steps)

    def process_time(self):
        self.now += self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        return self.now


@pytest.fixture
def efforts(monkeypatch):
    """The efforts that were asked for, one for each program that is compiled: whether little."""
    asked, effort = [], compiling.effort

    def noted(little):
        asked.append(little)
        return effort(little)

    monkeypatch.setattr(compiling, "effort", noted)
    return asked


@pytest.mark.parametrize(("run_s", "expected"), [(1, [True, True, True]), (4, [True, False, False])])
def test_a_program_is_compiled_again_once_its_runs_took_longer(efforts, monkeypatch, run_s, expected):
    # Read before and after it is compiled, and before and after each run.
    monkeypatch.setattr(recompiling, "time", Clock(0, 3, 0, run_s, 0, 0, 0, run_s, 0, 0, 0, run_s))
    function = Recompiled(lambda x: x + 1, True, {})
    x, seen = np.arange(3), []
    for _ in expected:
        function.working_bytes([x], 0)
        seen.append(efforts[-1])
        np.testing.assert_array_equal(function(x), x + 1)
    assert seen == expected
    assert len(efforts) == len(set(expected))
    assert function.is_long == (not expected[-1])


def test_what_is_long_is_compiled_with_all_effort_at_once(efforts):
    function = Recompiled(lambda x: x + 1, False, {})
    function.working_bytes([np.arange(3)], 0)
    assert function.is_long
    assert efforts == [False]


@xe.kernel
def scattered(wg, places, times, out):
    """A loop whose length data decide, so that nobody knows how long it takes."""
    i = wg.global_id()
    last = lax.while_loop(lambda k: jnp.any(k < times[i]), lambda k: k + 1, jnp.zeros_like(places[i]))
    return out.at[places[i]].set(last)


@pytest.mark.thorough
def test_what_runs_long_and_right_is_screened_with_all_effort(monkeypatch):
    shorts, run = [], Watched.run

    def noted(self, given, more=()):
        shorts.append(self.short)
        return run(self, given, more)

    monkeypatch.setattr(Watched, "run", noted)
    monkeypatch.setattr(recompiling, "time", Clock(1))
    check = xe.check(scattered, ND_RANGE)
    places, times, out = np.arange(ITEMS, dtype=np.int32)[::-1], np.full(ITEMS, 5, np.int32), np.zeros(ITEMS, np.int32)
    checking._checked.cache_clear()
    # Of equal places nobody would look again.
    outputs = [check(np.roll(places, k), times, out) for k in range(4)]
    assert shorts[0] is None
    assert shorts[-1] is False
    racing, found = check(np.zeros_like(places), times, out)
    assert shorts[-2:] == [False, None]
    assert [finding.kind for finding in found] == ["data-race"]
    assert racing[0] == 5
    assert not any(findings for _, findings in outputs)
    assert all((result == outputs[0][0]).all() for result, _ in outputs)


def test_what_was_wrong_is_watched_again_at_once(monkeypatch):
    screened = []
    monkeypatch.setattr(Screened, "run", lambda *_: screened.append(True))
    check = xe.check(scattered, ND_RANGE)
    given = np.zeros(ITEMS, np.int32), np.full(ITEMS, 5, np.int32), np.zeros(ITEMS, np.int32)
    checking._checked.cache_clear()
    told = [str(check(*given)[1]) for _ in range(4)]
    assert len(set(told)) == 1
    assert screened == [True]
