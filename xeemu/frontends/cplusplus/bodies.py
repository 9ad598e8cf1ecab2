"""Bodies: what the readers share while one instance of a function is read, and expressions made of others."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus.bases import base_path
from xeemu.frontends.cplusplus.closures import THIS, Closure, Site, site
from xeemu.frontends.cplusplus.records import Records
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression, Function, Place, Variable
from xeemu.frontends.types import Type

NOWHERE = Place("", 0, 0)
"""The place of what is written in our own headers: it has that of the call in the user's file."""


@dataclasses.dataclass(eq=False)
class Body:
    """An instance of a function that is being read.

    Attributes:
      records: the unit's types.
      function: the definition that a callee's declaration has, None for an intrinsic.
      method: the same of a method of an object that is given as an expression.
      outer: a variable of namespace scope, or static.
      files: the names of the unit's files.
      this: the object whose method it is, as an lvalue.
      closure: the captures of a lambda whose call operator it is.
      reference: whether the function gives a reference.
      variables: those declared so far, by their declaration's key.
      given: parameters that stand for an expression, by their declaration's key.
      place: of what was read last; what has no place of its own has this one.
    """

    records: Records
    function: Callable[[Cursor], Function | None]
    method: Callable[[Cursor, Expression], Function | None]
    outer: Callable[[Cursor], Variable | None]
    files: dict[int | None, str]
    this: Expression | None = None
    closure: Closure | None = None
    reference: bool = False
    variables: dict[int, Variable] = dataclasses.field(default_factory=dict)
    given: dict[int, Expression] = dataclasses.field(default_factory=dict)
    place: Place = NOWHERE

    def at(self, cursor: Cursor) -> Place:
        """A cursor's place in the user's file."""
        found = clang.place(cursor, self.files)
        if found.line and not is_header(found.file):
            self.place = found
        elif found.line:
            self.place = NOWHERE
        return self.place

    def type(self, cursor: Cursor) -> Type:
        """A cursor's type."""
        return self.records.of(cursor, clang.place(cursor, self.files))

    def declare(self, cursor: Cursor) -> Variable:
        """A variable of the function, without its first value."""
        variable = Variable(cursor.spelling or "<nameless>", self.type(cursor), "private", self.at(cursor))
        self.variables[clang.key(cursor)] = variable
        return variable

    def captured(self, declared: Cursor) -> Expression | None:
        """What a lambda has captured of a variable, as an lvalue."""
        return None if self.closure is None else self._held(self.closure, site(declared))

    def _held(self, closure: Closure, at: Site) -> Expression | None:
        capture = closure.captures.get(at)
        if capture is None or self.this is None:
            return None
        of = self.records.captured(capture.cursor, capture.reference, self.place)
        field = member(of, self.place, self.this, capture.name)
        return dereferenced(field) if capture.reference else field

    def object(self) -> Expression:
        """The object that `this` points to, in a lambda the one that it has captured."""
        found = self.this if self.closure is None else self._held(self.closure, THIS)
        if found is None:
            raise refusals.at(self.place, "this, which a kernel cannot have; copy the members to variables first")
        return found


@functools.cache
def is_header(file: str) -> bool:
    """Whether a file is one of our own headers, which the user does not know."""
    from xeemu.frontends.cplusplus.options import HEADERS

    return file.startswith(HEADERS)


def dereferenced(pointer: Expression) -> Expression:
    """What a pointer, or reference, points to."""
    if isinstance(pointer, tree.Unary) and pointer.op == "&":
        return pointer.operand
    assert isinstance(pointer.type, types.Pointer)
    return tree.Unary(pointer.type.pointee, pointer.place, "*", pointer)


def member(of: Type, place: Place, base: Expression, name: str) -> Expression:
    """A field of a record; of one that is given by its fields that one."""
    if isinstance(base, tree.Initializer) and isinstance(base.type, types.Record) and not base.type.union:
        for field, item in zip(base.type.fields, base.items, strict=False):
            if field.name == name:
                return converted(item, field.type)
    return tree.Member(of, place, base, name, False)


def address(value: Expression, of: types.Pointer | None = None) -> Expression:
    """A pointer to an lvalue, or to a temporary object that holds a value."""
    if isinstance(value, tree.Unary) and value.op == "*":
        return value.operand
    if isinstance(value, tree.Choice) and is_lvalue(value):
        sides = (address(value.then, of), address(value.otherwise, of))
        return tree.Choice(of or types.Pointer(value.type, "generic"), value.place, value.condition, *sides)
    if (isinstance(value, tree.Cast) and value.type != value.operand.type) or not is_lvalue(value):
        value = materialized(value)
    return tree.Unary(of or types.Pointer(value.type, "generic"), value.place, "&", value)


def is_lvalue(value: Expression) -> bool:
    match value:
        case tree.Name() | tree.Subscript() | tree.Unary(op="*") | tree.Swizzle():
            return True
        case tree.Member(base=base, arrow=arrow):
            return arrow or is_lvalue(base)
        case tree.Binary(op=",", right=right):
            return is_lvalue(right)
        case tree.Braced(block=block):
            last = block.statements[-1] if block.statements else None
            return isinstance(last, tree.Evaluate) and is_lvalue(last.expression)
        case tree.Choice(then=then, otherwise=otherwise):
            return is_lvalue(then) and is_lvalue(otherwise)
        case tree.Cast(operand=operand):
            return operand.type == value.type and is_lvalue(operand)
        case tree.Text():
            return True
    return False


def materialized(value: Expression) -> Expression:
    """A temporary object, as an lvalue."""
    variable = Variable("<temporary>", value.type, "private", value.place, lambda: value)
    name = tree.Name(value.type, value.place, variable)
    statements = (tree.Declaration(value.place, (variable,)), tree.Evaluate(value.place, name))
    return tree.Braced(value.type, value.place, tree.Block(value.place, statements))


def unnamed(name: str, value: Expression) -> Variable:
    """A variable that the source does not name, with its first value."""
    return Variable(name, value.type, "private", value.place, lambda: value)


def copied(value: Expression) -> Expression:
    """An array as the list of its elements: a value, and not its address."""
    of, place = value.type, value.place
    if not isinstance(of, types.Array) or isinstance(value, tree.Initializer):
        return value
    each = (tree.Subscript(of.element, place, value, number(types.INT, place, k)) for k in range(of.count))
    return tree.Initializer(of, place, tuple(map(copied, each)))


def placed(assignment: tree.Assignment | tree.Step) -> Expression:
    """An assignment, or a step before, as the lvalue that it is in C++."""
    target = assignment.target if isinstance(assignment, tree.Assignment) else assignment.operand
    return tree.Binary(target.type, assignment.place, ",", assignment, target)


def lvalue(value: Expression) -> Expression:
    """A value that is one of an lvalue, as that lvalue."""
    match value:
        case tree.Assignment():
            return placed(value)
        case tree.Step(prefix=True):
            return placed(value)
        case tree.Choice() if is_lvalue(value):
            return dereferenced(address(value))
    return value


def converted(value: Expression, to: Type) -> Expression:
    """A value as another type has it: of a class the part that is its base, of numbers and pointers by a `Cast`."""
    if value.type == to:
        return value
    if isinstance(to, types.Record):
        path = base_path(value.type, to)
        return through(value, path) if path else value
    if isinstance(to, types.Pointer) and isinstance(value.type, types.Pointer):
        path = base_path(value.type.pointee, to.pointee)
        return address(through(dereferenced(value), path), to) if path else tree.Cast(to, value.place, value)
    if isinstance(value.type, types.Record):
        return value
    return tree.Cast(to, value.place, value)


def through(value: Expression, path: list[str]) -> Expression:
    """A part of a record, by the names of fields."""
    for name in path:
        assert isinstance(value.type, types.Record)
        value = tree.Member(value.type.field(name).type, value.place, value, name, False)
    return value


def number(of: Type, place: Place, value: Any) -> tree.Constant:
    """A number as a type has it; an integer wraps around."""
    assert isinstance(of, types.Scalar)
    if of.is_float:
        return tree.Constant(of, place, float(value))
    if of.is_bool:
        return tree.Constant(of, place, int(value != 0))
    bits = 8 * of.size
    wrapped = int(value) & ((1 << bits) - 1)
    return tree.Constant(of, place, wrapped - (1 << bits) if of.is_signed and wrapped >> (bits - 1) else wrapped)


def zero(of: Type, place: Place) -> Expression:
    """The value of something that is initialised without one."""
    match of:
        case types.Scalar():
            return number(of, place, 0)
        case types.Vector(element):
            return tree.Cast(of, place, number(element, place, 0))
        case types.Pointer():
            return tree.Cast(of, place, number(types.INT, place, 0))
    return tree.Initializer(of, place, ())
