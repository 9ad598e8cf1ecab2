"""Places: what an lvalue of C names: a variable, a part of one, or an element of a memory."""

import dataclasses
from typing import Any, TypeAlias

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.lowering import constants, extents, memories, nulls, parts, presence, registers, statics, unions
from xeemu.frontends.lowering.walk import Key, Walk
from xeemu.frontends.tree import Binary, Braced, Cast, Evaluate, Expression, Member, Name, Subscript, Swizzle, Unary
from xeemu.frontends.types import Type
from xeemu.frontends.values import (
    ArrayValue,
    Data,
    Either,
    Fields,
    Null,
    Number,
    Pointing,
    RegisterAddress,
    Value,
)
from xeemu.language.interface import Retrace


@dataclasses.dataclass(frozen=True, eq=False)
class Slot:
    """A variable in registers, or a part of it: names of fields, numbers of elements, tuples of components."""

    key: Key
    path: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Cell:
    """An element of a memory."""

    pointer: Pointing


@dataclasses.dataclass(frozen=True, eq=False)
class Lanes:
    """Components of a vector in a memory, in the order given."""

    pointer: Pointing
    vector: types.Vector
    components: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Temporary:
    """A value that has no place to be written; `pointer` points to it if it is of a constant."""

    value: Value
    pointer: Value | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Chosen:
    """One of two places, by work-item."""

    condition: Data
    then: "Spot"
    otherwise: "Spot"


Spot: TypeAlias = Slot | Cell | Lanes | Temporary | Chosen


def of(walk: Walk, node: Expression, accessed: bool = True) -> Spot:
    """The place that an expression names; of what is no lvalue a temporary one.

    Args:
      walk: the walk.
      node: the expression.
      accessed: True if more than its address is asked for, which may be that of the end of an array.
    """
    match node:
        case Name():
            return _of_variable(walk, node)
        case Subscript():
            return _element(walk, node, accessed)
        case Unary(type=to, op="*", operand=operand):
            return behind(walk, walk.evaluate(operand), to)
        case Member(base=base, arrow=arrow):
            whole = behind(walk, walk.evaluate(base), _pointee(base)) if arrow else of(walk, base, accessed)
            return _field(walk, whole, node, _pointee(base) if arrow else base.type)
        case Swizzle(base=base, components=components):
            return _lanes(walk, of(walk, base), base.type, components, node.type)
        case Cast(operand=operand) if operand.type == node.type:
            return of(walk, operand)
        case Binary(op=",", left=left, right=right):
            walk.evaluate(left, False)
            return of(walk, right)
        case Braced(block=block):
            *before, last = block.statements
            for statement in before:
                walk.execute(statement)
            assert isinstance(last, Evaluate)
            return of(walk, last.expression)
    return Temporary(walk.evaluate(node))


def _pointee(node: Expression) -> Type:
    assert isinstance(node.type, types.Pointer)
    return node.type.pointee


def _of_variable(walk: Walk, node: Name) -> Spot:
    key = walk.key(node.variable)
    if key in walk.bindings:
        return Slot(key)
    if (memory := memories_key(walk, node)) is not None:
        space = walk.layouts[memory].space
        of = types.Pointer(node.type, space, volatile=node.variable.volatile)
        return Cell(Pointing(of, memory, values.constant(0, types.INT)))
    if node.variable.space != "constant" and not statics.belongs(walk.program, node.variable):
        raise walk.refuse(
            f"{node.variable.name} is no variable of the kernel and no constant; make it const, or give the kernel a "
            "copy"
        )
    if isinstance(node.type, types.Pointer):
        given = node.variable.initializer
        return Temporary(Null(node.type) if given is None else arithmetic.converted(walk.evaluate(given), node.type))
    return Temporary(constants.value(walk, node.variable), constants.start(walk, node.variable))


def memories_key(walk: Walk, node: Name) -> Any:
    """The key of the memory that a variable is, or None."""
    return node.variable if node.variable in walk.memories else None


def _element(walk: Walk, node: Subscript, accessed: bool) -> Spot:
    base, index = node.base, node.index
    if isinstance(index.type, types.Pointer | types.Array):
        base, index = index, base
    if isinstance(base.type, types.Vector):
        at = walk.evaluate(index)
        assert isinstance(at, Number)
        if accessed:
            extents.check(walk, node, at)
        return _component(walk, of(walk, base), base.type, at)
    pointer, number = walk.evaluate(base), walk.evaluate(index)
    assert isinstance(number, Number)
    if accessed:
        extents.check(walk, node, number)
    if isinstance(pointer, ArrayValue):  # an array that is no variable, as one of pointers that a kernel is given
        return Temporary(parts.element_of(pointer.items, number))
    return behind(walk, advanced(walk, pointer, number, node.type.size), node.type)


def _component(walk: Walk, whole: Spot, vector: types.Vector, number: Number) -> Spot:
    """A component of a vector by its number, which may differ between work-items."""
    element, count = vector.element, vector.count
    if number.known:
        if not 0 <= number.python < count:
            raise walk.refuse(f"component {number.python} of a vector of {count}")
        return _lanes(walk, whole, vector, (int(number.python),), element)
    if isinstance(whole, Cell):
        return behind(walk, advanced(walk, whole.pointer, number, element.size), element)
    found = _lanes(walk, whole, vector, (count - 1,), element)
    for k in reversed(range(count - 1)):
        at = arithmetic.binary("==", number, values.constant(k, number.type), types.INT)
        assert isinstance(at, Number)
        found = Chosen(values.truth(at), _lanes(walk, whole, vector, (k,), element), found)
    return found


def advanced(walk: Walk, pointer: Value, by: Number, size_bytes: int, sign: int = 1) -> Value:
    """A pointer some steps of `size_bytes` further, or back."""
    if sign < 0:
        by = values.converted(by, types.LONG if by.type.size == 8 else types.INT)
        by = arithmetic.negated(by)
    match pointer:
        case Pointing():
            return memories.moved(walk, pointer, by, size_bytes)
        case Either(type=to, condition=condition, then=a, otherwise=b):
            # Nobody goes on from the null pointer.
            sides = [x if isinstance(x, Null) else advanced(walk, x, by, size_bytes) for x in (a, b)]
            return Either(to, condition, *sides)
        case RegisterAddress() if isinstance(pointer.type.pointee, types.Opaque):
            return _event(walk, pointer, by)
        case RegisterAddress() if by.known and by.python == 0:
            return pointer
        case RegisterAddress(path=(*outer, Number() as at)):
            further = _further(walk, pointer, at, by, size_bytes)
            _check_known(walk, pointer, tuple(outer), further)
            return dataclasses.replace(pointer, path=(*outer, further))
        case RegisterAddress():
            return _stepped(walk, pointer, by)
        case constants.Table():
            return constants.advanced(pointer, by, size_bytes)
    return advanced(walk, nulls.place(walk, pointer), by, size_bytes)


def derived(walk: Walk, pointer: Value, to: types.Pointer, path: list[str]) -> Value:
    """A pointer to a base class of C++ as one to the class that has it by the fields of a path."""
    match pointer:
        case Pointing():
            offset, of = 0, to.pointee
            for name in path:
                assert isinstance(of, types.Record)
                offset, of = offset + of.field(name).offset, of.field(name).type
            return memories.further(walk, pointer, -offset, to.pointee)
        case RegisterAddress(path=whole) if whole[-len(path) :] == tuple(path):
            return dataclasses.replace(pointer, type=to, path=whole[: -len(path)])
        case Either(condition=condition, then=a, otherwise=b):
            return Either(to, condition, derived(walk, a, to, path), derived(walk, b, to, path))
        case Null():
            return Null(to)
    raise walk.refuse(f"a pointer to a part of another object than a {to.pointee}")


def _event(walk: Walk, pointer: RegisterAddress, by: Number) -> Value:
    """The address of an event some further in its array; of one that is not known, the address of any of them."""
    if not pointer.path and by.known and by.python == 0:
        return pointer
    if not pointer.path:
        raise walk.refuse("arithmetic on the address of an event that is no array; declare an array")
    *path, first = pointer.path
    if by.known and first is not None:
        return dataclasses.replace(pointer, path=(*path, first + int(by.python)))
    variable, count = pointer.variable[1], getattr(pointer.variable[1].type, "count", 0)
    if first is None or by.uniform or not isinstance(variable.type, types.Array):
        return dataclasses.replace(pointer, path=(*path, None))
    each = [dataclasses.replace(pointer, path=(*path, k)) for k in range(count)]
    found: Value = each[-1]
    for k, one in reversed(list(enumerate(each[:-1]))):
        at = arithmetic.binary("==", by, values.constant(k - first, by.type), types.INT)
        assert isinstance(at, Number)
        found = composites.selected(values.truth(at), one, found)
    return found


def _further(walk: Walk, pointer: RegisterAddress, at: Number, by: Number, size_bytes: int) -> Number:
    """The number of an element some steps further."""
    if size_bytes != pointer.type.pointee.size:
        if registers.is_promoted(walk, pointer.variable):
            raise registers.give_up(pointer.variable)
        raise walk.refuse("an array in registers is accessed as another type than its own; copy it to a variable first")
    total = arithmetic.binary("+", values.converted(at, types.INT), values.converted(by, types.INT), types.INT)
    assert isinstance(total, Number)
    return dataclasses.replace(total, given=at.given or by.given)


def _check_known(walk: Walk, pointer: RegisterAddress, outer: tuple[Any, ...], at: Number) -> None:
    """Has an array of numbers held in a memory if an element of it is not known to compilers, or lies outside."""
    if registers.is_promoted(walk, pointer.variable):
        whole = parts.picked(walk.read(pointer.variable), outer)
        if not at.known or at.given or not isinstance(whole, ArrayValue) or not 0 <= at.python < len(whole.items):
            raise registers.give_up(pointer.variable)


def behind(walk: Walk, pointer: Value, to: Type) -> Spot:
    """The place that a pointer points to."""
    match pointer:
        case Pointing():
            return Cell(dataclasses.replace(pointer, type=dataclasses.replace(pointer.type, pointee=to)))
        case RegisterAddress(variable=variable, path=path):
            return Slot(variable, path)
        case Either(condition=condition, then=a, otherwise=b):
            return Chosen(condition, behind(walk, a, to), behind(walk, b, to))
        case constants.Table():
            return Temporary(constants.looked_up(walk, pointer, to), pointer)
    return behind(walk, nulls.place(walk, pointer), to)


def _stepped(walk: Walk, pointer: RegisterAddress, by: Number) -> Value:
    """A pointer to a component of a vector in registers, some further."""
    *outer, last = pointer.path or (None,)
    if isinstance(last, tuple) and len(last) == 1 and by.known:
        return dataclasses.replace(pointer, path=(*outer, (last[0] + int(by.python),)))
    raise walk.refuse(
        "arithmetic on the address of a variable that is no array; declare an array, or assign the value to one"
    )


def _field(walk: Walk, whole: Spot, node: Member, record: Type) -> Spot:
    assert isinstance(record, types.Record)
    field = record.field(node.name)
    if record.union and isinstance(whole, Slot | Temporary) and (reason := unions.unreadable(record, field.name)):
        raise walk.refuse(reason)
    match whole:
        case Cell(pointer):
            return Cell(memories.field(walk, pointer, field))
        case Slot(key, path):
            return Slot(key, (*path, field.name))
        case Temporary(value):
            return Temporary(parts.picked(value, (field.name,)))
        case Chosen(condition, a, b):
            return Chosen(condition, _field(walk, a, node, record), _field(walk, b, node, record))
    raise walk.refuse(f"a field {field.name} of components of a vector")


def _lanes(walk: Walk, whole: Spot, vector: Type, components: tuple[int, ...], to: Type) -> Spot:
    assert isinstance(vector, types.Vector)
    match whole:
        case Cell(pointer) if len(components) == 1:
            return Cell(memories.further(walk, pointer, components[0] * vector.element.size, to))
        case Cell(pointer):
            return Lanes(pointer, vector, components)
        case Lanes(pointer, outer, inner):
            chosen = tuple(inner[k] for k in components)
            return _lanes(walk, Cell(pointer), outer, chosen, to)
        case Slot(key, path):
            return Slot(key, (*path, components))
        case Temporary(value):
            return Temporary(parts.picked(value, (components,)))
        case Chosen(condition, a, b):
            sides = [_lanes(walk, side, vector, components, to) for side in (a, b)]
            return Chosen(condition, *sides)
    raise AssertionError(whole)


def read(walk: Walk, spot: Spot) -> Value:
    """The value at a place."""
    match spot:
        case Slot(key, path):
            _check_given(walk, key)
            value = parts.picked(walk.read(key), path)
            if registers.is_promoted(walk, key) and registers.is_unset(value) and not isinstance(value, Fields):
                raise registers.give_up(key)
            return value  # of a record that is copied some fields may have none
        case Cell(pointer):
            return memories.load(walk, pointer, pointer.type.pointee)
        case Lanes(pointer, vector, components):
            return _read_lanes(walk, pointer, vector, components)
        case Temporary(value):
            return value
        case Chosen(condition, a, b):
            found: list[Value] = []
            walk.under(condition, lambda: found.append(read(walk, a)))
            first = found.pop() if found else None
            walk.under(values.negation(condition), lambda: found.append(read(walk, b)))
            second = found.pop() if found else None
            if first is None or second is None:
                return first or second or Null(types.VOID)
            return composites.selected(condition, first, second)


def _read_lanes(walk: Walk, pointer: Pointing, vector: types.Vector, components: tuple[int, ...]) -> Value:
    """Some components of a vector in a memory; of a private one no others are loaded, which need not have a value."""
    if pointer.type.space != "private" or len(set(components)) == vector.count:
        return parts.picked(memories.load(walk, pointer, vector), (components,))
    of = vector.element
    found = {k: memories.load(walk, memories.further(walk, pointer, k * of.size, of), of) for k in components}
    numbers = [number for k in components for number in composites.leaves(found[k])]
    return composites.assembled(types.Vector(of, len(components)), numbers)


def _check_given(walk: Walk, key: Key) -> None:
    """Has a number or vector that is read and was given no value held in a memory, where such reads are found."""
    presence.read(walk, key[1])
    match walk.bindings[key].value:
        case Null(type=types.Scalar() as of) | Null(type=types.Vector(element=of)):
            raise Retrace(key[1], of.size)


def write(walk: Walk, spot: Spot, value: Value) -> None:
    """Gives a place a value, in the active work-items."""
    match spot:
        case Slot(key, path):
            if registers.is_promoted(walk, key) and not _is_settable(walk, key, path, value):
                raise registers.give_up(key)
            value = registers.held(walk, key[1], value)
            walk.assign(key, parts.put(walk.read(key) if path else value, path, value))
            presence.assigned(walk, key[1])
        case Cell(pointer):
            memories.store(walk, pointer, value, pointer.type.pointee)
        case Lanes(pointer, vector, components):
            element = vector.element
            for k, number in zip(components, composites.leaves(value), strict=True):
                memories.store(walk, memories.further(walk, pointer, k * element.size, element), number, element)
        case Chosen(condition, a, b):
            walk.under(condition, lambda: write(walk, a, value))
            walk.under(values.negation(condition), lambda: write(walk, b, value))
        case Temporary():
            raise walk.refuse("what is assigned to is no variable; program-scope constants cannot be changed")


def _is_settable(walk: Walk, key: Key, path: tuple[Any, ...], value: Value) -> bool:
    """True if it stays clear what parts of an element in registers have a value, after the active ones gave it one."""
    if not registers.is_unset(parts.picked(walk.read(key), path)) and not registers.is_unset(value):
        return True
    return not (path and isinstance(path[-1], tuple)) and walk.is_whole(key)


def address(walk: Walk, spot: Spot, of_type: types.Pointer) -> Value:
    """A pointer to a place."""
    match spot:
        case Slot(key, path):
            return RegisterAddress(of_type, key, path)
        case Cell(pointer):
            return Pointing(of_type, pointer.memory, pointer.offset)
        case Chosen(condition, a, b):
            return Either(of_type, condition, address(walk, a, of_type), address(walk, b, of_type))
        case Temporary(value) if isinstance(value, constants.Table):
            return value
        case Temporary(pointer=pointer) if pointer is not None:
            return pointer
    raise walk.refuse("the address of what has none; assign it to a variable first")
