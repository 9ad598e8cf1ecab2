"""Scratchpad copies: local memories that hold a stretch of a global memory unchanged, and where in it the stretch lies.

A kernel that uses local memory as a cache loads its group's elements and those of the neighbours there before the first
barrier. Whatever it loads from the copy it could load from the original as well.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge import analysis, expressions, periodicity, symbolic_addresses, symbolic_execution
from xeemu.knowledge.access_tree import AccessTree, Node, Operation
from xeemu.knowledge.analysis import Facts, Known
from xeemu.knowledge.budget import Budget, BudgetedGrid
from xeemu.knowledge.expressions import Axis, Expression, TooLarge
from xeemu.knowledge.growth import STILL, Growth
from xeemu.knowledge.periodicity import Box, Progressions
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program

# What may be spent on a program: a few tenths of a second.
_UNITS = 1 << 15
_MOST_VALUES = 1 << 17
# No comparison is a reason to look at some of the groups only: one that groups decide on is opaque, and no copy then.
_ALL = 1 << 62


@dataclasses.dataclass(frozen=True, eq=False)
class Copy:
    """A local memory that holds a stretch of a global memory.

    Element `e` of work-group `g` is element `start + steps . g + e` of the original, for all elements that are loaded.

    Attributes:
      memory: the local memory.
      value: what its analysis calls it.
      original: the number of the argument that it is a part of.
      start: an element of the original.
      steps: elements from one group to the next, for each dimension of the group id.
    """

    memory: Allocation
    value: Known
    original: int
    start: int
    steps: tuple[int, ...]


def of_program(program: Program, facts: Facts, rows: range | None) -> tuple[Copy, ...]:
    """The copies that some work-groups of a launch make, if all that they load from them was stored before.

    Args:
      program: the program.
      facts: its analysis.
      rows: the groups, along the first dimension of the group range; None for all.
    """
    if rows is None:
        rows = range(program.geometry.group_range[0])
    if not program.geometry.groups or not rows or not _may_copy(facts):
        return ()
    local = [a for a in program.allocations if a.space == "local" and len(a.shape) == 1]
    try:
        with Budget(_UNITS).portion():
            search = _Search(program, symbolic_execution.of_program(program, facts), rows)
            return tuple(copy for memory in local if (copy := search.copy(memory)) is not None)
    except TooLarge:
        return ()


def _may_copy(facts: Facts) -> bool:
    """Whether there is a local memory to which nothing is stored but what was loaded from global ones."""
    copied = dict[Known, bool]()
    for part in analysis.executed(facts):
        loaded = {op.results[0]: part.values[op.operands[0]] for op in part.body.ops if op.name == ops.LOAD}
        for op in part.body.ops:
            if op.name in ops.ACCESSES and ops.of(op).writes:
                memory, source = part.values[op.operands[0]], _stored(op, loaded)
                copied[memory] = copied.get(memory, True) and source is not None and source.space == "global"
    return any(memory.space == "local" and only for memory, only in copied.items())


def _stored(op: Op, loaded: Mapping[Value, Known]) -> Known | None:
    """The memory from which a store's value was loaded."""
    value = op.operands[1 + op.attributes["access"].rank] if op.name == ops.STORE else None
    return None if value is None or isinstance(value, Constant) else loaded.get(value)


@dataclasses.dataclass(frozen=True, eq=False)
class _Copied:
    """What one store copies in the first of the groups.

    Attributes:
      original: the global memory.
      places: `[k]` elements of the local memory.
      shift: how much further they lie in the global memory.
      steps: what the shift grows by from group to group.
    """

    original: Allocation
    places: np.ndarray
    shift: int
    steps: tuple[int, ...]

    def continues(self, others: Sequence["_Copied"]) -> bool:
        """Whether it is of the same stretch as some others."""
        return all((o.original, o.shift, o.steps) == (self.original, self.shift, self.steps) for o in others[:1])


class _Search:
    def __init__(self, program: Program, steps: AccessTree, rows: range):
        self.program, self.tree = program, steps
        self.groups: dict[Axis, range] = {axis: range(axis.size) for axis in steps.groups}
        self.groups[steps.groups[0]] = rows
        self._numbers: dict[Node, Mapping[Value, int]] = {}
        # By the execution of a body, of which a loop may have one for each iteration.
        self.operations = {(o.node, o.key[1]): o for o in steps.root.operations()}

    def copy(self, memory: Allocation) -> Copy | None:
        """How a local memory copies a global one, if it does nothing else and is used for nothing else."""
        uses = [o for o in self.operations.values() if o.place.memory is memory]
        stores = [o for o in uses if o.name == "store"]
        loads = [o for o in uses if o.name == "load"]
        if not stores or not loads or len(stores) + len(loads) < len(uses) or not all(map(_is_plain, uses)):
            return None
        if max(map(_moment, stores)) >= min(map(_moment, loads)):
            return None
        known: list[_Copied] = []
        for store in filter(self._boxes, stores):
            part = self._copied(store)
            if part is None or not part.continues(known):
                return None
            known.append(part)
        if not known:
            return None
        filled = np.zeros(memory.elements, bool)
        filled[np.concatenate([part.places for part in known])] = True
        if not all(_finds(load, filled) for load in loads):
            return None
        first = known[0]
        start = first.shift - sum(step * r.start for step, r in zip(first.steps, self.groups.values(), strict=True))
        value = loads[0].node.facts.values[loads[0].op.operands[0]]
        return Copy(memory, value, self.program.arguments.index(first.original), start, first.steps)

    def _boxes(self, operation: Operation) -> list[Box]:
        """The executions of an access by the groups."""
        inside = [
            {axis: _common(r, self.groups[axis]) if axis in self.groups else r for axis, r in box.items()}
            for box in operation.node.boxes
        ]
        return [box for box in inside if all(map(len, box.values()))]

    def _copied(self, store: Operation) -> _Copied | None:
        """What a store copies, if all groups do the same but for where in the original it lies."""
        load = self._source(store)
        if load is None or not store.node.certain:
            return None
        there, here = load.linear_index, store.linear_index
        masks = [symbolic_addresses.lane_mask(store, self.tree), load.mask or expressions.constant(True)]
        alike = [here, *masks, *store.node.conditions]
        if not all(e.known for e in (there, *alike)):
            return None
        facts = periodicity.divided(
            self._boxes(store), lambda inside: (inside.box, self._steps(inside, there, alike)), few=_ALL
        )
        found = {steps for _, steps in facts if steps is not None}
        if len(found) != 1 or any(steps is None for _, steps in facts):
            return None
        (steps,) = found
        stored, loaded, elements, places = (
            np.concatenate(parts)
            for parts in zip(*(self._lanes(store, box, (*masks, there, here)) for box, _ in facts), strict=True)
        )
        elements, places = elements[stored], places[stored]
        shifts = elements - places
        if not len(shifts) or (shifts != shifts[0]).any() or (stored & ~loaded).any():
            return None
        if not self._are_inside(elements, steps, load.place.memory):
            return None
        return _Copied(load.place.memory, places, int(shifts[0]), steps)

    def _are_inside(self, elements: np.ndarray, steps: tuple[int, ...], memory: Allocation) -> bool:
        """Whether some elements of the first group lie within bounds, and those of all others."""
        moved = [step * (len(r) - 1) for step, r in zip(steps, self.groups.values(), strict=True)]
        low = elements.min() + sum(min(m, 0) for m in moved)
        high = elements.max() + sum(max(m, 0) for m in moved)
        return bool(low >= 0 and high < memory.elements)

    def _source(self, store: Operation) -> Operation | None:
        """The load of a global memory that nobody changes whose result is stored as it is."""
        value = store.op.operands[1 + store.access.rank]
        number = None if isinstance(value, Constant) else self._defined(store.node).get(value)
        load = None if number is None else self.operations.get((store.node, number))
        if load is None or load.name != "load" or not _is_plain(load) or load.access.shape != store.access.shape:
            return None
        memory = load.place.memory
        kept = memory.space == "global" and len(memory.shape) == 1 and memory not in self.program.written
        return load if kept and memory.dtype == store.place.memory.dtype else None

    def _defined(self, node: Node) -> Mapping[Value, int]:
        """For each value that a body computes the number of the operation that does."""
        if node not in self._numbers:
            self._numbers[node] = {v: number for number, op in enumerate(node.body.ops) for v in op.results}
        return self._numbers[node]

    def _steps(self, inside: Progressions, there: Expression, alike: Iterable[Expression]) -> tuple[int, ...] | None:
        """How far apart in the original neighbouring groups' elements lie; None if anything else differs."""
        whole = all(inside.box[axis] == groups for axis, groups in self.groups.items())
        if not whole or any(axis in inside.of(e) for e in alike for axis in self.groups):
            return None
        moving = inside.of(there)
        steps = [_regular(moving.get(axis, STILL)) for axis in self.groups]
        return None if None in steps else tuple(s for s in steps if s is not None)

    def _lanes(self, store: Operation, box: Box, known: Sequence[Expression]) -> list[np.ndarray]:
        """`[k]` values for each lane and execution of a store by the first group; the first of them is its mask.

        Raises:
          TooLarge: they are too many.
        """
        points = {axis: np.arange(r.start, r.start + 1 if axis in self.groups else r.stop) for axis, r in box.items()}
        shape, positions = store.access.shape, symbolic_addresses.chosen(store)
        count = len(positions) * math.prod(map(len, points.values()))
        if count > _MOST_VALUES:
            raise TooLarge
        grid = BudgetedGrid(points)
        mask = symbolic_addresses.taken_at(store, grid, known[0], store.node.conditions)
        others = (symbolic_addresses.flat(grid, e, shape, positions) for e in known[1:])
        return [values.reshape(-1) for values in np.broadcast_arrays(mask, *others)]


def _is_plain(access: Operation) -> bool:
    return access.access.ordering is None and not access.access.block


def _moment(operation: Operation) -> int:
    """The number of the kernel's own operation that an access belongs to."""
    number, node = operation.key[1], operation.node
    while node.parent is not None:
        number, node = node.number or 0, node.parent
    return number


def _common(a: range, b: range) -> range:
    return range(max(a.start, b.start), min(a.stop, b.stop))


def _regular(step: Growth) -> int | None:
    """The growth from an index to the next, if it is the same for all elements."""
    growth = np.unique(step.delta)
    return int(growth[0]) if step.period == 1 and len(growth) == 1 else None


def _finds(load: Operation, filled: np.ndarray) -> bool:
    """Whether all that a load at a known place may touch has been stored."""
    index = load.linear_index
    if not index.known or index.interval is None:
        return False
    low, high = index.interval
    return low >= 0 and high < len(filled) and bool(filled[low : high + 1].all())
