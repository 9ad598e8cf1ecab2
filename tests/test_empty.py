"""Local and private memories without elements, which SYCL allows: what goes there is out of bounds, and that is all."""

import functools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

RANGE = xe.NDRange(128, 64)
X = np.zeros(128, np.float32)


def allocated(wg, space, shape, dtype=jnp.float32):
    memory = getattr(wg, space)(shape, dtype, name="none")
    lid = wg.local_id()
    return memory, {0: lid, (0, 4): (lid, 1), (4, 0): (1, lid)}[shape]


def renewed(wg, memory):
    return wg.sub_group.barrier(wg.fence(wg.barrier(memory))) if memory.space == "local" else memory


@xe.kernel
def masked(wg, x, *, space, shape):
    """As written for any number of elements, here none."""
    memory, index = allocated(wg, space, shape)
    lid, few = wg.local_id(), math.prod(np.atleast_1d(shape).tolist())
    memory = lax.fori_loop(0, 2, lambda k, m: renewed(wg, m.at[index].set(1, where=lid < few)), memory)
    absent = memory.load(index, where=x[wg.global_id()] > 5, other=3)
    return x.at[wg.global_id()].set(memory.load(index, where=lid < few, other=4) + absent)


@xe.kernel
def unmasked(wg, x, *, space, shape):
    memory, index = allocated(wg, space, shape)
    memory = renewed(wg, memory.at[index].set(1))
    return x.at[wg.global_id()].set(memory[index])


@xe.kernel
def atomically(wg, x, *, shape):
    memory, index = allocated(wg, "local", shape, jnp.uint32)
    old, memory = memory.atomic[index].fetch_add(1)
    return x.at[wg.global_id()].set((old == np.uint32(0xA5A5A5A5)).astype(jnp.float32))


SPACES = pytest.mark.parametrize("space", ["local", "private"])
SHAPES = pytest.mark.parametrize("shape", [0, (0, 4), (4, 0)], ids=str)
SCHEDULES = [xe.launch, *(functools.partial(xe.launch, schedule=key) for key in (0, 1))]


@pytest.mark.every(2)
@SPACES
@SHAPES
def test_what_is_masked_out_is_right_and_clean(space, shape):
    for launch in SCHEDULES:
        assert (np.asarray(launch(masked, RANGE)(X, space=space, shape=shape)) == 7).all()
    outputs, findings = xe.check(masked, RANGE)(X, space=space, shape=shape)
    assert (np.asarray(outputs) == 7).all()
    assert not findings


@SPACES
@SHAPES
def test_what_is_not_is_out_of_bounds(space, shape):
    for launch in SCHEDULES:
        assert np.isnan(launch(unmasked, RANGE)(X, space=space, shape=shape)).all()
    _, findings = xe.check(unmasked, RANGE)(X, space=space, shape=shape)
    assert [(f.kind, f.memory, f.count) for f in findings] == [("out-of-bounds", "none", 128)] * 2


def test_atomic_operations_give_the_poison_value():
    for launch in SCHEDULES:
        assert (np.asarray(launch(atomically, RANGE)(X, shape=0)) == 1).all()
    assert {f.kind for f in xe.check(atomically, RANGE)(X, shape=0)[1]} == {"out-of-bounds"}


@pytest.mark.every(3)
@pytest.mark.thorough
@SPACES
@SHAPES
@pytest.mark.parametrize("kernel", [masked, unmasked], ids=lambda kernel: kernel.name)
def test_it_costs_nothing(kernel, space, shape):
    estimated = xe.estimate(kernel, RANGE)(X, space=space, shape=shape)
    _, counted = xe.profile(kernel, RANGE)(X, space=space, shape=shape)
    assert estimated.slm_bytes == counted.slm_bytes == 0
    assert counted.slm.requests == counted.slm.passes == 0
    assert f"{space} none: f32[" in str(xe.trace(kernel, RANGE)(X, space=space, shape=shape))
