"""Kernels that people write, which the examples are not, and the same in JAX as one would write it by hand.

They show what the fast paths leave out: a launch is far from JAX where elements are looked up one by one.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import xeemu as xe

_N, _SIDE, _TILE = 1 << 22, 2048, 16


@dataclasses.dataclass(frozen=True)
class Common:
    """A launch, and the same by hand.

    Attributes:
      kernel: the kernel, whose last argument holds the results.
      nd_range: of the launch.
      arrays: its arguments but for the last, which has the shape and dtype of what `by_hand` gives.
      by_hand: a function of the arrays that gives the results.
    """

    kernel: xe.Kernel
    nd_range: xe.NDRange
    arrays: tuple[np.ndarray, ...]
    by_hand: Callable[..., jax.Array]


def _floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(np.float32)


# --- Where elements go ---


@xe.kernel
def _transposed(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory) -> xe.Memory:
    """Each group transposes a tile in local memory, whose rows are one word longer."""
    row, column = wg.local_id(0), wg.local_id(1)
    top, left = wg.group_id(0) * _TILE, wg.group_id(1) * _TILE
    tile = wg.local((_TILE, _TILE + 1), jnp.float32)
    tile = wg.barrier(tile.at[row, column].set(x[top + row, left + column]))
    return y.at[left + row, top + column].set(tile[column, row])


def transposition() -> Common:
    return Common(_transposed, xe.NDRange((_SIDE, _SIDE), (_TILE, _TILE)), (_floats(_SIDE, _SIDE),), lambda x: x.T)


@xe.kernel
def _vectors(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory) -> xe.Memory:
    """The three components of a vector, side by side."""
    i = wg.global_linear_id()
    v = x[i]
    return y.at[3 * i].set(v).at[3 * i + 1].set(v * v).at[3 * i + 2].set(v + 1)


def components_stored() -> Common:
    def by_hand(x: jax.Array) -> jax.Array:
        return jnp.stack([x, x * x, x + 1], 1).reshape(-1)

    return Common(_vectors, xe.NDRange(_N // 4, 256), (_floats(_N // 4),), by_hand)


@xe.kernel
def _lengths(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory) -> xe.Memory:
    i = wg.global_linear_id()
    a, b, c = x[3 * i], x[3 * i + 1], x[3 * i + 2]
    return y.at[i].set(jnp.sqrt(a * a + b * b + c * c))


def components_loaded() -> Common:
    def by_hand(x: jax.Array) -> jax.Array:
        return jnp.sqrt((x.reshape(-1, 3) ** 2).sum(1))

    return Common(_lengths, xe.NDRange(_N // 4, 256), (_floats(3 * _N // 4),), by_hand)


@xe.kernel
def _by_division(wg: xe.WorkGroup, x: xe.Memory, scale: xe.Memory, y: xe.Memory) -> xe.Memory:
    """A matrix by work-items of one dimension, a few more than it has elements."""
    i, width = wg.global_linear_id(), x.shape[1]
    live = i < x.shape[0] * width
    row, column = i // width, i % width
    return y.at[row, column].set(x.load((row, column), where=live) * scale.load(column, where=live), where=live)


def rows_by_division() -> Common:
    shape = 2001, 1501
    nd_range = xe.NDRange(-(-shape[0] * shape[1] // 256) * 256, 256)
    return Common(_by_division, nd_range, (_floats(*shape), _floats(shape[1])), lambda x, scale: x * scale)


# --- Neighbours ---


@xe.kernel
def _alive(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory) -> xe.Memory:
    """A step of the game of life on a torus."""
    (n, m), i, j = x.shape, wg.global_id(0), wg.global_id(1)
    around = [(di, dj) for di in (-1, 0, 1) for dj in (-1, 0, 1) if di or dj]
    count = sum(x[(i + di + n) % n, (j + dj + m) % m] for di, dj in around)
    return y.at[i, j].set(((count == 3) | ((count == 2) & (x[i, j] == 1))).astype(jnp.int32))


def life() -> Common:
    def by_hand(x: jax.Array) -> jax.Array:
        around = [(di, dj) for di in (-1, 0, 1) for dj in (-1, 0, 1) if di or dj]
        count = sum(jnp.roll(x, step, (0, 1)) for step in around)
        return ((count == 3) | ((count == 2) & (x == 1))).astype(jnp.int32)

    x = np.random.default_rng(0).integers(0, 2, (_SIDE, _SIDE), dtype=np.int32)
    return Common(_alive, xe.NDRange((_SIDE, _SIDE), (_TILE, _TILE)), (x,), by_hand)


@xe.kernel
def _smoothed(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory) -> xe.Memory:
    """Four neighbours of each element from a tile with a border, which the work-items load in two goes."""
    (n, m), side = x.shape, _TILE + 2
    tile = wg.local((side, side), jnp.float32)
    top, left = wg.group_id(0) * _TILE - 1, wg.group_id(1) * _TILE - 1
    for go in range(2):
        place = wg.local_linear_id() + go * wg.size
        row, column = place // side, place % side
        i, j = top + row, left + column
        there = (i >= 0) & (i < n) & (j >= 0) & (j < m)
        tile = tile.at[row, column].set(x.load((i, j), where=there, other=0.0), where=place < side * side)
    tile = wg.barrier(tile)
    r, c = wg.local_id(0), wg.local_id(1)
    total = tile[r, c + 1] + tile[r + 2, c + 1] + tile[r + 1, c] + tile[r + 1, c + 2]
    return y.at[wg.global_id(0), wg.global_id(1)].set(total * 0.25)


def stencil_in_tiles() -> Common:
    def by_hand(x: jax.Array) -> jax.Array:
        wide = jnp.pad(x, 1)
        return (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]) * 0.25

    return Common(_smoothed, xe.NDRange((_SIDE, _SIDE), (_TILE, _TILE)), (_floats(_SIDE, _SIDE),), by_hand)


# --- Work-items together ---


@xe.kernel
def _softmax(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory) -> xe.Memory:
    """A group takes a row, each work-item every 256th element."""
    row, lid = wg.group_id(), wg.local_id()
    places = [lid + k * wg.size for k in range(x.shape[1] // wg.size)]
    found = [x[row, place] for place in places]
    exps = [jnp.exp(v - wg.reduce(jnp.stack(found).max(0), "max")) for v in found]
    total = wg.reduce(sum(exps), "add")
    for place, value in zip(places, exps, strict=True):
        y = y.at[row, place].set(value / total)
    return y


def softmax_of_rows() -> Common:
    x = _floats(4096, 1024)
    return Common(_softmax, xe.NDRange(4096 * 256, 256), (x,), lambda x: jax.nn.softmax(x, -1))


@xe.kernel
def _products(wg: xe.WorkGroup, a: xe.Memory, x: xe.Memory, y: xe.Memory) -> xe.Memory:
    row, lid = wg.group_id(), wg.local_id()

    def add(k: jax.Array, total: jax.Array) -> jax.Array:
        return total + a[row, lid + k * wg.size] * x[lid + k * wg.size]

    total = lax.fori_loop(0, a.shape[1] // wg.size, add, jnp.zeros(wg.size, jnp.float32))
    return y.at[row].set(wg.reduce(total, "add"), where=lid == 0)


def matrix_by_vector() -> Common:
    side = 4096
    arrays = _floats(side, side), _floats(side)
    return Common(_products, xe.NDRange(side * 64, 64), arrays, lambda a, x: (a * x).sum(1))


@xe.kernel
def _sums(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory) -> xe.Memory:
    """Hillis and Steele's prefix sums of each group."""
    i, lid = wg.global_linear_id(), wg.local_id()
    sums = wg.barrier(wg.local(wg.size, jnp.int32).at[lid].set(x[i]))
    distance = 1
    while distance < wg.size:
        value = sums[lid] + sums.load(lid - distance, where=lid >= distance)
        sums = wg.barrier(wg.barrier(sums).at[lid].set(value))
        distance *= 2
    return y.at[i].set(sums[lid])


def prefix_sums() -> Common:
    def by_hand(x: jax.Array) -> jax.Array:
        sums, distance = x.reshape(-1, 256), 1
        while distance < 256:
            sums = sums + jnp.pad(sums[:, :-distance], ((0, 0), (distance, 0)))
            distance *= 2
        return sums.reshape(-1)

    x = np.random.default_rng(0).integers(0, 9, _N, dtype=np.int32)
    return Common(_sums, xe.NDRange(_N, 256), (x,), by_hand)


@xe.kernel
def _forces(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory) -> xe.Memory:
    """All pairs of bodies on a line, tile by tile."""
    own, lid = x[wg.global_linear_id()], wg.local_id()

    def add_tile(k: jax.Array, carry: tuple[xe.Memory, jax.Array]) -> tuple[xe.Memory, jax.Array]:
        tile, total = carry
        tile = wg.barrier(tile.at[lid].set(x[k * wg.size + lid]))

        def add(j: jax.Array, total: jax.Array) -> jax.Array:
            apart = tile[j] - own
            return total + apart / (apart * apart + 0.01)

        total = lax.fori_loop(0, wg.size, add, total)
        return wg.barrier(tile), total

    first = wg.local(wg.size, jnp.float32), jnp.zeros(wg.size, jnp.float32)
    _, total = lax.fori_loop(0, x.shape[0] // wg.size, add_tile, first)
    return y.at[wg.global_linear_id()].set(total)


def bodies() -> Common:
    def by_hand(x: jax.Array) -> jax.Array:
        def some(own: jax.Array) -> jax.Array:
            apart = x - own[:, None]
            return (apart / (apart * apart + 0.01)).sum(1)

        return lax.map(some, x.reshape(-1, 64)).reshape(-1)

    return Common(_forces, xe.NDRange(8192, 256), (_floats(8192),), by_hand)


@xe.kernel
def _sparse(
    wg: xe.WorkGroup, first: xe.Memory, column: xe.Memory, value: xe.Memory, x: xe.Memory, y: xe.Memory
) -> xe.Memory:
    """A row of a sparse matrix for each work-item, as long as the longest one of the group."""
    i = wg.global_linear_id()
    start, end = first[i], first[i + 1]

    def add(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        k, total = carry
        live = k < end
        found = x.load(column.load(k, where=live), where=live)
        return k + 1, total + jnp.where(live, value.load(k, where=live) * found, 0)

    _, total = lax.while_loop(lambda c: (c[0] < end).any(), add, (start, jnp.zeros(wg.size, jnp.float32)))
    return y.at[i].set(total)


def sparse_rows() -> Common:
    rows, random = 1 << 16, np.random.default_rng(0)
    lengths = random.integers(1, 32, rows)
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    column = random.integers(0, rows, first[-1], dtype=np.int32)
    row = np.repeat(np.arange(rows, dtype=np.int32), lengths)

    def by_hand(first: jax.Array, column: jax.Array, value: jax.Array, x: jax.Array) -> jax.Array:
        return jax.ops.segment_sum(value * x[column], row, rows, indices_are_sorted=True)

    return Common(_sparse, xe.NDRange(rows, 64), (first, column, _floats(int(first[-1])), _floats(rows)), by_hand)


COMMON: Mapping[str, Callable[[], Common]] = {
    make.__name__: make
    for make in (
        transposition,
        components_stored,
        components_loaded,
        rows_by_division,
        life,
        stencil_in_tiles,
        softmax_of_rows,
        matrix_by_vector,
        prefix_sums,
        bodies,
        sparse_rows,
    )
}


def launched(common: Common) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The launch and what is written by hand, on arrays that lie on JAX's device."""
    arrays = jax.device_put(common.arrays)
    by_hand = jax.jit(common.by_hand)
    results = jax.eval_shape(common.by_hand, *arrays)
    blank = jnp.zeros(results.shape, results.dtype)
    launch = xe.launch(common.kernel, common.nd_range)
    return lambda: launch(*arrays, blank), lambda: by_hand(*arrays)
