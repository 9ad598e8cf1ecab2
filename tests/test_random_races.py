"""`xe.check` against all interleavings, on random programs with flags, counters, locks, queues and fences."""

import comparing
import interleavings
import pytest
import synchronising


def long(seed):
    return pytest.param(seed, marks=pytest.mark.long)


# In the last ones only one order of three work-items has the race.
@pytest.mark.every(6)
@pytest.mark.parametrize("seed", [*range(0, 46, 2), *map(long, range(1, 46, 2)), 60763, 61267])
def test_check_agrees_with_all_interleavings(seed, tmp_path):
    compared = comparing.compare(synchronising.program(seed), tmp_path, f"seed{seed}")
    assert not compared.wrong, str(compared)
    assert compared.verdict != "hidden", str(compared)


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(12))
def test_the_reduction_of_interleavings_loses_none(seed):
    made = synchronising.program(seed)
    try:
        every = interleavings.step_by_step(made, 20_000)
    except ValueError:
        return
    assert interleavings.everywhere(made).races == every.races


def test_families_are_right_and_wrong():
    verdicts = [interleavings.everywhere(synchronising.program(seed)).racy for seed in range(60)]
    assert 15 < sum(verdicts) < 45
