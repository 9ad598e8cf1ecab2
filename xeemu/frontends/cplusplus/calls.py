"""Calls: of functions, methods, operators and conversions, those of one expression read in their place."""

from xeemu.frontends import callees, refusals, tree, types
from xeemu.frontends.cplusplus import arguments, constructors, copies, substitution, virtuals
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.lvalues import (
    address,
    converted,
    dereferenced,
    is_lvalue,
    is_simple,
    lvalue,
    materialized,
    temporary,
)
from xeemu.frontends.cplusplus.records import is_reference
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.literals import number
from xeemu.frontends.tree import Expression, SourceLocation

_METHODS = ("CXX_METHOD", "CONVERSION_FUNCTION")
_SAME = ("move", "forward", "move_if_noexcept", "as_const", "addressof", "__addressof")
"""Functions of the standard library that clang knows without their bodies: each gives a reference to its argument."""


def read(body: Body, cursor: Cursor) -> Expression:
    """A call, as the value or lvalue that it gives."""
    place, callee = body.at(cursor), cursor.referenced
    kind = clang.kind(callee) if callee is not None else ""
    if kind == "CONSTRUCTOR":
        return constructors.called(body, cursor, callee, place)
    if kind == "DESTRUCTOR":
        return _ended(body, cursor, place)
    if kind not in (*_METHODS, "FUNCTION_DECL"):
        return _pointed(body, cursor, place)
    if callee.spelling == "operator=" and constructors.is_implicit(callee):
        target, value = (body.read(a) for a in cursor.get_arguments())
        if not is_lvalue(value) and ends(body, value.type):
            value = materialized(value)
        value = converted(value, target.type)
        if _copies(callee):
            value = copies.assigned(body, value, callee.semantic_parent.type)
        return tree.Assignment(target.type, place, "", lvalue(target), value)
    made = _direct(body, cursor, callee, place)
    return dereferenced(made) if is_reference(callee.result_type) else made


def ends(body: Body, of: types.Type) -> bool:
    """True if something may be done at the end of an object."""
    return any(name in body.records.ending for name in types.classes(of))


def _ended(body: Body, cursor: Cursor, place: SourceLocation) -> Expression:
    """A call of a destructor."""
    pointer = _object(body, clang.children(cursor)[0])
    assert isinstance(pointer.type, types.Pointer)
    if ends(body, pointer.type.pointee):
        return tree.Call(types.VOID, place, callees.DESTROY, (pointer,), None)
    return tree.Cast(types.VOID, place, tree.Constant(types.INT, place, 0))


def _copies(operator: Cursor) -> bool:
    """True if an assignment copies, rather than moves."""
    (parameter,) = operator.type.get_canonical().argument_types()
    return bool(parameter.kind.name == "LVALUEREFERENCE")


def _direct(body: Body, cursor: Cursor, callee: Cursor, place: SourceLocation) -> Expression:
    """A call of a function, method or operator that is known."""
    known = clang.evaluated(cursor) if callee.spelling.startswith("__builtin_") else None
    of = body.records.type(callee.result_type, cursor, place)
    if known is not None and isinstance(of, types.Scalar):
        return number(of, place, known)
    function = body.function(callee)
    if function is not None and callee.type.is_function_variadic():
        raise refusals.at(place, f"{callee.spelling} takes any number of arguments by `...`; write a variadic template")
    taken = _arguments(body, cursor, callee)
    if function is None and callee.spelling in _SAME and callee.semantic_parent.spelling == "std":
        return taken[0]
    if virtuals.is_chosen(cursor, callee):
        return tree.Call(of, place, callees.VIRTUAL, (virtuals.callee(body, callee), *taken), None)
    whole = _given_object(taken[0], callee) if taken else None
    own = None if whole is None else body.method(callee, whole)
    if own is not None:
        function, taken = own, taken[1:]
    return substitution.called(callee.spelling, of, place, taken, function)


def _pointed(body: Body, cursor: Cursor, place: SourceLocation) -> Expression:
    """A call through a pointer to a function."""
    first = clang.children(cursor)[0]
    of = first.type.get_canonical()
    of = of if of.kind.name == "FUNCTIONPROTO" else of.get_pointee().get_canonical()
    if of.kind.name != "FUNCTIONPROTO":
        raise refusals.at(place, "a call through a pointer; call the functions by name, chosen by if or switch")
    pointer = body.read(first)
    result, given = of.get_result(), list(cursor.get_arguments())
    taken = arguments.given_to(body, given, list(of.argument_types()), None)
    type_ = body.records.type(result, cursor, place)
    if isinstance(pointer, tree.Callee):
        made = substitution.called(pointer.name, type_, place, taken, pointer.read())
    else:
        made = tree.Call(type_, place, callees.POINTED, (pointer, *taken), None)
    return dereferenced(made) if is_reference(result) else made


def _given_object(first: Expression, callee: Cursor) -> Expression | None:
    """The object whose method is called, where it is given by its fields, as the object of a kernel is."""
    if clang.kind(callee) != "CXX_METHOD" or callee.spelling != "operator()" or not isinstance(first, tree.Unary):
        return None
    whole = temporary(first.operand) or first.operand
    return whole if isinstance(whole, tree.Initializer) and is_simple(whole) else None


def _arguments(body: Body, cursor: Cursor, callee: Cursor) -> list[Expression]:
    """The arguments as the parameters take them; of a method the object's address is the first."""
    given = list(cursor.get_arguments())
    parameters = list(callee.type.get_canonical().argument_types())
    found: list[Expression] = []
    if clang.kind(callee) in _METHODS:
        members = [c for c in clang.children(cursor)[:1] if _names_method(c)]
        if members:
            found += [] if callee.is_static_method() else [_of_class_of(body, callee, _object(body, members[0]))]
        elif len(given) == len(parameters) + 1:  # an operator's first operand
            first = given.pop(0)
            found += [] if callee.is_static_method() else [_address_of(body, first)]
    return [*found, *arguments.given_to(body, given, parameters, callee)]


def _names_method(cursor: Cursor) -> bool:
    """True if an expression is a method of an object, rather than a member whose operator is called."""
    if clang.kind(cursor) != "MEMBER_REF_EXPR":
        return False
    return cursor.referenced is None or clang.kind(cursor.referenced) != "FIELD_DECL"


def _object(body: Body, cursor: Cursor) -> Expression:
    """The address of the object whose method is called; behind the method's name are its template's arguments."""
    parts = [c for c in clang.children(cursor) if clang.begins_with(cursor, c)]
    if not parts:
        body.at(cursor)
        return address(body.object())
    value = body.read(parts[-1])
    return value if isinstance(value.type, types.Pointer) else address(lvalue(value))


def _of_class_of(body: Body, callee: Cursor, pointer: Expression) -> Expression:
    """The address of an object as that of the part whose method is called: a base class, if it is one's."""
    parent = callee.semantic_parent
    of = body.records.type(parent.type.get_canonical(), parent, body.place)
    return converted(pointer, types.Pointer(of, "generic"))


def _address_of(body: Body, cursor: Cursor) -> Expression:
    return address(lvalue(body.read(cursor)))
