"""Definitions: the functions and variables of one translation unit."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

from xeemu.errors import KernelError
from xeemu.frontends import refusals, tree
from xeemu.frontends.functions import Function
from xeemu.frontends.parsing import clang, initializers, layouts, statements
from xeemu.frontends.parsing.bodies import Body
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.integers import integers
from xeemu.frontends.parsing.layouts import Layouts
from xeemu.frontends.parsing.printed import Lost, Printed
from xeemu.frontends.parsing.recursion import refuse_recursion
from xeemu.frontends.tree import SourceLocation, Variable
from xeemu.frontends.types import VOID, Opaque, Type

_Read = TypeVar("_Read")
_KERNEL = re.compile(r"(?<!\w)(__kernel|kernel)\b")
_WORK_GROUP_SIZE = re.compile(r"reqd_work_group_size\((.+)\)$")
_SUB_GROUP_SIZE = re.compile(r"reqd_sub_group_size\((.+)\)$")


class Definitions:
    """What a translation unit defines; functions' bodies are read when they are asked for."""

    def __init__(self, unit: Any) -> None:
        self._unit = unit
        self._layouts = Layouts()
        self._files: dict[int | None, str] = {}
        self._variables: dict[int, Variable] = {}
        self._globals: dict[int, Variable] = {}
        self._refused: dict[int, KernelError] = {}
        self._functions: dict[int, Function] = {}
        self._calls: dict[Function, dict[Function, SourceLocation]] = {}
        for cursor in unit.cursor.get_children():
            self._define(cursor)

    def _define(self, cursor: Cursor) -> None:
        """A function or variable of program scope; a `Function` that is refused tells it when it is read."""
        kind = clang.kind(cursor)
        if kind not in ("FUNCTION_DECL", "VAR_DECL") or (kind == "FUNCTION_DECL" and not cursor.is_definition()):
            return
        place = clang.place(cursor, self._files)
        if clang.of_ours(place.file):
            return
        if kind == "VAR_DECL":
            self._global(cursor, place)
        else:
            self._functions[clang.key(cursor)] = self._function(cursor, place)

    @property
    def functions(self) -> dict[str, Function]:
        """By name, in the file's order; of overloaded ones the first has the plain name."""
        named: dict[str, Function] = {}
        for function in self._functions.values():
            free = function.name not in named
            named[function.name if free else f"{function.name}:{function.place.line}"] = function
        return named

    @property
    def globals(self) -> list[Variable]:
        return list(self._globals.values())

    def _global(self, cursor: Cursor, place: SourceLocation) -> None:
        key = clang.key(cursor)
        if key in self._globals and clang.initializer(cursor) is None:
            return  # declared once more
        try:
            of = self._layouts.of(cursor, place)
        except KernelError as error:
            self._refused[key] = error
            return
        space = _space(cursor, outside=True)
        volatile = layouts.is_volatile(cursor.type)
        variable = Variable(
            cursor.spelling, of, space, place, lambda: self._global_value(cursor, place), volatile=volatile
        )
        self._globals[key] = self._variables[key] = variable

    def _global_value(self, cursor: Cursor, place: SourceLocation) -> tree.Expression | None:
        first = clang.initializer(cursor)
        if first is None:
            return None
        body = self._body(cursor, place)
        body.text.until("=")
        body.text.take("=")
        return self._followed(body, lambda: initializers.value(body, first, self._layouts.of(cursor, place)))

    def _local(self, body: Body, cursor: Cursor) -> Variable:
        """A variable of a block; its first value is read at once, as the printed text has it here."""
        place = body.at(cursor)
        of = body.type(cursor)
        values: list[tree.Expression] = []
        volatile = layouts.is_volatile(cursor.type)
        variable = Variable(
            cursor.spelling, of, _space(cursor), place, lambda: values[0] if values else None, volatile=volatile
        )
        body.variables[clang.key(cursor)] = variable
        body.text.take(cursor.spelling)
        first = clang.initializer(cursor)
        if first is not None:
            body.text.take("=")
            values.append(initializers.value(body, first, of))
        return variable

    def _function(self, cursor: Cursor, place: SourceLocation) -> Function:
        head = clang.printed(cursor, head=True)
        spelled = attributes(head)
        sub_group_size = self._required(_SUB_GROUP_SIZE, spelled)
        parameters, refused_parameter = self._parameters(cursor)
        result, refused_result = self._result(cursor, place)
        refused = _variadic(cursor, place) or refused_parameter or refused_result
        key = clang.key(cursor)
        return Function(
            cursor.spelling,
            parameters,
            result,
            place,
            _KERNEL.search(head) is not None,
            _three(self._required(_WORK_GROUP_SIZE, spelled)),
            sub_group_size[0] if sub_group_size else None,
            spelled,
            lambda: self._read(cursor, self._functions[key], refused),
        )

    def _result(self, cursor: Cursor, place: SourceLocation) -> tuple[Type, KernelError | None]:
        """The type of what a function gives, and why it is refused."""
        try:
            return self._layouts.type(cursor.result_type, cursor, place), None
        except KernelError as refused:
            return VOID, refused

    def _parameters(self, cursor: Cursor) -> tuple[tuple[Variable, ...], KernelError | None]:
        """The parameters, and why one of them is refused."""
        declared = list(cursor.get_arguments())
        # Not the parameters' own types: of one declared as an array libclang gives the array.
        given = cursor.type.get_canonical().argument_types() if declared else ()
        found = [self._parameter(c, of) for c, of in zip(declared, given, strict=True)]
        return tuple(v for v, _ in found), next((e for _, e in found if e is not None), None)

    def _required(self, attribute: re.Pattern[str], spelled: tuple[str, ...]) -> list[int]:
        """The numbers of an attribute; none where it is not there."""
        for text in spelled:
            found = attribute.search(text)
            if found:
                return integers(found[1], self._enumerators())
        return []

    def _enumerators(self) -> dict[str, int]:
        """Those of program scope."""
        enums = (c for c in self._unit.cursor.get_children() if clang.kind(c) == "ENUM_DECL")
        return {e.spelling: e.enum_value for c in enums for e in c.get_children()}

    def _parameter(self, cursor: Cursor, given: Any) -> tuple[Variable, KernelError | None]:
        """A parameter, and why it is refused."""
        place = clang.place(cursor, self._files)
        try:
            of, error = self._layouts.type(given, cursor, place), None
        except KernelError as refused:
            of, error = Opaque(cursor.type.spelling), refused
        variable = Variable(cursor.spelling, of, "private", place, restrict=cursor.type.is_restrict_qualified())
        self._variables[clang.key(cursor)] = variable
        return variable, error

    def _read(self, cursor: Cursor, function: Function, refused: KernelError | None) -> tree.Block:
        """The body of a function; of a kernel those of all that it calls too."""
        if refused is not None:
            raise refused
        body = self._body(cursor, function.place)
        inner = next(c for c in cursor.get_children() if clang.kind(c) == "COMPOUND_STMT")
        body.text.until("{")
        block = self._followed(body, lambda: statements.read(body, inner))
        assert isinstance(block, tree.Block)
        self._calls[function] = body.calls
        if function.kernel:
            refuse_recursion(function, self._calls)
        return block

    def _body(self, cursor: Cursor, place: SourceLocation) -> Body:
        return Body(
            Printed(clang.printed(cursor)),
            self._layouts,
            self._variables,
            self._refused,
            lambda declared: self._functions.get(clang.key(declared)),
            self._local,
            statements.read,
            initializers.value,
            place,
            self._files,
        )

    def _followed(self, body: Body, read: Callable[[], _Read]) -> _Read:
        try:
            return read()
        except Lost as lost:
            raise refusals.at(
                body.place, f"what clang makes of this cannot be followed (no {lost}); write it simpler"
            ) from None


def _space(cursor: Cursor, outside: bool = False) -> str:
    """The address space of a variable; constants that are not in a block's own memory are `"constant"`."""
    named = layouts.space(cursor.type)
    if named in ("local", "constant"):
        return named
    static = outside or cursor.storage_class.name == "STATIC"
    if not static:
        return "private"
    return "constant" if layouts.is_const(cursor.type) else "global"


def _variadic(cursor: Cursor, place: SourceLocation) -> KernelError | None:
    """Why a function that takes any number of arguments cannot be read."""
    if cursor.type.kind.name != "FUNCTIONPROTO" or not cursor.type.is_function_variadic():
        return None
    message = f"{cursor.spelling} takes any number of arguments; give each number a function of its own"
    return refusals.at(place, message)


def _three(sizes: list[int]) -> tuple[int, int, int] | None:
    return (sizes[0], sizes[1], sizes[2]) if sizes else None


def attributes(head: str) -> tuple[str, ...]:
    """The attributes in a function's head, as the source spells them."""
    found = []
    for start in re.finditer(r"__attribute__\(\(", head):
        text = Printed(head[start.end() - 1 :])
        found.append(_spelled(text.bracketed()))
    return tuple(found)


def _spelled(tokens: list[str]) -> str:
    return "".join(t + " " if t == "," else t for t in tokens)
