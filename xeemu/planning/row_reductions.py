"""Row reductions: how rows of integers are reduced where XLA reduces slowly (see `emission/row_reductions.py`)."""

import dataclasses
import functools
import math
from collections.abc import Collection, Sequence

import numpy as np

from xeemu.devices.target import Target
from xeemu.planning.windows import Window

# What XLA reduces in one pass.
_SHORT = 32
# Vectors that are put together first, each of so many elements: on a 2-core CPU a sum takes 0.6 ms without, 0.16 with.
VECTORS, LANES = 8, 32
# Parts of a row, for as many cores.
PARTS = 16


def takes(dtype: np.dtype) -> bool:
    """True if rows of a dtype are reduced so."""
    return dtype.kind in "iu" and dtype.itemsize >= 4


def are_rows(shape: Sequence[int], axes: Collection[int], dtype: np.dtype) -> bool:
    """True if some axes of an array are long rows of elements that lie side by side, and are reduced so."""
    first = min((k for k in axes if shape[k] > 1), default=len(shape))
    within = all(k in axes or n == 1 for k, n in enumerate(shape) if k >= first)
    return within and takes(dtype) and math.prod(shape) > 0 and math.prod(shape[first:]) >= VECTORS * LANES


def combined(window: Window, dtype: np.dtype, target: Target) -> Window:
    """A window as values are put together with what it has, all those for one element first."""
    in_parts = target.reduces_slowly and are_rows(window.strided.sizes, window.repeated, dtype)
    return dataclasses.replace(window, in_parts=in_parts)


def longest(length: int, parts: int = PARTS) -> int:
    """The longest row, up to a length, that `in_parts` takes; 0 if there is none."""
    unit = parts * VECTORS * LANES
    return unit * math.prod(short_axes(length // unit))


@functools.lru_cache(maxsize=1 << 12)
def short_axes(length: int) -> tuple[int, ...]:
    """Axes of at most 32 elements that make the longest one up to a length."""
    if length <= _SHORT:
        return (length,)
    return max(((*short_axes(length // last), last) for last in range(_SHORT // 2 + 1, _SHORT + 1)), key=math.prod)
