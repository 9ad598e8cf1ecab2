"""Row ownership: memories of which each row of work-groups has a part of its own, one row's after the other's."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from xeemu.knowledge import instances, periodicity
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation
from xeemu.knowledge.budget import Budget
from xeemu.knowledge.expressions import Expression, LoopAxis, TooLarge
from xeemu.knowledge.periodicity import Progressions
from xeemu.language.linearity import Allocation


@dataclasses.dataclass(frozen=True)
class _Reach:
    """Where along the first dimension of a memory some rows of groups access it by one operation.

    Attributes:
      first, count: the rows.
      least, most: index of any of them.
      step: how much further each row's indices are; None of a single row.
    """

    first: int
    count: int
    least: int
    most: int
    step: int | None

    def keeps_to(self, own: int) -> bool:
        """True if each row keeps to as many indices of its own."""
        steady = self.step is None or self.step == own
        return steady and self.first * own <= self.least and self.most < (self.first + self.count) * own


def rows_per_group_row(memory: Allocation, used: Sequence[MemoryOperation], tree: AccessTree) -> int | None:
    """How many indices along a memory's first dimension each row of groups along theirs has for itself.

    Args:
      memory: a global memory.
      used: all operations on it.
      tree: of the program.

    Returns:
      That number; the last row may have fewer, as the memory ends. None if rows may access each other's indices, masks
      left aside, or others than all of them; or if that is not known.
    """
    if not memory.elements or not all(instances.is_known(o) and o.node.boxes for o in used):
        return None
    try:
        with Budget().portion():
            reaches = [reach for operation in used for reach in _reaches(operation, tree)]
    except TooLarge:
        return None
    steps = {reach.step for reach in reaches if reach.step is not None}
    own, rows = steps.pop() if len(steps) == 1 else 0, tree.geometry.group_range[0]
    filled = (rows - 1) * own < memory.shape[0] <= rows * own
    return own if filled and all(reach.keeps_to(own) for reach in reaches) else None


def _reaches(operation: MemoryOperation, tree: AccessTree) -> list[_Reach]:
    index, axis = operation.index[0], tree.groups[0]

    def examine(inside: Progressions) -> _Reach:
        least, most = inside.extremes(index)
        rows = inside.box[axis]
        return _Reach(rows.start, len(rows), least, most, _step(inside, index, axis))

    return periodicity.divided(operation.node.boxes, examine)


def _step(inside: Progressions, index: Expression, axis: LoopAxis) -> int | None:
    """How much an index grows along an axis; 0 if that changes, None if the axis has one index."""
    if len(inside.box[axis]) == 1:
        return None
    step = inside.of(index).get(axis)
    growths = set[int]() if step is None or step.period > 1 else set(np.unique(step.delta).tolist())
    return growths.pop() if len(growths) == 1 else 0
