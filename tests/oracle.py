"""The scalar oracle: what a kernel means, one work-item at a time.

A second, slow and obvious implementation of the kernel language. A kernel is a generator function of one work-item; it
yields where work-items meet, and gets there what the meeting gives:

    def neighbours(item, x, y):
        tile = item.local_memory("tile", 4, np.int32)
        lane = item.local_linear_id()
        item.store(tile, lane, item.load(x, item.global_linear_id()))
        yield item.barrier(tile)
        item.store(y, item.global_linear_id(), item.load(tile, 3 - lane))

Between two yields a work-item runs alone, and the work-items run in order. A race-free kernel cannot tell that from
any other order; a race raises `Race`. Every atomic operation is a meeting: it is executed for the work-items in order
before any of them goes on, which is the order the emulator promises. Groups run one after the other.
"""

import collections
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import numpy as np

Poison = Callable[[np.dtype], np.generic]
Body = Callable[..., Generator[Any, Any, None]]

COMBINE = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}

# The new value of an element that holds `old`.
UPDATE: dict[str, Callable[..., Any]] = {
    **COMBINE,
    "sub": np.subtract,
    "load": lambda old: old,
    "store": lambda old, x: x,
    "exchange": lambda old, x: x,
    "compare_exchange": lambda old, expected, desired: desired if old == expected else old,
}


class Race(AssertionError):
    """Two work-items access one location, one of them stores, and nothing orders them."""


class Divergence(AssertionError):
    """The work-items of a group do not all reach the same meeting."""


class Memory:
    """One memory, and who accessed which element in which epoch.

    Attributes:
      data: the elements.
      poison: what a load beyond them gives.
      private: whether one work-item alone sees it.
    """

    def __init__(self, name: str, data: np.ndarray, poison: Poison, private: bool = False):
        self.name, self.data, self.private = name, data, private
        self.poison = poison(data.dtype)
        self._epoch: dict[int, int] = collections.defaultdict(int)
        self._seen: dict[tuple[int, ...], dict[tuple[str, int, int], set[int]]] = {}

    def begin_epoch(self, group: int) -> None:
        """What `group` does from here on comes after all that it did."""
        self._epoch[group] += 1

    def place(self, index: Any) -> tuple[int, ...] | None:
        """The index as Python ints, or None out of bounds in some dimension."""
        place = tuple(int(i) for i in (index if isinstance(index, tuple) else (index,)))
        assert len(place) == self.data.ndim, f"{self.name} has shape {self.data.shape}, but the index is {place}"
        return place if all(0 <= i < n for i, n in zip(place, self.data.shape, strict=True)) else None

    def record(self, kind: str, place: tuple[int, ...], item: "Item") -> None:
        """Raises `Race` if another work-item's access to `place` conflicts with this one."""
        if self.private:
            return
        me, group, epoch = item.local_linear, item.group_linear, self._epoch[item.group_linear]
        seen = self._seen.setdefault(place, collections.defaultdict(set))
        for (other_kind, other_group, other_epoch), items in seen.items():
            ordered = other_group == group and other_epoch != epoch
            harmless = kind == other_kind != "store"
            if not ordered and not harmless and (other_group != group or items - {me}):
                raise Race(
                    f"{other_kind} by {items} of group {other_group}, {kind} by {me} of {group}: {self.name}{place}"
                )
        seen[kind, group, epoch].add(me)


@dataclasses.dataclass(frozen=True)
class Barrier:
    """A meeting of the group that orders the accesses to `memories`."""

    memories: tuple[Memory, ...]


@dataclasses.dataclass(frozen=True)
class Atomic:
    """An atomic operation; it answers with the old value."""

    memory: Memory
    index: Any
    op: str
    operands: tuple[Any, ...]
    where: bool


@dataclasses.dataclass(frozen=True)
class Collective:
    """An algorithm over the group or the sub-group; it answers with this work-item's result."""

    sub_group: bool
    kind: str
    op: str | None
    x: Any
    argument: int


@dataclasses.dataclass(frozen=True)
class Item:
    """One work-item: its ids, its accesses and its requests to meet the others.

    Attributes:
      group, local: ids per dimension.
      group_range, local_range: sizes per dimension.
      sub_group_size: lanes of a full sub-group.
      locals: the group's local memories by name.
    """

    group: tuple[int, ...]
    local: tuple[int, ...]
    group_range: tuple[int, ...]
    local_range: tuple[int, ...]
    sub_group_size: int
    poison: Poison
    locals: dict[str, Memory]

    @property
    def local_linear(self) -> int:
        return _linear(self.local, self.local_range)

    @property
    def group_linear(self) -> int:
        return _linear(self.group, self.group_range)

    def local_id(self, d: int = 0) -> np.int32:
        return np.int32(self.local[d])

    def group_id(self, d: int = 0) -> np.int32:
        return np.int32(self.group[d])

    def global_id(self, d: int = 0) -> np.int32:
        return np.int32(self.group[d] * self.local_range[d] + self.local[d])

    def local_linear_id(self) -> np.int32:
        return np.int32(self.local_linear)

    def group_linear_id(self) -> np.int32:
        return np.int32(self.group_linear)

    def global_linear_id(self) -> np.int32:
        place = [g * n + i for g, n, i in zip(self.group, self.local_range, self.local, strict=True)]
        sizes = [g * n for g, n in zip(self.group_range, self.local_range, strict=True)]
        return np.int32(_linear(place, sizes))

    def sub_group_local_id(self) -> np.int32:
        return np.int32(self.local_linear % self.sub_group_size)

    def sub_group_group_id(self) -> np.int32:
        return np.int32(self.local_linear // self.sub_group_size)

    def local_memory(self, name: str, shape: int | Sequence[int], dtype: Any) -> Memory:
        """The group's local memory `name`, poisoned where the first work-item asks for it."""
        if name not in self.locals:
            self.locals[name] = Memory(name, _poisoned(shape, dtype, self.poison), self.poison)
        return self.locals[name]

    def private_memory(self, name: str, shape: int | Sequence[int], dtype: Any) -> Memory:
        """A new poisoned memory of this work-item alone."""
        return Memory(name, _poisoned(shape, dtype, self.poison), self.poison, private=True)

    def load(self, memory: Memory, index: Any, where: bool = True, other: Any = 0) -> np.generic:
        """The element; the poison value out of bounds; `other` where masked out."""
        if not where:
            return memory.data.dtype.type(other)
        place = memory.place(index)
        if place is None:
            return memory.poison
        memory.record("load", place, self)
        return memory.data[place]

    def store(self, memory: Memory, index: Any, x: Any, where: bool = True) -> None:
        """Stores `x`; nothing out of bounds or where masked out."""
        place = memory.place(index) if where else None
        if place is not None:
            memory.record("store", place, self)
            memory.data[place] = x

    def barrier(self, *memories: Memory) -> Barrier:
        return Barrier(memories)

    def atomic(self, memory: Memory, index: Any, op: str, *operands: Any, where: bool = True) -> Atomic:
        return Atomic(memory, index, op, operands, bool(where))

    def over_group(self, kind: str, x: Any, op: str | None = None, argument: Any = 0) -> Collective:
        return Collective(False, kind, op, x, int(argument))

    def over_sub_group(self, kind: str, x: Any, op: str | None = None, argument: Any = 0) -> Collective:
        return Collective(True, kind, op, x, int(argument))


def run(
    body: Body,
    global_size: Sequence[int],
    local_size: Sequence[int],
    arguments: Sequence[Any],
    *,
    sub_group_size: int,
    poison: Poison,
    order: Iterable[int] | None = None,
) -> list[Any]:
    """Runs `body(item, *arguments)` for every work-item.

    Args:
      body: the kernel, a generator function.
      global_size, local_size: work-items per dimension; the local size divides the global size.
      arguments: arrays, which the kernel gets as copies in a `Memory`, and scalars, which it gets as they are.
      sub_group_size: lanes of a full sub-group.
      poison: dtype -> the poison value.
      order: the groups' linear ids in the order in which they run; 0, 1, ... by default.

    Returns:
      The arguments after the launch.
    """
    group_range = tuple(n // size for n, size in zip(global_size, local_size, strict=True))
    held = [Memory(f"argument {n}", a.copy(), poison) if np.ndim(a) else a for n, a in enumerate(arguments)]
    with np.errstate(all="ignore"):
        for group in order if order is not None else range(math.prod(group_range)):
            locals_: dict[str, Memory] = {}
            group_id = tuple(int(i) for i in np.unravel_index(group, group_range))
            items = [
                Item(group_id, local, group_range, tuple(local_size), sub_group_size, poison, locals_)
                for local in itertools.product(*map(range, local_size))
            ]
            _run_group(items, [body(item, *held) for item in items])
    return [a.data if isinstance(a, Memory) else a for a in held]


def serial_order_exists(initial: Any, final: Any, changes: Iterable[tuple[Any, Any]]) -> bool:
    """Whether atomic operations on one element can have been executed one after the other.

    Args:
      initial, final: the element before and after all of them.
      changes: for each operation the old value that it returned, and the value that it left.

    A serial order is a path through the values that uses every change once: an Eulerian trail. One exists if every
    value is left as often as it is reached, but for the two ends, and all changes can be reached from the initial one.
    """
    changes = list(changes)
    surplus = collections.Counter(old for old, _ in changes)
    surplus.subtract(new for _, new in changes)
    surplus.subtract([initial])
    surplus.update([final])
    reached, waiting = {initial}, changes
    while usable := [change for change in waiting if change[0] in reached]:
        waiting = [change for change in waiting if change[0] not in reached]
        reached.update(new for _, new in usable)
    return not waiting and not any(surplus.values())


def _run_group(items: list[Item], programs: list[Generator[Any, Any, None]]) -> None:
    answers: list[Any] = [None] * len(items)
    while True:
        requests = [_next_request(program, answer) for program, answer in zip(programs, answers, strict=True)]
        if all(request is None for request in requests):
            return
        if len({_meeting(request) for request in requests}) > 1:
            kinds = collections.Counter(_meeting(request)[0] for request in requests)
            raise Divergence(f"work-items of group {items[0].group} are at different places: {dict(kinds)}")
        answers = _meet(items, requests)


def _next_request(program: Generator[Any, Any, None], answer: Any) -> Any:
    try:
        return program.send(answer)
    except StopIteration:
        return None


def _meeting(request: Any) -> tuple[Any, ...]:
    """What has to be the same for all work-items that meet."""
    match request:
        case Barrier(memories):
            return ("barrier", *map(id, memories))
        case Atomic(memory, _, op):
            return ("atomic", id(memory), op)
        case Collective(sub_group, kind, op):
            return ("collective", sub_group, kind, op)
    return ("end",)


def _meet(items: list[Item], requests: list[Any]) -> list[Any]:
    first = requests[0]
    if isinstance(first, Barrier):
        for memory in first.memories:
            memory.begin_epoch(items[0].group_linear)
        return [None] * len(items)
    if isinstance(first, Atomic):
        return _atomics(items, requests)
    lanes = items[0].sub_group_size if first.sub_group else len(items)
    rows = [requests[start : start + lanes] for start in range(0, len(items), lanes)]
    return [answer for row in rows for answer in _algorithm(row, items[0].poison)]


def _atomics(items: list[Item], requests: list[Atomic]) -> list[Any]:
    """One operation for all work-items, in order; of a compare-and-exchange, first those that do not match."""
    memory = requests[0].memory
    places = [memory.place(r.index) if r.where else None for r in requests]
    answers: list[Any] = [memory.poison] * len(requests)
    active = [k for k, place in enumerate(places) if place is not None]
    if requests[0].op == "compare_exchange":
        active.sort(key=lambda k: bool(memory.data[places[k]] == requests[k].operands[0]))
    for k in active:
        memory.record("atomic", places[k], items[k])
        answers[k] = memory.data[places[k]]
        memory.data[places[k]] = UPDATE[requests[k].op](answers[k], *requests[k].operands)
    return answers


def _algorithm(row: list[Collective], poison: Poison) -> list[Any]:
    """The results of one group or sub-group, whose lanes are `row`."""
    kind, op, xs = row[0].kind, row[0].op, [request.x for request in row]
    if op is not None:
        neutral = identity(op, xs[0].dtype)
        running = list(itertools.accumulate(xs, COMBINE[op]))
        return {
            "reduce": [functools.reduce(COMBINE[op], xs)] * len(row),
            "inclusive_scan": running,
            "exclusive_scan": [neutral, *running[:-1]],
        }[kind]
    if kind in ("any", "all", "none"):
        return [np.bool_({"any": any(xs), "all": all(xs), "none": not any(xs)}[kind])] * len(row)
    source: Callable[[int, int], int] = {
        "broadcast": lambda lane, a: a,
        "select": lambda lane, a: a,
        "shift_left": lambda lane, a: lane + a,
        "shift_right": lambda lane, a: lane - a,
        "permute_xor": lambda lane, a: lane ^ a,
    }[kind]
    lanes = [source(lane, request.argument) for lane, request in enumerate(row)]
    return [xs[lane] if 0 <= lane < len(xs) else poison(xs[0].dtype) for lane in lanes]


def identity(op: str, dtype: Any) -> np.generic:
    """The neutral element of a reduction."""
    dtype = np.dtype(dtype)
    if op in ("add", "or", "xor"):
        return dtype.type(0)
    if op == "mul":
        return dtype.type(1)
    if op == "and":
        return np.invert(dtype.type(0))
    if dtype.kind == "b":
        return np.bool_(op == "min")
    if dtype.kind == "f":
        return dtype.type(math.inf if op == "min" else -math.inf)
    info = np.iinfo(dtype)
    return dtype.type(info.max if op == "min" else info.min)


def _poisoned(shape: int | Sequence[int], dtype: Any, poison: Poison) -> np.ndarray:
    return np.full(shape, poison(np.dtype(dtype)), dtype)


def _linear(place: Sequence[int], sizes: Sequence[int]) -> int:
    return functools.reduce(lambda linear, step: linear * step[1] + step[0], zip(place, sizes, strict=True), 0)
