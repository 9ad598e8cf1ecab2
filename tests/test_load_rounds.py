"""How often sub-groups wait for loads, by hand for kernels of one sub-group in each of four groups."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

GROUPS, SIZE = 4, 32
X = jax.ShapeDtypeStruct((GROUPS * SIZE * 16,), np.dtype(np.float32))
OUT = jax.ShapeDtypeStruct((GROUPS * SIZE,), np.dtype(np.float32))
STEP = GROUPS * SIZE


@xe.kernel(sub_group_size=32)
def straight(wg, x, out, *, loads):
    i = wg.global_id()
    return out.at[i].set(sum(x[i + k * STEP] for k in range(loads)))


@xe.kernel(sub_group_size=32)
def looped(wg, x, out, *, loads):
    i = wg.global_id()
    zeros = jnp.zeros(wg.size, jnp.float32)
    return out.at[i].set(lax.fori_loop(0, loads, lambda k, t: t + x[i + k * STEP], zeros))


@xe.kernel(sub_group_size=32)
def awaited(wg, x, out, *, loads):
    i = wg.global_id()
    zeros = jnp.zeros(wg.size, jnp.float32)
    _, t = lax.while_loop(
        lambda c: c[0] < loads, lambda c: (c[0] + 1, c[1] + x[i + c[0] * STEP]), (jnp.int32(0), zeros)
    )
    return out.at[i].set(t)


@xe.kernel(sub_group_size=32)
def met(wg, x, out, *, loads):
    i, lid = wg.global_id(), wg.local_id()
    tile = wg.local(wg.size, jnp.float32)

    def step(k, tile):
        return wg.barrier(tile.at[lid].set(x[i + 2 * k * STEP] + x[i + (2 * k + 1) * STEP]))

    tile = lax.fori_loop(0, loads // 2, step, tile)
    return out.at[i].set(tile[lid])


def waited(kernel, loads):
    """The cycles that one sub-group waits for global memory, in latencies of an L2 hit."""
    bare = dict.fromkeys(("alu_latency_cycles", "barrier_latency_cycles", "barrier_cycles_per_sub_group"), 1e-9)
    device = xe.device("h200")
    device = dataclasses.replace(device, **bare, l1_latency_cycles=100, l2_latency_cycles=100, slm_latency_cycles=1e-9)
    report = xe.estimate(kernel, xe.NDRange(GROUPS * SIZE, SIZE), device=device)(X, OUT, loads=loads)
    latency = next(term for term in report.terms if term.resource == "latency")
    return latency.work / GROUPS / 100


@pytest.mark.parametrize(
    ("kernel", "loads", "rounds"),
    [
        pytest.param(straight, 1, 1, id="one"),
        pytest.param(straight, 3, 1, id="together"),
        pytest.param(straight, 8, 2, id="no more than four"),
        pytest.param(looped, 16, 4, id="unrolled by four"),
        pytest.param(awaited, 16, 16, id="whose end is tested"),
        pytest.param(met, 16, 8, id="two between barriers"),
    ],
)
def test_a_sub_group_waits_for_the_loads_that_are_under_way_together(kernel, loads, rounds):
    assert waited(kernel, loads) == pytest.approx(rounds, rel=1e-6)
