"""Group sampling: accesses counted on some work-groups, where all are too many and nothing need be run.

Of an access whose index and mask are known, but repeat nowhere, work-groups drawn at random stand for all. What cannot
be counted even so stays unknown.
"""

from collections.abc import Sequence

import numpy as np

from xeemu.cost import census, counter, sampling
from xeemu.cost.census import Census
from xeemu.cost.costs import FIGURES
from xeemu.cost.sampling import Sample
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.periodicity import Box

GROUPS = 64
"""Work-groups on which is counted."""


def drawn(taken: Census) -> Sample | None:
    """The work-groups that stand for all; None where all of them would be few."""
    groups = taken.geometry.groups
    return sampling.draw(groups, groups, GROUPS) if groups > GROUPS else None


def estimated(keys: Sequence[Key], taken: Census, sample: Sample) -> tuple[np.ndarray, np.ndarray] | None:
    """The figures of some accesses together by all groups, Python ints `[F]`, and their standard errors.

    None if those of one are unknown. The accesses of a group go up and down together, so that they are added up group
    by group: errors of each alone would not tell that of the sum.
    """
    figures = np.zeros((sample.size, len(FIGURES)))
    for operation in (operation for key in keys for operation in taken.operations[key]):
        for row, number in enumerate(sample.table[0]):
            boxes = _of_group(operation.node.boxes, int(number), taken)
            count = census.count_in(operation, boxes, taken) if boxes else counter.NOTHING
            if count is None:
                return None
            figures[row] += count.figures.astype(np.float64)
    total, errors = sample.totals(figures.sum(0), (figures**2).sum(0))
    return total.astype(object), errors


def _of_group(boxes: Sequence[Box], number: int, taken: Census) -> list[Box]:
    """The parts of some boxes with the executions of a group."""
    ids = np.unravel_index(number, taken.geometry.group_range)
    at = dict(zip(taken.tree.groups, map(int, ids), strict=True))
    inside = [box for box in boxes if all(n in box[axis] for axis, n in at.items())]
    return [{**box, **{axis: range(n, n + 1) for axis, n in at.items()}} for box in inside]
