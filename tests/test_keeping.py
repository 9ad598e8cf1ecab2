"""What is kept of launches is bounded, and what is dropped is freed."""

import gc
import weakref

import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.cost import costing, footprint
from xeemu.faults import checking, sizes
from xeemu.launching import executables, kernel_warnings, launch, preparation

N = xe.NDRange(256, 64)
X = np.arange(256, dtype=np.int32)
CACHES = [
    kernel_warnings.of_launch,
    launch._launched,
    preparation._prepared,
    executables.executable,
    checking._check_written,
    checking._checked,
    sizes._asks,
    costing._profile,
    costing._estimate,
    costing._census,
    costing._counted,
    costing._report_again,
    footprint._added,
    footprint._at_once,
    footprint._of_touched,
    footprint._touched,
]


def another(number):
    """A kernel of which part is watched."""

    @xe.kernel
    def kernel(wg, x, index):
        tile = wg.local(64, jnp.int32)
        tile = wg.barrier(tile.at[wg.local_id()].set(x[wg.global_id()] + number))
        return x.at[wg.global_id()].set(tile[index[wg.global_id()]])

    return kernel


TRANSFORMATIONS = {"launch": xe.launch, "check": xe.check, "profile": xe.profile}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_what_the_caches_drop_is_freed(name):
    kernel = another(3)
    TRANSFORMATIONS[name](kernel, N)(X, X % 64)
    function = weakref.ref(kernel.function)
    del kernel
    for cache in CACHES:
        cache.cache_clear()
    gc.collect()
    assert function() is None


def test_the_caches_have_bounds():
    bounds = {cache.cache_info().maxsize for cache in CACHES}
    assert None not in bounds


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@pytest.mark.long
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_hundreds_of_launches_keep_memory_flat(name):
    taken = []
    for number in range(400):
        TRANSFORMATIONS[name](another(number), N)(X, X % 64)
        if number % 50 == 49:
            gc.collect()
            taken.append(resident_bytes())
    # By then the caches are full; before, each kernel adds a megabyte or more.
    assert taken[-1] - taken[4] < 60 * 2**20
