"""Calls: of functions, methods, operators and conversions, those of one expression read in their place."""

from typing import Any

from xeemu.frontends import callees, refusals, tree, types
from xeemu.frontends.cplusplus import constructors, copies, expressions, initializers, substitution, virtuals
from xeemu.frontends.cplusplus.bodies import NOWHERE, Body
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
from xeemu.frontends.functions import Function
from xeemu.frontends.parsing import clang, substitutes
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.literals import number
from xeemu.frontends.tree import Expression, SourceLocation

_METHODS = ("CXX_METHOD", "CONVERSION_FUNCTION")
_KEPT = ("launch", "launch_task", "kernel_body", "task_body")
"""Functions of our headers of which a call stays one: the host's code says there what it submits."""

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
        target, value = (expressions.read(body, a) for a in cursor.get_arguments())
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
    arguments = _arguments(body, cursor, callee)
    if function is None and callee.spelling in _SAME and callee.semantic_parent.spelling == "std":
        return arguments[0]
    if virtuals.is_chosen(cursor, callee):
        return tree.Call(of, place, callees.VIRTUAL, (virtuals.callee(body, callee), *arguments), None)
    whole = _given_object(arguments[0], callee) if arguments else None
    own = None if whole is None else body.method(callee, whole)
    if own is not None:
        function, arguments = own, arguments[1:]
    return called(callee.spelling, of, place, arguments, function)


def _pointed(body: Body, cursor: Cursor, place: SourceLocation) -> Expression:
    """A call through a pointer to a function."""
    first = clang.children(cursor)[0]
    of = first.type.get_canonical()
    of = of if of.kind.name == "FUNCTIONPROTO" else of.get_pointee().get_canonical()
    if of.kind.name != "FUNCTIONPROTO":
        raise refusals.at(place, "a call through a pointer; call the functions by name, chosen by if or switch")
    pointer = expressions.read(body, first)
    result, given = of.get_result(), list(cursor.get_arguments())
    arguments = given_to(body, given, list(of.argument_types()), None)
    type_ = body.records.type(result, cursor, place)
    if isinstance(pointer, tree.Callee):
        made = called(pointer.name, type_, place, arguments, pointer.read())
    else:
        made = tree.Call(type_, place, callees.POINTED, (pointer, *arguments), None)
    return dereferenced(made) if is_reference(result) else made


def _given_object(first: Expression, callee: Cursor) -> Expression | None:
    """The object whose method is called, where it is given by its fields, as the object of a kernel is."""
    if clang.kind(callee) != "CXX_METHOD" or callee.spelling != "operator()" or not isinstance(first, tree.Unary):
        return None
    whole = temporary(first.operand) or first.operand
    return whole if isinstance(whole, tree.Initializer) and is_simple(whole) else None


def called(
    name: str, of: types.Type, place: SourceLocation, arguments: list[Expression], function: Function | None
) -> Expression:
    """A call; one of a function of our headers that is one expression is that expression."""
    if function is None and name.startswith("__builtin_"):
        return substitutes.call(name, of, place, tuple(arguments))
    if function is not None and function.place == NOWHERE and name not in _KEPT:
        expanded = _expanded(name, function, arguments, place)
        if expanded is not None:
            return expanded
    return tree.Call(of, place, name, tuple(arguments), function)


def _expanded(name: str, function: Function, arguments: list[Expression], place: SourceLocation) -> Expression | None:
    try:
        return substitution.expanded(function, arguments, place)
    except refusals.Unplaced as error:
        raise refusals.at(place, f"{name}: {error}") from None


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
    return [*found, *given_to(body, given, parameters, callee)]


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
    value = expressions.read(body, parts[-1])
    return value if isinstance(value.type, types.Pointer) else address(lvalue(value))


def _of_class_of(body: Body, callee: Cursor, pointer: Expression) -> Expression:
    """The address of an object as that of the part whose method is called: a base class, if it is one's."""
    parent = callee.semantic_parent
    of = body.records.type(parent.type.get_canonical(), parent, body.place)
    return converted(pointer, types.Pointer(of, "generic"))


def _address_of(body: Body, cursor: Cursor) -> Expression:
    return address(lvalue(expressions.read(body, cursor)))


def given_to(body: Body, given: list[Cursor], parameters: list[Any], callee: Cursor | None) -> list[Expression]:
    """Arguments as parameters (their types, of clang's) take them."""
    found = []
    for k, cursor in enumerate(given):
        to = parameters[k] if k < len(parameters) else None
        found.append(_argument(body, cursor, to, callee, k))
    return found


def _argument(body: Body, cursor: Cursor, to: Any, callee: Cursor | None, k: int) -> Expression:
    if clang.kind(cursor) == "UNEXPOSED_EXPR" and not clang.children(cursor) and not cursor.location.line:
        cursor = default(callee, k, body)
    if to is None:
        return expressions.read(body, cursor)
    of = body.records.type(to, cursor, body.at(cursor))
    if is_reference(to):
        assert isinstance(of, types.Pointer)
        return _bound(body, cursor, of)
    return initializers.of_type(body, cursor, of)


def _bound(body: Body, cursor: Cursor, of: types.Pointer) -> Expression:
    """What a parameter that is a reference is bound to."""
    value = lvalue(expressions.read(body, cursor))
    same = value.type == of.pointee or isinstance(value.type, types.Record | types.Array)
    return address(converted(value, of.pointee) if isinstance(value.type, types.Record) or not same else value)


def _pattern(callee: Cursor) -> Cursor | None:
    """The member of a class's template of which a function of an instance is made."""
    of = clang.template(callee.semantic_parent)
    members = [] if of is None else of.get_children()
    return next((c for c in members if c.location.int_data == callee.location.int_data), None)


def default(callee: Cursor, k: int, body: Body) -> Cursor:
    """The value that a parameter has where none is given."""
    definition = callee.get_definition() or callee
    for declared in (
        definition,
        callee,
        callee.canonical,
        getattr(callee, "specialized_template", None),
        _pattern(callee),
    ):
        if declared is None:
            continue
        parameters = [c for c in declared.get_children() if clang.kind(c) == "PARM_DECL"]
        values = (
            [c for c in clang.children(parameters[k]) if clang.kind(c) != "PARM_DECL"] if k < len(parameters) else []
        )
        if values:
            return values[-1]
    raise refusals.at(body.place, f"argument {k + 1} of {callee.spelling} has a default that is not found; write it")
