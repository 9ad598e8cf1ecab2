"""What is measured: the examples at the sizes of the benchmark."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import xeemu as xe
from xeemu.kernels import EXAMPLES, Example, slm_bank

SIZES = ("full", "small")

_BATCH, _SMALL_BATCH = 2**14, 2**8
_TABLES = {"full": 2**14, "small": 2**8}
_ATOMICS = {"full": 2**22, "small": 2**16}
_SMALL = {
    "convolution_global": (2**18, 257),
    "convolution_slm": (2**18, 257),
    "histogram_private": (2**18,),
    "histogram_registers": (2**16,),
    "histogram_slm": (2**18,),
    "histogram_slm_1024": (2**18,),
    "tree_reduction": (2**16 + 82,),
    "tree_reduction_sequential": (2**16 + 82,),
    "matmul_tiled": (50, 100, 60),
}
_SMALL_ITERATIONS = 2**14


@dataclasses.dataclass(frozen=True)
class Workload:
    """An example at a size.

    Attributes:
      example: what runs.
      size: at which size.
    """

    example: Example
    size: tuple[int, ...]


def workload(name: str, size: str) -> Workload:
    """An example at the size "full", "small" (for trying the benchmark) or "own", the one of its text.

    Full is the example's own size, but for those of which that fills no device: products of 16 x 16 matrices, atomics
    and tables have at least 2^22 work-items. Of the matrices there are as many pairs as that takes.
    """
    example = EXAMPLES[name]
    if size == "own":
        return Workload(example, example.size)
    if name in ("matmul_naive", "matmul_local"):
        return Workload(_products(example), (_BATCH if size == "full" else _SMALL_BATCH,))
    if name.startswith("table_copy"):
        return Workload(example, (example.size[0], _TABLES[size], example.size[2]))
    if name.startswith(("reduction", "atomics")):
        return Workload(example, (_ATOMICS[size],))
    if size == "full":
        return Workload(example, example.size)
    if name.startswith("slm_bank"):
        return Workload(slm_bank.example(example.static["stride"], _SMALL_ITERATIONS), example.size)
    return Workload(example, _SMALL[name])


def enlarged(name: str) -> bool:
    """True if the full size of an example is larger than its own."""
    return workload(name, "full").size != EXAMPLES[name].size


# --- Products of many pairs of matrices: the examples' kernels with the place of a group's own pair ---

_N = 16


@xe.kernel
def _naive_products(wg: xe.WorkGroup, a: xe.Memory, b: xe.Memory, c: xe.Memory) -> xe.Memory:
    """The matrices lie one below the other: a row's number is that of all rows."""
    n, first = wg.local_range(0), wg.group_id(0) * wg.local_range(0)
    i, j = wg.global_id(0), wg.global_id(1)
    temp = lax.fori_loop(0, n, lambda k, temp: temp + a[i * n + k] * b[(first + k) * n + j], _zeros(wg))
    return c.at[i * n + j].set(temp)


@xe.kernel
def _local_products(wg: xe.WorkGroup, a: xe.Memory, b: xe.Memory, c: xe.Memory) -> xe.Memory:
    n = wg.local_range(0)
    i, j = wg.global_id(0), wg.global_id(1)
    x, y = wg.local_id(0), wg.local_id(1)
    a_local = wg.local((n, n), jnp.float32)
    b_local = wg.local((n, n), jnp.float32)

    a_local = a_local.at[x, y].set(a[i * n + j])
    b_local = b_local.at[x, y].set(b[i * n + j])
    a_local, b_local = wg.barrier(a_local, b_local)

    temp = lax.fori_loop(0, n, lambda k, temp: temp + a_local[x, k] * b_local[k, y], _zeros(wg))
    return c.at[i * n + j].set(temp)


def _zeros(wg: xe.WorkGroup) -> jax.Array:
    return jnp.zeros((wg.local_range(0), wg.local_range(1)), jnp.float32)


def _products(example: Example) -> Example:
    """The example over many pairs of matrices."""
    return dataclasses.replace(
        example,
        kernel={"matmul_naive": _naive_products, "matmul_local": _local_products}[example.name],
        size=(_BATCH,),
        size_names=("pairs",),
        nd_range=lambda size: xe.NDRange((size[0] * _N, _N), (_N, _N)),
        inputs=_pairs,
        reference=_products_of_pairs,
        work=lambda size: size[0] * _N**3,
    )


def _pairs(size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Integers whose products' sums are exact in float32."""
    rng = np.random.default_rng(2009)
    a, b = (rng.integers(-8, 9, size=size[0] * _N * _N).astype(np.float32) for _ in range(2))
    return a, b, np.zeros_like(a)


def _products_of_pairs(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    pairs = a.reshape(-1, _N, _N).astype(np.float64) @ b.reshape(-1, _N, _N)
    return pairs.astype(np.float32).ravel()
