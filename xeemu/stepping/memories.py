"""Memories: those of a launch whose work-items go on one after the other, as each of its work-items sees them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xeemu.emission import ordered_atomics
from xeemu.language.linearity import Allocation
from xeemu.language.memory import poison
from xeemu.language.orders import ACQUIRING, RELEASING
from xeemu.language.program import Program
from xeemu.stepping import turns, visibility
from xeemu.stepping.steps import AccessStep
from xeemu.stepping.visibility import Contents, WorkItemUnits

Lanes = tuple[np.ndarray, ...]
"""Lanes of an access: `[k]` numbers of the work-items among those of a step, and `[k]` of their elements."""


class Accesses(NamedTuple):
    """An access by some work-items.

    Attributes:
      step: what they do.
      group, item: `[k]` the work-items.
      positions: `[k, n]` of their elements in the memory.
      active: `[k, n]` which of these are accessed: those in bounds for which the mask holds.
    """

    step: AccessStep
    group: np.ndarray
    item: np.ndarray
    positions: np.ndarray
    active: np.ndarray


class Memories:
    """The memories of a launch under way.

    Attributes:
      contents: of each memory.
    """

    def __init__(self, program: Program, given: Sequence[Any], drawn: turns.Turns):
        self._geometry, self._turns = program.geometry, drawn
        shape = (self._geometry.groups, self._geometry.items)
        self._who = [[WorkItemUnits.of(g, i, self._geometry) for i in range(shape[1])] for g in range(shape[0])]
        self.contents = self._initial(program, given)
        # When each work-item last acquired what others have stored to a memory.
        self._acquired = {memory: np.zeros(shape, np.int64) for memory in self.contents}

    def _initial(self, program: Program, given: Sequence[Any]) -> dict[Allocation, Contents]:
        old = self._turns.manner.old_values
        found = {a: Contents(a, self._geometry, remembers=old) for a in program.allocations}
        for memory, argument in zip(program.arguments, given, strict=True):
            if memory is not None:
                found[memory] = Contents(memory, self._geometry, np.asarray(argument), old)
        return found

    def tick(self) -> None:
        """The next step begins."""
        for contents in self.contents.values():
            contents.now += 1

    def accesses(self, step: AccessStep, members: np.ndarray, element: np.ndarray, active: np.ndarray) -> Accesses:
        """An access by work-items, a mask of `[groups, items]`, of elements `[k, n]` of their memory."""
        group, item = np.nonzero(members)
        positions = self.contents[step.memory].positions(element, group, item, self._geometry.items)
        return Accesses(step, group, item, positions, active)

    def load(self, accesses: Accesses) -> np.ndarray:
        """`[k, n]` what work-items see; anything where they are not active."""
        memory = self.contents[accesses.step.memory]
        if not memory.cells.size:
            return np.zeros(accesses.positions.shape, accesses.step.memory.dtype)
        # An atomic load sees the newest value.
        pick = (lambda count: 0) if accesses.step.access.ordering is not None else self._turns.number
        since = self._acquired[accesses.step.memory][accesses.group, accesses.item].tolist()
        return memory.load(np.where(accesses.active, accesses.positions, 0), self._members(accesses), since, pick)

    def store(self, accesses: Accesses, values: np.ndarray, late: np.ndarray) -> Lanes:
        """Stores in a random order, which it gives; the last one to an element stays, some come late.

        Args:
          accesses: which.
          values: `[k, n]`.
          late: `[groups, items]` whose stores surely come late.
        """
        memory, who = self.contents[accesses.step.memory], self._members(accesses)
        row, column = np.nonzero(accesses.active)
        order = self._turns.shuffled(len(row))
        row, column = row[order], column[order]
        delay = self._turns.manner.delay
        if memory.is_settled and (not delay or memory.memory.space == "private"):
            memory.cells[accesses.positions[row, column]] = values[row, column]
            return row, column
        late = late[accesses.group, accesses.item]
        delayed = (self._turns.many(delay, len(row)) | late[row]).tolist()
        places, stored = accesses.positions[row, column].tolist(), values[row, column]
        for n, place in enumerate(places):
            memory.store(place, stored[n], who[row[n]], delayed[n])
        return row, column

    def update(self, accesses: Accesses, values: Sequence[np.ndarray]) -> tuple[np.ndarray, Lanes]:
        """Atomic operations, one after the other in a random order; the old values `[k, n]`, and the order."""
        step, active, who = accesses.step, accesses.active, self._members(accesses)
        assert step.access.ordering is not None
        level = visibility.LEVELS[step.access.ordering.scope]
        if step.access.ordering.order in RELEASING:
            for number in np.flatnonzero(active.any(axis=1)).tolist():
                for contents in self.contents.values():
                    contents.publish(who[number], level)
        # Where nothing is held back, an operation of narrow scope works on what everybody sees.
        level = level if self._turns.manner.delay else visibility.DEVICE
        old = np.full(accesses.positions.shape, poison(step.memory.dtype))
        row, column = np.nonzero(active)
        order = self._turns.shuffled(len(row))
        for n in order.tolist():
            at = row[n], column[n]
            own, position = [v[at] for v in values], int(accesses.positions[at])
            old[at] = self.contents[step.memory].update(position, own, who[row[n]], _UPDATES[step.op], level)
        return old, (row[order], column[order])

    def end(self, accesses: Accesses) -> None:
        """What an atomic operation that acquires makes its work-items see."""
        step = accesses.step
        if step.access.ordering is not None and step.op != "store" and step.access.ordering.order in ACQUIRING:
            row = np.flatnonzero(accesses.active.any(axis=1))
            self.acquire((accesses.group[row], accesses.item[row]), self.contents)

    def acquire(self, members: Any, memories: Iterable[Allocation]) -> None:
        """Work-items, by a mask or their groups and local ids, see what was stored to memories up to now."""
        for memory in memories:
            self._acquired[memory][members] = self.contents[memory].now

    def publish(self, members: np.ndarray, memories: Iterable[Allocation], level: int) -> None:
        """What work-items, a mask of `[groups, items]`, have stored to memories is seen by all of a level."""
        unsettled = [self.contents[m] for m in memories if not self.contents[m].is_settled]
        if not unsettled:
            return
        group, item = np.nonzero(members)
        for n in self._turns.shuffled(len(group)).tolist():
            for contents in unsettled:
                contents.publish(self._who[group[n]][item[n]], level)

    def _members(self, accesses: Accesses) -> "_Members":
        return _Members(self._who, accesses.group, accesses.item)


class _Members(Sequence[WorkItemUnits]):
    """The work-items that take a step together, found in the table of all when asked for."""

    def __init__(self, table: list[list[WorkItemUnits]], group: np.ndarray, item: np.ndarray):
        self._table, self._group, self._item = table, group, item

    def __len__(self) -> int:
        return len(self._group)

    def __getitem__(self, row: Any) -> Any:
        return self._table[self._group[row]][self._item[row]]


def element_of(components: Sequence[np.ndarray], memory: Allocation) -> tuple[np.ndarray, np.ndarray]:
    """The linear elements of indices, 0 where they are out of bounds; and where they are not."""
    inside = np.ones((), bool)
    for component, size in zip(components, memory.shape, strict=True):
        inside = inside & (component >= 0) & (component < size)
    element = np.zeros(np.shape(inside), np.int64)
    for component, size in zip(components, memory.shape, strict=True):
        element = element * size + np.where(inside, component, 0).astype(np.int64)
    return element, inside


def _combining(function: Callable[[Any, Any], Any]) -> visibility.Update:
    return lambda old, values: function(old, values[0])


def _compare_exchange(old: Any, values: Sequence[Any]) -> Any:
    """SYCL compares the representation of a float, not its value."""
    expected, desired = values
    return desired if old.tobytes() == expected.tobytes() else old


_NUMPY = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_UPDATES: dict[str, visibility.Update] = {
    **{op: _combining(_NUMPY[op]) for op in ordered_atomics.COMBINE},
    "store": lambda old, values: values[0],
    "exchange": lambda old, values: values[0],
    "compare_exchange": _compare_exchange,
}
