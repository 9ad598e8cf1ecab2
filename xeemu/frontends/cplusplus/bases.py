"""Bases: the classes that a class is derived from."""

import re
from typing import Any

from xeemu.frontends import refusals, types
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Place
from xeemu.frontends.types import Type


class Bases:
    """The base classes of a unit's classes.

    The parser tells those of a class, but not those of an instance of a template: these are found among the classes
    whose members are used somewhere, by the names that the template gives them.
    """

    def __init__(self) -> None:
        self._seen: dict[str, Any] = {}

    def note(self, declaration: Cursor) -> None:
        """Keeps a class that is used."""
        of = declaration.type.get_canonical()
        self._seen.setdefault(_plain(of.spelling), of)

    def of(self, declaration: Cursor, place: Place) -> list[Any]:
        """The types (clang's) of a class's bases, in their order."""
        if clang.kind(declaration) == "UNION_DECL":
            return []
        template = clang.template(declaration)
        named = _named(declaration if template is None else template)
        if template is None or not named:
            return [base.type.get_canonical() for base in named]
        arguments = _arguments(template, declaration.type.get_canonical())
        return [self._instance(base, arguments, declaration, place) for base in named]

    def _instance(self, base: Cursor, arguments: dict[str, str], declaration: Cursor, place: Place) -> Any:
        """A base of an instance of a template."""
        of = base.type.get_canonical()
        if of.get_declaration().kind.is_declaration() and of.get_size() >= 0:  # the same for all instances
            return of
        spelling = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: arguments.get(m[0], m[0]), base.type.spelling)
        wanted = _plain(spelling)
        found = [self._seen[wanted]] if wanted in self._seen else self._of_template(wanted)
        if len(found) == 1:
            return found[0]
        raise refusals.at(
            place,
            f"the base class {spelling} of {declaration.type.spelling}, which the parser does not tell; "
            "make it a member, or write the class without a template",
        )

    def _of_template(self, wanted: str) -> list[Any]:
        """The classes that are instances of the template that a name begins with."""
        head = wanted.partition("<")[0].rpartition("::")[2]
        return [of for name, of in self._seen.items() if name.partition("<")[0].rpartition("::")[2] == head]


def _named(declaration: Cursor) -> list[Cursor]:
    return [c for c in declaration.get_children() if clang.kind(c) == "CXX_BASE_SPECIFIER"]


def _arguments(template: Cursor, of: Any) -> dict[str, str]:
    """The arguments of an instance by the names of the template's parameters; of numbers none are told."""
    parameters = [c.spelling for c in template.get_children() if "_PARAMETER" in clang.kind(c)]
    given = [of.get_template_argument_type(k).get_canonical() for k in range(of.get_num_template_arguments())]
    pairs = zip(parameters, given, strict=False)
    return {name: argument.spelling for name, argument in pairs if argument.kind.name != "INVALID"}


def _plain(spelling: str) -> str:
    return re.sub(r"\s|\b(struct|class|typename) ", "", spelling)


def base_name(of: Any) -> str:
    """The name of the field that is a base class."""
    return f"<base {of.get_canonical().spelling}>"


def base_path(derived: Type, base: Type) -> list[str]:
    """The fields that lead from a class to one that it is derived from; empty if it is not."""
    if not isinstance(derived, types.Record):
        return []
    for field in derived.fields:
        if field.name.startswith("<base "):
            if field.type == base:
                return [field.name]
            inner = base_path(field.type, base)
            if inner:
                return [field.name, *inner]
    return []
