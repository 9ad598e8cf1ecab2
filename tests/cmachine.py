"""The scalar machine: what a program of OpenCL C means, one work-item at a time.

A second, slow and obvious executor of `xeemu.frontends.tree`. Every variable is bytes of its own, a pointer is those
bytes and an offset, integers are Python's and are wrapped to their types. A work-item is a generator that yields at
barriers; a barrier is a statement of a kernel. It needs no compiler, and shares only the parsing of the text with it.
"""

import contextlib
import dataclasses
import operator
from collections.abc import Callable, Generator, Sequence
from typing import Any

import cprograms
import numpy as np

from xeemu.frontends import tree, types
from xeemu.frontends.functions import Function
from xeemu.frontends.parsing import programs
from xeemu.frontends.tree import Expression, Statement, Variable
from xeemu.frontends.types import Scalar, Type

_STEPS = 400_000


class Unusable(Exception):
    """A program that takes too long, or holds what the machine does not know."""


class Store:
    """The bytes of a variable or buffer, and the pointers among them by their offsets."""

    def __init__(self, size: int):
        self.data, self.pointers = bytearray(size), {}


@dataclasses.dataclass(frozen=True)
class To:
    """A pointer: bytes and an offset."""

    store: Store
    at: int

    def __add__(self, count: int) -> "To":
        return To(self.store, self.at + count)


class Leaving(Exception):
    """A jump: `break`, `continue` or `return` with its value."""

    def __init__(self, kind: str, value: Any = None):
        super().__init__(kind)
        self.kind, self.value = kind, value


def run(text: str, arguments: tuple) -> tuple[np.ndarray, np.ndarray]:
    """The outputs and counters after the kernel `k` of a program of `cprograms` has run."""
    program = programs.program(text)
    *arrays, n, m = arguments
    stores = [Store(0) for _ in arrays]
    for store, array in zip(stores, arrays, strict=True):
        store.data = bytearray(array.tobytes())
    given = [*(To(s, 0) for s in stores), n, m]
    launch(program.functions["k"], given, cprograms.GROUPS, cprograms.LOCAL)
    return np.frombuffer(stores[0].data, np.int32), np.frombuffer(stores[4].data, np.int32)


def launch(kernel: Function, given: Sequence[Any], groups: int, size: int) -> None:
    """Runs a kernel of one dimension; its buffers change."""
    budget = [_STEPS]
    for group in range(groups):
        local: dict[Variable, Store] = {}
        running = [Item(kernel, given, group, k, size, local, budget).kernel() for k in range(size)]
        while running:
            running = [item for item in running if next(item, "done") != "done"]


def wrapped(n: int, of: Scalar) -> int:
    """An integer modulo the width of its type."""
    bits = 8 * of.size
    n &= (1 << bits) - 1
    return n - (1 << bits) if of.is_signed and n >> (bits - 1) else n


def converted(x: Any, to: Type) -> Any:
    """C's conversion of a value to a type."""
    if isinstance(to, types.Vector):
        items = x if isinstance(x, tuple) else (x,) * to.count
        return tuple(converted(item, to.element) for item in items)
    if not isinstance(to, Scalar):
        return x
    if to.is_bool:
        return int(isinstance(x, To) or (x is not None and x != 0))
    if to.is_float:
        return to.dtype.type(x)
    return wrapped(int(x), to)


def load(place: To, of: Type) -> Any:
    match of:
        case Scalar():
            x = np.frombuffer(place.store.data, of.dtype, 1, place.at)[0]
            return x if of.is_float else int(x)
        case types.Vector(element=element, count=count):
            return tuple(load(place + k * element.size, element) for k in range(count))
        case types.Array():
            return place
        case types.Record():
            return copied(Store(of.size), 0, place, of.size)
        case types.Pointer():
            return place.store.pointers.get(place.at)
    raise Unusable(f"a value of type {of}")


def copied(to: Store, at: int, place: To, size: int) -> Store:
    """A variable with some bytes of another one, and the pointers in them."""
    to.data[at : at + size] = place.store.data[place.at : place.at + size]
    inside = {k: p for k, p in place.store.pointers.items() if place.at <= k < place.at + size}
    to.pointers.update({k - place.at + at: p for k, p in inside.items()})
    return to


def save(place: To, x: Any, of: Type) -> None:
    match of:
        case Scalar():
            place.store.data[place.at : place.at + of.size] = of.dtype.type(x).tobytes()
        case types.Vector(element=element):
            for k, item in enumerate(x):
                save(place + k * element.size, item, element)
        case types.Record():
            copied(place.store, place.at, To(x, 0), of.size)
        case types.Pointer():
            place.store.pointers[place.at] = x


def quotient(a: Any, b: Any) -> Any:
    if not isinstance(a, int):
        return a / b
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": quotient,
    "%": lambda a, b: a - b * quotient(a, b), "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_ATOMICS = {"add": operator.add, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "max": max, "min": min}


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "fabs": abs, "min": min, "max": max,
    "any": lambda v: any(x < 0 for x in v), "all": lambda v: all(x < 0 for x in v),
}  # fmt: skip


def binary(op: str, a: Any, b: Any, of: Scalar) -> Any:
    """`a op b` of two numbers, in a type."""
    if op in ("<<", ">>"):
        amount = b & (8 * of.size - 1)
        return wrapped(a << amount if op == "<<" else a >> amount, of)
    found = _OPERATORS[op](a, b)
    return int(found) if op in _COMPARISONS else converted(found, of)


class Item:
    """One work-item."""

    def __init__(
        self, kernel: Function, given: Sequence[Any], group: int, lane: int, size: int, local: dict, budget: list[int]
    ):
        self.function, self.group, self.lane, self.size = kernel, group, lane, size
        self.local, self.budget, self.variables = local, budget, {}
        for parameter, x in zip(kernel.parameters, given, strict=True):
            self.declare(parameter, x)

    def kernel(self) -> Generator[None, None, None]:
        with contextlib.suppress(Leaving):
            yield from self.execute(self.function.body)

    def declare(self, variable: Variable, x: Any) -> To:
        self.variables[variable] = Store(variable.type.size)
        place = To(self.variables[variable], 0)
        if x is not None:
            save(place, converted(x, variable.type), variable.type)
        return place

    # ---- statements ----

    def execute(self, node: Statement) -> Generator[None, None, None]:
        self.budget[0] -= 1
        if self.budget[0] < 0:
            raise Unusable("takes too many steps")
        yield from getattr(self, "_" + type(node).__name__.lower())(node)

    def _block(self, node: tree.Block) -> Generator[None, None, None]:
        for statement in node.statements:
            yield from self.execute(statement)

    def _declaration(self, node: tree.Declaration) -> Generator[None, None, None]:
        for variable in node.variables:
            if variable.space == "local":
                self.local.setdefault(variable, Store(variable.type.size))
            elif variable.initializer is None:
                self.declare(variable, None)
            else:
                made = Store(variable.type.size)
                self.initialise(To(made, 0), variable.type, variable.initializer)
                self.variables[variable] = made
        return
        yield

    def initialise(self, place: To, of: Type, node: Expression | None) -> None:
        """Stores what an initialiser gives; what it leaves out is zero."""
        while isinstance(node, tree.Cast) and isinstance(node.operand, tree.Initializer):
            node = node.operand
        if isinstance(node, tree.Initializer) and isinstance(of, types.Array):
            for k, item in enumerate(node.items):
                self.initialise(place + k * of.element.size, of.element, item)
        elif isinstance(node, tree.Initializer) and isinstance(of, types.Record):
            for field, item in zip(of.fields, node.items, strict=False):
                self.initialise(place + field.offset, field.type, item)
        elif node is not None:
            save(place, converted(self.value(node), of), of)

    def _evaluate(self, node: tree.Evaluate) -> Generator[None, None, None]:
        if isinstance(node.expression, tree.Call) and node.expression.name == "barrier":
            yield
        else:
            self.value(node.expression)

    def _if(self, node: tree.If) -> Generator[None, None, None]:
        chosen = node.then if self.truth(node.condition) else node.otherwise
        if chosen is not None:
            yield from self.execute(chosen)

    def _loop(self, node: tree.Loop) -> Generator[None, None, None]:
        if node.first is not None:
            yield from self.execute(node.first)
        tested = not node.after
        while True:
            if tested and node.condition is not None and not self.truth(node.condition):
                return
            tested = True
            try:
                yield from self.execute(node.body)
            except Leaving as jump:
                if jump.kind == "break":
                    return
                if jump.kind == "return":
                    raise
            if node.step is not None:
                self.value(node.step)

    def _switch(self, node: tree.Switch) -> Generator[None, None, None]:
        x = self.value(node.value)
        entered = [k for k, case in enumerate(node.cases) if any(low <= x <= high for low, high in case.values)]
        entered = entered or [k for k, case in enumerate(node.cases) if case.default]
        try:
            for case in node.cases[entered[0] :] if entered else ():
                for statement in case.statements:
                    yield from self.execute(statement)
        except Leaving as jump:
            if jump.kind != "break":
                raise

    def _break(self, node: tree.Break) -> Generator[None, None, None]:
        raise Leaving("break")
        yield

    def _continue(self, node: tree.Continue) -> Generator[None, None, None]:
        raise Leaving("continue")
        yield

    def _return(self, node: tree.Return) -> Generator[None, None, None]:
        raise Leaving("return", None if node.value is None else self.value(node.value))
        yield

    # ---- places ----

    def place(self, node: Expression) -> To:
        """Where what an expression names is; a value without a place is given one."""
        match node:
            case tree.Name(variable=variable):
                return To(self.store(variable), 0)
            case tree.Subscript(base=base, index=index):
                if isinstance(index.type, types.Pointer | types.Array):
                    base, index = index, base
                return self.value(base) + self.value(index) * node.type.size
            case tree.Unary(op="*", operand=operand):
                return self.value(operand)
            case tree.Member(base=base, name=name, arrow=arrow):
                record = base.type.pointee if arrow else base.type
                return (self.value(base) if arrow else self.place(base)) + record.field(name).offset
            case tree.Swizzle(base=tree.Swizzle(base=base, components=outer), components=inner):
                both = tuple(outer[k] for k in inner)
                return self.place(tree.Swizzle(node.type, node.place, base, both))
            case tree.Swizzle(base=base, components=(one,)):
                return self.place(base) + one * node.type.size
            case tree.Cast(operand=operand) if operand.type == node.type:
                return self.place(operand)
        made = To(Store(node.type.size), 0)
        if isinstance(node, tree.Initializer):
            self.initialise(made, node.type, node)
        else:
            save(made, self.value(node), node.type)
        return made

    def store(self, variable: Variable) -> Store:
        if variable.space == "local" and not isinstance(variable.type, types.Pointer):
            return self.local[variable]
        if variable not in self.variables:
            self.variables[variable] = Store(variable.type.size)
            self.initialise(To(self.variables[variable], 0), variable.type, variable.initializer)
        return self.variables[variable]

    def assigned_lanes(self, node: tree.Swizzle, x: Any) -> Any:
        base = self.place(node.base)
        for k, item in zip(node.components, x, strict=True):
            save(base + k * node.type.element.size, item, node.type.element)
        return x

    # ---- expressions ----

    def truth(self, node: Expression) -> bool:
        x = self.value(node)
        return x is not None and (isinstance(x, To) or bool(x != 0))

    def value(self, node: Expression) -> Any:
        return getattr(self, "_of_" + type(node).__name__.lower())(node)

    def _of_constant(self, node: tree.Constant) -> Any:
        return converted(node.value, node.type) if isinstance(node.type, Scalar) else None

    def _of_name(self, node: Expression) -> Any:
        return load(self.place(node), node.type)

    _of_subscript = _of_member = _of_initializer = _of_name

    def _of_initializer(self, node: tree.Initializer) -> Any:
        if not isinstance(node.type, types.Vector):
            return self._of_name(node)
        found: list[Any] = []
        for item in node.items:
            x = self.value(item)
            found += x if isinstance(x, tuple) else [x]
        return converted(tuple(found) if len(found) > 1 else found[0], node.type)

    def _of_swizzle(self, node: tree.Swizzle) -> Any:
        x = self.value(node.base)
        return x[node.components[0]] if len(node.components) == 1 else tuple(x[k] for k in node.components)

    def _of_unary(self, node: tree.Unary) -> Any:
        if node.op == "*":
            return self._of_name(node)
        if node.op == "&":
            return self.place(node.operand)
        if node.op == "!" and isinstance(node.type, types.Vector):
            return tuple(-int(x == 0) for x in self.value(node.operand))
        if node.op == "!":
            return int(not self.truth(node.operand))
        x = converted(self.value(node.operand), node.type)
        change = {"-": operator.neg, "~": operator.invert, "+": operator.pos}[node.op]
        return converted(tuple(map(change, x)) if isinstance(x, tuple) else change(x), node.type)

    def _of_step(self, node: tree.Step) -> Any:
        place = self.place(node.operand)
        old = load(place, node.type)
        by = 1 if node.op == "++" else -1
        new = old + by * node.type.pointee.size if isinstance(old, To) else converted(old + by, node.type)
        save(place, new, node.type)
        return new if node.prefix else old

    def _of_assignment(self, node: tree.Assignment) -> Any:
        x, to = self.value(node.value), node.target.type
        if isinstance(node.target, tree.Swizzle) and len(node.target.components) > 1:
            if node.op:
                x = self.computed(node.op, self.value(node.target), x, to, node.value.type)
            return self.assigned_lanes(node.target, converted(x, to))
        place = self.place(node.target)
        if node.op:
            x = self.computed(node.op, load(place, to), x, to, node.value.type)
        save(place, converted(x, to), to)
        return converted(x, to)

    def computed(self, op: str, a: Any, b: Any, of: Type, other: Type) -> Any:
        """`a op b`: of numbers in the type that C finds for both."""
        if isinstance(a, To):
            return a + (b if op == "+" else -b) * of.pointee.size
        if isinstance(of, types.Vector):
            return self.by_component(op, a, converted(b, of), of.element)
        wide = types.promoted(of) if op in ("<<", ">>") else types.common(of, other)
        return binary(op, converted(a, wide), b if op in ("<<", ">>") else converted(b, wide), wide)

    def by_component(self, op: str, a: Any, b: Any, of: Scalar) -> Any:
        found = tuple(binary(op, x, y, of) for x, y in zip(a, b, strict=True))
        return tuple(-x for x in found) if op in _COMPARISONS else found

    def _of_binary(self, node: tree.Binary) -> Any:
        if node.op == ",":
            self.value(node.left)
            return self.value(node.right)
        if node.op in ("&&", "||"):
            left = self.truth(node.left)
            return int(self.truth(node.right) if left == (node.op == "&&") else left)
        a, b = self.value(node.left), self.value(node.right)
        if isinstance(a, To) or isinstance(b, To):
            return self.of_pointers(node, a, b)
        if isinstance(node.type, types.Vector):
            a, b = (x if isinstance(x, tuple) else (x,) * node.type.count for x in (a, b))
            return self.by_component(node.op, a, b, node.type.element)
        return binary(node.op, a, b, node.type)

    def of_pointers(self, node: tree.Binary, a: Any, b: Any) -> Any:
        if isinstance(node.type, types.Pointer):
            a, b = (a, b) if isinstance(a, To) else (b, a)
            return a + (b if node.op == "+" else -b) * node.type.pointee.size
        if node.op in ("==", "!="):
            return int((a == b) == (node.op == "=="))
        if a.store is not b.store:
            raise Unusable("pointers into different variables are compared")
        if node.op == "-":
            return (a.at - b.at) // node.left.type.pointee.size
        return binary(node.op, a.at, b.at, types.INT)

    def _of_choice(self, node: tree.Choice) -> Any:
        if isinstance(node.condition.type, types.Vector):
            asked, a, b = (self.value(x) for x in (node.condition, node.then, node.otherwise))
            return tuple(x if c < 0 else y for c, x, y in zip(asked, a, b, strict=True))
        return converted(self.value(node.then if self.truth(node.condition) else node.otherwise), node.type)

    def _of_cast(self, node: tree.Cast) -> Any:
        return converted(self.value(node.operand), node.type)

    def _of_call(self, node: tree.Call) -> Any:
        if node.function is not None:
            return self.called(node.function, [self.value(a) for a in node.arguments])
        ids = {
            "get_global_id": self.group * self.size + self.lane,
            "get_local_id": self.lane,
            "get_group_id": self.group,
        }
        if node.name in ids:
            return ids[node.name]
        values = [self.value(a) for a in node.arguments]
        if node.name.startswith("as_"):
            made = To(Store(node.type.size), 0)
            save(made, values[0], node.arguments[0].type)
            return load(made, node.type)
        if node.name.startswith("convert_"):
            return converted(values[0], node.type)
        if node.name in _FUNCTIONS:
            return converted(_FUNCTIONS[node.name](*values), node.type)
        if node.name.startswith("atomic_"):
            pointer, of = values[0], node.type
            old = load(pointer, of)
            save(pointer, wrapped(_ATOMICS[node.name[7:]](old, values[1]), of), of)
            return old
        raise Unusable(f"the machine does not know {node.name}")

    def called(self, function: Function, given: Sequence[Any]) -> Any:
        outer, self.variables = self.variables, {}
        try:
            for parameter, x in zip(function.parameters, given, strict=True):
                self.declare(parameter, x)
            for _ in self.execute(function.body):
                raise Unusable("a barrier in a function")
        except Leaving as jump:
            return None if jump.value is None else converted(jump.value, function.result)
        finally:
            self.variables = outer
        return None
