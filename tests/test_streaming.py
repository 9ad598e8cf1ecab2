"""Loops that stream: one check of the bounds for all iterations, and the results of NumPy where it fails."""

import jax
import launches
import numpy as np
import pytest
from jax import lax
from jax.extend import core as jex_core

import xeemu as xe
from xeemu.memory import poison

N, ITEMS = 500, 64


@xe.kernel
def moving(wg, x, out, *, start, move, turns):
    i = wg.global_linear_id()

    def turn(k, total):
        return 3 * total + x[start + i + k * move] * x[k]

    return out.at[i].set(lax.fori_loop(0, turns, turn, i * 0))


def expected(x, start, move, turns):
    total, i = np.zeros(ITEMS, np.int64), np.arange(ITEMS)
    for k in range(turns):
        place = i + start + k * move
        inside = (place >= 0) & (place < N)
        loaded = np.where(inside, x[np.where(inside, place, 0)], poison(np.dtype(np.int32)))
        total = (3 * total + loaded.astype(np.int64) * x[k]) % 2**32
    return total.astype(np.uint32)


@pytest.mark.parametrize(
    ("start", "move", "turns"),
    [
        *((start, 1, 100) for start in (0, 1, 336, 337, 338, 499, 600, -1, -99, -162, -163, -164, -400)),
        *((start, -1, 100) for start in (99, 98, 100, 436, 437, 438, 530, 20)),
        *((start, 3, 65) for start in (0, 243, 244, 245, -2)),
        *((start, 0, 70) for start in (0, 436, 437, -1)),
        (0, 40, 9),
        (0, 40, 13),
        (0, 2**24, 70),
    ],
)
def test_a_loop_whose_loads_may_leave_the_memory(start, move, turns):
    x = np.random.default_rng(1).integers(-9, 9, size=N, dtype=np.int32)
    launch = xe.launch(moving, xe.NDRange(ITEMS, 16))
    got = launch(x, np.zeros(ITEMS, np.int32), start=start, move=move, turns=turns)
    np.testing.assert_array_equal(np.asarray(got).view(np.uint32), expected(x, start, move, turns))


def conditions(jaxpr):
    """The conds of a jaxpr, each with how many loops it lies in."""
    for eqn in jaxpr.eqns:
        inside = eqn.primitive.name in ("scan", "while")
        if eqn.primitive.name == "cond":
            yield 0
        for inner in jex_core.jaxprs_in_params(eqn.params):
            yield from (depth + inside for depth in conditions(inner))


@pytest.mark.parametrize(("start", "found"), [(237, []), (238, [0]), (300, [0]), (-2, [0]), (600, [0])])
def test_bounds_are_checked_before_the_loop(start, found):
    """Where they are not proved."""
    arguments, static = (np.zeros(N, np.int32), np.zeros(ITEMS, np.int32)), {"start": start, "move": 1, "turns": 200}
    ready = launches.prepared(moving, xe.NDRange(ITEMS, 16), arguments, static, device="max1550")
    assert list(conditions(jax.make_jaxpr(ready.emit)(*arguments).jaxpr)) == found
