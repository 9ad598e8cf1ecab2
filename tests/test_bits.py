"""What there is in masks of any shape, as NumPy tells it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from xeemu.emission import bits

SHAPES = [(), (0,), (1,), (7,), (8,), (3, 5), (4, 0), (16, 64), (1000,)]


@pytest.mark.every(6)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("part", [0, 0.01, 0.5, 1])
def test_masks(shape, part):
    mask = np.random.default_rng(len(shape)).random(shape) < part
    with jax.enable_x64(True):
        any_, count = bits.any_of(jnp.asarray(mask)), bits.count_of(jnp.asarray(mask))
    assert any_.shape == count.shape == ()
    assert bool(any_) == mask.any()
    assert count.dtype == np.int64
    assert int(count) == mask.sum()


@pytest.mark.parametrize("found", [[], [5], [0, 7], [11, 3, 4]])
def test_the_first_of_a_mask(found):
    mask = np.zeros((3, 4), bool)
    mask.reshape(-1)[found] = True
    assert int(bits.first_of(jnp.asarray(mask))) == mask.argmax()


@pytest.mark.parametrize("fill", [False, True])
def test_a_constant_mask_is_searched_as_the_program_runs(fill):
    compiled = jax.jit(lambda: bits.first_of(jnp.full((8, 16), fill))).lower().compile()
    assert " reduce(" in compiled.as_text()
    assert int(compiled()) == 0
