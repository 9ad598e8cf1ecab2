"""Census: what follows of a launch's costs from its sizes alone: executions, and what known accesses cost.

An access is known if its index, its mask and the executions of its frame are, and if a moderate number of points stands
for all of them. All other accesses are counted as the kernel runs (`counting`); the figures are the same either way.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from xeemu import addresses, instructions, progressions
from xeemu.analysis import Plan
from xeemu.costs import FIGURES, Meter
from xeemu.device import Device
from xeemu.expressions import Axis, Expression, Grid, TooLarge
from xeemu.geometry import Geometry
from xeemu.linearity import Allocation
from xeemu.progressions import Box, Progressions, Steps
from xeemu.schedule import Frame, Key, Operation, Place, Schedule

# Lanes of an access that are looked at, and those whose addresses are noted one by one.
_MOST_LANES = 1 << 22
_MOST_NOTED = 1 << 26
_BLOCK = 1 << 21
_LARGEST_TALLY = 1 << 24


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
      figures: int64 `[F]`.
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
      instructions: for each call path the instructions by class that a sub-group executes each time; without those
        that access memory, which are the requests.
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
    instructions: Mapping[Plan, Mapping[str, float]]
    tallies: Mapping[Allocation, np.ndarray]
    untallied: frozenset[Key]

    @property
    def geometry(self) -> Geometry:
        return self.schedule.geometry

    @functools.cached_property
    def places(self) -> tuple[Place, ...]:
        """The memory operations of the source."""
        return tuple(dict.fromkeys(self.place(key) for key in self.operations))

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
        return not self.left and not self.untallied and None not in self.executions.values()


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
    counter = _Counter(schedule, device)
    tallies, untallied = counter.tally(by_key, blank)
    counts = {key: None if blank else counter.count(operations) for key, operations in by_key.items()}
    open_ = {key: operations for key, operations in by_key.items() if counts[key] is None}
    executions = {plan: None if blank else _sum(map(_executions, frames)) for plan, frames in by_plan.items()}
    return Census(
        schedule=schedule,
        device=device,
        in_registers=in_registers,
        operations={key: tuple(operations) for key, operations in by_key.items()},
        counts=counts,
        issued={key: None if blank else counter.issued(operations) for key, operations in open_.items()},
        executions=executions,
        instructions=instructions.of_paths(schedule.root, schedule.geometry),
        tallies=tallies,
        untallied=untallied,
    )


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


# --- Executions ---


def _executions(frame: Frame) -> int | None:
    if not frame.certain:
        return None
    try:
        return sum(progressions.divided(frame.boxes, functools.partial(_executed, frame.conditions)))
    except TooLarge:
        return None


def _executed(conditions: Sequence[Expression], inside: Progressions) -> int:
    if not conditions:
        return progressions.points(inside.box)
    grid, weights = inside.representatives(_periods(inside, {}, 1, [], conditions))
    return int(_weights(grid, weights, conditions).sum())


def _weights(grid: Grid, weights: Sequence[np.ndarray], conditions: Sequence[Expression]) -> np.ndarray:
    """int64 `[n for each axis]`: executions that each point stands for, 0 where a condition does not hold."""
    shape = tuple(len(w) for w in weights)
    total = functools.reduce(np.multiply, np.ix_(*weights) if weights else [], np.ones(shape, np.int64))
    for condition in conditions:
        total = total * grid.of(condition)
    return total


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = list(numbers)
    return None if None in known else sum(number for number in known if number is not None)


# --- Accesses ---


def meter(operation: Operation, device: Device, geometry: Geometry) -> Meter:
    """The meter of an access, of the elements that a constant mask leaves it."""
    return Meter.of(operation, [addresses.linear_index(operation)], addresses.chosen(operation), device, geometry)


def running_meter(operations: Sequence[Operation], chosen: np.ndarray, device: Device, geometry: Geometry) -> Meter:
    """The meter of an access as the kernel runs it, of the elements chosen, whichever of some operations it is."""
    return Meter.of(operations[0], [addresses.linear_index(o) for o in operations], chosen, device, geometry)


def _periods(
    inside: Progressions, index: Steps, modulus: int, repeating: Sequence[Steps], conditions: Sequence[Expression]
) -> dict[Axis, int]:
    """After how many indices of each axis an index repeats up to multiples of `modulus`, and masks and conditions."""
    periods = {axis: step.repeats(modulus) or len(inside.box[axis]) for axis, step in index.items()}
    for repeated in (*repeating, *(inside.of(condition) for condition in conditions)):
        for axis, step in repeated.items():
            periods[axis] = math.lcm(periods.get(axis, 1), step.period)
    return periods


@dataclasses.dataclass(frozen=True)
class _Counter:
    """Counts accesses from points that stand for all executions."""

    schedule: Schedule
    device: Device

    def count(self, operations: Sequence[Operation]) -> Count | None:
        """The count of an equation, over the frames in which it lies; None if it is not known."""
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
            return _NOTHING
        examine = functools.partial(self._in_box, gauge, index, mask)
        try:
            return _added(progressions.divided(operation.frame.boxes, examine))
        except TooLarge:
            return None

    def _in_box(self, gauge: Meter, index: Expression, mask: Expression, inside: Progressions) -> Count:
        conditions = gauge.operation.frame.conditions
        periods = _periods(inside, inside.of(index), gauge.places, [inside.of(mask)], conditions)
        grid, weights = inside.representatives(periods)
        if math.prod(map(len, weights)) * len(gauge.chosen) > _MOST_LANES:
            raise TooLarge
        times = _weights(grid, weights, conditions).reshape(-1)
        executed = np.flatnonzero(times)
        if not len(executed):
            return _NOTHING
        shape = gauge.operation.access.shape
        elements, active = (addresses.flat(grid, e, shape, gauge.chosen)[executed] for e in (index, mask))
        elements = gauge.interleaved(np.where(active, elements, 0))
        figures = gauge.figures(elements, active, True)
        return Count(times[executed] @ figures, _worst(gauge, elements, active, figures))

    def issued(self, operations: Sequence[Operation]) -> Issued | None:
        """Requests and lanes of an equation whose addresses are not known; None if these are not known either."""
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
        try:
            parts = progressions.divided(operation.frame.boxes, functools.partial(self._issued_in_box, gauge, mask))
        except TooLarge:
            return None
        return Issued(sum(part.requests for part in parts), sum(part.lanes for part in parts))

    def _issued_in_box(self, gauge: Meter, mask: Expression, inside: Progressions) -> Issued:
        conditions = gauge.operation.frame.conditions
        grid, weights = inside.representatives(_periods(inside, {}, 1, [inside.of(mask)], conditions))
        if math.prod(map(len, weights)) * len(gauge.chosen) > _MOST_LANES:
            raise TooLarge
        times = _weights(grid, weights, conditions).reshape(-1)
        active = addresses.flat(grid, mask, gauge.operation.access.shape, gauge.chosen)
        requests_, lanes_ = gauge.issued(active)
        return Issued(int(times @ requests_), int(times @ lanes_))

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
        """int64 `[elements]` lanes of an equation on each element; None if that is not known."""
        total = np.zeros(operations[0].place.memory.elements, np.int64)
        for operation in operations:
            index, mask = addresses.linear_index(operation), addresses.lane_mask(operation, self.schedule)
            if not (operation.frame.certain and index.known and mask.known):
                return None
            note = functools.partial(self._note, total, operation, addresses.chosen(operation), index, mask)
            try:
                progressions.divided(operation.frame.boxes, note)
            except TooLarge:
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
        moving = {axis for axis, step in inside.of(index).items() if not step.still}
        repeating = {axis: step for axis, step in inside.of(index).items() if step.still}
        periods = _periods(inside, {}, 1, [repeating, inside.of(mask)], operation.frame.conditions)
        periods |= {axis: len(inside.box[axis]) for axis in moving}
        size = math.prod(min(periods.get(axis, 1), len(r)) for axis, r in inside.box.items()) * max(len(chosen), 1)
        if size > _MOST_NOTED:
            raise TooLarge
        for part in _blocks(inside.box, moving, size // _BLOCK + 1):
            grid, weights = Progressions(part).representatives(periods)
            times = _weights(grid, weights, operation.frame.conditions).reshape(-1)
            elements, active = (addresses.flat(grid, e, operation.access.shape, chosen) for e in (index, mask))
            shape = (len(times), len(chosen))
            lanes = np.broadcast_to(active * times[:, None], shape).reshape(-1)
            places = np.broadcast_to(np.where(active, elements, 0), shape).reshape(-1)
            total += np.bincount(places, lanes, minlength=len(total)).astype(np.int64)


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


_NOTHING = Count(np.zeros(len(FIGURES), np.int64), None)


def _added(counts: Sequence[Count]) -> Count:
    executions = [count.worst for count in counts if count.worst is not None]
    total = sum((count.figures for count in counts), _NOTHING.figures)
    return Count(total, max(executions, key=lambda execution: execution.excess, default=None))


def _worst(gauge: Meter, elements: np.ndarray, active: np.ndarray, figures: np.ndarray) -> Execution | None:
    if gauge.memory.space != "local":
        return None
    excess = figures[:, FIGURES.index("passes")] - figures[:, FIGURES.index("ideal_passes")]
    at = int(excess.argmax())
    return execution(gauge, elements[at : at + 1], active[at : at + 1], int(excess[at]))


def execution(gauge: Meter, elements: np.ndarray, active: np.ndarray, excess: int) -> Execution:
    """An execution from `[1, n or 1]` elements and which of them take part."""
    places, on = gauge.laid_out(gauge.wide, elements, active)
    itemsize = gauge.memory.dtype.itemsize
    return Execution(excess, places[0] * itemsize, on[0], gauge.wide.width * itemsize)
