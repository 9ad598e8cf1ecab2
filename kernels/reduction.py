"""Tree reduction in local memory, from "Using Local Memory" (Codeplay, SYCL guide, parallel reduction).

A work-group adds up twice as many elements as it has work-items; launches follow each other until one number is left.
The text writes a group's sum into the array that other groups may still be reading, a race by its own rule that each
group keeps to a region of global memory: here the sums go to an array of their own. It wants an even number of
elements, so an odd number of sums gets a 0 more. It names neither a group size nor a length; the length here is even
and no multiple of a group's share, as the text allows.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import xeemu as xe
from xeemu.kernels.example import SEED, Example, Inputs, Size

_GROUP = 128  # a power of two, as the tree needs


@xe.kernel
def tree_reduction(wg: xe.WorkGroup, data: xe.Memory, sums: xe.Memory) -> xe.Memory:
    """The text's tree: strides 1, 2, 4, ..., so that the active work-items' words lie ever further apart."""
    lid = wg.local_linear_id()
    partial = _load_pairs(wg, data)

    stride = 1
    while stride < wg.size:
        index = 2 * stride * lid
        live = index < wg.size
        pair = partial.load(index, where=live) + partial.load(index + stride, where=live)
        partial = partial.at[index].set(pair, where=live)
        partial = wg.barrier(partial)
        stride *= 2

    return _store_sum(wg, partial, sums)


@xe.kernel
def tree_reduction_sequential(wg: xe.WorkGroup, data: xe.Memory, sums: xe.Memory) -> xe.Memory:
    """The same tree from the widest stride down: the active work-items are the first ones, and so are their words."""
    lid = wg.local_linear_id()
    partial = _load_pairs(wg, data)

    stride = wg.size // 2
    while stride > 0:
        live = lid < stride
        pair = partial.load(lid, where=live) + partial.load(lid + stride, where=live)
        partial = partial.at[lid].set(pair, where=live)
        partial = wg.barrier(partial)
        stride //= 2

    return _store_sum(wg, partial, sums)


def _load_pairs(wg: xe.WorkGroup, data: xe.Memory) -> xe.Memory:
    """Local memory with the sum of two elements for each work-item, 0 where there are none."""
    lid, first = wg.local_linear_id(), 2 * wg.global_linear_id()
    partial = wg.local(wg.size, jnp.int32)
    partial = partial.at[lid].set(0)
    live = first < data.shape[0]
    pair = data.load(first, where=live) + data.load(first + 1, where=live)
    partial = partial.at[lid].set(pair, where=live)
    return wg.barrier(partial)


def _store_sum(wg: xe.WorkGroup, partial: xe.Memory, sums: xe.Memory) -> xe.Memory:
    first = wg.local_linear_id() == 0
    return sums.at[wg.group_linear_id()].set(partial.load(0, where=first), where=first)


def _groups(elements: int) -> int:
    return -(-elements // (2 * _GROUP))


def _nd_range(size: Size) -> xe.NDRange:
    return xe.NDRange(_groups(size[0]) * _GROUP, _GROUP)


def _inputs(size: Size) -> Inputs:
    """Integers over C's whole `int`, an even number of them: an odd one is made even by a 0."""
    data = np.random.default_rng(SEED).integers(-(2**31), 2**31, size=size[0], dtype=np.int32)
    return np.pad(data, (0, size[0] % 2)), np.zeros(_groups(size[0]), np.int32)


def _run(inputs: Inputs, size: Size, kernel: xe.Kernel, device: str | xe.Device, schedule: Any) -> Any:
    """Launches until one sum is left, as one program; an adversarial run is carried out launch by launch."""
    run = _compiled if schedule is None else _launches
    return run(kernel, size, device, schedule, *inputs)


def _launches(kernel: xe.Kernel, size: Size, device: str | xe.Device, schedule: Any, data: Any, sums: Any) -> Any:
    sums = xe.launch(kernel, _nd_range(size), device=device, schedule=schedule)(data, sums)
    while sums.size > 1:
        data = jnp.pad(sums, (0, sums.size % 2))
        nd_range, sums = _nd_range(data.shape), jnp.zeros(_groups(data.size), jnp.int32)
        sums = xe.launch(kernel, nd_range, device=device, schedule=schedule)(data, sums)
    return sums


_compiled = jax.jit(_launches, static_argnums=(0, 1, 2, 3))


def _reference(data: np.ndarray, sums: np.ndarray) -> np.ndarray:
    return data.sum(dtype=np.int64, keepdims=True).astype(np.int32)


def _example(kernel: xe.Kernel, how: str) -> Example:
    return Example(
        name=kernel.name,
        summary=f"Sum of integers by a tree in local memory, {how} (Codeplay, Using Local Memory)",
        kernel=kernel,
        size=(2**20 + 82,),
        size_names=("elements",),
        nd_range=_nd_range,
        inputs=_inputs,
        reference=_reference,
        work=lambda size: size[0],
        unit="elements",
        run=functools.partial(_run, kernel=kernel),
    )


EXAMPLES = (
    _example(tree_reduction, "strides growing"),
    _example(tree_reduction_sequential, "strides shrinking"),
)
