"""Records: clang's types of C++ as those of `types.py`: references are pointers, base classes are fields."""

from typing import Any

from xeemu.frontends import refusals, types
from xeemu.frontends.cplusplus.closures import Closure, record
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.layouts import Layouts
from xeemu.frontends.tree import Place
from xeemu.frontends.types import Type

_REFERENCES = ("LVALUEREFERENCE", "RVALUEREFERENCE")
_POINTER_BYTES = 8


def is_reference(of: Any) -> bool:
    """Whether a type (clang's) is one of a reference."""
    return of.get_canonical().kind.name in _REFERENCES


class Records(Layouts):
    """The types of one translation unit of C++.

    Attributes:
      closures: the lambdas' classes, by their declaration's key.
    """

    def __init__(self) -> None:
        super().__init__()
        self.closures: dict[int, Closure] = {}

    def _read(self, of: Any, cursor: Cursor, place: Place) -> Type:
        kind = of.kind.name
        if kind in _REFERENCES:
            return self._pointer(of, cursor, place)
        if kind == "NULLPTR":
            return types.Pointer(types.VOID, "generic")
        if kind == "MEMBERPOINTER":
            raise refusals.at(place, "a pointer to a member; name the member, or write a lambda")
        if kind in ("DEPENDENT", "AUTO", "UNEXPOSED"):
            raise refusals.at(place, f"the type {of.spelling}, which clang has not made out here")
        return super()._read(of, cursor, place)

    def _pointer(self, of: Any, cursor: Cursor, place: Place) -> Type:
        to = of.get_pointee()
        if to.get_canonical().kind.name in ("FUNCTIONPROTO", "FUNCTIONNOPROTO"):
            return types.Opaque("a function")
        const = bool(to.get_canonical().is_const_qualified())
        return types.Pointer(self.type(to, cursor, place), "generic", const)

    def _record(self, of: Any, place: Place) -> Type:
        declaration = of.get_declaration()
        key = clang.key(declaration)
        if key in self._open:
            return self._open[key]
        if key in self.closures:
            return self._closure(self.closures[key], place)
        return super()._record(of, place)

    def _closure(self, closure: Closure, place: Place) -> Type:
        return record(closure, [self.captured(c.cursor, c.reference, place) for c in closure.captures.values()])

    def captured(self, declared: Cursor, reference: bool, place: Place) -> Type:
        """The type of a closure's field."""
        of = declared.type
        if is_reference(of):
            of = of.get_canonical().get_pointee()
        inner = self.type(of, declared, place)
        return types.Pointer(inner, "generic") if reference else inner

    def _fields(self, of: Any, declaration: Cursor) -> list[types.Field]:
        found = [self._base(b, clang.place(declaration)) for b in bases(declaration)]
        return [*found, *super()._fields(of, declaration)]

    def _base(self, base: Cursor, place: Place) -> types.Field:
        # Its offset is not told by the parser; a record with a base is never looked at as bytes.
        return types.Field(base_name(base.type), self.type(base.type, base, place), 0)


def bases(declaration: Cursor) -> list[Cursor]:
    """The base classes that a class names; an instance of a template has those of the template."""
    return [c for c in declaration.get_children() if clang.kind(c) == "CXX_BASE_SPECIFIER"]


def base_name(of: Any) -> str:
    """The name of the field that is a base class."""
    return f"<base {of.get_canonical().get_declaration().spelling}>"


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
