"""Multiplicity: how often the points of a box are executed, and after how many indices all repeats.

Axis legend: n points of an axis.
"""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from xeemu.knowledge import budget, periodicity
from xeemu.knowledge.budget import BudgetedGrid
from xeemu.knowledge.expressions import Expression, Grid, LoopAxis, TooLarge
from xeemu.knowledge.periodicity import Progressions

# Points that are looked at together, and values that are multiplied with a unit of effort.
_MOST_POINTS = 1 << 22
_VALUES = 1 << 11


def executed(conditions: Sequence[Expression], inside: Progressions) -> int:
    if not conditions:
        return periodicity.points(inside.box)
    return int(times(inside, {}, conditions).sum())


def times(inside: Progressions, periods: Mapping[LoopAxis, int], conditions: Sequence[Expression]) -> np.ndarray:
    """Integers `[n for each axis]`: the executions that each representative for some periods stands for.

    A condition depends on some of the axes. So the conditions are not looked at on all points of the box, but one axis
    after the other is summed up in the product of those that depend on it.
    """
    # So many executions need Python's own integers.
    dtype = np.dtype(np.int64 if periodicity.points(inside.box) < 2**63 else object)
    grid, weights = inside.representatives(joined(inside, periods, conditions))
    rank = len(weights)
    kept = [max(1, min(periods.get(axis, 1), len(indices))) for axis, indices in inside.box.items()]
    factors = [w.reshape([-1 if d == k else 1 for d in range(rank)]).astype(dtype) for k, w in enumerate(weights)]
    if not conditions and kept == [len(w) for w in weights]:
        budget.spend(rank)
        return np.broadcast_to(math.prod(factors), kept)
    factors += [_holds(inside, grid, condition).astype(dtype) for condition in conditions]
    waiting = set(range(rank))
    while waiting:
        sizes = {k: math.prod(np.broadcast_shapes((), *(f.shape for f in factors if f.shape[k] > 1))) for k in waiting}
        axis = min(waiting, key=lambda k: (sizes[k], k))
        if sizes[axis] > _MOST_POINTS:
            raise TooLarge
        waiting.remove(axis)
        budget.spend(1 + sizes[axis] / _VALUES)
        product = functools.reduce(np.multiply, (f for f in factors if f.shape[axis] > 1), np.ones((1,) * rank, dtype))
        factors = [f for f in factors if f.shape[axis] == 1] + [_folded(product, axis, kept[axis])]
    return np.broadcast_to(math.prod(factors), kept)


def joined(
    inside: Progressions, periods: Mapping[LoopAxis, int], repeating: Iterable[Expression]
) -> dict[LoopAxis, int]:
    """Periods of each axis with which all else repeats too."""
    joint = dict(periods)
    for expression in repeating:
        for axis, step in inside.of(expression).items():
            joint[axis] = math.lcm(joint.get(axis, 1), step.period)
    return joint


def _holds(inside: Progressions, grid: Grid, condition: Expression) -> np.ndarray:
    """bool `[n or 1 for each axis]`: true if a condition holds, 1 for axes along which it does not change."""
    moving = inside.of(condition)
    points = {axis: values if axis in moving else values[:1] for axis, values in grid.points.items()}
    return BudgetedGrid(points).of(condition)


def _folded(array: np.ndarray, axis: int, period: int) -> np.ndarray:
    """An array whose entries along an axis that are multiples of a period apart are added up."""
    count = array.shape[axis]
    shape = (*array.shape[:axis], -1, period, *array.shape[axis + 1 :])
    if missing := -count % period:
        array = np.pad(array, [(0, missing if d == axis else 0) for d in range(array.ndim)])
    return np.asarray(array.reshape(shape).sum(axis))
