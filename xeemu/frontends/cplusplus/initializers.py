"""Initializers: what a variable or member is first: values, lists in braces, defaults."""

from typing import Any

from xeemu.frontends import tree, types
from xeemu.frontends.cplusplus import copies, objects
from xeemu.frontends.cplusplus.bases import base_name
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.lvalues import address, converted, copied, is_lvalue
from xeemu.frontends.cplusplus.records import is_reference
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.literals import number
from xeemu.frontends.tree import Expression, SourceLocation
from xeemu.frontends.types import Type


def value(body: Body, cursor: Cursor, declared: Cursor) -> Expression:
    """The first value of a variable or field; of a reference the address of what it refers to."""
    of = body.type(declared)
    if is_reference(declared.type):
        assert isinstance(of, types.Pointer)
        return address(body.read(cursor), of)
    return of_type(body, cursor, of)


def of_type(body: Body, cursor: Cursor, of: Type) -> Expression:
    """The first value of something of a type, as an expression or a list in braces."""
    if clang.kind(cursor) == "INIT_LIST_EXPR" and isinstance(of, types.Record | types.Array | types.Vector):
        return listed(body, cursor, of)
    read = body.read(cursor)
    if isinstance(of, types.Array) and isinstance(read, tree.Text):
        codes = [*read.value.encode("latin-1", "replace"), 0][: of.count]
        return tree.Initializer(of, read.place, tuple(number(of.element, read.place, c) for c in codes))
    return copied(read) if isinstance(of, types.Array) else converted(read, of)


def listed(body: Body, cursor: Cursor, of: Type) -> Expression:
    """A list in braces; what it leaves out has its default."""
    place = body.at(cursor)
    parts = clang.children(cursor)
    if len(parts) == 1 and isinstance(of, types.Record) and body.type_of(parts[0]) == of:
        return body.read(parts[0])
    if isinstance(of, types.Vector):
        return tree.Initializer(of, place, tuple(body.read(c) for c in parts))
    made = _constructed(body, parts, of, place) if isinstance(of, types.Record) else None
    if made is not None:
        return made
    left = list(parts)
    return _filled(body, left, of, cursor, place)


def _constructed(body: Body, parts: list[Cursor], of: types.Record, place: SourceLocation) -> Expression | None:
    """An object by a constructor of its class; None where that has none of its own."""
    if parts:
        return body.readers.of_items(body, parts, of, place)
    declaration = body.records.declared.get(of)
    return None if declaration is None else body.readers.without_arguments(body, declaration, of)


def _filled(body: Body, left: list[Cursor], of: Type, cursor: Cursor, place: SourceLocation) -> Expression:
    """An array or record of the next items of a list, which are taken from it."""
    if isinstance(of, types.Array):
        items: list[Expression] = []
        while left and len(items) < of.count:
            items.append(_next(body, left, of.element, cursor, place))
        return tree.Initializer(of, place, (*items, *_rest(body, of, of.count - len(items))))
    assert isinstance(of, types.Record)
    given: dict[str, Expression] = {}
    references = _references(body, of)
    for field in of.fields:
        if left and (name := _designated(left[0])) and name != field.name:
            continue
        if left and field.name in references:
            first = left.pop(0)
            item = clang.children(first)[-1] if _designated(first) else first
            given[field.name] = value(body, item, references[field.name])
        elif left:
            given[field.name] = _next(body, left, field.type, cursor, place)
    if of.union:
        name, item = next(iter(given.items()), ("", None))
        return tree.Initializer(of, place, () if item is None else (item,), name)
    if len(given) == len(of.fields):
        return tree.Initializer(of, place, tuple(given.values()))
    named, declaration = frozenset(given), body.records.declared.get(of)
    own = cursor.type if declaration is None else declaration.type  # a list within one has no type
    return objects.made(of, place, lambda whole: defaults(body.within(whole), own, of, named) | given)


def _references(body: Body, of: types.Record) -> dict[str, Cursor]:
    """The declarations of a class's members that are references, by their names."""
    declaration = body.records.declared.get(of)
    fields = [] if declaration is None else declaration.type.get_canonical().get_fields()
    return {field.spelling: field for field in fields if is_reference(field.type)}


def _rest(body: Body, of: types.Array, count: int) -> tuple[Expression, ...]:
    """What a list leaves out of an array at its end, where the elements' class says what that is."""
    depth: tuple[types.Array, ...] = ()
    inner = of.element
    while isinstance(inner, types.Array):
        depth, inner = (*depth, inner), inner.element
    declaration = body.records.declared.get(inner) if count else None
    element = None if declaration is None else by_class(body, declaration.type.get_canonical(), inner)
    if element is None:
        return ()
    for array in reversed(depth):
        element = tree.Initializer(array, body.place, (element,) * array.count)
    return (element,) * count


def _designated(cursor: Cursor) -> str:
    """The field that an item of a list names."""
    if clang.kind(cursor) != "UNEXPOSED_EXPR":
        return ""
    first = next(iter(cursor.get_children()), None)
    return first.spelling if first is not None and clang.kind(first) == "MEMBER_REF" else ""


def _next(body: Body, left: list[Cursor], of: Type, cursor: Cursor, place: SourceLocation) -> Expression:
    first = left[0]
    if _designated(first):
        left.pop(0)
        return of_type(body, clang.children(first)[-1], of)
    aggregate = isinstance(of, types.Array | types.Record)
    own = body.type_of(first) if aggregate and clang.kind(first) != "INIT_LIST_EXPR" else of
    made = body.readers.of_items(body, [first], of, place) if isinstance(of, types.Record) and own != of else None
    if made is not None:
        left.pop(0)
        return made
    if aggregate and _is_of_part(own, of):  # its braces are left out
        return _filled(body, left, of, first, place)
    if isinstance(of, types.Vector) and len(left) >= of.count and isinstance(body.type_of(first), types.Scalar):
        taken, left[:] = left[: of.count], left[of.count :]
        return tree.Initializer(of, place, tuple(of_type(body, c, of.element) for c in taken))
    made = of_type(body, left.pop(0), of)
    return copies.copied(body, made, first.type) if isinstance(of, types.Record) and is_lvalue(made) else made


def _is_of_part(own: Type, of: Type) -> bool:
    """True if an item of a type, a number or a text, is for a part of an array or record."""
    if isinstance(own, types.Array):
        return isinstance(of, types.Array) and not isinstance(of.element, types.Scalar) and own.element != of.element
    return isinstance(own, types.Scalar | types.Pointer)


def defaults(body: Body, of: Any, record: types.Record, given: frozenset[str] = frozenset()) -> dict[str, Expression]:
    """What a class (its type of clang's) gives its bases and fields by itself, but for those `given`."""
    found: dict[str, Expression | None] = {}
    types_of = {f.name: f.type for f in record.fields}
    of = of.get_canonical()
    for base in body.records.bases.of(of.get_declaration(), body.place):
        name = base_name(base)
        if name not in given and name in types_of:
            found[name] = by_class(body, base, types_of[name])
    for field in of.get_fields() if record.fields else []:
        name = field.spelling
        first = None if name in given else next((c for c in clang.children(field) if _is_value(c, field)), None)
        if first is not None:
            found[name] = value(body, first, field)
        elif name not in given and name in types_of:
            found[name] = by_class(body, field.type.get_canonical(), types_of[name])
    return {name: made for name, made in found.items() if made is not None}


def by_class(body: Body, of: Any, inner: Type) -> Expression | None:
    """What a class gives its objects by itself; None for nothing."""
    if isinstance(inner, types.Array):
        element = by_class(body, of.element_type.get_canonical(), inner.element)
        return None if element is None else tree.Initializer(inner, body.place, (element,) * inner.count)
    if not isinstance(inner, types.Record) or inner.union:
        return None
    made = body.readers.without_arguments(body, of.get_declaration(), inner)
    if made is not None:
        return made
    found: dict[str, Expression] = {}

    def members(whole: Expression) -> dict[str, Expression]:
        found.update(defaults(body.within(whole), of, inner))
        return found

    made = objects.made(inner, body.place, members)
    return made if found else None


def _is_value(cursor: Cursor, field: Cursor) -> bool:
    """True if a part of a field's declaration is its value, and not a bound of its array."""
    if not clang.kind(cursor).endswith(("EXPR", "LITERAL", "OPERATOR")):
        return False
    if cursor.extent.begin_int_data < field.location.int_data:  # an argument of its type's template
        return False
    array = field.type.get_canonical().kind.name == "CONSTANTARRAY"
    return not (array and clang.kind(cursor) not in ("INIT_LIST_EXPR", "CALL_EXPR", "STRING_LITERAL"))
