"""Loops that stream: one check of the bounds for all iterations, and the results of NumPy where it fails."""

import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from jax import lax
from jax.extend import core as jex_core
from test_merge_updates import on_a_gpu

import xeemu as xe
from xeemu.language.memory import poison

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


@pytest.mark.every(4)
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


GROUP = 16


@xe.kernel
def filling(wg, x, out, *, turns, how):
    """The work-items fill a tile in a loop, each in the way that `how` says, and then write all of it out."""
    lid, first = wg.local_linear_id(), wg.local_linear_id() == 0
    own = jnp.arange(turns) * GROUP + lid[:, None]
    tile = wg.local(GROUP * turns, jnp.int32)
    tile = wg.barrier(tile.at[own].set(-1))

    def fill(k, tile):
        if how == "rows":
            return tile.at[k * GROUP + lid].set(x[wg.group_id() * GROUP + lid] + k)
        if how == "rows from the end":
            return tile.at[(turns - 1 - k) * GROUP + lid].set(x[k] + lid)
        if how == "columns":
            return tile.at[lid * turns + k].set(x[wg.group_id() + k] * lid)
        if how == "one work-item":
            return tile.at[k].set(x[k + wg.group_id()], where=first)
        if how == "clear":
            return tile.at[k].set(0, where=lid == GROUP - 1)
        if how == "masked":
            return tile.at[k * GROUP + lid].set(k + lid, where=x[lid + k] > 0)
        assert how == "every third"
        return tile.at[3 * k].set(x[k], where=first)

    def some(tile):
        return lax.fori_loop(0, turns // 3 if how == "every third" else turns, fill, tile)

    tile = lax.cond(wg.group_id() != 2, some, lambda tile: tile, tile)
    tile = wg.barrier(tile)
    return out.at[wg.group_id() * GROUP * turns + own].set(tile[own])


def filled(x, turns, how):
    out = np.full((4, GROUP * turns), -1, np.int32)
    k, lid = np.arange(turns)[:, None], np.arange(GROUP)
    for group in (0, 1, 3):
        tile = out[group]
        match how:
            case "rows":
                tile[:] = (x[group * GROUP + lid] + k).ravel()
            case "rows from the end":
                tile[:] = (x[k] + lid)[::-1].ravel()
            case "columns":
                tile[:] = (x[group + k] * lid).T.ravel()
            case "one work-item":
                tile[:turns] = x[group : group + turns]
            case "clear":
                tile[:turns] = 0
            case "masked":
                tile[:] = np.where(x[lid + k] > 0, k + lid, tile.reshape(turns, GROUP)).ravel()
            case "every third":
                tile[: turns // 3 * 3 : 3] = x[: turns // 3]
    return out.ravel()


def fillings(jaxpr):
    """For each loop how many updates of slices there are in it, but not in loops inside."""
    for eqn in jaxpr.eqns:
        for inner in jex_core.jaxprs_in_params(eqn.params):
            if eqn.primitive.name in ("scan", "while"):
                yield [e.primitive.name for e in inner.eqns].count("dynamic_update_slice")
            yield from fillings(inner)


@pytest.mark.every(4)
@pytest.mark.parametrize("turns", [1, 2, 33, 64])
@pytest.mark.parametrize(
    "how", ["rows", "rows from the end", "columns", "one work-item", "clear", "masked", "every third"]
)
def test_a_loop_that_fills_a_memory(how, turns):
    x = np.random.default_rng(turns).integers(-99, 99, size=GROUP * 4 + turns, dtype=np.int32)
    arguments, static = (x, np.zeros(4 * GROUP * turns, np.int32)), {"turns": turns, "how": how}
    ready = on_a_gpu(filling, xe.NDRange(4 * GROUP, GROUP), arguments, static)
    np.testing.assert_array_equal(launches.run(ready, arguments)[0], filled(x, turns, how))
    if turns == 64 and how in ("rows", "rows from the end", "one work-item", "clear", "masked"):
        assert not list(fillings(jax.make_jaxpr(ready.emit)(*arguments).jaxpr)), "all iterations are one update"


def launches_of(kernel, nd_range, arguments):
    """The results of a launch: as usual, with one group at a time, as for a GPU."""
    yield np.asarray(xe.launch(kernel, nd_range)(*arguments))
    yield np.asarray(xe.launch(kernel, nd_range, memory_bytes=1)(*arguments))
    yield launches.run(on_a_gpu(kernel, nd_range, arguments), arguments)[0]


def test_a_fill_that_is_read_back_in_the_loop():
    @xe.kernel
    def kernel(wg, x, out):
        i, lid = wg.global_linear_id(), wg.local_id()
        tile = wg.local(GROUP * 20, jnp.int32)

        def turn(k, state):
            tile, total = state
            tile = tile.at[lid + k * GROUP].set(x[i + k] * 2)
            return tile, total * 3 + tile[lid + k * GROUP]

        tile, total = lax.fori_loop(0, 20, turn, (tile, i * 0))
        return out.at[i].set(total)

    x, total = np.random.default_rng(0).integers(0, 1000, 400, dtype=np.int32), np.zeros(ITEMS, np.int64)
    for k in range(20):
        total = (total * 3 + x[np.arange(ITEMS) + k] * 2) % 2**32
    for got in launches_of(kernel, xe.NDRange(ITEMS, GROUP), (x, np.zeros(ITEMS, np.int32))):
        np.testing.assert_array_equal(got.view(np.uint32), total.astype(np.uint32))


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize("turns", [1, 30])
@pytest.mark.parametrize("last", [False, True])
def test_a_loop_over_private_memory(turns, last):
    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_id()
        own = wg.private(30, jnp.int32)
        for k in range(30):
            own = own.at[k].set(x[i] + k)
        return out.at[i].set(lax.fori_loop(0, turns, lambda k, t: t * 3 + own[29 - k if last else k], i * 0))

    x, total = np.arange(ITEMS, dtype=np.int32), np.zeros(ITEMS, np.int64)
    for k in range(turns):
        total = (total * 3 + x + (29 - k if last else k)) % 2**32
    for got in launches_of(kernel, xe.NDRange(ITEMS, GROUP), (x, np.zeros(ITEMS, np.int32))):
        np.testing.assert_array_equal(got.view(np.uint32), total.astype(np.uint32))


@pytest.mark.thorough
@pytest.mark.parametrize("lanes", [False, True])
def test_a_moving_load_that_nobody_takes_part_in(lanes):
    @xe.kernel
    def kernel(wg, x, out):
        i, lid = wg.global_id(), wg.local_id()
        index, mask = (lid, lid < 0) if lanes else (0, False)
        load = lambda k: x.load(index + k * 3, where=mask, other=7)  # noqa: E731
        return out.at[i].set(lax.fori_loop(0, 100, lambda k, t: t + load(k), i * 0))

    for got in launches_of(kernel, xe.NDRange(ITEMS, GROUP), (np.arange(N, dtype=np.int32), np.zeros(ITEMS, np.int32))):
        np.testing.assert_array_equal(got, 700)


NARROW = {
    "uint8": lambda i, lid, k: lid + (k + 10).astype(jnp.uint8).astype(jnp.int32),
    "int8": lambda i, lid, k: i + 128 + (k + 10).astype(jnp.int8).astype(jnp.int32),
    "uint8 times 3": lambda i, lid, k: i + (k.astype(jnp.uint8) * np.uint8(3)).astype(jnp.int32),
    "bool": lambda i, lid, k: i + k.astype(bool).astype(jnp.int32),
    "rounded": lambda i, lid, k: i + (k + 1).astype(jnp.bfloat16).astype(jnp.int16).astype(jnp.int32),
    "cut off": lambda i, lid, k: 100 + i + ((k - 30).astype(jnp.float32) + 0.5).astype(jnp.int16).astype(jnp.int32),
}


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize("name", NARROW)
def test_an_index_that_wraps_or_rounds_does_not_move_steadily(name):
    @xe.kernel
    def kernel(wg, x, out):
        i, lid = wg.global_linear_id(), wg.local_id()
        return out.at[i].set(lax.fori_loop(0, 300, lambda k, t: t * 3 + x[NARROW[name](i, lid, k)], i * 0))

    x, total = np.random.default_rng(0).integers(0, 1000, 600, dtype=np.int32), np.zeros(ITEMS, np.int64)
    i, k = jnp.arange(ITEMS, dtype=jnp.int32), jnp.arange(300, dtype=jnp.int32)[:, None]
    for places in np.broadcast_to(NARROW[name](i, i % GROUP, k), (300, ITEMS)):
        total = (total * 3 + x[places]) % 2**32
    for got in launches_of(kernel, xe.NDRange(ITEMS, GROUP), (x, np.zeros(ITEMS, np.int32))):
        np.testing.assert_array_equal(got.view(np.uint32), total.astype(np.uint32))


def test_a_carried_byte_does_not_move_steadily():
    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_linear_id()

        def turn(_, state):
            c, total = state
            return c + np.uint8(1), total * 3 + x[i + c.astype(jnp.int32)]

        return out.at[i].set(lax.fori_loop(0, 300, turn, (jnp.uint8(200), i * 0))[1])

    x, total = np.random.default_rng(0).integers(0, 1000, 600, dtype=np.int32), np.zeros(ITEMS, np.int64)
    for k in range(300):
        total = (total * 3 + x[np.arange(ITEMS) + (200 + k) % 256]) % 2**32
    for got in launches_of(kernel, xe.NDRange(ITEMS, GROUP), (x, np.zeros(ITEMS, np.int32))):
        np.testing.assert_array_equal(got.view(np.uint32), total.astype(np.uint32))
