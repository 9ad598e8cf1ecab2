"""Instances: the functions that a translation unit instantiates, each read when it is asked for."""

import dataclasses
from typing import Any

from xeemu.errors import KernelError
from xeemu.frontends import tree, types
from xeemu.frontends.cplusplus import (
    closures,
    constructors,
    expressions,
    initializers,
    specializations,
    statements,
    substitution,
)
from xeemu.frontends.cplusplus.bodies import NOWHERE, Body, Readers
from xeemu.frontends.cplusplus.options import is_header
from xeemu.frontends.cplusplus.records import Records, is_reference
from xeemu.frontends.functions import Function
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression, SourceLocation, Variable

FUNCTIONS = ("FUNCTION_DECL", "CXX_METHOD", "CONVERSION_FUNCTION", "CONSTRUCTOR")

_READERS = Readers(expressions.read, statements.block, constructors.of_items, constructors.without_arguments)


class Instances:
    """The functions and outer variables of a unit.

    Attributes:
      records: the unit's types.
      files: the names of the unit's files.
    """

    def __init__(self, unit: Any) -> None:
        self.unit = unit
        self.records = Records()
        self.files: dict[int | None, str] = {}
        self._functions: dict[int, Function | None] = {}
        self._outer: dict[int, Variable] = {}
        self._leaves: frozenset[Variable] = frozenset()  # what kernels are given

    def function(self, cursor: Cursor) -> Function | None:
        """The function that a declaration is of; None of an intrinsic, which has no definition."""
        definition = cursor if cursor.is_definition() else cursor.get_definition()
        if definition is None:
            return None
        key = int(definition.hash)
        if key not in self._functions:
            self._functions[key] = self._read(definition)
        return self._functions[key]

    def key(self, function: Function) -> int:
        """The hash of the cursor by which a function was read."""
        return next(key for key, known in self._functions.items() if known is function)

    def method(self, cursor: Cursor, this: Expression) -> Function | None:
        """A method of an object that a kernel is given, as an expression; the object is no parameter.

        None where the object is made of other variables, which are not those of the method.
        """
        definition = cursor if cursor.is_definition() else cursor.get_definition()
        names = substitution.names(this)
        if definition is None or names is None or not names <= self._leaves:
            return None
        return self._read(definition, this)

    def entry(self, cursor: Cursor, given: Expression) -> Function:
        """A kernel's entry whose first parameter, a reference to the kernel's object, stands for an expression."""
        first = next(iter(cursor.get_arguments()))
        self._leaves |= substitution.names(given) or frozenset()
        return self._read(cursor, None, {clang.key(first): given})

    def _read(
        self, cursor: Cursor, this: Expression | None = None, given: dict[int, Expression] | None = None
    ) -> Function:
        place = self._place(cursor)
        body = self.body(cursor, place)
        body.this, body.given = this, given or {}
        parameters = [body.declare(c) for c in cursor.get_arguments() if clang.key(c) not in body.given]
        constructor = clang.kind(cursor) == "CONSTRUCTOR"
        of_class = self._class(cursor)
        result = of_class if constructor else self.records.type(cursor.result_type, cursor, place)
        assert result is not None
        if this is None and not constructor and of_class is not None and not cursor.is_static_method():
            itself = Variable("this", types.Pointer(of_class, "generic"), "private", place)
            body.this = tree.Unary(of_class, place, "*", tree.Name(itself.type, place, itself))
            parameters.insert(0, itself)
        read = (lambda: constructors.block(body, cursor, result)) if constructor else (lambda: self._body(body, cursor))
        return Function(_named(cursor), tuple(parameters), result, place, False, read=read)

    def body(self, cursor: Cursor, place: SourceLocation) -> Body:
        """The state of reading a function."""
        closure = self.closure(cursor)
        reference = clang.kind(cursor) != "CONSTRUCTOR" and is_reference(cursor.result_type)
        outside = self.body_outside(place)
        return dataclasses.replace(outside, closure=closure, reference=reference, variables={}, given={}, scopes={})

    def closure(self, cursor: Cursor) -> closures.Closure | None:
        """The lambda whose call operator a function is."""
        parent = cursor.semantic_parent
        return None if parent is None else self.records.closures.get(clang.key(parent))

    def _class(self, cursor: Cursor) -> types.Type | None:
        """The class of a method."""
        if clang.kind(cursor) == "FUNCTION_DECL":
            return None
        parent = cursor.semantic_parent
        return self.records.type(parent.type.get_canonical(), parent, self._place(cursor))

    def _place(self, cursor: Cursor) -> SourceLocation:
        place = clang.place(cursor, self.files)
        return NOWHERE if is_header(place.file) else place

    def _body(self, body: Body, cursor: Cursor) -> tree.Block:
        inner = _block(cursor)
        if clang.kind(inner) == "CXX_TRY_STMT":
            return tree.Block(body.place, (statements.tried(body, inner),))
        return statements.block(body, inner)

    def outer(self, cursor: Cursor) -> Variable | None:
        """A variable of namespace scope, or a static one."""
        cursor = cursor.get_definition() or cursor
        key = clang.key(cursor)
        if key not in self._outer:
            place = clang.place(cursor, self.files)
            body = self.body_outside(place)
            of = self.records.type(cursor.type, cursor, place)
            space = "constant" if _is_constant(cursor) else "global"
            first = clang.initializer(cursor)
            read = (lambda: None) if first is None else (lambda: initializers.value(body, first, cursor))
            name = (
                specializations.named(first)
                if specializations.is_constant(of) and first is not None
                else cursor.spelling
            )
            self._outer[key] = Variable(name, of, space, place, read)
        return self._outer[key]

    def body_outside(self, place: SourceLocation) -> Body:
        """The state of reading what is in no function."""
        return Body(self.records, self.function, self.method, self.outer, self.files, _READERS, place=place)


def _named(cursor: Cursor) -> str:
    """The name of a function in messages; with its class and namespace where it is the standard library's."""
    parent = cursor.semantic_parent
    of = "" if parent is None else str(parent.type.spelling)
    if cursor.spelling == "operator()" and "lambda" in of:
        return f"<lambda at line {cursor.location.line}>"
    if of.startswith("std::"):
        return of if clang.kind(cursor) == "CONSTRUCTOR" else f"{of}::{cursor.spelling}"
    if parent is not None and parent.spelling == "std":
        return f"std::{cursor.spelling}"
    return str(cursor.spelling)


def _block(cursor: Cursor) -> Cursor:
    for child in cursor.get_children():
        if clang.kind(child) in ("COMPOUND_STMT", "CXX_TRY_STMT"):
            return child
    raise KernelError(f"the function {cursor.spelling} has no body that can be read")


def _is_constant(cursor: Cursor) -> bool:
    of = cursor.type.get_canonical()
    while of.kind.name == "CONSTANTARRAY" and not of.is_const_qualified():
        of = of.element_type
    return bool(of.is_const_qualified())
