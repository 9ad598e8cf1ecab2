"""Bounds of what data decide: whatever they are, a profile lies between them."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.cost import figures

F32, N, ELEMENTS = jnp.float32, 2**14, 4096


@xe.kernel
def gather(wg, index, x, out):
    i = wg.global_id()
    return out.at[i].set(x[index[i]])


@xe.kernel
def scatter(wg, index, x, out):
    i = wg.global_id()
    return out.at[index[i]].set(x[i])


@xe.kernel
def updated(wg, index, x, out):
    i = wg.global_id()
    return out.atomic[index[i]].add(x[i])


@xe.kernel
def counted_locally(wg, index, x, out):
    i, lid = wg.global_id(), wg.local_id()
    bins = wg.barrier(wg.local(256, F32).at[lid].set(0.0))
    bins = wg.barrier(bins.atomic[index[i] % 256].add(x[i]))
    return out.at[i].set(bins[lid])


@xe.kernel
def masked(wg, index, x, out):
    i = wg.global_id()
    return out.at[i].set(x[i], where=index[i] < 2000)


@xe.kernel
def half_known(wg, index, x, out):
    """One line with an access of known and one of unknown place."""
    i = wg.global_id()
    return out.at[i].set(sum(x[each] for each in (i % ELEMENTS, index[i])))


@xe.kernel
def branched(wg, index, x, out):
    i = wg.global_id()
    step = lambda k, v: v + jnp.sin(v) * x[(i + k) % ELEMENTS]  # noqa: E731
    value = wg.cond(index[i] < 2000, lambda v: lax.fori_loop(0, 64, step, v), lambda v: v, x[i])
    return out.at[i].set(value)


@xe.kernel
def endless(wg, index, x, out):
    i = wg.global_id()
    found = lax.while_loop(lambda v: wg.any(v < 100), lambda v: v * 2 + 1, index[i])
    return out.at[i].set(found.astype(F32))


DATA = {
    "apart": np.random.default_rng(0).integers(ELEMENTS, size=N),
    "on one": np.zeros(N),
    "in order": np.arange(N) % ELEMENTS,
    "on one bank": np.arange(N) * 32 % ELEMENTS,
}


def both(kernel, data, device):
    arrays = (data.astype(np.int32), np.ones(N, np.float32), np.zeros(N, np.float32))
    shapes = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays]
    launch = {"device": device}
    nd_range = xe.NDRange(N, 256)
    return xe.estimate(kernel, nd_range, **launch)(*shapes), xe.profile(kernel, nd_range, **launch)(*arrays)[1]


@pytest.mark.thorough
@pytest.mark.every(5)
@pytest.mark.parametrize("device", ["h200", "a770", "max1550"])
@pytest.mark.parametrize("kernel", [gather, scatter, updated, counted_locally, masked, half_known, branched])
def test_a_profile_lies_within_the_bounds_of_an_estimate(kernel, device):
    for data in DATA.values():
        estimated, profiled = both(kernel, data, device)
        least, most = estimated.between_s
        assert estimated.time_s is None
        assert least <= profiled.time_s <= (most or math.inf)
        assert set(profiled.missing) <= set(estimated.missing)
        assert (most is None) == bool(estimated.missing)
        bounded = [pair for pair in zip(estimated.sites, profiled.sites, strict=True) if pair[0].most is not None]
        assert bounded
        for site, counted in bounded:
            for name, bound in site.most.items():
                assert site.least[name] <= getattr(counted, name) <= bound, (site.line, name)


@pytest.mark.thorough
def test_a_report_prints_the_most_and_between_what_the_time_lies():
    text = str(both(gather, DATA["apart"], "h200")[0])
    assert "\n  time       between " in text
    assert "as data decide" in text
    (line,) = [line.split() for line in text.splitlines() if line.split()[1:3] == ["load", "x"]]
    assert line[3:6] == ["<512", f"<{N}", f"<{N}"]
    assert "     < at most, whatever the data are; the others follow from the source" in text
    assert "between " in both(gather, DATA["apart"], "h200")[0].to_html()


def test_without_a_figure_that_the_launch_may_need_there_is_no_most(tmp_path):
    estimated, _ = both(updated, DATA["apart"], "a770")
    assert estimated.missing == ("atomics", "group launch")
    assert (estimated.between_s[1], estimated.limit) == (None, "at least")
    words = " ".join(str(estimated).split())
    assert f"time at least {figures.seconds(estimated.between_s[0])}, as data decide" in words
    assert "without atomics, group launch: a770 has no figure for it" in words
    estimated.save(tmp_path / "report.json")
    assert xe.Report.load(tmp_path / "report.json").between_s == estimated.between_s


def test_a_loop_that_ends_as_data_decide_has_no_bound():
    estimated, _ = both(endless, DATA["apart"], "h200")
    assert (estimated.time_s, estimated.between_s) == (None, None)
    assert "  time       ? = ? cycles" in str(estimated)


def test_bounds_are_kept_in_files(tmp_path):
    estimated, _ = both(gather, DATA["apart"], "h200")
    estimated.save(tmp_path / "report.json")
    kept = xe.Report.load(tmp_path / "report.json")
    assert kept.between_s == estimated.between_s
    assert [site.most for site in kept.sites] == [site.most for site in estimated.sites]
    assert not estimated.diff(kept)
