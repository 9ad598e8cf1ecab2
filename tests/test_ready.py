"""Calls that were found to be right are known again by the descriptions of their arguments, and others are not."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.cost import costing
from xeemu.faults import checking
from xeemu.launching import garbage, preparation

N = 8
ND_RANGE = xe.NDRange(N, N)
X = np.arange(N, dtype=np.int32)
TELLING = {"check": xe.check, "profile": xe.profile, "estimate": xe.estimate}
ALL = {"launch": xe.launch, **TELLING}


@xe.kernel
def shifted(wg, x, y, by):
    """Stores beyond its memory where `by` is not 0, and has lines for the cost of that."""
    tile = wg.barrier(wg.local(N, jnp.int32).at[wg.local_id()].set(x[wg.local_id()]))
    return y.at[wg.local_id() + by].set(tile[wg.local_id()])


def told(name, result):
    """What a call tells, as text."""
    return str(result if name in ("launch", "estimate") else result[1])


@pytest.mark.parametrize("name", ALL)
def test_equal_calls_are_of_one_function_and_prepared_once(name):
    first = told(name, ALL[name](shifted, ND_RANGE)(X, X, 0))
    assert ALL[name](shifted, ND_RANGE) is ALL[name](shifted, ND_RANGE)
    asked = preparation._prepared.cache_info()
    assert told(name, ALL[name](shifted, ND_RANGE)(X.copy(), X.copy(), 0)) == first
    assert preparation._prepared.cache_info() == asked


@pytest.mark.parametrize("name", TELLING)
def test_the_value_of_a_scalar_is_looked_at_in_each_call(name):
    call = TELLING[name](shifted, ND_RANGE)
    found = [told(name, call(X, X, by)) for by in (0, 1, np.int32(1), 0)]
    assert found[0] == found[3] != found[1] == found[2]


@pytest.mark.parametrize("name", TELLING)
def test_other_dtypes_and_shapes_are_other_calls(name):
    call = TELLING[name](shifted, ND_RANGE)
    before = told(name, call(X, X, 0))
    wider = told(name, call(X, np.zeros(N, np.int64), 0))
    assert (wider != before) == (name != "check")
    with pytest.raises(xe.KernelArgumentError, match="argument x of kernel shifted has dtype"):
        call(X.astype(np.complex64), X, 0)


@pytest.mark.parametrize("name", ALL)
def test_an_array_that_was_deleted_since_is_refused(name):
    call, given = ALL[name](shifted, ND_RANGE), jax.device_put(X.copy())
    call(given, X, 0)
    given.delete()
    with pytest.raises(xe.KernelArgumentError, match="argument x of kernel shifted is deleted"):
        call(given, X, 0)


@pytest.mark.parametrize("name", ALL)
def test_limits_of_the_environment_hold_from_the_next_call_on(name, monkeypatch):
    call = ALL[name](shifted, ND_RANGE, device="cpu")
    call(X, X, 0)
    monkeypatch.setenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", "16B")
    with pytest.raises(xe.MemoryAllocationError):
        call(X, X, 0)
    monkeypatch.delenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE")
    call(X, X, 0)


def test_a_shape_in_place_of_an_array_is_another_call():
    check, shape = xe.check(shifted, ND_RANGE), jax.ShapeDtypeStruct((N,), np.int32)
    unwritten = [check(X, y, 1)[0].tolist() for y in (X, shape, X, shape)]
    assert unwritten[0] == unwritten[2] == [0, *X[:-1]]
    assert unwritten[1] == unwritten[3]
    assert unwritten[1][1:] == unwritten[0][1:]
    assert unwritten[1][0] != 0


@xe.kernel
def scaled(wg, x, by):
    return x.at[wg.local_id()].set(x[wg.local_id()] * by)


def test_floats_on_which_no_address_depends_are_equal_calls():
    x = X.astype(np.float32)
    for name in TELLING:
        TELLING[name](scaled, ND_RANGE)(x, 1.0)
    looked_at = [cache.cache_info().misses for cache in (checking._checked, costing._census)]
    for by in (2.0, np.nan, -np.nan, np.inf):
        for name in TELLING:
            TELLING[name](scaled, ND_RANGE)(x, by)
    assert [cache.cache_info().misses for cache in (checking._checked, costing._census)] == looked_at


def test_an_estimate_within_a_jit_knows_no_scalar_that_is_traced():
    given = []
    jax.jit(lambda by: given.append(xe.estimate(shifted, ND_RANGE)(X, X, by).to_dict()))(1)
    assert given == [xe.estimate(shifted, ND_RANGE)(X, X, jax.ShapeDtypeStruct((), np.int32)).to_dict()]


@pytest.mark.parametrize("name", ALL)
def test_garbage_is_searched_for_after_a_call_is_prepared_and_not_meanwhile(name):
    searched = []

    @xe.kernel
    def noting(wg, x):
        searched.append(gc.isenabled())
        return x.at[wg.local_id()].set(1)

    ALL[name](noting, ND_RANGE)(X)
    assert gc.isenabled()
    assert set(searched) == {False}


def test_who_does_not_have_garbage_searched_for_is_left_alone():
    gc.disable()
    try:
        with garbage.unsearched():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
    with pytest.raises(KeyError), garbage.unsearched():
        raise KeyError
    assert gc.isenabled()
