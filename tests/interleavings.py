"""A brute-force race checker: small programs of work-items, judged over all interleavings of their steps.

It shares nothing with xeemu. Values are sequentially consistent; happens-before is C++17's, followed by vector clocks.
A race is a pair of conflicting accesses that some interleaving leaves unordered. The rules, and how they are read where
SYCL 2020 leaves room:

* Happens-before is kept for each memory by itself. A barrier or fence orders the accesses to the memories that it is
  given and no others; none given, it orders none. An atomic operation that releases or acquires orders all memories.
  So a barrier of the flag's memory alone does not make the other work-items' data part of what the flag releases, and
  a barrier of the data alone does.
* A fence need not be given the flag's memory: what it is given is what a flag stored or loaded beside it orders.
* Synchronisation needs inclusive scopes: each of the two operations (atomic or fence) has a scope that takes in the
  other's work-item. Conflicting atomics without inclusive scopes race unless they are ordered.
* A release sequence is C++17's: later stores of the same work-item, and read-modify-writes of anybody, go on with it;
  any other store ends it. A relaxed store after a release fence heads one for the fence.
* A compare_exchange that fails is a load: it races with no load, and does not release. (acq_rel fails as acquire.)
* An access that a mask or a guard leaves out does not happen, and neither orders nor is ordered.
* `seq_cst` is acq_rel here: the single order of SYCL adds nothing to happens-before, and values are consistent anyway.
* Group algorithms order all memories within their group, as a barrier of all of them does (SYCL 2020, 4.17.3).
* Local memory is one per group and holds `POISON` at first. An access out of bounds does not happen.
* Two plain stores of one value race as well; they are kept apart (`benign`), as xeemu calls them a note.

What only an execution that no interleaving explains shows (relaxed store buffering that guards an access) is not found.
"""

import dataclasses
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

RELEASING = frozenset({"release", "acq_rel", "seq_cst"})
ACQUIRING = frozenset({"acquire", "acq_rel", "seq_cst"})
IDS = ("gid", "lid", "group")
POISON = -0x5A5A5A5B
MOST_STATES = 30_000


# --- Programs ---


@dataclasses.dataclass(frozen=True)
class Guard:
    """A condition on a register; `op` is `==`, `!=` or `<`."""

    register: str
    op: str
    value: int

    def holds(self, registers: Mapping[str, int]) -> bool:
        x = registers.get(self.register, 0)
        return {"==": x == self.value, "!=": x != self.value, "<": x < self.value}[self.op]

    def __str__(self) -> str:
        return f"{self.register} {self.op} {self.value}"


@dataclasses.dataclass(frozen=True)
class Access:
    """A memory operation of those work-items of `who` (all for None) whose registers meet every guard of `where`.

    Attributes:
      kind: `load store fetch_add exchange compare_exchange`.
      memory: its name.
      index: a number, a register, or one of `IDS`.
      value: stored, added or desired; like an index.
      register: that the loaded or old value goes to; empty if it is not used.
      expected: of a compare_exchange.
      order: empty for a plain load or store.
      scope: of an atomic operation.
    """

    kind: str
    memory: str
    index: int | str = 0
    value: int | str = 0
    register: str = ""
    expected: int | str = 0
    order: str = ""
    scope: str = "device"
    who: frozenset[int] | None = None
    where: tuple[Guard, ...] = ()

    def __str__(self) -> str:
        order = f" {self.order}/{self.scope}" if self.order else ""
        values = {"load": "", "compare_exchange": f"({self.expected} -> {self.value})"}.get(
            self.kind, f"({self.value})"
        )
        target = f"{self.register} = " if self.register else ""
        return f"{target}{self.kind} {self.memory}[{self.index}]{values}{order}{_by(self.who, self.where)}"


@dataclasses.dataclass(frozen=True)
class Fence:
    """A fence that all work-items execute, of the memories given."""

    memories: tuple[str, ...]
    order: str = "acq_rel"
    scope: str = "device"


@dataclasses.dataclass(frozen=True)
class Barrier:
    """A barrier of the memories given; `level` is `work_group` or `sub_group`."""

    memories: tuple[str, ...]
    level: str = "work_group"


@dataclasses.dataclass(frozen=True)
class Collect:
    """A group algorithm of a register: `broadcast` of the group's first work-item, or the sum, `add`."""

    kind: str
    target: str
    operand: str
    level: str = "work_group"


@dataclasses.dataclass(frozen=True)
class Assign:
    """`register = value + plus`, where `who` and `where` say."""

    register: str
    value: int | str
    plus: int = 0
    who: frozenset[int] | None = None
    where: tuple[Guard, ...] = ()

    def __str__(self) -> str:
        return f"{self.register} = {self.value} + {self.plus}{_by(self.who, self.where)}"


@dataclasses.dataclass(frozen=True)
class Loop:
    """A counted loop."""

    trips: int
    body: tuple["Statement", ...]

    def __str__(self) -> str:
        return f"{self.trips} times:"


@dataclasses.dataclass(frozen=True)
class Choice:
    """What one group does, and what all others do."""

    group: int
    then: tuple["Statement", ...]
    otherwise: tuple["Statement", ...] = ()

    def __str__(self) -> str:
        return f"group {self.group} the next {count(self.then)} lines, others {count(self.otherwise)} more:"


def _by(who: frozenset[int] | None, where: Sequence[Guard]) -> str:
    parts = [f"by {sorted(who)}"] if who is not None else []
    return "".join(f" {part}" for part in [*parts, *(f"if {guard}" for guard in where)])


Statement = Access | Fence | Barrier | Collect | Assign | Loop | Choice
Meeting = (Barrier, Collect)


@dataclasses.dataclass(frozen=True)
class Memory:
    """A memory of integers; a global one holds `initial` everywhere at first."""

    name: str
    size: int = 8
    space: str = "global"
    initial: int = 0


@dataclasses.dataclass(frozen=True)
class Program:
    """What all work-items execute, each statement by those that its masks leave in."""

    groups: int
    items: int
    memories: tuple[Memory, ...]
    body: tuple[Statement, ...]
    sub_group_size: int = 4
    name: str = ""

    @property
    def work_items(self) -> range:
        return range(self.groups * self.items)

    def group_of(self, item: int) -> int:
        return item // self.items

    def members(self, item: int, level: str) -> tuple[int, ...]:
        """The work-items of the group or sub-group of one."""
        return tuple(k for k in self.work_items if self._within(item, k, level))

    def includes(self, item: int, scope: str, other: int) -> bool:
        """True if a scope, seen from `item`, takes in `other`."""
        return scope in ("device", "system") or self._within(item, other, scope)

    def inclusive(self, one: int, scope: str, other: int, its: str) -> bool:
        return self.includes(one, scope, other) and self.includes(other, its, one)

    def _within(self, item: int, other: int, level: str) -> bool:
        same = self.group_of(item) == self.group_of(other)
        if level == "work_item":
            return item == other
        lanes = (item % self.items // self.sub_group_size, other % self.items // self.sub_group_size)
        return same and (level == "work_group" or lanes[0] == lanes[1])

    def __str__(self) -> str:
        head = f"{self.name}: {self.groups} groups of {self.items}, sub-groups of {self.sub_group_size}"
        memories = ", ".join(f"{m.space} {m.name}[{m.size}]={m.initial}" for m in self.memories)
        return "\n".join([head, memories, *(f"{n:3} {'  ' * depth}{s}" for n, s, depth in numbered(self.body))])


def numbered(body: Sequence[Statement], depth: int = 0, first: int = 0) -> Iterator[tuple[int, Statement, int]]:
    """All statements with their numbers, from 0 in the order of the text, and how deep they stand."""
    for statement in body:
        yield first, statement, depth
        first += 1
        for block in blocks(statement):
            yield from numbered(block, depth + 1, first)
            first += count(block)


def blocks(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    match statement:
        case Loop(_, body):
            return (body,)
        case Choice(_, then, otherwise):
            return (then, otherwise)
    return ()


def count(body: Sequence[Statement]) -> int:
    return sum(1 + sum(map(count, blocks(statement))) for statement in body)


# --- Programs as lists of steps, one list for each work-item ---


class Step(NamedTuple):
    """One execution of a statement by a work-item; `place` is its place among the steps of all."""

    place: int
    number: int
    statement: Statement


def steps(program: Program) -> list[list[Step]]:
    """The steps of each work-item, loops unrolled; what its id leaves out is left out."""
    found: list[list[Step]] = [[] for _ in program.work_items]
    places = itertools.count()
    everybody = frozenset(program.work_items)
    for number, statement, who in _unrolled(program, program.body, everybody, 0):
        place = next(places)
        for item in who & (getattr(statement, "who", None) or everybody):
            found[item].append(Step(place, number, statement))
    return found


def _unrolled(
    program: Program, body: Sequence[Statement], who: frozenset[int], first: int
) -> Iterator[tuple[int, Statement, frozenset[int]]]:
    for statement in body:
        match statement:
            case Loop(trips, inner):
                for _ in range(trips):
                    yield from _unrolled(program, inner, who, first + 1)
            case Choice(group, then, otherwise):
                here = frozenset(item for item in who if program.group_of(item) == group)
                yield from _unrolled(program, then, here, first + 1)
                yield from _unrolled(program, otherwise, who - here, first + 1 + count(then))
            case _:
                yield first, statement, who
        first += count([statement])


# --- States ---

Clock = tuple[int, ...]
"""For each work-item, how many of its steps happen before."""
Clocks = tuple[Clock, ...]
"""For each memory."""
Address = tuple[str, int, int]
"""Memory, group (-1 for global memory), index."""


class Head(NamedTuple):
    """A release whose sequence a value belongs to: by whom, with which scope, and what it publishes."""

    item: int
    scope: str
    clocks: Clocks


class Use(NamedTuple):
    """An access that happened; `value` is what a plain store stored."""

    item: int
    at: int
    writes: bool
    value: int | None


@dataclasses.dataclass
class State:
    """All that the rest of an interleaving depends on; every part is replaced, never changed in place."""

    at: list[int]
    registers: list[dict[str, int]]
    clocks: list[Clocks]
    fenced: list[dict[str, Clocks]]
    seen: list[frozenset[Head]]
    contents: dict[Address, int]
    heads: dict[Address, frozenset[Head]]
    uses: dict[Address, frozenset[Use]]

    def copy(self) -> "State":
        return State(*(getattr(self, field.name).copy() for field in dataclasses.fields(self)))

    def key(self) -> tuple[object, ...]:
        return (
            tuple(self.at),
            tuple(tuple(sorted(r.items())) for r in self.registers),
            tuple(self.clocks),
            tuple(tuple(sorted(f.items())) for f in self.fenced),
            tuple(self.seen),
            frozenset(self.contents.items()),
            frozenset(self.heads.items()),
            frozenset(self.uses.items()),
        )


Pair = tuple[str, frozenset[int]]
"""A memory and the numbers of one or two statements."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What was found.

    Attributes:
      races: pairs that some interleaving leaves unordered.
      benign: pairs of plain stores that are unordered only where they store one value.
      ends: final registers, of those interleavings that were gone through.
      exhaustive: true if all interleavings are covered, or a random choice of them.
      states: how many states were visited.
    """

    races: frozenset[Pair]
    benign: frozenset[Pair]
    ends: frozenset[tuple[tuple[tuple[str, int], ...], ...]]
    exhaustive: bool
    states: int

    @property
    def racy(self) -> bool:
        return bool(self.races)


class Machine:
    """Goes through interleavings of a program and collects the races that it meets."""

    def __init__(self, program: Program):
        self.program = program
        self.steps = steps(program)
        self.memories = {memory.name: (n, memory) for n, memory in enumerate(program.memories)}
        self.ahead = [self._ahead(item) for item in program.work_items]
        self.members = {
            level: [program.members(item, level) for item in program.work_items]
            for level in ("work_group", "sub_group")
        }
        self.races: set[Pair] = set()
        self.benign: set[Pair] = set()
        self.ends: set[tuple[tuple[tuple[str, int], ...], ...]] = set()

    def start(self) -> State:
        number = len(self.program.work_items)
        none = ((0,) * number,) * len(self.memories)
        return State([0] * number, [{}] * number, [none] * number, [{}] * number, [frozenset()] * number, {}, {}, {})

    def verdict(self, exhaustive: bool, states: int) -> Verdict:
        races = frozenset(self.races)
        return Verdict(races, frozenset(self.benign) - races, frozenset(self.ends), exhaustive, states)

    # --- What a work-item does next ---

    def next(self, state: State, item: int) -> Step | None:
        at = state.at[item]
        return self.steps[item][at] if at < len(self.steps[item]) else None

    def address(self, state: State, item: int, access: Access) -> Address | None:
        """The element that a work-item accesses next, None if a guard or the bounds leave it out."""
        if not all(guard.holds(state.registers[item]) for guard in access.where):
            return None
        index = self.value(state, item, access.index)
        memory = self.memories[access.memory][1]
        group = self.program.group_of(item) if memory.space == "local" else -1
        return (access.memory, group, index) if 0 <= index < memory.size else None

    def value(self, state: State, item: int, value: int | str) -> int:
        if isinstance(value, int):
            return value
        ids = (item, item % self.program.items, self.program.group_of(item))
        return ids[IDS.index(value)] if value in IDS else state.registers[item].get(value, 0)

    def content(self, state: State, address: Address) -> int:
        memory = self.memories[address[0]][1]
        return state.contents.get(address, POISON if memory.space == "local" else memory.initial)

    # --- Steps ---

    def execute(self, state: State, item: int) -> None:
        """Executes the next step of a work-item, which is no barrier and no group algorithm."""
        step = self.next(state, item)
        assert step is not None
        match step.statement:
            case Access() as access:
                address = self.address(state, item, access)
                if address is not None:
                    self._access(state, item, access, address)
            case Fence(memories, order, scope):
                self._fence(state, item, memories, order, scope)
            case Assign(register, value, plus, _, where):
                if all(guard.holds(state.registers[item]) for guard in where):
                    self._set(state, item, register, self.value(state, item, value) + plus)
        state.at[item] += 1

    def meet(self, state: State, item: int) -> bool:
        """Executes the barrier or group algorithm that a work-item stands at, if all others stand there too."""
        step = self.next(state, item)
        if step is None or not isinstance(step.statement, Meeting):
            return False
        group = self.members[step.statement.level][item]
        if any((other := self.next(state, k)) is None or other.place != step.place for k in group):
            return False
        if isinstance(step.statement, Collect):
            self._collect(state, group, step.statement)
            memories = tuple(self.memories)
        else:
            memories = step.statement.memories
        together = [_joined(self._published(state, k, state.at[k] + 1) for k in group)]
        for k in group:
            state.clocks[k] = self._joined_for(state.clocks[k], together[0], memories)
            state.at[k] += 1
        return True

    def _collect(self, state: State, group: Sequence[int], collect: Collect) -> None:
        values = [state.registers[k].get(collect.operand, 0) for k in group]
        result = values[0] if collect.kind == "broadcast" else sum(values)
        for k in group:
            self._set(state, k, collect.target, result)

    def _set(self, state: State, item: int, register: str, value: int) -> None:
        state.registers[item] = state.registers[item] | {register: value}

    def _access(self, state: State, item: int, access: Access, address: Address) -> None:
        old = self.content(state, address)
        new = self._written(state, item, access, old)
        if access.order and access.kind != "store":
            self._acquire(state, item, access, address, failed=new is None)
        self._use(state, item, access, address, new)
        if new is not None:
            state.contents[address] = new
            state.heads[address] = self._headed(state, item, access, address)
        if access.register:
            self._set(state, item, access.register, old)

    def _written(self, state: State, item: int, access: Access, old: int) -> int | None:
        """The element's new value, None if nothing is written."""
        value = self.value(state, item, access.value)
        if access.kind == "load":
            return None
        if access.kind == "compare_exchange":
            return value if old == self.value(state, item, access.expected) else None
        return old + value if access.kind == "fetch_add" else value

    def _use(self, state: State, item: int, access: Access, address: Address, new: int | None) -> None:
        use = Use(item, state.at[item], new is not None, None if access.order else new)
        before = state.uses.get(address, frozenset())
        known = state.clocks[item][self.memories[access.memory][0]]
        for other in before:
            if other.item != item and (other.writes or use.writes) and other.at >= known[other.item]:
                self._conflict(item, access, use, other)
        state.uses[address] = before | {use}

    def _conflict(self, item: int, access: Access, use: Use, other: Use) -> None:
        """Two accesses without an order: a race unless both are atomic in scopes that take in each other."""
        step = self.steps[other.item][other.at]
        one = step.statement
        assert isinstance(one, Access)
        if one.order and access.order and self.program.inclusive(item, access.scope, other.item, one.scope):
            return
        number = self.steps[item][use.at].number
        pair = (access.memory, frozenset({number, step.number}))
        same = use.writes and other.writes and use.value is not None and use.value == other.value
        (self.benign if same else self.races).add(pair)

    # --- Happens-before ---

    def _published(self, state: State, item: int, until: int) -> Clocks:
        """What a release by a work-item publishes: what it knows, and its own steps before `until`."""
        return tuple((*clock[:item], until, *clock[item + 1 :]) for clock in state.clocks[item])

    def _headed(self, state: State, item: int, access: Access, address: Address) -> frozenset[Head]:
        """The releases whose sequences the value that is being written belongs to."""
        before = state.heads.get(address, frozenset())
        kept = before if access.kind in ("fetch_add", "exchange", "compare_exchange") else ()
        heads = {head for head in before if head.item == item}.union(kept)
        if access.order:
            heads |= {Head(item, scope, clocks) for scope, clocks in state.fenced[item].items()}
        if access.order in RELEASING:
            heads.add(Head(item, access.scope, self._published(state, item, state.at[item] + 1)))
        return frozenset(heads)

    def _acquire(self, state: State, item: int, access: Access, address: Address, failed: bool) -> None:
        heads = state.heads.get(address, frozenset())
        state.seen[item] = state.seen[item] | heads
        order = (
            "relaxed" if failed and access.kind == "compare_exchange" and access.order == "release" else access.order
        )
        if order in ACQUIRING:
            self._synchronise(state, item, access.scope, heads, tuple(self.memories))

    def _fence(self, state: State, item: int, memories: Sequence[str], order: str, scope: str) -> None:
        if order in ACQUIRING:
            self._synchronise(state, item, scope, state.seen[item], memories)
        if order in RELEASING:
            number = len(self.program.work_items)
            before = state.fenced[item].get(scope, ((0,) * number,) * len(self.memories))
            published = self._joined_for(before, self._published(state, item, state.at[item]), memories)
            state.fenced[item] = state.fenced[item] | {scope: published}

    def _synchronise(
        self, state: State, item: int, scope: str, heads: frozenset[Head], memories: Sequence[str]
    ) -> None:
        for head in heads:
            if head.item != item and self.program.inclusive(item, scope, head.item, head.scope):
                state.clocks[item] = self._joined_for(state.clocks[item], head.clocks, memories)

    def _joined_for(self, clocks: Clocks, more: Clocks, memories: Sequence[str]) -> Clocks:
        chosen = {self.memories[name][0] for name in memories}
        return tuple(tuple(map(max, clock, more[n])) if n in chosen else clock for n, clock in enumerate(clocks))

    # --- Interleavings ---

    def settle(self, state: State) -> None:
        """Executes all that no other work-item can tell when it happens: all but atomic accesses.

        Plain accesses too: until the first race nobody can tell either, and the race is found by the clocks.
        """
        going = True
        while going:
            going = False
            for item in self.program.work_items:
                while not self._visible(state, item) and self._proceed(state, item):
                    going = True

    def _proceed(self, state: State, item: int) -> bool:
        step = self.next(state, item)
        if step is None:
            return False
        if isinstance(step.statement, Meeting):
            return self.meet(state, item)
        self.execute(state, item)
        return True

    def _visible(self, state: State, item: int) -> bool:
        step = self.next(state, item)
        if step is None or not isinstance(step.statement, Access) or not step.statement.order:
            return False
        return self.address(state, item, step.statement) is not None

    def ready(self, state: State) -> list[int]:
        """Work-items that may go on by a step that others can tell, after `settle`."""
        return [item for item in self.program.work_items if self._visible(state, item)]

    def enough(self, state: State, ready: Sequence[int]) -> list[int]:
        """Some of those ready such that nothing that the others will ever do conflicts with their next steps."""
        best = list(ready)
        for first in ready:
            chosen = self._closure(state, first, ready, len(best))
            if chosen is not None:
                best = chosen
            if len(best) == 1:
                break
        return best

    def _closure(self, state: State, first: int, ready: Sequence[int], limit: int) -> list[int] | None:
        chosen, waiting = {first}, [first]
        while waiting:
            item = waiting.pop()
            step = self.next(state, item)
            assert step is not None
            assert isinstance(step.statement, Access)
            address = self.address(state, item, step.statement)
            writes = step.statement.kind != "load"
            for other in set(self.program.work_items) - chosen:
                if self._will_conflict(state, other, address, writes):
                    if other not in ready:
                        return None
                    chosen.add(other)
                    waiting.append(other)
            if len(chosen) >= limit:
                return None
        return sorted(chosen)

    def _will_conflict(self, state: State, other: int, address: Address | None, writes: bool) -> bool:
        assert address is not None
        memory, group, index = address
        if group >= 0 and self.program.group_of(other) != group:
            return False
        at = state.at[other]
        return any(
            name == memory and (place is None or place == index) and (writes or its)
            for name, place, its in self.ahead[other][at]
        )

    def _ahead(self, item: int) -> list[frozenset[tuple[str, int | None, bool]]]:
        """For each of a work-item's steps, the elements that it may access from there on, and whether it writes."""
        found: list[frozenset[tuple[str, int | None, bool]]] = [frozenset()]
        for step in reversed(self.steps[item]):
            access = step.statement
            now: frozenset[tuple[str, int | None, bool]] = frozenset()
            if isinstance(access, Access):
                ids = dict(zip(IDS, (item, item % self.program.items, self.program.group_of(item)), strict=True))
                place = access.index if isinstance(access.index, int) else ids.get(access.index)
                now = frozenset({(access.memory, place, access.kind != "load")})
            found.append(found[-1] | now)
        return found[::-1]

    def finish(self, state: State) -> None:
        self.ends.add(tuple(tuple(sorted(registers.items())) for registers in state.registers))


def _joined(many: Iterator[Clocks]) -> Clocks:
    return tuple(tuple(map(max, *clocks)) if len(clocks) > 1 else clocks[0] for clocks in zip(*many, strict=True))


# --- Verdicts ---


def everywhere(program: Program, most_states: int = MOST_STATES, seed: int = 0) -> Verdict:
    """The races over all interleavings, or, where there are too many, over a random choice of them."""
    machine = Machine(program)
    first = machine.start()
    machine.settle(first)
    stack, visited = [first], {first.key()}
    while stack:
        state = stack.pop()
        ready = machine.ready(state)
        if not ready:
            machine.finish(state)
        for item in machine.enough(state, ready):
            after = state.copy()
            machine.execute(after, item)
            machine.settle(after)
            if (key := after.key()) not in visited:
                visited.add(key)
                stack.append(after)
        if len(visited) > most_states:
            return _sampled(machine, 500, seed, len(visited))
    return machine.verdict(True, len(visited))


def _sampled(machine: Machine, runs: int, seed: int, states: int) -> Verdict:
    choose = random.Random(seed)
    for _ in range(runs):
        state = machine.start()
        machine.settle(state)
        while ready := machine.ready(state):
            machine.execute(state, choose.choice(ready))
            machine.settle(state)
        machine.finish(state)
    return machine.verdict(False, states)


def step_by_step(program: Program, most_states: int = MOST_STATES) -> Verdict:
    """As `everywhere`, but really all interleavings of all steps, without any reduction: for small programs.

    Raises:
      ValueError: there are more states than `most_states`.
    """
    machine = Machine(program)
    stack, visited = [machine.start()], set()
    while stack:
        state = stack.pop()
        if (key := state.key()) in visited:
            continue
        visited.add(key)
        if len(visited) > most_states:
            raise ValueError(f"more than {most_states} states")
        stuck = True
        for item in program.work_items:
            after = state.copy()
            if machine._proceed(after, item):
                stack.append(after)
                stuck = False
        if stuck:
            machine.finish(state)
    return machine.verdict(True, len(visited))


def lockstep(program: Program, together: bool = False) -> Verdict:
    """The races along one order: work-items step by step side by side, in the order of their ids.

    Args:
      program: the program.
      together: true if all groups go side by side too, instead of one group after the other.
    """
    machine = Machine(program)
    state = machine.start()
    work_items = list(program.work_items)
    size = program.items
    parts = [work_items] if together else [work_items[n : n + size] for n in range(0, len(work_items), size)]
    places = 1 + max((step.place for steps in machine.steps for step in steps), default=-1)
    for part in parts:
        for place in range(places):
            here = [k for k in part if (step := machine.next(state, k)) is not None and step.place == place]
            for item in sorted(here, key=lambda k: not _fails(machine, state, k)):
                if state.at[item] < len(machine.steps[item]) and machine.steps[item][state.at[item]].place == place:
                    machine._proceed(state, item)
    machine.finish(state)
    return machine.verdict(False, places)


def _fails(machine: Machine, state: State, item: int) -> bool:
    """True if a compare_exchange would fail now: those of a step go first."""
    step = machine.next(state, item)
    if step is None or not isinstance(step.statement, Access) or step.statement.kind != "compare_exchange":
        return False
    address = machine.address(state, item, step.statement)
    return (
        address is not None and machine._written(state, item, step.statement, machine.content(state, address)) is None
    )
