"""What a time is where something of the launch is not known: at least, at most, or neither, in all that prints it."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe

N = 2**16
H200 = xe.device("h200")
UNTIMED = dataclasses.replace(H200, group_dispatch_s=None, sub_group_dispatch_s=None)


def pattern(i):
    """Where 16 neighbours meet: what a work-group loads it loads again."""
    return i // 256 * 16 + i % 16


@xe.kernel
def gather(wg, index, x, out):
    i = wg.global_id()
    return out.at[i].set(x[index[i]])


@xe.kernel
def in_a_pattern(wg, index, x, out):
    i = wg.global_id()
    return out.at[i].set(x[pattern(i)] + index[i].astype(jnp.float32))


@xe.kernel
def scatter(wg, index, x, out):
    i = wg.global_id()
    return out.at[index[i]].set(x[i])


@xe.kernel
def added(wg, index, x, out):
    i = wg.global_id()
    return out.atomic[index[i]].add(x[i])


@xe.kernel
def stream(wg, index, x, out):
    i = wg.global_id()
    return out.at[i].set(x[i] + index[i].astype(jnp.float32))


@xe.kernel
def summed_by_groups(wg, index, x, out):
    return out.at[wg.group_id()].set(wg.reduce(x[index[wg.global_id()]], "add"))


INDEX = np.asarray(pattern(np.arange(N)), np.int32)
ARRAYS = (INDEX, np.ones(N, np.float32), np.zeros(N, np.float32))


def profiled(kernel, device):
    return xe.profile(kernel, xe.NDRange(N, 256), device=device)(*ARRAYS)[1]


@pytest.mark.parametrize(
    ("kernel", "device", "limit"),
    [
        (stream, H200, ""),
        (stream, UNTIMED, "at least"),
        (gather, H200, "at most"),
        (gather, UNTIMED, ""),
        (scatter, H200, ""),
        (scatter, UNTIMED, ""),
        (added, H200, ""),
        (added, UNTIMED, "at least"),
        (summed_by_groups, H200, ""),
    ],
)
def test_each_unknown_says_what_the_time_is(kernel, device, limit):
    report = profiled(kernel, device)
    assert report.limit == limit
    (line,) = [line for line in str(report).splitlines() if line.startswith("  time ")]
    assert (" at least " in line, " at most " in line) == (limit == "at least", limit == "at most")
    assert re.findall(r"\b(at least|at most) [0-9.]+ [nu]s\b", report.to_html()) == [limit] * bool(limit)
    table = xe.tune(kernel, {"global_size": N, "local_size": [256], "device": [device]})(*ARRAYS)
    (row,) = [line for line in str(table).splitlines() if line.startswith("   1 ")]
    assert (">" in row, "<" in row) == (limit == "at least", limit == "at most")


@pytest.mark.thorough
def test_a_time_that_is_at_most_so_long_is_not_exceeded_by_what_is_known():
    """The same addresses, told by the source: what is loaded again is known to be."""
    known, unknown = profiled(in_a_pattern, H200), profiled(gather, H200)
    assert known.limit == ""
    assert known.time_s < unknown.time_s


def test_a_time_that_is_at_least_so_long_grows_with_the_figure():
    assert profiled(stream, UNTIMED).time_s < profiled(stream, H200).time_s


@pytest.mark.thorough
def test_the_verdict_tells_what_may_be_less_and_more():
    words = " ".join(str(profiled(scatter, UNTIMED)).split())
    assert "without group launch: h200 has no figure for it" in words
    assert "may be less: data decide what of out is accessed again, and nothing is taken to be" in words
    assert "may be more: data decide where out is written, and no two places are taken to meet" in words


def test_data_that_fit_the_l2_are_said_to_lie_there():
    def assumed(n, device):
        given = (jax.ShapeDtypeStruct((n,), jnp.int32), *(jax.ShapeDtypeStruct((n,), jnp.float32),) * 2)
        return "; ".join(xe.estimate(stream, xe.NDRange(n, 256), device=device)(*given).not_modelled)

    warm = "a cold L2: its 50 MiB hold the 768 KiB that the launch touches, which are taken to lie there before it"
    assert warm in assumed(N, dataclasses.replace(H200, l2_bytes=50 * 2**20))
    assert "L2: its" not in assumed(2**25, "h200")
    assert "L2: its" not in assumed(N, dataclasses.replace(H200, l2_bytes=None))
