"""Which operations keep the values of work-items apart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from xeemu.language import importing
from xeemu.stepping import lanewise

N, OTHERS = 8, 8 * 3
X = jnp.zeros((N, 3))
INDEX = jnp.zeros((N, 1), jnp.int32)

APART = {
    "arithmetic": lambda x: jnp.sin(x) * 2 + jnp.where(x > 0, x, -x),
    "a private axis summed": lambda x: x.sum(axis=1),
    "a private axis sorted": lambda x: jnp.sort(x, axis=1),
    "a private axis accumulated": lambda x: jnp.cumsum(x, axis=1),
    "a private element": lambda x: x[:, 1],
    "private elements turned": lambda x: x[:, ::-1],
    "private elements of one's own choice": lambda x: jnp.take_along_axis(x, INDEX, axis=1),
    "a private element replaced": lambda x: x.at[:, 1].set(0),
    "private elements joined": lambda x: jnp.concatenate([x, x], axis=1),
    "private axes in one": lambda x: x[:, :, None].reshape(N, 3),
    "a product with what all share": lambda x: x @ jnp.ones((3, 4)),
    "a product by work-item": lambda x: jnp.einsum("np,np->n", x, x),
    "a loop": lambda x: lax.fori_loop(0, 3, lambda k, s: s + x * k, x),
    "a branch": lambda x: lax.cond(True, lambda x: x, lambda x: -x, x),
}
MIXED = {
    "a sum over the work-items": lambda x: x.sum(axis=0),
    "work-items turned": lambda x: x[::-1],
    "work-items sorted": lambda x: jnp.sort(x, axis=0),
    "work-items accumulated": lambda x: jnp.cumsum(x, axis=0),
    "work-items shifted": lambda x: jnp.roll(x, 1, axis=0),
    "elements of another work-item": lambda x: x[jnp.arange(N)[::-1]],
    "all elements in one row": lambda x: x.reshape(OTHERS),
    "work-items as columns": lambda x: x.T,
    "a product over the work-items": lambda x: x.T @ x,
}


def keeps_apart(function):
    body = importing.imported(jax.make_jaxpr(function)(X))
    return lanewise.of_body(body, [True], rank=1) == [True]


@pytest.mark.parametrize("function", APART.values(), ids=APART)
def test_a_lanewise_value_stays_one(function):
    assert keeps_apart(function)


@pytest.mark.parametrize("function", MIXED.values(), ids=MIXED)
def test_work_items_that_are_mixed_are_not_kept_apart(function):
    assert not keeps_apart(function)


@pytest.mark.every(4)
@pytest.mark.parametrize("function", APART.values(), ids=APART)
def test_what_is_kept_apart_depends_on_the_work_items_own_elements_alone(function):
    """All elements but those of one work-item are made others, and its results stay."""
    drawn = np.random.default_rng(0)
    x, other = drawn.random((2, N, 3)).astype(np.float32)
    for item in range(N):
        changed = np.where(np.arange(N)[:, None] == item, x, other)
        np.testing.assert_array_equal(function(jnp.asarray(x))[item], function(jnp.asarray(changed))[item])


def test_a_loop_carries_as_lanewise_what_is_so_at_its_beginning():
    """What mixes the work-items inside it is a meeting of its own, in every iteration."""
    assert keeps_apart(lambda x: lax.fori_loop(0, 3, lambda k, s: s[::-1] + k, x))
