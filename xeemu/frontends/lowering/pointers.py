"""Pointers: their sums, differences and comparisons."""

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.lowering import addresses, memories, nulls, places, truths
from xeemu.frontends.lowering.constants import Table
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Binary
from xeemu.frontends.values import Data, Either, Null, Number, Pointing, RegisterAddress, Value


def computed(walk: Walk, node: Binary, a: Value, b: Value) -> Value:
    """An operation of two values one of which is a pointer."""
    if isinstance(node.type, types.Pointer) and node.op in ("+", "-"):
        if isinstance(a, Number):
            a, b = b, a
        assert isinstance(b, Number)
        return places.advanced(walk, a, b, node.type.pointee.size, 1 if node.op == "+" else -1)
    return _related(walk, node, a, b)


def _related(walk: Walk, node: Binary, a: Value, b: Value) -> Value:
    """The difference of two pointers, or how they compare; of those that are one of two, of what they are."""
    if isinstance(a, Either) or isinstance(b, Either):
        either = a if isinstance(a, Either) else b
        assert isinstance(either, Either)
        pairs = [(side, b) if either is a else (a, side) for side in (either.then, either.otherwise)]
        # Pointers into different memories have no distance: nobody asks for it.
        found = [_related(walk, node, x, y) for x, y in pairs if node.op in ("==", "!=") or _has_distance(x, y)]
        if found:
            return composites.selected(either.condition, *found) if len(found) == 2 else found[0]
    if _has_distance(a, b):
        return _distance(walk, node, a, b)
    if node.op not in ("==", "!="):
        if node.op == "-" or not (nulls.is_null(walk, a) or nulls.is_null(walk, b)):
            raise walk.refuse(f"{node.op} of pointers into different memories, or of null")
        first, second = (addresses.of(walk, p, types.LONG) for p in (a, b))
        return arithmetic.binary(node.op, first, second, types.INT)
    equal = _is_same(walk, a, b)
    return values.of_truth(equal if node.op == "==" else values.negation(equal))


def _has_distance(a: Value, b: Value) -> bool:
    """True if two pointers point into one memory or array."""
    match a, b:
        case (Either(then=x, otherwise=y), other) | (other, Either(then=x, otherwise=y)):
            return _has_distance(x, other) or _has_distance(y, other)
        case Pointing(), Pointing():
            return a.memory == b.memory
        case Table(), Table():
            return a.numbers is b.numbers
        case RegisterAddress(path=(*_, Number())), RegisterAddress(path=(*_, Number())):
            return (a.variable, composites.steady(a.path)) == (b.variable, composites.steady(b.path))
    return False


def _distance(walk: Walk, node: Binary, a: Value, b: Value) -> Value:
    """The difference of two pointers into one memory or array, or how they compare."""
    first, second = (values.converted(_offset(p), types.INT) for p in (a, b))
    if node.op in arithmetic.COMPARISONS:
        return arithmetic.binary(node.op, first, second, types.INT)
    elements = arithmetic.binary("-", first, second, types.INT)
    step = values.constant(_step_size(walk, a), types.INT)
    return arithmetic.converted(arithmetic.binary("/", elements, step, types.INT), node.type)


def _offset(pointer: Value | Table) -> Number:
    return pointer.offset if isinstance(pointer, Table) else composites.leaves(pointer)[-1]


def _step_size(walk: Walk, pointer: Value | Table) -> int:
    """By how much the offset of a pointer changes where it goes on by one."""
    match pointer:
        case Pointing(type=of, memory=memory):
            return memories.units(walk, memory, of.pointee.size)
        case Table(type=of):
            return len(types.scalars(of.element if isinstance(of, types.Array) else of))
    return 1


def _is_same(walk: Walk, a: Value, b: Value) -> Data:
    """Where two pointers without a distance are equal."""
    for pointer in (a, b):
        nulls.check_given(walk, pointer, "tested")
    if isinstance(a, Null | Number) or isinstance(b, Null | Number):
        other = b if isinstance(a, Null | Number) else a
        return values.negation(truths.of(walk, other))
    if isinstance(a, Pointing) and isinstance(b, Pointing):
        return values.np.bool_(nulls.is_null(walk, a) and nulls.is_null(walk, b))
    if isinstance(a, RegisterAddress) and isinstance(b, RegisterAddress):
        return values.np.bool_((a.variable, composites.steady(a.path)) == (b.variable, composites.steady(b.path)))
    return values.np.bool_(False)
