"""Loops that wait for other work-groups are refused; loops that get on by themselves are not."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe


def launch(function):
    return xe.launch(xe.kernel(function), xe.NDRange(8, 4))(np.zeros(8, np.int32))


def waits_in_the_predicate(wg, flags):
    flags = flags.atomic[wg.group_id()].store(1)
    lax.while_loop(lambda n: flags.atomic[1 - wg.group_id()].load() == 0, lambda n: n, jnp.int32(0))  # here
    return flags


def waits_in_the_body(wg, flags):
    flags = flags.atomic[wg.group_id()].store(1)
    lax.while_loop(lambda seen: seen == 0, lambda seen: flags.atomic[1 - wg.group_id()].load(), jnp.int32(0))  # here
    return flags


@pytest.mark.parametrize("kernel", [waits_in_the_predicate, waits_in_the_body])
def test_a_waiting_loop_is_refused_with_its_line(kernel):
    with pytest.raises(xe.KernelError, match=r"^a loop waits for other work-groups") as caught:
        launch(kernel)
    assert "split the kernel into two launches" in str(caught.value)
    assert str(caught.value).endswith("# here")


def gives_up_after_some_turns(wg, flags):
    def goes_on(n):
        return (flags.atomic[1 - wg.group_id()].load() == 0) & (n < 5)

    n = lax.while_loop(goes_on, lambda n: n + 1, jnp.int32(0))
    return flags.at[wg.global_id()].set(n)


def walks_along_a_chain(wg, x):
    x = x.at[wg.global_id()].set(wg.global_id() - 1)
    last = lax.while_loop(lambda i: i > 0, lambda i: x[i], jnp.int32(3))
    return x.at[wg.global_id()].set(last)


def changes_what_it_looks_at(wg, x):
    def count(x):
        return x.atomic[wg.group_id()].add(1)

    return lax.while_loop(lambda x: x[wg.group_id()] < 20, count, x)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (gives_up_after_some_turns, [5] * 8),
        (walks_along_a_chain, [0] * 8),
        (changes_what_it_looks_at, [20, 20, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_a_loop_that_gets_on_by_itself_runs(kernel, expected):
    np.testing.assert_array_equal(launch(kernel), expected)
