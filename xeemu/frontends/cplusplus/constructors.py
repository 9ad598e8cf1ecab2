"""Constructors: objects that are made, and what a constructor does."""

from collections.abc import Callable, Iterator

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus import arguments, copies, initializers, objects, substitution
from xeemu.frontends.cplusplus.bases import base_name
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.lvalues import converted
from xeemu.frontends.cplusplus.options import is_header
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression, SourceLocation
from xeemu.frontends.types import Type

_EMPTY = ("INIT_LIST_EXPR", "UNEXPOSED_EXPR", "ParenListExpr", "TYPE_REF")


def called(body: Body, cursor: Cursor, callee: Cursor, place: SourceLocation) -> Expression:
    """An object that is made, or an array of them."""
    return _repeated(body.type_of(cursor), lambda of: _called(body, cursor, callee, of, place), place)


def _repeated(of: Type, made: Callable[[Type], Expression], place: SourceLocation) -> Expression:
    """An object, or an array of ones that are made alike."""
    if not isinstance(of, types.Array):
        return made(of)
    return tree.Initializer(of, place, (_repeated(of.element, made, place),) * of.count)


def _called(body: Body, cursor: Cursor, callee: Cursor, of: Type, place: SourceLocation) -> Expression:
    given = list(cursor.get_arguments())
    if is_implicit(callee) and (callee.is_copy_constructor() or callee.is_move_constructor()):
        value = converted(body.read(given[0]), of)
        if callee.is_copy_constructor():
            return copies.copied(body, value, callee.semantic_parent.type)
        return copies.moved(body, value)
    if is_implicit(callee) and not given:
        return default(body, cursor, of, place)
    if (inherited := _inherited(body, callee, place)) is not None:
        return _of_base(body, cursor, inherited, of, place)
    return _made(body, given, callee, of, place)


def _made(body: Body, given: list[Cursor], callee: Cursor, of: Type, place: SourceLocation) -> Expression:
    function = body.function(callee)
    parameters = list(callee.type.get_canonical().argument_types())
    given = [*given, *(arguments.default(callee, k, body) for k in range(len(given), len(parameters)))]
    taken = arguments.given_to(body, given, parameters, callee)
    return substitution.called(str(of), of, place, taken, function)


def _inherited(body: Body, callee: Cursor, place: SourceLocation) -> Cursor | None:
    """The constructor of a base class that a class has by `using`."""
    parent = callee.semantic_parent
    if clang.template(parent) is not None or callee.spelling in (parent.spelling, ""):
        return None
    arguments = [a.spelling for a in callee.type.get_canonical().argument_types()]
    for base in body.records.bases.of(parent, place):
        for own in base.get_declaration().get_children():
            if clang.kind(own) == "CONSTRUCTOR" and arguments == [
                a.spelling for a in own.type.get_canonical().argument_types()
            ]:
                return own
    raise refusals.at(
        place, f"the constructor of a base class of {parent.spelling}, which the parser does not tell; write one"
    )


def _signature(callee: Cursor) -> list[str]:
    return [a.spelling for a in callee.type.get_canonical().argument_types()]


def _of_base(body: Body, cursor: Cursor, callee: Cursor, of: Type, place: SourceLocation) -> Expression:
    """An object whose base class's constructor is called; its own members have their defaults."""
    assert isinstance(of, types.Record)
    base = base_name(callee.semantic_parent.type)
    inner = _made(body, list(cursor.get_arguments()), callee, of.field(base).type, place)

    def members(whole: Expression) -> dict[str, Expression]:
        return initializers.defaults(body.within(whole), cursor.type, of, frozenset((base,))) | {base: inner}

    return objects.made(of, place, members)


def default(body: Body, cursor: Cursor, of: Type, place: SourceLocation) -> Expression:
    """An object whose class has no constructor of its own."""
    if not isinstance(of, types.Record):
        return tree.Initializer(of, place, ())
    own = cursor.type.get_canonical()
    while own.kind.name == "CONSTANTARRAY":
        own = own.element_type.get_canonical()

    def members(whole: Expression) -> dict[str, Expression]:
        return initializers.defaults(body.within(whole), own, of)

    return objects.made(of, place, members)


def without_arguments(body: Body, declaration: Cursor, of: types.Record) -> Expression | None:
    """An object by the constructor that its class has for no arguments; None where the compiler writes that."""
    if is_header(clang.place(declaration).file):  # all of them are zero
        return None
    template = clang.template(declaration)
    parts = (template or declaration).get_children()
    own = (c for c in parts if clang.kind(c) == "CONSTRUCTOR" and c.is_default_constructor() and not is_implicit(c))
    callee = next(own, None)
    if callee is None or (template is not None and _is_zero(callee)):
        return None
    if template is not None:
        what = f"an object of {of.name} by its class's constructor, which the parser does not tell here"
        raise refusals.at(body.place, f"{what}; name it in the list of the constructor, or give it a value")
    return _made(body, [], callee, of, body.place)


def of_items(body: Body, items: list[Cursor], of: types.Record, place: SourceLocation) -> Expression | None:
    """An object by the constructor that takes the items of a list; None where its class has none of its own.

    The parser shows lists as they are written, without the constructors that their items are given to.
    """
    declaration = body.records.declared.get(of)
    if declaration is None:
        return None
    if is_header(clang.place(declaration).file):  # the items are its fields, but for those of containers
        if of.name.startswith(("std::vector<", "std::basic_string<", "sycl::buffer<")):
            raise refusals.at(place, f"an object of {of.name} by a constructor that is not told; write {of.name}(...)")
        return None
    template = clang.template(declaration)
    parts = (template or declaration).get_children()
    own = [c for c in parts if _is_own(c, declaration.spelling)]
    if not own:
        return None
    fitting = [c for c in own if clang.kind(c) == "CONSTRUCTOR" and _takes(c, len(items))]
    if len(fitting) > 1:
        given = [c.type.get_canonical().spelling for c in items]
        fitting = [c for c in fitting if [t.removeprefix("const ").rstrip(" &") for t in _signature(c)] == given]
    if template is not None or len(fitting) != 1:
        raise refusals.at(place, f"an object of {of.name} by a constructor that is not told; write {of.name}(...)")
    return _made(body, items, fitting[0], of, place)


def _is_own(part: Cursor, name: str) -> bool:
    """True if a part of a class is a constructor, or template of some, that is written and copies nothing."""
    if clang.kind(part) == "FUNCTION_TEMPLATE":
        return part.spelling.partition("<")[0] == name
    return clang.kind(part) == "CONSTRUCTOR" and not (
        is_implicit(part) or part.is_copy_constructor() or part.is_move_constructor()
    )


def _takes(callee: Cursor, count: int) -> bool:
    """True if a constructor can be called with a number of arguments."""
    parameters = [c for c in callee.get_children() if clang.kind(c) == "PARM_DECL"]
    needed = [p for p in parameters if not clang.children(p)]
    return len(needed) <= count <= len(parameters)


def _is_zero(callee: Cursor) -> bool:
    """True if a constructor does nothing but give members the value zero."""
    for part in callee.get_children():
        kind = clang.kind(part)
        if kind == "COMPOUND_STMT" and clang.children(part):
            return False
        if kind.endswith(("_REF", "_ATTR")) or kind in ("PARM_DECL", "COMPOUND_STMT"):
            continue
        inner = [c for c in part.walk_preorder() if not clang.children(c) and clang.kind(c) not in _EMPTY]
        if any(not clang.kind(c).endswith("LITERAL") or clang.evaluated(c) != 0 for c in inner):
            return False
    return True


def is_implicit(callee: Cursor) -> bool:
    """True if the compiler writes a function: its place is that of its class, or it is `= default`."""
    parent = callee.semantic_parent
    same = parent is not None and callee.location.int_data == parent.location.int_data
    return bool(same or callee.is_default_method())


# ---- what a constructor does ----


def block(body: Body, cursor: Cursor, of: Type) -> tree.Block:
    """A constructor as a function that gives the object: its members' values, then its body."""
    place = body.place
    assert isinstance(of, types.Record)
    parts = list(cursor.get_children())
    delegated = _delegated(cursor, parts)
    value = _members(body, cursor, of, dict(_initialized(parts))) if delegated is None else body.read(delegated)
    made = tree.Variable("<this>", of, "private", place, lambda: value)
    body.this = tree.Name(of, place, made)
    inner = next(c for c in parts if clang.kind(c) == "COMPOUND_STMT")
    if not clang.children(inner):
        return tree.Block(place, (tree.Return(place, value),))
    rest = body.readers.block(body, inner).statements
    end = tree.Return(place, tree.Name(of, place, made))
    return tree.Block(place, (tree.Declaration(place, (made,)), *rest, end))


def _members(body: Body, cursor: Cursor, of: types.Record, given: dict[str, Cursor]) -> Expression:
    """The first values of the members and bases."""
    declared = cursor.semantic_parent.type.get_canonical()
    fields = {f.spelling: f for f in declared.get_fields()}

    def members(whole: Expression) -> dict[str, Expression]:
        body.this = whole
        found = initializers.defaults(body, declared, of, frozenset(given))
        for field in of.fields:
            if field.name in given and field.name in fields:
                found[field.name] = initializers.value(body, given[field.name], fields[field.name])
            elif field.name in given:
                found[field.name] = initializers.of_type(body, given[field.name], field.type)
        return found

    return objects.made(of, body.place, members)


def _initialized(parts: list[Cursor]) -> Iterator[tuple[str, Cursor]]:
    """The members and bases that a constructor's head names, with their values."""
    name = ""
    for part in parts:
        kind = clang.kind(part)
        if kind == "MEMBER_REF":
            name = part.spelling
        elif kind in ("TYPE_REF", "TEMPLATE_REF"):
            name = name or "<base>"
        elif name == "<base>" and part.type.get_canonical().kind.name == "RECORD":
            yield base_name(part.type), part
            name = ""
        elif name not in ("", "<base>") and not kind.endswith(("_REF", "_ATTR")):
            yield name, part
            name = ""


def _delegated(cursor: Cursor, parts: list[Cursor]) -> Cursor | None:
    """The other constructor of the class that a constructor calls."""
    parent = cursor.semantic_parent.type.get_canonical()
    for part in parts:
        if clang.kind(part) == "CALL_EXPR" and part.type.get_canonical() == parent:
            return part
    return None
