"""Instances: the executions of known accesses, one by one, by a few work-groups that stand for all.

An *excerpt* is some groups that stand for a part of the launch. Accesses do the same in all groups of that part, but
for addresses that move together from group to group; so what holds among those of the excerpt holds in the whole part.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from xeemu.knowledge import budget, periodicity, symbolic_addresses
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation
from xeemu.knowledge.expressions import Expression, Grid, LoopAxis, TooLarge
from xeemu.knowledge.growth import STILL, Growth
from xeemu.knowledge.periodicity import Box, Progressions

Excerpt = Mapping[LoopAxis, np.ndarray]
"""Indices that stand for a part of the launch: of groups along each axis of their id, of iterations of some loops."""

_MOST = 1 << 22  # instances that are listed
_MOST_REGIONS = 1 << 8  # parts that a launch is cut into
_INSTANCES_OF_A_UNIT = 1 << 8  # that are listed for a unit of the budget


@dataclasses.dataclass(frozen=True)
class Clock:
    """A count that only grows as a kernel runs, where an operation is executed.

    Attributes:
      offset: the count in the first iteration of all loops around the operation.
      steps: what each iteration of a loop adds.
    """

    offset: int
    steps: Mapping[LoopAxis, int]

    def at(self, points: Mapping[LoopAxis, np.ndarray]) -> np.ndarray:
        """`[n for each axis]` int64 counts at the points of some axes."""
        shape = tuple(map(len, points.values()))
        total = np.full(shape, self.offset, np.int64)
        for number, (axis, values) in enumerate(points.items()):
            if step := self.steps.get(axis):
                total += step * values.reshape(-1, *(1,) * (len(shape) - number - 1))
        return total


@dataclasses.dataclass(frozen=True, eq=False)
class Instances:
    """Accesses by work-items to elements, `k` of them.

    Attributes:
      group: `[k]` number of the group among an excerpt's.
      item: `[k]` linear local id.
      element: `[k]` linear index into the memory.
      counts: for each clock `[k]`.
    """

    group: np.ndarray
    item: np.ndarray
    element: np.ndarray
    counts: tuple[np.ndarray, ...]


def is_known(operation: MemoryOperation) -> bool:
    """True if an access's addresses follow from group ids and loop counters."""
    return operation.linear_index.known


def is_exact(operation: MemoryOperation, tree: AccessTree) -> bool:
    """True if it is known in what executions which work-items access which elements."""
    known = is_known(operation) and symbolic_addresses.lane_mask(operation, tree).known
    return known and operation.node.certain and all(c.known for c in operation.node.conditions)


# --- Excerpts ---


def excerpts(
    operations: Sequence[MemoryOperation],
    tree: AccessTree,
    paced: Callable[[LoopAxis], bool] = lambda loop: False,
    fixed: bool = False,
) -> list[Excerpt]:
    """Groups and iterations that stand for the whole launch as far as some known accesses go.

    Of a loop without a barrier in which the accesses only repeat, the first iterations stand for all. Of a paced loop
    the first and the last do, even if all addresses move together.

    Args:
      operations: the accesses.
      tree: their program.
      paced: true if a loop has a barrier, so that only accesses of neighbouring iterations meet.
      fixed: true if groups stand for others only if they access the very same elements.

    Raises:
      TooLarge: there are too many.
    """
    facts = [part for operation in operations for part in progress(operation, tree)]
    cuts = [_cuts(axis, [fact.box for fact in facts]) for axis in tree.groups]
    if math.prod(map(len, cuts)) > _MOST_REGIONS:
        raise TooLarge
    loops = dict.fromkeys(axis for fact in facts for axis in fact.box if axis not in tree.groups)
    iterations = {axis: _iterations(axis, facts, paced(axis)) for axis in loops}
    return [
        {axis: _indices(axis, part, facts, fixed) for axis, part in zip(tree.groups, parts, strict=True)} | iterations
        for parts in itertools.product(*cuts)
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class Progress:
    """How an access moves with the group id inside a box.

    Attributes:
      box: the part of its executions.
      index: how its linear index steps.
      still: how its mask and conditions repeat.
    """

    box: Box
    index: Mapping[LoopAxis, Growth]
    still: Sequence[Mapping[LoopAxis, Growth]]


def progress(operation: MemoryOperation, tree: AccessTree) -> list[Progress]:
    """How a known access moves in each part of its executions.

    Raises:
      TooLarge: that would take too much effort.
    """
    deciding = _deciding(operation, tree)

    def examine(inside: Progressions) -> Progress:
        return Progress(inside.box, inside.of(operation.linear_index), [inside.of(e) for e in deciding])

    return periodicity.divided(operation.node.boxes, examine)


def _deciding(operation: MemoryOperation, tree: AccessTree) -> list[Expression]:
    """What decides on the elements of an access and is known: of the mask what it may leave, and the conditions."""
    conditions = [c for c in operation.node.conditions if c.known]
    return [symbolic_addresses.possible(operation, tree), *conditions]


def _cuts(axis: LoopAxis, boxes: Sequence[Box]) -> list[range]:
    """The axis between the ends of all boxes."""
    ends = sorted({0, axis.size, *(end for box in boxes for end in (box[axis].start, box[axis].stop))})
    return [range(a, b) for a, b in itertools.pairwise(ends)]


def _indices(axis: LoopAxis, part: range, facts: Sequence[Progress], fixed: bool) -> np.ndarray:
    """The first groups along a part of an axis, after which all repeats."""
    period, growth = common(axis, part, facts)
    moving = len(growth) > 1 or (fixed and any(growth))
    count = len(part) if moving else min(period, len(part))
    return np.arange(part.start, part.start + _few(count))


def _iterations(axis: LoopAxis, facts: Sequence[Progress], paced: bool) -> np.ndarray:
    """Iterations of a loop that stand for all."""
    around = [fact for fact in facts if axis in fact.box]
    chosen = []
    for part in _cuts(axis, [fact.box for fact in around]):
        period, growth = common(axis, part, around)
        repeats = len(growth) <= 1 and (paced or not any(growth))
        ends = period + 1 if repeats else len(part)
        chosen += [part[:ends], part[max(len(part) - ends, 0) :]]
    return np.unique(np.concatenate([np.arange(r.start, r.start + _few(len(r))) for r in chosen]))


def common(axis: LoopAxis, part: range, facts: Sequence[Progress]) -> tuple[int, set[int]]:
    """After how many indices of a part of an axis the accesses repeat, and by how much their addresses grow."""
    within = [fact for fact in facts if fact.box[axis].start < part.stop and part.start < fact.box[axis].stop]
    steps = [fact.index.get(axis, STILL) for fact in within]
    period = math.lcm(*(s.period for s in steps), *(m[axis].period for f in within for m in f.still if axis in m))
    if period >= len(part):
        return period, {0}
    return period, {int(delta) for step in steps for delta in np.unique(step.over(period))}


def _few(count: int) -> int:
    if count > _MOST:
        raise TooLarge
    return count


# --- Executions ---


def of_operation(
    operation: MemoryOperation, tree: AccessTree, excerpt: Excerpt, clocks: Sequence[Clock], everyone: bool
) -> Instances:
    """What a known access does in an excerpt; with too little known of its executions, all that it could do.

    Args:
      operation: the access.
      tree: its program.
      excerpt: the groups.
      clocks: what to count for each instance.
      everyone: true if a load of one element for a whole group counts for each work-item, or for the first and last.

    Raises:
      TooLarge: that would be too much.
    """
    known = (operation.linear_index, *_deciding(operation, tree))
    parts = [_in_box(operation, box, excerpt, known, clocks, tree, everyone) for box in operation.node.boxes]
    return _joined([part for part in parts if part is not None], len(clocks))


def _in_box(
    operation: MemoryOperation,
    box: Box,
    excerpt: Excerpt,
    known: Sequence[Expression],
    clocks: Sequence[Clock],
    tree: AccessTree,
    everyone: bool,
) -> Instances | None:
    index, mask, *conditions = known
    items = _items(operation, tree, everyone)
    points, number = _points(box, excerpt, known, clocks, tree.groups)
    count = math.prod(map(len, points.values())) * len(items)
    if count > _MOST:
        raise TooLarge
    budget.spend(1 + count / _INSTANCES_OF_A_UNIT)
    if not all(map(len, points.values())) or not len(items):
        return None
    grid = Grid(points)
    active = symbolic_addresses.active_at(operation, grid, mask, conditions)
    element = symbolic_addresses.flat(grid, index, operation.access.shape, symbolic_addresses.chosen(operation))
    counts = [clock.at(points).reshape(-1, 1) for clock in clocks]
    lead = (len(number), len(items))
    active, element, group, item, *counts = (
        np.broadcast_to(a, lead) for a in (active, element, number[:, None], items[None], *counts)
    )
    return Instances(group[active], item[active], element[active], tuple(c[active] for c in counts))


def _items(operation: MemoryOperation, tree: AccessTree, everyone: bool) -> np.ndarray:
    """`[n]` work-item of each position of an access; for one element of a whole group all, or the first and last."""
    items = tree.geometry.items
    if not operation.access.shape:
        return np.arange(items) if everyone else np.unique([0, items - 1])
    return symbolic_addresses.chosen(operation) // (math.prod(operation.access.shape) // items)


def _points(
    box: Box, excerpt: Excerpt, known: Sequence[Expression], clocks: Sequence[Clock], groups: Sequence[LoopAxis]
) -> tuple[dict[LoopAxis, np.ndarray], np.ndarray]:
    """Indices of each axis in a box, and for each combination of them the number of its group in the excerpt."""
    needed = frozenset().union(*(e.axes for e in known), *(clock.steps for clock in clocks), groups)
    points: dict[LoopAxis, np.ndarray] = {}
    number, stride = np.zeros((1,) * len(box), np.int64), groups_of(excerpt, groups)
    for position, (axis, indices) in enumerate(box.items()):
        every = excerpt[axis] if axis in excerpt else np.arange(indices.start, indices.stop)
        inside = np.flatnonzero((every >= indices.start) & (every < indices.stop))
        points[axis] = every[inside] if axis in needed else every[inside[:1]]
        if axis in groups:
            stride //= len(every)
            number = number + (inside * stride).reshape(-1, *(1,) * (len(box) - position - 1))
    shape = tuple(map(len, points.values()))
    return points, np.broadcast_to(number, shape).reshape(-1)


def _joined(parts: Sequence[Instances], clocks: int) -> Instances:
    nothing = np.zeros(0, np.int64)
    each = [(part.group, part.item, part.element, *part.counts) for part in parts]
    group, item, element, *counts = map(np.concatenate, zip((nothing,) * (3 + clocks), *each, strict=True))
    return Instances(group, item, element, tuple(counts))


def everywhere(tree: AccessTree) -> Excerpt:
    """All groups of the launch."""
    return {axis: np.arange(axis.size) for axis in tree.groups}


def groups_of(excerpt: Excerpt, groups: Sequence[LoopAxis]) -> int:
    """How many groups of an excerpt there are."""
    return math.prod(len(excerpt[axis]) for axis in groups)
