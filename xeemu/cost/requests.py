"""Requests: how the elements of one access of a work-group are laid out as instructions of its sub-groups.

Axis legend: n elements of the access that may take part in a group, Q instructions of sub-groups, S lanes, W elements
that a lane accesses at once.

Sub-groups are consecutive work-items by linear id, the last one may be partial. Private elements that lie side by side
form one access of up to 16 bytes, others take an instruction each. A load by a scalar index is one request of one lane
for each sub-group. So is one of words that all work-items load, where compilers see that, with a lane for each of them.
"""

import dataclasses
import math
from typing import Any

import numpy as np

from xeemu.language.geometry import Geometry

WIDEST_BYTES = 16


@dataclasses.dataclass(frozen=True, eq=False)
class RequestLayout:
    """Instructions of sub-groups.

    Attributes:
      slot: `[Q, S, W]` number of each element among the n; -1 for one that does not take part.
      copies: how often a group carries out each instruction: for a scalar index one stands for all sub-groups.
    """

    slot: np.ndarray
    copies: int

    @property
    def width(self) -> int:
        """W."""
        return int(self.slot.shape[2])

    @property
    def first(self) -> np.ndarray:
        """`[Q, S]` slot of the first element of each lane."""
        return self.slot[..., 0]

    @property
    def apart(self) -> np.ndarray:
        """`[Q * W, S]` slots of instructions of one element: those of a vector follow each other."""
        return self.slot.swapaxes(1, 2).reshape(-1, self.slot.shape[1])


def sub_groups(geometry: Geometry) -> int:
    """Sub-groups of a work-group."""
    return -(-geometry.items // geometry.sub_group_size)


def active_sub_groups(lanes: Any, geometry: Geometry) -> Any:
    """`[rows]` sub-groups with an active lane, of masks `[rows, work-items or 1]` of NumPy or JAX."""
    if lanes.shape[1] == 1:
        return lanes[:, 0].astype(np.int64) * sub_groups(geometry)
    starts = range(0, geometry.items, geometry.sub_group_size)
    each = [lanes[:, start : start + geometry.sub_group_size].any(1) for start in starts]
    total = each[0].astype(np.int64)
    for row in each[1:]:
        total = total + row.astype(np.int64)
    return total


def layout(shape: tuple[int, ...], chosen: np.ndarray, geometry: Geometry, width: int) -> RequestLayout:
    """The instructions of an access of `width` private elements at once.

    Args:
      shape: the work-items' axes and the private ones; `()` for a scalar index.
      chosen: `[n]` flat positions of the elements that may take part.
      geometry: the sizes of the launch.
      width: elements of a lane that lie side by side.
    """
    if not shape:
        return RequestLayout(np.zeros((1, 1, 1), np.int64), sub_groups(geometry))
    lanes, items = geometry.sub_group_size, geometry.items
    slot = np.full(math.prod(shape), -1)
    slot[chosen] = np.arange(len(chosen))
    vectors = slot.reshape(items, -1, width)
    padded = np.full((sub_groups(geometry) * lanes, *vectors.shape[1:]), -1)
    padded[:items] = vectors
    rows = padded.reshape(-1, lanes, *vectors.shape[1:]).swapaxes(1, 2).reshape(-1, lanes, width)
    return RequestLayout(rows[(rows >= 0).any((-2, -1))], 1)


def shared_layout(shape: tuple[int, ...], chosen: np.ndarray, geometry: Geometry, width: int) -> RequestLayout:
    """The layout of loads that all work-items make, of the same elements: of `width` at once, a lane for each."""
    whole = layout(shape, chosen, geometry, width).slot
    rows = whole[np.arange(len(whole)), (whole[..., 0] >= 0).argmax(1)]
    return RequestLayout(rows[..., None], 1)
