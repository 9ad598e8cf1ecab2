"""Remedies: what it would take to order two accesses that happens-before does not.

The way from the earlier access to the later one is followed through the history: who knows of the earlier access, by
what. If there is one only under rules that take relaxed operations for releases, say, that is what is missing.
"""

import collections
import dataclasses
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from xeemu.faults.happens_before import ClockedAccess, Units, level_of
from xeemu.language import collectives
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.orders import ACQUIRING, RELEASING, Ordering
from xeemu.stepping.history import Accessed, Fenced, History, Synchronised
from xeemu.stepping.steps import AccessStep, Fence, GroupFunction

RELEASE, ACQUIRE, FENCE, GROUP_FUNCTION = "release", "acquire", "fence", "group function"


@dataclasses.dataclass(frozen=True)
class Rules:
    """What is supposed beside the memory model's rules.

    Attributes:
      memories: barriers and fences order all memories.
      release, acquire: atomic operations release, acquire, whatever their order.
      scopes: every scope is the device's.
      sequences: a store by another work-item does not end a release sequence.
      before, after: a barrier of the work-group lies before each release, after each acquire.
    """

    memories: bool = False
    release: bool = False
    acquire: bool = False
    scopes: bool = False
    sequences: bool = False
    before: bool = False
    after: bool = False


_BOTH = Rules(release=True, acquire=True)
_WIDE = dataclasses.replace(_BOTH, scopes=True)
WIDER = (Rules(memories=True), Rules(scopes=True), Rules(sequences=True))
"""What is there, for more memories or more work-items; the least that might be missing comes first, here and below."""
BARRIERS = (Rules(before=True), Rules(after=True), Rules(before=True, after=True))
STRONGER = (Rules(release=True), Rules(acquire=True), _BOTH, _WIDE)
ALL = (
    dataclasses.replace(_WIDE, before=True),
    dataclasses.replace(_WIDE, after=True),
    dataclasses.replace(_WIDE, memories=True, before=True, after=True),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Hop:
    """Something by which knowledge of the earlier access goes on.

    Attributes:
      kind: `RELEASE`, `ACQUIRE`, `FENCE` or `GROUP_FUNCTION`.
      step: the operation.
      item: who did it; of a group function who knew.
    """

    kind: str
    step: AccessStep | Fence | GroupFunction
    item: int


Way: TypeAlias = tuple[Hop, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Remedy:
    """What would have ordered two accesses.

    Attributes:
      rules: the least that was found missing.
      path: from the earlier access to the later one under these rules.
    """

    rules: Rules
    path: Way


def remedy(
    history: History,
    geometry: Geometry,
    memory: Allocation,
    uses: tuple[ClockedAccess, ClockedAccess],
    attempts: Iterable[Rules],
) -> Remedy | None:
    """What would have ordered an earlier and a later access to a memory, the first of some attempts; None if none."""
    earlier, later = uses
    for rules in attempts:
        way = _Spread(history, geometry, memory, rules).way(earlier, later)
        if way is not None:
            return Remedy(rules, way)
    return None


def flag_read(history: History, geometry: Geometry, earlier: ClockedAccess, later: ClockedAccess) -> AccessStep | None:
    """The atomic operation by which the group of one access had last read what the other's group writes, or None.

    The one is the access that reads, or the later one.
    """
    units, one, other = Units(geometry), *((earlier, later) if later.wrote and not earlier.wrote else (later, earlier))
    written = {step.memory for _, step in _atomics(history, units.group(other.item), units) if step.op != "load"}
    found = None
    for tick, step in _atomics(history, units.group(one.item), units):
        if tick < one.tick and step.op != "store" and step.memory in written:
            found = step
    return found


def last_release(history: History, earlier: ClockedAccess) -> AccessStep | None:
    """The releasing operation that a work-item has made before an access and no more after it, or None."""
    found = None
    for tick, event in enumerate(history.events, 1):
        if isinstance(event, Accessed) and _releases(event.step) and earlier.item in event.items:
            if tick > earlier.tick:
                return None
            found = event.step if tick < earlier.tick else found
    return found


def _atomics(history: History, group: int, units: Units) -> Iterator[tuple[int, AccessStep]]:
    """The atomic operations of a work-group, with their ticks."""
    for tick, event in enumerate(history.events, 1):
        if not isinstance(event, Accessed) or event.step.access.ordering is None:
            continue
        if (units.group(event.items) == group).any():
            yield tick, event.step


def _releases(step: AccessStep) -> bool:
    return step.access.ordering is not None and step.op != "load" and step.access.ordering.order in RELEASING


class _Spread:
    """Who comes to know of an access, event by event, and by what way."""

    def __init__(self, history: History, geometry: Geometry, memory: Allocation, rules: Rules):
        self.history, self.memory, self.rules = history, memory, rules
        self.units = Units(geometry)
        self._ways: dict[int, Way] = {}
        # What each location publishes, by the head of the release sequence and its scope; and what fences do.
        self._published: dict[tuple[Allocation, int], dict[tuple[int, int], Way]] = collections.defaultdict(dict)
        self._fenced: dict[int, dict[int, Way]] = collections.defaultdict(dict)
        self._pending: dict[int, dict[tuple[int, int], Way]] = collections.defaultdict(dict)

    def way(self, earlier: ClockedAccess, later: ClockedAccess) -> Way | None:
        """How the later one comes to know of the earlier one before its access, if it does."""
        between = self.history.events[earlier.tick - 1 : later.tick]
        for tick, event in enumerate(between, earlier.tick):
            match event:
                case Accessed():
                    self._access(
                        event, earlier if tick == earlier.tick else None, later if tick == later.tick else None
                    )
                case Fenced():
                    self._fence(event)
                case Synchronised():
                    self._meet(event)
        return self._ways.get(later.item)

    def _access(self, event: Accessed, earlier: ClockedAccess | None, later: ClockedAccess | None) -> None:
        ordering = event.step.access.ordering
        for item, position, wrote in zip(
            event.items.tolist(), event.positions.tolist(), event.wrote.tolist(), strict=True
        ):
            if ordering is not None and event.step.op != "store":
                self._read(event.step, ordering, item, position)
            if later is not None and item == later.item:
                return
            if earlier is not None and item == earlier.item:
                self._ways.setdefault(item, ())
            if wrote and ordering is not None:
                self._write(event.step, ordering, item, position)
            elif wrote:
                self._published.pop((event.step.memory, position), None)

    def _read(self, step: AccessStep, ordering: Ordering, item: int, position: int) -> None:
        published = self._published.get((step.memory, position))
        if not published:
            return
        self._pending[item] |= published
        if ordering.order in ACQUIRING or self.rules.acquire:
            self._take(item, published, level_of(ordering.scope), Hop(ACQUIRE, step, item))

    def _take(self, item: int, published: dict[tuple[int, int], Way], scope: int, hop: Hop) -> None:
        for (head, released), way in published.items():
            if self._inclusive(head, released, item, scope):
                self._learn(item, (*way, hop))

    def _learn(self, item: int, way: Way) -> None:
        group = self.units.group(item) * self.units.items
        known = range(group, group + self.units.items) if self.rules.after else (item,)
        for each in known:
            self._ways.setdefault(each, way)

    def _inclusive(self, head: int, released: int, item: int, scope: int) -> bool:
        level = min(released, scope)
        return self.rules.scopes or (level > 0 and self.units.at(level, head) == self.units.at(level, item))

    def _write(self, step: AccessStep, ordering: Ordering, item: int, position: int) -> None:
        place = step.memory, position
        if step.op == "store" and not self.rules.sequences:
            self._published[place] = {k: way for k, way in self._published[place].items() if k[0] == item}
        hop = Hop(RELEASE, step, item)
        for scope, way in self._fenced[item].items():
            self._published[place].setdefault((item, scope), (*way, hop))
        known = self._known(item)
        if known is not None and (ordering.order in RELEASING or self.rules.release):
            self._published[place].setdefault((item, level_of(ordering.scope)), (*known, hop))

    def _known(self, item: int) -> Way | None:
        """How a work-item knows of the access, or one of its group does."""
        if item in self._ways or not self.rules.before:
            return self._ways.get(item)
        group = self.units.group(item)
        return next((way for other, way in self._ways.items() if self.units.group(other) == group), None)

    def _fence(self, event: Fenced) -> None:
        step, ordering = event.step, event.step.ordering
        if not (self.rules.memories or self.memory in step.memories):
            return
        scope = level_of(ordering.scope)
        for item in event.items.tolist():
            if ordering.order in ACQUIRING:
                self._take(item, self._pending[item], scope, Hop(FENCE, step, item))
            known = self._known(item)
            if known is not None and ordering.order in RELEASING:
                self._fenced[item].setdefault(scope, (*known, Hop(FENCE, step, item)))

    def _meet(self, event: Synchronised) -> None:
        if not (self.rules.memories or self.memory in event.step.memories):
            return
        of_group = event.step.level == collectives.GROUP
        units = self.units.group(event.items) if of_group else self.units.sub_group(event.items)
        for unit in np.unique(units).tolist():
            members = event.items[units == unit].tolist()
            first = next((item for item in members if item in self._ways), None)
            if first is not None:
                way = (*self._ways[first], Hop(GROUP_FUNCTION, event.step, first))
                for item in members:
                    self._ways.setdefault(item, way)


def weak(remedy: Remedy, memory: Allocation) -> Iterator[Hop]:
    """The operations on the way that are too weak: those at which the rules had to be stretched."""
    for hop in remedy.path:
        if isinstance(hop.step, AccessStep) and hop.step.access.ordering is not None:
            order = hop.step.access.ordering.order
            late = hop.kind == RELEASE and remedy.rules.release and order not in RELEASING
            early = hop.kind == ACQUIRE and remedy.rules.acquire and order not in ACQUIRING
            if late or early:
                yield hop
        elif not isinstance(hop.step, AccessStep) and memory not in hop.step.memories:
            yield hop
