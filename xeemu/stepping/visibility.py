"""Visibility: the contents of memories, and the stores that not all work-items see yet.

A store of a work-item may stay with it until something publishes it: a barrier that is given the memory, a release
fence or atomic operation, or the work-item's end. In between lie the levels of SYCL's scopes: what a barrier of a
sub-group publishes is seen by that sub-group, what one of the work-group publishes by the work-group. An atomic
operation works on the level of its scope. A load may also see what an element held before, back to where the work-item
last acquired. Whoever is ordered after a store by SYCL's rules sees it, so that only races can tell.
"""

import collections
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.memory import poison

ITEM, SUB_GROUP, GROUP, DEVICE = range(4)
LEVELS = {"work_item": ITEM, "sub_group": SUB_GROUP, "work_group": GROUP, "device": DEVICE, "system": DEVICE}
_TOP = {"private": ITEM, "local": GROUP, "global": DEVICE}

Update = Callable[[Any, Sequence[Any]], Any]
Pick = Callable[[int], int]


@dataclasses.dataclass(frozen=True)
class WorkItemUnits:
    """A work-item, by its numbers among the units of every level below the device."""

    units: tuple[int, int, int]

    @classmethod
    def of(cls, group: int, item: int, geometry: Geometry) -> "WorkItemUnits":
        rows = -(-geometry.items // geometry.sub_group_size)
        return cls((group * geometry.items + item, group * rows + item // geometry.sub_group_size, group))


class Contents:
    """A memory in all its copies, one after the other: of each work-group or work-item, if it is not global.

    Attributes:
      memory: which one.
      cells: what everybody who may see the memory sees.
      now: a clock, for those who run the launch.
    """

    def __init__(
        self, memory: Allocation, geometry: Geometry, initial: np.ndarray | None = None, remembers: bool = False
    ):
        copies = {"private": geometry.groups * geometry.items, "local": geometry.groups, "global": 1}[memory.space]
        count = memory.elements * copies
        self.cells = np.full(count, poison(memory.dtype)) if initial is None else np.array(initial).reshape(-1)
        self.memory, self._top = memory, _TOP[memory.space]
        self.now = 0
        # For each position when it changed, what it held before, and whose store or operation it was.
        self._past: dict[int, list[tuple[int, Any, int, int]]] = {}
        self._remembers = remembers and memory.space != "private"
        # For each level, for each of its units what it alone sees.
        self._unseen: tuple[dict[int, dict[int, Any]], ...] = tuple({} for _ in range(self._top))

    def positions(self, element: np.ndarray, group: np.ndarray, item: np.ndarray, items: int) -> np.ndarray:
        """Where the elements of the copies lie that work-items have."""
        match self.memory.space:
            case "global":
                return element
            case "local":
                return element + (group * self.memory.elements)[:, None]
        return element + ((group * items + item) * self.memory.elements)[:, None]

    @property
    def is_settled(self) -> bool:
        """True if everybody sees all stores, and no load sees anything older."""
        return not self._remembers and not any(self._unseen)

    def load(self, positions: np.ndarray, who: Sequence[WorkItemUnits], since: Sequence[int], pick: Pick) -> np.ndarray:
        """What work-items see, each at its row of `positions`.

        Args:
          positions: `[work-items, n]`.
          who: the work-items.
          since: for each when it last acquired.
          pick: chooses one of so many values, of which the first is the newest.
        """
        values = self.cells[positions]
        if not self.is_settled:
            for row, each in enumerate(who):
                mine = self._seen_by(each)
                for column, position in enumerate(positions[row].tolist()):
                    if position in mine:
                        values[row, column] = mine[position]
                    elif position in self._past and len(older := self._older(position, each, since[row])) > 0:
                        chosen = pick(len(older) + 1)
                        values[row, column] = older[chosen - 1] if chosen else values[row, column]
        return values

    def _older(self, position: int, who: WorkItemUnits, since: int) -> list[Any]:
        """What a work-item may still see of a position beside the newest value, the newest first."""
        found = []
        for when, before, level, unit in reversed(self._past[position]):
            if when <= since or who.units[level] == unit:
                break
            found.append(before)
        return found

    def _write(self, position: int, value: Any, who: WorkItemUnits, level: int) -> None:
        """Changes what everybody sees by something that the unit of a level has seen before."""
        if self._remembers:
            self._past.setdefault(position, []).append((self.now, self.cells[position], level, who.units[level]))
        self.cells[position] = value

    def store(self, position: int, value: Any, who: WorkItemUnits, delayed: bool) -> None:
        """A plain store, which others see at once or later."""
        if delayed and self._top:
            self._unseen[ITEM].setdefault(who.units[ITEM], {})[position] = value
        else:
            self._forget(position, who, self._top)
            self._write(position, value, who, ITEM)

    def update(self, position: int, values: Sequence[Any], who: WorkItemUnits, function: Update, level: int) -> Any:
        """An atomic operation on what the unit of a level sees; gives the old value."""
        level = min(level, self._top)
        own = self._forget(position, who, level)
        old = own[0] if own else self._at(position, who, level)
        new = function(old, values)
        if level == self._top:
            self._write(position, new, who, ITEM)
        else:
            self._unseen[level].setdefault(who.units[level], {})[position] = new
        return old

    def publish(self, who: WorkItemUnits, level: int) -> None:
        """Lets the unit of a level see all that a work-item has stored, or has seen of its narrower units."""
        target = min(level, self._top)
        # What lies further out is older.
        for narrower in reversed(range(target)):
            mine = self._unseen[narrower].pop(who.units[narrower], {})
            if target == self._top:
                for position, value in mine.items():
                    self._write(position, value, who, narrower)
            elif mine:
                self._unseen[target].setdefault(who.units[target], {}).update(mine)

    def _seen_by(self, who: WorkItemUnits) -> dict[int, Any]:
        """What a work-item sees alone or with few others."""
        found = [self._unseen[level].get(who.units[level]) for level in range(self._top)]
        present = [mine for mine in found if mine]
        return present[0] if len(present) == 1 else dict(collections.ChainMap(*present))

    def _forget(self, position: int, who: WorkItemUnits, level: int) -> list[Any]:
        """Takes a store from the levels below one; gives its value, the newest first."""
        found = [self._unseen[k].get(who.units[k], {}) for k in range(level)]
        return [mine.pop(position) for mine in found if position in mine]

    def _at(self, position: int, who: WorkItemUnits, level: int) -> Any:
        for k in range(level, self._top):
            mine = self._unseen[k].get(who.units[k], {})
            if position in mine:
                return mine[position]
        return self.cells[position]
