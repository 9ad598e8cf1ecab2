"""Random programs of `accesses`: sizes, loops, branches, and places that are written in many ways.

Strides, offsets, remainders, shifts, masks of bits, tables and choices of ids; loops over counters that are in the
places, some with bounds of each group or work-item, also such as data decide, so that a loop need not begin; masks,
also one in another; private elements side by side or apart. Some places are accessed again, written in another way or
a constant further, and some accesses are volatile.
"""

import ast
import dataclasses
import itertools
import math
import random
import re
from collections.abc import Callable, Set

from accesses import Access, Barrier, Branch, Loop, Program, Statement, Value, changed

Chance = random.Random

_LARGEST = 1 << 20
"""Beyond that no value of an index goes, so that 32 bits hold products too."""


def program(seed: int) -> Program:
    """The program of a seed."""
    chance = random.Random(seed)
    is_opencl, ragged = chance.random() < 0.3, chance.random() < 0.1
    local, groups, sizes = chance.choice(_RAGGED) if ragged and not is_opencl else _sizes(chance)
    ragged = ragged and not is_opencl
    spaces = ("global", "private") if ragged else ("global", "global", "local", "local", "private")
    draw = _Draw(chance, local, groups, spaces, is_opencl)
    draw.asking = random.Random(f"{seed} asking")
    body = tuple(s for _ in range(chance.randint(1, 3)) for s in draw.statements(0))
    made = Program(seed, sizes, local, ragged, chance.choice((16, 16, 32)), body, is_opencl)
    stored = {a.memory for a in made.accesses if a.op == "store"}
    return dataclasses.replace(made, body=_storing(body, random.Random(f"{seed} storing"), stored, ()))


def _storing(
    body: tuple[Statement, ...], chance: Chance, stored: Set[str], loaded: tuple[Access, ...]
) -> tuple[Statement, ...]:
    """Statements whose stores, to some memories, are of numbers, or of what was loaded from the memory before."""
    found: list[Statement] = []
    for s in body:
        if isinstance(s, Loop):
            s = dataclasses.replace(s, body=_storing(s.body, chance, stored, loaded))
        elif isinstance(s, Branch):
            ways = (_storing(way, chance, stored, loaded) for way in (s.then, s.otherwise))
            s = dataclasses.replace(s, **dict(zip(("then", "otherwise"), ways, strict=True)))
        elif isinstance(s, Access) and s.op == "store":
            values = [load.value for load in loaded if load.memory == s.memory]
            s = dataclasses.replace(s, value=chance.choice(("1", "1", "2", "3", *values, *values)))
        elif isinstance(s, Access) and s.op == "load" and s.memory in stored and not s.result:
            s = dataclasses.replace(s, value=f"v{s.label}")
            loaded += (s,)
        found.append(s)
    return tuple(found)


def _sizes(chance: Chance) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    local, groups = chance.choice(_SHAPES)
    local = tuple(n if chance.random() < 0.8 else max(2, n - chance.randrange(n)) for n in local)
    if len(groups) == 1 and chance.random() < 0.15:
        local, groups = (chance.choice((16, 24, 32)),), (chance.choice((257, 600, 1001)),)
    return local, groups, tuple(g * s for g, s in zip(groups, local, strict=True))


# Work-groups of a plain range, how many there are, and the work-items of the launch.
_RAGGED = [
    ((256,), (4,), (1009,)),
    ((1, 256), (3, 2), (3, 509)),
    ((1, 1, 131), (2, 2, 1), (2, 2, 131)),
    ((256,), (2,), (257,)),
]
_SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((16,), (7,)),
    ((32,), (5,)),
    ((64,), (4,)),
    ((48,), (6,)),
    ((100,), (3,)),
    ((8, 8), (3, 4)),
    ((4, 16), (5, 2)),
    ((16, 4), (2, 6)),
    ((3, 4, 8), (2, 3, 2)),
    ((2, 2, 16), (3, 1, 4)),
]
_DTYPES = ("float32", "float32", "int32", "uint8", "int16", "int64")
_ATOMICS = ("add", "sub", "min", "max", "xor", "fetch_add", "exchange", "compare_exchange")


class _Draw:
    """Draws the statements of a program, and the values that are in scope."""

    def __init__(
        self,
        chance: Chance,
        local: tuple[int, ...],
        groups: tuple[int, ...],
        spaces: tuple[str, ...],
        is_opencl: bool,
    ) -> None:
        self.chance, self.local, self.groups, self.spaces, self.is_opencl = chance, local, groups, spaces, is_opencl
        # The counters in scope; with each whether a work-item has its own.
        self.counters: list[tuple[Value, bool]] = []
        # True where work-items have parted, so that there is no barrier.
        self.divergent = False
        # Counters of loops that Python or a pragma writes out, so that they are numbers.
        self.unrolled: set[str] = set()
        self.names = itertools.count()
        # Draws of which loops data are asked in each iteration, so that all else of a seed stays as it is.
        self.asking = chance

    # Statements.

    def statements(self, depth: int) -> tuple[Statement, ...]:
        kinds = ("access", "again", "loop", "branch")
        kind = self.chance.choices(kinds, (3, 3, 4 - 2 * depth, 1 if depth < 2 else 0))[0]
        if kind == "again":
            return self.again()
        draw = {"access": self.access, "loop": lambda: self.loop(depth), "branch": lambda: self.branch(depth)}[kind]
        return (draw(),)

    def body(self, depth: int) -> tuple[Statement, ...]:
        return tuple(s for _ in range(self.chance.choice((1, 1, 2))) for s in self.statements(depth))

    def inside(self, items: bool, draw: Callable[[], tuple[Statement, ...]]) -> tuple[Statement, ...]:
        """What is drawn where work-items may have parted."""
        before, self.divergent = self.divergent, self.divergent or items
        drawn = draw()
        self.divergent = before
        return drawn

    def loop(self, depth: int) -> Loop:
        return self.around(self.header(), lambda: self.body(depth + 1))

    def around(self, header: Loop, draw: Callable[[], tuple[Statement, ...]]) -> Loop:
        """A loop by its header with a body."""
        value = Value(header.counter, header.counter, header.low.low, max(header.low.high, header.high.high - 1))
        if header.how == "unrolled":
            self.unrolled.add(header.counter)
        self.counters.append((value, header.how == "items" and not header.low.plain.isdigit()))
        inner = self.inside(header.how == "items", draw)
        self.counters.pop()
        return dataclasses.replace(header, body=inner)

    def header(self) -> Loop:
        """A loop without its body."""
        how = self.chance.choice(("fori", "fori", "while", "doubling", "unrolled", "items"))
        counter, most = f"k{next(self.names)}", self.chance.choice((3, 5, 8, 12))
        low, high = self.constant(self.chance.choice((0, 0, 1, 2))), self.constant(most)
        if how in ("fori", "while", "doubling") and self.chance.random() < 0.3:
            high = self.remainder(self.plus(self.uniform(), self.constant(1)), most)
        if how == "doubling":
            low = self.constant(1)
        if how == "items":
            high = self.remainder(self.leaf(1), most)
            low = self.remainder(self.leaf(1), 3) if self.chance.random() < 0.4 else low
        bound = None
        if how in ("fori", "while", "items") and self.chance.random() < 0.3:
            bound, high = self.bound(self.leaf(1) if how == "items" else self.uniform())
        if how == "while" and bound is None and self.asking.random() < 0.3:
            return self.until(counter, low.low)
        return Loop(counter, how, low, high, (), bound)

    def until(self, counter: str, low: int) -> Loop:
        """A loop that asks data before each iteration if it goes on, which one of four elements says it does not."""
        d = self.asking.randrange(len(self.local))
        index = self.plus(Value(f"group{d}", f"group{d}", 0, self.groups[d] - 1), Value(counter, counter, low, low + 3))
        asked, value = self.bound(index)
        return Loop(counter, "until", self.constant(low), dataclasses.replace(value, high=low + 4), (), asked)

    def bound(self, index: Value) -> tuple[Access, Value]:
        """A load of data, and what it gives."""
        label, memory, result = self.label(), f"m{next(self.names)}", f"n{next(self.names)}"
        if index.low < 0:
            index = self.plus(index, self.constant(-index.low))
        shape = (index.high + 1,)
        load = Access(label, memory, "global", "int32", shape, "load", (index,), None, 1, result=result)
        return load, Value(result, f"datum({index.plain})", 0, 3)

    def label(self) -> str:
        return f"a{next(self.names)}"

    def branch(self, depth: int) -> Branch:
        items = self.chance.random() < 0.5
        condition = self.condition(1) if items else self.compared(self.uniform())
        then = self.inside(items, lambda: self.body(depth + 1))
        otherwise = self.inside(items, lambda: self.body(depth + 1)) if self.chance.random() < 0.5 else ()
        return Branch(items, condition, then, otherwise)

    def again(self) -> tuple[Statement, ...]:
        """Accesses to one memory at one place, or constants apart, each written in its own way; some in a loop."""
        draw = _Again(self)
        body = [draw.access() for _ in range(self.chance.randint(2, 4))]
        if self.chance.random() < 0.5:
            first = self.chance.randrange(len(body))
            last = self.chance.randint(first + 1, len(body))
            body[first:last] = [self.around(self.header(), lambda: draw.ordered(body[first:last]))]
        if draw.space == "private":  # what nobody loads nobody stores
            body.append(draw.access("load"))
        return draw.ordered(body)

    def access(self) -> Access:
        private = 1 if self.is_opencl else self.chance.choice((1, 1, 1, 2, 3, 4, 4, 8))
        space = self.chance.choice(self.spaces)
        op = self.chance.choice(("load", "load", "store", "store", "atomic"))
        op = self.chance.choice(_ATOMICS) if op == "atomic" else op
        dtype = self.chance.choice(_DTYPES)
        if op not in ("load", "store"):
            dtype = self.chance.choice(("int32", "int32", "uint32", "float32", "int64"))
            dtype = "int32" if op == "xor" or self.is_opencl else dtype
            space = "global" if space == "private" else space
        elif space == "private":  # what nobody loads nobody stores
            op = "load"
        uniform = private == 1 and self.chance.random() < 0.15
        dimensions = 1 if space == "private" else self.chance.choice((1, 1, 1, 2, 3))
        most = {"global": 1 << 16, "local": 1 << 11, "private": 1 << 4}[space]
        parts = [self.component(private, uniform, int(most ** (1 / dimensions))) for _ in range(dimensions)]
        index, shape = tuple(part for part, _ in parts), tuple(size for _, size in parts)
        mask = None if uniform or self.chance.random() < 0.6 else self.condition(private)
        label, memory = self.label(), f"m{next(self.names)}"
        volatile = self.is_opencl and op in ("load", "store") and self.chance.random() < 0.2
        return Access(label, memory, space, dtype, shape, op, index, mask, private, volatile=volatile)

    def component(self, private: int, uniform: bool, most: int) -> tuple[Value, int]:
        """A component of an index, and the size of its dimension, which may be too small for it."""
        value = self.uniform(2) if uniform else self.index(private)
        if value.low < 0:
            value = self.plus(value, self.constant(-value.low))
        size = value.high + 1
        if size > most:
            value, size = self.wrapped(value, most)
        if self.chance.random() < 0.1 and size > 4 and not self.is_opencl:
            size -= self.chance.randrange(size // 2)
        return value, size

    def wrapped(self, value: Value, most: int) -> tuple[Value, int]:
        power = 1 << (most.bit_length() - 1)
        if self.chance.random() < 0.5:
            return Value(f"({value.kernel} & {power - 1})", f"({value.plain} & {power - 1})", 0, power - 1), power
        size = self.chance.choice((most, most - 1, power))
        return self.remainder(value, size), size

    # Values.

    def index(self, private: int) -> Value:
        """An integer for each element of an access."""
        terms = [self.term(private) for _ in range(self.chance.choice((1, 1, 2)))]
        if private > 1:
            terms.append(self.elements())
            if self.chance.random() < 0.7:
                terms[-1] = Value(*(f"(1 * {t})" for t in self._own(private)), 0, private - 1)
                if self.chance.random() < 0.7:
                    terms[0] = self.times(terms[0], self.chance.choice((private, 4, 2 * private, 1)))
        self.chance.shuffle(terms)
        total = terms[0]
        for term in terms[1:]:
            total = self.joined(total, term)
        return self.changed(total) if self.chance.random() < 0.3 else total

    def joined(self, a: Value, b: Value) -> Value:
        how = self.chance.random()
        if how < 0.85 or min(a.low, b.low) < 0:
            return self.plus(a, b)
        sign = "^" if how < 0.95 else "|"
        most = (1 << max(a.high, b.high).bit_length()) - 1
        return Value(f"({a.kernel} {sign} {b.kernel})", f"({a.plain} {sign} {b.plain})", 0, most)

    def term(self, private: int) -> Value:
        value = self.leaf(private) if self.chance.random() < 0.75 else self.uniform(1, private)
        for _ in range(self.chance.choice((0, 1, 1, 2))):
            value = self.changed(value)
        return value

    def elements(self) -> Value:
        """A step along the private axis."""
        step = self.chance.choice((2, 3, 16, 17, 32))
        return self.times(Value("own", "own", 0, 7), step)

    def _own(self, private: int) -> tuple[str, str]:
        axes = f"(None,) * {len(self.local)}"
        every = (*self.local, private)
        ways = [
            "own",
            f"jnp.arange({private}, dtype=jnp.int32)[{axes}]",
            f"np.arange({private}, dtype=np.int32)[{axes}]",
            f"jnp.broadcast_to(own, {every})",
            f"jnp.arange({private}, dtype=jnp.int32)[::-1][::-1][{axes}]",
            f"(jnp.arange({private}, dtype=jnp.int32) + 5)[{axes}] - 5",
        ]
        if self.counters and not self.counters[-1][1]:
            counter, low, high = self.counters[-1][0].kernel, *self._bounds(self.counters[-1][0])
            step = self.chance.choice((1, 4, 8))
            if high * step < 512 and low >= 0:
                return (
                    f"({step} * {counter} + jnp.arange({private}, dtype=jnp.int32))[{axes}]",
                    f"({step} * {counter} + own)",
                )
        return self.chance.choice(ways), "own"

    @staticmethod
    def _bounds(value: Value) -> tuple[int, int]:
        return value.low, value.high

    def leaf(self, private: int) -> Value:
        """An id of each work-item."""
        d = self.chance.randrange(len(self.local))
        name, most = self.chance.choice(
            (("lid", self.local[d] - 1), ("gid", self.local[d] * self.groups[d] - 1), ("lid", self.local[d] - 1))
        )
        axis = "" if private == 1 else "[..., None]"
        ways = [f"{name}{d}{axis}"]
        if private > 1:
            every = (*self.local, private)
            ways += [f"jnp.broadcast_to({name}{d}[..., None], {every})", f"{name}{d}.reshape({(*self.local, 1)})"]
            ways += [f"jnp.repeat({name}{d}, {private}).reshape({every})"]
        if self.chance.random() < 0.15:
            whole = math.prod(self.local) * math.prod(self.groups) - 1
            linear = self.chance.choice((("local_linear", math.prod(self.local) - 1), ("global_linear", whole)))
            return Value(f"{linear[0]}{axis}", self.plain_linear(linear[0]), 0, linear[1])
        items = [value for value, divergent in self.counters if divergent]
        if items and self.chance.random() < 0.3:
            value = self.chance.choice(items)
            return dataclasses.replace(value, kernel=f"{value.kernel}{axis}")
        return Value(self.chance.choice(ways), f"{name}{d}", 0, most)

    def plain_linear(self, name: str) -> str:
        """A linear id, which is that of the only dimension if there is one."""
        one = {"local_linear": "lid0", "global_linear": "gid0", "group_linear": "group0"}
        return one[name] if len(self.local) == 1 else name

    def uniform(self, changes: int = 0, private: int = 1) -> Value:
        """An integer that a work-group has in common."""
        uniform = [value for value, divergent in self.counters if not divergent]
        if uniform and self.chance.random() < 0.6:
            value = self.chance.choice(uniform)
        elif self.chance.random() < 0.2:
            value = Value("group_linear", self.plain_linear("group_linear"), 0, math.prod(self.groups) - 1)
        else:
            d = self.chance.randrange(len(self.local))
            value = Value(f"group{d}", f"group{d}", 0, self.groups[d] - 1)
        for _ in range(self.chance.randint(0, changes)):
            value = self.changed(value)
        if private > 1 and self.chance.random() < 0.3:
            zeros = f"jnp.zeros({private}, jnp.int32)[(None,) * {len(self.local)}]"
            value = dataclasses.replace(value, kernel=f"({value.kernel} + {zeros})")
        return value

    def changed(self, value: Value) -> Value:
        """Another value, by one operation with constants."""
        if value.low < 0 or value.high > _LARGEST:
            return self.remainder(value, self.chance.choice((64, 100, 256)))
        return self.chance.choice(_CHANGES)(self, value)

    def condition(self, private: int) -> Value:
        """A bool for each work-item or element."""
        first = self.compared(self.changed(self.leaf(private)))
        if self.chance.random() < 0.7:
            return first
        second = self.compared(self.uniform() if self.chance.random() < 0.5 else self.leaf(private))
        sign = self.chance.choice("&|")
        return Value(f"({first.kernel} {sign} {second.kernel})", f"({first.plain} {sign} {second.plain})")

    def compared(self, value: Value) -> Value:
        sign = self.chance.choice(("<", "<=", ">", ">=", "!=", "=="))
        # One that some of its range meets and some does not, as far as that is told.
        low, high = value.low + (sign in ("<", ">=")), value.high - (sign in ("<=", ">"))
        bound = self.chance.randint(low, max(low, high))
        return Value(f"({value.kernel} {sign} {bound})", f"({value.plain} {sign} {bound})")

    @staticmethod
    def constant(number: int) -> Value:
        return Value(str(number), str(number), number, number)

    @staticmethod
    def plus(a: Value, b: Value) -> Value:
        return Value(f"({a.kernel} + {b.kernel})", f"({a.plain} + {b.plain})", a.low + b.low, a.high + b.high)

    def times(self, a: Value, factor: int) -> Value:
        """A product with a factor from 0, written in one of several ways."""
        ways = [f"({a.kernel} * {factor})", f"({factor} * {a.kernel})"]
        if factor and factor & (factor - 1) == 0:
            ways.append(f"({a.kernel} << {factor.bit_length() - 1})")
        if factor == 3:
            ways.append(f"({a.kernel} + {a.kernel} + {a.kernel})")
        ends = (a.low * factor, a.high * factor)
        return Value(self.chance.choice(ways), f"({a.plain} * {factor})", *ends)

    @staticmethod
    def remainder(a: Value, modulus: int) -> Value:
        return Value(f"({a.kernel} % {modulus})", f"({a.plain} % {modulus})", 0, modulus - 1)

    def divided(self, a: Value) -> Value:
        """A quotient or remainder by a counter, or another value that a group has in common."""
        by = self.plus(self.uniform(), self.constant(1))
        if by.low < 1:
            return a
        if self.chance.random() < 0.5:
            return Value(f"({a.kernel} // {by.kernel})", f"({a.plain} // {by.plain})", a.low // by.high, a.high)
        return Value(f"({a.kernel} % {by.kernel})", f"({a.plain} % {by.plain})", 0, by.high - 1)

    def tabulated(self, a: Value) -> Value:
        table = [self.chance.randrange(64) for _ in range(self.chance.choice((4, 7, 16)))]
        kernel = f"jnp.asarray(np.array({table}, np.int32))[{a.kernel} % {len(table)}]"
        return Value(kernel, f"np.array({table})[{a.plain} % {len(table)}]", 0, max(table))

    def chosen(self, a: Value) -> Value:
        bound = self.chance.randint(min(a.low + 1, a.high), a.high)
        other = self.chance.randint(0, 40)
        texts = (f"{xp}.where({t} < {bound}, {t}, {other})" for xp, t in (("jnp", a.kernel), ("np", a.plain)))
        return Value(*texts, min(0, a.low), max(a.high, other))

    def clipped(self, a: Value) -> Value:
        bound = self.chance.randint(min(max(a.low, 0) + 1, max(a.high, 1)), max(a.high, 1))
        name = self.chance.choice(("minimum", "maximum"))
        texts = (f"{xp}.{name}({t}, {bound})" for xp, t in (("jnp", a.kernel), ("np", a.plain)))
        ends = (min(a.low, bound), min(a.high, bound)) if name == "minimum" else (bound, max(a.high, bound))
        return Value(*texts, *ends)

    def distance(self, a: Value) -> Value:
        bound = self.chance.randint(a.low, a.high)
        texts = (f"{xp}.abs({t} - {bound})" for xp, t in (("jnp", a.kernel), ("np", a.plain)))
        return Value(*texts, 0, max(a.high - bound, bound - a.low))

    def bits(self, a: Value) -> Value:
        sign, number = self.chance.choice("&|^"), self.chance.choice((1, 3, 6, 8, 15, 32))
        most = number if sign == "&" else (1 << max(a.high, number).bit_length()) - 1
        return Value(f"({a.kernel} {sign} {number})", f"({a.plain} {sign} {number})", 0, most)


class _Again:
    """Draws accesses to one memory at one place, or constants from it.

    Args:
      draw: what is in scope.
    """

    def __init__(self, draw: _Draw) -> None:
        self.draw, self.chance = draw, draw.chance
        self.memory, self.private = f"m{next(draw.names)}", self.chance.choice((1, 1, 1, 2, 4))
        self.space, self.dtype = self.chance.choice(draw.spaces), self.chance.choice(_DTYPES)
        self.step = self.private if draw.is_opencl else 1
        self.base = self.place()
        size = self.base.high * self.step + 1 + 8 * self.private
        self.outer = draw.component(1, False, 8) if self.space == "local" and self.private == 1 else None
        self.shape = (size,) if self.outer is None else (self.outer[1], size)
        self.some = draw.compared(draw.leaf(1))
        self.fewer = draw.compared(draw.leaf(1))

    def place(self) -> Value:
        """What the constants are added to: of work-items, or one place of a private array."""
        draw = self.draw
        if self.space == "private" and self.chance.random() < 0.5:
            counters = [value for value, own in draw.counters if not own]
            return self.chance.choice(counters) if counters else draw.constant(self.chance.randrange(8))
        value = draw.index(1)
        while "[" in value.plain or any(re.search(rf"\b{counter}\b", value.plain) for counter in draw.unrolled):
            value = draw.index(1)
        value = value if value.low >= 0 else draw.plus(value, draw.constant(-value.low))
        return value if value.high < (16 if self.space == "private" else 512) else draw.wrapped(value, 16)[0]

    def access(self, op: str = "") -> Access:
        chance, most = self.chance, self.private
        offset = chance.choice((0, 0, 0, 4 * most, most if self.draw.is_opencl else 1))
        op = op or chance.choice(("load", "load", "store"))
        index = (self.index(offset),) if self.outer is None else (self.reworded(self.outer[0]), self.index(offset))
        both = f"({self.some.plain} & {self.fewer.plain})"
        nested = Value(both.replace("np.", "jnp."), both, parts=(self.some.plain, self.fewer.plain))
        mask = chance.choice((None, None, self.some, nested))
        mask = dataclasses.replace(mask, kernel=f"({mask.kernel})[..., None]") if mask and self.private > 1 else mask
        volatile = self.draw.is_opencl and chance.random() < 0.2
        return Access(
            self.draw.label(), self.memory, self.space, self.dtype, self.shape, op, index, mask, self.private, offset,
            volatile,
        )  # fmt: skip

    def reworded(self, value: Value, offset: int | None = None) -> Value:
        plain = value.plain if offset is None else f"({value.plain} + {offset})"
        text = reworded(plain, self.chance)
        return Value(text.replace("np.", "jnp."), plain, value.low, value.high, text)

    def index(self, offset: int) -> Value:
        if self.private == 1:
            return self.reworded(self.base, offset)
        base = self.base.plain if self.step == 1 else f"({self.base.plain} * {self.step})"
        plain = f"(({base} + own) + {offset})"
        # Of C the number of the vector.
        in_c = reworded(f"({self.base.plain} + {offset // self.step})", self.chance)
        first, later = self.chance.choice(((0, offset), (offset, 0)))
        text = reworded(f"({base} + {first})", self.chance).replace("np.", "jnp.")
        text = f"jnp.asarray({text})[..., None]"
        ways = (f"({text} + own + {later})", f"((own + {later}) + {text})")
        return Value(self.chance.choice(ways), plain, 0, 0, in_c)

    def ordered(self, body: "list[Statement]") -> tuple[Statement, ...]:
        """Statements with barriers between some, where there may be one."""
        alike = "local" in self.draw.spaces and not self.draw.divergent
        barrier = alike and self.space != "private" and changed(tuple(body))
        found: list[Statement] = []
        for statement in body:
            found += [Barrier(self.memory)] if barrier and self.chance.random() < 0.2 else []
            found.append(statement)
        return tuple(found)


def reworded(plain: str, chance: Chance) -> str:
    """Another text for the same integer: sums and products in another order, shifts, and sums of other bits by `|`."""
    return ast.unparse(_reworded(ast.parse(plain, mode="eval").body, chance))


def _reworded(node: ast.expr, chance: Chance) -> ast.expr:
    if isinstance(node, ast.Call | ast.Subscript):
        return node
    for name, part in ast.iter_fields(node):
        if isinstance(part, ast.expr):
            setattr(node, name, _reworded(part, chance))
    if not isinstance(node, ast.BinOp) or chance.random() < 0.4:
        return node
    left, right = node.left, node.right
    match node.op:
        case ast.Add() if _low_bits(right) < _multiple(left) and chance.random() < 0.5:
            return ast.BinOp(left, ast.BitOr(), right)
        case ast.Add() if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add) and chance.random() < 0.6:
            return ast.BinOp(left.left, ast.Add(), ast.BinOp(right, ast.Add(), left.right))
        case ast.Mult() if (n := _number(right)) and n & (n - 1) == 0 and chance.random() < 0.5:
            return ast.BinOp(left, ast.LShift(), ast.Constant(n.bit_length() - 1))
        case ast.Add() | ast.Mult() | ast.BitAnd() | ast.BitXor() | ast.BitOr():
            return ast.BinOp(right, node.op, left)
    return node


def _number(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) else None


def _low_bits(node: ast.expr) -> int:
    """A constant from 0; of anything else more than any multiple."""
    number = _number(node)
    return number if number is not None and number >= 0 else _LARGEST


def _multiple(node: ast.expr) -> int:
    """A power of 2 of which a number from 0 is a multiple, by how it is written."""
    match node:
        case ast.BinOp(op=ast.Mult(), left=a, right=b):
            return max(_power(a), _power(b))
        case ast.BinOp(op=ast.LShift(), right=ast.Constant(value=n)):
            return 1 << n
    return 1


def _power(node: ast.expr) -> int:
    number = _number(node) or 1
    return number & -number


def _same_operation(text: str, low: Callable[[int, int], int]) -> Callable[[_Draw, Value], Value]:
    def apply(draw: _Draw, a: Value) -> Value:
        number = draw.chance.choice((1, 2, 3, 4, 5, 8))
        kernel, plain = (text.format(t, number) for t in (a.kernel, a.plain))
        return Value(kernel, plain, low(a.low, number), low(a.high, number))

    return apply


_CHANGES: list[Callable[[_Draw, Value], Value]] = [
    lambda draw, a: draw.times(a, draw.chance.choice((2, 3, 4, 8, 16, 17, 33))),
    lambda draw, a: draw.times(a, draw.chance.choice((2, 3, 4, 8, 16, 17, 33))),
    lambda draw, a: draw.plus(a, draw.constant(draw.chance.choice((1, 2, 7, 16, -3)))),
    lambda draw, a: draw.remainder(a, draw.chance.choice((2, 3, 4, 7, 16, 24))),
    _same_operation("({0} // {1})", lambda a, n: a // n),
    _same_operation("({0} >> {1})", lambda a, n: a >> n),
    _Draw.bits,
    _Draw.bits,
    _Draw.divided,
    _Draw.tabulated,
    _Draw.chosen,
    _Draw.clipped,
    _Draw.distance,
]
