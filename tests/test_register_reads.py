"""Multiply-adds that read a register twice: counts by hand for one sub-group of an Arc A770, and what they take."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe


@xe.kernel
def squared(wg, x, c, *, rounds):
    at = wg.global_id()[:, None], jnp.arange(x.shape[1])[None]
    value, other = x[at], c[at]
    return x.at[at].set(lax.fori_loop(0, rounds, lambda _, v: v * v + other, value))


@xe.kernel
def alternating(wg, x, c, *, rounds):
    at = wg.global_id()[:, None], jnp.arange(x.shape[1])[None]

    def twice(_, pair):
        a, b = pair
        a = b * a + b
        return a, a * b + a

    return x.at[at].set(lax.fori_loop(0, rounds, twice, (x[at], c[at]))[0])


@xe.kernel
def affine(wg, x, c, *, rounds):
    at = wg.global_id()[:, None], jnp.arange(x.shape[1])[None]
    value, factor = x[at], c[at]
    return x.at[at].set(lax.fori_loop(0, rounds, lambda _, v: factor * v + value, factor))


def report(kernel, width=1, dtype="float32", device="a770", size=32, rounds=8, items=32):
    of = xe.kernel(sub_group_size=size)(kernel.function)
    array = jax.ShapeDtypeStruct((items, width), np.dtype(dtype))
    return xe.estimate(of, xe.NDRange(items, 32), device=device)(array, array, rounds=rounds)


def counted(kernel, *arguments, **options):
    """In a round, of a sub-group: that read no register twice, and that do."""
    some, more = (report(kernel, *arguments, rounds=rounds, **options).instructions for rounds in (8, 16))
    kind = "f16" if options.get("dtype") == "float16" else "f32"
    return tuple((more.get(name, 0) - some.get(name, 0)) / 8 for name in (kind, f"{kind}twice"))


@pytest.mark.parametrize("width", [1, 4])
def test_a_square_is_read_twice(width):
    assert counted(squared, width) == (0, width)


@pytest.mark.parametrize(("width", "size", "spared"), [(1, 32, 1), (2, 32, 1), (8, 32, 1), (2, 16, 2), (1, 16, 1)])
def test_one_value_of_32_lanes_is_an_accumulator(width, size, spared):
    sub_groups = 32 // size
    assert counted(alternating, width, size=size) == (sub_groups * spared, sub_groups * (2 * width - spared))


@xe.kernel
def alternating_written_out(wg, x, c, *, rounds):
    at = wg.global_id()[:, None], jnp.arange(x.shape[1])[None]

    def four_times(_, pair):
        a, b = pair
        for _ in range(4):
            a = b * a + b
            b = a * b + a
        return a, b

    return x.at[at].set(lax.fori_loop(0, rounds // 4, four_times, (x[at], c[at]))[0])


def test_an_accumulator_holds_values_one_after_the_other():
    assert counted(alternating_written_out, 1) == counted(alternating, 1)


def test_half_precision_has_no_accumulators():
    assert counted(alternating, 2, dtype="float16") == (0, 4)


def test_different_registers_are_read_at_once():
    assert counted(affine, 4) == (4, 0)


@pytest.mark.parametrize("device", ["b580", "h200", "max1100"])
def test_devices_without_a_figure_tell_none_apart(device):
    assert counted(squared, device=device) == (1, 0)


def test_reading_twice_takes_twice_as_long():
    """As measured on an A380: 0.496 of the rate, where other registers reach 0.982. Of a vector, next to which the loop
    takes little, as next to the 2048 that the program has written out."""
    times = [report(kernel, 4, rounds=1024, items=2**20).time_s for kernel in (squared, affine)]
    assert times[0] / times[1] == pytest.approx(2, rel=0.05)
