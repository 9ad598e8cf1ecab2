"""Random small kernels: a program is a value, drawn by hypothesis, with two renderings.

`kernel(program)` builds it out of the kernel language; `expected(program)` runs it in the scalar oracle. The sections:
expressions and statements (the abstract syntax), the two renderings, and the strategy `programs`.

Programs are free of races by construction, and the oracle checks that they are. What a memory is for decides how:

* an `input` is only read;
* an `output` has one element (or a few) for each work-item, which alone loads and stores there;
* a `shared` memory is updated by all groups with atomic operations that commute, and not read;
* a `local` memory and each group's row of a `region` go through phases, separated by barriers: in one phase all
  work-items read anywhere, or each owns its place, or one work-item does everything, or all accesses are atomic;
* `private` memory cannot race.
"""

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import oracle
from hypothesis import strategies as st
from jax import lax

import xeemu as xe

INT32 = "int32"
NARROW_TYPES = ("uint32", "float32", "uint8", "int8", "int16", "uint16", "bool")
WIDE_TYPES = ("int64", "uint64", "float64")
ATOMIC_TYPES = ("int32", "uint32", "float32", *WIDE_TYPES)
COMPARISONS = ("less", "less_equal", "equal", "not_equal")
DEVICE = "hd530"


# --- Expressions: what a work-item, or a whole group, computes without meeting anybody ---


@dataclasses.dataclass(frozen=True, repr=False)
class Const:
    value: int | float | bool
    dtype: str = INT32

    def __repr__(self) -> str:
        return f"{self.value}" if self.dtype == INT32 else f"{self.dtype}({self.value})"


@dataclasses.dataclass(frozen=True, repr=False)
class Register:
    """A variable with a value for each work-item."""

    number: int
    dtype: str

    def __repr__(self) -> str:
        return f"r{self.number}"


@dataclasses.dataclass(frozen=True, repr=False)
class Uniform:
    """A variable with one value for the group."""

    number: int
    dtype: str = INT32

    def __repr__(self) -> str:
        return f"u{self.number}"


@dataclasses.dataclass(frozen=True, repr=False)
class Counter:
    """The counter of the loop that is `depth` loops deep."""

    depth: int
    dtype: str = INT32

    def __repr__(self) -> str:
        return f"i{self.depth}"


@dataclasses.dataclass(frozen=True, repr=False)
class Argument:
    """The scalar argument of the launch."""

    dtype: str = INT32

    def __repr__(self) -> str:
        return "n"


@dataclasses.dataclass(frozen=True, repr=False)
class Id:
    """`wg.call(dimension)`; `call` begins with `sub_group_` for those of `wg.sub_group`."""

    call: str
    dimension: int | None = None
    dtype: str = INT32

    def __repr__(self) -> str:
        return f"{self.call}({'' if self.dimension is None else self.dimension})"


@dataclasses.dataclass(frozen=True, repr=False)
class Binary:
    """An operation by its NumPy name."""

    op: str
    left: "Expression"
    right: "Expression"

    @property
    def dtype(self) -> str:
        return "bool" if self.op in COMPARISONS else self.left.dtype

    def __repr__(self) -> str:
        return f"{self.op}({self.left}, {self.right})"


@dataclasses.dataclass(frozen=True, repr=False)
class Select:
    condition: "Expression"
    yes: "Expression"
    no: "Expression"

    @property
    def dtype(self) -> str:
        return self.yes.dtype

    def __repr__(self) -> str:
        return f"where({self.condition}, {self.yes}, {self.no})"


@dataclasses.dataclass(frozen=True, repr=False)
class Cast:
    x: "Expression"
    dtype: str

    def __repr__(self) -> str:
        return f"{self.dtype}({self.x})"


Expression = Const | Register | Uniform | Counter | Argument | Id | Binary | Select | Cast
Index = tuple[Expression, ...]
LINEAR_GROUP, LINEAR_LOCAL, LINEAR_GLOBAL = Id("group_linear_id"), Id("local_linear_id"), Id("global_linear_id")
LANE, SUB_GROUP = Id("sub_group_local_id"), Id("sub_group_group_id")


def evaluate(expression: Expression, leaf: Callable[[Expression], Any], xp: Any) -> Any:
    """The value with the operations of `xp`, which is NumPy or `jax.numpy`."""
    visit = functools.partial(evaluate, leaf=leaf, xp=xp)
    match expression:
        case Const(value, dtype):
            return np.dtype(dtype).type(value)
        case Binary(op, left, right):
            return getattr(xp, op)(visit(left), visit(right))
        case Select(condition, yes, no):
            return xp.where(visit(condition), visit(yes), visit(no))
        case Cast(x, dtype):
            return xp.asarray(visit(x)).astype(dtype)
    return leaf(expression)


# --- Statements ---


@dataclasses.dataclass(frozen=True)
class Assign:
    target: Register | Uniform
    value: Expression


@dataclasses.dataclass(frozen=True)
class Load:
    """Loads `width` elements from `index` on, and folds them; `block` is the sub-group's block load."""

    target: Register | Uniform
    memory: str
    index: Index
    where: Expression | None = None
    other: Const | None = None
    width: int = 1
    block: bool = False


@dataclasses.dataclass(frozen=True)
class Store:
    """Stores `value` to `width` elements from `index` on; `block` is the sub-group's block store."""

    memory: str
    index: Index
    value: Expression
    where: Expression | None = None
    width: int = 1
    block: bool = False


@dataclasses.dataclass(frozen=True)
class Atomic:
    """`op` is an operation of the oracle; the old value goes to `target`, if there is one."""

    target: Register | None
    memory: str
    index: Index
    op: str
    values: tuple[Expression, ...]
    where: Expression | None = None
    fetch: bool = False
    scope: str = "device"


@dataclasses.dataclass(frozen=True)
class Collective:
    """`level` is `group`, `sub_group`, or `jnp` for a group's reduction spelled as `jnp.sum` and the like.

    Attributes:
      chunk: lanes of the chunks of a sub-group that reduce or rotate, each for itself; None for all lanes together.
    """

    target: Register | Uniform
    level: str
    kind: str
    op: str | None
    x: Expression
    argument: Expression | None = None
    chunk: int | None = None


@dataclasses.dataclass(frozen=True)
class Barrier:
    """`level` is `group`, `sub_group`, or `fence`."""

    memories: tuple[str, ...]
    level: str = "group"


@dataclasses.dataclass(frozen=True)
class Loop:
    """`form` is `python`, `fori`, `scan`, or `while`, which asks `condition` before each of at most `trips` trips."""

    form: str
    trips: Expression
    body: tuple["Statement", ...]
    condition: Expression | None = None


@dataclasses.dataclass(frozen=True)
class Choose:
    """One of the branches, by a scalar number that is clamped to their range."""

    index: Expression
    branches: tuple[tuple["Statement", ...], ...]


Statement = Assign | Load | Store | Atomic | Collective | Barrier | Loop | Choose


@dataclasses.dataclass(frozen=True)
class Buffer:
    """A memory of the program; `space` is one of those in the module's docstring."""

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def is_global(self) -> bool:
        return self.space not in ("local", "private")


@dataclasses.dataclass(frozen=True)
class Program:
    """A kernel and its launch.

    Attributes:
      group_range: groups per dimension; for a plain range, work-items per dimension.
      local_range: work-items of a group per dimension, or None for a plain range.
      registers: their dtypes.
      uniforms: how many there are.
      argument: the launch's scalar argument.
      seed: of the memories' contents.
    """

    group_range: tuple[int, ...]
    local_range: tuple[int, ...] | None
    sub_group_size: int
    buffers: tuple[Buffer, ...]
    registers: tuple[str, ...]
    uniforms: int
    argument: int
    seed: int
    body: tuple[Statement, ...]

    def __str__(self) -> str:
        """The launch, the memories and the statements, as a failing test shows them."""
        launch = f"{self.nd_range}, sub-groups of {self.sub_group_size}, n = {self.argument}, seed {self.seed}"
        memories = [f"{b.name}: {b.dtype}{list(b.shape)}" for b in self.buffers]
        registers = [f"r{number}: {dtype}" for number, dtype in enumerate(self.registers)]
        return "\n".join([launch, ", ".join([*memories, *registers]), *_lines(self.body)])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What hypothesis prints."""
        printer.text(str(self))

    @property
    def nd_range(self) -> xe.NDRange:
        if self.local_range is None:
            return xe.NDRange(self.group_range)
        return xe.NDRange(self._global_range(self.local_range), self.local_range)

    def _global_range(self, local_range: Sequence[int]) -> tuple[int, ...]:
        return tuple(g * n for g, n in zip(self.group_range, local_range, strict=True))

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The global memories' contents and the scalar argument."""
        random = np.random.default_rng(self.seed)
        contents = [_contents(random, b.shape, np.dtype(b.dtype)) for b in self.buffers if b.is_global]
        return (*contents, np.int32(self.argument))

    @property
    def names(self) -> list[str]:
        return [b.name for b in self.buffers if b.is_global]

    def returned(self, memories: dict[str, Any]) -> dict[str, Any]:
        """Those of the memories that a kernel returns."""
        return {b.name: memories[b.name] for b in self.buffers if b.is_global and b.space != "input"}


def _lines(statements: Sequence[Statement], depth: int = 1) -> list[str]:
    lines = []
    for statement in statements:
        parts = {field.name: getattr(statement, field.name) for field in dataclasses.fields(statement)}
        blocks = [parts.pop("body")] if isinstance(statement, Loop) else parts.pop("branches", ())
        shown = ", ".join(f"{name}={x}" for name, x in parts.items() if x not in (None, False))
        lines.append("  " * depth + f"{type(statement).__name__}({shown})" + ":" * bool(blocks))
        for number, block in enumerate(blocks):
            lines += ["  " * depth + f" branch {number}:"] * (len(blocks) > 1) + _lines(block, depth + 1)
    return lines


def _contents(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Integers of any size, half of them small; floats that add up exactly."""
    if dtype.kind in "bf":
        return (random.integers(0, 256, shape) * (0.25 if dtype.kind == "f" else random.integers(0, 2, shape))).astype(
            dtype
        )
    info = np.iinfo(dtype)
    small, large = (
        random.integers(0, 16, shape, dtype),
        random.integers(info.min, info.max, shape, dtype, endpoint=True),
    )
    return np.where(random.integers(0, 2, shape) == 0, small, large)


def _fold(dtype: str) -> str:
    return "add" if np.dtype(dtype).kind == "f" else "bitwise_xor"


# --- The rendering in the kernel language ---


class State(NamedTuple):
    """What statements change: a pytree, so that it goes through loops and branches."""

    registers: tuple[Any, ...]
    uniforms: tuple[Any, ...]
    memories: dict[str, Any]


def kernel(program: Program, permuted: bool = False) -> xe.Kernel:
    """The program as a kernel over `program.arguments`.

    Args:
      program: the program.
      permuted: true if the kernel's first argument is a table with the number of the group that each group plays.
    """

    def function(wg: Any, *arguments: Any) -> dict[str, Any]:
        table, *memories, argument = arguments if permuted else (None, *arguments)
        given = dict(zip(program.names, memories, strict=True))
        return program.returned(_Group(program, wg, given, argument, table).run().memories)

    names = ["wg", *["table"] * permuted, *program.names, "n"]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    return xe.kernel(sub_group_size=program.sub_group_size)(function)


class _Group:
    """Statements as operations on the arrays of a work-group."""

    def __init__(self, program: Program, wg: Any, given: dict[str, Any], argument: Any, table: Any):
        self.program, self.wg, self.argument, self.table = program, wg, argument, table
        self.rank = len(program.group_range)
        inputs = {b.name for b in program.buffers if b.space == "input"}
        self.inputs = {name: memory for name, memory in given.items() if name in inputs}
        self.updated = {name: memory for name, memory in given.items() if name not in inputs}
        self.local_range = wg.local_id(0).shape

    def run(self) -> State:
        registers = tuple(jnp.zeros(self.local_range, dtype) for dtype in self.program.registers)
        uniforms = (jnp.zeros((), INT32),) * self.program.uniforms
        allocate = {"local": self.wg.local, "private": self.wg.private}
        allocated = {
            b.name: allocate[b.space](b.shape, b.dtype, name=b.name) for b in self.program.buffers if not b.is_global
        }
        return self.block(self.program.body, State(registers, uniforms, self.updated | allocated))

    def block(self, statements: Sequence[Statement], state: State, counters: tuple[Any, ...] = ()) -> State:
        for statement in statements:
            state = self.step(statement, state, counters)
        return state

    def step(self, statement: Statement, state: State, counters: tuple[Any, ...]) -> State:
        """The state after one statement."""

        def value(expression: Expression | None) -> Any:
            return None if expression is None else evaluate(expression, self.leaf(state, counters), jnp)

        match statement:
            case Assign(target, x):
                return self.assign(state, target, value(x))
            case Load(target, name, index, where, other, width, block):
                x = self.load(
                    self.memory(state, name), self.index(index, width, value), value(where), value(other), block
                )
                elements = [x] if width == 1 else [x[..., k] for k in range(width)]
                fold = getattr(jnp, _fold(target.dtype))
                return self.assign(state, target, functools.reduce(fold, elements))
            case Store(name, index, x, where, width, block):
                place, memory = self.index(index, width, value), self.memory(state, name)
                if block:
                    return self.renew(state, name, self.wg.sub_group.store(memory, place, value(x)))
                return self.renew(state, name, memory.at[place].set(value(x), where=value(where)))
            case Atomic(target, name, index, op, values, where, fetch, scope):
                memory, operands = self.memory(state, name), [value(x) for x in values]
                atomic = memory.atomic if scope == "device" else memory.atomic(order="relaxed", scope=scope)
                place = atomic[self.index(index, 1, value)]
                if op == "load":
                    return self.assign(state, target, place.load(where=value(where)))
                result = getattr(place, _method(op, fetch))(*operands, where=value(where))
                old, memory = result if fetch else (None, result)
                return self.assign(self.renew(state, name, memory), target, old)
            case Collective(target, level, kind, op, x, argument, chunk):
                return self.assign(state, target, self.collective(level, kind, op, value(x), value(argument), chunk))
            case Barrier(names, level):
                meet = {"group": self.wg.barrier, "sub_group": self.wg.sub_group.barrier, "fence": self.wg.fence}[level]
                renewed = meet(*[self.memory(state, name) for name in names])
                return self.renew_all(state, names, renewed if len(names) > 1 else (renewed,))
            case Loop():
                return self.loop(statement, state, counters, value(statement.trips))
            case Choose(number, branches):
                ways = [functools.partial(self.block, branch, counters=counters) for branch in branches]
                if len(ways) == 2:
                    return lax.cond(value(number) > np.int32(0), ways[1], ways[0], state)
                return lax.switch(value(number), ways, state)

    def loop(self, loop: Loop, state: State, counters: tuple[Any, ...], trips: Any) -> State:
        def body(i: Any, state: State) -> State:
            return self.block(loop.body, state, (*counters, jnp.asarray(i).astype(INT32)))

        def proceeds(carry: tuple[Any, State]) -> Any:
            in_range = carry[0] < trips
            if loop.condition is None:
                return in_range
            return in_range & evaluate(loop.condition, self.leaf(carry[1], (*counters, carry[0])), jnp)

        static = loop.trips.value if isinstance(loop.trips, Const) else None
        match loop.form:
            case "python":
                return functools.reduce(lambda state, i: body(i, state), range(static), state)
            case "fori":
                return lax.fori_loop(0, trips if static is None else static, body, state)
            case "scan":
                return lax.scan(lambda state, i: (body(i, state), None), state, jnp.arange(static, dtype=INT32))[0]
            case _:
                carry = (jnp.zeros((), INT32), state)
                return lax.while_loop(proceeds, lambda c: (c[0] + np.int32(1), body(*c)), carry)[1]

    def leaf(self, state: State, counters: tuple[Any, ...]) -> Callable[[Expression], Any]:
        def look_up(expression: Expression) -> Any:
            match expression:
                case Register(number):
                    return state.registers[number]
                case Uniform(number):
                    return state.uniforms[number]
                case Counter(depth):
                    return counters[depth]
                case Id(call, dimension):
                    return self.id(call, dimension)
            return self.argument

        return look_up

    def id(self, call: str, dimension: int | None) -> Any:
        if call.startswith("sub_group_"):
            return getattr(self.wg.sub_group, call.removeprefix("sub_group_"))()
        if self.table is not None and not call.startswith("local"):
            return self.permuted_id(call, dimension)
        return getattr(self.wg, call)() if dimension is None else getattr(self.wg, call)(dimension)

    def permuted_id(self, call: str, dimension: int | None) -> Any:
        """An id of the group that the table names."""
        linear = self.table[self.wg.group_linear_id()]
        if call == "group_linear_id":
            return linear
        sizes = self.program.group_range
        groups = [linear // np.int32(math.prod(sizes[d + 1 :])) % np.int32(sizes[d]) for d in range(self.rank)]
        if call == "group_id":
            return groups[dimension or 0]
        items = [
            g * np.int32(n) + self.wg.local_id(d) for d, (g, n) in enumerate(zip(groups, self.local_range, strict=True))
        ]
        if call == "global_id":
            return items[dimension or 0]
        extents = [g * n for g, n in zip(sizes, self.local_range, strict=True)]
        return functools.reduce(
            lambda x, step: x * np.int32(step[1]) + step[0], zip(items, extents, strict=True), np.int32(0)
        )

    def memory(self, state: State, name: str) -> Any:
        return self.inputs[name] if name in self.inputs else state.memories[name]

    def index(self, index: Index, width: int, value: Callable[[Expression], Any]) -> Any:
        """The index as the language takes it; a wide access has a private axis."""
        *rest, last = map(value, index)
        if width > 1:
            last = jnp.broadcast_to(last, self.local_range)
            last = last[..., None] + jnp.arange(width, dtype=last.dtype)
        return (*rest, last) if rest else last

    def load(self, memory: Any, place: Any, where: Any, other: Any, block: bool) -> Any:
        if block:
            return self.wg.sub_group.load(memory, place)
        if where is None:
            return memory[place]
        return memory.load(place, where=where) if other is None else memory.load(place, where=where, other=other)

    def collective(self, level: str, kind: str, op: str | None, x: Any, argument: Any, chunk: int | None) -> Any:
        if level == "jnp":
            array = jnp.broadcast_to(x, self.local_range)
            return jnp.sum(array, dtype=array.dtype) if op == "add" else {"min": jnp.min, "max": jnp.max}[op](array)
        call = getattr(self.wg if level == "group" else self.wg.sub_group, kind)
        return call(*[x for x in (x, op, argument) if x is not None], **({} if chunk is None else {"chunk": chunk}))

    def assign(self, state: State, target: Register | Uniform | None, x: Any) -> State:
        match target:
            case Register(number, dtype):
                x = jnp.broadcast_to(x, self.local_range).astype(dtype)
                return state._replace(registers=_replaced(state.registers, number, x))
            case Uniform(number, dtype):
                return state._replace(uniforms=_replaced(state.uniforms, number, jnp.asarray(x).astype(dtype)))
        return state

    def renew(self, state: State, name: str, memory: Any) -> State:
        return self.renew_all(state, (name,), (memory,))

    def renew_all(self, state: State, names: Sequence[str], memories: Sequence[Any]) -> State:
        return state._replace(memories=state.memories | dict(zip(names, memories, strict=True)))


def _method(op: str, fetch: bool) -> str:
    """The method of `m.atomic[i]` for an operation of the oracle."""
    if op in ("exchange", "compare_exchange"):
        return op
    if fetch:
        return f"fetch_{op}"
    return f"{op}_" if op in ("and", "or") else op


def _replaced(values: tuple[Any, ...], number: int, x: Any) -> tuple[Any, ...]:
    return (*values[:number], x, *values[number + 1 :])


# --- The rendering for the oracle ---


def expected(program: Program, poison: oracle.Poison, order: Sequence[int] | None = None) -> dict[str, np.ndarray]:
    """What the memories that the kernel returns hold after the launch, by the oracle."""

    def body(item: oracle.Item, *arguments: Any) -> Generator[Any, Any, None]:
        return _WorkItem(program, item, arguments).run()

    # A plain range has no groups to speak of: to every work-item its own.
    local_range = program.local_range or (1,) * len(program.group_range)
    global_range = program._global_range(local_range)
    sizes = {"sub_group_size": program.sub_group_size, "poison": poison, "order": order}
    after = oracle.run(body, global_range, local_range, program.arguments, **sizes)
    return program.returned(dict(zip(program.names, after, strict=False)))


class _WorkItem:
    """Statements as what one work-item does."""

    def __init__(self, program: Program, item: oracle.Item, arguments: Sequence[Any]):
        *memories, self.argument = arguments
        allocate = {"local": item.local_memory, "private": item.private_memory}
        self.program, self.item = program, item
        self.memories = dict(zip(program.names, memories, strict=True)) | {
            b.name: allocate[b.space](b.name, b.shape, b.dtype) for b in program.buffers if not b.is_global
        }
        self.registers: list[Any] = [np.dtype(dtype).type(0) for dtype in program.registers]
        self.uniforms: list[Any] = [np.int32(0)] * program.uniforms
        self.counters: list[Any] = []

    def run(self) -> Generator[Any, Any, None]:
        yield from self.block(self.program.body)

    def block(self, statements: Sequence[Statement]) -> Generator[Any, Any, None]:
        for statement in statements:
            yield from self.step(statement)

    def step(self, statement: Statement) -> Generator[Any, Any, None]:
        item, value, memories = self.item, self.value, self.memories
        match statement:
            case Assign(target, x):
                self.assign(target, value(x))
            case Load(target, name, index, where, other, width, block):
                mask, substitute = where is None or value(where), 0 if other is None else value(other)
                elements = [item.load(memories[name], p, mask, substitute) for p in self.places(index, width, block)]
                self.assign(target, functools.reduce(getattr(np, _fold(target.dtype)), elements))
            case Store(name, index, x, where, width, block):
                for place in self.places(index, width, block):
                    item.store(memories[name], place, value(x), where is None or value(where))
            case Atomic(target, name, index, op, values, where):
                mask, (place,) = where is None or value(where), self.places(index, 1, False)
                old = yield item.atomic(memories[name], place, op, *map(value, values), where=mask)
                self.assign(target, old if mask or op != "load" else 0)
            case Collective(target, level, kind, op, x, argument, chunk):
                within = {} if level == "group" or chunk is None else {"chunk": chunk}
                over = item.over_sub_group if level == "sub_group" else item.over_group
                number = 0 if argument is None else value(argument)
                self.assign(target, (yield over(kind, value(x), op, number, **within)))
            case Barrier(names, "group"):
                yield item.barrier(*[memories[name] for name in names])
            case Loop(_, trips, body, condition):
                yield from self.loop(int(value(trips)), body, condition)
            case Choose(number, branches):
                yield from self.block(branches[min(max(int(value(number)), 0), len(branches) - 1)])

    def loop(self, trips: int, body: Sequence[Statement], condition: Expression | None) -> Generator[Any, Any, None]:
        self.counters.append(np.int32(0))
        while self.counters[-1] < trips and (condition is None or self.value(condition)):
            yield from self.block(body)
            self.counters[-1] += np.int32(1)
        self.counters.pop()

    def places(self, index: Index, width: int, block: bool) -> list[tuple[Any, ...]]:
        *rest, last = map(self.value, index)
        first = last + self.item.sub_group_local_id() if block else last
        return [(*rest, first + first.dtype.type(k)) for k in range(width)]

    def assign(self, target: Register | Uniform | None, x: Any) -> None:
        match target:
            case Register(number, dtype):
                self.registers[number] = np.asarray(x).astype(dtype)[()]
            case Uniform(number, dtype):
                self.uniforms[number] = np.asarray(x).astype(dtype)[()]

    def value(self, expression: Expression) -> Any:
        return np.asarray(evaluate(expression, self.leaf, np))[()]

    def leaf(self, expression: Expression) -> Any:
        match expression:
            case Register(number):
                return self.registers[number]
            case Uniform(number):
                return self.uniforms[number]
            case Counter(depth):
                return self.counters[depth]
            case Id(call, dimension):
                return getattr(self.item, call)() if dimension is None else getattr(self.item, call)(dimension)
        return self.argument


# --- The strategy ---

SMALL = st.integers(-3, 8)
FREE, READ, ATOMIC, MIXED = "free", "read", "atomic", "mixed"
FAMILIES = (("add", "sub"), ("min",), ("max",), ("and",), ("or",), ("xor",))


@dataclasses.dataclass(frozen=True)
class Own:
    """A phase in which every work-item has `width` elements from `index` on to itself."""

    index: Index
    width: int


@dataclasses.dataclass(frozen=True)
class Single:
    """A phase in which one work-item does all that is done."""

    item: int


Phase = str | Own | Single


@st.composite
def programs(draw: st.DrawFn, plain: bool = False, types: tuple[str, ...] = NARROW_TYPES + WIDE_TYPES) -> Program:
    """A random program.

    Args:
      draw: hypothesis's.
      plain: true if it is launched over a plain range, and so does without groups.
      types: what its memories may hold, besides int32.
    """
    group_range, local_range = (draw(_plain_sizes()), None) if plain else draw(_group_sizes())
    chosen = (INT32, *draw(st.lists(st.sampled_from(types), max_size=2, unique=True)))
    items, groups = math.prod(local_range or (1,)), math.prod(group_range)
    writer = _Writer(draw, group_range, local_range, draw(st.sampled_from((8, 16))), chosen)
    writer.declare(items, groups)
    drawn = writer.block(draw(st.integers(2, 10)), depth=0)
    body = (*writer.prologue(), *drawn, *writer.epilogue(items, groups))
    return Program(
        group_range,
        local_range,
        writer.sub_group_size,
        tuple(writer.buffers.values()),
        chosen,
        uniforms=2,
        argument=draw(SMALL),
        seed=draw(st.integers(0, 7)),
        body=body,
    )


def _plain_sizes() -> st.SearchStrategy[tuple[int, ...]]:
    """Primes beyond the largest group that the runtime would choose, and other sizes that nothing divides well."""
    return st.sampled_from(((1,), (7,), (100,), (263,), (521,), (3, 61), (5, 7), (2, 263), (3, 5, 7)))


def _group_sizes() -> st.SearchStrategy[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Groups and work-items per dimension: up to 8 groups of up to 48 work-items."""
    one = st.tuples(st.tuples(st.integers(1, 7)), st.tuples(st.integers(1, 40)))
    two = st.tuples(_sizes(3, 2), _sizes(4, 9))
    three = st.tuples(_sizes(2, 2, 2), _sizes(3, 4, 4))
    return st.one_of(one, two, three)


def _sizes(*largest: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[st.integers(1, n) for n in largest])


class _Writer:
    """Draws statements, and knows for every local memory and region what its present phase allows."""

    def __init__(
        self,
        draw: st.DrawFn,
        group_range: tuple[int, ...],
        local_range: tuple[int, ...] | None,
        sub_group_size: int,
        types: tuple[str, ...],
    ):
        self.draw, self.sub_group_size, self.types = draw, sub_group_size, types
        self.group_range, self.local_range = group_range, local_range
        self.rank = len(group_range)
        self.registers = tuple(Register(number, dtype) for number, dtype in enumerate(types))
        self.uniforms = (Uniform(0), Uniform(1))
        self.buffers: dict[str, Buffer] = {}
        self.phases: dict[str, Phase] = {}
        self.ended: set[str] = set()
        self.slots: dict[str, Own] = {}
        self.families: dict[str, tuple[str, ...]] = {}
        self.counters = 0

    # Drawing.

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def maybe(self) -> bool:
        return self.draw(st.booleans())

    # Memories.

    def declare(self, items: int, groups: int) -> None:
        """The program's memories: an input and an output of every type, and some of each other kind."""
        total = items * groups
        for dtype in self.types:
            self.add("input", (self.number(1, 60),), dtype)
            self.add_output(dtype, items, total)
        if self.maybe():
            self.add("private", (self.number(1, 5),), self.pick(*self.types))
        if self.maybe():
            shared = self.add("shared", (self.number(1, 9),), self.atomic_type())
            self.families[shared] = self.pick(*(FAMILIES[:3] if _is_float(self.buffers[shared].dtype) else FAMILIES))
        if self.local_range is not None:
            self.declare_arenas(items, groups)

    def declare_arenas(self, items: int, groups: int) -> None:
        for _ in range(self.number(0, 2)):
            size = max(1, items + self.number(-2, 5))
            shape = (size,) if self.maybe() else (self.number(1, 5), self.number(1, 9))
            self.phases[self.add("local", shape, self.pick(self.atomic_type(), *self.types))] = FREE
        if self.maybe():
            self.phases[self.add("region", (groups, self.number(1, items + 3)), self.atomic_type())] = FREE

    def add(self, space: str, shape: tuple[int, ...], dtype: str) -> str:
        name = f"{space}{len(self.buffers)}"
        self.buffers[name] = Buffer(name, space, shape, dtype)
        return name

    def add_output(self, dtype: str, items: int, total: int) -> None:
        """A memory with a place for each work-item; one that is too small drops what does not fit."""
        if self.rank > 1 and self.maybe():
            extents = (
                self.group_range
                if self.local_range is None
                else map(math.prod, zip(self.group_range, self.local_range, strict=True))
            )
            shape = tuple(max(1, n - self.pick(0, 0, 1)) for n in extents)
            name, index = self.add("output", shape, dtype), tuple(Id("global_id", d) for d in range(self.rank))
            self.slots[name] = Own(index, 1)
            return
        if self.local_range is not None and self.maybe():
            linear = _binary("add", _binary("multiply", LINEAR_GROUP, items), LINEAR_LOCAL)
            self.slots[self.add("output", (total,), dtype)] = Own((linear,), 1)
            return
        width = self.pick(1, 1, 2, 3)
        size = max(1, total + self.number(-2, 5))
        slot = self.slot(LINEAR_GLOBAL, total, size)
        self.slots[self.add("output", (size * width,), dtype)] = Own((_binary("multiply", slot, width),), width)

    def atomic_type(self) -> str:
        return self.pick(*[dtype for dtype in self.types if dtype in ATOMIC_TYPES])

    def names(self, *spaces: str) -> list[str]:
        return [b.name for b in self.buffers.values() if b.space in spaces]

    # Expressions.

    def value(self, dtype: str, depth: int = 2) -> Expression:
        """Any value of a work-item."""
        if depth == 0 or self.maybe():
            return self.leaf(dtype)
        if dtype == "bool":
            return self.truth(depth)
        if self.pick(False, False, False, True):
            return Select(self.truth(depth - 1), self.value(dtype, depth - 1), self.value(dtype, depth - 1))
        if _is_float(dtype):
            op = self.pick("add", "subtract", "minimum", "maximum")
            return Binary(op, self.value(dtype, depth - 1), self.value(dtype, depth - 1))
        return self.integer_operation(dtype, self.value(dtype, depth - 1), depth)

    def integer_operation(self, dtype: str, left: Expression, depth: int) -> Expression:
        match self.pick("any", "shift", "divide"):
            case "shift":
                bits = 8 * np.dtype(dtype).itemsize
                return Binary(self.pick("left_shift", "right_shift"), left, Const(self.number(0, bits - 1), dtype))
            case "divide":
                return Binary(self.pick("remainder", "floor_divide"), left, Const(self.number(1, 9), dtype))
        op = self.pick("add", "subtract", "multiply", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor")
        return Binary(op, left, self.value(dtype, depth - 1))

    def truth(self, depth: int) -> Expression:
        if depth > 0 and self.pick(False, False, True):
            op = self.pick("bitwise_and", "bitwise_or", "bitwise_xor")
            return Binary(op, self.truth(depth - 1), self.truth(depth - 1))
        dtype = self.pick(*[dtype for dtype in self.types if dtype != "bool"])
        return Binary(self.pick(*COMPARISONS), self.leaf(dtype), self.leaf(dtype))

    def leaf(self, dtype: str) -> Expression:
        own = [r for r in self.registers if r.dtype == dtype]
        if self.maybe() or dtype == "bool":
            return self.pick(*own, Const(self.constant(dtype), dtype))
        if _is_float(dtype):
            return self.exact(dtype)
        integer = self.pick(self.id, self.id, functools.partial(self.uniform, 1), self.integer_register)()
        return integer if integer.dtype == dtype else Cast(integer, dtype)

    def integer_register(self) -> Register:
        return self.pick(*[r for r in self.registers if not _is_float(r.dtype)])

    def exact(self, dtype: str) -> Expression:
        """A value whose sums are exact and independent of their order, where it is a float."""
        if not _is_float(dtype):
            return self.value(dtype, 1)
        return Binary("multiply", Cast(_binary("bitwise_and", self.value(INT32, 1), 255), dtype), Const(0.25, dtype))

    def constant(self, dtype: str) -> int | float | bool:
        if dtype == "bool":
            return self.maybe()
        if _is_float(dtype):
            return self.number(0, 255) * 0.25
        info = np.iinfo(dtype)
        return max(info.min, self.pick(0, 1, 2, 3, 5, -1, 64, int(info.max), int(info.min)))

    def id(self) -> Expression:
        """Something that differs between the work-items of a group."""
        if self.local_range is None:
            return self.pick(LINEAR_GLOBAL, Id("global_id", self.number(0, self.rank - 1)))
        dimension = self.number(0, self.rank - 1)
        directed = (Id("local_id", dimension), Id("global_id", dimension))
        return self.pick(LINEAR_LOCAL, *directed, LINEAR_GLOBAL, LANE, SUB_GROUP)

    def uniform(self, depth: int = 2) -> Expression:
        """An int32 that is the same for the whole group."""
        if depth > 0 and self.maybe():
            left = self.uniform(depth - 1)
            if self.maybe():
                return _binary(self.pick("remainder", "floor_divide", "bitwise_and"), left, self.number(1, 5))
            return Binary(self.pick("add", "subtract", "multiply", "minimum", "maximum"), left, self.uniform(depth - 1))
        groups = () if self.local_range is None else (LINEAR_GROUP, Id("group_id", self.number(0, self.rank - 1)))
        counters = tuple(Counter(depth) for depth in range(self.counters))
        return self.pick(*groups, *counters, *self.uniforms, Argument(), Const(self.draw(SMALL)))

    def group(self) -> Expression:
        """The number of the group, where there are groups."""
        return Argument() if self.local_range is None else LINEAR_GROUP

    def scalar_below(self, limit: int) -> Expression:
        """A scalar from 0 to `limit`, exclusive, which mostly differs between groups."""
        varied = self.pick(self.group, self.group, self.uniform)()
        return _binary("remainder", _binary("add", varied, self.number(0, limit)), limit)

    def mask(self) -> Expression | None:
        return self.truth(1) if self.pick(False, False, True) else None

    # Places.

    def position(self, size: int) -> Expression:
        """Any index into a dimension of `size`, mostly within it."""
        match self.pick("affine", "wrapped", "scalar", "data", "any"):
            case "affine":
                position: Expression = self.affine()
            case "wrapped":
                position = _binary("remainder", self.affine(), size)
            case "scalar":
                position = self.uniform(1)
            case "data":
                position = _binary("remainder", Cast(self.integer_register(), INT32), size)
            case _:
                position = self.value(INT32)
        types = tuple(dtype for dtype in self.types if not _is_float(dtype) and dtype != "bool")
        other = self.pick(INT32, INT32, INT32, "uint32", "uint8", "int16", *types)
        return position if other == INT32 else Cast(position, other)

    def affine(self) -> Expression:
        """An id times a factor, plus a scalar."""
        scaled = _binary("multiply", self.id(), self.pick(1, 1, 2, 3, -1, 0))
        if self.maybe():
            return _binary("add", scaled, self.draw(SMALL))
        return Binary("add", scaled, _binary("multiply", self.uniform(1), self.pick(1, 2, -1)))

    def anywhere(self, name: str) -> Index:
        buffer = self.buffers[name]
        first = (LINEAR_GROUP,) if buffer.space == "region" else ()
        return (*first, *[self.position(n) for n in buffer.shape[len(first) :]])

    def slot(self, linear: Expression, count: int, size: int) -> Expression:
        """An injective function of an id below `count`; it may leave `0 <= slot < size`."""
        way = self.pick("affine", "affine", "wrapped", "xor")
        if way == "xor":
            return _binary("bitwise_xor", linear, self.number(0, 7))
        if way == "wrapped" and size >= count:
            factor = self.pick(*[a for a in range(1, 12) if math.gcd(a, size) == 1])
            return _binary("remainder", _binary("add", _binary("multiply", linear, factor), self.number(0, size)), size)
        factor, offset = self.pick((1, 0), (1, 1), (-1, count - 1), (1, -1), (2, 0), (-1, 3))
        return _binary("add", _binary("multiply", linear, factor), offset)

    def own(self, name: str) -> Own:
        """A new division of a local memory or region between the work-items."""
        *outer, size = self.buffers[name].shape
        items = math.prod(self.local_range or ())
        if self.buffers[name].space == "region":
            return Own((LINEAR_GROUP, self.slot(LINEAR_LOCAL, items, size)), 1)
        if not outer:
            width = self.pick(1, 1, 2)
            return Own((_binary("multiply", self.slot(LINEAR_LOCAL, items, size), width),), width)
        if self.rank == 2 and self.maybe():
            first, second = self.pick((0, 1), (1, 0))
            return Own((_binary("add", Id("local_id", first), self.number(-1, 1)), Id("local_id", second)), 1)
        slot = self.slot(LINEAR_LOCAL, items, size * outer[0])
        return Own((_binary("floor_divide", slot, size), _binary("remainder", slot, size)), 1)

    # Phases.

    def enter(self, name: str, phase: Phase) -> list[Statement]:
        """What has to come before an access of `phase`: a barrier, unless the memory is in that phase or free."""
        before = [self.end_phase(name)] if self.phases[name] not in (FREE, phase) else []
        self.phases[name] = phase
        return before

    def end_phase(self, *names: str) -> Barrier:
        self.ended.update(names)
        self.phases.update(dict.fromkeys(names, FREE))
        return Barrier(names)

    def after_one_of(self, *ends: dict[str, Phase]) -> None:
        """The phases where control flow joins."""
        for name in self.phases:
            phases = {end[name] for end in ends} - {FREE}
            self.phases[name] = FREE if not phases else phases.pop() if len(phases) == 1 else MIXED

    # Statements.

    def block(self, count: int, depth: int) -> tuple[Statement, ...]:
        return tuple(statement for _ in range(count) for statement in self.statements(depth))

    def statements(self, depth: int) -> list[Statement]:
        """One drawn statement, and the barrier before it that it may need."""
        ways = [self.assign, self.load_input, self.use_output]
        ways += [self.update_shared] * bool(self.names("shared")) + [self.use_private] * bool(self.names("private"))
        if self.local_range is not None:
            ways += [self.collective, self.collective]
        if self.phases:
            ways += [self.barrier, self.read, self.read, self.use_own, self.use_own, self.use_alone]
            ways += [self.update] * 2 * bool(self.atomic_arenas())
        if depth < 2:
            ways += [functools.partial(self.loop, depth), functools.partial(self.choose, depth)] * 2
        return self.pick(*ways)()

    def assign(self) -> list[Statement]:
        if self.pick(False, False, True):
            return [Assign(self.pick(*self.uniforms), self.uniform())]
        target = self.pick(*self.registers)
        return [Assign(target, self.value(target.dtype))]

    def register(self, name: str) -> Register:
        """The register of a memory's type."""
        return next(r for r in self.registers if r.dtype == self.buffers[name].dtype)

    def load_input(self) -> list[Statement]:
        return [self.load(self.pick(*self.names("input")))]

    def load(self, name: str) -> Statement:
        """A load from anywhere: plain, masked, wide, of one element for the whole group, or a sub-group's block."""
        buffer = self.buffers[name]
        way = self.pick("plain", "masked", "wide", "scalar", "block")
        if way == "scalar" and buffer.dtype == INT32:
            first = (LINEAR_GROUP,) if buffer.space == "region" else ()
            index = (*first, *[_binary("remainder", self.uniform(1), n) for n in buffer.shape[len(first) :]])
            return Load(self.pick(*self.uniforms), name, index)
        if way == "block" and len(buffer.shape) == 1 and self.local_range is not None:
            base = _binary(
                "add", _binary("multiply", SUB_GROUP, self.number(0, self.sub_group_size)), self.number(0, 3)
            )
            return Load(self.register(name), name, (base,), block=True)
        index, width = self.anywhere(name), self.number(2, 4) if way == "wide" else 1
        if way != "masked":
            return Load(self.register(name), name, index, width=width)
        other = Const(self.constant(buffer.dtype), buffer.dtype) if self.maybe() else None
        return Load(self.register(name), name, index, self.truth(1), other)

    def access(self, name: str, own: Own) -> Statement:
        """A load or store of the work-item's own elements."""
        width = self.number(1, own.width)
        if self.maybe():
            return Load(self.register(name), name, own.index, self.mask(), width=width)
        return Store(name, own.index, self.stored(name), self.mask(), width)

    def stored(self, name: str) -> Expression:
        """A value for a memory: of those that are updated atomically, floats must be exact."""
        dtype = self.buffers[name].dtype
        return self.value(dtype) if self.buffers[name].space == "output" else self.exact(dtype)

    def use_output(self) -> list[Statement]:
        name = self.pick(*self.names("output"))
        own = self.slots[name]
        items = math.prod(self.local_range or ())
        if own.index == (_binary("add", _binary("multiply", LINEAR_GROUP, items), LINEAR_LOCAL),) and self.maybe():
            start = _binary("multiply", SUB_GROUP, self.sub_group_size)
            base = Binary("add", _binary("multiply", LINEAR_GROUP, items), start)
            return [Store(name, (base,), self.stored(name), block=True)]
        return [self.access(name, own)]

    def use_private(self) -> list[Statement]:
        name = self.pick(*self.names("private"))
        return [self.access(name, Own(self.anywhere(name), 2))]

    def read(self) -> list[Statement]:
        name = self.pick(*self.phases)
        return [*self.enter(name, READ), self.load(name)]

    def use_own(self) -> list[Statement]:
        name = self.pick(*self.phases)
        present = self.phases[name]
        own = present if isinstance(present, Own) else self.own(name)
        return [*self.enter(name, own), self.access(name, own)]

    def use_alone(self) -> list[Statement]:
        """One work-item stores to a place of its choice."""
        name = self.pick(*self.phases)
        present = self.phases[name]
        item = present.item if isinstance(present, Single) else self.number(0, math.prod(self.local_range or ()) - 1)
        mask = _binary("equal", LINEAR_LOCAL, item)
        return [*self.enter(name, Single(item)), Store(name, self.anywhere(name), self.stored(name), mask)]

    def atomic_arenas(self) -> list[str]:
        return [name for name in self.phases if self.buffers[name].dtype in ATOMIC_TYPES]

    def update(self) -> list[Statement]:
        """Any atomic operation of the group, with or without its old value."""
        name = self.pick(*self.atomic_arenas())
        dtype = self.buffers[name].dtype
        before, index, mask = self.enter(name, ATOMIC), self.anywhere(name), self.mask()
        bitwise = () if _is_float(dtype) else ("and", "or", "xor")
        op = self.pick("add", "sub", "min", "max", *bitwise, "exchange", "compare_exchange", "store", "load")
        scope = self.pick("device", "work_group")
        target, fetch = (None, False) if op == "store" else self.pick((None, False), (self.register(name), True))
        fetch = fetch or op in ("exchange", "compare_exchange", "load")
        target = self.register(name) if op == "load" else target
        values: tuple[Expression, ...] = (self.exact(dtype),)
        if op == "load":
            values = ()
        elif op == "store":
            values = (Const(self.constant(dtype), dtype),)
        elif op == "compare_exchange":
            values = (Const(self.constant(dtype), dtype), *values)
        return [*before, Atomic(target, name, index, op, values, mask, fetch, scope)]

    def update_shared(self) -> list[Statement]:
        """An atomic operation in which all groups meet, its old value unused."""
        name = self.pick(*self.names("shared"))
        op, value = self.pick(*self.families[name]), self.exact(self.buffers[name].dtype)
        return [Atomic(None, name, self.anywhere(name), op, (value,), self.mask(), fetch=self.maybe())]

    def collective(self) -> list[Statement]:
        dtype = self.pick(*self.types)
        register = next(r for r in self.registers if r.dtype == dtype)
        level = self.pick("group", "sub_group", "jnp")
        kinds = ["reduce", "inclusive_scan", "exclusive_scan", "broadcast", "any", "all", "none"]
        kinds += ["shift_left", "shift_right", "rotate", "permute_xor", "select"] * (level == "sub_group")
        kinds += ["ballot"] * (level == "sub_group" and dtype == "uint32")
        kind = "reduce" if level == "jnp" else self.pick(*kinds)
        if kind in ("any", "all", "none"):
            truths = [r for r in self.registers if r.dtype == "bool"]
            one = self.uniforms if level == "group" else ()
            if not (*truths, *one):
                return self.assign()
            return [Collective(self.pick(*truths, *one), level, kind, None, self.truth(1))]
        if kind == "ballot":
            return [Collective(register, level, kind, None, self.truth(1))]
        one = self.uniforms if level != "sub_group" and kind in ("reduce", "broadcast") and dtype == INT32 else ()
        target, x = self.pick(register, *one), self.exact(dtype)
        if kind in ("reduce", "inclusive_scan", "exclusive_scan"):
            return self.reduction(target, level, kind, dtype, x)
        lanes = math.prod(self.local_range or ()) if level == "group" else self.sub_group_size
        number = self.value(INT32) if kind == "select" else self.uniform(1)
        if kind == "rotate":
            return [Collective(target, level, kind, None, x, number, self.chunk())]
        return [Collective(target, level, kind, None, x, _binary("remainder", number, lanes))]

    def reduction(
        self, target: Register | Uniform, level: str, kind: str, dtype: str, x: Expression
    ) -> list[Statement]:
        bitwise = ("and", "or", "xor")
        if level == "jnp":
            return (
                self.assign()
                if dtype == "bool"
                else [Collective(target, level, kind, self.pick("add", "min", "max"), x)]
            )
        chunks = level == "sub_group" and kind == "reduce"
        chunk = self.chunk() if chunks else None
        if dtype == "bool":
            return [Collective(target, level, kind, self.pick(*bitwise), x, chunk=chunk)]
        arithmetic = ("add", "min", "max") if _is_float(dtype) else ("add", "min", "max", "mul", *bitwise)
        return [Collective(target, level, kind, self.pick(*arithmetic), x, chunk=chunk)]

    def chunk(self) -> int | None:
        return self.pick(None, *(1 << k for k in range(self.sub_group_size.bit_length())))

    def barrier(self) -> list[Statement]:
        names = tuple(self.phases)
        level = self.pick("group", "group", "sub_group", "fence")
        return [self.end_phase(*names)] if level == "group" else [Barrier(names, level)]

    def loop(self, depth: int) -> list[Statement]:
        form = self.pick("fori", "while", "scan", "python")
        static = form in ("python", "scan") or self.maybe()
        trips = Const(self.number(0, 3)) if static else self.scalar_below(4)
        self.counters += 1
        condition = Binary(self.pick(*COMPARISONS), self.uniform(1), self.uniform(1)) if form == "while" else None
        entry, ended = dict(self.phases), self.ended
        self.ended = set()
        body = self.block(self.number(1, 3), depth + 1)
        unfit = [name for name, phase in self.phases.items() if not self.repeats(name, entry[name], phase)]
        body += (self.end_phase(*unfit),) if unfit else ()
        self.counters -= 1
        self.ended |= ended
        self.after_one_of(entry, dict(self.phases))
        return [Loop(form, trips, body, condition if self.maybe() else None)]

    def repeats(self, name: str, entry: Phase, end: Phase) -> bool:
        """True if a body that began in phase `entry` can be entered again in phase `end`."""
        return end in (FREE, entry) or (name not in self.ended and end != MIXED)

    def choose(self, depth: int) -> list[Statement]:
        count = self.pick(2, 2, 3)
        entry, index = dict(self.phases), self.pick(self.uniform, *[functools.partial(self.scalar_below, count)] * 2)()
        branches, ends = [], []
        for _ in range(count):
            self.phases = dict(entry)
            branches.append(self.block(self.number(1, 2), depth + 1))
            ends.append(dict(self.phases))
        self.after_one_of(*ends)
        return [Choose(index, tuple(branches))]

    # The ends of a program: values that differ in the beginning, and all that it holds made visible in the end.

    def prologue(self) -> list[Statement]:
        loads: list[Statement] = [
            Load(register, name, (_binary("remainder", LINEAR_GLOBAL, self.buffers[name].shape[0]),))
            for register, name in zip(self.registers, self.names("input"), strict=True)
        ]
        return [*loads, Assign(Uniform(0), self.group()), Assign(Uniform(1), Argument())]

    def epilogue(self, items: int, groups: int) -> list[Statement]:
        after: list[Statement] = [Barrier(tuple(self.phases))] if self.phases else []
        for register, output in zip(self.registers, self.names("output"), strict=True):
            after.append(Store(output, self.slots[output].index, register))
        uniforms = self.add("output", (items * groups, len(self.uniforms)), INT32)
        after += [Store(uniforms, (LINEAR_GLOBAL, Const(uniform.number)), uniform) for uniform in self.uniforms]
        for name in self.names("local"):
            after += self.copy(name, items, LINEAR_GROUP, groups)
        for name in self.names("private"):
            after += self.copy(name, 1, LINEAR_GLOBAL, items * groups)
        return after

    def copy(self, name: str, step: int, owner: Expression, owners: int) -> list[Statement]:
        """Copies a memory to a row of a new output: one of `owners`, whose `step` work-items share it."""
        buffer, register = self.buffers[name], self.register(name)
        size, statements = math.prod(buffer.shape), []
        output = self.add("output", (owners, size), buffer.dtype)
        for start in range(0, size, step):
            element = Const(start) if step == 1 else _binary("add", LINEAR_LOCAL, start)
            mask = _binary("less", element, size)
            index = (element,)
            if len(buffer.shape) == 2:
                index = (
                    _binary("floor_divide", element, buffer.shape[1]),
                    _binary("remainder", element, buffer.shape[1]),
                )
            statements += [Load(register, name, index, mask), Store(output, (owner, element), register, mask)]
        return statements


def _binary(op: str, left: Expression, right: Expression | int) -> Expression:
    """An operation on int32, or its left operand if it changes nothing."""
    if (op, right) in (("add", 0), ("multiply", 1)):
        return left
    return Binary(op, left, Const(right) if isinstance(right, int) else right)


def _is_float(dtype: str) -> bool:
    return np.dtype(dtype).kind == "f"
