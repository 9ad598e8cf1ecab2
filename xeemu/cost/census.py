"""Census: what follows of a launch's costs from its sizes alone: executions, and what known accesses cost.

An access is known if its index, its mask and the executions of its frame are, and if a moderate number of points stands
for all of them. All other accesses are counted as the kernel runs (`counting`); the figures are the same either way.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from xeemu.cost import instructions, requests
from xeemu.cost.costs import FIGURES, Meter
from xeemu.devices.device import Device
from xeemu.knowledge import addresses, expressions, presence, progressions
from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.expressions import Axis, Expression, Grid, TooLarge
from xeemu.knowledge.progressions import Box, Effort, Measured, Progressions
from xeemu.knowledge.schedule import Frame, Key, Operation, Place, Schedule
from xeemu.language import source
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.source import Site

# Lanes of an access that are looked at, and those whose addresses are noted one by one.
_MOST_LANES = 1 << 22
_MOST_NOTED = 1 << 26
_BLOCK = 1 << 21
_LARGEST_TALLY = 1 << 24
# Lanes that are looked at, lanes that are noted, and values that are multiplied with a unit of effort.
_LOOKED_AT = 1 << 5
_NOTED = 1 << 9
_VALUES = 1 << 11

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


@dataclasses.dataclass(frozen=True, eq=False)
class Census:
    """What is known before a run.

    A call path is named by its plan.

    Attributes:
      schedule: the program.
      device: the modelled device.
      in_registers: private memories that are only indexed by constants, so that they need no memory.
      operations: the other memory operations, by their key; several of a loop that was walked iteration by iteration.
      counts: for each of them its count, or None where it has to be counted as the kernel runs.
      issued: of those without a count the requests and their lanes, where at least these are known.
      executions: for each call path how often its body is executed, by all groups; None where that depends on data.
      instructions: for each section of each call path (see `instructions.of_sections`) the instructions by class that
        a sub-group executes each time; without those that access memory, which are the requests.
      regions: for each section in divergent code the region that it belongs to.
      active: for each of these how often a sub-group executes it with a lane that is active; None where that depends
        on data.
      lanes: for each of these the lanes that are active in those executions; None where that depends on data.
      tallies: for each global memory with atomic updates of moderate size, the lanes that update each element.
      untallied: updates that are missing there.
    """

    schedule: Schedule
    device: Device
    in_registers: frozenset[Allocation]
    operations: Mapping[Key, tuple[Operation, ...]]
    counts: Mapping[Key, Count | None]
    issued: Mapping[Key, "Issued | None"]
    executions: Mapping[Plan, int | None]
    instructions: Mapping[Key, Mapping[str, float]]
    regions: Mapping[Key, Key]
    active: Mapping[Key, int | None]
    lanes: Mapping[Key, int | None]
    tallies: Mapping[Allocation, np.ndarray]
    untallied: frozenset[Key]

    @property
    def geometry(self) -> Geometry:
        return self.schedule.geometry

    @functools.cached_property
    def places(self) -> tuple[Place, ...]:
        """The memory operations of the source."""
        return tuple(dict.fromkeys(self.place(key) for key in self.operations))

    def parted(self, key: Key) -> Site:
        """Where in the source work-items part before a section in divergent code."""
        plan, number = self.regions[key]
        body = next(frame.body for frame in self.schedule.root.frames() if frame.plan is plan)
        return source.of_op(body.ops[number])

    @functools.cached_property
    def updates(self) -> frozenset[Place]:
        """The places of atomic operations that are more than loads."""
        return frozenset(o.place for (o, *_) in self.operations.values() if o.updates)

    def place(self, key: Key) -> Place:
        """Where in the source an access comes from."""
        return self.operations[key][0].place

    @functools.cached_property
    def left(self) -> tuple[Key, ...]:
        """The accesses that have to be counted as the kernel runs."""
        return tuple(key for key, count in self.counts.items() if count is None and self.is_measured(key))

    def is_measured(self, key: Key) -> bool:
        """Whether the device has the figures by which an access is measured."""
        return has_geometry(self.place(key).memory, self.device)

    @property
    def complete(self) -> bool:
        """Whether nothing has to be counted as the kernel runs."""
        known = None not in self.executions.values() and None not in self.active.values()
        return known and not self.left and not self.untallied


def has_geometry(memory: Allocation, device: Device) -> bool:
    """Whether the device's banks (of local memory) or lines are known."""
    return (device.slm_banks if memory.space == "local" else device.line_bytes) is not None


def take(schedule: Schedule, device: Device, blank: bool = False) -> Census:
    """Takes the census of a launch on a device.

    Args:
      schedule: the launch.
      device: the modelled device.
      blank: whether to leave everything to be counted as the kernel runs.
    """
    in_registers = _in_registers(schedule)
    by_key = _by_key(schedule, in_registers)
    by_plan = _by_plan(schedule)
    # Each operation is looked at up to three times, each frame once.
    effort = Effort(parts=3 * sum(map(len, by_key.values())) + sum(map(len, by_plan.values())))
    counter = _Counter(schedule, device, effort)
    executions = {plan: None if blank else _sum(map(counter.executions, frames)) for plan, frames in by_plan.items()}
    tallies, untallied = counter.tally(by_key, blank)
    counts = {key: None if blank else counter.count(operations) for key, operations in by_key.items()}
    sections = instructions.of_sections(schedule.root, schedule.geometry)
    divergent = {key: parts for key in sections if (parts := _divergent(by_plan[key[0]], key[1]))}
    active = {
        key: None if blank else _all_active(counter.active(*part) for part in parts) for key, parts in divergent.items()
    }
    open_ = {key: operations for key, operations in by_key.items() if counts[key] is None}
    return Census(
        schedule=schedule,
        device=device,
        in_registers=in_registers,
        operations={key: tuple(operations) for key, operations in by_key.items()},
        counts=counts,
        issued={key: None if blank else counter.issued(operations) for key, operations in open_.items()},
        executions=executions,
        instructions=sections,
        regions={key: parts[0][1] for key, parts in divergent.items()},
        active={key: found and found.sub_groups for key, found in active.items()},
        lanes={key: found and found.lanes for key, found in active.items()},
        tallies=tallies,
        untallied=untallied,
    )


def count_in(operation: Operation, boxes: Sequence[Box], taken: Census) -> Count | None:
    """The count of an access in some of its executions; None if what they do is not known, or too many differ."""
    part = dataclasses.replace(operation.frame, boxes=boxes)
    counter = _Counter(taken.schedule, taken.device, Effort())
    return counter.count([dataclasses.replace(operation, frame=part)])


def _in_registers(schedule: Schedule) -> frozenset[Allocation]:
    private = [o for o in schedule.root.operations() if o.place.memory.space == "private"]
    computed = {o.place.memory for o in private if not all(component.constant for component in o.index)}
    return frozenset(o.place.memory for o in private) - computed


def _by_key(schedule: Schedule, in_registers: frozenset[Allocation]) -> dict[Key, list[Operation]]:
    found: dict[Key, list[Operation]] = {}
    for operation in schedule.root.operations():
        if operation.place.memory not in in_registers:
            found.setdefault(operation.key, []).append(operation)
    return found


def _by_plan(schedule: Schedule) -> dict[Plan, list[Frame]]:
    found: dict[Plan, list[Frame]] = {}
    for frame in schedule.root.frames():
        found.setdefault(frame.plan, []).append(frame)
    return found


def _divergent(frames: Sequence[Frame], section: int) -> list[tuple[Frame, Key, Expression]]:
    """The frames of a call path of which a section is in divergent code, with its region and the region's mask."""
    found = [(frame, frame.region(section + 1 if section >= 0 else 0)) for frame in frames]
    return [(frame, *region) for frame, region in found if region is not None]


# --- Executions ---


def _executed(conditions: Sequence[Expression], inside: Progressions) -> int:
    if not conditions:
        return progressions.points(inside.box)
    return int(_times(inside, {}, conditions).sum())


def _times(inside: Progressions, periods: Mapping[Axis, int], conditions: Sequence[Expression]) -> np.ndarray:
    """Integers `[n for each axis]`: the executions that each representative for some periods stands for.

    A condition depends on some of the axes. So the conditions are not looked at on all points of the box, but one axis
    after the other is summed up in the product of those that depend on it.
    """
    # So many executions need Python's own integers.
    dtype = np.dtype(np.int64 if progressions.points(inside.box) < 2**63 else object)
    grid, weights = inside.representatives(_joined(inside, periods, conditions))
    rank = len(weights)
    kept = [max(1, min(periods.get(axis, 1), len(indices))) for axis, indices in inside.box.items()]
    factors = [w.reshape([-1 if d == k else 1 for d in range(rank)]).astype(dtype) for k, w in enumerate(weights)]
    factors += [_holds(inside, grid, condition).astype(dtype) for condition in conditions]
    waiting = set(range(rank))
    while waiting:
        sizes = {k: math.prod(np.broadcast_shapes((), *(f.shape for f in factors if f.shape[k] > 1))) for k in waiting}
        axis = min(waiting, key=lambda k: (sizes[k], k))
        if sizes[axis] > _MOST_LANES:
            raise TooLarge
        waiting.remove(axis)
        progressions.spend(1 + sizes[axis] / _VALUES)
        product = functools.reduce(np.multiply, (f for f in factors if f.shape[axis] > 1), np.ones((1,) * rank, dtype))
        factors = [f for f in factors if f.shape[axis] == 1] + [_folded(product, axis, kept[axis])]
    return np.broadcast_to(math.prod(factors), kept)


def _joined(inside: Progressions, periods: Mapping[Axis, int], repeating: Iterable[Expression]) -> dict[Axis, int]:
    """Periods of each axis with which all else repeats too."""
    joint = dict(periods)
    for expression in repeating:
        for axis, step in inside.of(expression).items():
            joint[axis] = math.lcm(joint.get(axis, 1), step.period)
    return joint


def _holds(inside: Progressions, grid: Grid, condition: Expression) -> np.ndarray:
    """bool `[n or 1 for each axis]`: whether a condition holds, 1 for axes along which it does not change."""
    moving = inside.of(condition)
    points = {axis: values if axis in moving else values[:1] for axis, values in grid.points.items()}
    return Measured(points).of(condition)


def _folded(array: np.ndarray, axis: int, period: int) -> np.ndarray:
    """An array whose entries along an axis that are multiples of a period apart are added up."""
    count = array.shape[axis]
    padding = [(0, -count % period if d == axis else 0) for d in range(array.ndim)]
    shape = (*array.shape[:axis], -1, period, *array.shape[axis + 1 :])
    return np.asarray(np.pad(array, padding).reshape(shape).sum(axis))


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = list(numbers)
    return None if None in known else sum(number for number in known if number is not None)


def _all_active(parts: Iterable[Active | None]) -> Active | None:
    known = list(parts)
    found = [part for part in known if part is not None]
    if len(found) < len(known):
        return None
    return Active(sum(part.sub_groups for part in found), sum(part.lanes for part in found))


# --- Accesses ---


def meter(operation: Operation, device: Device, geometry: Geometry) -> Meter:
    """The meter of an access, of the elements that a constant mask leaves it."""
    return Meter.of(operation, [addresses.linear_index(operation)], addresses.chosen(operation), device, geometry)


def running_meter(operations: Sequence[Operation], chosen: np.ndarray, device: Device, geometry: Geometry) -> Meter:
    """The meter of an access as the kernel runs it, of the elements chosen, whichever of some operations it is."""
    return Meter.of(operations[0], [addresses.linear_index(o) for o in operations], chosen, device, geometry)


def _periods(inside: Progressions, index: Expression, modulus: int, mask: Expression) -> dict[Axis, int]:
    """After how many indices of each axis an index repeats up to multiples of `modulus`, and a mask."""
    steps = inside.of(index)
    repeated = {axis: step.repeats(modulus) or len(inside.box[axis]) for axis, step in steps.items()}
    return _joined(inside, repeated, [mask])


@dataclasses.dataclass(frozen=True)
class _Counter:
    """Counts executions and accesses from points that stand for all of them, with what effort there is."""

    schedule: Schedule
    device: Device
    effort: Effort

    def _divided(self, boxes: Sequence[Box], examine: Callable[[Progressions], _Part]) -> list[_Part] | None:
        """What `examine` gives for parts of some boxes; None if that takes too much effort."""
        try:
            with self.effort.portion():
                return progressions.divided(boxes, examine)
        except TooLarge:
            return None

    def executions(self, frame: Frame) -> int | None:
        """How often the body of a frame is executed; None if it is not known."""
        if not frame.certain:
            return None
        parts = self._divided(frame.boxes, functools.partial(_executed, frame.conditions))
        return None if parts is None else sum(parts)

    def active(self, frame: Frame, _: Key, mask: Expression) -> Active | None:
        """How often sub-groups execute the body of a frame with active lanes of a mask; None if it is not known."""
        if not (frame.certain and mask.known):
            return None
        mask = expressions.both(mask, presence.of_groups(self.schedule.geometry, self.schedule.groups))
        parts = self._divided(frame.boxes, functools.partial(self._active_in_box, frame.conditions, mask))
        return None if parts is None else _all_active(parts)

    def _active_in_box(self, conditions: Sequence[Expression], mask: Expression, inside: Progressions) -> Active:
        periods, geometry = _joined(inside, {}, [mask]), self.schedule.geometry
        grid, weights = inside.representatives(periods)
        if math.prod(map(len, weights)) * geometry.items > _MOST_LANES:
            raise TooLarge
        times = _times(inside, periods, conditions).reshape(-1)
        executed = np.flatnonzero(times)
        lanes = addresses.flat(grid, mask, geometry.local_range, np.arange(geometry.items))[executed]
        progressions.spend(lanes.size / _LOOKED_AT)
        each = lanes.sum(1) * (geometry.items if lanes.shape[1] == 1 else 1)
        sub_groups = requests.active_sub_groups(lanes, geometry)
        return Active(int((times[executed] * sub_groups).sum()), int((times[executed] * each).sum()))

    def count(self, operations: Sequence[Operation]) -> Count | None:
        """The count of an operation, over the frames in which it lies; None if it is not known."""
        counts = [self._of_operation(operation) for operation in operations]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return None
        return _added(known)

    def _of_operation(self, operation: Operation) -> Count | None:
        index, mask = addresses.linear_index(operation), addresses.lane_mask(operation, self.schedule)
        known = operation.frame.certain and index.known and mask.known
        if not known or not has_geometry(operation.place.memory, self.device):
            return None
        gauge = meter(operation, self.device, self.schedule.geometry)
        if not len(gauge.chosen):
            return NOTHING
        parts = self._divided(operation.frame.boxes, functools.partial(self._in_box, gauge, index, mask))
        return None if parts is None else _added(parts)

    def _in_box(self, gauge: Meter, index: Expression, mask: Expression, inside: Progressions) -> Count:
        periods = _periods(inside, index, gauge.places, mask)
        executed, times, grid = _representatives(inside, periods, gauge)
        if not len(executed):
            return NOTHING
        shape = gauge.operation.access.shape
        elements, active = (addresses.flat(grid, e, shape, gauge.chosen)[executed] for e in (index, mask))
        elements = gauge.interleaved(_relocated(np.where(active, elements, 0), active, gauge))
        progressions.spend(len(executed) * len(gauge.chosen) / _LOOKED_AT)
        figures = gauge.figures(elements, active, True)
        return Count(_summed(times, figures), _worst(gauge, elements, active, figures))

    def issued(self, operations: Sequence[Operation]) -> Issued | None:
        """Requests and lanes of an operation whose addresses are not known; None if these are not known either."""
        counts = [self._issued(operation) for operation in operations]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return None
        return Issued(sum(count.requests for count in known), sum(count.lanes for count in known))

    def _issued(self, operation: Operation) -> Issued | None:
        mask = addresses.lane_mask(operation, self.schedule)
        gauge = meter(operation, self.device, self.schedule.geometry)
        if not (operation.frame.certain and mask.known and gauge.aligned):
            return None
        if not len(gauge.chosen):
            return Issued(0, 0)
        parts = self._divided(operation.frame.boxes, functools.partial(self._issued_in_box, gauge, mask))
        return (
            None if parts is None else Issued(sum(part.requests for part in parts), sum(part.lanes for part in parts))
        )

    def _issued_in_box(self, gauge: Meter, mask: Expression, inside: Progressions) -> Issued:
        executed, times, grid = _representatives(inside, _joined(inside, {}, [mask]), gauge)
        if not len(executed):
            return Issued(0, 0)
        active = addresses.flat(grid, mask, gauge.operation.access.shape, gauge.chosen)[executed]
        return Issued(*_summed(times, gauge.issued(active)))

    # Addresses of atomic updates.

    def tally(
        self, by_key: Mapping[Key, Sequence[Operation]], blank: bool
    ) -> tuple[dict[Allocation, np.ndarray], frozenset[Key]]:
        """For each element the lanes that update it, and the updates of which that is not known."""
        updates = {key: os for key, os in by_key.items() if os[0].updates and is_tallied(os[0].place.memory)}
        tallies = {os[0].place.memory: np.zeros(os[0].place.memory.elements, np.int64) for os in updates.values()}
        noted = {key: None if blank else self._noted(operations) for key, operations in updates.items()}
        for key, total in noted.items():
            if total is not None:
                tallies[updates[key][0].place.memory] += total
        return tallies, frozenset(key for key, total in noted.items() if total is None)

    def _noted(self, operations: Sequence[Operation]) -> np.ndarray | None:
        """int64 `[elements]` lanes of an operation on each element; None if that is not known."""
        total = np.zeros(operations[0].place.memory.elements, np.int64)
        for operation in operations:
            index, mask = addresses.linear_index(operation), addresses.lane_mask(operation, self.schedule)
            if not (operation.frame.certain and index.known and mask.known):
                return None
            note = functools.partial(self._note, total, operation, addresses.chosen(operation), index, mask)
            if self._divided(operation.frame.boxes, note) is None:
                return None
        return total

    def _note(
        self,
        total: np.ndarray,
        operation: Operation,
        chosen: np.ndarray,
        index: Expression,
        mask: Expression,
        inside: Progressions,
    ) -> None:
        steps, conditions = inside.of(index), operation.frame.conditions
        moving = {axis for axis, step in steps.items() if not step.still}
        periods = {axis: len(inside.box[axis]) if axis in moving else step.period for axis, step in steps.items()}
        periods = _joined(inside, periods, [mask])
        size = math.prod(min(periods.get(axis, 1), len(r)) for axis, r in inside.box.items()) * max(len(chosen), 1)
        if size > _MOST_NOTED:
            raise TooLarge
        for box in _blocks(inside.box, moving, size // _BLOCK + 1):
            part = Progressions(box)
            grid, _ = part.representatives(periods)
            times = _times(part, periods, conditions).reshape(-1)
            executed = np.flatnonzero(times)
            elements, active = (
                addresses.flat(grid, e, operation.access.shape, chosen)[executed] for e in (index, mask)
            )
            shape = (len(executed), len(chosen))
            progressions.spend(math.prod(shape) / _NOTED)
            lanes = np.broadcast_to(active * times[executed, None].astype(np.float64), shape).reshape(-1)
            places = np.broadcast_to(np.where(active, elements, 0), shape).reshape(-1)
            total += np.bincount(places, lanes, minlength=len(total)).astype(np.int64)


def _representatives(
    inside: Progressions, periods: Mapping[Axis, int], gauge: Meter
) -> tuple[np.ndarray, np.ndarray, Grid]:
    """Points of a box that stand for all of its executions where an access repeats with some periods.

    Returns:
      The numbers of those that stand for an execution, for how many, and the grid of all.
    """
    grid, weights = inside.representatives(periods)
    if math.prod(map(len, weights)) * len(gauge.chosen) > _MOST_LANES:
        raise TooLarge
    times = _times(inside, periods, gauge.operation.frame.conditions).reshape(-1)
    executed = np.flatnonzero(times)
    return executed, times[executed], grid


def _summed(times: np.ndarray, figures: np.ndarray) -> np.ndarray:
    """Python ints `[F]`, of figures `[points, F]` so many times: 64 bits may not hold what a long launch moves."""
    if times.sum(dtype=np.float64) * figures.max(initial=0) < 2**62:
        return np.asarray((times @ figures).astype(object))
    progressions.spend(figures.size / _LOOKED_AT)
    return np.asarray(times.astype(object) @ figures.astype(object))


def _relocated(elements: np.ndarray, active: np.ndarray, gauge: Meter) -> np.ndarray:
    """`[points, n or 1]` elements, moved without a change of any figure where a point lies outside the memory.

    Such a point is not executed itself, but stands for others that are.
    """
    low = np.where(active, elements, gauge.memory.elements).min(-1, initial=gauge.memory.elements, keepdims=True)
    high = np.where(active, elements, 0).max(-1, initial=0, keepdims=True)
    outside = (low < 0) | (high >= gauge.memory.elements)
    return np.where(active & outside, elements - low // gauge.places * gauge.places, elements)


def is_tallied(memory: Allocation) -> bool:
    return memory.space == "global" and memory.elements <= _LARGEST_TALLY


def _blocks(box: Box, moving: set[Axis], parts: int) -> Iterator[Box]:
    """The box cut along one of the axes whose every index is looked at."""
    longest = max(moving, key=lambda axis: len(box[axis]), default=None)
    if longest is None or parts == 1:
        yield box
        return
    indices = box[longest]
    length = max(1, len(indices) // parts)
    for start in range(0, len(indices), length):
        yield {**box, longest: indices[start : start + length]}


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
