"""Bodies: what the readers of expressions and statements share while one function is read."""

import dataclasses
import sys
from collections.abc import Callable, Mapping

from xeemu.errors import KernelError
from xeemu.frontends import refusals, tree, types
from xeemu.frontends.functions import Function
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.layouts import Layouts
from xeemu.frontends.parsing.printed import Printed
from xeemu.frontends.tree import Expression, SourceLocation, Variable
from xeemu.frontends.types import Type

_FRAMES_LEFT = 80


@dataclasses.dataclass(eq=False)
class Body:
    """A function, or a variable's first value, that is being read.

    Attributes:
      text: how far the printed text is read.
      layouts: the unit's types.
      variables: those declared so far, by their declaration's key.
      refused: why a declaration has no variable.
      function: the definition that a callee's declaration has, None if it has none.
      declare: makes a variable of its declaration.
      statement: reads a statement (in an expression in braces).
      initial: reads what something of a type is first, such as a list in braces (in a compound literal).
      place: of what was read last; what has no place of its own has this one.
      files: the names of the unit's files.
      calls: the functions called, each with the place of its first call.
    """

    text: Printed
    layouts: Layouts
    variables: dict[int, Variable]
    refused: Mapping[int, KernelError]
    function: Callable[[Cursor], Function | None]
    declare: "Callable[[Body, Cursor], Variable]"
    statement: "Callable[[Body, Cursor], tree.Statement]"
    initial: "Callable[[Body, Cursor, Type], Expression]"
    place: SourceLocation
    files: dict[int | None, str]
    calls: dict[Function, SourceLocation] = dataclasses.field(default_factory=dict)

    def at(self, cursor: Cursor) -> SourceLocation:
        """A cursor's place."""
        found = clang.place(cursor, self.files)
        if found.line:
            self.place = found
        return self.place

    def type(self, cursor: Cursor) -> Type:
        """A cursor's type."""
        return self.layouts.of(cursor, self.place)

    def result_type(self, cursor: Cursor, *operands: Expression) -> Type:
        """The type of an operation, which is no array.

        Of a parameter that is declared as an array libclang gives the array where the pointer is meant; it is that of
        an operand.
        """
        if cursor.type.kind.name.endswith("ARRAY"):
            return next(o.type for o in operands if isinstance(o.type, types.Pointer))
        return self.type(cursor)


def converted(value: Expression, to: Type) -> Expression:
    """A value as another type has it, by a `Cast` where they differ."""
    return value if value.type == to else tree.Cast(to, value.place, value)


def refuse_depth(body: Body, cursor: Cursor) -> None:
    """An error where Python's stack would soon end, which libclang's callbacks could not tell of."""
    try:
        sys._getframe(sys.getrecursionlimit() - _FRAMES_LEFT)
    except ValueError:  # the stack is not that deep
        return
    raise refusals.at(
        body.at(cursor), "nested in several hundred others; write it in parts, with variables between them"
    )
