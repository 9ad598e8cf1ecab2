"""What more work-groups could share of a launch: loops that are no recurrences, and never more than that gains."""

import re

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import xeemu as xe
from xeemu.cost import recurrences

F32, SIZE, N = jnp.float32, 256, 2**23


def _sum(wg, x, turns):
    i, lid = wg.group_id(), wg.local_id()
    return lax.fori_loop(0, turns, lambda k, v: v + x[(i * turns + k) * SIZE + lid], jnp.zeros(SIZE))


def _largest(wg, x, turns):
    i, lid = wg.group_id(), wg.local_id()
    step = lambda k, v: jnp.maximum(x[(i * turns + k) * SIZE + lid], v)  # noqa: E731
    return lax.fori_loop(0, turns, step, jnp.zeros(SIZE))


def _written_out(wg, x, turns):
    i, lid = wg.group_id(), wg.local_id()
    return sum(x[(i * turns + k) * SIZE + lid] for k in range(turns))


def _through_tiles(wg, x, turns):
    i, lid = wg.group_id(), wg.local_id()

    def step(k, carried):
        tile, total = carried
        tile = wg.barrier(tile.at[lid].set(x[(i * turns + k) * SIZE + lid]))
        total = total + tile[SIZE - 1 - lid]
        return wg.barrier(tile), total

    return lax.fori_loop(0, turns, step, (wg.local(SIZE, F32), jnp.zeros(SIZE)))[1]


def _with_a_table(wg, x, turns):
    i, lid = wg.group_id(), wg.local_id()
    table = wg.local(1024, F32)
    for k in range(1024 // SIZE):
        table = table.at[k * SIZE + lid].set(0.0)
    step = lambda k, table: table.atomic[(7 * lid + k) % 1024].add(x[(i * turns + k) * SIZE + lid])  # noqa: E731
    return wg.barrier(lax.fori_loop(0, turns, step, wg.barrier(table)))[lid]


def _polynomial(wg, x, turns):
    i, lid = wg.group_id(), wg.local_id()
    return lax.fori_loop(0, turns, lambda k, v: v * 1.5 + x[(i * turns + k) * SIZE + lid], jnp.zeros(SIZE))


def _chase(wg, x, turns):
    return lax.fori_loop(0, turns, lambda k, v: x[v.astype(jnp.int32)], x[wg.global_id()])


def _steps_of_a_tile(wg, x, turns):
    lid = wg.local_id()

    def step(k, tile):
        value = tile[(lid + 1) % SIZE] * 0.5
        tile = wg.barrier(tile)
        return wg.barrier(tile.at[lid].set(value))

    tile = wg.barrier(wg.local(SIZE, F32).at[lid].set(x[wg.global_id()]))
    return lax.fori_loop(0, turns, step, tile)[lid]


def _until_small(wg, x, turns):
    def step(carried):
        k, v = carried
        return k + 1, v + x[wg.global_id() + k]

    return lax.while_loop(lambda carried: wg.any(carried[1] < 8.0), step, (0, jnp.zeros(SIZE)))[1]


def _copied_into_a_tile(wg, x, turns):
    """Each group would need all of the tile."""
    lid = wg.local_id()
    tile = wg.local(turns * SIZE, F32)
    copy = lambda k, tile: tile.at[k * SIZE + lid].set(x[wg.group_id() * SIZE + k * SIZE + lid])  # noqa: E731
    tile = wg.barrier(lax.fori_loop(0, turns, copy, tile))
    return lax.fori_loop(0, turns, lambda k, v: jnp.maximum(v * tile[k * SIZE + lid], v), jnp.zeros(SIZE))


def _copied_line_by_line(wg, x, turns):
    lid = wg.local_id()
    tile = wg.local(turns * SIZE, F32)
    for k in range(turns):
        tile = tile.at[k * SIZE + lid].set(x[wg.group_id() * SIZE + k * SIZE + lid])
    tile = wg.barrier(tile)
    return sum(tile[(k * SIZE + 3 * lid) % (turns * SIZE)] for k in range(turns))


def _taps(wg, x, turns):
    tile = wg.barrier(wg.local(SIZE, F32).at[wg.local_id()].set(x[wg.global_id()]))
    tap = lambda k, v: v + tile[(wg.local_id() + k) % SIZE]  # noqa: E731
    return lax.fori_loop(0, turns, tap, jnp.zeros(SIZE))


DIVISIBLE = (_sum, _largest, _written_out, _through_tiles, _with_a_table)
RECURRENT = (_polynomial, _chase, _steps_of_a_tile, _until_small)


def kernel(body):
    @xe.kernel
    def over(wg, x, out, *, turns):
        return out.at[wg.global_id()].set(body(wg, x, turns))

    return over


def shape(n):
    return jax.ShapeDtypeStruct((n,), F32)


def estimated(body, groups, turns, device):
    return xe.estimate(kernel(body), xe.NDRange(groups * SIZE, SIZE), device=device)(shape(N), shape(N), turns=turns)


def promised(report):
    """How many times as many groups, and the gain; None where there is no such hint."""
    for hint in report.hints:
        if hint.kind == "small launch":
            return float(re.search(r"Let (\S+) times", hint.text)[1]), hint.gain
    return None


@pytest.mark.every(2)
@pytest.mark.parametrize("device", ["h200", "max1550"])
@pytest.mark.parametrize("body", DIVISIBLE)
def test_a_small_launch_is_told_no_more_than_the_launch_of_more_groups_gains(body, device):
    for groups, turns in ((1, 64), (4, 16)):
        before = estimated(body, groups, turns, device)
        times, gain = promised(before)
        assert times == turns
        after = estimated(body, groups * turns, 1, device)
        assert 1 < gain <= 1.1 * before.cycles / after.cycles


@pytest.mark.parametrize("body", [*RECURRENT[:-1], _sum])
def test_one_work_items_chain_is_not_promised_to_be_cut(body):
    turns = 1 if body is _sum else 64
    assert promised(estimated(body, 1, turns, "h200")) is None


@pytest.mark.parametrize("body", [_copied_into_a_tile, _copied_line_by_line, _taps])
def test_what_fills_local_memory_or_reads_it_is_of_each_group(body):
    assert promised(estimated(body, 1, 16, "max1550")) is None


def test_what_a_line_repeats_without_a_loop_is_not_called_iterations():
    def text(body):
        return next(h.text for h in estimated(body, 1, 16, "max1550").hints if h.kind == "small launch")

    assert "share what one line repeats of a work-item" in text(_written_out)
    assert "share the iterations of a work-item" in text(_sum)


@pytest.mark.parametrize("body", [*DIVISIBLE, *RECURRENT])
def test_a_recurrence_is_a_loop_that_needs_what_it_has_computed(body):
    program = xe.trace(kernel(body), xe.NDRange(SIZE, SIZE))(shape(N), shape(N), turns=4)
    loops = [op for op in program.body.walk() if op.name in ("scan", "while")]
    assert [recurrences.is_recurrent(op) for op in loops] == ([] if body is _written_out else [body in RECURRENT])
