"""Closures: what a lambda captures, as a record."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from xeemu.frontends import types
from xeemu.frontends.parsing import clang, layouts
from xeemu.frontends.parsing.clang import Cursor

Site: TypeAlias = int
"""Where something is declared, the same for all instances of a template: clang's number of a place in the unit's text,
which tells apart what a macro makes."""

THIS: Site = -1
"""The site of the object whose method a lambda is in."""


@dataclasses.dataclass(frozen=True, eq=False)
class Capture:
    """A variable that a lambda captures, or the object whose method it is in.

    Attributes:
      name: of the variable and of the field; `"this"` of the object.
      cursor: the variable's declaration; of the object an expression of its type, or of a pointer to it.
      reference: True if it is captured by reference.
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


@dataclasses.dataclass(frozen=True)
class _Introducer:
    """What stands in the brackets of a lambda.

    Attributes:
      named: the captures, with whether by reference.
      default: `"="`, `"&"` or none.
      whole: True if it captures a copy of the object whose method it is in.
    """

    named: dict[str, bool]
    default: str
    whole: bool


def site(cursor: Cursor) -> Site:
    return int(cursor.location.int_data)


def closure(cursor: Cursor) -> Closure:
    """The class of a lambda expression."""
    introducer = _introducer(cursor)
    found: dict[Site, Capture] = {}
    parts = list(cursor.get_children())
    for part in parts:
        if clang.kind(part) == "VARIABLE_REF" and not is_static(part.referenced):
            declared = part.referenced
            found[site(declared)] = _capture(declared, introducer)
    if parts and clang.kind(parts[-1]) == "COMPOUND_STMT":
        for at, capture in _implicit(cursor, parts[-1], introducer):
            found.setdefault(at, capture)
    return Closure(found, cursor)


def _capture(declared: Cursor, introducer: _Introducer) -> Capture:
    name = declared.spelling
    return Capture(name, declared, introducer.named.get(name, introducer.default == "&"))


def _implicit(cursor: Cursor, block: Cursor, introducer: _Introducer) -> Iterator[tuple[Site, Capture]]:
    """What the body of a lambda captures by being used, or, of the object, by its members' names."""
    inside = frozenset(map(site, clang.parts(cursor, frozenset(_VARIABLES))))
    start, end = block.extent.begin_int_data, block.extent.end_int_data
    for part in clang.parts(block, _USES, _CLASSES):
        kind = clang.kind(part)
        if kind == "DECL_REF_EXPR" and introducer.default:
            declared = part.referenced
            if declared is None:
                continue  # a name that has no declaration, such as of an operator of numbers
            own = site(declared) in inside or start <= site(declared) < end
            if clang.kind(declared) in _VARIABLES and not own and _has_place(declared):
                yield site(declared), _capture(declared, introducer)
        elif kind == "CXX_THIS_EXPR" or (kind == "MEMBER_REF_EXPR" and _is_of_this(part)):
            yield THIS, Capture("this", _enclosing_class(cursor), not introducer.whole)


def _has_place(declared: Cursor) -> bool:
    """True if a variable is one of the function around, and no constant that stands for its value."""
    return not is_static(declared) and not is_known(declared) and not declared.spelling.startswith(_OF_LOOPS)


def _is_of_this(part: Cursor) -> bool:
    """True if a member is named alone, and is of an object."""
    if next(iter(part.get_children()), None) is not None:
        return False
    declared = part.referenced
    kind = clang.kind(declared) if declared is not None else ""
    return kind == "FIELD_DECL" or (kind in ("CXX_METHOD", "FUNCTION_TEMPLATE") and not declared.is_static_method())


def _enclosing_class(cursor: Cursor) -> Cursor:
    """The class in a method of which a lambda is."""
    of = cursor.type.get_canonical().get_declaration()
    while "lambda" in of.type.spelling:
        of = of.semantic_parent.semantic_parent
    return of


def _introducer(cursor: Cursor) -> _Introducer:
    depth, parts = 0, [[]]  # type: tuple[int, list[list[str]]]
    for token in cursor.get_tokens():
        spelling = token.spelling
        depth += (spelling in "([{") - (spelling in ")]}")
        if depth == 0:
            break
        if spelling == "," and depth == 1:
            parts.append([])
        elif not (spelling == "[" and depth == 1):
            parts[-1].append(spelling)
    default = next((p[0] for p in parts if p in (["="], ["&"])), "")
    named = [[t for t in p if t != "..."] for p in parts if p and p not in (["="], ["&"])]
    by_name = {p[1] if p[0] == "&" else p[0]: p[0] == "&" for p in named}
    return _Introducer(by_name, default, ["*", "this"] in named)


def is_static(declared: Cursor) -> bool:
    """True if a variable has one place in the program, which nobody captures."""
    parent = clang.kind(declared.semantic_parent) if declared.semantic_parent is not None else ""
    return parent in _OUTSIDE or declared.storage_class.name == "STATIC"


def is_known(declared: Cursor) -> bool:
    """True if a variable is a constant number, whose value is used instead of it, or a table of them."""
    of = declared.type.get_canonical()
    if not layouts.is_const(of):
        return False
    element = of
    while element.kind.name == "CONSTANTARRAY":
        element = element.element_type
    if element.kind.name not in _SCALARS:
        return False
    return constant(declared) is not None if element is of else _is_table(declared)


def _is_table(declared: Cursor) -> bool:
    """True if an array's first values are constants of numbers."""
    pending = [clang.initializer(declared)]
    while pending:
        first = pending.pop()
        if first is None:
            return False
        if clang.kind(first) == "INIT_LIST_EXPR":
            pending += clang.children(first)
        elif clang.evaluated(first) is None:
            return False
    return True


def constant(declared: Cursor) -> Any:
    """The value of a constant of numbers, None of any other variable."""
    first = clang.initializer(declared)
    return None if first is None else clang.evaluated(first)


_USES = frozenset(("DECL_REF_EXPR", "CXX_THIS_EXPR", "MEMBER_REF_EXPR"))
_CLASSES = frozenset(("STRUCT_DECL", "CLASS_DECL", "UNION_DECL"))
_OF_LOOPS = ("__range", "__begin", "__end")
"""Names of the variables that the compiler makes for `for (x : range)`."""
_VARIABLES = ("VAR_DECL", "PARM_DECL", "UNEXPOSED_DECL", "BINDING_DECL")
_OUTSIDE = ("TRANSLATION_UNIT", "NAMESPACE", "STRUCT_DECL", "CLASS_DECL", "LINKAGE_SPEC", "CLASS_TEMPLATE")
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
