"""Happens-before: which accesses of a history nothing orders (C++17 [intro.races], SYCL 2020 section 3.8.3).

Each work-item carries a vector clock: for every other one the last event that it knows of. Barriers and group
algorithms let all of a group know what each of them knows; a release publishes the clock of its work-item with the
location that it writes, an acquire that reads from it takes it over. What a location publishes is a release sequence:
it lasts through atomic updates by anybody and stores by the releasing work-item, and ends with another's store. Two
operations synchronise where the scope of each holds the other's work-item. Fences release and acquire for the atomic
operations after and before them. Barriers and fences order the accesses to the memories that they are given.

Work-items of a group that synchronise by barriers and group algorithms alone know the same and are known alike: they
share a clock, and an entry in the clocks of others.

Axis legend: C clocks. A *tick* is the number of an event in the history, from 1.
"""

import bisect
import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from xeemu.faults.proofs import Spot
from xeemu.knowledge.access_tree import AccessSite
from xeemu.knowledge.expressions import TooLarge
from xeemu.language import collectives
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.orders import ACQUIRING, RELEASING
from xeemu.stepping.history import Accessed, Fenced, History, Synchronised
from xeemu.stepping.steps import AccessStep

_MOST_CLOCKS = 1 << 12
_LEVELS = {"work_item": 0, "sub_group": 1, "work_group": 2, "device": 3, "system": 3}


class ClockedAccess(NamedTuple):
    """An access of a work-item: its tick, who made it, and whether it wrote."""

    tick: int
    item: int
    wrote: bool


class Unordered(NamedTuple):
    """Two accesses to one cell that conflict and that nothing orders.

    Attributes:
      pair: number of the pair of spots.
      earlier, later: the accesses.
      position: the cell, among all copies of the memory.
      turned: true if the later one is at the first spot of the pair.
      differs: true if they are not both stores of one value.
      fenced: true if the group of both passed a barrier of other memories in between.
      barriers: synchronisation points of its work-group that the later one's group had passed.
      earlier_barriers: those that the earlier one's group had passed.
    """

    pair: int
    earlier: ClockedAccess
    later: ClockedAccess
    position: int
    turned: bool
    differs: bool
    fenced: bool
    barriers: int
    earlier_barriers: int


class Units:
    """Which group and sub-group a work-item of a launch belongs to."""

    def __init__(self, geometry: Geometry):
        self.items = geometry.items
        self._lanes, self._rows = geometry.sub_group_size, -(-geometry.items // geometry.sub_group_size)

    def group(self, item: Any) -> Any:
        return item // self.items

    def sub_group(self, item: Any) -> Any:
        return item // self.items * self._rows + item % self.items // self._lanes

    def at(self, level: int, item: int) -> int:
        """The unit of a scope's level that holds a work-item."""
        return (item, self.sub_group(item), self.group(item), 0)[level]


def level_of(scope: str) -> int:
    """A scope as a number that grows with it; a launch runs on one device, which is all of the system that it sees."""
    return _LEVELS[scope]


def spot_of(step: AccessStep) -> Spot:
    """The memory operation of the source that a step is."""
    op = "atomic" if step.access.ordering is not None else step.op
    return Spot(AccessSite(step.site, op, step.memory), step.access.ordering)  # type: ignore[arg-type]


def unordered(
    history: History, geometry: Geometry, memory: Allocation, pairs: Mapping[tuple[Spot, Spot], int], numbers: Any
) -> Iterator[Unordered]:
    """The conflicts of accesses to a memory that nothing orders, in the order of the later one.

    Args:
      history: what happened.
      geometry: of the launch.
      memory: the memory.
      pairs: pairs of spots that must not meet unordered, and within whom they need no order, see `conflicts.reach`.
      numbers: of each pair.

    Raises:
      TooLarge: there are too many clocks.
    """
    partners: dict[Spot, list[tuple[Spot, int, int, bool]]] = collections.defaultdict(list)
    for (first, second), reach in pairs.items():
        if first.access_site.memory is memory:
            number = numbers[first, second]
            partners[second].append((first, number, reach, False))
            if first != second:
                partners[first].append((second, number, reach, True))
    return _Replay(history, geometry, memory, partners).found()


class _Published:
    """What the release sequences of a location publish.

    Attributes:
      rows: `[C]` clocks by the scope of the release, and for each narrower or equal level by the unit of the releaser.
      own: what each head of a sequence has published, by its scope.
    """

    def __init__(self) -> None:
        self.rows: dict[tuple[int, int, int], np.ndarray] = {}
        self.own: dict[int, dict[int, np.ndarray]] = {}

    def restart(self, item: int, units: Units) -> None:
        """A store of a work-item: only the sequences that it has headed go on."""
        own = self.own.get(item, {})
        self.rows, self.own = {}, {}
        for scope, row in own.items():
            self.add(item, scope, row, units)

    def add(self, item: int, scope: int, row: np.ndarray, units: Units) -> None:
        """A release by a work-item."""
        self.own.setdefault(item, {})[scope] = row
        for level in range(1, scope + 1):
            key = (scope, level, units.at(level, item))
            known = self.rows.get(key)
            self.rows[key] = row if known is None else np.maximum(known, row)

    def seen(self, item: int, scope: int, units: Units) -> list[np.ndarray]:
        """The clocks that an acquire of a work-item takes over."""
        keys = [(released, min(released, scope)) for released in range(1, 4)]
        rows = (self.rows.get((r, level, units.at(level, item))) for r, level in keys if level)
        return [row for row in rows if row is not None]

    def copy(self) -> "_Published":
        copied = _Published()
        copied.rows = dict(self.rows)
        return copied


class _Replay:
    """One pass over a history, with what everybody knows of the accesses to a memory."""

    def __init__(
        self,
        history: History,
        geometry: Geometry,
        memory: Allocation,
        partners: Mapping[Spot, Sequence[tuple[Spot, int, int, bool]]],
    ):
        self.history, self.memory, self.partners = history, memory, partners
        self.units = Units(geometry)
        self._clock = clocks(history, geometry)
        count = int(self._clock.max(initial=-1)) + 1
        self._known = np.zeros((count, count), np.int32)
        self._published: dict[tuple[Allocation, int], _Published] = collections.defaultdict(_Published)
        # What fences have released, by scope, and what relaxed loads have read, for a fence to acquire.
        self._fenced: dict[int, dict[int, np.ndarray]] = collections.defaultdict(dict)
        self._pending: dict[int, list[_Published]] = collections.defaultdict(list)
        self._has_fences = any(isinstance(e, Fenced) for e in history.events)
        # Of each cell, for each spot and work-item its last access of either kind, with what it stored.
        self._uses: dict[int, dict[Spot, dict[tuple[int, bool], tuple[int, Any]]]] = {}
        # Of each group when it has passed synchronisation points, and when the last that does not order the memory.
        self._passed: dict[int, list[int]] = collections.defaultdict(list)
        self._unfenced: dict[int, int] = {}
        self._spots: dict[AccessStep, Spot] = {}

    def found(self) -> Iterator[Unordered]:
        for tick, event in enumerate(self.history.events, 1):
            match event:
                case Accessed():
                    yield from self._access(tick, event)
                case Fenced():
                    self._fence(tick, event)
                case Synchronised():
                    self._meet(tick, event)

    # Accesses.

    def _access(self, tick: int, event: Accessed) -> Iterator[Unordered]:
        ordering = event.step.access.ordering
        mine = event.step.memory is self.memory
        spot = self._spots.setdefault(event.step, spot_of(event.step))
        partners = self.partners.get(spot, ()) if mine else ()
        if ordering is None and not partners:
            self._overwrite(event)
            return
        if not partners and event.step.op != "store" and not _synchronises(event.step, self._has_fences):
            return
        if partners and len(self._uses) == 0:
            self._uses = collections.defaultdict(lambda: collections.defaultdict(dict))
        values = event.values.tolist() if event.values is not None else [None] * len(event.items)
        lanes = zip(event.items.tolist(), event.positions.tolist(), event.wrote.tolist(), values, strict=True)
        for item, position, wrote, value in lanes:
            if ordering is not None:
                self._read(event.step, item, position)
            if partners:
                use = ClockedAccess(tick, item, wrote)
                yield from self._meets(use, position, value, partners)
                self._uses[position][spot][item, wrote] = tick, value
            if ordering is not None and wrote:
                self._write(tick, event.step, item, position)
        if ordering is None:
            self._overwrite(event)

    def _meets(
        self, use: ClockedAccess, position: int, value: Any, partners: Sequence[tuple[Spot, int, int, bool]]
    ) -> Iterator[Unordered]:
        """Of each pair an earlier access to a cell that an access conflicts with and does not know of."""
        users = self._uses[position]
        mine = self._known[self._clock[use.item]]
        for spot, number, reach, turned in partners:
            found = None
            for (item, wrote), (tick, stored) in users.get(spot, {}).items():
                if item == use.item or not (wrote or use.wrote) or mine[self._clock[item]] >= tick:
                    continue
                if reach and self.units.at(reach, item) == self.units.at(reach, use.item):
                    continue
                found = ClockedAccess(tick, item, wrote), value is None or stored is None or value != stored
                if found[1]:
                    break
            if found is not None:
                yield self._conflict(number, found[0], use, position, turned, found[1])

    def _conflict(
        self, number: int, earlier: ClockedAccess, later: ClockedAccess, position: int, turned: bool, differs: bool
    ) -> Unordered:
        group = self.units.group(later.item)
        fenced = self.units.group(earlier.item) == group and self._unfenced.get(group, 0) > earlier.tick
        passed, before = len(self._passed[group]), self._passed[self.units.group(earlier.item)]
        earlier_passed = bisect.bisect(before, earlier.tick)
        return Unordered(number, earlier, later, position, turned, differs, fenced, passed, earlier_passed)

    def _overwrite(self, event: Accessed) -> None:
        """A plain store to a location ends what it has published."""
        if event.wrote.any() and self._published:
            for position in event.positions[event.wrote].tolist():
                self._published.pop((event.step.memory, position), None)

    # Atomic operations and fences.

    def _read(self, step: AccessStep, item: int, position: int) -> None:
        ordering = step.access.ordering
        assert ordering is not None
        if step.op == "store" or (step.memory, position) not in self._published:
            return
        published = self._published[step.memory, position]
        if ordering.order in ACQUIRING:
            self._take(item, published.seen(item, level_of(ordering.scope), self.units))
        if self._has_fences:
            self._pending[item].append(published.copy())

    def _write(self, tick: int, step: AccessStep, item: int, position: int) -> None:
        ordering = step.access.ordering
        assert ordering is not None
        published = self._published[step.memory, position]
        if step.op == "store":
            published.restart(item, self.units)
        for scope, row in self._fenced.get(item, {}).items():
            published.add(item, scope, row, self.units)
        if ordering.order in RELEASING:
            published.add(item, level_of(ordering.scope), self._row(tick, item), self.units)

    def _row(self, tick: int, item: int) -> np.ndarray:
        """`[C]` what a work-item knows, up to an event of its own."""
        clock = self._clock[item]
        row = self._known[clock].copy()
        row[clock] = tick
        return row

    def _take(self, item: int, rows: Sequence[np.ndarray]) -> None:
        known = self._known[self._clock[item]]
        for row in rows:
            np.maximum(known, row, out=known)

    def _fence(self, tick: int, event: Fenced) -> None:
        ordering = event.step.ordering
        if self.memory not in event.step.memories:
            return
        for item in event.items.tolist():
            if ordering.order in ACQUIRING:
                scope = level_of(ordering.scope)
                for published in self._pending.pop(item, []):
                    self._take(item, published.seen(item, scope, self.units))
            if ordering.order in RELEASING:
                self._fenced[item][level_of(ordering.scope)] = self._row(tick, item)

    # Barriers and group algorithms.

    def _meet(self, tick: int, event: Synchronised) -> None:
        of_group = event.step.level == collectives.GROUP
        units = self.units.group(event.items) if of_group else self.units.sub_group(event.items)
        for unit in np.unique(units).tolist():
            orders = self.memory in event.step.memories
            if of_group:
                self._passed[unit].append(tick)
                self._unfenced |= {} if orders else {unit: tick}
            if orders:
                members = np.unique(self._clock[event.items[units == unit]])
                joined = self._known[members].max(axis=0)
                joined[members] = tick
                self._known[members] = joined


def clocks(history: History, geometry: Geometry) -> np.ndarray:
    """`[work-items]` number of the clock that each work-item of a launch has, alone or with others.

    Raises:
      TooLarge: there are too many.
    """
    units, every = Units(geometry), np.arange(geometry.groups * geometry.items)
    by_sub_group = any(isinstance(e, Synchronised) and e.step.level != collectives.GROUP for e in history.events)
    alone = np.zeros(len(every), bool)
    fenced = any(isinstance(e, Fenced) for e in history.events)
    for event in history.events:
        if isinstance(event, Fenced) or (isinstance(event, Accessed) and _synchronises(event.step, fenced)):
            alone[event.items] = True
        elif isinstance(event, Synchronised) and (event.step.where is not None or event.step.active is not None):
            alone[np.isin(units.group(every), units.group(event.items))] = True
    together = units.sub_group(every) if by_sub_group else units.group(every)
    key = np.where(alone, every, len(every) + together)
    _, numbers = np.unique(key, return_inverse=True)
    if numbers.max(initial=-1) >= _MOST_CLOCKS:
        raise TooLarge
    return numbers


def _synchronises(step: AccessStep, fenced: bool) -> bool:
    """True if an access may release or acquire; a relaxed one may together with fences."""
    ordering = step.access.ordering
    return ordering is not None and (fenced or ordering.order != "relaxed")
