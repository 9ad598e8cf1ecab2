"""Defaults: what an object is, and its members and bases are, where nothing in the source gives them a value."""

from typing import Any

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus import calls, initializers, objects
from xeemu.frontends.cplusplus.bases import base_name
from xeemu.frontends.cplusplus.bodies import Body, is_header
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression
from xeemu.frontends.types import Type


def made(body: Body, of: Any, to: Type) -> Expression | None:
    """An object of a type (clang's, and ours) by its default constructor; None of one that has no value then."""
    of = of.get_canonical()
    if isinstance(to, types.Array):
        element = made(body, of.element_type, to.element) if to.count else None
        return None if element is None else tree.Initializer(to, body.place, (element,) * to.count)
    if not isinstance(to, types.Record) or to.union or to.name.startswith("<lambda"):
        return None
    constructor = _constructor(body, of.get_declaration())
    if constructor is not None:
        return calls.called(str(to), to, body.place, calls.defaults(body, constructor), body.function(constructor))
    found: dict[str, Expression] = {}

    def read(whole: Expression) -> dict[str, Expression]:
        found.update(members(body.within(whole), of, to))
        return found

    whole = objects.made(to, body.place, read)
    return whole if found else None


def members(body: Body, of: Any, record: types.Record, given: frozenset[str] = frozenset()) -> dict[str, Expression]:
    """The values that a class (its type of clang's) gives its bases and fields, but for those `given`."""
    found: dict[str, Expression] = {}
    inner = {f.name: f.type for f in record.fields if f.name not in given}
    for base in body.records.bases.of(of.get_canonical().get_declaration(), body.place) if inner else []:
        name = base_name(base)
        if name in inner and (value := made(body, base, inner[name])) is not None:
            found[name] = value
    for field in of.get_canonical().get_fields() if inner else []:
        name = field.spelling
        if name in inner and (value := _member(body, field, inner[name])) is not None:
            found[name] = value
    return found


def _member(body: Body, field: Cursor, of: Type) -> Expression | None:
    first = next((c for c in clang.children(field) if _is_value(c, field)), None)
    return made(body, field.type, of) if first is None else initializers.value(body, first, field)


def _constructor(body: Body, declaration: Cursor) -> Cursor | None:
    """The default constructor that somebody has written for a class."""
    template = clang.template(declaration)
    found = _written(declaration)
    if found is not None or template is None or is_header(clang.place(template, body.files).file):
        return found
    pattern = _written(template)
    if pattern is None or not _does(pattern):
        return None
    raise refusals.at(
        body.place,
        f"the constructor of {declaration.type.spelling}, an instance of a template, which the parser does not tell "
        "where nothing calls it; give the member or base a value, such as {}",
    )


def _written(declaration: Cursor) -> Cursor | None:
    for c in declaration.get_children():
        if clang.kind(c) == "CONSTRUCTOR" and c.is_default_constructor() and not c.is_default_method():
            return c
    return None


def _does(constructor: Cursor) -> bool:
    """Whether a constructor does more than what members have anyhow."""
    parts = clang.children(constructor)
    return any(clang.kind(c) != "COMPOUND_STMT" or clang.children(c) for c in parts)


def _is_value(cursor: Cursor, field: Cursor) -> bool:
    """Whether a part of a field's declaration is its value, and not a bound of its array."""
    if not clang.kind(cursor).endswith(("EXPR", "LITERAL", "OPERATOR")):
        return False
    if cursor.extent.begin_int_data < field.location.int_data:  # an argument of its type's template
        return False
    array = field.type.get_canonical().kind.name == "CONSTANTARRAY"
    return not (array and clang.kind(cursor) not in ("INIT_LIST_EXPR", "CALL_EXPR", "STRING_LITERAL"))
