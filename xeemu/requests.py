"""Requests: how the elements of one access of a work-group are laid out as instructions of its sub-groups.

Axis legend: n elements of the access that take part in a group, Q instructions of sub-groups, S lanes.

Sub-groups are consecutive work-items by linear id, the last one may be partial. Private elements that lie side by side
form one access of up to 16 bytes, others take an instruction each. A load by a scalar index is one request of one lane
for each sub-group.
"""

import dataclasses
import math

import numpy as np

from xeemu.geometry import Geometry

WIDEST_BYTES = 16


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Instructions of sub-groups.

    Attributes:
      slot: `[Q, S]` number, among the n elements, of the first one that a lane accesses; -1 for a lane without one.
      item: `[Q, S]` linear id of the work-item that a lane is; 0 for a lane without an element.
      width: elements that a lane accesses at once.
      copies: how often a group carries out each instruction: for a scalar index one stands for all sub-groups.
    """

    slot: np.ndarray
    item: np.ndarray
    width: int
    copies: int

    @property
    def active(self) -> np.ndarray:
        return self.slot >= 0

    @property
    def instructions(self) -> int:
        """Of a group."""
        return len(self.slot) * self.copies


def sub_groups(geometry: Geometry) -> int:
    """Sub-groups of a work-group."""
    return -(-geometry.items // geometry.sub_group_size)


def layout(shape: tuple[int, ...], chosen: np.ndarray, geometry: Geometry, width: int) -> Layout:
    """The instructions of an access of `width` private elements at once.

    Args:
      shape: the work-items' axes and the private ones; `()` for a scalar index.
      chosen: `[n]` flat positions of the elements that take part.
      geometry: the sizes of the launch.
      width: elements of a lane that lie side by side.
    """
    if not shape:
        return Layout(np.zeros((1, 1), np.int64), np.zeros((1, 1), np.int64), 1, sub_groups(geometry))
    lanes, items = geometry.sub_group_size, geometry.items
    slot = np.full(math.prod(shape), -1)
    slot[chosen] = np.arange(len(chosen))
    first = slot.reshape(items, -1, width)[..., 0]
    padded = np.full((sub_groups(geometry) * lanes, first.shape[1]), -1)
    padded[:items] = first
    rows = padded.reshape(-1, lanes, first.shape[1]).swapaxes(1, 2).reshape(-1, lanes)
    item = np.arange(len(padded)).reshape(-1, 1, lanes).repeat(first.shape[1], 1).reshape(-1, lanes)
    used = (rows >= 0).any(-1)
    rows, item = rows[used], item[used]
    return Layout(rows, np.where(rows >= 0, item, 0), width, 1)
