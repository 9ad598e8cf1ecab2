"""Periodicity: how an expression changes along an axis, and the parts of its axes on which it changes regularly.

Along an axis most values *step*: from one index to the one a period later they grow by a constant. `8 * group + lane`
steps by 8 with period 1, `group % 3` by 0 with period 3, `group // 3` by 1 with period 3. Comparisons of values that
step come out the same on all but a small part of a long axis; where they do not, the *box*, a range of each axis, is
split, until in every box all is regular. Then a few points of each box stand for all of them.
"""

import bisect
import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.knowledge import budget, constant_folding, expressions, growth
from xeemu.knowledge.budget import Budget, BudgetedGrid
from xeemu.knowledge.expressions import AXIS, UNKNOWN, Expression, Grid, LoopAxis, TooLarge
from xeemu.knowledge.growth import STILL, Growth, Growths, difference

Box = Mapping[LoopAxis, range]
"""Indices of each axis: a part of all executions."""

# So many values are looked at one by one rather than divided into boxes; beyond so many boxes all is given up.
FEW_VALUES = 1 << 17
_FEW_POINTS = 1 << 14
_MOST_BOXES = 1 << 12
_MOST_CORNERS = 1 << 16
_LONGEST = (1 << 63) - 1


class Split(Exception):
    """A box has to be divided into these parts, since a comparison comes out differently on them."""

    def __init__(self, boxes: Sequence[Box]):
        super().__init__()
        self.boxes = boxes


def points(box: Box) -> int:
    """How many combinations of indices a box holds."""
    return math.prod(len(indices) for indices in box.values())


def divided(
    boxes: Sequence[Box], examine: Callable[["Progressions"], Any], points_limit: int = FEW_VALUES
) -> list[Any]:
    """What `examine` gives for each part of some boxes, which it may split.

    Args:
      boxes: the boxes.
      examine: looks at one of them.
      points_limit: comparisons of no more values are left as they are where they come out differently.

    Raises:
      TooLarge: there would be too many parts, or it would take too much effort.
    """
    limited = contextlib.nullcontext() if budget.is_limited() else Budget(budget.UNITS_OF_DIVISION).portion()
    with limited:
        return _divided(boxes, examine, points_limit)


def _divided(boxes: Sequence[Box], examine: Callable[["Progressions"], Any], points_limit: int) -> list[Any]:
    if any(indices.stop - indices.start > _LONGEST for box in boxes for indices in box.values()):
        raise TooLarge
    results, waiting = [], list(reversed(boxes))
    while waiting:
        box = waiting.pop()
        try:
            results.append(examine(Progressions(box, points_limit)))
        except Split as split:
            waiting += reversed(split.boxes)
        if len(results) + len(waiting) > max(_MOST_BOXES, 2 * len(boxes)):
            raise TooLarge
    return results


class Progressions:
    """How known expressions change inside one box.

    Attributes:
      box: ranges of the axes.
      points_limit: comparisons of no more values are no reason to split it.
    """

    def __init__(self, box: Box, points_limit: int = FEW_VALUES):
        self.box, self.points_limit = box, points_limit
        self._known: dict[int, tuple[Expression, dict[LoopAxis, Growth]]] = {}
        self._first = BudgetedGrid({axis: np.array(indices[:1]) for axis, indices in box.items()})

    def of(self, expression: Expression) -> Growths:
        """How a known expression steps along each axis of which it depends on inside the box.

        Raises:
          Split: a comparison has to be settled first.
          TooLarge: that would take too long.
        """
        for e in expressions.ordered(expression, self._known):
            budget.spend(1)
            self._known[id(e)] = e, self._steps(e)
        return self._get(expression)

    def first(self, expression: Expression) -> np.ndarray:
        """The value at the box's first point, `shape`; with no steps it is the value everywhere."""
        return self._first.of(expression).reshape(expression.shape)

    def decided(self, condition: Expression) -> bool | None:
        """The value of a bool scalar, or None if it changes from point to point."""
        return None if self.of(condition) else bool(self.first(condition))

    def extremes(self, expression: Expression, part: Box | None = None) -> tuple[int, int]:
        """The least and greatest element of a known expression in the box, or in a part of it."""
        steps = self.of(expression)
        if any(step.period > 1 for step in steps.values()):
            if part is not None:
                return Progressions(part, self.points_limit).extremes(expression)
            values = self._ends(steps).of(expression)
            return (int(values.min()), int(values.max()))
        least = most = self.first(expression)
        for axis, step in steps.items():
            indices = self.box[axis] if part is None else part[axis]
            ends = [np.asarray(step.delta) * self.box[axis].index(end) for end in (indices[0], indices[-1])]
            least, most = least + np.minimum(*ends), most + np.maximum(*ends)
        return (int(least.min()), int(most.max()))

    def representatives(self, periods: Mapping[LoopAxis, int]) -> tuple[Grid, list[np.ndarray]]:
        """Points that stand for the whole box where everything repeats with these periods along its axes.

        Returns:
          The points, in the order of the box's axes, and for each axis how many indices each of its points stands for.
        """
        chosen, weights = {}, []
        for axis, indices in self.box.items():
            count = min(periods.get(axis, 1), len(indices))
            residues = np.arange(count)
            chosen[axis] = indices.start + residues
            weights.append((len(indices) - 1 - residues) // count + 1)
        return BudgetedGrid(chosen), weights

    # Rules.

    def _get(self, e: Expression) -> dict[LoopAxis, Growth]:
        return {} if e.constant else self._known[id(e)][1]

    def _extent(self, axis: LoopAxis) -> int:
        return len(self.box[axis])

    def _steps(self, e: Expression) -> dict[LoopAxis, Growth]:
        if e.op == UNKNOWN:
            raise ValueError("an expression that depends on data does not step")
        if e.op == AXIS:
            axis = e.params["axis"]
            return self._regular({axis: Growth(1, 1) if e.exact else self._opaque(axis)})
        if e.op in _COMPARISONS:
            return self._comparison(e)
        if e.op in _CHOICES:
            return self._choice(e, *_CHOICES[e.op](e))
        operands = [self._get(o) for o in e.operands]
        if e.op == "and" and e.dtype == bool and any(self._is_never(o) for o in e.operands):
            return {}
        axes = dict.fromkeys(axis for steps in operands for axis in steps)
        found = {axis: self._along(e, axis, [steps.get(axis, STILL) for steps in operands]) for axis in axes}
        return self._settled(e, self._regular(found))

    def _along(self, e: Expression, axis: LoopAxis, steps: Sequence[Growth]) -> Growth:
        rule = growth.RULES.get(e.op)
        result = rule(self.value_in_box, e, steps) if rule is not None and e.exact else None
        if result is not None:
            return result
        if all(step.still for step in steps):
            return Growth(math.lcm(*(step.period for step in steps)), 0)
        return self._opaque(axis)

    def _opaque(self, axis: LoopAxis) -> Growth:
        """Nothing is known: every index stands for itself."""
        return Growth(max(self._extent(axis), 1), 0)

    def _regular(self, steps: Mapping[LoopAxis, Growth]) -> dict[LoopAxis, Growth]:
        """Without axes of one index, or along which nothing changes, and with periods no longer than the axis."""
        regular = {}
        for axis, step in steps.items():
            extent = self._extent(axis)
            if extent > 1 and not (step.period == 1 and step.still):
                regular[axis] = step if step.period < extent else Growth(extent, 0)
        return regular

    def _settled(self, e: Expression, steps: dict[LoopAxis, Growth]) -> dict[LoopAxis, Growth]:
        """Of a bool that repeats: nothing, if it comes out the same at all points."""
        if not steps or e.dtype != bool or math.prod(s.period for s in steps.values()) > _FEW_POINTS:
            return steps
        values = self.representatives({axis: s.period for axis, s in steps.items()})[0].of(e)
        flat = values.reshape(-1, *e.shape)
        return {} if (flat == flat[:1]).all() else steps

    def _is_never(self, condition: Expression) -> bool:
        return not self._get(condition) and not self.first(condition).any()

    # Comparisons.

    def _comparison(self, e: Expression) -> dict[LoopAxis, Growth]:
        steps = self._difference(*e.operands)
        if all(step.still for step in steps.values()):
            return self._settled(e, steps)
        a, b = e.operands
        if self._is_decided(e.op, a, b, steps):
            return {}
        self._split(e.op, a, b, steps)
        return {axis: step if step.still else self._opaque(axis) for axis, step in steps.items()}

    def _difference(self, a: Expression, b: Expression) -> dict[LoopAxis, Growth]:
        steps = (self._get(a), self._get(b))
        axes = dict.fromkeys([*steps[0], *steps[1]])
        return self._regular({axis: difference(*(s.get(axis, STILL) for s in steps)) for axis in axes})

    def _is_decided(self, op: str, a: Expression, b: Expression, steps: Growths) -> bool:
        """True if a comparison comes out the same for every point of the box, for each element on its own.

        A difference that steps takes its extremes at the ends of the axes.
        """
        difference = _signs(self._ends(steps), a, b)
        flat = difference.reshape(-1, *np.broadcast_shapes(a.shape, b.shape))
        outcomes = _outcomes(op, flat)
        return bool((outcomes == outcomes[:1]).all())

    def _ends(self, steps: Growths) -> Grid:
        """The first and last period of each axis."""
        if math.prod(min(2 * step.period, self._extent(axis)) for axis, step in steps.items()) > _MOST_CORNERS:
            raise TooLarge
        return BudgetedGrid(
            {axis: _both_ends(r, steps[axis].period if axis in steps else 0) for axis, r in self.box.items()}
        )

    def _split(self, op: str, a: Expression, b: Expression, steps: Growths) -> None:
        """Cuts off the parts of the box in which a comparison is settled; returns if that is of no use."""
        values = points({axis: self.box[axis] for axis in steps}) * math.prod(np.broadcast_shapes(a.shape, b.shape))
        if values <= self.points_limit:
            return
        reach = {axis: _reach(step, self._extent(axis)) for axis, step in steps.items() if not step.still}
        for axis in sorted(reach, key=lambda axis: -reach[axis]):
            if parts := self._settled_ends(op, a, b, axis):
                raise Split([{**self.box, axis: part} for part in parts])
        if values > FEW_VALUES:
            longest = max(reach, key=lambda axis: reach[axis])
            indices = self.box[longest]
            middle = len(indices) // 2
            raise Split([{**self.box, longest: part} for part in (indices[:middle], indices[middle:])])

    def _settled_ends(self, op: str, a: Expression, b: Expression, axis: LoopAxis) -> list[range]:
        """An axis cut where a comparison is no longer settled, from either end; nothing if most of it stays open."""
        indices = self.box[axis]

        def settled(part: range) -> bool:
            inner = Progressions({**self.box, axis: part}, self.points_limit)
            try:
                inner.of(a), inner.of(b)
            except Split:
                return False
            return inner._is_decided(op, a, b, inner._difference(a, b))

        # Else a diagonal would be peeled off index by index.
        quarter = max(1, len(indices) // 4)
        if not (settled(indices[:quarter]) or settled(indices[len(indices) - quarter :])):
            return []
        head = _longest(len(indices), lambda count: settled(indices[:count]))
        tail = _longest(len(indices) - head, lambda count: settled(indices[len(indices) - count :]))
        cuts = (indices[:head], indices[head : len(indices) - tail], indices[len(indices) - tail :])
        return [part for part in cuts if len(part)] if 2 * len(cuts[1]) <= len(indices) else []

    def _choice(self, e: Expression, predicate: Expression, cases: Sequence[Expression]) -> dict[LoopAxis, Growth]:
        """Of `select_n`, and of what can be written so."""
        deciding = self.of(predicate)
        operands = [self.of(case) for case in cases]
        axes = dict.fromkeys(axis for steps in (deciding, *operands) for axis in steps)
        found = {}
        for axis in axes:
            steps = [s.get(axis, STILL) for s in operands]
            if not deciding:
                found[axis] = self._chosen(self.first(predicate), steps)
            elif all(step.still for step in steps):
                found[axis] = Growth(math.lcm(*(s.period for s in (*steps, deciding.get(axis, STILL)))), 0)
            else:
                found[axis] = self._opaque(axis)
        return self._settled(e, self._regular(found))

    def _chosen(self, predicate: np.ndarray, steps: Sequence[Growth]) -> Growth:
        chosen = [step for k, step in enumerate(steps) if (predicate == k).any()]
        if len(chosen) == 1:
            return chosen[0]
        period = math.lcm(*(step.period for step in steps))
        return Growth(period, np.choose(predicate.astype(np.intp), [step.over(period) for step in steps]))

    def value_in_box(self, e: Expression) -> np.ndarray | None:
        """The value of an expression that does not change inside the box, else None."""
        return None if self._get(e) else self.first(e)


def _both_ends(indices: range, count: int) -> np.ndarray:
    """The first and the last `count` indices, the first one at least."""
    if 2 * count >= len(indices):
        return np.arange(indices.start, indices.stop)
    head, tail = indices[: max(count, 1)], indices[len(indices) - count :]
    return np.concatenate([np.arange(part.start, part.stop) for part in (head, tail)])


def _reach(step: Growth, extent: int) -> float:
    """How far a value gets along an axis."""
    return float(np.abs(np.asarray(step.delta, np.float64)).max(initial=0.0)) * extent / step.period


def _longest(limit: int, holds: Callable[[int], bool]) -> int:
    """The greatest count up to a limit for which something holds that then holds for all smaller ones."""
    return bisect.bisect(range(1, limit + 1), False, key=lambda count: not holds(count))


def _signs(grid: Grid, a: Expression, b: Expression) -> np.ndarray:
    left, right = grid.of(a), grid.of(b)
    rank = max(left.ndim, right.ndim)
    left, right = (v.reshape(v.shape + (1,) * (rank - v.ndim)) for v in (left, right))
    return (left > right).astype(np.int8) - (left < right).astype(np.int8)


def _outcomes(op: str, signs: np.ndarray) -> np.ndarray:
    """What a comparison gives, of the signs of differences at ends: with two signs there may be a 0 between them."""
    return signs if op in ("eq", "ne") else np.asarray(constant_folding.ELEMENTWISE[op]({}, signs, 0))


_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))


def _absolute(e: Expression) -> tuple[Expression, Sequence[Expression]]:
    (x,) = e.operands
    zero = expressions.constant(0, x.dtype)
    negative = expressions.apply("neg", (x,), {}, x.shape, x.dtype, None, e.exact)
    return expressions.truth("lt", x, zero), (x, negative)


def _sign(e: Expression) -> tuple[Expression, Sequence[Expression]]:
    (x,) = e.operands
    zero, one, minus = (expressions.constant(np.full(x.shape, value), x.dtype) for value in (0, 1, -1))
    high, low = expressions.truth("gt", x, zero), expressions.truth("lt", x, zero)
    return low, (expressions.exact("select_n", high, zero, one, interval=(0, 1)), minus)


# Operations that choose among expressions: what decides, as a bool or a number, and the alternatives.
_CHOICES: dict[str, Callable[[Expression], tuple[Expression, Sequence[Expression]]]] = {
    "select_n": lambda e: (e.operands[0], e.operands[1:]),
    "min": lambda e: (expressions.truth("lt", e.operands[1], e.operands[0]), e.operands),
    "max": lambda e: (expressions.truth("gt", e.operands[1], e.operands[0]), e.operands),
    "abs": _absolute,
    "sign": _sign,
}
