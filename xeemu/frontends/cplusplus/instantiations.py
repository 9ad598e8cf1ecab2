"""Instantiations: the destructors of instances of the user's templates, which the parser shows where they are called.

A unit whose templates have any is parsed again, with a function behind its end for each instance, which calls it.
"""

import re
from collections.abc import Iterator
from typing import Any

from xeemu.frontends.cplusplus.options import is_header
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor

ENDS = "ends_"
"""How these functions are called, in our headers' namespace."""

_SCOPES = ("NAMESPACE", "LINKAGE_SPEC", "STRUCT_DECL", "CLASS_DECL", "UNEXPOSED_DECL")
_TYPED = frozenset(("VAR_DECL", "FIELD_DECL", "PARM_DECL", "CALL_EXPR", "CXX_NEW_EXPR"))
_NAMELESS = ("type-parameter", "lambda", "(anonymous", "(unnamed", "value-parameter")


def calls(unit: Cursor) -> str:
    """The functions, as text; empty for a unit without such templates."""
    names = {c.spelling for c in _own(unit) if clang.kind(c) == "CLASS_TEMPLATE" and written(c) is not None}
    if not names:
        return ""
    spellings = {s for t in _types(unit) for s in _spellings(t)}
    found = {instance for spelling in spellings for instance in _named(spelling, names)}
    lines = (
        f"inline void {ENDS}{k}({instance} *p) {{ p->~{name}(); }}" for k, (name, instance) in enumerate(sorted(found))
    )
    return "\n".join(("", "namespace __xeemu {", *lines, "}", "")) if found else ""


def written(declaration: Cursor) -> Cursor | None:
    """The definition of a class's destructor, None where that does nothing."""
    for part in declaration.get_children():
        if clang.kind(part) == "DESTRUCTOR":
            definition = part if part.is_definition() else part.get_definition()
            blocks = [] if definition is None else definition.get_children()
            if any(clang.kind(b) == "COMPOUND_STMT" and clang.children(b) for b in blocks):
                return definition
    return None


def destructors(unit: Cursor) -> Iterator[tuple[int, Cursor]]:
    """The destructors that these functions call, each by its class's key."""
    for space in unit.get_children():
        if clang.kind(space) == "NAMESPACE" and space.spelling == "__xeemu":
            for function in space.get_children():
                if clang.kind(function) == "FUNCTION_DECL" and function.spelling.startswith(ENDS):
                    for call in clang.parts(function, frozenset(("CALL_EXPR",))):
                        if call.referenced is not None and clang.kind(call.referenced) == "DESTRUCTOR":
                            yield clang.key(call.referenced.semantic_parent), call.referenced


def _own(unit: Cursor) -> Iterator[Cursor]:
    """What the user's files declare, in namespaces and classes too."""
    pending = list(unit.get_children())
    while pending:
        cursor = pending.pop()
        if cursor.location.file is None or is_header(cursor.location.file.name):
            continue
        yield cursor
        if clang.kind(cursor) in _SCOPES:
            pending += list(cursor.get_children())


def _types(unit: Cursor) -> Iterator[Any]:
    """The types (clang's) of variables and expressions, also of the instances of functions that are called."""
    pending, seen = [c for c in _own(unit) if clang.kind(c).endswith(("DECL", "METHOD", "CONSTRUCTOR"))], set[int]()
    while pending:
        for part in clang.parts(pending.pop(), _TYPED):
            yield part.type
            callee = part.referenced
            if callee is None or clang.kind(part) != "CALL_EXPR" or int(callee.hash) in seen:
                continue
            seen.add(int(callee.hash))
            if callee.location.file is not None and not is_header(callee.location.file.name):
                pending.append(callee)


def _spellings(of: Any) -> Iterator[str]:
    """The names of a type, of what it points to, and of the fields of a class."""
    pending, seen = [of.get_canonical()], set[str]()
    while pending:
        one = pending.pop()
        while one.get_pointee().kind.name != "INVALID":
            one = one.get_pointee().get_canonical()
        if one.spelling not in seen:
            seen.add(one.spelling)
            yield str(one.spelling)
            pending += [f.type.get_canonical() for f in (one.get_fields() if one.kind.name == "RECORD" else ())]


def _named(spelling: str, names: set[str]) -> Iterator[tuple[str, str]]:
    """The instances that the name of a type has in it, each with its template's name."""
    for match in re.finditer(r"(?:\w+::)*(\w+)<", spelling):
        if match[1] in names:
            instance = spelling[match.start() : _closed(spelling, match.end())]
            if not any(word in instance for word in _NAMELESS):
                yield match[1], instance


def _closed(spelling: str, at: int) -> int:
    """Behind the bracket that closes the one before a position."""
    depth = 1
    while depth and at < len(spelling):
        depth += (spelling[at] in "<(") - (spelling[at] in ">)")
        at += 1
    return at
