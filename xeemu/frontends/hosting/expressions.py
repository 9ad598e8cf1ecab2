"""Expressions: what computes the values of a host's expressions.

Numbers are those of `scalars`, vectors tuples of them, pointers a memory and an offset, arrays the pointers to their
beginnings, records memories of their own.
"""

import operator
from collections.abc import Callable
from typing import Any

from xeemu.frontends import tree, types
from xeemu.frontends.hosting import conversions, copies, layouts, scalars
from xeemu.frontends.hosting.copies import load, store
from xeemu.frontends.hosting.machine import Frame, Machine, Value
from xeemu.frontends.hosting.memories import NULL, Cells
from xeemu.frontends.hosting.places import place
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.tree import Expression
from xeemu.frontends.types import Pointer, Scalar, Type, Vector

ENTRIES = ("kernel_body", "task_body")
"""Of our headers the functions that are the entries of kernels, which the host submits and does not call."""


def value(machine: Machine, node: Expression) -> Value:
    """What computes an expression."""
    if node not in machine.compiled:
        machine.compiled[node] = _made(machine, node)
    return machine.compiled[node]


def _made(machine: Machine, node: Expression) -> Value:
    match node:
        case tree.Constant():
            return _constant(node)
        case tree.Text():
            return _text(machine, node)
        case tree.Callee():
            return lambda frame: node
        case tree.Unary():
            return _unary(machine, node)
        case tree.Step():
            return _step(machine, node)
        case tree.Binary():
            return _binary(machine, node)
        case tree.Assignment():
            return _assignment(machine, node)
        case tree.Choice():
            return _choice(machine, node)
        case tree.Cast():
            return _cast(machine, node)
        case tree.Initializer():
            return _initializer(machine, node)
        case tree.Call():
            return _call(machine, node)
        case tree.Braced():
            return _braced(machine, node)
        case tree.Swizzle():
            return _swizzle(machine, node)
    found, loaded = place(machine, node), load(node.type)
    return lambda frame: loaded(*found(frame))


def _constant(node: tree.Constant) -> Value:
    if not isinstance(node.type, Scalar):
        return lambda frame: UNKNOWN
    constant = scalars.converter(node.type)(node.value)
    return lambda frame: constant


def _text(machine: Machine, node: tree.Text) -> Value:
    made = Cells(len(node.value) + 1)
    made.element = types.CHAR
    copies.put_letters(made, 0, node.value)
    return lambda frame: (made, 0)


def _unary(machine: Machine, node: tree.Unary) -> Value:
    if node.op == "&":
        return place(machine, node.operand)
    if node.op == "*":
        found, loaded = place(machine, node), load(node.type)
        return lambda frame: loaded(*found(frame))
    operand = value(machine, node.operand)
    if isinstance(node.operand.type, Pointer | types.Array):
        truth = machine.truth
        return lambda frame: UNKNOWN if (x := truth(operand(frame))) is UNKNOWN else int(not x)
    compute = scalars.unary(node.op, scalars.of_type(node.type if node.op != "!" else node.operand.type))
    if isinstance(node.type, Vector):
        return lambda frame: conversions.each(compute, operand(frame))
    return lambda frame: compute(operand(frame))


def _step(machine: Machine, node: tree.Step) -> Value:
    found, loaded, stored = place(machine, node.operand), load(node.operand.type), store(node.operand.type)
    add = _sum(node.operand.type, 1 if node.op == "++" else -1)
    prefix = node.prefix

    def stepped(frame: Frame) -> Any:
        memory, at = found(frame)
        old = loaded(memory, at)
        new = add(old)
        stored(memory, at, new)
        return new if prefix else old

    return stepped


def _sum(of: Type, amount: int) -> Callable[[Any], Any]:
    if isinstance(of, Pointer):
        distance = amount * layouts.size(of.pointee)
        return lambda p: UNKNOWN if p is UNKNOWN else (p[0], p[1] + distance)
    compute, one = scalars.binary("+", scalars.of_type(of)), scalars.converter(scalars.of_type(of))(amount)
    return lambda x: compute(x, one)


# --- Two operands ---


def _binary(machine: Machine, node: tree.Binary) -> Value:
    left, right = value(machine, node.left), value(machine, node.right)
    if node.op == ",":
        return lambda frame: (left(frame), right(frame))[1]
    if node.op in ("&&", "||"):
        return _logical(machine, left, right, node.op == "&&")
    compute = operation(machine, node.op, node.left.type, node.right.type, node.type)
    return lambda frame: compute(left(frame), right(frame))


def _logical(machine: Machine, left: Value, right: Value, both: bool) -> Value:
    truth = machine.truth

    def decided(frame: Frame) -> Any:
        first = truth(left(frame))
        if first is not UNKNOWN and first is not both:
            return int(first)
        second = truth(right(frame))
        if second is not UNKNOWN and second is not both:
            return int(second)
        return UNKNOWN if first is UNKNOWN or second is UNKNOWN else int(both)

    return decided


def operation(machine: Machine, op: str, a: Type, b: Type, of: Type) -> scalars.Operation:
    """An operator on values of two types."""
    if _is_pointer(a) or _is_pointer(b):
        return _with_pointer(machine, op, a, b)
    if isinstance(a, Vector) or isinstance(b, Vector):
        return _with_vector(op, a, b)
    if not (isinstance(a, Scalar) and isinstance(b, Scalar)):
        return lambda x, y: UNKNOWN
    if op in ("<<", ">>"):
        whole = types.promoted(a)
        first, compute = scalars.converter(whole), scalars.binary(op, whole)
        return lambda x, y: compute(first(x), y)
    common = types.common(a, b)
    compute = scalars.binary(op, common)
    if a == b == common:
        return compute
    convert = scalars.converter(common)
    return lambda x, y: compute(convert(x), convert(y))


def _is_pointer(of: Type) -> bool:
    return isinstance(of, Pointer | types.Array | types.Opaque)


def _with_vector(op: str, a: Type, b: Type) -> scalars.Operation:
    of, count = next((t.element, t.count) for t in (a, b) if isinstance(t, Vector))
    compute = scalars.binary(op, of)
    compared = op in scalars.COMPARISONS

    def each(x: Any, y: Any) -> Any:
        if x is UNKNOWN or y is UNKNOWN:
            return UNKNOWN
        x, y = (v if isinstance(v, tuple) else (v,) * count for v in (x, y))
        found = tuple(map(compute, x, y))
        return tuple(-v if v is not UNKNOWN else v for v in found) if compared else found

    return each


def _with_pointer(machine: Machine, op: str, a: Type, b: Type) -> scalars.Operation:
    if op in scalars.COMPARISONS:
        return _pointers_compared(machine, op)
    if _is_pointer(a) and _is_pointer(b):
        return _difference(machine, _step_of(a))
    step = _step_of(a if _is_pointer(a) else b)
    if not _is_pointer(a):
        before = scalars.distance(a)
        return lambda x, p: UNKNOWN if p is UNKNOWN else (p[0], p[1] + before(x) * step)
    sign, after = step if op == "+" else -step, scalars.distance(b)
    return lambda p, x: UNKNOWN if p is UNKNOWN else (p[0], p[1] + after(x) * sign)


def _step_of(of: Type) -> int:
    return layouts.size(of.pointee if isinstance(of, Pointer) else of.element)  # type: ignore[union-attr]


def _pointers_compared(machine: Machine, op: str) -> scalars.Operation:
    compare, number = scalars.COMPARISONS[op], machine.registry.number

    def compared(p: Any, q: Any) -> Any:
        if p is UNKNOWN or q is UNKNOWN:
            return UNKNOWN
        p, q = (v if isinstance(v, tuple) else (None, v) for v in (p, q))
        if UNKNOWN in (p[1], q[1]):
            return UNKNOWN
        if p[0] is q[0]:
            return int(compare(p[1], q[1]))
        if op in ("==", "!="):
            return int(op == "!=")
        return int(compare(number(p), number(q)))

    return compared


def _difference(machine: Machine, step: int) -> scalars.Operation:
    number = machine.registry.number

    def difference(p: Any, q: Any) -> Any:
        if p is UNKNOWN or q is UNKNOWN or UNKNOWN in (p[1], q[1]):
            return UNKNOWN
        return (p[1] - q[1] if p[0] is q[0] else number(p) - number(q)) // step

    return difference


def _assignment(machine: Machine, node: tree.Assignment) -> Value:
    found, given = place(machine, node.target), value(machine, node.value)
    of = node.target.type
    stored = store(of)
    if not node.op:

        def assigned(frame: Frame) -> Any:
            result = given(frame)
            memory, at = found(frame)
            stored(memory, at, result)
            return result

        return assigned
    loaded, compute = load(of), _updated(machine, node)

    def updated(frame: Frame) -> Any:
        operand = given(frame)
        memory, at = found(frame)
        result = compute(loaded(memory, at), operand)
        stored(memory, at, result)
        return result

    return updated


def _updated(machine: Machine, node: tree.Assignment) -> scalars.Operation:
    a, b = node.target.type, node.value.type
    compute = operation(machine, node.op, a, b, a)
    if not isinstance(a, Scalar) or (a == b and types.common(a, a) == a):
        return compute
    back = scalars.converter(a)
    return lambda x, y: back(compute(x, y))


def _choice(machine: Machine, node: tree.Choice) -> Value:
    condition, then, otherwise = (value(machine, n) for n in (node.condition, node.then, node.otherwise))
    truth = machine.truth
    if isinstance(node.condition.type, Vector):
        return lambda frame: UNKNOWN

    def chosen(frame: Frame) -> Any:
        which = truth(condition(frame))
        if which is UNKNOWN:
            a, b = then(frame), otherwise(frame)
            return a if type(a) is type(b) and a == b else UNKNOWN
        return then(frame) if which else otherwise(frame)

    return chosen


# --- Conversions and objects ---


def _cast(machine: Machine, node: tree.Cast) -> Value:
    operand = value(machine, node.operand)
    if isinstance(node.type, types.Void):
        return operand
    convert = conversions.conversion(machine, node.operand.type, node.type)
    return operand if convert is None else lambda frame: convert(operand(frame))


def _initializer(machine: Machine, node: tree.Initializer) -> Value:
    items = [value(machine, item) for item in node.items]
    of, fresh = node.type, machine.fresh
    if isinstance(of, Vector):
        return _vector(of, items, node)
    if isinstance(of, Scalar | Pointer):
        return items[0] if items else lambda frame: NULL if isinstance(of, Pointer) else scalars.converter(of)(0)
    stores = [(offset, store(t)) for offset, t in _slots(of, node)]
    array = isinstance(of, types.Array)

    def made(frame: Frame) -> Any:
        memory = fresh(of)
        if isinstance(memory, Cells):
            memory.rest = 0
        else:
            memory.fill(0, 0, memory.size)
        for (offset, stored), item in zip(stores, items, strict=False):
            stored(memory, offset, item(frame))
        return (memory, 0) if array else memory

    return made


def _slots(of: Type, node: tree.Initializer) -> list[tuple[int, Type]]:
    """Where the items of a list go, and their types."""
    match of:
        case types.Array(element=element):
            return [(k * layouts.size(element), element) for k in range(len(node.items))]
        case types.Record(union=True):
            return [(0, item.type) for item in node.items]
        case types.Record(fields=fields):
            return [(layouts.at(of, f.name), f.type) for f in fields]
    return []


def _vector(of: Vector, items: list[Value], node: tree.Initializer) -> Value:
    convert = scalars.converter(of.element)

    def made(frame: Frame) -> Any:
        found: list[Any] = []
        for item in items:
            given = item(frame)
            found += given if isinstance(given, tuple) else (given,)
        found += [0] * (of.count - len(found))
        return tuple(map(convert, found[: of.count]))

    return made


def _swizzle(machine: Machine, node: tree.Swizzle) -> Value:
    base = value(machine, node.base)
    pick: Callable[[Any], Any] = operator.itemgetter(*node.components)
    return lambda frame: UNKNOWN if (v := base(frame)) is UNKNOWN else pick(v)


def _braced(machine: Machine, node: tree.Braced) -> Value:
    return machine.rules.braced(machine, node.block, value)


# --- Calls ---


def _call(machine: Machine, node: tree.Call) -> Value:
    arguments = [value(machine, a) for a in node.arguments]
    function, where = node.function, node.place
    if function is None:
        carried = machine.intrinsic(machine, node)
        return lambda frame: carried(*[a(frame) for a in arguments])
    if node.name in ENTRIES:
        submit = machine.submit
        return lambda frame: submit(machine, function, arguments[0](frame))
    called = machine.call
    if not where.line:
        return lambda frame: called(function, [a(frame) for a in arguments])

    def at_place(frame: Frame) -> Any:
        machine.place = where
        return called(function, [a(frame) for a in arguments])

    return at_place
