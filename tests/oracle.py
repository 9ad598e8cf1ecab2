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

Where work-items take different ways, a request says where it stands (its `place`): those at the earliest place go on
first, and of a sub-group those that are there together take part in an algorithm.

Under a `schedule`, the work-items of all groups take turns at every access instead, in the order that it gives, and a
race shows in the results. A kernel that is to run so yields its accesses too: `x = yield item.loading(tile, 3 - lane)`.
"""

import collections
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Poison = Callable[[np.dtype], np.generic]
Body = Callable[..., Generator[Any, Any, None]]
# From the work-items of a launch to their numbers, those first that shall go on first; asked again for every step.
Schedule = Callable[[Sequence["Item"]], Iterable[int]]

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


class Stamp(NamedTuple):
    """A kind of access, who made it, and how many barriers of the group and of the sub-group came before."""

    kind: str
    group: int
    epoch: int
    sub_group: int
    sub_epoch: int

    def orders(self, other: "Stamp") -> bool:
        """True if a barrier lies between accesses of different work-items."""
        in_sub_group = self.sub_group == other.sub_group and self.sub_epoch != other.sub_epoch
        return self.group == other.group and (self.epoch != other.epoch or in_sub_group)

    def is_harmless(self, other: "Stamp") -> bool:
        return self.kind == other.kind != "store"


class Memory:
    """One memory, and who accessed which element in which epoch.

    Attributes:
      data: the elements.
      poison: what a load beyond them gives.
      private: true if one work-item alone sees it.
    """

    def __init__(self, name: str, data: np.ndarray, poison: Poison, private: bool = False):
        self.name, self.data, self.private = name, data, private
        self.poison = poison(data.dtype)
        self._epoch: dict[tuple[int, ...], int] = collections.defaultdict(int)
        self._seen: dict[tuple[int, ...], dict[Stamp, set[int]]] = {}

    def begin_epoch(self, *scope: int) -> None:
        """What `scope`, a group or a sub-group of a group, does from here on comes after all that it did."""
        self._epoch[scope] += 1

    def place(self, index: Any) -> tuple[int, ...] | None:
        """The index as Python ints, or None out of bounds in some dimension."""
        place = tuple(int(i) for i in (index if isinstance(index, tuple) else (index,)))
        assert len(place) == self.data.ndim, f"{self.name} has shape {self.data.shape}, but the index is {place}"
        return place if all(0 <= i < n for i, n in zip(place, self.data.shape, strict=True)) else None

    def record(self, kind: str, place: tuple[int, ...], item: "Item") -> None:
        """Raises `Race` if another work-item's access to `place` conflicts with this one."""
        if self.private:
            return
        me, group, row = item.local_linear, item.group_linear, int(item.sub_group_group_id())
        stamp = Stamp(kind, group, self._epoch[group,], row, self._epoch[group, row])
        seen = self._seen.setdefault(place, collections.defaultdict(set))
        for other, items in seen.items():
            apart = other.group != group or items - {me}
            if apart and not stamp.orders(other) and not stamp.is_harmless(other):
                raise Race(
                    f"{other.kind} by {items} of group {other.group}, {kind} by {me} of {group}: {self.name}{place}"
                )
        seen[stamp].add(me)

    def load(self, index: Any, where: bool, other: Any) -> np.generic:
        """The element; the poison value out of bounds; `other` where masked out."""
        if not where:
            return self.data.dtype.type(other)
        place = self.place(index)
        return self.poison if place is None else self.data[place]

    def store(self, index: Any, x: Any, where: bool) -> None:
        """Stores `x`; nothing out of bounds or where masked out."""
        place = self.place(index) if where else None
        if place is not None:
            self.data[place] = x

    def update(self, index: Any, op: str, operands: Sequence[Any], where: bool) -> np.generic:
        """Updates the element, and gives its old value; the poison value where nothing is done."""
        place = self.place(index) if where else None
        if place is None:
            return self.poison
        old = self.data[place]
        self.data[place] = UPDATE[op](old, *operands)
        return old


@dataclasses.dataclass(frozen=True)
class Barrier:
    """A meeting of the group, or of each sub-group, that orders its accesses to `memories`."""

    memories: tuple[Memory, ...]
    sub_group: bool = False


@dataclasses.dataclass(frozen=True)
class Load:
    """A load of one work-item; it answers with what is loaded."""

    memory: Memory
    index: Any
    where: bool
    other: Any

    def carry_out(self) -> Any:
        return self.memory.load(self.index, self.where, self.other)


@dataclasses.dataclass(frozen=True)
class Store:
    """A store of one work-item."""

    memory: Memory
    index: Any
    x: Any
    where: bool

    def carry_out(self) -> None:
        self.memory.store(self.index, self.x, self.where)


@dataclasses.dataclass(frozen=True)
class Atomic:
    """An atomic operation; it answers with the old value."""

    memory: Memory
    index: Any
    op: str
    operands: tuple[Any, ...]
    where: bool
    place: tuple[int, ...] | None = None

    def carry_out(self) -> Any:
        return self.memory.update(self.index, self.op, self.operands, self.where)


@dataclasses.dataclass(frozen=True)
class Collective:
    """An algorithm over the group or the sub-group; it answers with this work-item's result."""

    sub_group: bool
    kind: str
    op: str | None
    x: Any
    argument: int
    place: tuple[int, ...] | None = None
    chunk: int | None = None


@dataclasses.dataclass(frozen=True)
class Item:
    """One work-item: its ids, its accesses and its requests to meet the others.

    Attributes:
      group, local: ids per dimension.
      group_range, local_range: sizes per dimension.
      sub_group_size: lanes of a full sub-group.
      locals: the group's local memories by name.
      scheduled: true if it must wait for its turn with every access.
    """

    group: tuple[int, ...]
    local: tuple[int, ...]
    group_range: tuple[int, ...]
    local_range: tuple[int, ...]
    sub_group_size: int
    poison: Poison
    locals: dict[str, Memory]
    scheduled: bool = False

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
        """Loads at once."""
        self._record("load", memory, index, where)
        return memory.load(index, where, other)

    def store(self, memory: Memory, index: Any, x: Any, where: bool = True) -> None:
        """Stores at once."""
        self._record("store", memory, index, where)
        memory.store(index, x, where)

    def _record(self, kind: str, memory: Memory, index: Any, where: bool) -> None:
        assert memory.private or not self.scheduled, "under a schedule, yield the accesses"
        place = memory.place(index) if where else None
        if place is not None:
            memory.record(kind, place, self)

    def loading(self, memory: Memory, index: Any, where: bool = True, other: Any = 0) -> Load:
        return Load(memory, index, bool(where), other)

    def storing(self, memory: Memory, index: Any, x: Any, where: bool = True) -> Store:
        return Store(memory, index, x, bool(where))

    def barrier(self, *memories: Memory) -> Barrier:
        return Barrier(memories)

    def sub_group_barrier(self, *memories: Memory) -> Barrier:
        return Barrier(memories, sub_group=True)

    def atomic(
        self, memory: Memory, index: Any, op: str, *operands: Any, where: bool = True, place: Any = None
    ) -> Atomic:
        return Atomic(memory, index, op, operands, bool(where), place)

    def over_group(self, kind: str, x: Any, op: str | None = None, argument: Any = 0) -> Collective:
        return Collective(False, kind, op, x, int(argument))

    def over_sub_group(
        self,
        kind: str,
        x: Any,
        op: str | None = None,
        argument: Any = 0,
        place: Any = None,
        chunk: int | None = None,
    ) -> Collective:
        chunk = self.sub_group_size if kind == "rotate" and chunk is None else chunk
        return Collective(True, kind, op, x, int(argument), place, chunk)


def run(
    body: Body,
    global_size: Sequence[int],
    local_size: Sequence[int],
    arguments: Sequence[Any],
    *,
    sub_group_size: int,
    poison: Poison,
    order: Iterable[int] | None = None,
    schedule: Schedule | None = None,
) -> list[Any]:
    """Runs `body(item, *arguments)` for every work-item.

    Args:
      body: the kernel, a generator function.
      global_size, local_size: work-items per dimension; the local size divides the global size.
      arguments: arrays, which the kernel gets as copies in a `Memory`, and scalars, which it gets as they are.
      sub_group_size: lanes of a full sub-group.
      poison: dtype -> the poison value.
      order: the groups' linear ids in the order in which they run; 0, 1, ... by default.
      schedule: the order in which all work-items take turns, races or not; none by default.

    Returns:
      The arguments after the launch.
    """
    group_range = tuple(n // size for n, size in zip(global_size, local_size, strict=True))
    held = [Memory(f"argument {n}", a.copy(), poison) if np.ndim(a) else a for n, a in enumerate(arguments)]
    groups = []
    for group in order if order is not None else range(math.prod(group_range)):
        group_id = tuple(int(i) for i in np.unravel_index(group, group_range))
        sizes = (group_range, tuple(local_size), sub_group_size, poison, {}, schedule is not None)
        groups.append([Item(group_id, local, *sizes) for local in itertools.product(*map(range, local_size))])
    with np.errstate(all="ignore"):
        if schedule is not None:
            _Interleaved(groups, [body(item, *held) for items in groups for item in items]).run(schedule)
        else:
            for items in groups:
                _run_group(items, [body(item, *held) for item in items])
    return [a.data if isinstance(a, Memory) else a for a in held]


def serial_order_exists(initial: Any, final: Any, changes: Iterable[tuple[Any, Any]]) -> bool:
    """True if atomic operations on one element can have been executed one after the other.

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
    requests = [_next_meeting(item, program, None) for item, program in zip(items, programs, strict=True)]
    while any(request is not None for request in requests):
        places = [getattr(request, "place", None) for request in requests]
        earliest = min((place for place in places if place is not None), default=None)
        there = [k for k, place in enumerate(places) if place == earliest]
        if len({_meeting(requests[k]) for k in there}) > 1:
            kinds = collections.Counter(_meeting(requests[k])[0] for k in there)
            raise Divergence(f"work-items of group {items[0].group} are at different places: {dict(kinds)}")
        for k, answer in zip(there, _meet([items[k] for k in there], [requests[k] for k in there]), strict=True):
            requests[k] = _next_meeting(items[k], programs[k], answer)


def _next_meeting(item: Item, program: Generator[Any, Any, None], answer: Any) -> Any:
    """The work-item's next request to meet others; its accesses on the way there are carried out at once."""
    request = _next_request(program, answer)
    while isinstance(request, Load | Store):
        item._record("load" if isinstance(request, Load) else "store", request.memory, request.index, request.where)
        request = _next_request(program, request.carry_out())
    return request


def _next_request(program: Generator[Any, Any, None], answer: Any) -> Any:
    try:
        return program.send(answer)
    except StopIteration:
        return None


def _meeting(request: Any) -> tuple[Any, ...]:
    """What has to be the same for all work-items that meet."""
    match request:
        case Barrier(memories, sub_group):
            return ("sub-group barrier" if sub_group else "barrier", *map(id, memories))
        case Atomic(memory, _, op):
            return ("atomic", id(memory), op)
        case Collective(sub_group, kind, op, chunk=chunk):
            return ("collective", sub_group, kind, op, chunk)
    return ("end",)


def _meet(items: list[Item], requests: list[Any]) -> list[Any]:
    first = requests[0]
    if isinstance(first, Barrier):
        rows = {(int(item.sub_group_group_id()),) for item in items} if first.sub_group else {()}
        for memory, row in itertools.product(first.memories, rows):
            memory.begin_epoch(items[0].group_linear, *row)
        return [None] * len(items)
    if isinstance(first, Atomic):
        return _atomics(items, requests)
    rows = itertools.groupby(zip(items, requests, strict=True), lambda p: first.sub_group and p[0].sub_group_group_id())
    answers: list[Any] = []
    for _, row in rows:
        own, asked = zip(*row, strict=True)
        lanes = [int(i.sub_group_local_id()) if first.sub_group else i.local_linear for i in own]
        answers += _algorithm(asked, items[0].poison, lanes)
    return answers


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
        answers[k] = requests[k].carry_out()
    return answers


class _Interleaved:
    """All work-items of a launch, that take turns at every access.

    A barrier stops nobody: it holds back the accesses to its memories. Who has crossed more barriers of a memory than
    others that meet there waits with the next access to that memory until they have crossed as many. So accesses to a
    memory that a barrier was not given pass it, as nothing forbids them to. Collectives are waited for by all.

    Attributes:
      requests: what each work-item will do at its next turn; None after its end.
      crossed: for each work-item, how many barriers of a sub-group or group it has crossed with a memory.
    """

    def __init__(self, groups: Sequence[Sequence[Item]], programs: Sequence[Generator[Any, Any, None]]):
        self.items, self.programs = [item for items in groups for item in items], programs
        self.crossed: list[collections.Counter[tuple[bool, Memory]]] = [collections.Counter() for _ in self.items]
        self.requests: list[Any] = [None] * len(self.items)
        self.of_group, self.of_sub_group = collections.defaultdict(list), collections.defaultdict(list)
        for k, item in enumerate(self.items):
            self.of_group[item.group_linear].append(k)
            self.of_sub_group[item.group_linear, item.sub_group_group_id()].append(k)

    def run(self, schedule: Schedule) -> None:
        for k in range(len(self.items)):
            self.advance(k, None)
        while any(request is not None for request in self.requests):
            k = next((k for k in schedule(self.items) if self.may_go_on(k)), None)
            if k is None:
                raise Divergence(f"nobody can go on: {collections.Counter(map(_meeting, self.requests))}")
            self.go_on(k)
        for row in self.of_group.values():
            if any(self.crossed[k] != self.crossed[row[0]] for k in row):
                raise Divergence(f"work-items of group {self.items[row[0]].group} crossed different barriers")

    def peers(self, k: int, sub_group: bool) -> list[int]:
        """The work-items of a work-item's sub-group or group, itself among them."""
        item = self.items[k]
        if sub_group:
            return self.of_sub_group[item.group_linear, item.sub_group_group_id()]
        return self.of_group[item.group_linear]

    def may_go_on(self, k: int) -> bool:
        request = self.requests[k]
        if isinstance(request, Collective):
            return len({_meeting(self.requests[j]) for j in self.peers(k, request.sub_group)}) == 1
        if request is None or not request.where:
            return request is not None
        levels = [level for level in (False, True) if self.crossed[k][level, request.memory]]
        return all(
            self.crossed[j][level, request.memory] >= self.crossed[k][level, request.memory]
            for level in levels
            for j in self.peers(k, level)
        )

    def go_on(self, k: int) -> None:
        """Carries out the work-item's request, a collective for all that meet there."""
        request = self.requests[k]
        if not isinstance(request, Collective):
            self.advance(k, request.carry_out())
            return
        row = self.peers(k, request.sub_group)
        answers = _algorithm([self.requests[j] for j in row], self.items[k].poison, range(len(row)))
        for j, answer in zip(row, answers, strict=True):
            self.advance(j, answer)

    def advance(self, k: int, answer: Any) -> None:
        """The work-item runs up to its next access or collective, across the barriers before it."""
        request = _next_request(self.programs[k], answer)
        while isinstance(request, Barrier):
            self.crossed[k].update((request.sub_group, memory) for memory in request.memories)
            request = _next_request(self.programs[k], None)
        self.requests[k] = request


def _algorithm(row: Sequence[Collective], poison: Poison, numbers: Sequence[int]) -> list[Any]:
    """The results of one group or sub-group, of the lanes of these numbers, whose requests are `row`."""
    kind, op, xs = row[0].kind, row[0].op, [request.x for request in row]
    if op is not None:
        neutral = identity(op, xs[0].dtype)
        if row[0].chunk is not None:
            parts = [lane // row[0].chunk for lane in numbers]
            shared = {p: [x for x, q in zip(xs, parts, strict=True) if p == q] for p in parts}
            return [functools.reduce(COMBINE[op], shared[p]) for p in parts]
        running = list(itertools.accumulate(xs, COMBINE[op]))
        return {
            "reduce": [functools.reduce(COMBINE[op], xs)] * len(row),
            "inclusive_scan": running,
            "exclusive_scan": [neutral, *running[:-1]],
        }[kind]
    if kind in ("any", "all", "none"):
        return [np.bool_({"any": any(xs), "all": all(xs), "none": not any(xs)}[kind])] * len(row)
    if kind == "ballot":
        return [np.uint32(sum(1 << lane for lane, x in zip(numbers, xs, strict=True) if x))] * len(row)
    chunk = row[0].chunk or 1
    source: Callable[[int, int], int] = {
        "broadcast": lambda lane, a: a,
        "select": lambda lane, a: a,
        "shift_left": lambda lane, a: lane + a,
        "shift_right": lambda lane, a: lane - a,
        "rotate": lambda lane, a: lane // chunk * chunk + (lane + a) % chunk,
        "permute_xor": lambda lane, a: lane ^ a,
    }[kind]
    present = dict(zip(numbers, xs, strict=True))
    lanes = [source(lane, request.argument) for lane, request in zip(numbers, row, strict=True)]
    return [present.get(lane, poison(xs[0].dtype)) for lane in lanes]


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
