"""Exploration: a launch with atomic operations that may order others, run step by step in several orders.

The usual run watches conflicts that barriers leave unordered, in lockstep. What atomic operations and fences order is
followed by `happens_before` in the history of a run; and since who sees a flag depends on whose turn it is, a small
launch is run in many orders: in lockstep, group by group and work-item by work-item, forwards, backwards and permuted,
and in drawn ones.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.errors import KernelError
from xeemu.faults import epochs, happens_before, remedies
from xeemu.faults.happens_before import Units, Unordered
from xeemu.faults.proofs import Proofs
from xeemu.faults.races import (
    CASES,
    FENCED_GROUPS,
    FENCED_ITEMS,
    FENCED_SUB_GROUPS,
    GROUPS,
    ITEMS,
    SUB_GROUPS,
    Conflict,
)
from xeemu.faults.remedies import Remedy
from xeemu.knowledge.access_tree import AccessTree
from xeemu.knowledge.expressions import TooLarge
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.orders import ACQUIRING, RELEASING
from xeemu.language.program import Program
from xeemu.launching.options import MOST_WATCHED
from xeemu.stepping import recording, turns
from xeemu.stepping.history import History
from xeemu.stepping.steps import AccessStep

_MOST_LANES = 1 << 21
_MOST_EFFORT = 1 << 24
"""Of the run in lockstep, see `SteppedLaunch.run`; work-items that go on together take a microsecond each."""
_EFFORT_OF_OTHERS = 1 << 18
"""Of all other orders together; each may take half of what is left."""
_SURELY = 1.25
"""An order that would take so many times what it may is not begun: what data decide may be somewhat shorter in it."""
_MOST_WORK_ITEMS = 1 << 14
"""Of a launch in which the usual run has seen no conflict, and which is run in other orders all the same."""
_ORDERS = 24
_FEW, _ALL_PERMUTED = 32, 4
_FENCED = {
    GROUPS: FENCED_GROUPS,
    SUB_GROUPS: FENCED_SUB_GROUPS,
    ITEMS: FENCED_ITEMS,
    FENCED_SUB_GROUPS: FENCED_SUB_GROUPS,
    FENCED_ITEMS: FENCED_ITEMS,
}
"""The case of a conflict that a barrier or fence would order if it were given the memory."""


@dataclasses.dataclass(frozen=True, eq=False)
class Reason:
    """Why nothing orders the two accesses of an example.

    Attributes:
      remedy: what would have, or None.
      read: the atomic operation by which the group of the one had last read what the other's writes, or None.
      released: what the earlier one had released last, before its access and never again, or None.
    """

    remedy: Remedy | None
    read: AccessStep | None
    released: AccessStep | None


@dataclasses.dataclass(frozen=True, eq=False)
class Explored:
    """What was seen of the pairs of a watch, in the form of a run's state.

    Attributes:
      counts: for each pair `[CASES]` conflicts.
      differing: for each pair how many are not both stores of one value.
      examples: for each pair `[CASES]` conflicts as arrays of their fields.
      reasons: of the examples, by pair and case.
      orders: how many orders were run.
    """

    counts: list[np.ndarray]
    differing: list[int]
    examples: list[np.ndarray]
    reasons: Mapping[tuple[int, int], Reason]
    orders: int

    def state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state of a run with these conflicts for its own."""
        return {**state, "conflicts": self.counts, "differing": self.differing, "examples": self.examples}


@functools.lru_cache(maxsize=MOST_WATCHED)
def orders_something(tree: AccessTree) -> bool:
    """True if atomic operations or fences of a program may order other accesses: something acquires, and releases."""
    orderings = [o.access.ordering for o in tree.root.operations() if o.access.ordering is not None]
    fences = [m.op.attributes["ordering"] for m in tree.sync_points() if m.level is None]
    orders = {ordering.order for ordering in (*orderings, *fences)}
    return bool(orderings) and bool(orders & ACQUIRING) and bool(orders & RELEASING)


@functools.lru_cache(maxsize=MOST_WATCHED)
def _tells(tree: AccessTree) -> bool:
    """True if a program looks at what atomic operations find."""
    return any(o.fetches and o.access.ordering is not None for o in tree.root.operations())


def is_needed(proofs: Proofs, conflicts: Sequence[np.ndarray]) -> bool:
    """True if conflicts, or that none was seen, may be due to the order in which the launch was run.

    Args:
      proofs: what was watched.
      conflicts: for each pair of spots how many were seen.
    """
    if not proofs.races:
        return False
    geometry = proofs.tree.geometry
    tells = _tells(proofs.tree)
    seen = any(counts.any() for counts in conflicts)
    if seen:
        # Lanes that meet while others of their sub-group are not active are told apart by happens-before alone.
        if any(map(epochs.is_of_some_lanes, proofs.sync_points.values())):
            return True
        return tells or orders_something(proofs.tree)
    return tells and geometry.groups * geometry.items <= _MOST_WORK_ITEMS


def explored(program: Program, given: Sequence[Any], proofs: Proofs) -> Explored | None:
    """The conflicts of a launch in several orders; None if it is too large to be followed in one.

    Args:
      program: the kernel.
      given: the launch's arguments.
      proofs: what has to be watched.
    """
    search = _Search(program, given, proofs)
    lockstep, *others = _orders(program.geometry)
    try:
        if search.run(lockstep, _MOST_EFFORT) > _MOST_EFFORT:
            return None
    except (KernelError, TooLarge):
        return None
    left = _EFFORT_OF_OTHERS
    for order in others:
        if search.is_complete or left <= 0:
            break
        if search.least_effort(order) > _SURELY * (left // 2):
            left //= 2
            continue
        try:
            left -= search.run(order, left // 2)
        except (KernelError, TooLarge):
            # Work-items that wait for each other are another fault, which the usual run finds.
            left //= 2
    return search.result()


def _orders(geometry: Geometry) -> Iterator[turns.Turns]:
    groups = np.arange(geometry.groups)[:, None] + np.zeros((1, geometry.items), np.int64)
    items = np.arange(geometry.groups * geometry.items).reshape(groups.shape)
    yield turns.Fixed(np.zeros_like(groups), geometry)
    for ranks in (groups, -groups, items, -items, -np.arange(geometry.items) + np.zeros_like(groups)):
        yield turns.Fixed(ranks, geometry)
    for order in _permutations(_units(geometry)):
        yield turns.Fixed(order, geometry)
    for number in range(_ORDERS):
        yield turns.Turns.plain(number, geometry)


def _units(geometry: Geometry) -> np.ndarray:
    """`[groups, items]` numbers of work-items, or of sub-groups or groups where these are few enough to be permuted."""
    group, item = np.indices((geometry.groups, geometry.items))
    rows = -(-geometry.items // geometry.sub_group_size)
    levels = (group * geometry.items + item, group * rows + item // geometry.sub_group_size, group)
    return next((units for units in levels if units.max(initial=0) < _FEW), levels[-1])


def _permutations(units: np.ndarray) -> Iterator[np.ndarray]:
    """Orders in which each unit runs as far as it can before the next: all of up to four units, some of more."""
    count = int(units.max(initial=-1)) + 1
    drawn = np.random.default_rng(0)
    some = (drawn.permutation(count) for _ in range(_ORDERS))
    for ranks in itertools.permutations(range(count)) if count <= _ALL_PERMUTED else some:
        yield np.asarray(ranks)[units]


class _Search:
    """Conflicts found so far."""

    def __init__(self, program: Program, given: Sequence[Any], proofs: Proofs):
        self.program, self.given, self.proofs = program, given, proofs
        self.geometry = program.geometry
        self.pairs = tuple(proofs.races)
        self.counts = [np.zeros(CASES, np.int64) for _ in self.pairs]
        self.differing = [0 for _ in self.pairs]
        self.examples = [np.zeros((CASES, len(Conflict._fields)), np.int64) for _ in self.pairs]
        self.reasons: dict[tuple[int, int], Reason] = {}
        # Pairs that a barrier or fence would order if it were given their memory.
        self._unfenced: set[int] = set()
        self.orders = 0
        # That work-items have taken in the last order that came to its end.
        self._steps = np.zeros((0, 0), np.int64)
        operations = proofs.tree.root.operations()
        self._flags = frozenset(o.access_site.memory for o in operations if o.access.ordering is not None)

    @property
    def is_complete(self) -> bool:
        """True if every pair was seen to conflict."""
        return not self._open

    @property
    def _open(self) -> list[int]:
        """The numbers of the pairs that were not seen to conflict."""
        return [number for number, counts in enumerate(self.counts) if not counts.any()]

    def run(self, order: turns.Turns, most: int) -> int:
        """Runs the launch in an order, and looks for conflicts if it comes to its end; gives the effort."""
        # Of the others no pair is looked for any more.
        memories = tuple(dict.fromkeys(self.pairs[number][0].access_site.memory for number in self._open))
        history = History(memories, self._flags)
        effort, steps = recording.recorded(self.program, self.given, order, history, most)
        if history.lanes > _MOST_LANES:
            raise TooLarge
        if effort <= most:
            self.orders, self._steps = self.orders + 1, steps
            for memory in memories:
                self._look(history, memory)
        return effort + history.lanes

    def least_effort(self, order: turns.Turns) -> int:
        """The effort of an order, if its work-items take as many steps as in the last that came to its end."""
        return recording.least_effort(order, self._steps)

    def _look(self, history: History, memory: Allocation) -> None:
        """Adds the conflicts of accesses to a memory, of pairs that were not seen to conflict in an earlier order."""
        numbers = {self.pairs[number]: number for number in self._open}
        wanted = {pair: self.proofs.races[pair] for pair in numbers}
        for found in happens_before.unordered(history, self.geometry, memory, wanted, numbers):
            self._add(found, history, memory)

    def _add(self, found: Unordered, history: History, memory: Allocation) -> None:
        case, reason = self._case(found), None
        if not self.counts[found.pair][[case, _FENCED[case]]].any():
            reason = self._reason(found, case, history, memory)
            self._unfenced |= {found.pair} if _is_fence(reason) else set()
        case = _FENCED[case] if found.pair in self._unfenced else case
        if reason is not None:
            self.reasons[found.pair, case] = reason
            self.examples[found.pair][case] = self._example(found, memory)
        self.counts[found.pair][case] += 1
        self.differing[found.pair] += found.differs

    def _reason(self, found: Unordered, case: int, history: History, memory: Allocation) -> Reason:
        uses = found.earlier, found.later
        find = functools.partial(remedies.remedy, history, self.geometry, memory, uses)
        remedy, released = find(remedies.WIDER), remedies.last_release(history, found.earlier)
        if remedy is None and released is None:
            barriers = () if self.geometry.plain else remedies.BARRIERS
            every = remedies.ALL if barriers and case == GROUPS else ()
            remedy = find((*barriers, *remedies.STRONGER, *every))
        return Reason(remedy, remedies.flag_read(history, self.geometry, *uses), released)

    def _case(self, found: Unordered) -> int:
        units, items = Units(self.geometry), (found.earlier.item, found.later.item)
        if len({units.group(item) for item in items}) > 1:
            return GROUPS
        if len({units.sub_group(item) for item in items}) > 1:
            return FENCED_SUB_GROUPS if found.fenced else SUB_GROUPS
        return FENCED_ITEMS if found.fenced else ITEMS

    def _example(self, found: Unordered, memory: Allocation) -> np.ndarray:
        earlier, later = (divmod(use.item, self.geometry.items) for use in (found.earlier, found.later))
        element = found.position % memory.elements
        conflict = Conflict(*earlier, *later, element, found.barriers, int(found.turned), found.earlier_barriers)
        return np.array(conflict, np.int64)

    def result(self) -> Explored:
        return Explored(self.counts, self.differing, self.examples, self.reasons, self.orders)


def _is_fence(reason: Reason) -> bool:
    return reason.remedy is not None and reason.remedy.rules.memories and not reason.remedy.rules.before
