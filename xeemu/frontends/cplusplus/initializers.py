"""Initializers: what a variable or member is first: values, lists in braces, defaults."""

from typing import Any

from xeemu.frontends import tree, types
from xeemu.frontends.cplusplus import expressions, objects
from xeemu.frontends.cplusplus.bases import base_name
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.lvalues import address, converted, copied, is_lvalue
from xeemu.frontends.cplusplus.records import is_reference
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.literals import number
from xeemu.frontends.tree import Expression, Place
from xeemu.frontends.types import Type


def value(body: Body, cursor: Cursor, declared: Cursor) -> Expression:
    """The first value of a variable or field; of a reference the address of what it refers to."""
    of = body.type(declared)
    if is_reference(declared.type):
        assert isinstance(of, types.Pointer)
        return address(expressions.read(body, cursor), of)
    return of_type(body, cursor, of)


def of_type(body: Body, cursor: Cursor, of: Type, declared: Any = None) -> Expression:
    """The first value of something of a type, as an expression or a list in braces.

    `declared` is clang's type of it where it is an item of a list: of that the parser tells no constructor.
    """
    from xeemu.frontends.cplusplus import copies

    if clang.kind(cursor) == "INIT_LIST_EXPR" and isinstance(of, types.Record | types.Array | types.Vector):
        return listed(body, cursor, of, declared)
    read = expressions.read(body, cursor)
    if isinstance(of, types.Array) and isinstance(read, tree.Text):
        codes = [*read.value.encode("latin-1", "replace"), 0][: of.count]
        return tree.Initializer(of, read.place, tuple(number(of.element, read.place, c) for c in codes))
    if isinstance(of, types.Array):
        return copied(read)
    made = converted(read, of)
    return copies.copied(body, made, declared) if declared is not None and is_lvalue(made) else made


def listed(body: Body, cursor: Cursor, of: Type, declared: Any = None) -> Expression:
    """A list in braces; what it leaves out has its default."""
    from xeemu.frontends.cplusplus import braces

    place = body.at(cursor)
    parts = clang.children(cursor)
    inner = declared is not None
    declared = declared if inner else cursor.type.get_canonical()
    if len(parts) == 1 and isinstance(of, types.Record) and expressions.type_of(body, parts[0]) == of:
        return expressions.read(body, parts[0])
    if isinstance(of, types.Vector):
        return tree.Initializer(of, place, tuple(expressions.read(body, c) for c in parts))
    if inner and isinstance(of, types.Record) and braces.is_constructed(body, declared, of):
        return braces.made(body, parts, declared, of, cursor)
    left = list(parts)
    return _filled(body, left, of, declared, place)


def _filled(body: Body, left: list[Cursor], of: Type, declared: Any, place: Place) -> Expression:
    """An array or record (its type of ours and of clang's) of the next items of a list, which are taken from it."""
    from xeemu.frontends.cplusplus import defaults

    if isinstance(of, types.Array):
        items: list[Expression] = []
        while left and len(items) < of.count:
            items.append(_next(body, left, of.element, declared.element_type, place))
        if len(items) < of.count and isinstance(of.element, types.Record):
            rest = defaults.made(body, declared.element_type, of.element)
            items += [] if rest is None else [rest] * (of.count - len(items))
        return tree.Initializer(of, place, tuple(items))
    assert isinstance(of, types.Record)
    given: dict[str, Expression] = {}
    inner = _parts(body, declared, place) if left else {}
    for field in of.fields:
        if left and (name := _designated(left[0])) and name != field.name:
            continue
        if left:
            given[field.name] = _next(body, left, field.type, inner[field.name], place)
    if of.union:
        name, item = next(iter(given.items()), ("", None))
        return tree.Initializer(of, place, () if item is None else (item,), name)
    if len(given) == len(of.fields):
        return tree.Initializer(of, place, tuple(given.values()))
    named = frozenset(given)
    return objects.made(of, place, lambda whole: defaults.members(body.within(whole), declared, of, named) | given)


def _designated(cursor: Cursor) -> str:
    """The field that an item of a list names."""
    if clang.kind(cursor) != "UNEXPOSED_EXPR":
        return ""
    first = next(iter(cursor.get_children()), None)
    return first.spelling if first is not None and clang.kind(first) == "MEMBER_REF" else ""


def _parts(body: Body, declared: Any, place: Place) -> dict[str, Any]:
    """The types (clang's) of a class's bases and fields by their names."""
    bases = body.records.bases.of(declared.get_declaration(), place)
    return {base_name(b): b for b in bases} | {f.spelling: f.type.get_canonical() for f in declared.get_fields()}


def _next(body: Body, left: list[Cursor], of: Type, declared: Any, place: Place) -> Expression:
    from xeemu.frontends.cplusplus import braces

    first = left[0]
    if _designated(first):
        left.pop(0)
        return of_type(body, clang.children(first)[-1], of, declared)
    aggregate = isinstance(of, types.Array | types.Record)
    own = expressions.type_of(body, first) if aggregate and clang.kind(first) != "INIT_LIST_EXPR" else of
    if own != of and isinstance(of, types.Record) and braces.is_constructed(body, declared, of):
        return braces.made(body, [left.pop(0)], declared, of, first)
    if aggregate and isinstance(own, types.Scalar | types.Pointer):  # its braces are left out
        return _filled(body, left, of, declared, place)
    return of_type(body, left.pop(0), of, declared)
