"""Arguments: what a call gives to the parameters of a function."""

from typing import Any

from xeemu.frontends import refusals, types
from xeemu.frontends.cplusplus import initializers
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.lvalues import address, converted, lvalue
from xeemu.frontends.cplusplus.records import is_reference
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression


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
        return body.read(cursor)
    of = body.records.type(to, cursor, body.at(cursor))
    if is_reference(to):
        assert isinstance(of, types.Pointer)
        return _bound(body, cursor, of)
    return initializers.of_type(body, cursor, of)


def _bound(body: Body, cursor: Cursor, of: types.Pointer) -> Expression:
    """What a parameter that is a reference is bound to."""
    value = lvalue(body.read(cursor))
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
