"""Bases: the classes that a class is derived from."""

import re
from typing import Any

from xeemu.frontends import refusals
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Place


class Bases:
    """The base classes of a unit's classes.

    The parser tells those of a class, but not those of an instance of a template: these are found among the classes
    whose members are used somewhere, by the names and arguments that the template gives them.
    """

    def __init__(self) -> None:
        self._seen: dict[str, dict[tuple[str, ...], Any]] = {}

    def note(self, declaration: Cursor) -> None:
        """Keeps a class that is used."""
        named = self._seen.setdefault(declaration.spelling, {})
        named.setdefault(_arguments(declaration), declaration.type.get_canonical())

    def of(self, declaration: Cursor, place: Place) -> list[Any]:
        """The types (clang's) of a class's bases, in their order."""
        if clang.kind(declaration) == "UNION_DECL":
            return []
        template = clang.template(declaration)
        named = _named(declaration if template is None else template)
        if template is None or not named:
            return [base.type.get_canonical() for base in named]
        given = _given(template, _arguments(declaration))
        return [self._instance(base, given, declaration, place) for base in named]

    def _instance(self, base: Cursor, given: dict[str, str], declaration: Cursor, place: Place) -> Any:
        """A base of an instance of a template."""
        of = base.type.get_canonical()
        if of.get_size() >= 0:  # the same for all instances
            return of
        spelling = re.sub(r"\b[A-Za-z_]\w*\b(\.\.\.)?", lambda m: given.get(m[0], m[0]), base.type.spelling)
        found = self._matching(*_split(spelling), _plain(declaration.semantic_parent.type.spelling))
        if len(found) == 1:
            return found[0]
        raise refusals.at(
            place,
            f"the base class {spelling} of {declaration.type.spelling}, which the parser does not tell; "
            "make it a member, or write the class without a template",
        )

    def _matching(self, name: str, arguments: tuple[str, ...], scope: str) -> list[Any]:
        """The instances of a template that may be meant by arguments, which may be names of a scope."""
        among = self._seen.get(name, {})
        local = tuple(f"{scope}::{a}" for a in arguments)
        for wanted in (arguments, local):
            if wanted in among:
                return [among[wanted]]
        return list(among.values())


def _named(declaration: Cursor) -> list[Cursor]:
    return [c for c in declaration.get_children() if clang.kind(c) == "CXX_BASE_SPECIFIER"]


def _arguments(declaration: Cursor) -> tuple[str, ...]:
    """The arguments of an instance of a template: the names of types, and numbers."""
    count = declaration.get_num_template_arguments()
    return tuple(_argument(declaration, k) for k in range(max(count, 0)))


def _argument(declaration: Cursor, k: int) -> str:
    of = declaration.get_template_argument_type(k)
    if of.kind.name == "INVALID":
        return str(declaration.get_template_argument_value(k))
    return _plain(of.get_canonical().spelling)


def _given(template: Cursor, arguments: tuple[str, ...]) -> dict[str, str]:
    """The arguments of an instance by the names of the template's parameters, a pack's with the dots behind it."""
    _, pattern = _split(template.displayname)
    found = dict(zip(pattern, arguments, strict=False))
    if pattern and pattern[-1].endswith("..."):
        found[pattern[-1]] = ",".join(arguments[len(pattern) - 1 :])
    return found


def _split(spelling: str) -> tuple[str, tuple[str, ...]]:
    """The name of an instance of a template, without its namespaces, and its arguments."""
    head, _, rest = _plain(spelling).partition("<")
    found, depth = [""], 0
    for letter in rest.removesuffix(">"):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return head.rpartition("::")[2], tuple(found)


def _plain(spelling: str) -> str:
    return re.sub(r"\s|\b(struct|class|typename) ", "", spelling)


def base_name(of: Any) -> str:
    """The name of the field that is a base class."""
    return f"<base {of.get_canonical().spelling}>"
