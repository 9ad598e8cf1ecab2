"""Layer norm of intel/torch-xpu-ops, its kernel for rows of a multiple of four elements, in the kernel language.

A work-group takes a row: each work-item merges mean and variance of vectors of four elements (Welford's update), lanes
merge theirs by shifts, sub-groups through local memory, half of them at a time; then the row is read again.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from intel_launches import Launch, shape
from jax import lax

import xeemu as xe

F32 = jnp.float32
_WIDTH, _LANES = 4, 32

_Moments = tuple[Any, Any, Any]  # mean, sum of squared deviations, and of how many elements


@xe.kernel(sub_group_size=_LANES)
def layer_norm(wg, rows, weights, biases, means, deviations, out, *, size):
    row, lid = wg.group_id(), wg.local_id()
    vectors = size // _WIDTH
    element = jnp.arange(_WIDTH)[None]
    times = -(-vectors // wg.size)

    def at(k):
        place = lid + k * wg.size
        return place[:, None] * _WIDTH + element, (place < vectors)[:, None]

    def merged(k, moments):
        columns, taken = at(k)
        loaded = rows.load((row, columns), where=taken).astype(F32)
        for j in range(_WIDTH):
            moments = _with(moments, loaded[:, j], taken[:, 0])
        return moments

    nothing = jnp.zeros(wg.size, F32)
    mean, variance = _of_group(wg, lax.fori_loop(0, times, merged, (nothing, nothing, nothing)), size)
    factor = lax.rsqrt(variance + 1e-5)

    def normalised(k, out):
        columns, taken = at(k)
        loaded = rows.load((row, columns), where=taken).astype(F32)
        weight, bias = weights.load(columns, where=taken), biases.load(columns, where=taken)
        made = weight.astype(F32) * (factor[:, None] * (loaded - mean[:, None])) + bias.astype(F32)
        return out.at[row, columns].set(made.astype(out.dtype), where=taken)

    out = lax.fori_loop(0, times, normalised, out)
    means = means.at[row].set(mean, where=lid == 0)
    return means, deviations.at[row].set(factor, where=lid == 0), out


def _with(moments: _Moments, value: Any, taken: Any) -> _Moments:
    mean, squares, count = moments
    delta, more = value - mean, count + 1
    moved = mean + delta * (1 / more)
    found = moved, squares + delta * (value - moved), more
    return tuple(jnp.where(taken, new, old) for new, old in zip(found, moments, strict=True))  # type: ignore[return-value]


def _both(ours: _Moments, theirs: _Moments) -> _Moments:
    (mean, squares, count), (mean2, squares2, count2) = ours, theirs
    delta, total = mean2 - mean, count + count2
    share = 1 / total
    part, part2 = count * share, count2 * share
    found = part * mean + part2 * mean2, squares + squares2 + delta * delta * count * part2, total
    return tuple(jnp.where(total > 0, new, 0.0) for new in found)  # type: ignore[return-value]


def _of_group(wg: xe.WorkGroup, moments: _Moments, size: int) -> tuple[Any, Any]:
    """Mean and variance of all work-items' elements."""
    sub_group = wg.sub_group
    distance = _LANES // 2
    while distance:
        moments = _both(moments, tuple(_shifted(sub_group, each, distance) for each in moments))  # type: ignore[arg-type]
        distance //= 2
    sub_groups = wg.size // _LANES
    if sub_groups == 1:
        return sub_group.broadcast(moments[0], 0), sub_group.broadcast(moments[1], 0) / size
    return _through_local_memory(wg, moments, sub_groups, size)


def _shifted(sub_group: Any, value: Any, distance: int) -> Any:
    lane = sub_group.local_id()
    return jnp.where(lane + distance < _LANES, sub_group.select(value, jnp.minimum(lane + distance, _LANES - 1)), 0.0)


def _through_local_memory(wg: xe.WorkGroup, moments: _Moments, sub_groups: int, size: int) -> tuple[Any, Any]:
    number, first = wg.local_id() // _LANES, wg.local_id() % _LANES == 0
    buffer = wg.local(sub_groups * 2, F32)
    half = sub_groups // 2
    while half:
        gives, takes = first & (number >= half) & (number < 2 * half), first & (number < half)
        given = number - half
        for place, value in zip((2 * given, 2 * given + 1, given + sub_groups), moments, strict=True):
            buffer = buffer.at[place].set(value, where=gives)
        buffer = wg.barrier(buffer)
        places = (2 * number, 2 * number + 1, number + sub_groups)
        theirs = tuple(buffer.load(place, where=takes) for place in places)
        both = _both(moments, theirs)  # type: ignore[arg-type]
        moments = tuple(jnp.where(takes, new, old) for new, old in zip(both, moments, strict=True))  # type: ignore[assignment]
        buffer = wg.barrier(buffer)
        half //= 2
    buffer = buffer.at[jnp.zeros_like(number)].set(moments[0], where=wg.local_id() == 0)
    buffer = buffer.at[jnp.ones_like(number)].set(moments[1] / size, where=wg.local_id() == 0)
    buffer = wg.barrier(buffer)
    return buffer[jnp.zeros_like(number)], buffer[jnp.ones_like(number)]


def _normed(rows: int, size: int, dtype: str, local: int) -> Launch:
    array, row, each = shape(dtype, rows, size), shape(dtype, size), shape(np.float32, rows)
    arguments = (array, row, row, each, each, array)
    return Launch(layer_norm, xe.NDRange(rows * local, local), arguments, {"size": size}, 0.0, submitted=rows == 1)


# Rows, elements, and the sizes of work-groups before each change and after it.
_OF_1711 = ((25216, 384, 256, 64), (2048, 1024, 1024, 256), (8192, 320, 256, 64), (1605632, 128, 128, 32))
_OF_1635 = ((2, 1310720), (512, 401408), (128, 9834496))

LAUNCHES: Mapping[str, Callable[[], Launch]] = {
    **{
        f"layer norm {rows} x {size} by {local}": lambda rows=rows, size=size, local=local: _normed(
            rows, size, "float16", local
        )
        for rows, size, *locals_ in ((401408, 24, 1024, 32), *_OF_1711, (1, 1024, 1024, 256))
        for local in locals_
    },
    **{
        f"layer norm {rows} x {size} in {dtype}": lambda rows=rows, size=size, dtype=dtype: _normed(
            rows, size, dtype, 1024
        )
        for rows, size in _OF_1635
        for dtype in ("float32", "float16", "bfloat16")
    },
}
"""The launches by their names in `tests/data/intel-published.csv`."""
