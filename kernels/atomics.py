"""Reductions into one word of global memory, from "Local Memory and Atomics" (Intel, oneAPI training).

All launches are plain ranges: the kernels know no work-groups. A buffer's accessor and a pointer to unified shared
memory are both a global memory here, so that the text's two programs with atomics share a kernel.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax import lax

import xeemu as xe
from xeemu.kernels.example import Example, Inputs, Size


@xe.kernel
def reduction_serial(wg: xe.WorkGroup, data: xe.Memory, total: xe.Memory) -> xe.Memory:
    """The sum by one work-item (the text's `single_task`)."""
    return lax.fori_loop(0, data.shape[0], lambda i, total: total.at[0].set(total[0] + data[i]), total)


@xe.kernel
def reduction_racy(wg: xe.WorkGroup, data: xe.Memory, total: xe.Memory) -> xe.Memory:
    """The text's wrong attempt: every work-item adds to the sum, with nothing to keep them apart."""
    return total.at[0].set(total[0] + data[wg.global_id()])


@xe.kernel
def reduction_atomics(wg: xe.WorkGroup, data: xe.Memory, total: xe.Memory) -> xe.Memory:
    """The sum by an atomic addition of every work-item."""
    return total.atomic[0].add(data[wg.global_id()])


@xe.kernel
def atomics_lab(
    wg: xe.WorkGroup, data: xe.Memory, minimum: xe.Memory, maximum: xe.Memory
) -> tuple[xe.Memory, xe.Memory]:
    """The exercise: the least and the greatest element, by two atomic operations of every work-item."""
    x = data[wg.global_id()]
    return minimum.atomic[0].min(x), maximum.atomic[0].max(x)


def _inputs(size: Size) -> Inputs:
    return np.arange(size[0], dtype=np.int32), np.zeros(1, np.int32)


def _reference(data: np.ndarray, total: np.ndarray) -> np.ndarray:
    return total + data.sum(dtype=np.int32)


def _lab_inputs(size: Size) -> Inputs:
    """The text starts both results at 0."""
    return *_inputs(size), np.zeros(1, np.int32)


def _run_lab(inputs: Inputs, size: Size, **options: Any) -> Any:
    """The minimum, the maximum and, from them on the host, the mid-range."""
    minimum, maximum = xe.launch(atomics_lab, xe.NDRange(size[0]), **options)(*inputs)
    return minimum, maximum, (np.asarray(minimum, np.float64) + np.asarray(maximum, np.float64)) / 2


def _lab_reference(data: np.ndarray, minimum: np.ndarray, maximum: np.ndarray) -> tuple[Any, ...]:
    least, greatest = np.append(data, minimum).min(keepdims=True), np.append(data, maximum).max(keepdims=True)
    return least, greatest, np.mean([least, greatest], axis=0, dtype=np.float64)


def _example(
    name: str,
    summary: str,
    kernel: xe.Kernel,
    reference: Callable[..., Any] | None = _reference,
    nd_range: Callable[[Size], xe.NDRange] = lambda size: xe.NDRange(size[0]),
) -> Example:
    return Example(
        name=name,
        summary=f"{summary} (Intel, Local Memory and Atomics)",
        kernel=kernel,
        size=(1024,),
        size_names=("elements",),
        nd_range=nd_range,
        inputs=_inputs,
        reference=reference,
        work=lambda size: size[0],
        unit="elements",
    )


EXAMPLES = (
    _example("reduction_serial", "Sum by one work-item", reduction_serial, nd_range=lambda size: xe.NDRange(1)),
    # A data race: the text gives no result, so there is nothing to compare with.
    _example("reduction_racy", "Sum without atomics, a data race", reduction_racy, reference=None),
    _example("reduction_atomics_buffer", "Sum by atomics in a buffer", reduction_atomics),
    _example("reduction_atomics_usm", "Sum by atomics in unified shared memory", reduction_atomics),
    Example(
        name="atomics_lab",
        summary="Minimum and maximum by atomics, mid-range on the host (Intel, Local Memory and Atomics)",
        kernel=atomics_lab,
        size=(1024,),
        size_names=("elements",),
        nd_range=lambda size: xe.NDRange(size[0]),
        inputs=_lab_inputs,
        reference=_lab_reference,
        work=lambda size: 2 * size[0],
        unit="updates",
        run=_run_lab,
    ),
)
