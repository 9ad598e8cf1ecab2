"""Comparisons and choices that are no instructions of their own, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

N = 64
X = jax.ShapeDtypeStruct((N,), np.dtype(np.float32))


def arithmetic(report):
    return sum(report.instructions.get(name, 0) for name in ("f32", "i32")) // 2


def instructions_of(function):
    """What a function takes, of each of two sub-groups."""

    @xe.kernel(sub_group_size=32)
    def kernel(wg, x, y):
        i = wg.global_id()
        return y.at[i].set(function(x[i], y[i]))

    return arithmetic(xe.estimate(kernel, xe.NDRange(N, N), device="h200")(X, X))


@pytest.mark.parametrize(
    ("function", "instructions"),
    [
        (lambda a, b: lax.select(a < b, b, a), 1),
        (lambda a, b: lax.select(b >= a, a, b), 1),
        (lambda a, b: lax.select((a < b) | (a != a), b, a), 1),
        (lambda a, b: lax.select(a < b, a + 1, a), 3),
        (lambda a, b: lax.select((a < b) | (b < 1), b, a), 3),
        (lambda a, b: lax.select(a < b, b, a) + lax.select(a < b, b + b, a), 5),
    ],
    ids=["greater", "lesser", "greater of numbers", "another choice", "another condition", "used twice"],
)
def test_the_lesser_and_the_greater_are_one_instruction(function, instructions):
    assert instructions_of(function) == instructions


SOURCE = """
kernel void least(global const float *x, global float *y) {
    int i = get_global_id(0);
    y[i] = fmin(x[i], y[i]);
}
kernel void until(global const int *counts, global float *y) {
    int i = get_global_id(0), n = counts[i];
    float sum = 0;
    for (int k = 0; k < n; k++) sum = sum * y[i] + 1.0f;
    y[i] = sum;
}
"""


def test_fmin_is_one_instruction():
    report = xe.estimate(xe.load(SOURCE)["least"], xe.NDRange(N, N), device="h200")(X, X)
    assert arithmetic(report) == 1


@pytest.mark.thorough
def test_what_work_items_keep_that_have_left_a_loop_costs_nothing():
    """An iteration is a multiply-add; for 16 of them the counter is stepped and compared."""
    counts, y = np.arange(N, dtype=np.int32) // 32 * 100, np.ones(N, np.float32)
    _, report = xe.profile(xe.load(SOURCE)["until"], xe.NDRange(N, N), device="h200")(counts, y)
    assert report.instructions["f32"] == 100
    assert report.instructions["i32"] == pytest.approx(200 / 16, abs=10)  # of the one sub-group that goes through it


def test_loops_have_a_counter_and_a_comparison_where_they_are_not_unrolled():
    @xe.kernel(sub_group_size=32)
    def loop(wg, x, y, *, computed):
        i, end = wg.global_id(), 100 + wg.group_id() if computed else 100
        _, t = lax.while_loop(lambda c: c[0] < end, lambda c: (c[0] + 1, c[1] * x[i] + 1), (jnp.int32(0), y[i]))
        return y.at[i].set(t)

    x = jax.ShapeDtypeStruct((2 * N,), np.dtype(np.float32))
    reports = [xe.estimate(loop, xe.NDRange(2 * N, N), device="h200")(x, x, computed=c) for c in (False, True)]
    assert [report.instructions["f32"] for report in reports] == [400, 402]
    assert reports[0].instructions["i32"] < 600
    assert reports[1].instructions["i32"] >= 804
