"""Records: clang's types of C++ as those of `types.py`: references are pointers, base classes are fields."""

from typing import Any

from xeemu.frontends import refusals, types
from xeemu.frontends.cplusplus import options
from xeemu.frontends.cplusplus.bases import Bases, base_name
from xeemu.frontends.cplusplus.closures import Closure, closure, record
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.layouts import Layouts, is_volatile
from xeemu.frontends.tree import SourceLocation
from xeemu.frontends.types import Type

_CHARACTERS = {"WCHAR": types.INT, "CHAR16": types.USHORT, "CHAR32": types.UINT}
_REFUSED = {
    "LONGDOUBLE": "long double, which no device has; write double",
    "INT128": "an integer of 128 bits; write two of 64",
    "UINT128": "an integer of 128 bits; write two of 64",
    "MEMBERPOINTER": "a pointer to a member; name the member, or write a lambda",
}
_REFERENCES = ("LVALUEREFERENCE", "RVALUEREFERENCE")
_FUNCTIONS = ("FUNCTIONPROTO", "FUNCTIONNOPROTO")


def is_reference(of: Any) -> bool:
    """True if a type (clang's) is one of a reference; one to a function is the function."""
    of = of.get_canonical()
    return of.kind.name in _REFERENCES and of.get_pointee().kind.name not in _FUNCTIONS


class Records(Layouts):
    """The types of one translation unit of C++.

    Attributes:
      closures: the lambdas' classes, by their declaration's key.
      bases: the classes that others are derived from.
      declared: the declarations of the classes read so far.
      ending: the names of those whose destructor does something.
      refused: the names of the user's among them, of which a kernel has no objects.
    """

    def __init__(self) -> None:
        super().__init__()
        self.closures: dict[int, Closure] = {}
        self.bases = Bases()
        self.declared: dict[Type, Cursor] = {}
        self.ending: set[str] = set()
        self.refused: set[str] = set()

    def add(self, cursor: Cursor) -> Closure:
        """The class of a lambda expression."""
        key = clang.key(cursor.type.get_canonical().get_declaration())
        if key not in self.closures:
            self.closures[key] = closure(cursor)
        return self.closures[key]

    def _read(self, of: Any, cursor: Cursor, place: SourceLocation) -> Type:
        kind = of.kind.name
        if kind in _REFERENCES:
            return self._pointer(of, cursor, place)
        if kind in ("INCOMPLETEARRAY", "VARIABLEARRAY"):  # of a parameter, which is a pointer; or memory of the heap
            return self.decayed(of, cursor, place)
        if kind == "NULLPTR":
            return types.Pointer(types.VOID, "generic")
        if kind in _CHARACTERS:
            return _CHARACTERS[kind]
        if kind in _REFUSED:
            raise refusals.at(place, _REFUSED[kind])
        if kind in ("DEPENDENT", "AUTO", "UNEXPOSED"):
            raise refusals.at(place, f"the type {of.spelling}, which clang has not made out here")
        return super()._read(of, cursor, place)

    def _pointer(self, of: Any, cursor: Cursor, place: SourceLocation) -> Type:
        to = of.get_pointee()
        if to.get_canonical().kind.name in _FUNCTIONS:
            return types.Opaque("a function")
        const = bool(to.get_canonical().is_const_qualified())
        return types.Pointer(self.type(to, cursor, place), "generic", const, is_volatile(to))

    def decayed(self, of: Any, cursor: Cursor, place: SourceLocation) -> types.Pointer:
        """A pointer to the elements of an array type of clang's."""
        element = of.element_type.get_canonical()
        const = bool(element.is_const_qualified())
        return types.Pointer(self.type(element, cursor, place), "generic", const, is_volatile(element))

    def _record(self, of: Any, place: SourceLocation) -> Type:
        declaration = of.get_declaration()
        key = clang.key(declaration)
        if key in self._open:
            return self._open[key]
        if key in self.closures:
            return self._closure(self.closures[key], place)
        made = super()._record(of, place)
        self.declared[made] = declaration
        if isinstance(made, types.Record) and _ends(clang.template(declaration) or declaration):
            self.ending.add(made.name)
            if not options.is_header(clang.place(clang.template(declaration) or declaration).file):
                self.refused.add(made.name)
        return made

    def _closure(self, closure: Closure, place: SourceLocation) -> Type:
        return record(closure, [self.captured(c.cursor, c.reference, place) for c in closure.captures.values()])

    def captured(self, declared: Cursor, reference: bool, place: SourceLocation) -> Type:
        """The type of a closure's field."""
        of = declared.type
        if is_reference(of):
            of = of.get_canonical().get_pointee()
        inner = self.type(of, declared, place)
        return types.Pointer(inner, "generic") if reference else inner

    def _fields(self, of: Any, declaration: Cursor) -> list[types.Field]:
        place, end = clang.place(declaration), 0
        found = []
        for base in self.bases.of(declaration, place):
            inner = self.type(base, declaration, place)
            empty = isinstance(inner, types.Record) and not inner.fields
            offset = 0 if empty else -(-end // base.get_align()) * base.get_align()
            end = end if empty else offset + base.get_size()
            found.append(types.Field(base_name(base), inner, offset))
        return [*found, *super()._fields(of, declaration)]


def _ends(declaration: Cursor) -> bool:
    """True if a class has a destructor with statements."""
    for part in declaration.get_children():
        if clang.kind(part) == "DESTRUCTOR":
            blocks = [c for c in (part.get_definition() or part).get_children() if clang.kind(c) == "COMPOUND_STMT"]
            return any(clang.children(block) for block in blocks)
    return False
