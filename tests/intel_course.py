"""Sums, a transposition and products of matrices of a course on GPU programming (GPGPUCourse/GPGPUTasks2023).

Solutions of its participants, whose kernels and times on GPUs of their own stand in pull requests.
"""

from collections.abc import Callable, Mapping

import jax.numpy as jnp
from intel_launches import Launch, repeated, shape
from jax import lax

import xeemu as xe

F32, U32 = jnp.float32, jnp.uint32
_NUMBERS = 100_000_000


@xe.kernel
def added_at_once(wg, numbers, total):
    i = wg.global_id()
    return total.atomic[jnp.zeros_like(i)].add(numbers.load(i, where=i < _NUMBERS), where=i < _NUMBERS)


@xe.kernel
def added_in_rows(wg, numbers, total, *, each):
    """Each work-item adds up consecutive numbers first."""
    i = wg.global_id()

    def step(k, own):
        at = i * each + k
        return own + jnp.where(at < _NUMBERS, numbers.load(at, where=at < _NUMBERS), U32(0))

    own = lax.fori_loop(0, each, step, jnp.zeros(wg.size, U32))
    return total.atomic[jnp.zeros_like(i)].add(own)


@xe.kernel
def added_in_columns(wg, numbers, total, *, each):
    """Each work-item adds up numbers a work-group's size apart first."""

    def step(k, own):
        at = (wg.group_id() * each + k) * wg.size + wg.local_id()
        return own + jnp.where(at < _NUMBERS, numbers.load(at, where=at < _NUMBERS), U32(0))

    own = lax.fori_loop(0, each, step, jnp.zeros(wg.size, U32))
    return total.atomic[jnp.zeros_like(wg.local_id())].add(own)


@xe.kernel
def added_by_one(wg, numbers, total):
    """One work-item of a group adds up what all have put into local memory."""
    i, lid = wg.global_id(), wg.local_id()
    buffer = wg.local(wg.size, U32)
    buffer = buffer.at[lid].set(jnp.where(i < _NUMBERS, numbers.load(i, where=i < _NUMBERS), U32(0)))
    buffer = wg.barrier(buffer)
    nothing = jnp.zeros(wg.size, U32)

    def of_all(total):
        own = repeated(wg.size, lambda k, own: own + buffer[jnp.full_like(lid, k)], nothing)
        return total.atomic[jnp.zeros_like(lid)].add(own)

    return wg.cond(lid == 0, of_all, lambda total: total, total)


@xe.kernel
def added_in_a_tree(wg, numbers, total):
    i, lid = wg.global_id(), wg.local_id()
    buffer = wg.local(wg.size, U32)
    buffer = buffer.at[lid].set(jnp.where(i < _NUMBERS, numbers.load(i, where=i < _NUMBERS), U32(0)))
    buffer = wg.barrier(buffer)
    half = wg.size // 2
    while half:
        both = buffer.load(lid, where=lid < half) + buffer.load(lid + half, where=lid < half)
        buffer = buffer.at[lid].set(both, where=lid < half)
        buffer = wg.barrier(buffer)
        half //= 2
    first = buffer.load(jnp.zeros_like(lid), where=lid == 0)
    return total.atomic[jnp.zeros_like(lid)].add(first, where=lid == 0)


def _added(kernel: xe.Kernel, each: int | None = None) -> Launch:
    items = -(-_NUMBERS // (each or 1))
    static = {} if each is None else {"each": each}
    nd_range = xe.NDRange(-(-items // 128) * 128, 128)
    return Launch(kernel, nd_range, (shape(U32, _NUMBERS), shape(U32, 1)), static, 4.0 * _NUMBERS)


# --- Matrices of 1024 rows and columns ---

_SIDE, _TILE = 1024, 16


@xe.kernel
def transposed(wg, a, out):
    """Through a tile of local memory, whose columns lie in one bank."""
    row, column, i, j = wg.global_id(0), wg.global_id(1), wg.local_id(0), wg.local_id(1)
    tile = wg.local((_TILE, _TILE), F32).at[i, j].set(a[row, column])
    tile = wg.barrier(tile)
    return out.at[column - j + i, row - i + j].set(tile[j, i])


@xe.kernel
def transposed_shifted(wg, a, out):
    """The same with each row of the tile shifted by its number, so that its columns lie in different banks."""
    row, column, i, j = wg.global_id(0), wg.global_id(1), wg.local_id(0), wg.local_id(1)
    tile = wg.local((_TILE, _TILE), F32).at[j, (i + j) % _TILE].set(a[row, column])
    tile = wg.barrier(tile)
    return out.at[column - j + i, row - i + j].set(tile[i, (i + j) % _TILE])


@xe.kernel
def multiplied(wg, a, b, c):
    row, column = wg.global_id(0), wg.global_id(1)
    total = lax.fori_loop(0, _SIDE, lambda k, t: t + a[row, k] * b[k, column], jnp.zeros(row.shape, F32))
    return c.at[row, column].set(total)


@xe.kernel
def multiplied_in_tiles(wg, a, b, c):
    row, column, i, j = wg.global_id(0), wg.global_id(1), wg.local_id(0), wg.local_id(1)
    ours, theirs = wg.local((_TILE, _TILE), F32), wg.local((_TILE, _TILE), F32)

    def step(t, state):
        ours, theirs, total = state
        ours = ours.at[i, j].set(a[row, t * _TILE + j])
        theirs = theirs.at[i, j].set(b[t * _TILE + i, column])
        ours, theirs = wg.barrier(ours, theirs)
        for k in range(_TILE):
            total = total + ours[i, k] * theirs[k, j]
        ours, theirs = wg.barrier(ours, theirs)
        return ours, theirs, total

    total = lax.fori_loop(0, _SIDE // _TILE, step, (ours, theirs, jnp.zeros(i.shape, F32)))[2]
    return c.at[row, column].set(total)


@xe.kernel
def multiplied_in_rows(wg, a, b, c):
    """Each of 16 work-items of a group has 16 elements of a row of the product."""
    row, first, i = wg.global_id(0), wg.global_id(1) * _TILE, wg.local_id(0)
    element = jnp.arange(_TILE)[None, None]
    ours, theirs = wg.local((_TILE, _TILE), F32), wg.local((_TILE, _TILE), F32)

    def step(t, state):
        ours, theirs, total = state
        ours = ours.at[i[..., None], element].set(a[row[..., None], t * _TILE + element])
        theirs = theirs.at[i[..., None], element].set(b[(t * _TILE + i)[..., None], first[..., None] + element])
        ours, theirs = wg.barrier(ours, theirs)
        for k in range(_TILE):
            total = total + ours[i, k][..., None] * theirs[k, element]
        ours, theirs = wg.barrier(ours, theirs)
        return ours, theirs, total

    total = lax.fori_loop(0, _SIDE // _TILE, step, (ours, theirs, jnp.zeros((*i.shape, _TILE), F32)))[2]
    return c.at[row[..., None], first[..., None] + element].set(total)


def _of_matrices(kernel: xe.Kernel, columns: int = _SIDE, local: tuple[int, int] = (_TILE, _TILE)) -> Launch:
    matrices = 2 if kernel in (transposed, transposed_shifted) else 3
    arguments = tuple(shape(F32, _SIDE, _SIDE) for _ in range(matrices))
    return Launch(kernel, xe.NDRange((_SIDE, columns), local), arguments, {}, 2.0 * _SIDE**3, submitted=matrices == 2)


LAUNCHES: Mapping[str, Callable[[], Launch]] = {
    "sum by atomics": lambda: _added(added_at_once),
    **{f"sum of {n} in rows": lambda n=n: _added(added_in_rows, n) for n in (32, 64)},
    **{f"sum of {n} in columns": lambda n=n: _added(added_in_columns, n) for n in (32, 64)},
    "sum by one work-item": lambda: _added(added_by_one),
    "sum in a tree": lambda: _added(added_in_a_tree),
    "transposition": lambda: _of_matrices(transposed),
    "transposition, shifted": lambda: _of_matrices(transposed_shifted),
    "product": lambda: _of_matrices(multiplied),
    "product in tiles": lambda: _of_matrices(multiplied_in_tiles),
    "product in rows": lambda: _of_matrices(multiplied_in_rows, _SIDE // _TILE, (_TILE, 1)),
}
"""The launches by their names in `tests/data/intel-published.csv`."""
