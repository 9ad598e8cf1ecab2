"""Bases: the classes that a class is derived from."""

import re
from typing import Any

from xeemu.frontends import refusals
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import SourceLocation


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

    def of(self, declaration: Cursor, place: SourceLocation) -> list[Any]:
        """The types (clang's) of a class's bases, in their order."""
        if clang.kind(declaration) == "UNION_DECL":
            return []
        template = clang.template(declaration)
        named = _named(declaration if template is None else template)
        if template is None or not named:
            return [base.type.get_canonical() for base in named]
        given = _given(template, declaration)
        found: list[Any] = []
        for base in named:
            pack = base.type.spelling.removesuffix("...") + "..."
            if pack in given:  # all that the template is given
                found += _pack(declaration)
            else:
                found.append(self._instance(base, given, declaration, place))
        return found

    def _instance(self, base: Cursor, given: dict[str, str], declaration: Cursor, place: SourceLocation) -> Any:
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
    """The arguments of an instance of a template, those of a pack one by one: the names of types, and numbers."""
    found: list[str] = []
    for k in range(max(declaration.get_num_template_arguments(), 0)):
        of = declaration.get_template_argument_type(k)
        if of.kind.name != "INVALID":
            found.append(_plain(of.get_canonical().spelling))
        elif _is_number(declaration, k):
            found.append(str(declaration.get_template_argument_value(k)))
        else:
            whole = declaration.type.get_canonical()
            rest = range(k, whole.get_num_template_arguments())
            return (*found, *(_plain(whole.get_template_argument_type(j).get_canonical().spelling) for j in rest))
    return tuple(found)


def _is_number(declaration: Cursor, k: int) -> bool:
    try:
        return bool(declaration.get_template_argument_kind(k).name == "INTEGRAL")
    except ValueError:  # a pack, which the bindings do not know
        return False


def _pack(declaration: Cursor) -> list[Any]:
    """The types (clang's) that an instance of a template is given for its pack, which is the last parameter."""
    of, first = declaration.type.get_canonical(), declaration.get_num_template_arguments() - 1
    return [of.get_template_argument_type(k).get_canonical() for k in range(first, of.get_num_template_arguments())]


def _given(template: Cursor, declaration: Cursor) -> dict[str, str]:
    """The arguments of an instance by the names of the template's parameters, a pack's with dots behind its name."""
    _, pattern = _split(template.displayname)
    arguments = _arguments(declaration)
    found = dict(zip(pattern, arguments, strict=False))
    last = declaration.get_num_template_arguments() - 1
    if pattern and last >= 0 and _is_pack(declaration, last):
        found.pop(pattern[-1], None)
        found[pattern[-1].removesuffix("...") + "..."] = ",".join(arguments[len(pattern) - 1 :])
    return found


def _is_pack(declaration: Cursor, k: int) -> bool:
    of = declaration.get_template_argument_type(k)
    return of.kind.name == "INVALID" and not _is_number(declaration, k)


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
