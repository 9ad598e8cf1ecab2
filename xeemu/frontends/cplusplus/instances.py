"""Instances: the functions that a translation unit instantiates, each read when it is asked for."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from xeemu.errors import KernelError
from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus import closures, expressions, initializers, statements
from xeemu.frontends.cplusplus.bodies import NOWHERE, Body, is_header, zero
from xeemu.frontends.cplusplus.records import Records, base_name, is_reference
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression, Function, Place, Statement, Variable

FUNCTIONS = ("FUNCTION_DECL", "CXX_METHOD", "CONVERSION_FUNCTION", "CONSTRUCTOR")


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

    def function(self, cursor: Cursor) -> Function | None:
        """The function that a declaration is of; None of an intrinsic, which has no definition."""
        definition = cursor if cursor.is_definition() else cursor.get_definition()
        if definition is None:
            return None
        key = int(definition.hash)
        if key not in self._functions:
            self._functions[key] = self._read(definition)
        return self._functions[key]

    def method(self, cursor: Cursor, this: Expression) -> Function | None:
        """A method of an object that is given as an expression; the object is no parameter."""
        definition = cursor if cursor.is_definition() else cursor.get_definition()
        return None if definition is None else self._read(definition, this)

    def entry(self, cursor: Cursor, given: Expression) -> Function:
        """A kernel's entry whose first parameter, a reference to the kernel's function object, stands for an expression."""
        first = next(iter(cursor.get_arguments()))
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
        read = (lambda: self._constructor(body, cursor, result)) if constructor else (lambda: self._body(body, cursor))
        return Function(_named(cursor), tuple(parameters), result, place, False, read=read)

    def body(self, cursor: Cursor, place: Place) -> Body:
        """The state of reading a function."""
        closure = self.closure(cursor)
        reference = clang.kind(cursor) != "CONSTRUCTOR" and is_reference(cursor.result_type)
        outside = self.body_outside(place)
        return dataclasses.replace(outside, closure=closure, reference=reference, variables={}, given={})

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

    def _place(self, cursor: Cursor) -> Place:
        place = clang.place(cursor, self.files)
        return NOWHERE if is_header(place.file) else place

    def _body(self, body: Body, cursor: Cursor) -> tree.Block:
        return statements.block(body, _block(cursor))

    def _constructor(self, body: Body, cursor: Cursor, of: types.Type) -> tree.Block:
        """A constructor as a function that gives the object: its members' values, then its body."""
        place = body.place
        assert isinstance(of, types.Record)
        made = Variable("<this>", of, "private", place, lambda: value)
        body.this = tree.Name(of, place, made)
        parts = list(cursor.get_children())
        block = next(c for c in parts if clang.kind(c) == "COMPOUND_STMT")
        delegated = _delegated(cursor, parts)
        value: Expression
        if delegated is not None:
            value = expressions.read(body, delegated)
        else:
            value = self._members(body, cursor, of, dict(_initialized(parts)))
        inner = clang.children(block)
        if not inner:
            return tree.Block(place, (tree.Return(place, value),))
        rest: tuple[Statement, ...] = statements.block(body, block).statements
        name = tree.Name(of, place, made)
        return tree.Block(place, (tree.Declaration(place, (made,)), *rest, tree.Return(place, name)))

    def _members(self, body: Body, cursor: Cursor, of: types.Record, given: dict[str, Cursor]) -> Expression:
        declared = cursor.semantic_parent.type.get_canonical()
        fields = {f.spelling: f for f in declared.get_fields()}
        defaults = initializers.body_defaults(body, declared, of)
        items: list[Expression] = []
        for field in of.fields:
            if field.name in given and field.name in fields:
                items.append(_value(body, given[field.name], fields[field.name]))
            elif field.name in given:
                items.append(initializers.of_type(body, given[field.name], field.type))
            else:
                items.append(defaults.get(field.name) or zero(field.type, body.place))
        return tree.Initializer(of, body.place, tuple(items))

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
            self._outer[key] = Variable(cursor.spelling, of, space, place, read)
        return self._outer[key]

    def body_outside(self, place: Place) -> Body:
        """The state of reading what is in no function."""
        return Body(self.records, self.function, self.method, self.outer, self.files, place=place)


def _value(body: Body, cursor: Cursor, field: Cursor) -> Expression:
    if clang.kind(cursor) == "ParenListExpr":
        raise refusals.at(body.at(cursor), "a list in parentheses; write it in braces")
    return initializers.value(body, cursor, field)


def _named(cursor: Cursor) -> str:
    """The name of a function in messages."""
    parent = cursor.semantic_parent
    if cursor.spelling == "operator()" and parent is not None and "lambda" in parent.type.spelling:
        return f"<lambda at line {cursor.location.line}>"
    return str(cursor.spelling)


def _block(cursor: Cursor) -> Cursor:
    for child in cursor.get_children():
        if clang.kind(child) == "COMPOUND_STMT":
            return child
        if clang.kind(child) == "CXX_TRY_STMT":
            return clang.children(child)[0]
    raise KernelError(f"the function {cursor.spelling} has no body that can be read")


def _initialized(parts: list[Cursor]) -> Iterator[tuple[str, Cursor]]:
    """The members and bases that a constructor's head names, with their values."""
    name = ""
    for part in parts:
        kind = clang.kind(part)
        if kind == "MEMBER_REF":
            name = part.spelling
        elif kind in ("TYPE_REF", "TEMPLATE_REF"):
            name = base_name(part.type) if kind == "TYPE_REF" else name
        elif kind in ("PARM_DECL", "COMPOUND_STMT") or kind.endswith(("_REF", "_ATTR")):
            continue
        elif name:
            yield name, part
            name = ""


def _delegated(cursor: Cursor, parts: list[Cursor]) -> Cursor | None:
    """The other constructor of the class that a constructor calls."""
    parent = cursor.semantic_parent.type.get_canonical()
    for part in parts:
        if clang.kind(part) == "CALL_EXPR" and part.type.get_canonical() == parent:
            return part
    return None


def _is_constant(cursor: Cursor) -> bool:
    of = cursor.type.get_canonical()
    while of.kind.name == "CONSTANTARRAY" and not of.is_const_qualified():
        of = of.element_type
    return bool(of.is_const_qualified())


