"""Layouts: clang's types as those of `types.py`, with the sizes and offsets that clang gives them."""

import re
from typing import Any

from xeemu.frontends import refusals, types
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import SourceLocation
from xeemu.frontends.types import Type

_SCALARS = {
    "BOOL": types.BOOL,
    "CHAR_S": types.CHAR,
    "SCHAR": types.CHAR,
    "CHAR_U": types.UCHAR,
    "UCHAR": types.UCHAR,
    "SHORT": types.SHORT,
    "USHORT": types.USHORT,
    "INT": types.INT,
    "UINT": types.UINT,
    "LONG": types.LONG,
    "ULONG": types.ULONG,
    "LONGLONG": types.LONG,
    "ULONGLONG": types.ULONG,
    "HALF": types.HALF,
    "FLOAT16": types.HALF,
    "FLOAT": types.FLOAT,
    "DOUBLE": types.DOUBLE,
}
_SPACE = re.compile(r"__(global|local|constant|private|generic)\b")
_OPAQUE = re.compile(r"(?:__(read_only|write_only|read_write) )?((?:image\w+|sampler|event|clk_event|reserve_id)_t)$")
_CONST = re.compile(r"\b(const|volatile|restrict)\b ?")


def space(of: Any) -> str:
    """The address space of what has a type (clang's), empty if the type names none."""
    spelling = of.get_canonical().spelling
    found = _SPACE.findall(spelling[spelling.rfind("*") + 1 :])
    return found[0] if found else ""


def is_const(of: Any) -> bool:
    """True if nothing may be written into what has a type (clang's)."""
    of = of.get_canonical()
    while of.kind.name.endswith("ARRAY") and not of.is_const_qualified():
        of = of.element_type
    return bool(of.is_const_qualified())


def is_volatile(of: Any) -> bool:
    """True if each access to what has a type (clang's) has to be carried out."""
    of = of.get_canonical()
    while of.kind.name.endswith("ARRAY") and not of.is_volatile_qualified():
        of = of.element_type
    return bool(of.is_volatile_qualified())


def is_named(field: Cursor) -> bool:
    """True if a field has a name; a struct or union without one is seen through."""
    return bool(field.spelling) and "(" not in field.spelling


def path(of: Type, name: str) -> list[int]:
    """The positions that lead to a field, one after the other through nameless records; empty if there is none."""
    if not isinstance(of, types.Record):
        return []
    for i, field in enumerate(of.fields):
        if field.name == name:
            return [i]
    for i, field in enumerate(of.fields):
        inner = path(field.type, name) if field.name.startswith("<") else []
        if inner:
            return [i, *inner]
    return []


class Layouts:
    """The types of one translation unit, each read once."""

    def __init__(self) -> None:
        self._known: dict[int, Type] = {}
        self._open: dict[int, Type] = {}

    def of(self, cursor: Cursor, place: SourceLocation) -> Type:
        """The type of an expression, variable or field."""
        return self.type(cursor.type, cursor, place)

    def type(self, of: Any, cursor: Cursor, place: SourceLocation) -> Type:
        """A type of clang's that something at `place` has."""
        key = of.data[0]
        found = self._known.get(key)
        if found is None:
            found = self._read(of.get_canonical(), cursor, place)
            if not self._open:
                self._known[key] = found
        return found

    def _read(self, of: Any, cursor: Cursor, place: SourceLocation) -> Type:
        kind = of.kind.name
        if kind in _SCALARS:
            return _SCALARS[kind]
        match kind:
            case "VOID":
                return types.VOID
            case "POINTER":
                return self._pointer(of, cursor, place)
            case "CONSTANTARRAY":
                return types.Array(self.type(of.element_type, cursor, place), of.element_count)
            case "EXTVECTOR" | "VECTOR":
                return self._vector(of, cursor, place)
            case "ENUM":
                return self.type(of.get_declaration().enum_type, cursor, place)
            case "RECORD":
                return self._record(of, place)
            case "ATOMIC":
                return self.type(clang.value_type(of, cursor), cursor, place)
        return self._other(of, place)

    def _pointer(self, of: Any, cursor: Cursor, place: SourceLocation) -> Type:
        to = of.get_pointee()
        if to.kind.name in ("FUNCTIONPROTO", "FUNCTIONNOPROTO"):
            raise refusals.at(place, "a pointer to a function; call the functions by name, chosen by if or switch")
        return types.Pointer(self.type(to, cursor, place), space(to) or "private", is_const(to), is_volatile(to))

    def _vector(self, of: Any, cursor: Cursor, place: SourceLocation) -> Type:
        element = self.type(of.element_type, cursor, place)
        if not isinstance(element, types.Scalar) or of.element_count not in (2, 3, 4, 8, 16):
            raise refusals.at(place, f"the type {of.spelling}; vectors have 2, 3, 4, 8 or 16 components")
        return types.Vector(element, of.element_count)

    def _record(self, of: Any, place: SourceLocation) -> Type:
        declaration = of.get_declaration()
        key, name, size = clang.key(declaration), _record_name(of), of.get_size()
        if size < 0:
            return types.Record(name, (), 0)
        if key in self._open:  # a pointer in it to its own kind: without the fields, which would have no end
            return self._open[key]
        union = clang.kind(declaration) == "UNION_DECL"
        self._open[key] = types.Record(name, (), size, union)
        try:
            fields = tuple(self._fields(of, declaration))
        finally:
            del self._open[key]
        return types.Record(name, fields, size, union)

    def _fields(self, of: Any, declaration: Cursor) -> list[types.Field]:
        return [self._field(f, i) for i, f in enumerate(of.get_fields())]

    def _field(self, field: Cursor, position: int) -> types.Field:
        place = clang.place(field)
        name = field.spelling if is_named(field) else f"<{position}>"
        if field.is_bitfield():
            raise refusals.at(
                place, f"the bit-field {name}; write a whole integer and take its bits by shifts and masks"
            )
        return types.Field(name, self.of(field, place), field.get_field_offsetof() // 8, is_volatile(field.type))

    def _other(self, of: Any, place: SourceLocation) -> Type:
        kind, spelling = of.kind.name, _CONST.sub("", _SPACE.sub("", of.spelling)).strip()
        if kind == "INCOMPLETEARRAY":
            raise refusals.at(place, "an array without a size; give it one")
        if kind == "VARIABLEARRAY":
            raise refusals.at(place, "an array whose size is not a constant; give it one that the kernel never exceeds")
        if kind == "BLOCKPOINTER":
            raise refusals.at(place, "a block; write a function")
        if kind == "PIPE" or "pipe " in spelling:
            raise refusals.at(place, "a pipe; write a buffer with an atomic counter")
        if kind == "OCLQUEUE" or spelling == "queue_t":
            raise refusals.at(place, "enqueueing from a kernel; launch the second kernel from the host")
        opaque = _OPAQUE.match(spelling)
        if opaque:
            return types.Opaque(opaque[2], opaque[1] or "")
        raise refusals.at(place, f"the type {spelling}, which kernels here cannot have")


def _record_name(of: Any) -> str:
    """The name by which the source knows it; of a nameless one its kind and line."""
    spelling = _CONST.sub("", _SPACE.sub("", of.spelling)).strip()
    nameless = re.search(r"\((?:unnamed|anonymous).* at .*?:(\d+):\d+\)", spelling)
    return f"<line {nameless[1]}>" if nameless else re.sub(r"^(struct|union) ", "", spelling)
