"""Braces: objects in a list in braces whose class has constructors; the parser does not tell which one is called."""

from typing import Any

from xeemu.frontends import refusals, types
from xeemu.frontends.cplusplus import calls, defaults
from xeemu.frontends.cplusplus.bodies import Body, is_header
from xeemu.frontends.hosting.layouts import holds_pointer
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.literals import zero
from xeemu.frontends.tree import Expression


def is_constructed(body: Body, declared: Any, of: types.Record) -> bool:
    """Whether a class (its type of clang's and of ours) has constructors, so that a list does not fill its fields.

    Those of our headers that are numbers alone, such as ranges, take a list's items as their fields too.
    """
    declaration = declared.get_declaration()
    template = clang.template(declaration)
    if template is not None and is_header(clang.place(template, body.files).file) and not holds_pointer(of):
        return False
    return any(clang.kind(c) == "CONSTRUCTOR" for c in (template or declaration).get_children())


def made(body: Body, given: list[Cursor], declared: Any, of: types.Record, cursor: Cursor) -> Expression:
    """The object that a constructor makes of the items of a list."""
    place = body.at(cursor)
    if not given:
        return defaults.made(body, declared, of) or zero(of, place)
    fitting = [c for c in _constructors(declared) if len(list(c.get_arguments())) == len(given)]
    if len(fitting) > 1:
        fitting = [c for c in fitting if _takes(c, given)]
    if len(fitting) != 1:
        name = declared.spelling
        hint = f"write {name}{{...}} with its name there"
        raise refusals.at(place, f"an object of {name} in a list, whose constructor the parser does not tell; {hint}")
    parameters = list(fitting[0].type.get_canonical().argument_types())
    arguments = calls.given_to(body, given, parameters, fitting[0])
    return calls.called(str(of), of, place, arguments, body.function(fitting[0]))


def _constructors(declared: Any) -> list[Cursor]:
    found = [c for c in declared.get_declaration().get_children() if clang.kind(c) == "CONSTRUCTOR"]
    return [c for c in found if not (c.is_copy_constructor() or c.is_move_constructor())]


def _takes(constructor: Cursor, given: list[Cursor]) -> bool:
    """Whether the parameters of a constructor have the very types of what is given."""
    parameters = constructor.type.get_canonical().argument_types()
    return all(_plain(p) == _plain(c.type) for p, c in zip(parameters, given, strict=True))


def _plain(of: Any) -> str:
    of = of.get_canonical()
    if of.kind.name in ("LVALUEREFERENCE", "RVALUEREFERENCE"):
        of = of.get_pointee()
    if of.kind.name == "CONSTANTARRAY":
        return f"{of.element_type.spelling} *".replace("const ", "")
    return str(of.spelling).replace("const ", "")
