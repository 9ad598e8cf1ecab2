"""The oracle under many schedules, and random small kernels, most of them with one synchronisation too few.

`outcomes` gives the different results of a kernel under schedules that are random or mean. `kernel` gives a program (as
`programs` has them) of a few accesses to one or two local memories and a global one, that writes out all that it reads.
"""

import functools
import random
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import oracle
import programs
from programs import INT32, Atomic, Barrier, Binary, Buffer, Const, Load, Loop, Program, Register, Statement, Store

import xeemu as xe
from xeemu.language.memory import poison

DEVICE, SUB_GROUP_SIZE, SEEDS = "cpu", 4, range(24)


# --- Schedules ---


def uniform(seed: int) -> oracle.Schedule:
    """Everybody may be next at every step."""
    drawn = np.random.default_rng(seed)
    return lambda items: drawn.permutation(len(items))


def demoting(seed: int) -> oracle.Schedule:
    """Who is first in a random order runs as far as it can, but falls back to the end of it now and then."""
    drawn = np.random.default_rng(seed)
    order: list[int] = []

    def schedule(items: Sequence[oracle.Item]) -> Iterable[int]:
        order[:] = order or drawn.permutation(len(items))
        if drawn.integers(8) == 0:
            order.append(order.pop(0))
        return order

    return schedule


def ranked(rank: Callable[[oracle.Item], Any]) -> oracle.Schedule:
    """The work-item of least rank that can go on does."""
    order: list[int] = []

    def schedule(items: Sequence[oracle.Item]) -> Iterable[int]:
        order[:] = order or sorted(range(len(items)), key=lambda k: rank(items[k]))
        return order

    return schedule


def in_turns() -> oracle.Schedule:
    """One access of each work-item after the other."""
    steps = iter(range(10**9))

    def schedule(items: Sequence[oracle.Item]) -> Iterable[int]:
        step = next(steps) % len(items)
        return [*range(step, len(items)), *range(step)]

    return schedule


def schedules(seeds: Iterable[int]) -> Iterator[oracle.Schedule]:
    """Those in which one work-item, or one sub-group, is ahead of all others; then random ones, each from a seed."""
    yield ranked(lambda item: (item.group_linear, item.local_linear))
    yield ranked(lambda item: (-item.group_linear, -item.local_linear))
    yield ranked(lambda item: (item.local_linear, item.group_linear))
    yield ranked(lambda item: (-item.sub_group_group_id(), item.local_linear, item.group_linear))
    yield ranked(lambda item: (item.sub_group_group_id(), -item.local_linear, item.group_linear))
    yield ranked(lambda item: (-(item.local_linear % 2), item.local_linear))
    yield in_turns()
    for seed in seeds:
        yield (uniform, demoting)[seed % 2](seed)


# --- Results under them ---


def outcomes(
    body: oracle.Body,
    nd_range: xe.NDRange,
    arguments: Sequence[Any],
    *,
    seeds: Iterable[int] = SEEDS,
    sub_group_size: int = SUB_GROUP_SIZE,
    most: int | None = None,
    **static: Any,
) -> set[bytes]:
    """What the arguments can be after the launch of `body(item, *arguments, **static)`: each set of them as bytes.

    Args:
      body: the kernel for the oracle; it yields its accesses.
      nd_range, arguments, static: of the launch.
      seeds: one for each random schedule; those that are not random come on top.
      sub_group_size: lanes of a full sub-group.
      most: stops where so many different results are known.
    """
    found: set[bytes] = set()
    sizes = (nd_range.global_size, nd_range.local_size or (1,) * nd_range.dimensions, arguments)
    for schedule in schedules(seeds):
        bound = functools.partial(body, **static)
        after = oracle.run(bound, *sizes, sub_group_size=sub_group_size, poison=poison, schedule=schedule)
        found.add(as_bytes(after))
        if most is not None and len(found) >= most:
            break
    return found


def as_bytes(arguments: Iterable[Any]) -> bytes:
    return b"".join(np.asarray(x).tobytes() for x in arguments)


def outcomes_of(program: Program, seeds: Iterable[int] = SEEDS, most: int | None = None) -> set[bytes]:
    """The outcomes of a program."""
    size, arguments = program.sub_group_size, program.arguments
    return outcomes(body_of(program), program.nd_range, arguments, seeds=seeds, sub_group_size=size, most=most)


def in_order(program: Program) -> bytes:
    """The outcome of a program in the order of the work-items; a race raises `oracle.Race`."""
    local_range = program.nd_range.local_size or (1,) * len(program.group_range)
    sizes = {"sub_group_size": program.sub_group_size, "poison": poison}
    return as_bytes(oracle.run(body_of(program), program.nd_range.global_size, local_range, program.arguments, **sizes))


def has_race(program: Program) -> bool:
    """True if the accesses of a program, its work-items in order, conflict somewhere."""
    try:
        in_order(program)
    except oracle.Race:
        return True
    return False


def body_of(program: Program) -> oracle.Body:
    def body(item: oracle.Item, *arguments: Any) -> Generator[Any, Any, None]:
        return _Yielding(program, item, arguments).run()

    return body


class _Yielding(programs._WorkItem):
    """A work-item that yields its accesses, and meets its sub-group at the barriers of that."""

    def step(self, statement: Statement) -> Generator[Any, Any, None]:
        item, value, memories = self.item, self.value, self.memories
        match statement:
            case Load(target, name, index, where, other, width, block):
                mask, substitute = where is None or value(where), 0 if other is None else value(other)
                elements = []
                for place in self.places(index, width, block):
                    elements.append((yield item.loading(memories[name], place, mask, substitute)))
                self.assign(target, functools.reduce(getattr(np, programs._fold(target.dtype)), elements))
            case Store(name, index, x, where, width, block):
                stored, mask = value(x), where is None or value(where)
                for place in self.places(index, width, block):
                    yield item.storing(memories[name], place, stored, mask)
            case Barrier(names, "sub_group"):
                yield item.sub_group_barrier(*[memories[name] for name in names])
            case _:
                yield from super().step(statement)


# --- Random kernels ---

READ, SUM = Register(0, INT32), Register(1, INT32)
LID, GROUP, GID = programs.LINEAR_LOCAL, programs.LINEAR_GROUP, programs.LINEAR_GLOBAL


def kernel(seed: int, old_values: bool = False) -> Program:
    """A program of a few accesses, some of which may race.

    Args:
      seed: every seed gives another program; hypothesis would draw many that hardly differ.
      old_values: true if the order of atomic operations may show in the results.
    """
    return _Writer(random.Random(seed), old_values).program()


class _Writer:
    """Draws the statements of a `kernel`."""

    def __init__(self, drawn: random.Random, old_values: bool):
        self.drawn, self.old_values, self.loops = drawn, old_values, 0
        self.groups, self.items = self.pick((1, 8), (2, 8), (2, 4), (3, 6), (1, 12), (1, 1))
        self.locals = self.pick(("tile",), ("tile", "other"))
        self.sizes = {name: self.pick(self.items, self.items, 2 * self.items, 5) for name in self.locals}
        self.sizes["data"] = self.pick(self.items * self.groups, self.items * self.groups, 7)
        # What is updated atomically must not show in which order: one operation that commutes for each memory.
        self.operations = {name: self.pick("add", "add", "max", "exchange") for name in self.sizes}

    def pick(self, *options: Any) -> Any:
        return self.drawn.choice(options)

    def program(self) -> Program:
        body = [*self.prologue(), *self.block(self.pick(2, 3, 4, 5, 6))]
        body += self.pick([], self.epilogue(), self.epilogue(), self.epilogue())
        body.append(Store("out", (GID,), SUM))
        buffers = [Buffer(name, "local", (self.sizes[name],), INT32) for name in self.locals]
        buffers.append(Buffer("data", "shared", (self.sizes["data"],), INT32))
        buffers.append(Buffer("out", "output", (self.items * self.groups,), INT32))
        return Program(
            (self.groups,),
            (self.items,),
            SUB_GROUP_SIZE,
            tuple(buffers),
            (INT32, INT32),
            uniforms=0,
            argument=0,
            seed=self.pick(0, 1, 2, 3),
            body=tuple(body),
        )

    def prologue(self) -> list[Statement]:
        """Most memories begin stored to by their work-items."""
        names = [name for name in self.locals if self.pick(True, True, True, False)]
        stores = [Store(name, (place,), _plus(place, 1), mask) for name in names for place, mask in self.shares(name)]
        return [*stores, *self.pick([Barrier(self.locals)], [Barrier(self.locals)], [])]

    def epilogue(self) -> list[Statement]:
        """All that the local memories hold is read."""
        loads = [(name, place, mask) for name in self.locals for place, mask in self.shares(name)]
        read = [[Load(READ, name, (place,), mask, Const(0)), *_add(READ)] for name, place, mask in loads]
        return [Barrier(self.locals), *[statement for pair in read for statement in pair]]

    def shares(self, name: str) -> Iterator[tuple[Any, Any]]:
        """Places, and masks for them, by which the work-items divide a local memory between them."""
        for start in range(0, self.sizes[name], self.items):
            place = _plus(LID, start)
            yield place, _less(place, self.sizes[name])

    def block(self, count: int) -> list[Statement]:
        return [statement for _ in range(count) for statement in self.statements()]

    def statements(self) -> list[Statement]:
        ways = ["load", "load", "store", "store", "barrier", "barrier", "barrier", "atomic", "vote", "loop"]
        name = self.pick(*self.locals, *self.locals, *self.sizes)
        match self.pick(*ways[: len(ways) - self.loops]):
            case "load":
                return self.load(name)
            case "store":
                return [Store(name, (self.place(name),), self.pick(SUM, GID, Const(3)), self.mask())]
            case "barrier":
                memories = self.drawn.sample(sorted(self.sizes), self.drawn.randint(1, len(self.sizes)))
                return [Barrier(tuple(memories), self.pick("group", "group", "group", "sub_group", "fence"))]
            case "atomic":
                return self.atomic(name)
            case "vote":
                return [programs.Collective(SUM, self.pick("group", "sub_group"), "reduce", "add", SUM)]
        self.loops += 1
        body = self.block(self.pick(1, 2, 3))
        self.loops -= 1
        return [Loop(self.pick("fori", "python"), Const(self.pick(2, 3)), tuple(body))]

    def load(self, name: str) -> list[Statement]:
        mask = self.mask()
        other = Const(5) if mask is not None else None
        return [Load(READ, name, (self.place(name),), mask, other), *_add(READ)]

    def atomic(self, name: str) -> list[Statement]:
        place, mask = self.place(name), self.mask()
        if self.old_values:
            op = self.pick("add", "max", "exchange")
            return [Atomic(READ, name, (place,), op, (self.pick(GID, SUM),), mask, fetch=True), *_add(READ)]
        op = self.operations[name]
        value = Const(9) if op == "exchange" else self.pick(GID, SUM)
        fetch = op == "exchange" or self.pick(True, False)
        return [Atomic(None, name, (place,), op, (value,), mask, fetch)]

    def mask(self) -> Any:
        return self.pick(
            None,
            None,
            _less(LID, self.items // 2),
            Binary("equal", LID, Const(self.pick(0, self.items - 1))),
            Binary("equal", Binary("bitwise_and", LID, Const(1)), Const(0)),
            Binary("equal", GROUP, Const(0)),
        )

    def place(self, name: str) -> Any:
        """An element of the memory: mostly the work-item's own, or that of another one."""
        own = GID if name == "data" else LID
        count = self.items * self.groups if name == "data" else self.items
        size = self.sizes[name]
        ways = [
            own,
            own,
            Binary("bitwise_xor", own, Const(self.pick(1, 2, 4))),
            _plus(Binary("multiply", own, Const(-1)), count - 1),
        ]
        ways += [_plus(own, self.pick(1, -1)), Binary("multiply", own, Const(self.pick(0, 2, 3)))]
        ways += [Binary("add", own, programs.Counter(0))] * (self.loops > 0)
        place = self.pick(*ways)
        return place if place == own and size >= count else Binary("remainder", place, Const(size))


def _plus(x: Any, n: int) -> Any:
    return Binary("add", x, Const(n)) if n else x


def _less(x: Any, n: int) -> Any:
    return Binary("less", x, Const(n))


def _add(read: Register) -> list[Statement]:
    """Makes what was read a part of what is written out in the end; the order of the reads shows."""
    return [programs.Assign(SUM, Binary("add", Binary("multiply", SUM, Const(5)), read))]
