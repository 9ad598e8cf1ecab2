"""Boxes: tiles of matrices and neighbours beyond their edges, with the results of NumPy and without gathers."""

import examples
import jax
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import xeemu as xe
from xeemu.emission import rectangles
from xeemu.language.memory import poison
from xeemu.planning.windows import Edge, Rectangle

POISON = int(poison(np.int32))
BRANCHES = (None, 1, 1 << 9, 1 << 12)


def text_of(kernel, nd_range, *arguments, memory_bytes=None, **static):
    ready = launches.prepared(kernel, nd_range, arguments, static, "max1550", memory_bytes)
    with jax.enable_x64(ready.program.wide):
        return str(jax.make_jaxpr(ready.emit)(*arguments))


def looks_up(kernel, nd_range, *arguments, **options):
    """True if a launch gathers or scatters."""
    text = text_of(kernel, nd_range, *arguments, **options)
    return " gather[" in text or " scatter" in text


@st.composite
def edges(draw):
    """A rectangle of a memory that may reach beyond it, and where it starts."""
    shape = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    sizes = [draw(st.integers(1, 2 * n + 2)) for n in shape]
    margins = [(draw(st.integers(0, 4)), draw(st.integers(0, 4))) for _ in shape]
    starts = []
    for k, (n, size) in enumerate(zip(shape, sizes, strict=True)):
        below, above = margins[k]
        margins[k] = below, max(above, size - n - below)
        starts.append(draw(st.integers(-below, n + margins[k][1] - size)))
    return shape, sizes, margins, starts


@pytest.mark.thorough
@given(edges(), st.sampled_from(["padding", "margins", "branch"]))
@settings(max_examples=examples.some(80), deadline=None)
def test_rectangles_at_the_edge_of_a_memory(drawn, by):
    shape, sizes, margins, starts = drawn
    if any(size > n for n, size in zip(shape, sizes, strict=True)):
        by = by.replace("branch", "margins")  # it never lies within
    data = np.arange(np.prod(shape), dtype=np.int32)
    values = 1000 + np.arange(np.prod(sizes), dtype=np.int32)

    @jax.jit
    def both(data, values, *starts):
        edged = Rectangle(tuple(shape), tuple(sizes), Edge(tuple(margins), np.int32(-7), by))
        return rectangles.read(edged, data, starts), rectangles.written(edged, data, values, starts)

    read, written = both(data, values, *map(np.int32, starts))
    wide = np.pad(data.reshape(shape), 20, constant_values=-7)
    place = tuple(slice(20 + s, 20 + s + size) for s, size in zip(starts, sizes, strict=True))
    np.testing.assert_array_equal(read, wide[place])
    wide[place] = values.reshape(sizes)
    np.testing.assert_array_equal(written, wide[tuple(slice(20, 20 + n) for n in shape)].reshape(-1))


# --- Kernels ---


@xe.kernel
def shifted(wg, data, out, *, rows, columns):
    """Every element of a matrix takes the one so many rows and columns further."""
    i, j = wg.global_id(0), wg.global_id(1)
    return out.at[i, j].set(data[i + rows, j + columns])


def by_numpy(data, rows, columns, blank):
    reach = max(map(abs, (rows, columns)))
    wide = np.pad(data, reach, constant_values=blank)
    n, m = data.shape
    return wide[reach + rows : reach + rows + n, reach + columns : reach + columns + m]


@pytest.mark.every(2)
@pytest.mark.parametrize("memory_bytes", BRANCHES)
@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (1, 0), (0, -1), (-2, 3), (-40, 0), (3, 60)])
def test_what_is_out_of_bounds_reads_as_poison(rows, columns, memory_bytes):
    data = np.arange(32 * 24, dtype=np.int32).reshape(32, 24)
    launch = xe.launch(shifted, xe.NDRange((32, 24), (4, 8)), memory_bytes=memory_bytes)
    got = launch(data, np.zeros_like(data), rows=rows, columns=columns)
    np.testing.assert_array_equal(got, by_numpy(data, rows, columns, POISON))


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (1, 0), (-2, 3)])
def test_a_little_beyond_is_still_a_box(rows, columns):
    data = np.zeros((256, 256), np.int32)
    nd_range = xe.NDRange((256, 256), (16, 16))
    assert not looks_up(shifted, nd_range, data, data, rows=rows, columns=columns)


def test_far_beyond_is_looked_up():
    """Little is to be gained from reading as a box what does not exist."""
    data = np.zeros((256, 256), np.int32)
    assert looks_up(shifted, xe.NDRange((256, 256), (16, 16)), data, data, rows=300, columns=0)


@xe.kernel(work_group_size=(4, 4))
def tile_by_tile(wg, a, out):
    """The sums of a matrix's rows of tiles, of which the last tiles are cut off."""
    n, depth = a.shape
    i, y = wg.global_id(0), wg.local_id(1)
    zeros = jnp.zeros((4, 4), jnp.int32)

    def add(tile, total):
        column = 4 * tile + y
        return total + a.load((i, column), where=(i < n) & (column < depth))

    total = lax.fori_loop(0, -(-depth // 4), add, zeros)
    return out.at[i, y].set(total, where=i < n)


@pytest.mark.every(3)
@pytest.mark.parametrize("memory_bytes", BRANCHES)
@pytest.mark.parametrize(("n", "depth"), [(16, 16), (13, 10), (1, 1), (3, 33), (18, 5)])
def test_tiles_of_a_matrix_of_any_size(n, depth, memory_bytes):
    a = np.arange(n * depth, dtype=np.int32).reshape(n, depth)
    nd_range = xe.NDRange((-(-n // 4) * 4, 4))
    got = xe.launch(tile_by_tile, nd_range, memory_bytes=memory_bytes)(a, np.zeros((n, 4), np.int32))
    padded = np.pad(a, ((0, 0), (0, -depth % 4)))
    np.testing.assert_array_equal(got, padded.reshape(n, -1, 4).sum(axis=1))
    assert not looks_up(tile_by_tile, nd_range, a, np.zeros((n, 4), np.int32), memory_bytes=memory_bytes)


@xe.kernel
def crossed(wg, data, out):
    """Both components go along the same axis, so that the elements are no box."""
    i = wg.global_id()
    return out.at[i].set(data[i, i])


def test_a_diagonal():
    data = np.arange(64 * 64, dtype=np.int32).reshape(64, 64)
    np.testing.assert_array_equal(xe.launch(crossed, xe.NDRange(64, 8))(data, np.zeros(64, np.int32)), data.diagonal())


@xe.kernel
def three_dimensions(wg, data, out):
    i, j, k = (wg.global_id(d) for d in range(3))
    total = data[i, j, k]
    for d, (x, n) in enumerate(zip((i, j, k), data.shape, strict=True)):
        for step in (-1, 1):
            index = [i, j, k]
            index[d] = x + step
            total = total + data.load(tuple(index), where=(x + step >= 0) & (x + step < n))
    return out.at[i, j, k].set(total)


@pytest.mark.every(4)
@pytest.mark.parametrize("memory_bytes", BRANCHES)
@pytest.mark.parametrize("local", [(2, 2, 4), (1, 4, 8), (4, 1, 1)])
def test_neighbours_in_three_dimensions(local, memory_bytes):
    data = np.random.default_rng(0).integers(100, size=(8, 12, 16), dtype=np.int32)
    wide = np.pad(data, 1)
    expected = wide[1:-1, 1:-1, 1:-1].copy()
    for d in range(3):
        for step in (0, 2):
            place = [slice(1, -1)] * 3
            place[d] = slice(step, step + data.shape[d])
            expected += wide[tuple(place)]
    nd_range = xe.NDRange(data.shape, local)
    got = xe.launch(three_dimensions, nd_range, memory_bytes=memory_bytes)(data, np.zeros_like(data))
    np.testing.assert_array_equal(got, expected)


@xe.kernel
def in_place(wg, data):
    """A memory that is loaded from and stored to must not be seen in two shapes (see `windows`)."""
    i, j = wg.global_id(0), wg.global_id(1)
    n, m = data.shape
    live = (i < n) & (j < m)
    return data.at[i, j].set(data.load((i, j), where=live) + 1, where=live)


@pytest.mark.parametrize("memory_bytes", BRANCHES)
def test_a_matrix_that_is_updated_in_place(memory_bytes):
    data = np.arange(21 * 30, dtype=np.int32).reshape(21, 30)
    got = xe.launch(in_place, xe.NDRange((24, 32), (8, 8)), memory_bytes=memory_bytes)(data)
    np.testing.assert_array_equal(got, data + 1)


@xe.kernel
def under_a_branch(wg, data, out, chosen):
    """Groups of which some store, at the edge of a matrix too."""
    i, j = wg.global_id(0), wg.global_id(1)

    def store(out):
        return out.at[i, j].set(data.load((i - 1, j), where=(i >= 1) & (i < 20)), where=i < 19)

    return lax.cond(chosen[wg.group_id(0)] > 0, store, lambda out: out, out)


@pytest.mark.parametrize("memory_bytes", BRANCHES)
def test_stores_at_the_edge_by_some_groups(memory_bytes):
    data = np.arange(19 * 8, dtype=np.int32).reshape(19, 8)
    chosen = np.array([1, 0, 1, 0, 1], np.int32)
    got = xe.launch(under_a_branch, xe.NDRange((20, 8), (4, 8)), memory_bytes=memory_bytes)(
        data, np.full_like(data, -1), chosen
    )
    expected = np.vstack([np.zeros((1, 8), np.int32), data[:-1]])
    expected[~np.repeat(chosen > 0, 4)[:19]] = -1
    np.testing.assert_array_equal(got, expected)
