"""The counter: how often nodes are executed and what accesses cost, from points that stand for all executions.

Axis legend: Q instructions of sub-groups, S lanes, F figures, n elements of an access that may take part in a group.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from xeemu.cost import amounts, multiplicity, requests, vectors
from xeemu.cost.costs import FIGURES, Meter
from xeemu.cost.requests import WIDEST_BYTES
from xeemu.cost.vectors import Vector
from xeemu.devices.device import Device
from xeemu.knowledge import budget, expressions, periodicity, presence, symbolic_addresses
from xeemu.knowledge.access_tree import AccessTree, Key, MemoryOperation, Node
from xeemu.knowledge.budget import Budget
from xeemu.knowledge.expressions import Expression, Grid, LoopAxis, TooLarge
from xeemu.knowledge.periodicity import Box, Progressions
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation

# Lanes of an access that are looked at together; those that are looked at with a unit of effort.
_MOST_LANES = 1 << 22
_LOOKED_AT = 1 << 5
_WORD_BYTES = 4
# Conditions on no more values are looked at one by one; else boxes of executions are divided at where they change.
_FEW_VALUES = 1 << 13

_Part = TypeVar("_Part")


@dataclasses.dataclass(frozen=True, eq=False)
class Execution:
    """One execution of an access to local memory by a work-group.

    Attributes:
      excess: passes of it beyond the ideal ones.
      addresses: `[Q, S]` first byte of each lane.
      active: `[Q, S]` which lanes take part.
      width_bytes: bytes of each lane.
    """

    excess: int
    addresses: np.ndarray
    active: np.ndarray
    width_bytes: int


@dataclasses.dataclass(frozen=True, eq=False)
class Count:
    """All executions of one access.

    Attributes:
      figures: Python ints `[F]`.
      worst: of an access to local memory, the execution with the most excess passes of those that were looked at.
    """

    figures: np.ndarray
    worst: Execution | None

    def named(self, figure: str) -> int:
        """One of the figures by its name."""
        return int(self.figures[FIGURES.index(figure)])


class Issued(NamedTuple):
    """All executions of an access whose addresses are not known: requests with an active lane, and their lanes."""

    requests: int
    lanes: int


class Active(NamedTuple):
    """Executions of divergent code by sub-groups with an active lane, and the lanes that are active in them."""

    sub_groups: int
    lanes: int


def has_geometry(memory: Allocation, device: Device) -> bool:
    """True if the device's banks (of local memory) or lines are known."""
    return (device.slm_banks if memory.space == "local" else device.line_bytes) is not None


def all_active(parts: Iterable[Active | None]) -> Active | None:
    known = list(parts)
    found = [part for part in known if part is not None]
    if len(found) < len(known):
        return None
    return Active(sum(part.sub_groups for part in found), sum(part.lanes for part in found))


def meter(operation: MemoryOperation, vector: Vector, device: Device, geometry: Geometry) -> Meter:
    """The meter of an access, of the elements that a constant mask leaves it."""
    return Meter.of(operation, vector, symbolic_addresses.chosen(operation), device, geometry)


@dataclasses.dataclass(frozen=True)
class Counter:
    """Counts executions and accesses from points that stand for all of them, with what effort there is."""

    tree: AccessTree
    device: Device
    effort: Budget
    # Of accesses that are issued alike, by what that depends on, beside the boxes of which the key has the number.
    _issued_alike: dict[Hashable, tuple[Sequence[Box], Issued | None]] = dataclasses.field(default_factory=dict)

    def divided(self, boxes: Sequence[Box], examine: Callable[[Progressions], _Part]) -> list[_Part] | None:
        """What `examine` gives for parts of some boxes; None if that takes too much effort."""
        try:
            with self.effort.portion():
                return periodicity.divided(boxes, examine, _FEW_VALUES)
        except TooLarge:
            return None

    def executions(self, node: Node) -> int | None:
        """How often the body of a node is executed; None if it is not known."""
        if not node.certain:
            return None
        parts = self.divided(node.boxes, functools.partial(multiplicity.executed, node.conditions))
        return None if parts is None else sum(parts)

    def active(self, node: Node, _: Key, mask: Expression) -> Active | None:
        """How often sub-groups execute the body of a node with active lanes of a mask; None if it is not known."""
        if not (node.certain and mask.known):
            return None
        mask = expressions.both(mask, presence.of_groups(self.tree.geometry, self.tree.groups))
        parts = self.divided(node.boxes, functools.partial(self._active_in_box, node.conditions, mask))
        return None if parts is None else all_active(parts)

    def _active_in_box(self, conditions: Sequence[Expression], mask: Expression, inside: Progressions) -> Active:
        periods, geometry = multiplicity.joined(inside, {}, [mask]), self.tree.geometry
        grid, weights = inside.representatives(periods)
        if math.prod(map(len, weights)) * geometry.items > _MOST_LANES:
            raise TooLarge
        times = multiplicity.times(inside, periods, conditions).reshape(-1)
        executed = np.flatnonzero(times)
        lanes = symbolic_addresses.flat(grid, mask, geometry.local_range, np.arange(geometry.items))[executed]
        budget.spend(lanes.size / _LOOKED_AT)
        each = lanes.sum(1) * (geometry.items if lanes.shape[1] == 1 else 1)
        sub_groups = requests.active_sub_groups(lanes, geometry)
        return Active(int((times[executed] * sub_groups).sum()), int((times[executed] * each).sum()))

    def vector(self, operations: Sequence[MemoryOperation]) -> Vector:
        """The vectors that an access is made up of, in whichever of some nodes; see `vectors`."""
        operation, rank = operations[0], len(self.tree.geometry.local_range)
        memory, private = operation.access_site.memory, math.prod(operation.access.shape[rank:])
        # Private memory is laid out so that a work-item's elements lie apart; atomic messages have no vectors: Intel's
        # ESIMD headers give each of them a vector size of 1.
        if memory.space == "private" or operation.access_site.op == "atomic" or private == 1:
            return Vector(1, True)
        shape, shared = operation.access.shape, self._is_shared(operations, rank)
        limit = _WORD_BYTES * (self.device.shared_load_words or 0) if shared else WIDEST_BYTES
        most = vectors.widest(private, memory.dtype.itemsize, limit)
        indices = [o.linear_index for o in operations]
        seen = vectors.common([vectors.of_access(index, shape, rank, most) for index in indices])
        if seen.width < most and all(index.known for index in indices):
            widths = [self._width(o, index, most) for o, index in zip(operations, indices, strict=True)]
            seen = Vector(min(widths), False) if min(widths) > seen.width else seen
        return Vector(seen.width, True, True) if shared and seen.width > 1 else seen

    def _is_shared(self, operations: Sequence[MemoryOperation], rank: int) -> bool:
        """True if a load of words is known to be of the same elements by all work-items, which all make it."""
        return self.device.shared_load_words is not None and all(
            o.access_site.op == "load"
            and o.access_site.memory.dtype.itemsize == _WORD_BYTES
            and o.mask is None
            and o.node.region(o.key[1]) is None
            and vectors.is_shared(o.linear_index, rank)
            for o in operations
        )

    def _width(self, operation: MemoryOperation, index: Expression, most: int) -> int:
        """How many elements of a work-item lie side by side, at most so many; 1 if it takes too much to tell."""
        parts = self.divided(operation.node.boxes, functools.partial(self._width_in_box, operation, index, most))
        return 1 if parts is None else min(parts, default=most)

    def _width_in_box(self, operation: MemoryOperation, index: Expression, most: int, inside: Progressions) -> int:
        shape, rank = operation.access.shape, len(self.tree.geometry.local_range)
        # All elements grow alike over these periods, so that what lies side by side still does.
        periods = _periods(inside, index, 1, expressions.TRUE)
        executed, _, grid = _representatives(inside, periods, operation, math.prod(shape))
        budget.spend(len(executed) * math.prod(shape) / _LOOKED_AT)
        elements = symbolic_addresses.flat(grid, index, shape, np.arange(math.prod(shape)))[executed]
        elements = np.broadcast_to(elements, (len(executed), math.prod(shape)))
        return vectors.side_by_side(elements.reshape(-1, math.prod(shape[rank:])), most)

    def count(self, operations: Sequence[MemoryOperation], vector: Vector) -> Count | None:
        """The count of an access, over the nodes in which it lies; None if it is not known."""
        counts = [self._of_operation(operation, vector) for operation in operations]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return None
        return _added(known)

    def _of_operation(self, operation: MemoryOperation, vector: Vector) -> Count | None:
        index, mask = operation.linear_index, symbolic_addresses.lane_mask(operation, self.tree)
        known = operation.node.certain and index.known and mask.known
        if not known or not has_geometry(operation.access_site.memory, self.device):
            return None
        gauge = meter(operation, vector, self.device, self.tree.geometry)
        if not len(gauge.chosen):
            return NOTHING
        parts = self.divided(operation.node.boxes, functools.partial(self._in_box, gauge, index, mask))
        return None if parts is None else _added(parts)

    def _in_box(self, gauge: Meter, index: Expression, mask: Expression, inside: Progressions) -> Count:
        periods = _periods(inside, index, gauge.places, mask)
        executed, times, grid = _representatives(inside, periods, gauge.operation, len(gauge.chosen))
        if not len(executed):
            return NOTHING
        shape = gauge.operation.access.shape
        elements, active = (symbolic_addresses.flat(grid, e, shape, gauge.chosen)[executed] for e in (index, mask))
        elements = gauge.interleaved(_relocated(np.where(active, elements, 0), active, gauge))
        budget.spend(len(executed) * len(gauge.chosen) / _LOOKED_AT)
        figures = gauge.figures(elements, active, True)
        return Count(_summed(times, figures), _worst(gauge, elements, active, figures))

    def issued(self, operations: Sequence[MemoryOperation], vector: Vector) -> Issued | None:
        """Requests and lanes of an access whose addresses are not known; None if these are not known either."""
        counts = [self._issued(operation, vector) for operation in operations]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return None
        return Issued(sum(count.requests for count in known), sum(count.lanes for count in known))

    def _issued(self, operation: MemoryOperation, vector: Vector) -> Issued | None:
        mask = symbolic_addresses.lane_mask(operation, self.tree)
        gauge = meter(operation, vector, self.device, self.tree.geometry)
        if not (operation.node.certain and mask.known and gauge.aligned):
            return None
        if not len(gauge.chosen):
            return Issued(0, 0)
        boxes, shape = operation.node.boxes, operation.access.shape
        alike = id(boxes), operation.node.conditions, mask, shape, gauge.chosen.tobytes(), gauge.rule
        if alike not in self._issued_alike:
            parts = self.divided(boxes, functools.partial(self._issued_in_box, gauge, mask))
            found = None if parts is None else Issued(sum(p.requests for p in parts), sum(p.lanes for p in parts))
            self._issued_alike[alike] = boxes, found
        return self._issued_alike[alike][1]

    def _issued_in_box(self, gauge: Meter, mask: Expression, inside: Progressions) -> Issued:
        executed, times, grid = _representatives(
            inside, multiplicity.joined(inside, {}, [mask]), gauge.operation, len(gauge.chosen)
        )
        if not len(executed):
            return Issued(0, 0)
        active = symbolic_addresses.flat(grid, mask, gauge.operation.access.shape, gauge.chosen)[executed]
        return Issued(*_summed(times, gauge.issued(active)))

    def groups(self, operations: Sequence[MemoryOperation]) -> int | None:
        """Executions of an access by work-groups of which a work-item takes part; None if they are not known."""
        return amounts.total(map(self._groups, operations))

    def _groups(self, operation: MemoryOperation) -> int | None:
        mask = symbolic_addresses.lane_mask(operation, self.tree)
        if not (operation.node.certain and mask.known):
            return None
        parts = self.divided(operation.node.boxes, functools.partial(self._groups_in_box, operation, mask))
        return None if parts is None else sum(parts)

    def _groups_in_box(self, operation: MemoryOperation, mask: Expression, inside: Progressions) -> int:
        shape, items = operation.access.shape, math.prod(operation.access.shape)
        periods = multiplicity.joined(inside, {}, [mask])
        executed, times, grid = _representatives(inside, periods, operation, items)
        budget.spend(len(executed) * items / _LOOKED_AT)
        active = symbolic_addresses.flat(grid, mask, shape, np.arange(items))[executed]
        return int(times[active.any(1)].sum())


def _periods(inside: Progressions, index: Expression, modulus: int, mask: Expression) -> dict[LoopAxis, int]:
    """After how many indices of each axis an index repeats up to multiples of `modulus`, and a mask."""
    steps = inside.of(index)
    repeated = {axis: step.repeats(modulus) or len(inside.box[axis]) for axis, step in steps.items()}
    return multiplicity.joined(inside, repeated, [mask])


def _representatives(
    inside: Progressions, periods: Mapping[LoopAxis, int], operation: MemoryOperation, lanes: int
) -> tuple[np.ndarray, np.ndarray, Grid]:
    """Points of a box that stand for all of its executions where an access of so many lanes repeats with some periods.

    Returns:
      The numbers of those that stand for an execution, for how many, and the grid of all.
    """
    grid, weights = inside.representatives(periods)
    if math.prod(map(len, weights)) * lanes > _MOST_LANES:
        raise TooLarge
    times = multiplicity.times(inside, periods, operation.node.conditions).reshape(-1)
    executed = np.flatnonzero(times)
    return executed, times[executed], grid


def _summed(times: np.ndarray, figures: np.ndarray) -> np.ndarray:
    """Python ints `[F]`, of figures `[points, F]` so many times: 64 bits may not hold what a long launch moves."""
    if times.sum(dtype=np.float64) * figures.max(initial=0) < 2**62:
        return np.asarray((times @ figures).astype(object))
    budget.spend(figures.size / _LOOKED_AT)
    return np.asarray(times.astype(object) @ figures.astype(object))


def _relocated(elements: np.ndarray, active: np.ndarray, gauge: Meter) -> np.ndarray:
    """`[points, n or 1]` elements, moved without a change of any figure where a point lies outside the memory.

    Such a point is not executed itself, but stands for others that are.
    """
    low = np.where(active, elements, gauge.memory.elements).min(-1, initial=gauge.memory.elements, keepdims=True)
    high = np.where(active, elements, 0).max(-1, initial=0, keepdims=True)
    outside = (low < 0) | (high >= gauge.memory.elements)
    return np.where(active & outside, elements - low // gauge.places * gauge.places, elements)


NOTHING = Count(np.zeros(len(FIGURES), object), None)


def _added(counts: Sequence[Count]) -> Count:
    executions = [count.worst for count in counts if count.worst is not None]
    total = sum((count.figures for count in counts), NOTHING.figures)
    return Count(total, max(executions, key=lambda execution: execution.excess, default=None))


def _worst(gauge: Meter, elements: np.ndarray, active: np.ndarray, figures: np.ndarray) -> Execution | None:
    if gauge.memory.space != "local":
        return None
    excess = figures[:, FIGURES.index("passes")] - figures[:, FIGURES.index("ideal_passes")]
    at = int(excess.argmax())
    return execution(gauge, elements[at : at + 1], active[at : at + 1], int(excess[at]))


def execution(gauge: Meter, elements: np.ndarray, active: np.ndarray, excess: int) -> Execution:
    """An execution from `[1, n or 1]` elements and which of them take part."""
    places, on, width = gauge.drawn(elements, active)
    itemsize = gauge.memory.dtype.itemsize
    return Execution(excess, places * itemsize, on, width * itemsize)
