"""Layouts: how the elements of a value lie in the arrays that stand for it, as `layout_assignment` decides.

An array of a value that differs between groups has an axis of groups, `G`, before all others.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence

from xeemu.knowledge.addressing import Elements


@dataclasses.dataclass(frozen=True)
class LaneForm:
    """No array: the value's lane form, which is known before the program runs, and at most a base, which is not."""


@dataclasses.dataclass(frozen=True)
class Sharing:
    """Which groups of a chunk share a value, as they do rows and columns of tiles: those along some dimensions.

    Compilers do not see through the single axis of groups that a value has elsewhere.

    Attributes:
      block: the groups along each dimension; dimensions side by side along which nothing changes are one.
      own: the same, but 1 along those in which they share it.
    """

    block: tuple[int, ...]
    own: tuple[int, ...]

    @classmethod
    def of(cls, block: Sequence[int], changes: Sequence[bool]) -> "Sharing | None":
        """Which groups share a value that changes along some dimensions of a block; None if each has its own."""
        each = [pair for pair in zip(changes, block, strict=True) if pair[1] > 1]
        parts = [
            (moves, math.prod(n for _, n in part)) for moves, part in itertools.groupby(each, lambda pair: pair[0])
        ]
        if all(moves for moves, _ in parts):
            return None
        return cls(tuple(n for _, n in parts), tuple(n if moves else 1 for moves, n in parts))


@dataclasses.dataclass(frozen=True)
class ByItem:
    """One array of the value's own shape.

    Attributes:
      mixed: the lanes of a sub-group, where something goes into the value that these have alike; else None. With
        elements of a work-item's own it would be laid out by sub-group.
      uniform: true if all work-items of a group have it alike.
      shared: which groups share it, of which there is one array then, `[own groups, *shape]`; None if each has its own.
    """

    mixed: int | None = None
    uniform: bool = False
    shared: Sharing | None = None


@dataclasses.dataclass(frozen=True)
class BySubgroup:
    """One array `[sub-groups, lanes, *private]`; a chunk of a sub-group that reduces for itself is a sub-group here.

    Attributes:
      lanes: of a sub-group.
      uniform: true if the lanes of each have the value alike; then the array has 1 in place of the lanes.
    """

    lanes: int
    uniform: bool


@dataclasses.dataclass(frozen=True)
class Masked:
    """The elements that the constant mask of a load has left in, for themselves: `[G or 1, n]`.

    Attributes:
      elements: which these are.
      needs_all: true if something needs others, too; then all of them are an array of the value's own shape beside it.
      apart: true if, instead of that array, there is one of the others alone, `[G or 1, m]`. XLA takes a branch for
        each element of what is put together before it computes.
    """

    elements: Elements
    needs_all: bool = True
    apart: bool = False


Layout = LaneForm | ByItem | BySubgroup | Masked


def sharing(layout: Layout) -> Sharing | None:
    """Which groups share a value, if some do."""
    return layout.shared if isinstance(layout, ByItem) else None


LANE_FORM, BY_ITEM = LaneForm(), ByItem()
