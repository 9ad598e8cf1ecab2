"""Initializers: what a variable or member is first: values, lists in braces, defaults."""

from collections.abc import Iterator

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus import expressions
from xeemu.frontends.cplusplus.bodies import Body, address, converted, is_lvalue, materialized, number, zero
from xeemu.frontends.cplusplus.records import is_reference
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression, Place, Statement, Variable
from xeemu.frontends.types import Type


def value(body: Body, cursor: Cursor, declared: Cursor) -> Expression:
    """The first value of a variable or field; of a reference the address of what it refers to."""
    of = body.type(declared)
    if is_reference(declared.type):
        assert isinstance(of, types.Pointer)
        return address(expressions.read(body, cursor), of)
    return of_type(body, cursor, of)


def of_type(body: Body, cursor: Cursor, of: Type) -> Expression:
    """The first value of something of a type, as an expression or a list in braces."""
    if clang.kind(cursor) == "INIT_LIST_EXPR" and isinstance(of, types.Record | types.Array | types.Vector):
        return listed(body, cursor, of)
    read = expressions.read(body, cursor)
    if isinstance(of, types.Array) and isinstance(read, tree.Text):
        codes = [*read.value.encode("latin-1", "replace"), 0][: of.count]
        return tree.Initializer(of, read.place, tuple(number(of.element, read.place, c) for c in codes))
    return read if isinstance(of, types.Array) else converted(read, of)


def listed(body: Body, cursor: Cursor, of: Type) -> Expression:
    """A list in braces; what it leaves out has its default."""
    place = body.at(cursor)
    parts = clang.children(cursor)
    if len(parts) == 1 and isinstance(of, types.Record) and expressions.type_of(body, parts[0]) == of:
        return expressions.read(body, parts[0])
    if isinstance(of, types.Vector):
        return tree.Initializer(of, place, tuple(expressions.read(body, c) for c in parts))
    left = list(parts)
    made = _filled(body, left, of, cursor, place)
    return made


def _filled(body: Body, left: list[Cursor], of: Type, cursor: Cursor, place: Place) -> Expression:
    """An array or record of the next items of a list, which are taken from it."""
    if isinstance(of, types.Array):
        items = []
        while left and len(items) < of.count:
            items.append(_next(body, left, of.element, cursor, place))
        return tree.Initializer(of, place, tuple(items))
    assert isinstance(of, types.Record)
    given: dict[str, Expression] = {}
    for field in of.fields:
        if left and (name := _designated(left[0])) and name != field.name:
            continue
        if left:
            given[field.name] = _next(body, left, field.type, cursor, place)
    if of.union:
        name, item = next(iter(given.items()), ("", None))
        return tree.Initializer(of, place, () if item is None else (item,), name)
    defaults = body_defaults(body, cursor.type, of) if len(given) < len(of.fields) else {}
    items = [given.get(f.name) or defaults.get(f.name) or zero(f.type, place) for f in of.fields]
    return tree.Initializer(of, place, tuple(items))


def _designated(cursor: Cursor) -> str:
    """The field that an item of a list names."""
    if clang.kind(cursor) != "UNEXPOSED_EXPR":
        return ""
    first = next(iter(cursor.get_children()), None)
    return first.spelling if first is not None and clang.kind(first) == "MEMBER_REF" else ""


def _next(body: Body, left: list[Cursor], of: Type, cursor: Cursor, place: Place) -> Expression:
    first = left[0]
    if _designated(first):
        left.pop(0)
        return of_type(body, clang.children(first)[-1], of)
    aggregate = isinstance(of, types.Array | types.Record)
    own = expressions.type_of(body, first) if aggregate and clang.kind(first) != "INIT_LIST_EXPR" else of
    if aggregate and isinstance(own, types.Scalar | types.Pointer):  # its braces are left out
        return _filled(body, left, of, first, place)
    return of_type(body, left.pop(0), of)


def body_defaults(body: Body, of: object, record: types.Record) -> dict[str, Expression]:
    """The values that a class gives its fields where they are declared."""
    found: dict[str, Expression] = {}
    fields = getattr(of, "get_canonical")().get_fields() if record.fields else []  # noqa: B009
    for field in fields:
        first = next((c for c in clang.children(field) if _is_value(c, field)), None)
        if first is not None:
            found[field.spelling] = value(body, first, field)
        else:
            inner = record.field(field.spelling).type if any(f.name == field.spelling for f in record.fields) else None
            if isinstance(inner, types.Record) and inner.fields and not inner.union:
                given = body_defaults(body, field.type, inner)
                if given:
                    items = [given.get(f.name) or zero(f.type, body.place) for f in inner.fields]
                    found[field.spelling] = tree.Initializer(inner, body.place, tuple(items))
    return found


def _is_value(cursor: Cursor, field: Cursor) -> bool:
    """Whether a part of a field's declaration is its value, and not a bound of its array."""
    if not clang.kind(cursor).endswith(("EXPR", "LITERAL", "OPERATOR")):
        return False
    array = field.type.get_canonical().kind.name == "CONSTANTARRAY"
    return not (array and clang.kind(cursor) not in ("INIT_LIST_EXPR", "CALL_EXPR", "STRING_LITERAL"))


def bindings(body: Body, cursor: Cursor) -> Iterator[Variable]:
    """`auto [a, b] = value`: the parts of a value, as variables."""
    place = body.at(cursor)
    *names, first = clang.children(cursor)
    whole = expressions.read(body, first)
    kept = Variable("<value>", whole.type, "private", place, lambda: whole)
    yield kept
    name: Expression = tree.Name(whole.type, place, kept)
    for k, declared in enumerate(names):
        yield _part(body, declared, _member(name, k, place))


def _part(body: Body, declared: Cursor, part: Expression) -> Variable:
    made = Variable(declared.spelling, part.type, "private", body.at(declared), lambda: part)
    body.variables[clang.key(declared)] = made
    return made


def _member(whole: Expression, k: int, place: Place) -> Expression:
    if isinstance(whole.type, types.Record):
        field = whole.type.fields[k]
        return tree.Member(field.type, place, whole, field.name, False)
    if isinstance(whole.type, types.Array):
        return tree.Subscript(whole.type.element, place, whole, number(types.INT, place, k))
    raise refusals.at(place, f"parts of a {whole.type}; name its members")


def items(cursor: Cursor) -> list[Cursor] | None:
    """The items of a list in braces that something is made of; None of anything else."""
    while clang.kind(cursor) == "UNEXPOSED_EXPR":
        parts = clang.children(cursor)
        if len(parts) != 1:
            return None
        cursor = parts[0]
    return clang.children(cursor) if clang.kind(cursor) == "INIT_LIST_EXPR" else None


def extent(body: Body, source: Expression, cursor: Cursor) -> tuple[Expression, Expression, list[Statement]]:
    """Of what a loop goes over: the first element's address or the array, how many there are, what is declared for it."""
    place = source.place
    if isinstance(source.type, types.Array):
        return source, number(types.ULONG, place, source.type.count), []
    before: list[Statement] = []
    if not is_lvalue(source):
        source = materialized(source)
    begin, count = _field(source, "data"), _field(source, "count")
    if begin is not None and count is not None:
        return begin, converted(count, types.ULONG), before
    inner = source.type.fields[0] if isinstance(source.type, types.Record) and source.type.fields else None
    if inner is not None and isinstance(inner.type, types.Array):
        part = tree.Member(inner.type, place, source, inner.name, False)
        return part, number(types.ULONG, place, inner.type.count), before
    raise refusals.at(body.at(cursor), f"a loop over a {source.type}; write one with an index")


def _field(source: Expression, name: str) -> Expression | None:
    if not isinstance(source.type, types.Record):
        return None
    field = next((f for f in source.type.fields if f.name == name), None)
    return None if field is None else tree.Member(field.type, source.place, source, name, False)
