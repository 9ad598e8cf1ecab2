"""Counts in private memory are updated in place, by one scatter, with the same bits; other stores are as before."""

import dataclasses
import re
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import prepared, run
from test_merge_updates import on_a_gpu

import xeemu as xe
from xeemu import kernels
from xeemu.passes import pipeline

ITEMS, GROUPS, BINS = 8, 3, 5
ND_RANGE = xe.NDRange(GROUPS * ITEMS, ITEMS)


@xe.kernel
def count(wg, x, out, *, step, dtype="int32"):
    """Some steps of counting in bins of each work-item, which then are stored to `out`."""
    bins = wg.private(BINS, dtype, name="bins")
    bins = bins.at[jnp.arange(BINS, dtype=jnp.int32)[None]].set(jnp.array(3, dtype))
    bins = lax.fori_loop(
        0, x.shape[0] // ITEMS, lambda k, bins: STEPS[step](wg, x[k * ITEMS + wg.local_id()], bins), bins
    )
    for k in range(BINS):
        out = out.at[wg.global_id() * BINS + k].set(bins[k])
    return out


def _to(value, bins):
    return value.astype(bins.dtype)


def masked(wg, x, bins):
    return bins.at[x].set(bins[x] + _to(x, bins), where=x % 2 == 0)


def masked_alike(wg, x, bins):
    old = bins.load(x, where=x % 2 == 0)
    return bins.at[x].set(old + _to(x, bins), where=x % 2 == 0)


def masked_load(wg, x, bins):
    return bins.at[x].set(bins.load(x, where=x % 2 == 0, other=jnp.array(1, bins.dtype)) + _to(x, bins))


def used_twice(wg, x, bins):
    old = bins[x]
    return bins.at[x].set(old + old)


def old_kept(wg, x, bins):
    old = bins[x]
    bins = bins.at[x].set(old + _to(x, bins))
    return bins.at[0].set(bins[0] + old)


def elsewhere(wg, x, bins):
    return bins.at[(x + 1) % BINS].set(bins[x] + _to(x, bins))


def older_version(wg, x, bins):
    """What is added may come from an older version."""
    old = bins[x]
    bins = bins.at[(x + 1) % BINS].set(_to(x, bins))
    return bins.at[x].set(old + bins[x])


def in_one_place(wg, x, bins):
    return bins.at[2].set(bins[2] + _to(x, bins))


def two_of_each(wg, x, bins):
    both = jnp.stack([x, x], axis=-1)
    return bins.at[both].set(bins[both] + _to(x[:, None], bins))


STEPS = {
    "add": lambda wg, x, bins: bins.at[x].set(bins[x] + _to(x, bins)),
    "flipped": lambda wg, x, bins: bins.at[x].set(_to(x, bins) + bins[x]),
    "one": lambda wg, x, bins: bins.at[x].set(bins[x] + 1),
    "sub": lambda wg, x, bins: bins.at[x].set(bins[x] - _to(x, bins)),
    "min": lambda wg, x, bins: bins.at[x].set(jnp.minimum(bins[x], _to(x, bins))),
    "max": lambda wg, x, bins: bins.at[x].set(jnp.maximum(_to(x, bins), bins[x])),
    "again": lambda wg, x, bins: bins.at[x % 4].set(bins[x % 4] + 1),
    "bounds": lambda wg, x, bins: bins.at[x + 1].set(bins[x + 1] + 1),
    "masked": masked,
    "masked alike": masked_alike,
    "from": lambda wg, x, bins: bins.at[x].set(_to(x, bins) - bins[x]),
    "times": lambda wg, x, bins: bins.at[x].set(bins[x] * 3),
    "masked load": masked_load,
    "used twice": used_twice,
    "old kept": old_kept,
    "elsewhere": elsewhere,
    "older version": older_version,
    "in one place": in_one_place,
    "two of each": two_of_each,
}
IN_PLACE = frozenset(
    ("add", "flipped", "one", "sub", "min", "max", "again", "bounds", "masked", "masked alike", "older version")
) | {"old kept"}  # the second store


def arguments_of(dtype="int32"):
    x = np.random.default_rng(0).integers(0, BINS, size=20 * ITEMS, dtype=np.int32)
    return x, np.zeros(GROUPS * ITEMS * BINS, dtype)


def updates(ready, arguments):
    """How many scatters of a launch add to or compare with what is there."""
    with jax.enable_x64(ready.program.wide):
        text = str(jax.make_jaxpr(ready.emit)(*arguments))
    return len(re.findall(r"scatter[-_](add|min|max)", text))


def unchanged(arguments, static):
    """What a launch gives that loads, computes and stores."""
    again = dataclasses.replace(prepared(count, ND_RANGE, arguments, static))
    with mock.patch.object(pipeline, "PASSES", pipeline.PASSES[:-1]):
        return run(again, arguments)[0]


@pytest.mark.thorough
@pytest.mark.every(4)
@pytest.mark.optimized
@pytest.mark.parametrize("step", STEPS)
def test_a_sum_of_what_is_there_is_one_update(step):
    arguments = arguments_of()
    static = {"step": step, "dtype": "int32"}
    ready = prepared(count, ND_RANGE, arguments, static)
    assert updates(ready, arguments) == (step in IN_PLACE)
    np.testing.assert_array_equal(run(ready, arguments)[0], unchanged(arguments, static))


@pytest.mark.thorough
def test_as_emitted_for_a_gpu_and_as_watched():
    arguments, static = arguments_of(), {"step": "masked", "dtype": "int32"}
    watched, _ = xe.profile(count, ND_RANGE, device="h200")(*arguments, **static)
    np.testing.assert_array_equal(run(on_a_gpu(count, ND_RANGE, arguments, static), arguments)[0], watched)
    np.testing.assert_array_equal(unchanged(arguments, static), watched)


@pytest.mark.every(2)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64"])
@pytest.mark.parametrize("step", ["sub", "max"])
def test_integers_of_any_width_wrap(step, dtype):
    arguments = arguments_of(dtype)
    static = {"step": step, "dtype": dtype}
    ready = prepared(count, ND_RANGE, arguments, static)
    assert updates(ready, arguments) == 1
    np.testing.assert_array_equal(run(ready, arguments)[0], unchanged(arguments, static))


@pytest.mark.parametrize("step", ["add", "max"])
def test_floats_are_rounded_as_the_kernel_says(step):
    arguments = arguments_of("float32")
    ready = prepared(count, ND_RANGE, arguments, {"step": step, "dtype": "float32"})
    assert updates(ready, arguments) == 0


def test_work_items_that_share_an_element_lose_updates():
    @xe.kernel
    def racy(wg, x, out):
        return out.at[x[wg.global_id()]].set(out[x[wg.global_id()]] + 1)

    arguments = (np.zeros(16, np.int32), np.zeros(4, np.int32))
    assert updates(prepared(racy, xe.NDRange(16, 16), arguments), arguments) == 0


@pytest.mark.thorough
def test_the_private_histogram_counts_in_place():
    e = kernels.EXAMPLES["histogram_private"]
    inputs = e.inputs((16384,))
    ready = prepared(e.kernel, e.nd_range((16384,)), inputs, e.static, "max1550")
    np.testing.assert_array_equal(run(ready, inputs)[0], e.reference(*inputs))
    # One for each byte of a word.
    assert updates(ready, inputs) == 8


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("factor", [1, -1])
def test_known_places_beside_unknown_ones_make_no_copy(dtype, factor):
    @xe.kernel
    def kernel(wg, x, out):
        bins = wg.private(BINS, dtype)
        for k in range(BINS):
            bins = bins.at[k].set(0)

        def step(k, bins):
            for j in range(2):
                c = x[(wg.global_id() * 16 + k)] + j
                bins = bins.at[c].set(bins[c] + 1)
                bins = bins.at[4].set(bins[4] * factor + 1)
            return bins

        bins = lax.fori_loop(0, 16, step, bins)
        for k in range(BINS):
            out = out.at[wg.global_id() * BINS + k].set(bins[k])
        return out

    items = GROUPS * ITEMS
    x = np.random.default_rng(0).integers(0, 3, size=items * 16, dtype=np.int32)
    ready = prepared(kernel, ND_RANGE, (x, np.zeros(items * BINS, dtype)), device="max1550")
    with jax.default_device(jax.devices("cpu")[0]):
        text = jax.jit(ready.emit).lower(x, np.zeros(items * BINS, dtype)).compile().as_text()
    assert not re.search(rf"\[{BINS},{items}\]\S* copy\(%(?!get-tuple-element|broadcast)", text)
    expected = np.zeros((items, BINS), dtype)
    for item, values in enumerate(x.reshape(items, 16)):
        for value in values:
            for j in range(2):
                expected[item, value + j] += 1
                expected[item, 4] = expected[item, 4] * factor + 1
    got = xe.launch(kernel, ND_RANGE)(x, np.zeros(items * BINS, dtype))
    np.testing.assert_array_equal(got, expected.reshape(-1))
