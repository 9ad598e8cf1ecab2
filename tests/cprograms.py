"""Random programs of OpenCL C without undefined behaviour, for two executors to agree on.

`program(seed)` is a file with one kernel `k` of a fixed signature. Integers wrap (the references are built so), amounts
of shifts are taken modulo the width as OpenCL says, divisors are not 0, indices are masked, floats are small multiples
of 1/4 so that every operation is exact, loops end by a counter of their own, an expression does not write what it reads
or writes elsewhere without a sequence point between. Barriers stand where all work-items of a group get.
"""

import dataclasses
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

GROUPS, LOCAL, SLOTS, INPUTS, COUNTERS = 2, 8, 24, 32, 6
SIGNATURE = (
    "kernel void k(global int* out, global const int* in, global const int* in2, global const float* fin, "
    "global int* counters, int n, uint m)"
)
NARROW = ("char", "uchar", "short", "ushort", "int", "int", "uint", "uint")
WIDE = (*NARROW, "long", "ulong")
BITS = {"char": 8, "uchar": 8, "short": 16, "ushort": 16, "int": 32, "uint": 32, "long": 64, "ulong": 64}
_ATOMIC = ("atomic_add", "atomic_or", "atomic_and", "atomic_xor", "atomic_max", "atomic_min")
_KEEP = (
    "float keep(float x) { return x > 1000.0f || x < -1000.0f ? 0.5f : (float)((int)(x * 4.0f)) * 0.25f; }",
    "constant int table[8] = {3, -1, 4, 1, -5, 9, 2, 6};",
    "constant short grid[2][4] = {{1, 2, 3, 4}, {-5, 6, -7, 8}};",
    "constant float ftable[4] = {0.5f, -1.25f, 2.0f, 7.75f};",
)


@dataclasses.dataclass
class Node:
    """A statement: a line, or a head with statements in braces and a tail."""

    head: str
    body: "list[Node] | None" = None
    tail: str = ""

    def lines(self, indent: str = "") -> Iterator[str]:
        if self.body is None:
            yield indent + self.head
            return
        yield f"{indent}{self.head} {{"
        for node in self.body:
            yield from node.lines(indent + "    ")
        yield f"{indent}}}{self.tail}"


@dataclasses.dataclass
class Program:
    """A file: what stands before its functions, and these."""

    seed: int
    prelude: list[str]
    functions: list[Node]

    @property
    def text(self) -> str:
        return "\n".join([*self.prelude, *(line for f in self.functions for line in f.lines())]) + "\n"


class Said(NamedTuple):
    """An expression, with the variables that it reads and writes."""

    text: str
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()


class Against(NamedTuple):
    """What an expression may not read, and not write: siblings without a sequence point do."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()

    def beside(self, *others: Said) -> "Against":
        written = frozenset(v for o in others for v in o.writes)
        read = frozenset(v for o in others for v in o.reads)
        return Against(self.reads | written, self.writes | written | read)


FREE = Against()


def joined(text: str, *parts: Said) -> Said:
    return Said(text, frozenset(v for p in parts for v in p.reads), frozenset(v for p in parts for v in p.writes))


@dataclasses.dataclass
class Variable:
    """A variable in scope.

    Attributes:
      name: its own.
      type: a scalar's, of an array or pointer the element's, of a record or vector its name.
      kind: `scalar`, `float`, `array`, `rows`, `floats`, `vector`, `record`, `union`, `pointer` (to one), `window`
        (to eight), `to_record`.
      roots: the variables whose values it stands for: its own name, of a pointer those that it may point to.
      fixed: true if the program may not assign it.
      uniform: true if it begins with one value for the whole group.
      const: true if what a pointer points to may not be written.
      width: of a vector.
    """

    name: str
    type: str
    kind: str = "scalar"
    roots: frozenset[str] = frozenset()
    fixed: bool = False
    uniform: bool = False
    const: bool = False
    width: int = 0


class SourceLocation(NamedTuple):
    """A scalar lvalue: its text, type, what is read to find it, the variables it is part of."""

    text: str
    type: str
    read: Said
    roots: frozenset[str]


@dataclasses.dataclass
class Function:
    """A function that the program may call."""

    name: str
    result: str
    parameters: list[Variable]


RECORDS = {
    "inner": [("a", "int"), ("b", "uchar")],
    "plain": [("x", "short"), ("y", "uint"), ("f", "float"), ("in", "inner")],
    "arrays": [("c", "int"), ("v", "int[4]"), ("in", "inner")],
}
_RECORD_TEXTS = (
    "typedef struct { int a; uchar b; } inner;",
    "typedef struct { short x; uint y; float f; inner in; } plain;",
    "typedef struct { int c; int v[4]; inner in; } arrays;",
    "typedef union { uint u; int i; uchar b[4]; short2 s; } word;",
)
PRELUDE = (*_RECORD_TEXTS, *_KEEP)


class Writer:
    """Writes one program."""

    def __init__(self, seed: int):
        self.seed, self.random = seed, random.Random(seed)
        self.types = WIDE if self.random.random() < 0.35 else NARROW
        self.functions: list[Function] = []
        self.scope: list[Variable] = []
        self.names = 0
        self.left = 0
        self.loops: list[str] = []
        self.result: str | None = None
        self.may_return = False
        self.in_kernel = False
        self.only_uniform = False

    # ---- choices ----

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def one(self, options: Sequence):
        return self.random.choice(options)

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    # ---- a program ----

    def program(self) -> Program:
        functions = [self.function() for _ in range(self.random.randint(0, 3))]
        return Program(self.seed, list(PRELUDE), [*functions, self.kernel()])

    def function(self) -> Node:
        name, result = self.fresh("f"), self.one([*self.types, *self.types, "float", "plain", "void", "int4", "arrays"])
        self.scope, parameters = [], []
        for _ in range(self.random.randint(1, 3)):
            parameters.append(self.parameter())
        self.scope = list(parameters)
        self.result, self.may_return, self.in_kernel, self.loops = result, True, False, []
        self.left = self.random.randint(3, 10)
        body = [*self.declarations(self.random.randint(1, 2)), *self.block(3, keep=True)]
        if result != "void":
            body.append(Node(f"return {self.of_type(result, 2).text};"))
        self.functions.append(Function(name, result, parameters))
        stars = {"pointer": "*", "window": "*", "to_record": "*"}
        written = ", ".join(f"{p.type}{stars.get(p.kind, '')} {p.name}" for p in parameters)
        return Node(f"{result} {name}({written})", body)

    def parameter(self) -> Variable:
        kind = self.one(["scalar", "scalar", "scalar", "float", "pointer", "window", "record", "to_record"])
        name = self.fresh("p")
        if kind == "float":
            return Variable(name, "float", "float", frozenset({name}))
        of = self.one(["plain", "arrays"]) if kind in ("record", "to_record") else self.one(self.types)
        if kind == "window":
            of = "int"
        roots = frozenset({name}) if kind in ("scalar", "record") else frozenset({"*"})
        return Variable(name, of, kind, roots)

    def kernel(self) -> Node:
        self.scope = [
            Variable(name, of, "scalar", frozenset({name}), fixed=True, uniform=name in ("n", "m", "grp"))
            for name, of in (("gid", "int"), ("lid", "int"), ("grp", "int"), ("n", "int"), ("m", "uint"))
        ]
        self.result, self.may_return, self.in_kernel, self.loops = "void", False, True, []
        body = [
            Node("int gid = get_global_id(0);"), Node("int lid = get_local_id(0);"),
            Node("int grp = get_group_id(0);"), Node(f"local int tile[{LOCAL}];"),
            Node(f"global int* mine = out + gid * {SLOTS};"),
        ]  # fmt: skip
        body += self.declarations(self.random.randint(3, 7))
        for _ in range(self.random.randint(0, 2)):
            self.left = self.random.randint(3, 8)
            body += [*self.block(3, keep=True), *self.meeting()]
        self.left, self.may_return = self.random.randint(6, 16), True
        body += self.block(4, keep=True)
        return Node(SIGNATURE, [*body, *self.results()])

    def results(self) -> list[Node]:
        """Stores what all variables hold."""
        texts = [f"(int)({t})" for v in self.scope if not v.fixed for t in self.digest(v)]
        return [Node(f"mine[{k % (SLOTS - 8) + 8}] += {text} * {2 * k + 1};") for k, text in enumerate(texts)]

    def digest(self, v: Variable) -> list[str]:
        match v.kind:
            case "scalar":
                return [v.name, *([f"{v.name} >> 32"] if BITS[v.type] == 64 else [])]
            case "float":
                return [f"as_int({v.name})"]
            case "array" | "window":
                return [" + ".join(f"{v.name}[{k}] * {k + 3}" for k in range(8))]
            case "rows":
                return [" + ".join(f"{v.name}[{k // 4}][{k % 4}] * {k + 3}" for k in range(8))]
            case "floats":
                return [" ^ ".join(f"as_int({v.name}[{k}])" for k in range(4))]
            case "records":
                return [" + ".join(f"{v.name}[{k}].a * {k + 3} + {v.name}[{k}].b" for k in range(4))]
            case "vector":
                return [" + ".join(f"{v.name}.s{k} * {k + 3}" for k in range(v.width))]
            case "union":
                return [f"{v.name}.i"]
            case "pointer":
                return [f"*{v.name}"]
            case "record" | "to_record":
                dot = "->" if v.kind == "to_record" else "."
                found = [f"{v.name}{dot}in.a", f"{v.name}{dot}in.b"]
                if v.type == "plain":
                    return [*found, f"{v.name}{dot}x", f"{v.name}{dot}y", f"as_int({v.name}{dot}f)"]
                return [*found, f"{v.name}{dot}c", *(f"{v.name}{dot}v[{k}]" for k in range(4))]
        return []

    def meeting(self) -> list[Node]:
        """Local memory written, and read by others after a barrier; sometimes again and again."""
        target = next((v for v in self.shuffled() if v.kind == "scalar" and not v.fixed), None)
        reading = f"tile[(lid + {self.one(['1', 'n', 'grp + 3', '7 * lid'])}) & {LOCAL - 1}]"
        taking = f"mine[3] += {reading};" if target is None else f"{target.name} ^= {reading};"
        body = [
            Node(f"tile[lid] = {self.integer(2).text};"), Node("barrier(CLK_LOCAL_MEM_FENCE);"), Node(taking),
            Node("barrier(CLK_LOCAL_MEM_FENCE);"),
        ]  # fmt: skip
        if self.chance(0.3):
            counter = self.fresh("t")
            return [Node(f"for (int {counter} = 0; {counter} < (n & 3) + 1; {counter}++)", body)]
        return body

    # ---- declarations ----

    def declarations(self, count: int) -> list[Node]:
        return [node for _ in range(count) for node in self.declaration()]

    def declaration(self) -> list[Node]:
        kinds = ["scalar"] * 7 + ["float"] * 2 + ["array"] * 3 + ["rows", "floats", "records", "vector", "vector"]
        kinds += ["record", "record", "union", "pointer", "pointer", "window", "split", "to_record", "elsewhere"]
        kind = self.one(kinds)
        nodes = getattr(self, f"declare_{kind}")()
        return nodes if nodes else self.declare_scalar()

    def new(self, stem: str, of: str, kind: str, **more) -> Variable:
        name = self.fresh(stem)
        made = Variable(name, of, kind, **{"roots": frozenset({name}), **more})
        self.scope.append(made)
        return made

    def declare_scalar(self) -> list[Node]:
        uniform = self.chance(0.35)
        said = self.uniformly(uniform, lambda: self.integer(2))
        of = self.one(self.types)
        v = self.new("x", of, "scalar", uniform=uniform)
        return [Node(f"{of} {v.name} = {said.text};")]

    def declare_split(self) -> list[Node]:
        """A variable that gets its value in both branches."""
        condition, of = self.condition(2), self.one(self.types)
        a, b = self.integer(2), self.integer(2)
        v = self.new("x", of, "scalar")
        return [
            Node(f"{of} {v.name};"),
            Node(f"if ({condition.text})", [Node(f"{v.name} = {a.text};")]),
            Node("else", [Node(f"{v.name} = {b.text};")]),
        ]

    def declare_float(self) -> list[Node]:
        said = self.real(2)
        v = self.new("q", "float", "float")
        return [Node(f"float {v.name} = keep({said.text});")]

    def declare_array(self) -> list[Node]:
        of, items = self.one(self.types), [self.integer(1).text for _ in range(self.random.randint(1, 8))]
        v, k = self.new("a", of, "array"), self.fresh("i")
        if self.chance(0.4):
            return [Node(f"{of} {v.name}[8] = {{{', '.join(f'({of})({i})' for i in items)}}};")]
        fill = f"{v.name}[{k}] = {k} * {items[0]};" if items[0].isalnum() else f"{v.name}[{k}] = {k} * 3 - 5;"
        return [Node(f"{of} {v.name}[8];"), Node(f"for (int {k} = 0; {k} < 8; {k}++)", [Node(fill)])]

    def declare_rows(self) -> list[Node]:
        of, items = self.one(self.types), [self.literal() for _ in range(3)]
        v = self.new("r", of, "rows")
        return [Node(f"{of} {v.name}[2][4] = {{{{({of}){items[0]}, ({of}){items[1]}}}, {{({of}){items[2]}}}}};")]

    def declare_floats(self) -> list[Node]:
        items = [f"keep({self.real(1).text})" for _ in range(3)]
        v = self.new("b", "float", "floats")
        return [Node(f"float {v.name}[4] = {{{', '.join(items)}}};")]

    def declare_records(self) -> list[Node]:
        items = [f"{{{self.literal()}, (uchar){self.literal()}}}" for _ in range(3)]
        v = self.new("z", "inner", "records")
        return [Node(f"inner {v.name}[4] = {{{', '.join(items)}}};")]

    def declare_vector(self) -> list[Node]:
        width, of = self.one([2, 3, 4]), self.one(["int", "int", "uint", "short", "uchar"])
        parts = [f"({of})({self.integer(1).text})" for _ in range(width)]
        v = self.new("v", of, "vector", width=width)
        if self.chance(0.2):
            return [Node(f"{of}{width} {v.name} = ({of}{width})({parts[0]});")]
        return [Node(f"{of}{width} {v.name} = ({of}{width})({', '.join(parts)});")]

    def declare_record(self) -> list[Node]:
        of = self.one(["plain", "arrays"])
        said = self.of_type(of, 1)
        v = self.new("s", of, "record")
        return [Node(f"{of} {v.name} = {said.text};")]

    def declare_union(self) -> list[Node]:
        said = self.integer(1)
        v = self.new("w", "word", "union")
        return [Node(f"word {v.name};"), Node(f"{v.name}.i = {said.text};")]

    def shuffled(self) -> list[Variable]:
        return self.random.sample(self.scope, len(self.scope))

    def declare_pointer(self) -> list[Node]:
        """A pointer to one of two variables."""
        pointed = [v for v in self.shuffled() if v.kind in ("scalar", "array") and not v.fixed]
        if not pointed:
            return []
        same = [v for v in pointed if v.type == pointed[0].type][:2]
        texts = [f"&{v.name}" if v.kind == "scalar" else f"({v.name} + {self.random.randint(0, 7)})" for v in same]
        roots = frozenset(r for v in same for r in v.roots)
        of = same[0].type
        condition = self.condition(1)
        v = self.new("p", of, "pointer", roots=roots)
        if len(texts) == 1 or self.chance(0.2):
            return [Node(f"{of}* {v.name} = {texts[0]};")]
        if self.chance(0.5):
            return [Node(f"{of}* {v.name} = {condition.text} ? {texts[0]} : {texts[1]};")]
        later = Node(f"if ({condition.text})", [Node(f"{v.name} = {texts[1]};")])
        return [Node(f"{of}* {v.name} = {texts[0]};"), later]

    def declare_window(self) -> list[Node]:
        """A pointer to eight elements of an array, of one of two arrays."""
        arrays = [v for v in self.shuffled() if v.kind == "array"]
        if not arrays:
            return []
        same = [v for v in arrays if v.type == arrays[0].type][:2]
        condition = self.condition(1)
        v = self.new("p", same[0].type, "window", roots=frozenset(v.name for v in same))
        chosen = same[0].name if len(same) == 1 else f"{condition.text} ? {same[0].name} : {same[1].name}"
        return [Node(f"{v.type}* {v.name} = {chosen};")]

    def declare_to_record(self) -> list[Node]:
        records = [v for v in self.shuffled() if v.kind == "record"]
        if not records:
            return []
        v = self.new("p", records[0].type, "to_record", roots=records[0].roots)
        return [Node(f"{v.type}* {v.name} = &{records[0].name};")]

    def declare_elsewhere(self) -> list[Node]:
        """A pointer into one of two buffers of the launch."""
        if not self.in_kernel:
            return []
        a, b = self.random.sample(["in", "in2"], 2)
        condition = self.condition(1)
        v = self.new("g", "int", "window", roots=frozenset(), const=True)
        step = self.random.randint(0, 20)
        if self.chance(0.5):
            return [Node(f"global const int* {v.name} = {condition.text} ? {a} + {step} : {b};")]
        moved = Node(f"if ({condition.text})", [Node(f"{v.name} = {self.one([a, b])} + {step};")])
        return [Node(f"global const int* {v.name} = {a};"), moved]

    # ---- places ----

    def places(self, against: Against, write: bool, float_: bool, depth: int) -> SourceLocation | None:
        for v in self.shuffled():
            if write and (v.fixed or v.const or v.roots & against.writes):
                continue
            if v.roots & against.reads or v.name in against.reads:
                continue
            if self.only_uniform and not v.uniform:
                continue
            # What is written is not read by the rest of the place.
            inner = Against(against.reads | v.roots, against.writes | v.roots) if write else against
            if (found := self.within(v, inner, float_, depth)) is not None:
                return found
        return None

    def within(self, v: Variable, against: Against, float_: bool, depth: int) -> SourceLocation | None:
        def at(text: str, of: str, *parts: Said) -> SourceLocation:
            read = joined("", *parts, Said("", frozenset({v.name}) if v.kind in _POINTERS else frozenset()))
            return SourceLocation(text, of, read, v.roots)

        def index(mask: int) -> Said:
            return self.index(mask, against, depth)

        if float_:
            match v.kind:
                case "float":
                    return at(v.name, "float")
                case "floats":
                    k = index(3)
                    return at(f"{v.name}[{k.text}]", "float", k)
                case "record" | "to_record" if v.type == "plain":
                    return at(f"{v.name}{'->' if v.kind == 'to_record' else '.'}f", "float")
            return None
        match v.kind:
            case "scalar":
                return at(v.name, v.type)
            case "array" | "window":
                k = index(7)
                forms = [
                    f"{v.name}[{k.text}]",
                    f"{v.name}[{k.text}]",
                    f"*({v.name} + ({k.text}))",
                    f"({k.text})[{v.name}]",
                ]
                return at(self.one(forms), v.type, k)
            case "rows":
                k = index(1)
                j = self.index(3, against.beside(k), depth)
                return at(f"{v.name}[{k.text}][{j.text}]", v.type, k, j)
            case "records":
                k = index(3)
                return at(f"{v.name}[{k.text}].{self.one('ab')}", "int", k)
            case "vector":
                return at(f"{v.name}.s{self.random.randrange(v.width)}", v.type)
            case "union":
                k = index(3)
                options = [("u", "uint"), ("i", "int"), ("s.x", "short"), ("s.y", "short"), (f"b[{k.text}]", "uchar")]
                name, of = self.one(options)
                return at(f"{v.name}.{name}", of, k)
            case "pointer":
                return at(f"*{v.name}", v.type)
            case "record" | "to_record":
                dot = "->" if v.kind == "to_record" else "."
                if v.type == "plain":
                    name, of = self.one([("x", "short"), ("y", "uint"), ("in.a", "int"), ("in.b", "uchar")])
                    return at(f"{v.name}{dot}{name}", of)
                k = index(3)
                name, of = self.one([("c", "int"), (f"v[{k.text}]", "int"), ("in.a", "int"), ("in.b", "uchar")])
                return at(f"{v.name}{dot}{name}", of, k)
        return None

    def index(self, mask: int, against: Against, depth: int) -> Said:
        if depth <= 0 or self.chance(0.3):
            return Said(str(self.random.randint(0, mask)))
        said = self.integer(depth - 1, against)
        return joined(f"({said.text}) & {mask}", said)

    # ---- expressions ----

    def uniformly(self, wanted: bool, call):
        before, self.only_uniform = self.only_uniform, wanted or self.only_uniform
        try:
            return call()
        finally:
            self.only_uniform = before

    def literal(self) -> str:
        n = self.one([0, 1, 2, 3, 5, 7, 8, 15, 31, 100, 127, 128, 255, 256, 1000, 32767, 65535, 65536, 2147483647])
        text = self.one([str(n), str(n), hex(n), f"{n}u", f"(-{n})"])
        if n > 65535 and self.types is WIDE and self.chance(0.5):
            return f"{n * 40503}L"
        return text

    def condition(self, depth: int, against: Against = FREE) -> Said:
        if self.chance(0.25):
            return self.uniformly(True, lambda: self.test(depth, against))
        return self.test(depth, against)

    def test(self, depth: int, against: Against) -> Said:
        choice = self.random.random()
        if choice < 0.45:
            return self.compared(depth, against)
        if choice < 0.6:
            return self.logical(depth, against)
        said = self.integer(depth, against)
        return joined(f"(({said.text}) & {self.one([1, 2, 3, 4, 8])})", said)

    def compared(self, depth: int, against: Against) -> Said:
        make = self.real if self.chance(0.15) else self.integer
        a = make(depth - 1, against)
        b = make(depth - 1, against.beside(a))
        return joined(f"({a.text} {self.one(['<', '<=', '>', '>=', '==', '!='])} {b.text})", a, b)

    def logical(self, depth: int, against: Against) -> Said:
        a = self.test(depth - 1, against) if depth > 0 else self.integer(0, against)
        b = self.test(depth - 1, against) if depth > 0 else self.integer(0, against)
        return joined(f"({a.text} {self.one(['&&', '||'])} {b.text})", a, b)

    def integer(self, depth: int, against: Against = FREE) -> Said:
        if depth <= 0 or self.chance(0.15):
            return self.leaf(depth, against)
        rules = [self.arithmetic] * 7 + [self.shift] * 2 + [self.division, self.unary, self.unary, self.compared]
        rules += [self.logical, self.choice, self.choice, self.cast, self.comma, self.effect, self.effect]
        rules += [self.call, self.call, self.truncated, self.component]
        return self.one(rules)(depth, against)

    def leaf(self, depth: int, against: Against) -> Said:
        choice = self.random.random()
        if choice < 0.25:
            return Said(self.literal())
        if choice < 0.35:
            k = self.index(7, against, depth)
            return joined(f"table[{k.text}]" if self.chance(0.7) else f"grid[1][{k.text} & 3]", k)
        if choice < 0.5 and self.in_kernel:
            k = self.index(INPUTS - 1, against, depth)
            return joined(f"{self.one(['in', 'in2'])}[{k.text}]", k)
        if choice < 0.55 and self.in_kernel and not self.only_uniform and "mine" not in against.reads:
            k = self.index(7, against, depth)
            return joined(f"mine[{k.text}]", k, Said("", frozenset({"mine"})))
        place = self.places(against, False, False, depth)
        if place is None:
            return Said(self.literal())
        return joined(place.text, place.read, Said("", place.roots))

    def arithmetic(self, depth: int, against: Against) -> Said:
        a = self.integer(depth - 1, against)
        b = self.integer(depth - 1, against.beside(a))
        return joined(f"({a.text} {self.one('+-*&|^')} {b.text})", a, b)

    def shift(self, depth: int, against: Against) -> Said:
        a = self.integer(depth - 1, against)
        b = self.integer(depth - 1, against.beside(a))
        amount = b.text if self.chance(0.3) else f"({b.text} & 7)"
        return joined(f"({a.text} {self.one(['<<', '>>', '>>'])} {amount})", a, b)

    def division(self, depth: int, against: Against) -> Said:
        a = self.integer(depth - 1, against)
        b = self.integer(depth - 1, against.beside(a))
        divisor = self.one([f"(({b.text} & 7) + 1)", f"(({b.text} & 7) - 9)"])
        return joined(f"({a.text} {self.one('/%')} {divisor})", a, b)

    def unary(self, depth: int, against: Against) -> Said:
        a = self.integer(depth - 1, against)
        return joined(f"({self.one(['-', '~', '!', '+', '-'])}{a.text})", a)

    def cast(self, depth: int, against: Against) -> Said:
        a = self.integer(depth - 1, against)
        return joined(f"(({self.one(self.types)}){a.text})", a)

    def choice(self, depth: int, against: Against) -> Said:
        c = self.condition(depth - 1, against)
        a, b = self.integer(depth - 1, against), self.integer(depth - 1, against)
        return joined(f"({c.text} ? {a.text} : {b.text})", c, a, b)

    def comma(self, depth: int, against: Against) -> Said:
        a, b = self.effect(depth - 1, against), self.integer(depth - 1, against)
        return joined(f"({a.text}, {b.text})", a, b)

    def truncated(self, depth: int, against: Against) -> Said:
        a = self.real(depth - 1, against)
        return joined(f"((int)({a.text}))", a)

    def component(self, depth: int, against: Against) -> Said:
        """A component of an expression of vectors."""
        v = next((v for v in self.shuffled() if v.kind == "vector" and not v.roots & against.reads), None)
        if v is None or self.only_uniform:
            return self.leaf(depth, against)
        a = self.vector(v.type, v.width, depth - 1, against)
        return joined(f"({a.text}).s{self.random.randrange(v.width)}", a)

    def effect(self, depth: int, against: Against) -> Said:
        """An expression that changes a variable."""
        if self.only_uniform:
            return self.leaf(depth, against)
        place = self.places(against, True, False, min(depth, 1))
        if place is None:
            return self.leaf(depth, against)
        changed = joined("", place.read, Said("", place.roots, place.roots))
        if self.chance(0.4):
            step = self.one(["++{}", "--{}", "{}++", "{}--"])
            text = place.text if place.text.isalnum() or place.text.endswith("]") else f"({place.text})"
            return joined(f"({step.format(text)})", changed)
        inner = against.beside(Said("", place.read.reads, place.read.writes | place.roots))
        op = self.one(["", "", "+", "-", "*", "&", "|", "^", "<<", ">>", "/"])
        # What is assigned may read the target: that is sequenced before.
        given = self.integer(depth - 1, inner)
        text = f"(({given.text} & 7) + 1)" if op == "/" else given.text
        return joined(f"({place.text} {op}= {text})", changed, given)

    def call(self, depth: int, against: Against) -> Said:
        usable = [f for f in self.functions if f.result in BITS or f.result in ("plain", "arrays", "int4")]
        if not usable or self.only_uniform:
            return self.leaf(depth, against)
        f = self.one(usable)
        said = self.called(f, depth, against)
        if said is None:
            return self.leaf(depth, against)
        part = {"plain": ".y", "arrays": ".c", "int4": ".z"}.get(f.result, "")
        return joined(said.text + part, said)

    def called(self, f: Function, depth: int, against: Against) -> Said | None:
        parts: list[Said] = []
        for p in f.parameters:
            beside = against.beside(*parts)
            if p.kind in ("scalar", "float", "record"):
                parts.append(self.of_type(p.type, depth - 1, beside))
                continue
            given = self.pointer(p, beside)
            if given is None:
                return None
            parts.append(given)
        return joined(f"{f.name}({', '.join(p.text for p in parts)})", *parts)

    def pointer(self, p: Variable, against: Against) -> Said | None:
        """An argument for a pointer: what it points to may be changed."""
        for v in self.shuffled():
            if v.fixed or v.const or v.type != p.type or v.roots & (against.reads | against.writes):
                continue
            forms = {
                ("pointer", "scalar"): "&{}", ("pointer", "array"): f"&{{}}[{self.random.randint(0, 7)}]",
                ("pointer", "pointer"): "{}", ("pointer", "window"): "{} + 2", ("window", "array"): "{}",
                ("window", "window"): "{}", ("to_record", "record"): "&{}", ("to_record", "to_record"): "{}",
            }  # fmt: skip
            if (form := forms.get((p.kind, v.kind))) is not None:
                return Said(form.format(v.name), v.roots | {v.name}, v.roots)
        return None

    def real(self, depth: int, against: Against = FREE) -> Said:
        choice = self.random.random()
        if depth <= 0 or choice < 0.3:
            return self.real_leaf(depth, against)
        if choice < 0.6:
            a = self.real(depth - 1, against)
            b = self.real(depth - 1, against.beside(a))
            return joined(f"({a.text} {self.one('+-')} {b.text})", a, b)
        if choice < 0.7:
            a = self.real_leaf(depth - 1, against)
            return joined(f"({a.text} * {self.one(['2.0f', '0.5f', '-3.0f', '1.5f'])})", a)
        if choice < 0.85:
            c = self.condition(depth - 1, against)
            a, b = self.real(depth - 1, against), self.real(depth - 1, against)
            return joined(f"({c.text} ? {a.text} : {b.text})", c, a, b)
        a = self.integer(depth - 1, against)
        return joined(
            self.one([f"(float)({a.text} & 31)", f"(({a.text} & 15) + 0.25f)", f"(-{self.one(['2.5f', '1.0f'])})"]), a
        )

    def real_leaf(self, depth: int, against: Against) -> Said:
        if self.chance(0.2):
            return Said(self.one(["0.0f", "1.0f", "0.25f", "2.5f", "-3.75f", "100.0f"]))
        if self.chance(0.2):
            k = self.index(3, against, depth)
            return joined(f"ftable[{k.text}]", k)
        if self.in_kernel and self.chance(0.2):
            k = self.index(INPUTS - 1, against, depth)
            return joined(f"fin[{k.text}]", k)
        place = self.places(against, False, True, depth)
        return Said("1.5f") if place is None else joined(place.text, place.read, Said("", place.roots))

    def vector(self, of: str, width: int, depth: int, against: Against) -> Said:
        """An expression of a vector type."""
        kind = f"{of}{width}"
        v = next(
            (v for v in self.shuffled() if v.kind == "vector" and v.type == of and not v.roots & against.reads), None
        )
        choice = self.random.random()
        if v is not None and (depth <= 0 or choice < 0.3):
            if v.width == width and self.chance(0.5):
                return Said(v.name, v.roots)
            swizzle = "".join(self.one("xyzw"[: v.width]) for _ in range(width))
            return Said(f"{v.name}.{swizzle}", v.roots)
        if depth <= 0 or choice < 0.45:
            a = self.integer(depth - 1, against)
            return joined(f"(({kind})(({of})({a.text})))", a)
        if choice < 0.8:
            a = self.vector(of, width, depth - 1, against)
            b = self.vector(of, width, depth - 1, against.beside(a))
            return joined(f"({a.text} {self.one('+-*&|^')} {b.text})", a, b)
        if choice < 0.9:
            a = self.vector(of, width, depth - 1, against)
            b = self.vector(of, width, depth - 1, against.beside(a))
            signed = of if of not in ("uint", "uchar") else {"uint": "int", "uchar": "char"}[of]
            compared = f"({a.text} {self.one(['<', '>=', '==', '!='])} {b.text})"
            return joined(f"as_{kind}({compared})" if signed != of else compared, a, b)
        a = self.vector(of, width, depth - 1, against)
        return joined(f"({self.one('-~')}{a.text})", a)

    def of_type(self, of: str, depth: int, against: Against = FREE) -> Said:
        """An expression that is converted to a type."""
        if of == "float":
            said = self.real(depth, against)
            return joined(f"keep({said.text})", said)
        if of == "int4":
            return self.vector("int", 4, depth, against)
        if of not in RECORDS:
            return self.integer(depth, against)
        return self.record(of, depth, against)

    def record(self, of: str, depth: int, against: Against) -> Said:
        for v in self.shuffled():
            if v.type == of and v.kind in ("record", "to_record") and not v.roots & against.reads:
                return Said(v.name if v.kind == "record" else f"*{v.name}", v.roots | {v.name})
        made = [f for f in self.functions if f.result == of]
        if made and depth > 0 and (said := self.called(self.one(made), depth, against)) is not None:
            return said
        parts: list[Said] = []
        for _ in range(5):
            parts.append(self.integer(depth - 1, against.beside(*parts)))
        a, b, c, d, e = (p.text for p in parts)
        if of == "plain":
            text = f"(plain){{(short)({a}), (uint)({b}), 1.5f, {{(int)({c}), (uchar)({d})}}}}"
            return joined(text, *parts[:4])
        return joined(f"(arrays){{(int)({a}), {{(int)({b}), (int)({c})}}, {{(int)({d}), (uchar)({e})}}}}", *parts)

    # ---- statements ----

    def block(self, depth: int, keep: bool = False) -> list[Node]:
        """Statements; what they declare is out of scope after them unless it is kept."""
        before = list(self.scope)
        nodes: list[Node] = []
        for _ in range(self.random.randint(1, 4 if depth > 1 else 3) if not keep else 99):
            if self.left <= 0:
                break
            self.left -= 1
            nodes += self.statement(depth)
        if self.loops and self.chance(0.15):
            nodes.append(Node(self.jump()))
        if not keep:
            self.scope = before
        return nodes or [Node(";")]

    def statement(self, depth: int) -> list[Node]:
        rules = [self.assigning] * 6 + [self.declaration] * 2
        if depth > 0:
            rules += [self.branching] * 4 + [self.looping] * 4 + [self.switching] * 2
        if self.loops or self.may_return:
            rules += [self.jumping] * 2
        if self.in_kernel:
            rules += [self.counting, self.storing]
        rule = self.one(rules)
        return rule() if rule in _flat(self) else rule(depth)

    def assigning(self) -> list[Node]:
        choice = self.random.random()
        if choice < 0.12 and (nodes := self.assigning_vector()):
            return nodes
        if choice < 0.2 and (nodes := self.assigning_record()):
            return nodes
        if choice < 0.32 and (nodes := self.assigning_float()):
            return nodes
        if choice < 0.4 and self.functions:
            said = self.called(self.one(self.functions), 2, FREE)
            return [Node(f"{said.text};")] if said is not None else []
        if choice < 0.46 and (nodes := self.moving()):
            return nodes
        uniform = self.chance(0.2)
        place = self.uniformly(uniform, lambda: self.places(FREE, True, False, 1))
        if place is None:
            return []
        op = self.one(["", "", "", "+", "-", "*", "&", "|", "^", "<<", ">>", "%"])
        if op == "" and not place.read.reads & place.roots and not place.read.writes:
            against = Against(place.read.writes, place.read.reads | place.roots)
        else:
            against = FREE.beside(Said("", place.read.reads, place.read.writes | place.roots))
        said = self.uniformly(uniform, lambda: self.integer(3, against))
        text = f"(({said.text} & 7) + 1)" if op == "%" else said.text
        return [Node(f"{place.text} {op}= {text};")]

    def assigning_vector(self) -> list[Node]:
        v = next((v for v in self.shuffled() if v.kind == "vector" and not v.fixed), None)
        if v is None:
            return []
        if self.chance(0.4):
            said = self.vector(v.type, v.width, 2, Against(writes=v.roots))
            return [Node(f"{v.name} {self.one(['', '+', '^', '-', '*'])}= {said.text};")]
        lanes = self.random.sample("xyzw"[: v.width], 2)
        said = self.vector(v.type, 2, 2, Against(writes=v.roots))
        return [Node(f"{v.name}.{''.join(lanes)} {self.one(['', '+', '|'])}= {said.text};")]

    def assigning_record(self) -> list[Node]:
        v = next((v for v in self.shuffled() if v.kind in ("record", "to_record")), None)
        if v is None:
            return []
        said = self.record(v.type, 2, Against(writes=v.roots))
        return [Node(f"{'*' if v.kind == 'to_record' else ''}{v.name} = {said.text};")]

    def assigning_float(self) -> list[Node]:
        place = self.places(FREE, True, True, 1)
        if place is None:
            return []
        against = Against(place.read.writes, place.read.reads | place.roots)
        said = self.real(3, against)
        return [Node(f"{place.text} = keep({said.text});")]

    def moving(self) -> list[Node]:
        """A pointer gets another of the variables that it may point to."""
        for v in self.shuffled():
            if v.kind not in ("pointer", "window") or v.const or v.fixed or "*" in v.roots:
                continue
            for other in self.shuffled():
                if other.roots <= v.roots and other.type == v.type and other is not v:
                    forms = {
                        ("pointer", "scalar"): "&{}", ("pointer", "array"): "{} + 5", ("pointer", "pointer"): "{}",
                        ("window", "array"): "{}", ("window", "window"): "{}",
                    }  # fmt: skip
                    if (form := forms.get((v.kind, other.kind))) is not None:
                        return [Node(f"{v.name} = {form.format(other.name)};")]
        return []

    def counting(self) -> list[Node]:
        k = self.random.randrange(COUNTERS)
        said = self.integer(2)
        return [Node(f"{_ATOMIC[k]}(&counters[{k}], (int)({said.text}));")]

    def storing(self) -> list[Node]:
        k = self.index(7, FREE, 1)
        said = self.integer(2, FREE.beside(joined("", k, Said("", writes=frozenset({"mine"})))))
        return [Node(f"mine[{k.text}] {self.one(['', '+', '^'])}= {said.text};")]

    def jump(self) -> str:
        options = ["break;"] if self.loops else []
        if any(kind == "loop" for kind in self.loops):
            options += ["continue;"]
        if self.may_return and (not options or self.chance(0.25)):
            value = "" if self.result == "void" else f" {self.of_type(str(self.result), 1).text}"
            options = [f"return{value};"]
        return self.one(options or [";"])

    def jumping(self) -> list[Node]:
        condition = self.condition(2)
        if self.may_return and not self.loops and not self.chance(0.5):
            return []
        body = [Node(self.jump())]
        if self.chance(0.3):
            body = [*self.assigning(), *body]
        return [Node(f"if ({condition.text})", body)]

    def branching(self, depth: int) -> list[Node]:
        condition = self.condition(2)
        nodes = [Node(f"if ({condition.text})", self.block(depth - 1))]
        while self.chance(0.3):
            again = self.condition(2)
            nodes.append(Node(f"else if ({again.text})", self.block(depth - 1)))
        if self.chance(0.5):
            nodes.append(Node("else", self.block(depth - 1)))
        return nodes

    def switching(self, depth: int) -> list[Node]:
        said = self.integer(2)
        labels = self.random.sample([0, 1, 2, 3, 4, 5], self.random.randint(1, 4))
        cases: list[str] = [f"case {n}:" for n in labels]
        if self.chance(0.6):
            cases.insert(self.random.randint(0, len(cases)), "default:")
        self.loops.append("switch")
        body: list[Node] = []
        for case in cases:
            body.append(Node(case, self.block(depth - 1)))
            if self.chance(0.6):
                body.append(Node("break;"))
        self.loops.pop()
        of = self.one(["", "", "(uchar)", "(short)"])
        return [Node(f"switch ({of}(({said.text}) & 7))", body)]

    def looping(self, depth: int) -> list[Node]:
        if len([kind for kind in self.loops if kind == "loop"]) >= 3:
            return self.branching(depth)
        return self.one([self.counted, self.counted, self.counted, self.guarded, self.guarded, self.odd])(depth)

    def body(self, depth: int) -> list[Node]:
        self.loops.append("loop")
        nodes = self.block(depth - 1)
        self.loops.pop()
        return nodes

    def counted(self, depth: int) -> list[Node]:
        """`for` with a counter that the body may not assign."""
        of, uniform = self.one(self.types), self.chance(0.5)
        low = self.uniformly(uniform, lambda: self.bound(3))
        high = self.uniformly(uniform, lambda: self.bound(7))
        before, name = list(self.scope), self.fresh("i")
        counter = Variable(name, of, "scalar", frozenset({name}), fixed=True, uniform=uniform)
        step, text = self.random.randint(1, 2), ""
        outside = self.chance(0.3)
        self.scope.append(counter)
        up = self.chance(0.6)
        op = self.one(["<", "<="])
        start = f"{name} = {low.text}" if up else f"{name} = {high.text} + 2"
        test = (
            f"{name} {op} {high.text}" if up else f"{name} >{'' if of in _UNSIGNED else self.one(['', '='])} {low.text}"
        )
        advance = self.stepping(name, step, up) if up or of not in _UNSIGNED else f"{name}--"
        body = self.body(depth)
        self.scope = before
        nodes = [Node(f"{text}for ({'' if outside else of + ' '}{start}; {test}; {advance})", body)]
        if outside:
            counter.fixed = False
            self.scope.append(counter)
            nodes.insert(0, Node(f"{of} {name} = 77;"))
            if self.chance(0.5):
                nodes.append(Node(f"{name} += {self.random.randint(1, 9)};"))
        return nodes

    def bound(self, mask: int) -> Said:
        """A small number that does not change while a loop runs."""
        options = [
            v.name for v in self.scope if v.fixed and v.kind == "scalar" and (v.uniform or not self.only_uniform)
        ]
        if self.chance(0.4) or not options:
            return Said(str(self.random.randint(0, mask)))
        return Said(f"({self.one(options)} & {mask})")

    def stepping(self, name: str, step: int, up: bool) -> str:
        sign = "+" if up else "-"
        if step == 1:
            return self.one(
                [f"{name}{sign * 2}", f"{sign * 2}{name}", f"{name} {sign}= 1", f"{name} = {name} {sign} 1"]
            )
        return self.one([f"{name} {sign}= {step}", f"{name} = {name} {sign} {step}"])

    def guarded(self, depth: int) -> list[Node]:
        """`while`, `do` or an endless `for`, ended by a guard and by a condition that may have effects."""
        guard, most = self.fresh("w"), self.random.randint(2, 7)
        condition = self.condition(2)
        start = Node(f"int {guard} = 0;")
        match self.random.randrange(5):
            case 0:
                return [start, Node(f"while ({guard}++ < {most} && {condition.text})", self.body(depth))]
            case 1:
                return [start, Node("do", self.body(depth), f" while ({condition.text} && ++{guard} < {most});")]
            case 2:
                leave = Node(f"if (++{guard} > {most})", [Node("break;")])
                return [start, Node(self.one(["for (;;)", "while (1)"]), [leave, *self.body(depth)])]
            case 3:
                text = f"for ({guard} = 0; {condition.text} && {guard} < {most}; {guard}++)"
                return [start, Node(text, self.body(depth))]
        step = Node("do", self.body(depth), f" while (++{guard} < {most});")
        return [start, step]

    def odd(self, depth: int) -> list[Node]:
        """Counters that wrap, that pointers are, or that the body moves too."""
        name, before = self.fresh("i"), list(self.scope)
        match self.random.randrange(8):
            case 0:
                heads = [
                    f"for (uchar {name} = {self.random.randint(250, 255)}; "
                    f"{name} != {self.random.randint(0, 3)}; {name}++)"
                ]
                of = "uchar"
            case 1:
                heads, of = [f"for (uint {name} = {self.random.randint(0, 5)}; {name} < 8; {name}--)"], "uint"
            case 2:
                bound = self.bound(7)
                heads, of = [f"for (uint {name} = {bound.text}; {name}-- > 0;)"], "uint"
            case 3:
                bound = self.bound(7)
                heads, of = [f"for (int {name} = 1; {name} < {bound.text} * 9; {name} *= 2)"], "int"
            case 4:
                heads, of = [f"for (short {name} = 32767; {name} > 32760; {name} -= 2)"], "short"
            case 5:
                bound = self.bound(7)
                other = self.fresh("j")
                heads, of = (
                    [f"for (int {name} = 0, {other} = {bound.text}; {name} < {other}; {name}++, {other}--)"],
                    "int",
                )
                self.scope.append(Variable(other, "int", "scalar", frozenset({other}), fixed=True))
            case 6:
                bound = self.bound(7)
                heads, of = [f"for (int {name} = 64; {name} > {bound.text}; {name} >>= 1)"], "int"
            case _:
                array = next((v for v in self.shuffled() if v.kind in ("array", "window") and not v.const), None)
                if array is None:
                    return self.counted(depth)
                pointer = Variable(name, array.type, "pointer", array.roots, fixed=True)
                self.scope.append(pointer)
                head = (
                    f"for ({array.type}* {name} = {array.name}; {name} < {array.name} + {self.bound(7).text}; {name}++)"
                )
                before_array, array.fixed = array.fixed, True
                body = [Node(f"*{name} ^= {self.integer(1).text};"), *self.body(depth)]
                array.fixed = before_array
                self.scope = before
                return [Node(head, body)]
        self.scope.append(Variable(name, of, "scalar", frozenset({name}), fixed=True))
        body = self.body(depth)
        if self.chance(0.3) and of == "int" and "*=" not in heads[0] and ">>=" not in heads[0]:
            body = [Node(f"if ({self.condition(1).text})", [Node(f"{name}++;")]), *body]
        self.scope = before
        return [Node(heads[0], body)]


_POINTERS = ("pointer", "window", "to_record")
_UNSIGNED = ("uchar", "ushort", "uint", "ulong")


def _flat(writer: Writer) -> tuple:
    """The rules that write no statements inside others."""
    return (writer.assigning, writer.declaration, writer.jumping, writer.counting, writer.storing)


def program(seed: int) -> Program:
    """The program of a seed."""
    return Writer(seed).program()
