"""The assertions and strategies that users' own property tests are made of."""

import math
import re

import examples
import hypothesis
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

import xeemu as xe
import xeemu.testing as xt


@xe.kernel
def scale(wg, x, *, factor=3):
    i = wg.global_linear_id()
    return x.at[i].set(x[i] * factor)


@xe.kernel
def swap(wg, x, *, barrier=True):
    i, lid = wg.global_linear_id(), wg.local_linear_id()
    tile = wg.local(wg.size, jnp.int32)
    tile = tile.at[lid].set(x[i])
    if barrier:
        tile = wg.barrier(tile)
    return x.at[i].set(tile[wg.size - 1 - lid])


@xe.kernel
def flag(wg, x):
    return x.at[0].set(1)


@hypothesis.given(xt.nd_ranges())
@hypothesis.settings(max_examples=15)
def test_a_clean_kernel_is_clean_over_any_range(nd_range):
    x = np.arange(nd_range.size, dtype=np.int32)
    reference = lambda x: x.reshape(-1)  # noqa: E731
    assert reference(xt.assert_clean(scale, nd_range, x, factor=5)).tolist() == (5 * x).tolist()


@hypothesis.given(xt.nd_ranges(dimensions=1, most_items=64))
@hypothesis.settings(max_examples=examples.some(15))
def test_a_missing_barrier_is_not_clean(nd_range):
    x = np.arange(nd_range.size, dtype=np.int32)
    xt.assert_clean(swap, nd_range, x)
    if math.prod(nd_range.local_size) > 1:
        with pytest.raises(AssertionError, match=r"kernel swap over NDRange.* has 1 finding\(s\):\n\nerror: data-race"):
            xt.assert_clean(swap, nd_range, x, barrier=False)


def test_notes_may_pass():
    x = np.zeros(1, np.int32)
    with pytest.raises(AssertionError, match="note: data-race"):
        xt.assert_clean(flag, xe.NDRange(16, 16), x)
    assert xt.assert_clean(flag, xe.NDRange(16, 16), x, notes=True) == [1]


def test_a_kernel_matches_its_reference():
    x = np.arange(64, dtype=np.int32)
    outputs = xt.assert_matches(scale, lambda x: x * 3, xe.NDRange(64, 16), x)
    assert isinstance(outputs, np.ndarray)
    with pytest.raises(AssertionError, match=r"63 of 64 elements of output 0, the first at \[1\]: got 3, .* gives 2"):
        xt.assert_matches(scale, lambda x: x * 2, xe.NDRange(64, 16), x)
    with pytest.raises(AssertionError, match=r"gives 2\n\n.*(?s:.*)Mismatched elements: 63 / 64") as caught:
        xt.assert_matches(scale, lambda x: x * 2, xe.NDRange(64, 16), x)
    assert caught.value.__traceback__.tb_next.tb_frame.f_locals["__tracebackhide__"]


def test_rounding_lets_near_results_pass():
    x = np.linspace(1, 2, 64, dtype=np.float32)
    with pytest.raises(AssertionError, match="64 of 64 elements"):
        xt.assert_matches(scale, lambda x: x * np.float32(3.00001), xe.NDRange(64, 16), x)
    xt.assert_matches(scale, lambda x: x * np.float32(3.00001), xe.NDRange(64, 16), x, rounding=1e-5)


@hypothesis.given(xt.nd_ranges(dimensions=(2, 3), most_items=100, most_groups=5))
def test_ranges_keep_to_their_limits(nd_range):
    groups = [n // s for n, s in zip(nd_range.global_size, nd_range.local_size, strict=True)]
    assert len(groups) in (2, 3)
    assert math.prod(nd_range.local_size) <= 100
    assert math.prod(groups) <= 5
    assert all(n % s == 0 for n, s in zip(nd_range.global_size, nd_range.local_size, strict=True))


def test_ranges_of_a_device_fit_it():
    largest = hypothesis.find(xt.nd_ranges(most_items=10**6, device="hd530"), lambda r: math.prod(r.local_size) >= 256)
    assert math.prod(largest.local_size) == 256


@hypothesis.given(st.data())
def test_masks_have_their_shape(data):
    mask = data.draw(xt.masks((3, 4)))
    assert mask.shape == (3, 4)
    assert mask.dtype == bool


def test_masks_of_all_kinds_come_up():
    assert hypothesis.find(xt.masks(8), lambda mask: True).sum() == 0
    assert hypothesis.find(xt.masks(8), lambda mask: mask.all()).all()
    assert hypothesis.find(xt.masks(8), lambda mask: mask.sum() == 1)[0]


def test_what_was_drawn_is_shown_as_it_is():
    @hypothesis.settings(max_examples=1, database=None, phases=[hypothesis.Phase.generate])
    @hypothesis.given(st.data())
    def failing(data):
        data.draw(xt.masks(2))
        data.draw(xt.nd_ranges())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        failing()
    shown = "\n".join(caught.value.__notes__)
    assert re.search(r"Draw 1: array\(\[.*\]\)", shown)
    assert "Draw 2: NDRange(" in shown
    assert "_reversed" not in shown


def test_no_frame_of_xeemu_is_shown_of_a_failed_assertion():
    with pytest.raises(AssertionError) as caught:
        xt.assert_matches(scale, lambda x: x, xe.NDRange(64, 16), np.arange(64))
    hidden = [entry.frame.f_locals.get("__tracebackhide__") for entry in caught.traceback[1:]]
    assert all(hidden)


@pytest.mark.parametrize("dimensions", [0, 4, (), (1, 5)])
def test_impossible_dimensions_are_refused(dimensions):
    with pytest.raises(xe.KernelArgumentError, match="an nd-range has 1, 2 or 3"):
        xt.nd_ranges(dimensions=dimensions)


def test_a_forgotten_reference_is_told():
    with pytest.raises(xe.KernelArgumentError, match=r"the reference is a NDRange; give a function"):
        xt.assert_matches(scale, xe.NDRange(64, 16), np.arange(64))


def test_what_is_none_of_these_is_told_by_a_sentence():
    x, nd_range = np.zeros(16, np.int32), xe.NDRange(16, 16)
    for call, message in (
        (lambda: xt.assert_matches(scale, lambda x: None, nd_range, x), "the reference of kernel scale gives None"),
        (
            lambda: xt.assert_matches(scale, lambda x: x, nd_range, x, rounding=None),
            "rounding is None; give the largest",
        ),
        (lambda: xt.nd_ranges(dimensions=None), "dimensions is None; an nd-range has 1, 2 or 3"),
        (lambda: xt.nd_ranges(most_items=None), "most_items=None, most_groups=8; give positive numbers"),
        (lambda: xt.masks(None), "masks of the shape None; give whole numbers from 0"),
        (lambda: xt.masks((2, -1)), r"masks of the shape \(2, -1\); give whole numbers from 0"),
    ):
        with pytest.raises(xe.KernelArgumentError, match=f"^{message}"):
            call()
