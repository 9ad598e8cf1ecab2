"""Matrix multiplication without and with local memory, from "Local Memory and Atomics" (Intel, oneAPI training).

The text multiplies two matrices of 16 x 16 in one work-group. The tiled kernel does the same for any sizes; its own are
those of the failing program under "Troubleshooting SLM Errors" (Intel, oneAPI GPU Optimization Guide).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import xeemu as xe
from xeemu.kernels.example import SEED, Example, Inputs, Size

_TILE = 16


@xe.kernel
def matmul_naive(wg: xe.WorkGroup, a: xe.Memory, b: xe.Memory, c: xe.Memory) -> xe.Memory:
    """c = a b, n x n in flat arrays; each element loads its row and its column from global memory."""
    n = wg.global_range(0)
    i, j = wg.global_id(0), wg.global_id(1)
    temp = lax.fori_loop(0, n, lambda k, temp: temp + a[i * n + k] * b[k * n + j], _zeros(wg))
    return c.at[i * n + j].set(temp)


@xe.kernel
def matmul_local(wg: xe.WorkGroup, a: xe.Memory, b: xe.Memory, c: xe.Memory) -> xe.Memory:
    """c = a b, n x n in flat arrays and one work-group, which copies both to local memory first."""
    n = wg.global_range(0)
    i, j = wg.global_id(0), wg.global_id(1)
    x, y = wg.local_id(0), wg.local_id(1)
    a_local = wg.local((n, n), jnp.float32)
    b_local = wg.local((n, n), jnp.float32)

    a_local = a_local.at[x, y].set(a[i * n + j])
    b_local = b_local.at[x, y].set(b[i * n + j])
    a_local, b_local = wg.barrier(a_local, b_local)

    temp = lax.fori_loop(0, n, lambda k, temp: temp + a_local[x, k] * b_local[k, y], _zeros(wg))
    return c.at[i * n + j].set(temp)


@xe.kernel(work_group_size=(_TILE, _TILE))
def matmul_tiled(wg: xe.WorkGroup, a: xe.Memory, b: xe.Memory, c: xe.Memory) -> xe.Memory:
    """c = a b for a of n x k, b of k x m; a work-group goes along the tiles of its rows and columns."""
    (n, depth), m = a.shape, b.shape[1]
    i, j = wg.global_id(0), wg.global_id(1)
    x, y = wg.local_id(0), wg.local_id(1)
    a_tile = wg.local((_TILE, _TILE), jnp.float32)
    b_tile = wg.local((_TILE, _TILE), jnp.float32)

    def add_tile(tile, carry):
        a_tile, b_tile, total = carry
        row, column = tile * _TILE + x, tile * _TILE + y
        # What lies outside the matrices is loaded as 0, which adds nothing.
        a_tile = a_tile.at[x, y].set(a.load((i, column), where=(i < n) & (column < depth)))
        b_tile = b_tile.at[x, y].set(b.load((row, j), where=(row < depth) & (j < m)))
        a_tile, b_tile = wg.barrier(a_tile, b_tile)
        for k in range(_TILE):
            total = total + a_tile[x, k] * b_tile[k, y]
        a_tile, b_tile = wg.barrier(a_tile, b_tile)
        return a_tile, b_tile, total

    _, _, total = lax.fori_loop(0, -(-depth // _TILE), add_tile, (a_tile, b_tile, _zeros(wg)))
    return c.at[i, j].set(total, where=(i < n) & (j < m))


def _zeros(wg: xe.WorkGroup) -> jax.Array:
    return jnp.zeros((wg.local_range(0), wg.local_range(1)), jnp.float32)


def _inputs(size: Size) -> Inputs:
    """The text's values: 2, 3, 4, ... and 3, 4, 5, ...; up to n = 24 all sums are exact in float32."""
    a = np.arange(2, 2 + size[0] ** 2, dtype=np.float32)
    return a, a + 1, np.zeros_like(a)


def _reference(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    n = int(np.sqrt(c.size))
    return (a.reshape(n, n).astype(np.float64) @ b.reshape(n, n)).astype(np.float32).ravel()


def _tiled_inputs(size: Size) -> Inputs:
    """Integers from -8 to 8, whose sums are exact in float32 up to a depth of 2^18."""
    n, m, depth = size
    rng = np.random.default_rng(SEED)
    a, b = (rng.integers(-8, 9, size=shape).astype(np.float32) for shape in ((n, depth), (depth, m)))
    return a, b, np.zeros((n, m), np.float32)


def _tiled_reference(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return (a.astype(np.float64) @ b).astype(c.dtype)


def _tiled_nd_range(size: Size) -> xe.NDRange:
    n, m = (-(-extent // _TILE) * _TILE for extent in size[:2])
    return xe.NDRange((n, m), (_TILE, _TILE))


def _example(kernel: xe.Kernel, memory: str) -> Example:
    return Example(
        name=kernel.name,
        summary=f"Product of two 16 x 16 matrices from {memory} memory (Intel, Local Memory and Atomics)",
        kernel=kernel,
        size=(16,),
        size_names=("n",),
        nd_range=lambda size: xe.NDRange((size[0], size[0]), (size[0], size[0])),
        inputs=_inputs,
        reference=_reference,
        work=lambda size: size[0] ** 3,
        unit="multiply-adds",
    )


EXAMPLES = (
    _example(matmul_naive, "global"),
    _example(matmul_local, "local"),
    Example(
        name="matmul_tiled",
        summary="Product of two matrices of any size by tiles in local memory (after Intel, Local Memory and Atomics)",
        kernel=matmul_tiled,
        size=(150, 600, 300),
        size_names=("n", "m", "k"),
        nd_range=_tiled_nd_range,
        inputs=_tiled_inputs,
        reference=_tiled_reference,
        work=lambda size: size[0] * size[1] * size[2],
        unit="multiply-adds",
    ),
)
