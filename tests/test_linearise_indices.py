"""Rows and columns found by division: the results of NumPy, and without gathers where they go along the memory."""

import examples
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from test_boundary_windows import looks_up

import xeemu as xe
from xeemu.ir import control
from xeemu.knowledge import floor_division
from xeemu.language import importing
from xeemu.language.memory import poison

NATURAL, POSITIVE = (0, 100), (7, 7)


def body_of(function):
    """A function of two arrays as JAX writes it."""
    numbers = jnp.arange(8, dtype=jnp.int32)
    body = importing.imported(jax.make_jaxpr(function)(numbers, numbers))
    calls = [control.of(op) for op in body.ops]
    return calls[0].body if len(calls) == 1 and isinstance(calls[0], control.Call) else body


def division(function, intervals):
    """The division that a function of two arrays of such intervals comes to."""
    body = body_of(function)
    return floor_division.natural(
        body.outputs[0], body.definitions, dict(zip(body.inputs, intervals, strict=False)).get
    )


def corrected(a, b, signs=None, rest=None, less=1):
    """What rounds down, if it is as it should be."""
    q = lax.div(a, b)
    wrong = (lax.sign(a) != lax.sign(b)) if signs is None else signs
    return jnp.where(wrong & ((lax.rem(a, b) if rest is None else rest) != 0), q - less, q)


class TestQuotients:
    def test_what_jax_writes_is_found(self):
        assert division(jnp.floor_divide, [NATURAL, POSITIVE]).name == "div"
        assert division(corrected, [NATURAL, POSITIVE]).name == "div"

    @pytest.mark.parametrize(
        "intervals", [[(-1, 100), (7, 7)], [(0, 100), (0, 7)], [(0, 100), (-7, -7)], [None, (7, 7)], [(0, 100)]]
    )
    def test_none_of_other_numbers(self, intervals):
        assert division(jnp.floor_divide, intervals) is None

    @pytest.mark.parametrize(
        "function",
        [
            lambda a, b: corrected(a, b, less=2),
            lambda a, b: corrected(a, b, signs=a != b),
            lambda a, b: corrected(a, b, rest=lax.rem(b, a)),
            lambda a, b: corrected(a, b, rest=a),
            lambda a, b: corrected(a, b, rest=lax.rem(a.astype(jnp.int8), b.astype(jnp.int8))),
            lambda a, b: corrected(a, b, signs=lax.sign(a.astype(jnp.int8)) != lax.sign(b.astype(jnp.int8))),
            lambda a, b: corrected(b, a),
            lambda a, b: corrected(a + 1, b),
            lambda a, b: corrected(a, b, signs=lax.sign(a + 1) != lax.sign(b)),
            lambda a, b: lax.div(a, b) - 1,
            jnp.remainder,
            jnp.add,
        ],
    )
    def test_none_of_what_computes_something_else(self, function):
        assert division(function, [NATURAL, POSITIVE]) is None


@xe.kernel
def doubled(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory, *, width: int, shift: int = 0, guarded: bool = False):
    """Twice each element of a matrix, by work-items of one dimension."""
    i = wg.global_linear_id() + shift
    row, column = i // width, i % width
    live = i < x.shape[0] * x.shape[1] if guarded else None
    return y.at[row, column].set(2 * x.load((row, column), where=live), where=live)


def of_numpy(x, items, width, shift):
    """What the kernel gives: elements beyond the matrix read as poison and are not written."""
    n, m = x.shape
    y = np.full_like(x, -1)
    for i in range(items):
        row, column = divmod(i + shift, width)
        if 0 <= row < n and column < m:
            y[row, column] = 2 * x[row, column]
    return y


def matrix(n, m):
    return np.arange(1, n * m + 1, dtype=np.int32).reshape(n, m), np.full((n, m), -1, np.int32)


@pytest.mark.every(4)
@pytest.mark.parametrize("memory_bytes", [None, 1, 4000])
@pytest.mark.parametrize(("n", "m"), [(40, 24), (7, 100), (96, 10), (1, 960), (960, 1)])
def test_a_matrix_by_work_items_of_one_dimension(n, m, memory_bytes):
    x, y = matrix(n, m)
    nd_range = xe.NDRange(-(-n * m // 32) * 32, 32)
    launch = xe.launch(doubled, nd_range, memory_bytes=memory_bytes)
    np.testing.assert_array_equal(launch(x, y, width=m), 2 * x)
    np.testing.assert_array_equal(launch(x, y, width=m, guarded=True), 2 * x)


def test_it_goes_along_the_memory():
    x, y = matrix(40, 24)
    assert not looks_up(doubled, xe.NDRange(960, 32), x, y, width=24)
    assert looks_up(doubled, xe.NDRange(960, 32), x, y, width=23)


@pytest.mark.thorough
@settings(derandomize=True, deadline=None, max_examples=examples.some(25))
@given(
    st.integers(1, 12),
    st.integers(1, 40),
    st.integers(1, 45),
    st.integers(-50, 50),
    st.integers(1, 12),
    st.sampled_from([None, 2000]),
)
def test_any_width_and_start(n, m, width, shift, groups, memory_bytes):
    """Also numbers below 0, which are rounded down, and widths that are not the memory's."""
    x, y = matrix(n, m)
    got = xe.launch(doubled, xe.NDRange(16 * groups, 16), memory_bytes=memory_bytes)(x, y, width=width, shift=shift)
    np.testing.assert_array_equal(got, of_numpy(x, 16 * groups, width, shift))


@xe.kernel
def planes(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory, *, spelled: bool):
    """Along three dimensions, by quotients of quotients or of the number itself."""
    i = wg.global_linear_id()
    _, b, c = x.shape
    if spelled:
        return y.at[i // c // b, i // c % b, i % c].set(x[i // c // b, i // c % b, i % c] + 1)
    return y.at[i // (b * c), i // c % b, i % c].set(x[i // (b * c), i // c % b, i % c] + 1)


@pytest.mark.parametrize("spelled", [True, False])
def test_three_dimensions(spelled):
    x = np.arange(6 * 10 * 24, dtype=np.int32).reshape(6, 10, 24)
    nd_range = xe.NDRange(x.size, 32)
    np.testing.assert_array_equal(xe.launch(planes, nd_range)(x, 0 * x, spelled=spelled), x + 1)
    assert looks_up(planes, nd_range, x, 0 * x, spelled=spelled) is not spelled


@xe.kernel
def several(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory):
    """Local memory in rows and columns, a loop, and a memory that is used in several ways."""
    i, m = wg.global_linear_id(), x.shape[1]
    tile = wg.local((4, 8), jnp.int32)
    lid = wg.local_id()
    tile = wg.barrier(tile.at[lid // 8, lid % 8].set(x[i // m, i % m]))

    def step(k, y):
        j = i + k * wg.global_range(0)
        return y.at[j // m, j % m].set(y[j // m, j % m] + tile[lid % 4, lid // 4] + k)

    return lax.fori_loop(0, 3, step, y)


@pytest.mark.parametrize("memory_bytes", [None, 1])
def test_in_loops_and_in_local_memory(memory_bytes):
    x = np.arange(12 * 24, dtype=np.int32).reshape(12, 24)
    y = 1000 * np.arange(36 * 24, dtype=np.int32).reshape(36, 24)
    tiles = x.reshape(-1, 4, 8).transpose(0, 2, 1).reshape(-1)
    expected = y.reshape(3, -1) + tiles + np.arange(3)[:, None]
    got = xe.launch(several, xe.NDRange(x.size, 32), memory_bytes=memory_bytes)(x, y)
    np.testing.assert_array_equal(got, expected.reshape(y.shape))
    outputs, findings = xe.check(several, xe.NDRange(x.size, 32))(x, y)
    np.testing.assert_array_equal(outputs, expected.reshape(y.shape))
    assert not findings


@xe.kernel
def updates(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory, *, loops: int):
    """Rows and columns found before a loop that carries out the updates."""
    lid, group = wg.local_id(), wg.group_id()
    found = x[wg.global_id()].astype(jnp.int32)
    row, column = found // 16, found % 16
    bins = wg.local((16, 16), jnp.int32)
    for k in range(16):
        bins = bins.at[k, lid].set(0)
    bins = wg.barrier(bins)
    bins = lax.fori_loop(0, loops, lambda t, bins: bins.atomic[row, column].add(t + lid), bins)
    bins = wg.barrier(bins)
    for k in range(16):
        y = y.at[group, k, lid].set(bins[k, lid])
    return y


@pytest.mark.parametrize("memory_bytes", [None, 1])
@pytest.mark.parametrize("groups", [2, 8])
def test_updates_of_a_loop(groups, memory_bytes):
    x, loops = np.random.default_rng(3).integers(0, 256, 16 * groups, dtype=np.uint8), 256
    expected = np.zeros((groups, 256), np.int32)
    np.add.at(
        expected, (np.arange(16 * groups) // 16, x), loops * (loops - 1) // 2 + loops * np.tile(np.arange(16), groups)
    )
    launch = xe.launch(updates, xe.NDRange(16 * groups, 16), memory_bytes=memory_bytes)
    got = launch(x, np.zeros((groups, 16, 16), np.int32), loops=loops)
    np.testing.assert_array_equal(got, expected.reshape(got.shape))


def test_what_reads_beyond_the_memory_is_poison():
    x, _ = matrix(3, 8)

    @xe.kernel
    def beyond(wg, x, y):
        i = wg.global_linear_id()
        return y.at[i].set(x[i // 8, i % 8])

    got = np.asarray(xe.launch(beyond, xe.NDRange(32, 16))(x, np.zeros(32, np.int32)))
    np.testing.assert_array_equal(got, [*x.reshape(-1), *8 * [int(poison(np.int32))]])
