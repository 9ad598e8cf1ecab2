"""Closures: what a lambda captures, as a record."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from xeemu.frontends import types
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor

Site: TypeAlias = tuple[str, int]
"""Where something is declared, the same for all instances of a template: the file and the offset in it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Capture:
    """A variable that a lambda captures; of `this` the name is `"this"`.

    Attributes:
      name: of the variable and of the field.
      cursor: its declaration.
      reference: whether it is captured by reference.
    """

    name: str
    cursor: Cursor
    reference: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Closure:
    """The class of a lambda.

    Attributes:
      captures: by the site of what is captured, in the order of the fields.
      cursor: the lambda.
    """

    captures: dict[Site, Capture]
    cursor: Cursor


def site(cursor: Cursor) -> Site:
    location = cursor.location
    return (location.file.name if location.file else "", location.offset)


def closure(cursor: Cursor) -> Closure:
    """The class of a lambda expression."""
    explicit, default = _introducer(cursor)
    found: dict[Site, Capture] = {}
    for declared in _used(cursor):
        name = declared.spelling
        at = site(declared)
        if at not in found and (default or name in explicit) and not _is_known(declared):
            found[at] = Capture(name, declared, explicit.get(name, default == "&"))
    return Closure(found, cursor)


def _introducer(cursor: Cursor) -> tuple[dict[str, bool], str]:
    """The captures that are named, with whether by reference, and the default, `"="`, `"&"` or none."""
    tokens = [t.spelling for t in cursor.get_tokens()]
    depth, parts = 0, [[]]  # type: tuple[int, list[list[str]]]
    for token in tokens:
        depth += (token in "([{") - (token in ")]}")
        if depth == 0:
            break
        if token == "," and depth == 1:
            parts.append([])
        elif not (token == "[" and depth == 1):
            parts[-1].append(token)
    default = next((p[0] for p in parts if p in (["="], ["&"])), "")
    named = {p[1] if p[0] == "&" else p[0]: p[0] == "&" for p in parts if p and p not in (["="], ["&"])}
    return named, default


def _used(cursor: Cursor) -> Iterator[Cursor]:
    """The declarations outside of a lambda of variables that are used in it, and those of its own captures."""
    file, start, end = cursor.location.file.name, cursor.extent.start.offset, cursor.extent.end.offset
    for part in cursor.walk_preorder():
        declared = part.referenced if clang.kind(part) in ("DECL_REF_EXPR", "VARIABLE_REF") else None
        if declared is None or clang.kind(declared) not in ("VAR_DECL", "PARM_DECL", "BINDING_DECL"):
            continue
        location = declared.location
        inside = location.file is not None and location.file.name == file and start <= location.offset < end
        own = clang.kind(part) == "VARIABLE_REF"
        if (own or not inside) and not _is_static(declared):
            yield declared


def _is_static(declared: Cursor) -> bool:
    """Whether a variable has one place in the program, which nobody captures."""
    parent = clang.kind(declared.semantic_parent) if declared.semantic_parent is not None else ""
    outside = parent in ("TRANSLATION_UNIT", "NAMESPACE", "STRUCT_DECL", "CLASS_DECL", "LINKAGE_SPEC", "CLASS_TEMPLATE")
    return outside or declared.storage_class.name == "STATIC"


def _is_known(declared: Cursor) -> bool:
    """Whether a variable is a constant whose value is used instead of it."""
    of = declared.type.get_canonical()
    scalar = of.kind.name in _SCALARS
    return bool(scalar and of.is_const_qualified() and constant(declared) is not None)


def constant(declared: Cursor) -> Any:
    """The value of a constant of numbers, None of any other variable."""
    first = clang.initializer(declared)
    return None if first is None else clang.evaluated(first)


_SCALARS: Sequence[str] = (
    "BOOL", "CHAR_S", "SCHAR", "CHAR_U", "UCHAR", "SHORT", "USHORT", "INT", "UINT", "LONG", "ULONG", "LONGLONG",
    "ULONGLONG", "ENUM", "FLOAT", "DOUBLE", "HALF", "FLOAT16",
)  # fmt: skip
"""Kinds of types of which a constant's value stands for it."""


def record(closure: Closure, fields: Sequence[types.Type]) -> types.Record:
    """A closure's class, with the types of its fields, pointers for those captured by reference."""
    laid_out, offset = [], 0
    for capture, of in zip(closure.captures.values(), fields, strict=True):
        laid_out.append(types.Field(capture.name, of, offset))
        offset += -(-of.size // 8) * 8
    return types.Record(f"<lambda at line {closure.cursor.location.line}>", tuple(laid_out), offset)
