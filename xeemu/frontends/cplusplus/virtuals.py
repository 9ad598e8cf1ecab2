"""Virtuals: the virtual functions that the class of an object chooses when the program runs."""

from collections.abc import Iterator
from typing import Any

from xeemu.frontends import tree, types
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.records import is_reference
from xeemu.frontends.functions import Function
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.types import Type


def is_chosen(cursor: Cursor, callee: Cursor) -> bool:
    """True if the object's class, known at run time alone, chooses the function that a call is of."""
    if clang.kind(callee) != "CXX_METHOD" or not callee.is_virtual_method():
        return False
    named = clang.children(cursor)[0]
    inner = [c for c in clang.children(named) if clang.begins_with(named, c)]
    if _names_class(named):  # `Base::f()` is no other class's
        return False
    of = inner[-1].referenced if inner and clang.kind(inner[-1]) == "DECL_REF_EXPR" else None
    return of is None or is_reference(of.type) or of.type.get_canonical().kind.name == "POINTER"


def _names_class(named: Cursor) -> bool:
    return any(clang.kind(c) in ("TYPE_REF", "TEMPLATE_REF") for c in named.get_children())


def callee(body: Body, method: Cursor) -> tree.Callee:
    """A virtual function as a value."""

    def override(of: Type) -> Function | None:
        declaration = body.records.declared.get(of)
        found = None if declaration is None else _found(body, declaration, method)
        return None if found is None else body.function(found)

    of = types.Opaque("a function")
    return tree.Callee(of, body.place, method.spelling, lambda: body.function(method), override)


def _found(body: Body, declaration: Cursor, method: Cursor) -> Cursor | None:
    """The function of a class, or of its nearest base class, that overrides a method, or is it."""
    for of in _line(body, declaration):
        if clang.key(of) == clang.key(method.semantic_parent):
            return method
        template = clang.template(of)
        for own in _methods(template or of):
            if own.spelling == method.spelling and template is not None:
                return None  # the parser does not tell which function an instance has
            if own.spelling == method.spelling and _signature(own) == _signature(method):
                return own
    return None


def _line(body: Body, declaration: Cursor) -> Iterator[Cursor]:
    """A class and those that it is derived from."""
    yield declaration
    for base in body.records.bases.of(declaration, body.place):
        yield from _line(body, base.get_declaration())


def _methods(declaration: Cursor) -> Iterator[Cursor]:
    for part in declaration.get_children():
        if clang.kind(part) == "CXX_METHOD":
            yield part


def _signature(method: Cursor) -> Any:
    return [a.spelling for a in method.type.get_canonical().argument_types()], bool(method.is_const_method())
