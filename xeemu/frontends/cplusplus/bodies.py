"""Bodies: what the readers share while one instance of a function is read, and expressions made of others."""

import dataclasses
from collections.abc import Callable

from xeemu.frontends import refusals
from xeemu.frontends.cplusplus.closures import THIS, Closure, Site, site
from xeemu.frontends.cplusplus.lvalues import dereferenced, member
from xeemu.frontends.cplusplus.options import is_header
from xeemu.frontends.cplusplus.records import Records, is_reference
from xeemu.frontends.functions import Function
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.layouts import is_volatile
from xeemu.frontends.tree import Block, Expression, SourceLocation, Variable
from xeemu.frontends.types import Record, Type

NOWHERE = SourceLocation("", 0, 0)
"""The place of what is written in our own headers: it has that of the call in the user's file."""


@dataclasses.dataclass(frozen=True)
class Readers:
    """What reads the parts of a function, each of which may stand in the others.

    Attributes:
      expression: an expression.
      block: statements in braces.
      of_items: an object that a constructor makes of some expressions; None if there is no such constructor.
      without_arguments: an object that a constructor makes of nothing; None if there is no such constructor.
    """

    expression: "Callable[[Body, Cursor], Expression]"
    block: "Callable[[Body, Cursor], Block]"
    of_items: "Callable[[Body, list[Cursor], Record, SourceLocation], Expression | None]"
    without_arguments: "Callable[[Body, Cursor, Record], Expression | None]"


@dataclasses.dataclass(eq=False)
class Body:
    """An instance of a function that is being read.

    Attributes:
      records: the unit's types.
      function: the definition that a callee's declaration has, None for an intrinsic.
      method: the definition of a method, of an object that is given as an expression.
      outer: a variable of namespace scope, or static.
      files: the names of the unit's files.
      readers: what reads its parts.
      this: the object whose method it is, as an lvalue.
      closure: the captures of a lambda whose call operator it is.
      reference: True if the function gives a reference.
      variables: those declared so far, by their declaration's key.
      given: parameters that stand for an expression, by their declaration's key.
      scopes: the blocks in which they are declared, by their declaration's key.
      place: of what was read last; what has no place of its own has this one.
    """

    records: Records
    function: Callable[[Cursor], Function | None]
    method: Callable[[Cursor, Expression], Function | None]
    outer: Callable[[Cursor], Variable | None]
    files: dict[int | None, str]
    readers: Readers
    this: Expression | None = None
    closure: Closure | None = None
    reference: bool = False
    variables: dict[int, Variable] = dataclasses.field(default_factory=dict)
    given: dict[int, Expression] = dataclasses.field(default_factory=dict)
    scopes: dict[int, Cursor] = dataclasses.field(default_factory=dict)
    place: SourceLocation = NOWHERE

    def at(self, cursor: Cursor) -> SourceLocation:
        """A cursor's place in the user's file."""
        found = clang.place(cursor, self.files)
        if found.line and not is_header(found.file):
            self.place = found
        elif found.line:
            self.place = NOWHERE
        return self.place

    def read(self, cursor: Cursor) -> Expression:
        """An expression of it."""
        return self.readers.expression(self, cursor)

    def type(self, cursor: Cursor) -> Type:
        """A cursor's type."""
        return self.records.of(cursor, clang.place(cursor, self.files))

    def type_of(self, cursor: Cursor) -> Type:
        """The type of an expression, references followed."""
        of = cursor.type.get_canonical()
        if is_reference(of):
            of = of.get_pointee()
        return self.records.type(of, cursor, self.at(cursor))

    def declare(self, cursor: Cursor) -> Variable:
        """A variable of the function, without its first value."""
        of, volatile = self._declared(cursor), is_volatile(cursor.type)
        variable = Variable(cursor.spelling or "<nameless>", of, "private", self.at(cursor), volatile=volatile)
        self.variables[clang.key(cursor)] = variable
        return variable

    def _declared(self, cursor: Cursor) -> Type:
        """The type of a variable; of a parameter that is declared as an array the pointer that it is."""
        of = cursor.type.get_canonical()
        if clang.kind(cursor) == "PARM_DECL" and of.kind.name.endswith("ARRAY"):
            return self.records.decayed(of, cursor, clang.place(cursor, self.files))
        return self.type(cursor)

    def captured(self, declared: Cursor) -> Expression | None:
        """What a lambda has captured of a variable, as an lvalue."""
        return None if self.closure is None else self._held(self.closure, site(declared))

    def _held(self, closure: Closure, at: Site) -> Expression | None:
        capture = closure.captures.get(at)
        if capture is None or self.this is None:
            return None
        of = self.records.captured(capture.cursor, capture.reference, self.place)
        field = member(of, self.place, self.this, capture.name)
        field = dereferenced(field) if capture.reference else field
        return dataclasses.replace(field, place=self.place)  # that of its use, not of the capture

    def within(self, this: Expression) -> "Body":
        """The state of reading what a class says of its members, of an object."""
        return dataclasses.replace(self, this=this, closure=None)

    def object(self) -> Expression:
        """The object that `this` points to, in a lambda the one that it has captured."""
        found = self.this if self.closure is None else self._held(self.closure, THIS)
        if found is None:
            raise refusals.at(self.place, "this, which a kernel cannot have; copy the members to variables first")
        return found
