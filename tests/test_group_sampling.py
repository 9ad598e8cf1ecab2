"""Estimates from some work-groups: near what a run counts, with their error, and marked so."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.cost import counter

SIZE = 1 << 15
FIGURES = ("requests", "lines", "sectors", "bytes_used", "lanes")


@xe.kernel
def hashed(wg, x, out):
    """Places that repeat nowhere, known before the run, and a mask of that kind."""
    i = wg.global_id()
    place = ((i * 40503) ^ (i >> 7)) % SIZE
    return out.at[i].set(x.load(place, where=place % 3 != 0))


@pytest.fixture
def few_lanes(monkeypatch):
    """Too little effort for all work-groups, enough for one at a time."""
    monkeypatch.setattr(counter, "_MOST_LANES", 1 << 10)


@pytest.mark.parametrize("device", ["h200", "max1550"])
def test_an_estimate_from_some_work_groups_is_near_what_is_counted_on_all(few_lanes, device):
    x = np.arange(SIZE, dtype=np.float32)
    nd_range = xe.NDRange(SIZE, 128)
    report = xe.estimate(hashed, nd_range, device=device)(x, x)
    _, counted = xe.profile(hashed, nd_range, device=device)(x, x)
    guessed, exact = (next(site for site in r.sites if site.op == "load") for r in (report, counted))
    assert exact.errors is None
    assert not guessed.closed_form
    for name in FIGURES:
        error = guessed.errors.get(name, 0.05 * guessed.lanes)
        assert abs(getattr(guessed, name) - getattr(exact, name)) <= 4 * error + 1, name
    assert (report.sampled_groups, report.mark("global_"), counted.mark("global_")) == (64, "~", "=")
    assert report.time_s == pytest.approx(counted.time_s, rel=0.05)


@pytest.mark.thorough
def test_the_error_of_accesses_that_go_up_and_down_together_is_that_of_their_sum(few_lanes):
    @xe.kernel
    def repeated(wg, x, out, *, turns):
        i = wg.global_id()
        place = ((i * 40503) ^ (i >> 7)) % SIZE
        for turn in range(turns):
            out = out.at[i].set(x.load(place, where=(place + turn * SIZE) % 3 != turn * SIZE % 3))
        return out

    x = np.arange(SIZE, dtype=np.float32)
    reports = [xe.estimate(repeated, xe.NDRange(SIZE, 128), device="h200")(x, x, turns=turns) for turns in (1, 3)]
    once, thrice = (next(site for site in report.sites if site.op == "load") for report in reports)
    assert once.errors["lines"] > 0
    assert (thrice.requests, thrice.lines) == (3 * once.requests, 3 * once.lines)
    assert thrice.errors["lines"] == pytest.approx(3 * once.errors["lines"])


def test_what_depends_on_data_stays_unknown():
    @xe.kernel
    def gather(wg, x, places, out):
        return out.at[wg.global_id()].set(x[places[wg.global_id()]])

    x = np.zeros(SIZE, np.float32)
    report = xe.estimate(gather, xe.NDRange(SIZE, 128))(x, x.astype(np.int32), x)
    assert (report.time_s, report.sampled_groups) == (None, None)
    (load,) = [site for site in report.sites if site.memory == "x"]
    assert load.lines is None


def test_a_stencil_on_a_large_grid_has_a_closed_form():
    size = 2048

    @xe.kernel(sub_group_size=16)
    def stencil(wg, a, out):
        i, j = wg.global_id(0), wg.global_id(1)
        inside = (i > 0) & (i < size - 1) & (j > 0) & (j < size - 1)
        near = [(i, j), (i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
        return out.at[i, j].set(sum(a.load(each, where=inside) for each in near), where=inside)

    a = jax.ShapeDtypeStruct((size, size), jnp.float32)
    report = xe.estimate(stencil, xe.NDRange((size, size), (16, 16)))(a, a)
    load, store = report.sites
    rows, requests = size - 2, (size - 2) * size // 16
    assert load.closed_form
    assert (load.requests, load.lanes) == (5 * requests, 5 * rows**2)
    # A row of 16 that is shifted by one lies in two lines, but for the first or last one, whose mask cuts that off.
    assert load.lines == 5 * requests + 2 * (requests - rows)
    assert (store.requests, store.lines, store.lanes) == (requests, requests, rows**2)
