"""Bindings: `auto [a, b] = value`, names for the parts of an object."""

from collections.abc import Iterator

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.lvalues import address, dereferenced, through, unnamed
from xeemu.frontends.cplusplus.records import is_reference
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.literals import number
from xeemu.frontends.tree import Expression, SourceLocation, Variable


def is_binding(cursor: Cursor) -> bool:
    """True if a declaration is one of several names."""
    return clang.kind(cursor) == "UNEXPOSED_DECL" and str(cursor.spelling).startswith("[")


def variables(body: Body, cursor: Cursor) -> Iterator[Variable]:
    """The object that the names are parts of, or a pointer to it."""
    place = body.at(cursor)
    *names, first = clang.children(cursor)
    value = body.read(first)
    reference = is_reference(cursor.type)
    made = unnamed("<value>", address(value) if reference else value)
    yield made
    name: Expression = tree.Name(made.type, place, made)
    whole = dereferenced(name) if reference else name
    for k, declared in enumerate(names):
        body.given[clang.key(declared)] = _part(whole, declared, k, place)


def _part(whole: Expression, declared: Cursor, k: int, place: SourceLocation) -> Expression:
    if isinstance(whole.type, types.Record):
        return _of_class(whole, declared, k, place)
    if isinstance(whole.type, types.Array):
        return tree.Subscript(whole.type.element, place, whole, number(types.INT, place, k))
    raise refusals.at(place, f"parts of a {whole.type}; name its members")


def _of_class(whole: Expression, declared: Cursor, k: int, place: SourceLocation) -> Expression:
    """A part of a class; of one with functions `get` of its own only where its members are known to be the parts."""
    assert isinstance(whole.type, types.Record)
    with_get = "tuple_element" in declared.type.spelling
    if with_get and not whole.type.name.startswith("std::"):
        raise refusals.at(place, f"parts of {whole.type} by its get<{k}>(); call that")
    if with_get and whole.type.name.startswith("std::array<"):
        return _part(through(whole, [whole.type.fields[0].name]), declared, k, place)
    if with_get and whole.type.name.startswith("std::tuple<"):
        return through(whole, [*["rest"] * k, "first"])
    field = whole.type.fields[k]
    part = tree.Member(field.type, place, whole, field.name, False)
    return dereferenced(part) if is_reference(declared.type) and isinstance(field.type, types.Pointer) else part
