"""Samples of work-groups: how they are drawn, and what they tell of all."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.cost import sampling


def test_a_sample_holds_each_group_at_most_once():
    drawn = sampling.draw(1000, 64, 100)
    chunk, slot = np.nonzero(drawn.table >= 0)
    groups = chunk * 64 + drawn.table[chunk, slot]
    assert drawn.size == len(set(groups)) == 100
    assert groups.max() < 1000
    assert drawn.table.shape[0] == 16
    assert drawn.scale == 10


def test_the_same_groups_are_drawn_every_time():
    np.testing.assert_array_equal(sampling.draw(512, 32, 40).table, sampling.draw(512, 32, 40).table)


def test_estimates_are_those_of_simple_random_sampling():
    rng = np.random.default_rng(4)
    population = rng.integers(0, 50, 400)
    drawn = sampling.draw(400, 25, 80)
    chunk, slot = np.nonzero(drawn.table >= 0)
    seen = population[chunk * 25 + drawn.table[chunk, slot]].astype(float)
    total, error = drawn.totals(seen.sum(keepdims=True), (seen**2).sum(keepdims=True))
    assert total == round(5 * seen.sum())
    assert error == pytest.approx(400 * math.sqrt((1 - 80 / 400) * seen.var(ddof=1) / 80))
    assert abs(total - population.sum()) < 4 * error


@pytest.mark.parametrize("size", [0, -1, True, 1.0, np.float64(2), "3"])
def test_what_is_no_number_of_groups_is_refused(size):
    with pytest.raises(xe.KernelArgumentError, match="give the number of work-groups to count"):
        sampling.check_size(size)
    sampling.check_size(np.int64(3))


def test_a_sample_of_all_groups_has_no_error_and_one_group_tells_none():
    total, error = sampling.draw(8, 4, 8).totals(np.array([12.0]), np.array([30.0]))
    assert (total, error) == (12, 0)
    total, error = sampling.draw(8, 4, 1).totals(np.array([3.0, 0.0]), np.array([9.0, 0.0]))
    assert total.tolist() == [24, 0]
    assert error.tolist() == [math.inf, 0]


# --- In a profile ---

GROUPS, SIZE = 300, 32


@xe.kernel
def counting(wg, data, hist):
    bins = wg.local(64, jnp.uint32)
    for start in range(0, 64, SIZE):
        bins = bins.at[start + wg.local_id()].set(0)
    bins = wg.barrier(bins)
    x = data[wg.global_id()]
    bins = wg.barrier(bins.atomic[x].add(1))
    bins = wg.barrier(bins.atomic[(x + 1) % 64].add(1))
    for start in range(0, 64, SIZE):
        place = start + wg.local_id()
        hist = hist.atomic[place].add(bins[place])
    return hist.atomic[x].add(1)


def _profile(sample, data=None, device="max1550"):
    data = np.random.default_rng(7).integers(0, 64, GROUPS * SIZE).astype(np.int32) if data is None else data
    launch = xe.profile(counting, xe.NDRange(GROUPS * SIZE, SIZE), device=device, sample=sample)
    return launch(data, np.zeros(64, np.uint32))


def _atomics(report):
    return [site for site in report.sites if site.op == "atomic" and site.space == "local"]


@pytest.mark.thorough
@pytest.mark.parametrize("sample", [2, 30, 299])
def test_a_sample_estimates_what_depends_on_data_and_leaves_the_rest_exact(sample):
    (outputs, whole), (sampled_outputs, sampled) = _profile(None), _profile(sample)
    np.testing.assert_array_equal(outputs, sampled_outputs)
    assert (whole.sampled_groups, sampled.sampled_groups) == (None, sample)
    for exact, estimated in zip(whole.sites, sampled.sites, strict=True):
        if exact.closed_form:
            assert exact == estimated
            continue
        for name, error in estimated.errors.items():
            assert abs(getattr(estimated, name) - getattr(exact, name)) <= max(4 * error, 0.5), (name, exact.source)
    assert whole.instructions == sampled.instructions
    assert whole.barriers == sampled.barriers
    assert {name: sampled.mark(name) for name in ("slm", "global_", "atomics", "barriers")} == {
        "slm": "~",
        "global_": "~",
        "atomics": "~",
        "barriers": "=",
    }


@pytest.mark.thorough
def test_a_larger_sample_has_smaller_errors():
    errors = [_atomics(_profile(sample)[1])[0].errors["passes"] for sample in (10, 40, 160)]
    assert errors[0] > errors[1] > errors[2] > 0


@pytest.mark.thorough
def test_a_sample_of_all_groups_is_the_whole_count():
    assert _profile(GROUPS)[1].to_dict() == _profile(10**6)[1].to_dict() == _profile(None)[1].to_dict()


@pytest.mark.thorough
def test_groups_that_are_alike_have_no_error():
    (site, *_) = _atomics(_profile(20, np.zeros(GROUPS * SIZE, np.int32))[1])
    assert site.errors == {"requests": 0, "passes": 0, "ideal_passes": 0}
    assert site.passes == GROUPS * SIZE


def test_the_report_shows_the_standard_error_in_per_cent():
    _, report = _profile(30)
    lines = str(report).splitlines()
    row = next(k for k, line in enumerate(lines) if "~atomic bins" in line)
    site = _atomics(report)[0]
    assert lines[row + 1].split() == [
        "standard",
        "error",
        "0%",
        f"{100 * site.errors['passes'] / site.passes:.2g}%",
        "0%",
    ]
    assert "     ~ estimated from 30 of 300 work-groups, drawn at random" in lines
    assert report.to_dict()["sites"][row - row]["errors"] is None
