"""One-dimensional convolution, from "Shared Local Memory" (Intel, oneAPI GPU Optimization Guide, Using SLM as Cache).

An array of 8192 * 8192 integers and 257 taps; each work-item makes one element of the result. Each element of the input
is used by up to 257 work-items: the first kernel loads it from global memory every time, the second once into local
memory. Only the first and the last group may reach over an end, so there are at most 513 taps to groups of 256. Sums
and products wrap, as `int` does on every GPU.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import xeemu as xe
from xeemu.kernels.example import SEED, Example, Inputs, Size

_GROUP = 256


@xe.kernel
def convolution_global(wg: xe.WorkGroup, data: xe.Memory, taps: xe.Memory, out: xe.Memory) -> xe.Memory:
    """Convolution from global memory; the groups at the two ends leave out the taps that fall outside.

    In an end group each work-item has its own first tap and number of taps (three loops in the text, of which a
    work-item runs one). The loop here takes the most that any can have, and a mask says who still takes part.
    """
    n, m = out.shape[0], taps.shape[0]
    i = wg.global_linear_id()
    group = wg.group_id()

    def at_an_end():
        left, right = i < m // 2, i + m // 2 >= n
        first_tap = jnp.where(left, m // 2 - i, 0)
        first = jnp.where(left, 0, i - m // 2)
        count = jnp.where(left, m - first_tap, jnp.where(right, m // 2 + n - i, m))

        def add_tap(step, t):
            live = step < count
            return t + data.load(first + step, where=live) * taps.load(first_tap + step, where=live)

        return lax.fori_loop(0, m, add_tap, _zeros(wg))

    def inside():
        def add_tap(j, t):
            return t + data[i - m // 2 + j] * taps[j]

        return lax.fori_loop(0, m, add_tap, _zeros(wg))

    t = lax.cond((group == 0) | (group == n // wg.size - 1), at_an_end, inside)
    return out.at[i].set(t)


@xe.kernel
def convolution_slm(wg: xe.WorkGroup, data: xe.Memory, taps: xe.Memory, out: xe.Memory) -> xe.Memory:
    """Convolution from local memory; the first and the last work-item of a group load the neighbours on their side."""
    half = taps.shape[0] // 2
    i, lid = wg.global_linear_id(), wg.local_id()
    group, size = wg.group_id(), wg.size
    first, last = lid == 0, lid == size - 1
    cache = wg.local(size + half * 2, jnp.int32)

    cache = cache.at[lid + half].set(data[i])

    def clear_left(cache):
        return lax.fori_loop(0, half, lambda j, cache: cache.at[j].set(0, where=first), cache)

    def copy_left(cache):
        def copy(j, cache):
            return cache.at[j].set(data.load(i - half + j, where=first), where=first)

        return lax.fori_loop(0, half, copy, cache)

    def clear_right(cache):
        return lax.fori_loop(0, half, lambda j, cache: cache.at[size + half + j].set(0, where=last), cache)

    def copy_right(cache):
        def copy(j, cache):
            return cache.at[size + half + j].set(data.load(i + 1 + j, where=last), where=last)

        return lax.fori_loop(0, half, copy, cache)

    cache = lax.cond(group == 0, clear_left, copy_left, cache)
    cache = lax.cond(group == wg.group_range() - 1, clear_right, copy_right, cache)
    cache = wg.barrier(cache)

    def add_tap(j, t):
        return t + cache[lid + j] * taps[j]

    return out.at[i].set(lax.fori_loop(0, taps.shape[0], add_tap, _zeros(wg)))


def _zeros(wg: xe.WorkGroup) -> jax.Array:
    return jnp.zeros(wg.size, jnp.int32)


def _inputs(size: Size) -> Inputs:
    """The input and the taps as C's `rand()` makes them, 0 to 2^31 - 1; and the result's place."""
    elements, taps = size
    rng = np.random.default_rng(SEED)
    data = rng.integers(2**31, size=elements, dtype=np.int32)
    return data, rng.integers(2**31, size=taps, dtype=np.int32), np.zeros(elements, np.int32)


def _reference(data: np.ndarray, taps: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The taps lie in the text's order, not reversed; the middle one meets the work-item's own element."""
    full = np.convolve(data, taps[::-1])
    start = taps.size - 1 - taps.size // 2
    return full[start : start + out.size]


def _example(kernel: xe.Kernel, memory: str) -> Example:
    return Example(
        name=kernel.name,
        summary=f"Convolution with 257 taps from {memory} memory (oneAPI GPU Optimization Guide, Using SLM as Cache)",
        kernel=kernel,
        size=(8192 * 8192, 257),
        size_names=("elements", "taps"),
        nd_range=lambda size: xe.NDRange(size[0], _GROUP),
        inputs=_inputs,
        reference=_reference,
        work=lambda size: size[0] * size[1],
        unit="multiply-adds",
    )


EXAMPLES = (_example(convolution_global, "global"), _example(convolution_slm, "local"))
