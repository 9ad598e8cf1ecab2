"""Distribution: which work-items access which elements of a memory, by one access in two programs of a kernel."""

import dataclasses
import functools
import math
from collections.abc import Mapping

import numpy as np

from xeemu.faults import epochs
from xeemu.knowledge import instances, symbolic_addresses
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation
from xeemu.knowledge.budget import BudgetedGrid
from xeemu.knowledge.expressions import Expression, LoopAxis
from xeemu.knowledge.growth import STILL, Growths
from xeemu.knowledge.periodicity import Box, Progressions, Split

_MOST_ELEMENTS = 1 << 20


def of_both(one: "KnownAccess", other: "KnownAccess") -> tuple[np.ndarray, np.ndarray] | None:
    """`[points, n]` elements that an access touches in both programs; -1 of who takes no part. None if nobody knows.

    Each point is a group and an iteration of outer loops, and `n` are its iterations of the innermost one by its
    work-items. After these points all is as before, but for addresses that move by one distance in both programs.
    """
    if one.box is None or other.box is None or list(one.box.values()) != list(other.box.values()):
        return None
    try:
        chosen = [_first(one, other, *axes) for axes in zip(one.box, other.box, strict=True)]
    except Split:
        return None
    found = [indices for indices in chosen if indices is not None]
    values = math.prod(map(len, found)) * math.prod(one.operation.access.shape)
    if len(found) < len(chosen) or values > _MOST_ELEMENTS:
        return None
    here, there = (
        each.elements(dict(zip(axes, found, strict=True))) for each, axes in ((one, one.box), (other, other.box))
    )
    return here, there


def _first(one: "KnownAccess", other: "KnownAccess", axis: LoopAxis, partner: LoopAxis) -> range | None:
    """The indices along an axis of both programs that stand for all; None if none do."""
    assert one.box is not None
    indices = one.box[axis]
    if axis in one.own:
        return indices
    period = math.lcm(one.period(axis), other.period(partner))
    further = one.growth(axis, period) | other.growth(partner, period)
    return indices[:period] if len(further) == 1 or period >= len(indices) else None


@dataclasses.dataclass(frozen=True, eq=False)
class KnownAccess:
    """An access of which it may be known when which work-items touch which elements.

    Attributes:
      operation: the access.
      tree: its program.
    """

    operation: MemoryOperation
    tree: AccessTree

    @functools.cached_property
    def own(self) -> tuple[LoopAxis, ...]:
        """The axis of the innermost loop, if it is in its body."""
        node = self.operation.node
        return () if node.parent is None else epochs.own_axes(node)

    @functools.cached_property
    def box(self) -> Box | None:
        """All of its executions; None if they are not known, or of several parts."""
        boxes = self.operation.node.boxes
        if len(boxes) != 1 or not instances.is_exact(self.operation, self.tree):
            return None
        axes = tuple(boxes[0])
        return boxes[0] if axes[len(axes) - len(self.own) :] == self.own else None

    @functools.cached_property
    def _known(self) -> tuple[Expression, ...]:
        """What decides on the access: its index, its mask, and on what conditions it is executed."""
        mask = symbolic_addresses.lane_mask(self.operation, self.tree)
        return (self.operation.linear_index, mask, *self.operation.node.conditions)

    @functools.cached_property
    def _growths(self) -> list[Growths]:
        assert self.box is not None
        inside = Progressions(self.box)
        return [inside.of(e) for e in self._known]

    def period(self, axis: LoopAxis) -> int:
        """After how many indices along an axis all is as before."""
        return math.lcm(*(each.get(axis, STILL).period for each in self._growths))

    def growth(self, axis: LoopAxis, period: int) -> set[int]:
        """How much further its elements are after a period."""
        return set(np.unique(self._growths[0].get(axis, STILL).over(period)).tolist())

    def elements(self, points: Mapping[LoopAxis, range]) -> np.ndarray:
        """`[points, n]`, as of `of_both`."""
        grid = BudgetedGrid({axis: np.array(indices) for axis, indices in points.items()})
        index, mask, *conditions = self._known
        taken = symbolic_addresses.active_at(self.operation, grid, mask, conditions)
        positions = symbolic_addresses.chosen(self.operation)
        elements = symbolic_addresses.flat(grid, index, self.operation.access.shape, positions)
        outer = math.prod(len(indices) for axis, indices in points.items() if axis not in self.own)
        return np.where(taken, elements, -1).reshape(outer, -1)
