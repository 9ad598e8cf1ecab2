"""Loads that are served twice, since a part of what they ask for is on its way to the L1."""

import dataclasses

import jax
import jax.numpy as jnp
import measured_kernels
import numpy as np
import pytest
from jax import lax

import xeemu as xe

N = 2**16


def floats(size):
    return jax.ShapeDtypeStruct((size,), np.dtype(np.float32))


def divided(kernel, local_size, *arguments, items=N, **static):
    """Requests that are looked up twice, and those to global memory."""
    device = dataclasses.replace(xe.device("h200"), l1_request_cycles=64)  # so that requests bind the L1
    report = xe.estimate(kernel, xe.NDRange(items, local_size), device=device)(*arguments, **static)
    served = next(term for term in report.terms if term.resource == "L1")
    assert served.unit == "requests"
    return served.work - report.global_.requests, report.global_.requests


@xe.kernel(sub_group_size=32)
def window(wg, x, out, *, width, step=1):
    i, zeros = wg.global_id(), jnp.zeros(wg.size, jnp.float32)
    return out.at[i].set(lax.fori_loop(0, width, lambda k, t: t + x[i + step * k], zeros))


@pytest.mark.parametrize("local_size", [64, 256])
def test_a_sector_that_a_window_moves_to_is_on_its_way_for_four_iterations(local_size):
    """The last sub-group of a group moves to a sector of 8 words 64 / 8 times."""
    more, _ = divided(window, local_size, floats(N + 64), floats(N), width=64)
    assert more == pytest.approx(4 * 64 / 8 * (N // local_size), rel=0.02)


def test_a_window_that_moves_by_sectors_or_stands_still_is_not_divided():
    by_sectors, _ = divided(window, 256, floats(N + 8 * 64), floats(N), width=64, step=8)
    still, _ = divided(window, 256, floats(N + 64), floats(N), width=64, step=0)
    assert (by_sectors, still) == (0, 0)


@xe.kernel(sub_group_size=32)
def rows(wg, a, out):
    """Two rows for a sub-group: what is new is all that it asks for."""
    i, zeros = wg.global_id() // 16, jnp.zeros(wg.size, jnp.float32)
    return out.at[wg.global_id()].set(lax.fori_loop(0, 256, lambda k, t: t + a[i * 256 + k], zeros))


def test_rows_that_move_to_their_sectors_together_are_looked_up_again_and_served_once():
    """Three loads of the four that are under way ask for sectors that the first has asked for."""
    more, _ = divided(rows, 256, floats(16 * N), floats(N))
    assert more == 3 / 8 * 256 * N // 32
    report = xe.estimate(rows, xe.NDRange(N, 256), device="h200")(floats(16 * N), floats(N))
    passes = next(term.work for term in report.terms if term.resource == "L1")
    assert passes == sum(site.l1_passes for site in report.sites)


@pytest.mark.long
def test_of_a_convolution_the_share_falls_with_the_work_group_as_the_counters_have_it():
    """Compilers unroll it further than is taken here, so that the counters show up to twice as much and more."""
    chosen = [r for r in measured_kernels.rows() if r["kernel"] == "conv_global" and "N=65536;" in r["params"]]
    counted = {}
    for row in measured_kernels.rows():
        if row["kernel"] == "conv_global" and row["params"].startswith("N=16777216;M=129"):
            counted[int(row["wg"])] = int(row["lsu_data_wf"]) / (int(row["inst_lsu"]))
    assert list(counted.values())[:3] == sorted(counted.values(), reverse=True)[:3]
    case = measured_kernels.case(chosen[0])
    shares = []
    for local_size in counted:
        more, asked = divided(case.kernel, local_size, *case.arguments)
        shares.append(more / asked)
    assert shares == sorted(shares, reverse=True)
    for share, wavefronts in zip(shares, counted.values(), strict=True):
        assert share < wavefronts - 1 < 4 * share + 0.02
