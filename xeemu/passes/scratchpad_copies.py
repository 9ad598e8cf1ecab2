"""Scratchpad copies: local memories that hold a part of a global memory unchanged, and where in it the part lies.

A kernel that uses local memory as a cache loads its group's elements and those of the neighbours there before the first
barrier. Whatever it loads from the copy it could load from the original as well, and beyond the edges of that what the
copy has for them.
"""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge import analysis, expressions, periodicity, symbolic_addresses, symbolic_execution
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation, Node
from xeemu.knowledge.analysis import Facts, Known
from xeemu.knowledge.budget import Budget, BudgetedGrid
from xeemu.knowledge.expressions import Expression, LoopAxis, TooLarge
from xeemu.knowledge.growth import STILL, Growth
from xeemu.knowledge.periodicity import Box, Progressions
from xeemu.language.linearity import Allocation
from xeemu.passes import drop_redundant_masks
from xeemu.passes.analyses import Analyses

# What may be spent on a program: a few tenths of a second.
_UNITS = 1 << 15
_MOST_VALUES = 1 << 17
# No comparison is a reason to look at some of the groups only: one that groups decide on is opaque, and no copy then.
_ALL = 1 << 62


Steps = tuple[tuple[int, ...], ...]
"""`[dimensions of the original][dimensions]` how much further elements lie there from one index to the next."""


@dataclasses.dataclass(frozen=True, eq=False)
class Copy:
    """A local memory that holds a part of a global memory.

    Of all elements that are loaded `e` of work-group `g` is element `start + steps . g + strides . e` of the original.

    Attributes:
      memory: the local memory.
      value: what its analysis calls it.
      original: the number of the argument that it is a part of.
      start: an element of the original, a component for each of its dimensions.
      steps: elements from one group to the next, for each dimension of the group id.
      strides: elements from one of the copy to the next, for each of its dimensions.
      outside: what those have that would lie beyond the original; None if none do.
    """

    memory: Allocation
    value: Known
    original: int
    start: tuple[int, ...]
    steps: Steps
    strides: Steps
    outside: Constant | None


def of_program(analyses: Analyses) -> tuple[Copy, ...]:
    """The copies that the groups make for which passes are made, if all that they load from them was stored before."""
    program, facts = analyses.program, analyses.facts
    rows = range(program.geometry.group_range[0]) if analyses.rows is None else analyses.rows
    if not program.geometry.groups or not rows or not _may_copy(facts):
        return ()
    local = [a for a in program.allocations if a.space == "local"]
    bounded = drop_redundant_masks.redundant(analyses)
    try:
        with Budget(_UNITS).portion():
            search = _Search(analyses, symbolic_execution.of_program(program, facts), rows, bounded)
            return tuple(copy for memory in local if (copy := search.copy(memory)) is not None)
    except TooLarge:
        return ()


def _may_copy(facts: Facts) -> bool:
    """True if there is a local memory to which nothing is stored but what was loaded from global ones."""
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
      copy_elements: `[k, dimensions]` elements of the local memory.
      elements: `[k, dimensions]` those of the global memory, which may lie beyond it.
      steps: what these grow by from group to group.
      outside: what is stored of those beyond; None if none lie there.
    """

    original: Allocation
    copy_elements: np.ndarray
    elements: np.ndarray
    steps: Steps
    outside: Constant | None

    def continues(self, others: Sequence["_Copied"]) -> bool:
        """True if it may be of the same part as some others."""
        return all((o.original, o.steps) == (self.original, self.steps) for o in others[:1])


class _Search:
    def __init__(self, analyses: Analyses, steps: AccessTree, rows: range, bounded: Collection[Op]):
        self.program, self.tree, self.bounded = analyses.program, steps, bounded
        self.groups: dict[LoopAxis, range] = {axis: range(axis.size) for axis in steps.groups}
        self.groups[steps.groups[0]] = rows
        self._numbers: dict[Node, Mapping[Value, int]] = {}
        # By the execution of a body, of which a loop may have one for each iteration.
        self.operations = {(o.node, o.key[1]): o for o in steps.root.operations()}

    def copy(self, memory: Allocation) -> Copy | None:
        """How a local memory copies a global one, if it does nothing else and is used for nothing else."""
        uses = [o for o in self.operations.values() if o.access_site.memory is memory]
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
        return self._joined(memory, known, loads) if known else None

    def _joined(self, memory: Allocation, known: Sequence[_Copied], loads: Sequence[MemoryOperation]) -> Copy | None:
        """The copy that several stores make, if they make one of all that is loaded from it."""
        copy_elements, elements = (
            np.concatenate(parts) for parts in zip(*((c.copy_elements, c.elements) for c in known), strict=True)
        )
        strides, others = _strides(copy_elements, elements), [c.outside for c in known if c.outside is not None]
        filled = np.zeros(memory.shape, bool)
        filled[tuple(copy_elements.T)] = True
        if strides is None or not all(_is_filled(load, filled) for load in loads):
            return None
        if others and (any(load.access.masked for load in loads) or not all(_is_equal(others[0], o) for o in others)):
            return None
        begun = np.array(known[0].steps) @ [r.start for r in self.groups.values()]
        start = elements[0] - copy_elements[0] @ strides - begun
        value = loads[0].node.facts.values[loads[0].op.operands[0]]
        number = self.program.arguments.index(known[0].original)
        each = tuple(map(tuple, strides.T.tolist()))
        return Copy(memory, value, number, tuple(start.tolist()), known[0].steps, each, next(iter(others), None))

    def _boxes(self, operation: MemoryOperation) -> list[Box]:
        """The executions of an access by the groups."""
        inside = [
            {axis: _common(r, self.groups[axis]) if axis in self.groups else r for axis, r in box.items()}
            for box in operation.node.boxes
        ]
        return [box for box in inside if all(map(len, box.values()))]

    def _copied(self, store: MemoryOperation) -> _Copied | None:
        """What a store copies, if all groups do the same but for where in the original it lies."""
        load = self._source(store)
        if load is None or not store.node.certain:
            return None
        passthrough = ops.passthrough(load.op) if load.op in self.bounded else None
        loaded_by = load.mask if passthrough is None else None
        masks = [symbolic_addresses.lane_mask(store, self.tree), loaded_by or expressions.TRUE]
        fixed = [*store.index, *masks, *store.node.conditions]
        if not all(e.known for e in (*load.index, *fixed)):
            return None
        facts = periodicity.divided(
            self._boxes(store), lambda inside: (inside.box, self._steps(inside, load.index, fixed)), points_limit=_ALL
        )
        found = {steps for _, steps in facts}
        if len(found) != 1 or None in found:
            return None
        (steps,) = found
        each = [self._lanes(store, box, (*masks, *load.index, *store.index)) for box, _ in facts]
        stored, loaded, *indices = (np.concatenate(parts) for parts in zip(*each, strict=True))
        elements, copy_elements = np.split(np.stack(indices, axis=1)[stored], [len(load.index)], axis=1)
        if steps is None or not len(copy_elements) or (stored & ~loaded).any():
            return None
        if passthrough is None and not self._are_inside(elements, steps, load.access_site.memory):
            return None
        return _Copied(load.access_site.memory, copy_elements, elements, steps, passthrough)

    def _are_inside(self, elements: np.ndarray, steps: Steps, memory: Allocation) -> bool:
        """True if some elements of the first group lie within bounds, and those of all others."""
        moved = np.array(steps) * [len(r) - 1 for r in self.groups.values()]
        low, high = (
            elements.min(axis=0) + np.minimum(moved, 0).sum(axis=1),
            elements.max(axis=0) + np.maximum(moved, 0).sum(axis=1),
        )
        return bool((low >= 0).all() and (high < memory.shape).all())

    def _source(self, store: MemoryOperation) -> MemoryOperation | None:
        """The load of a global memory that nobody changes whose result is stored as it is."""
        value = store.op.operands[1 + store.access.rank]
        number = None if isinstance(value, Constant) else self._defined(store.node).get(value)
        load = None if number is None else self.operations.get((store.node, number))
        if load is None or load.name != "load" or not _is_plain(load) or load.access.shape != store.access.shape:
            return None
        memory = load.access_site.memory
        unchanged = memory.space == "global" and memory not in self.program.written
        return load if unchanged and memory.dtype == store.access_site.memory.dtype else None

    def _defined(self, node: Node) -> Mapping[Value, int]:
        """For each value that a body computes the number of the operation that does."""
        if node not in self._numbers:
            self._numbers[node] = {v: number for number, op in enumerate(node.body.ops) for v in op.results}
        return self._numbers[node]

    def _steps(self, inside: Progressions, there: Sequence[Expression], fixed: Iterable[Expression]) -> Steps | None:
        """How far apart in the original neighbouring groups' elements lie; None if anything else differs."""
        whole = all(inside.box[axis] == groups for axis, groups in self.groups.items())
        if not whole or any(axis in inside.of(e) for e in fixed for axis in self.groups):
            return None
        steps = []
        for moving in map(inside.of, there):
            each = [_regular(moving.get(axis, STILL)) for axis in self.groups]
            steps.append(tuple(s for s in each if s is not None))
        return tuple(steps) if all(len(each) == len(self.groups) for each in steps) else None

    def _lanes(self, store: MemoryOperation, box: Box, known: Sequence[Expression]) -> list[np.ndarray]:
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
        mask = symbolic_addresses.active_at(store, grid, known[0], store.node.conditions)
        others = (symbolic_addresses.flat(grid, e, shape, positions) for e in known[1:])
        return [values.reshape(-1) for values in np.broadcast_arrays(mask, *others)]


def _is_plain(access: MemoryOperation) -> bool:
    return access.access.ordering is None and not access.access.block


def _moment(operation: MemoryOperation) -> int:
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


def _strides(copy_elements: np.ndarray, elements: np.ndarray) -> np.ndarray | None:
    """How far apart elements lie by the indices of their copies; None if that is not the same everywhere.

    Args:
      copy_elements: `[k, dimensions]` of the copy.
      elements: `[k, dimensions of the original]`.

    Returns:
      `[dimensions, dimensions of the original]`; 0 for a dimension in which all indices are the same.
    """
    here, there = copy_elements - copy_elements[0], elements - elements[0]
    strides = np.rint(np.linalg.lstsq(here, there, rcond=None)[0]).astype(np.int64)
    return strides if (here @ strides == there).all() else None


def _is_equal(a: Constant, b: Constant) -> bool:
    return a.array.tobytes() == b.array.tobytes()


def _is_filled(load: MemoryOperation, filled: np.ndarray) -> bool:
    """True if all that a load at a known address may touch has been stored."""
    touched = []
    for component, size in zip(load.index, filled.shape, strict=True):
        if not component.known or component.interval is None:
            return False
        low, high = component.interval
        if low < 0 or high >= size:
            return False
        touched.append(slice(low, high + 1))
    return bool(filled[tuple(touched)].all())
