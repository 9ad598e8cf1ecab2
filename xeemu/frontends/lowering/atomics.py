"""Atomics: the atomic functions of OpenCL C 1.x (`atomic_add`, `atom_inc`) and 2.0 (`atomic_fetch_add_explicit`)."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.lowering import memories, nulls, places
from xeemu.frontends.lowering.orders import order_of, scope_of
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call, Expression
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Either, Null, Number, Pointing, Value
from xeemu.language.interface import Retrace

Builtin = Callable[[Walk, Call, bool], Value]


class _Atomic(NamedTuple):
    """An atomic operation.

    Attributes:
      op: its name in the kernel language, without `fetch_`.
      operands: beside what it is done on.
      of: the type of what it is done on.
      fetches: true if somebody needs the old value.
      order, scope: as in the kernel language.
    """

    op: str
    operands: list[Value]
    of: Scalar
    fetches: bool
    order: str
    scope: str


_FETCH = {
    "add": "add", "sub": "sub", "inc": "add", "dec": "sub", "min": "min", "max": "max", "and": "and", "or": "or",
    "xor": "xor",
}  # fmt: skip
_OPERATORS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
_OLD = re.compile(r"atom(?:ic)?_(add|sub|inc|dec|min|max|and|or|xor|xchg|cmpxchg)")
_NEW = re.compile(
    r"atomic_(?:(fetch)_(add|sub|min|max|and|or|xor)|(load|store|exchange|init)|(compare_exchange)_(?:strong|weak)|"
    r"(flag_test_and_set|flag_clear))(_explicit)?"
)


def find(name: str) -> Builtin | None:
    """What carries out an atomic function, or None if it is none."""
    if _OLD.fullmatch(name):
        return _old
    return _new if _NEW.fullmatch(name) else None


def _old(walk: Walk, node: Call, used: bool) -> Value:
    """Those of OpenCL 1.x are relaxed, for all of the device."""
    match = _OLD.fullmatch(node.name)
    assert match is not None
    op = match.group(1)
    operands = [walk.evaluate(a) for a in node.arguments[1:]]
    if op in ("inc", "dec"):
        operands = [values.constant(1, _type(node))]
    name = {"xchg": "exchange", "cmpxchg": "compare_exchange"}.get(op, _FETCH.get(op, op))
    return _apply(walk, node, _Atomic(name, operands, _type(node), used, "relaxed", "device"))


def _type(node: Call) -> Scalar:
    assert isinstance(node.type, Scalar)
    return node.type


def _pointee(node: Call) -> Scalar:
    pointer = node.arguments[0].type
    assert isinstance(pointer, types.Pointer)
    assert isinstance(pointer.pointee, Scalar)
    return pointer.pointee


def _new(walk: Walk, node: Call, used: bool) -> Value:
    match = _NEW.fullmatch(node.name)
    assert match is not None
    of = _pointee(node)
    if match.group(4):
        return _compare_exchange(walk, node, of, bool(match.group(6)))
    rest = node.arguments[1:]
    alone = (match.group(3) or match.group(5) or "") in ("load", "flag_test_and_set", "flag_clear")
    operands, order, scope = _split(walk, rest, bool(match.group(6)), 0 if alone else 1)
    if flag := match.group(5):
        return _flag(walk, node, flag, used, order, scope)
    name = match.group(2) or match.group(3)
    if name == "init":
        target = places.behind(walk, walk.evaluate(node.arguments[0]), of)
        places.write(walk, target, arithmetic.converted(operands[0], of))
        return Null(types.VOID)
    return _apply(walk, node, _Atomic(name, operands, of, used, order, scope))


def _split(walk: Walk, rest: tuple[Expression, ...], explicit: bool, count: int) -> tuple[list[Value], str, str]:
    """The operands of an atomic function, `count` of them, and its order and scope."""
    if not explicit:
        return [walk.evaluate(a) for a in rest], "seq_cst", "device"
    operands, orders = rest[:count], rest[count:]
    scope = scope_of(walk, orders[1]) if len(orders) > 1 else "device"
    return [walk.evaluate(a) for a in operands], order_of(walk, orders[0]), scope


def _flag(walk: Walk, node: Call, flag: str, used: bool, order: str, scope: str) -> Value:
    of = _pointee(node)
    if flag == "flag_clear":
        return _apply(walk, node, _Atomic("store", [values.constant(0, of)], of, False, order, scope))
    old = _apply(walk, node, _Atomic("exchange", [values.constant(1, of)], of, True, order, scope))
    assert isinstance(old, Number)
    return values.of_truth(values.truth(old), _type(node))


def _compare_exchange(walk: Walk, node: Call, of: Scalar, explicit: bool) -> Value:
    """Gives if it has stored; what is there instead goes to where the expected value stood."""
    order, scope = "seq_cst", "device"
    if explicit:
        order = order_of(walk, node.arguments[3])
        scope = scope_of(walk, node.arguments[5]) if len(node.arguments) > 5 else "device"
    target = places.behind(walk, walk.evaluate(node.arguments[1]), of)
    expected, desired = places.read(walk, target), walk.evaluate(node.arguments[2])
    old = _apply(walk, node, _Atomic("compare_exchange", [expected, desired], of, True, order, scope))
    equal = arithmetic.binary("==", old, expected, types.INT)
    places.write(walk, target, old)
    assert isinstance(equal, Number)
    return values.of_truth(values.truth(equal), _type(node))


def _apply(walk: Walk, node: Call, what: _Atomic) -> Value:
    """An atomic operation on what the first argument points to; gives the old value if somebody needs it."""
    pointer = walk.evaluate(node.arguments[0])
    fetches = what.fetches or what.op in ("exchange", "compare_exchange")
    return _upon(walk, node, pointer, what._replace(fetches=fetches))


def _upon(walk: Walk, node: Call, pointer: Value, what: _Atomic) -> Value:
    return _either(walk, node, pointer, what) if isinstance(pointer, Either) else _at(walk, node, pointer, what)


def _either(walk: Walk, node: Call, pointer: Either, what: _Atomic) -> Value:
    found: list[Value] = []
    what = what._replace(fetches=True)
    for mask, side in ((pointer.condition, pointer.then), (values.negation(pointer.condition), pointer.otherwise)):
        walk.under(mask, lambda s=side: found.append(_upon(walk, node, s, what)))  # type: ignore[misc]
    return (
        composites.selected(pointer.condition, *found) if len(found) == 2 and isinstance(found[0], Number) else found[0]
    )


def _at(walk: Walk, node: Call, pointer: Value, what: _Atomic) -> Value:
    pointer = nulls.pointing(walk, pointer)
    if not isinstance(pointer, Pointing) or walk.layouts[pointer.memory].space == "private":
        return _alone(walk, pointer, what)
    _check_held(walk, node, pointer, what.op, what.of)
    layout, memory = walk.layouts[pointer.memory], walk.memories[pointer.memory]
    data = [_operand(x, what.of, layout.element) for x in what.operands]
    at = memory.atomic(order=what.order, scope=what.scope)[values.index(pointer.offset)]
    with walk.scope():
        return _bound(walk, pointer, at, what, data)


def _check_held(walk: Walk, node: Call, pointer: Pointing, op: str, of: Scalar) -> None:
    """Has a memory hold what an atomic operation works on: numbers of its size, and of its kind but to move them.

    Raises:
      Retrace: it is traced again with integers in the memory.
      KernelError: the memory is accessed in smaller pieces too, or by atomic operations of two kinds.
    """
    layout = walk.layouts[pointer.memory]
    what = f"{node.name} of a {of} in {layout.name}"
    if layout.element.size > of.size:
        raise Retrace(pointer.memory, of.size)
    if layout.element.size < of.size:
        raise walk.refuse(
            f"{what}, which is also accessed in pieces of {layout.element.size} bytes; access it in one size"
        )
    if layout.element == of or op in ("load", "store", "exchange"):
        return
    if of.is_integer and layout.element.is_integer and op not in ("min", "max"):
        return
    if of.is_integer and (walk.granules.get(pointer.memory) or 0) >= 0:
        raise Retrace(pointer.memory, memories.as_integers(of))
    raise walk.refuse(f"{what}, which holds {layout.element}; declare it as {of}")


def _alone(walk: Walk, pointer: Value, what: _Atomic) -> Value:
    """An atomic operation on a private variable, which only its own work-item sees: nobody comes in between."""
    spot = places.behind(walk, pointer, what.of)
    given = [arithmetic.converted(x, what.of) for x in what.operands]
    if what.op == "store":
        places.write(walk, spot, given[0])
        return Null(types.VOID)
    old = places.read(walk, spot)
    assert isinstance(old, Number)
    if what.op != "load":
        places.write(walk, spot, _combined(what.op, old, given, what.of))
    return old


def _combined(op: str, old: Number, given: list[Value], of: Scalar) -> Value:
    """What an atomic operation leaves where `old` was."""
    if op == "exchange":
        return given[0]
    if op in ("min", "max"):
        less = arithmetic.binary("<" if op == "min" else ">", given[0], old, types.INT)
        assert isinstance(less, Number)
        return composites.selected(values.truth(less), given[0], old)
    if op == "compare_exchange":
        equal = arithmetic.binary("==", old, given[0], types.INT)
        assert isinstance(equal, Number)
        return composites.selected(values.truth(equal), given[1], old)
    return arithmetic.binary(_OPERATORS[op], old, given[0], of)


def _operand(x: Value, of: Scalar, held: Scalar) -> Any:
    number = arithmetic.converted(x, of)
    assert isinstance(number, Number)
    return values.exact(values.bits(number, held))


def _bound(walk: Walk, pointer: Pointing, at: Any, what: _Atomic, data: list[Any]) -> Value:
    """An atomic operation of the kernel language, on an element and with operands of the memory's type."""
    op, held = what.op, walk.layouts[pointer.memory].element
    if op == "load":
        return values.bits(values.held(held, at.load()), what.of)
    if op == "store":
        walk.memories[pointer.memory] = at.store(data[0])
        return Null(types.VOID)
    if op in ("exchange", "compare_exchange"):
        old, walk.memories[pointer.memory] = getattr(at, op)(*data)
    elif what.fetches:
        old, walk.memories[pointer.memory] = getattr(at, f"fetch_{op}")(*data)
    else:
        walk.memories[pointer.memory] = getattr(at, {"and": "and_", "or": "or_"}.get(op, op))(*data)
        return Null(types.VOID)
    return values.bits(values.held(held, old), what.of)
