"""Loads from copies in local memory go to the original: with the same results, and only where that is sound."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import prepared, run

import xeemu as xe
from xeemu.ir import ops
from xeemu.passes import pipeline, scratchpad_copies
from xeemu.passes.analyses import Analyses

SIZE, HALF, GROUPS = 16, 3, 40
N, TILE = SIZE * GROUPS, SIZE + 2 * HALF
ND_RANGE = xe.NDRange(N, SIZE)
PADDED = (np.arange(N + 2 * HALF) * 7919 % 1009 - 500).astype(np.int32)
DATA, BLANK = PADDED[:N], np.zeros(N, np.int32)


def filled_by_a_loop(wg, tile, data):
    lid, first = wg.local_id(), wg.group_id() * SIZE

    def turn(j, tile):
        place = lid + j * SIZE
        live = place < TILE
        return tile.at[place].set(data.load(first + place, where=live), where=live)

    return lax.fori_loop(0, -(-TILE // SIZE), turn, tile)


def filled_in_two_goes(wg, tile, data):
    lid, i = wg.local_id(), wg.global_id()
    tile = tile.at[lid].set(data[i])
    last = lid < TILE - SIZE
    return tile.at[lid + SIZE].set(data.load(i + SIZE, where=last), where=last)


def filled_backwards(wg, tile, data):
    lid, first = wg.local_id(), wg.group_id() * SIZE

    def turn(tile, k):
        return tile.at[lid + k].set(data[first + lid + k]), None

    return lax.scan(turn, tile, jnp.arange(TILE - SIZE + 1), reverse=True)[0]


def filled_by_a_part(wg, tile, data):
    """Every element twice, by a nested function."""
    tile = filled_in_two_goes(wg, tile, data)
    lid, i = wg.local_id(), wg.global_id()
    return jax.jit(lambda tile: tile.at[TILE - 1 - lid].set(data[i - lid + TILE - 1 - lid]))(tile)


def filled_while(wg, tile, data):
    lid, first = wg.local_id(), wg.group_id() * SIZE

    def turn(state):
        k, tile = state
        place = jnp.minimum(lid + k, TILE - 1)
        return k + SIZE, tile.at[place].set(data[first + place])

    return lax.while_loop(lambda state: state[0] < TILE, turn, (0, tile))[1]


def summed(wg, tile, out, taps=2 * HALF + 1):
    """Each element with its neighbours, those further right times more."""
    lid, i = wg.local_id(), wg.global_id()
    total = lax.fori_loop(0, taps, lambda j, t: t + tile[lid + j] * (j + 1), jnp.zeros(SIZE, jnp.int32))
    return out.at[i].set(total)


def reference(data):
    return sum((data[j : j + N] * (j + 1) for j in range(2 * HALF + 1)), np.zeros(N, np.int32))


def is_bypassed(ready):
    """True if the pass for it has left none of the memories."""
    analyses = pipeline.optimised(ready.program, ready.options.target, after="eliminate_scratchpads")
    return not analyses.program.allocations


def kernel_of(body):
    @xe.kernel
    def kernel(wg, data, out):
        return body(wg, wg.local(TILE + 2, jnp.int32), data, out)

    return kernel


@pytest.mark.parametrize(
    "fill", [filled_by_a_loop, filled_in_two_goes, filled_backwards, filled_by_a_part, filled_while]
)
def test_a_tile_with_its_neighbours(fill):
    kernel = kernel_of(lambda wg, tile, data, out: summed(wg, wg.barrier(fill(wg, tile, data)), out))
    ready = prepared(kernel, ND_RANGE, (PADDED, BLANK))
    assert is_bypassed(ready)
    assert np.array_equal(run(ready, (PADDED, BLANK))[0], reference(PADDED))
    assert np.array_equal(jax.jit(xe.launch(kernel, ND_RANGE))(PADDED, BLANK), reference(PADDED))
    watched, findings = xe.check(kernel, ND_RANGE)(PADDED, BLANK)
    assert all(f.severity == "note" for f in findings), str(findings)
    assert np.array_equal(watched, reference(PADDED))


# --- Where it would be wrong ---


def further_at_the_end(wg, tile, data, out):
    lid, i = wg.local_id(), wg.global_id()
    tile = tile.at[lid].set(data[i])
    last = lid < TILE - SIZE
    tile = tile.at[lid + SIZE].set(data.load(i + SIZE - 1, where=last), where=last)
    return summed(wg, wg.barrier(tile), out)


def changed_before_it_is_stored(wg, tile, data, out):
    lid, first = wg.local_id(), wg.group_id() * SIZE
    tile = filled_in_two_goes(wg, tile, data)
    tile = tile.at[lid].set(data[first + lid] + 1)
    return summed(wg, wg.barrier(tile), out)


def not_all_that_is_stored_was_loaded(wg, tile, data, out):
    lid, i = wg.local_id(), wg.global_id()
    tile = filled_in_two_goes(wg, tile, data)
    tile = tile.at[lid].set(data.load(i, where=lid != 5))
    return summed(wg, wg.barrier(tile), out)


def filled_again_after_the_loads(wg, tile, data, out):
    lid, i = wg.local_id(), wg.global_id()
    tile = wg.barrier(filled_in_two_goes(wg, tile, data))
    out = summed(wg, tile, out)
    tile = wg.barrier(tile)
    tile = wg.barrier(tile.at[lid].set(data[i + 1]))
    return out.at[i].set(out[i] + tile[lid])


def filled_and_loaded_by_one_loop(wg, tile, data, out):
    lid, i = wg.local_id(), wg.global_id()

    def turn(j, state):
        tile, total = state
        tile = wg.barrier(tile.at[lid].set(data[i + j]))
        total = total + tile[lid]
        return wg.barrier(tile), total

    return out.at[i].set(lax.fori_loop(0, HALF, turn, (tile, jnp.zeros(SIZE, jnp.int32)))[1])


def groups_in_threes(wg, tile, data, out):
    lid, first = wg.local_id(), wg.group_id() % 3 * SIZE
    for k in (0, TILE - SIZE):
        tile = tile.at[lid + k].set(data[first + lid + k])
    return summed(wg, wg.barrier(tile), out)


def some_groups_otherwise(wg, tile, data, out):
    lid, i, group = wg.local_id(), wg.global_id(), wg.group_id()
    tile = filled_in_two_goes(wg, tile, data)
    tile = lax.cond(group == 7, lambda t: t.at[lid].set(data[i + 1]), lambda t: t, tile)
    return summed(wg, wg.barrier(tile), out)


def some_groups_more(wg, tile, data, out):
    lid, i, group = wg.local_id(), wg.global_id(), wg.group_id()
    tile = filled_in_two_goes(wg, tile, data)
    tile = tile.at[lid].set(data[i + 1], where=(group == 9) & (lid < 4))
    return summed(wg, wg.barrier(tile), out)


def one_iteration_otherwise(wg, tile, data, out):
    """The loop carries what follows no simple rule: 0, 1, 3."""
    lid, i = wg.local_id(), wg.global_id()
    tile = filled_in_two_goes(wg, tile, data)

    def turn(_, state):
        tile, k = state
        return tile.at[lid].set(data[i + k % 3]), 2 * k + 1

    return summed(wg, wg.barrier(lax.fori_loop(0, 3, turn, (tile, 0))[0]), out)


def loaded_by_data(wg, tile, data, out):
    i = wg.global_id()
    tile = wg.barrier(filled_in_two_goes(wg, tile, data))
    return out.at[i].set(tile[abs(data[i]) % TILE])


def counted_in(wg, tile, data, out):
    lid = wg.local_id()
    tile = wg.barrier(filled_in_two_goes(wg, tile, data))
    tile = wg.barrier(tile.atomic[lid].add(1))
    return summed(wg, tile, out)


WRONG = [
    further_at_the_end,
    changed_before_it_is_stored,
    not_all_that_is_stored_was_loaded,
    filled_again_after_the_loads,
    filled_and_loaded_by_one_loop,
    groups_in_threes,
    some_groups_otherwise,
    some_groups_more,
    one_iteration_otherwise,
    loaded_by_data,
    counted_in,
]


@pytest.mark.parametrize("body", WRONG)
def test_what_is_no_copy(body):
    kernel = kernel_of(body)
    ready = prepared(kernel, ND_RANGE, (PADDED, BLANK))
    assert not is_bypassed(ready)
    watched, _ = xe.check(kernel, ND_RANGE)(PADDED, BLANK)
    assert np.array_equal(run(ready, (PADDED, BLANK))[0], watched)


def test_what_is_not_filled():
    kernel = kernel_of(
        lambda wg, tile, data, out: summed(wg, wg.barrier(tile.at[wg.local_id()].set(data[wg.global_id()])), out)
    )
    assert not is_bypassed(prepared(kernel, ND_RANGE, (PADDED, BLANK)))


def test_what_the_kernel_changes():
    """Where the original is stored to, a copy has what was there before."""

    @xe.kernel
    def kernel(wg, data, out):
        lid, i = wg.local_id(), wg.global_id()
        tile = wg.local(SIZE, jnp.int32)
        tile = wg.barrier(tile.at[lid].set(data[i]))
        data = data.at[i].set(data[i] + 1)
        return data, out.at[i].set(tile[SIZE - 1 - lid])

    ready = prepared(kernel, ND_RANGE, (DATA, BLANK))
    assert not is_bypassed(ready)
    data, out = run(ready, (DATA, BLANK))
    assert np.array_equal(data, DATA + 1)
    assert np.array_equal(out, DATA.reshape(-1, SIZE)[:, ::-1].reshape(-1))


# --- Which groups, and what is left of the program ---


def test_groups_in_reverse():
    @xe.kernel
    def kernel(wg, data, out):
        lid, first = wg.local_id(), (wg.group_range() - 1 - wg.group_id()) * SIZE
        tile = wg.local(SIZE, jnp.int32)
        tile = wg.barrier(tile.at[lid].set(data[first + lid]))
        return out.at[wg.global_id()].set(tile[SIZE - 1 - lid])

    ready = prepared(kernel, ND_RANGE, (DATA, BLANK))
    assert is_bypassed(ready)
    assert np.array_equal(run(ready, (DATA, BLANK))[0], DATA[::-1])


def test_rows_of_two_dimensions():
    rows, columns = 6, 5 * SIZE

    @xe.kernel
    def kernel(wg, data, out):
        lid, row = wg.local_id(1), wg.group_id(0)
        tile = wg.local(SIZE, jnp.int32)
        tile = wg.barrier(tile.at[lid].set(data[row * columns + wg.group_id(1) * SIZE + lid]))
        return out.at[row, wg.global_id(1)].set(tile[SIZE - 1 - lid])

    data, out = DATA[: rows * columns], BLANK[: rows * columns].reshape(rows, columns)
    ready = prepared(kernel, xe.NDRange((rows, columns), (1, SIZE)), (data, out))
    assert is_bypassed(ready)
    expected = data.reshape(rows, 5, SIZE)[:, :, ::-1].reshape(rows, columns)
    assert np.array_equal(run(ready, (data, out))[0], expected)


def at_the_ends(wg, data, out):
    """Zeros beyond both ends, which the first and the last group store."""
    lid, i, group = wg.local_id(), wg.global_id(), wg.group_id()
    tile = wg.local(TILE, jnp.int32)
    tile = tile.at[lid + HALF].set(data[i])
    left, right = lid < HALF, lid >= SIZE - HALF
    clear = lambda t, k, where: t.at[lid + k].set(0, where=where)  # noqa: E731
    copy = lambda t, k, where: t.at[lid + k].set(data.load(i + k - HALF, where=where), where=where)  # noqa: E731
    tile = lax.cond(group == 0, lambda t: clear(t, 0, left), lambda t: copy(t, 0, left), tile)
    last = group == wg.group_range() - 1
    tile = lax.cond(last, lambda t: clear(t, 2 * HALF, right), lambda t: copy(t, 2 * HALF, right), tile)
    return summed(wg, wg.barrier(tile), out)


@pytest.mark.parametrize("memory_bytes", [None, 1 << 12])
def test_groups_between_the_ends(memory_bytes):
    groups = 4000
    data = np.resize(DATA, groups * SIZE)
    ready = prepared(xe.kernel(at_the_ends), xe.NDRange(groups * SIZE, SIZE), (data, data), memory_bytes=memory_bytes)
    assert not is_bypassed(ready)
    padded = np.pad(data, HALF)
    expected = sum((padded[j : j + data.size] * (j + 1) for j in range(2 * HALF + 1)), np.zeros(data.size, np.int32))
    assert np.array_equal(run(ready, (data, data))[0], expected)
    if memory_bytes is not None:
        assert not ready.cut.inner.task.program.allocations


def test_a_barrier_for_what_is_left():
    """One that is for a copy and for another memory is for the other one alone then, in loops and branches as well."""

    @xe.kernel
    def kernel(wg, data, out):
        lid, i = wg.local_id(), wg.global_id()
        tile, own = wg.local(SIZE, jnp.int32), wg.local(SIZE, jnp.int32)
        tile, own = tile.at[lid].set(data[i]), own.at[lid].set(0)
        tile, own = wg.barrier(tile, own)

        def turn(j, state):
            tile, own = wg.barrier(*state)
            return tile, own.at[lid].set(own[lid] + tile[(lid + j) % SIZE])

        tile, own = lax.fori_loop(0, 3, turn, (tile, own))
        add = lambda t, o: (t, o.at[lid].set(o[lid] + t[lid]))  # noqa: E731
        tile, own = lax.cond(wg.group_id() % 2 == 0, add, lambda t, o: (t, o), tile, own)
        _, own = lax.while_loop(
            lambda s: s[1][0] < 0, lambda s: (s[0], s[1].at[lid].set(s[1][lid] + s[0][lid] * 0 + 600)), (tile, own)
        )
        return out.at[i].set(own[lid])

    ready = prepared(kernel, ND_RANGE, (DATA, BLANK))
    assert len(ready.analysed.task.program.allocations) == 1
    rows = DATA.reshape(-1, SIZE)
    expected = sum((np.roll(rows, -j, axis=1) for j in range(3)), np.zeros_like(rows))
    expected[::2] += rows[::2]
    while (low := expected[:, 0] < 0).any():
        expected[low] += 600
    assert np.array_equal(run(ready, (DATA, BLANK))[0], expected.reshape(-1))


def test_a_function_that_makes_a_copy():
    """It gives a value as well, so that it stays in the program."""

    @xe.kernel
    def kernel(wg, data, out):
        lid, i = wg.local_id(), wg.global_id()

        @jax.jit
        def filled(data):
            tile = wg.local(SIZE, jnp.int32)
            return wg.barrier(tile.at[lid].set(data[i])), lid * 2

        other = wg.local(SIZE, jnp.int32)
        tile, total = filled(data)
        other = wg.barrier(other.at[lid].set(data[i + 1]))

        def turn(j, state):
            tile, other, total = state
            tile, other = wg.barrier(tile, other)
            return tile, other, total + tile[(lid + j) % SIZE] + other[SIZE - 1 - lid]

        return out.at[i].set(lax.fori_loop(0, 3, turn, (tile, other, total))[2])

    ready = prepared(kernel, ND_RANGE, (PADDED, BLANK))
    assert is_bypassed(ready)
    assert all(op.name != ops.ALLOCATE for op in ready.analysed.task.program.body.walk())
    rows, others = (PADDED[k : k + N].reshape(-1, SIZE) for k in (0, 1))
    expected = 2 * np.arange(SIZE) + sum(np.roll(rows, -j, axis=1) + others[:, ::-1] for j in range(3))
    assert np.array_equal(run(ready, (PADDED, BLANK))[0], expected.reshape(-1))


# --- Of several dimensions ---

SIDE, EDGE = 8, 10
IMAGE = (np.arange(24 * 40).reshape(24, 40) * 7919 % 1009 - 500).astype(np.int32)
WHOLE = xe.NDRange((24, 40), (SIDE, SIDE))


def bordered(wg, data, beyond, where=None):
    """A tile with a border, which the work-items load in two goes; beyond the image lies something else."""
    (n, m), (top, left) = data.shape, (wg.group_id(d) * SIDE - 1 for d in range(2))
    tile = wg.local((EDGE, EDGE), jnp.int32)
    for go, other in enumerate(beyond):
        place = wg.local_linear_id() + go * wg.size
        row, column = place // EDGE, place % EDGE
        i, j = top + row, left + column
        there = (i >= 0) & (i < n) & (j >= 0) & (j < m)
        found = data.load((i, j), where=there if where is None else there & where(i, j), other=other)
        tile = tile.at[row, column].set(found, where=place < EDGE * EDGE)
    return wg.barrier(tile)


def crossed(wg, tile, out, **masked):
    r, c = (wg.local_id(d) + 1 for d in range(2))
    around = ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
    total = sum(tile.load(place, **masked) * k for k, place in enumerate(around, 1))
    return out.at[wg.global_id(0), wg.global_id(1)].set(total)


def crossed_image(image, beyond):
    wide = np.pad(image, 1, constant_values=beyond)
    return wide[:-2, 1:-1] + 2 * wide[2:, 1:-1] + 3 * wide[1:-1, :-2] + 4 * wide[1:-1, 2:]


@pytest.mark.parametrize("memory_bytes", [None, 1 << 12])
@pytest.mark.parametrize("beyond", [0, -7])
def test_a_tile_with_a_border_and_what_lies_beyond_the_image(beyond, memory_bytes):
    kernel = xe.kernel(lambda wg, data, out: crossed(wg, bordered(wg, data, (beyond, beyond)), out))
    ready = prepared(kernel, WHOLE, (IMAGE, np.zeros_like(IMAGE)), memory_bytes=memory_bytes)
    assert is_bypassed(ready)
    assert np.array_equal(run(ready, (IMAGE, np.zeros_like(IMAGE)))[0], crossed_image(IMAGE, beyond))


def two_values_beyond(wg, data, out):
    return crossed(wg, bordered(wg, data, (1, 2)), out)


def a_mask_of_its_own(wg, data, out):
    return crossed(wg, bordered(wg, data, (0, 0), lambda i, j: i != j), out)


def loaded_with_a_mask(wg, data, out):
    return crossed(wg, bordered(wg, data, (0, 0)), out, where=wg.local_id(0) != 3, other=9)


@pytest.mark.thorough
@pytest.mark.parametrize("body", [two_values_beyond, a_mask_of_its_own, loaded_with_a_mask])
def test_what_no_load_within_bounds_would_give(body):
    ready = prepared(xe.kernel(body), WHOLE, (IMAGE, np.zeros_like(IMAGE)))
    assert not is_bypassed(ready)
    watched, _ = xe.check(xe.kernel(body), WHOLE)(IMAGE, np.zeros_like(IMAGE))
    assert np.array_equal(run(ready, (IMAGE, np.zeros_like(IMAGE)))[0], watched)


def test_a_tile_that_is_stored_transposed():
    @xe.kernel
    def kernel(wg, data, out):
        tile = wg.local((SIDE, SIDE + 1), jnp.int32)
        r, c = wg.local_id(0), wg.local_id(1)
        tile = wg.barrier(tile.at[c, r].set(data[wg.global_id(0), wg.global_id(1)]))
        return out.at[wg.group_id(1) * SIDE + r, wg.group_id(0) * SIDE + c].set(tile[r, c])

    ready = prepared(kernel, WHOLE, (IMAGE, np.zeros_like(IMAGE.T)))
    assert is_bypassed(ready)
    assert np.array_equal(run(ready, (IMAGE, np.zeros_like(IMAGE.T)))[0], IMAGE.T)


@pytest.mark.parametrize("apart", [1, 3])
def test_rows_of_a_line_as_a_tile(apart):
    """Rows that lie apart in the original, of elements that may lie apart as well, and read from the right."""

    @xe.kernel
    def kernel(wg, line, out):
        tile = wg.local((SIDE, SIDE), jnp.int32)
        r, c = wg.local_id(0), wg.local_id(1)
        first = wg.group_id(0) * SIDE * 40 + wg.group_id(1) * apart
        tile = wg.barrier(tile.at[r, c].set(line[first + r * 40 + c * apart]))
        return out.at[wg.global_id(0), wg.global_id(1)].set(tile[SIDE - 1 - r, SIDE - 1 - c])

    ready = prepared(kernel, xe.NDRange((16, 24), (SIDE, SIDE)), (IMAGE.reshape(-1), np.zeros((16, 24), np.int32)))
    assert is_bypassed(ready)
    rows, columns = (np.arange(n) // SIDE for n in (16, 24))
    i, j = (SIDE - 1 - np.arange(n) % SIDE for n in (16, 24))
    expected = IMAGE[(rows * SIDE + i)[:, None], (columns + j)[None, :] * apart]
    assert np.array_equal(run(ready, (IMAGE.reshape(-1), np.zeros((16, 24), np.int32)))[0], expected)


@pytest.mark.thorough
def test_what_is_twice_as_far_in_some_rows():
    @xe.kernel
    def kernel(wg, data, out):
        tile = wg.local((SIDE, SIDE), jnp.int32)
        r, c = wg.local_id(0), wg.local_id(1)
        tile = wg.barrier(tile.at[r, c].set(data[r * c, c]))
        return out.at[wg.global_id(0), wg.global_id(1)].set(tile[c, r])

    data = np.arange(2500, dtype=np.int32).reshape(50, 50)
    ready = prepared(kernel, WHOLE, (data, np.zeros_like(IMAGE)))
    assert not is_bypassed(ready)
    r, c = np.indices((SIDE, SIDE))
    assert np.array_equal(run(ready, (data, np.zeros_like(IMAGE)))[0], np.tile(data[r * c, c].T, (3, 5)))


def test_a_search_that_would_take_too_long_finds_nothing(monkeypatch):
    kernel = kernel_of(lambda wg, tile, data, out: summed(wg, wg.barrier(filled_in_two_goes(wg, tile, data)), out))
    program = xe.trace(kernel, ND_RANGE)(PADDED, BLANK)
    assert len(scratchpad_copies.of_program(Analyses(program, None, False))) == 1
    monkeypatch.setattr(scratchpad_copies, "_UNITS", 1)
    assert scratchpad_copies.of_program(Analyses(program, None, False)) == ()
