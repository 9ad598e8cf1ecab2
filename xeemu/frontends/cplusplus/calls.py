"""Calls: of functions, methods, operators, conversions and constructors, those of one expression read in their place."""

from typing import Any

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus import expressions, initializers, substitution
from xeemu.frontends.cplusplus.bodies import NOWHERE, Body, address, converted, dereferenced, lvalue
from xeemu.frontends.cplusplus.records import is_reference
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression, Function, Place

_METHODS = ("CXX_METHOD", "CONVERSION_FUNCTION")


def read(body: Body, cursor: Cursor) -> Expression:
    """A call, as the value or lvalue that it gives."""
    place, callee = body.at(cursor), cursor.referenced
    kind = clang.kind(callee) if callee is not None else ""
    if kind == "CONSTRUCTOR":
        return _constructed(body, cursor, callee, place)
    if kind not in (*_METHODS, "FUNCTION_DECL"):
        if kind == "DESTRUCTOR":
            return tree.Cast(types.VOID, place, tree.Constant(types.INT, place, 0))
        raise refusals.at(place, "a call through a pointer; call the functions by name, chosen by if or switch")
    if callee.spelling == "operator=" and _is_implicit(callee):
        target, value = (expressions.read(body, a) for a in cursor.get_arguments())
        return tree.Assignment(target.type, place, "", lvalue(target), converted(value, target.type))
    function = body.function(callee)
    arguments = _arguments(body, cursor, callee)
    if function is not None and arguments and (whole := _given_object(arguments[0], callee)) is not None:
        function, arguments = body.method(callee, whole), arguments[1:]
    result = callee.result_type
    of = body.records.type(result, cursor, place)
    made = called(callee.spelling, of, place, arguments, function)
    return dereferenced(made) if is_reference(result) else made


def _given_object(first: Expression, callee: Cursor) -> Expression | None:
    """The object whose method is called, where it is given by its fields, as the object of a kernel is."""
    if clang.kind(callee) != "CXX_METHOD" or callee.spelling != "operator()" or not isinstance(first, tree.Unary):
        return None
    whole = first.operand
    if isinstance(whole, tree.Braced):
        made = whole.block.statements[0]
        assert isinstance(made, tree.Declaration)
        whole = made.variables[0].initializer or whole
    return whole if isinstance(whole, tree.Initializer) and substitution.is_simple(whole) else None


def called(name: str, of: types.Type, place: Place, arguments: list[Expression], function: Function | None) -> Expression:
    """A call; one of a function of our headers that is one expression is that expression."""
    if function is not None and function.place == NOWHERE:
        expanded = substitution.expanded(function, arguments, place)
        if expanded is not None:
            return expanded
    return tree.Call(of, place, name, tuple(arguments), function)


def _arguments(body: Body, cursor: Cursor, callee: Cursor) -> list[Expression]:
    """The arguments as the parameters take them; of a method the object's address is the first."""
    given = list(cursor.get_arguments())
    parameters = list(callee.type.get_canonical().argument_types())
    found: list[Expression] = []
    if clang.kind(callee) in _METHODS:
        members = [c for c in clang.children(cursor)[:1] if clang.kind(c) == "MEMBER_REF_EXPR"]
        if members:
            found += [] if callee.is_static_method() else [_object(body, members[0])]
        elif len(given) == len(parameters) + 1:  # an operator's first operand
            first = given.pop(0)
            found += [] if callee.is_static_method() else [_address_of(body, first)]
    return [*found, *_given(body, given, parameters, callee)]


def _object(body: Body, cursor: Cursor) -> Expression:
    """The address of the object whose method is called."""
    parts = clang.children(cursor)
    if not parts:
        if body.this is None:
            raise refusals.at(body.at(cursor), "this, which a kernel cannot have; copy the members to variables first")
        return address(body.this)
    value = expressions.read(body, parts[-1])
    return value if isinstance(value.type, types.Pointer) else address(lvalue(value))


def _address_of(body: Body, cursor: Cursor) -> Expression:
    return address(lvalue(expressions.read(body, cursor)))


def _given(body: Body, given: list[Cursor], parameters: list[Any], callee: Cursor) -> list[Expression]:
    found = []
    for k, cursor in enumerate(given):
        to = parameters[k] if k < len(parameters) else None
        found.append(_argument(body, cursor, to, callee, k))
    return found


def _argument(body: Body, cursor: Cursor, to: Any, callee: Cursor, k: int) -> Expression:
    if clang.kind(cursor) == "UNEXPOSED_EXPR" and not clang.children(cursor) and not cursor.location.line:
        cursor = _default(callee, k, body)
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


def _default(callee: Cursor, k: int, body: Body) -> Cursor:
    """The value that a parameter has where none is given."""
    definition = callee.get_definition() or callee
    for declared in (definition, callee, callee.canonical, getattr(callee, "specialized_template", None)):
        if declared is None:
            continue
        parameters = [c for c in declared.get_children() if clang.kind(c) == "PARM_DECL"]
        values = [c for c in clang.children(parameters[k]) if clang.kind(c) != "PARM_DECL"] if k < len(parameters) else []
        if values:
            return values[-1]
    raise refusals.at(body.place, f"argument {k + 1} of {callee.spelling} has a default that is not found; write it")


def _constructed(body: Body, cursor: Cursor, callee: Cursor, place: Place) -> Expression:
    """An object that is made."""
    of = expressions.type_of(body, cursor)
    if isinstance(of, types.Array):
        element = _of_class(body, cursor, callee, of.element, place)
        return tree.Initializer(of, place, (element,) * of.count)
    return _of_class(body, cursor, callee, of, place)


def _of_class(body: Body, cursor: Cursor, callee: Cursor, of: types.Type, place: Place) -> Expression:
    given = list(cursor.get_arguments())
    if _is_implicit(callee) and (callee.is_copy_constructor() or callee.is_move_constructor()):
        return converted(expressions.read(body, given[0]), of)
    if _is_implicit(callee) and not given:
        return default(body, cursor, of, place)
    function = body.function(callee)
    arguments = _given(body, given, list(callee.type.get_canonical().argument_types()), callee)
    return called(str(of), of, place, arguments, function)


def default(body: Body, cursor: Cursor, of: types.Type, place: Place) -> Expression:
    """An object whose class has no constructor of its own."""
    if not isinstance(of, types.Record):
        return tree.Initializer(of, place, ())
    found = initializers.body_defaults(body, cursor.type, of)
    items = [found.get(f.name) or tree.Initializer(f.type, place, ()) for f in of.fields]
    if not found:
        return tree.Initializer(of, place, ())
    simple = [i if f.name in found else initializers.zero(f.type, place) for i, f in zip(items, of.fields, strict=True)]
    return tree.Initializer(of, place, tuple(simple))


def _is_implicit(callee: Cursor) -> bool:
    """Whether the compiler writes a function: its place is that of its class, or it is `= default`."""
    parent = callee.semantic_parent
    own, whole = callee.location, parent.location if parent is not None else None
    same = whole is not None and own.offset == whole.offset and own.line == whole.line
    return bool(same or callee.is_default_method())


