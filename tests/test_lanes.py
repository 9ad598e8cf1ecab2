"""What lanes have in common: a sorting network, and what is counted of keys in order."""

import itertools

import jax
import numpy as np
import pytest

from xeemu.devices import lanes


@pytest.mark.parametrize("size", [*range(1, 12), 16])
def test_a_network_that_sorts_all_zeros_and_ones_sorts_everything(size):
    columns = np.array(list(itertools.product([0, 1], repeat=size))).T.copy()
    for low, high in lanes._network(size):
        columns[[low, high]] = np.minimum(*columns[[low, high]]), np.maximum(*columns[[low, high]])
    assert (np.diff(columns, axis=0) >= 0).all()


@pytest.mark.parametrize("how", ["numpy", "jit"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32])
def test_different_pieces_are_those_of_a_set(how, dtype):
    random, sizes = np.random.default_rng(0), (1, 4, 48)
    with jax.enable_x64(True):
        for size in (1, 7, 32):
            key = random.integers(0, 400, (5, 3, size)).astype(dtype)
            active = random.random(key.shape) < random.random((5, 3, 1))
            count = jax.jit(lanes.different, static_argnums=(2, 3, 4)) if how == "jit" else lanes.different
            found = count(active, key, *sizes)
            for piece, counts in zip(sizes, found, strict=True):
                expected = [len(set(key[place][active[place]] // piece)) for place in np.ndindex(key.shape[:2])]
                np.testing.assert_array_equal(counts.reshape(-1), expected)
