"""Copies: objects made by a constructor that nobody has written, and that are more than their bytes.

The members' own constructors copy then. A container of the standard library is copied by the host, by `<copy>`; the
other classes of our headers, such as pointers that share, are their bytes.
"""

from typing import Any

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.callees import COPY, MOVE
from xeemu.frontends.cplusplus import substitution
from xeemu.frontends.cplusplus.bases import base_name
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.lvalues import address, dereferenced, is_lvalue, is_simple, lvalue, member
from xeemu.frontends.cplusplus.options import is_header
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.literals import number
from xeemu.frontends.tree import Expression
from xeemu.frontends.types import Type

_CONTAINERS = ("vector", "basic_string", "shared_ptr")
_OWNERS = ("std::vector<", "std::unique_ptr<", "std::shared_ptr<", "std::optional<")


def copied(body: Body, value: Expression, of: Any) -> Expression:
    """A copy of an object of a type (clang's)."""
    return _copied(body, value, of.get_canonical(), True)


def _copied(body: Body, value: Expression, of: Any, own: bool) -> Expression:
    to = value.type
    if not isinstance(to, types.Record | types.Array) or not _is_deep(body, of, to, own):
        return value
    source = lvalue(value)
    if is_simple(source):
        return _made(body, source, of, own)
    place = body.place
    pointer = tree.Variable("<source>", types.Pointer(to, "generic"), "private", place, lambda: address(source))
    made = _made(body, dereferenced(tree.Name(pointer.type, place, pointer)), of, own)
    steps = (tree.Declaration(place, (pointer,)), tree.Evaluate(place, made))
    return tree.Braced(to, place, tree.Block(place, steps))


def moved(body: Body, value: Expression) -> Expression:
    """An object that is taken over: what owns something in it owns nothing afterwards."""
    if not is_lvalue(value) or not any(name.startswith(_OWNERS) for name in types.classes(value.type)):
        return value
    return tree.Call(value.type, body.place, MOVE, (address(value),), None)


def assigned(body: Body, value: Expression, of: Any) -> Expression:
    """What an object of a class without an assignment of its own is assigned: its members' copies."""
    return _copied(body, value, of.get_canonical(), False)


def _is_deep(body: Body, of: Any, to: Type, own: bool = True) -> bool:
    """True if a copy is more than the bytes; `own` if the class's own constructor makes it."""
    if isinstance(to, types.Array):
        return _is_deep(body, of.element_type.get_canonical(), to.element)
    if not isinstance(to, types.Record) or to.union or of.is_pod():
        return False
    declaration = of.get_declaration()
    if _is_container(body, declaration) or (own and _written(body, declaration) is not None):
        return True
    inner = {f.name: f.type for f in to.fields}
    return any(_is_deep(body, part, inner[name]) for name, part in _parts(body, of) if name in inner)


def _parts(body: Body, of: Any) -> list[tuple[str, Any]]:
    """The bases and fields of a class, by their names, with their types (clang's)."""
    declaration = of.get_declaration()
    closure = body.records.closures.get(clang.key(declaration))
    if closure is not None:
        return [(c.name, c.cursor.type.get_canonical()) for c in closure.captures.values() if not c.reference]
    bases = [(base_name(b), b) for b in body.records.bases.of(declaration, body.place)]
    return bases + [(f.spelling, f.type.get_canonical()) for f in of.get_fields()]


def _is_container(body: Body, declaration: Cursor) -> bool:
    return declaration.spelling in _CONTAINERS and _is_ours(body, declaration)


def _is_ours(body: Body, declaration: Cursor) -> bool:
    return is_header(clang.place(clang.template(declaration) or declaration, body.files).file)


def _written(body: Body, declaration: Cursor) -> Cursor | None:
    """The copy constructor of a user's class, of an instance of a template that of the template."""
    if _is_ours(body, declaration) and clang.template(declaration) is not None:
        return None
    for c in (clang.template(declaration) or declaration).get_children():
        if clang.kind(c) == "CONSTRUCTOR" and c.is_copy_constructor() and not c.is_default_method():
            return None if c.is_deleted_method() else c
    return None


def _made(body: Body, source: Expression, of: Any, own: bool = True) -> Expression:
    to, place = source.type, body.place
    if not _is_deep(body, of, to, own):
        return source
    if isinstance(to, types.Array):
        element = of.element_type.get_canonical()
        each = (tree.Subscript(to.element, place, source, number(types.INT, place, k)) for k in range(to.count))
        return tree.Initializer(to, place, tuple(_made(body, e, element) for e in each))
    assert isinstance(to, types.Record)
    declaration = of.get_declaration()
    if _is_container(body, declaration):
        return tree.Call(to, place, COPY, (source,), None)
    written = _written(body, declaration) if own else None
    if written is not None and clang.template(declaration) is not None:
        what = f"a copy of an object that holds a {of.spelling}, whose copy constructor the parser does not tell"
        raise refusals.at(place, f"{what}; write a copy constructor of the class that holds it")
    if written is not None:
        return substitution.called(str(to), to, place, [address(source)], body.function(written))
    parts = dict(_parts(body, of))
    items = []
    for f in to.fields:
        inner = member(f.type, place, source, f.name)
        items.append(_made(body, inner, parts[f.name]) if f.name in parts else inner)
    return tree.Initializer(to, place, tuple(items))
