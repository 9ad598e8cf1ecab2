"""What sub-groups wait for: how often, where in the source, and in which phase of the program."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

N = 132 * 64
X = np.zeros(4 * N, np.float32)
INDICES = np.zeros(N, np.int32)


def waited(kernel: xe.Kernel, *arrays: np.ndarray, local: int = 64) -> dict[str, float]:
    """How often each sub-group waits for the loads of each memory."""
    _, report = xe.profile(kernel, xe.NDRange(N, local), device="h200")(*arrays)
    sub_groups = N // 32
    return {wait.site.memory: wait.times / sub_groups for wait in report.waits if wait.site}


@xe.kernel(sub_group_size=32)
def gathered(wg, x, indices, out):
    i = wg.global_id()
    return out.at[i].set(x[indices[i]])


@xe.kernel(sub_group_size=32)
def both(wg, x, indices, out):
    i = wg.global_id()
    return out.at[i].set(x[i] + indices[i].astype(jnp.float32))


@pytest.mark.thorough
def test_a_load_whose_address_is_loaded_waits_by_itself():
    out = X[:N]
    assert waited(gathered, X, INDICES, out) == {"x": 1, "indices": 1}
    assert waited(both, X, INDICES, out) == {"x": 0.5, "indices": 0.5}


@xe.kernel(sub_group_size=32)
def filled_by_one(wg, x, out):
    tile = wg.local(32, jnp.float32)
    tile = tile.at[wg.local_id()].set(x.load(wg.local_id(), where=wg.local_id() < 32), where=wg.local_id() < 32)
    tile = wg.barrier(tile)
    return out.at[wg.global_id()].set(tile[wg.local_id() % 32])


@xe.kernel(sub_group_size=32)
def used_by_one(wg, x, out):
    mine = wg.local_id() < 32
    return out.at[wg.global_id()].set(x.load(wg.local_id(), where=mine), where=mine)


def test_at_a_barrier_all_wait_for_the_loads_of_one():
    assert waited(filled_by_one, X, X[:N], local=128)["x"] == 1
    assert waited(used_by_one, X, X[:N], local=128)["x"] == 1 / 4


@xe.kernel(sub_group_size=32)
def in_two_loops(wg, x, out):
    """The first loop loads global memory, the second updates it."""
    i, first = wg.global_id(), wg.local_id() == 0
    t = lax.fori_loop(0, 512, lambda k, t: t + x[(i + k * N) % (4 * N)], jnp.zeros(wg.size, jnp.float32))
    return lax.fori_loop(0, 512, lambda k, out: out.atomic[0].add(t, where=first), out)


@xe.kernel(sub_group_size=32)
def in_one_loop(wg, x, out):
    i, first = wg.global_id(), wg.local_id() == 0
    return lax.fori_loop(0, 512, lambda k, out: out.atomic[0].add(x[(i + k * N) % (4 * N)], where=first), out)


def test_loops_one_after_the_other_do_not_overlap_in_one_wave():
    nd_range = xe.NDRange(N, 64)
    apart, together = (xe.estimate(k, nd_range, device="h200")(X, X[:1]) for k in (in_two_loops, in_one_loop))
    terms = {term.resource: term.cycles for term in apart.terms}
    assert apart.bound == together.bound == "atomics"
    assert together.cycles < 1.1 * terms["atomics"]
    assert apart.cycles == pytest.approx(terms["atomics"] + terms["latency"], rel=0.02)
