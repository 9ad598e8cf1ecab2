"""Tree: typed expressions and statements of C, the same for OpenCL C and SYCL C++; `functions` consist of them.

Nothing here knows the parser. Every expression has the type that the language gives it, after the conversions that the
language makes (`Cast` nodes); every node has its place in the user's file.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from xeemu.frontends.types import Type

if TYPE_CHECKING:
    from xeemu.frontends.functions import Function


@dataclasses.dataclass(frozen=True)
class SourceLocation:
    """A position in the user's file; line and column count from 1.

    Of what a macro stands for it is where the macro is used.
    """

    file: str
    line: int
    column: int


@dataclasses.dataclass(frozen=True, eq=False)
class Variable:
    """A variable or parameter; two are the same only if they are one object.

    Attributes:
      name: of the source.
      type: an array's is `Array`; of a parameter it is the pointer that C makes of it.
      space: `"private"`, `"local"`, `"constant"` (also of file-scope constants and `static const`) or `"global"`.
      place: where it is declared.
      initializer: its first value, or None; read when it is first asked for.
      declared: as the source declares it, where that is not the type and the name.
      restrict: of a pointer, true if it says that nothing else points to the same.
      volatile: True if each access to it has to be carried out.
    """

    name: str
    type: Type
    space: str
    place: SourceLocation
    read: Callable[[], "Expression | None"] = dataclasses.field(default=lambda: None, repr=False)
    declared: str = ""
    restrict: bool = False
    volatile: bool = False

    @functools.cached_property
    def initializer(self) -> "Expression | None":
        return self.read()


@dataclasses.dataclass(frozen=True, eq=False)
class Constant:
    """A number known to the compiler: a literal, `sizeof`, an enumerator."""

    type: Type
    place: SourceLocation
    value: int | float


@dataclasses.dataclass(frozen=True, eq=False)
class Text:
    """A string literal."""

    type: Type
    place: SourceLocation
    value: str


@dataclasses.dataclass(frozen=True, eq=False)
class Name:
    """A variable, as an lvalue."""

    type: Type
    place: SourceLocation
    variable: Variable


@dataclasses.dataclass(frozen=True, eq=False)
class Unary:
    """`+ - ~ ! * &`; `*` is an lvalue."""

    type: Type
    place: SourceLocation
    op: str
    operand: "Expression"


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """`++` or `--` of an lvalue, before (`prefix`) or after its value is taken."""

    type: Type
    place: SourceLocation
    op: str
    operand: "Expression"
    prefix: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Binary:
    """`* / % + - << >> < > <= >= == != & ^ | && ||` and the comma."""

    type: Type
    place: SourceLocation
    op: str
    left: "Expression"
    right: "Expression"


@dataclasses.dataclass(frozen=True, eq=False)
class Assignment:
    """`target = value`, or with an operator `target op= value`."""

    type: Type
    place: SourceLocation
    op: str
    target: "Expression"
    value: "Expression"


@dataclasses.dataclass(frozen=True, eq=False)
class Choice:
    """`condition ? then : otherwise`; of vectors, component by component."""

    type: Type
    place: SourceLocation
    condition: "Expression"
    then: "Expression"
    otherwise: "Expression"


@dataclasses.dataclass(frozen=True, eq=False)
class Subscript:
    """`base[index]`, an lvalue; `base` is a pointer, an array or (a component of it) a vector."""

    type: Type
    place: SourceLocation
    base: "Expression"
    index: "Expression"


@dataclasses.dataclass(frozen=True, eq=False)
class Member:
    """A field of a record, an lvalue if `base` is; with `arrow`, `base` is a pointer to the record."""

    type: Type
    place: SourceLocation
    base: "Expression"
    name: str
    arrow: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Swizzle:
    """Components of a vector by number, such as `.xy` or `.s03`; one is a scalar. An lvalue if `base` is."""

    type: Type
    place: SourceLocation
    base: "Expression"
    components: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Cast:
    """A conversion to `type`, also C's implicit ones; a scalar to a vector is repeated."""

    type: Type
    place: SourceLocation
    operand: "Expression"


@dataclasses.dataclass(frozen=True, eq=False)
class Initializer:
    """`{a, b, ...}` or a vector literal `(float4)(a, b)`, whose items are numbers and vectors one after the other.

    Attributes:
      items: in the order of the elements or fields, each of its type; those left out at the end are zero. Of a union at
        most one.
      member: of a union the field that is given.
    """

    type: Type
    place: SourceLocation
    items: tuple["Expression", ...]
    member: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
    """A call, of a function of the program or (`function` is None) of the language's.

    Attributes:
      name: of the callee.
      arguments: converted to the parameters' types where those are declared.
      function: the callee's definition.
    """

    type: Type
    place: SourceLocation
    name: str
    arguments: tuple["Expression", ...]
    function: "Function | None"


@dataclasses.dataclass(frozen=True, eq=False)
class Callee:
    """A function as a value.

    Attributes:
      read: reads it when it is called.
      override: of a virtual function the one that objects of a class have; None where there is none to be found.
    """

    type: Type
    place: SourceLocation
    name: str
    read: Callable[[], "Function | None"] = dataclasses.field(default=lambda: None, repr=False)
    override: Callable[[Type], "Function | None"] = dataclasses.field(default=lambda _: None, repr=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Braced:
    """`({ ... })`: statements in an expression; the last one's value, if it is an expression, is its own."""

    type: Type
    place: SourceLocation
    block: "Block"


def text(node: "Expression") -> str:
    """The string literal that an expression is, through conversions; empty if it is none."""
    while isinstance(node, Cast | Unary):
        node = node.operand
    return node.value if isinstance(node, Text) else ""


Expression: TypeAlias = (
    Constant | Text | Name | Unary | Step | Binary | Assignment | Choice | Subscript | Member | Swizzle | Cast
    | Initializer | Call | Callee | Braced
)  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Statements in braces; an empty statement is one of none."""

    place: SourceLocation
    statements: tuple["Statement", ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Declaration:
    """Variables of a block."""

    place: SourceLocation
    variables: tuple[Variable, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluate:
    """An expression for its effects."""

    place: SourceLocation
    expression: Expression


@dataclasses.dataclass(frozen=True, eq=False)
class If:
    place: SourceLocation
    condition: Expression
    then: "Statement"
    otherwise: "Statement | None"


@dataclasses.dataclass(frozen=True, eq=False)
class Loop:
    """`for`, `while` and `do`.

    Attributes:
      first: of a `for`.
      condition: None for an endless loop.
      step: of a `for`.
      body: what is repeated.
      after: True if the condition is tested after the body (`do`).
      unroll: the factor of `#pragma unroll` or `opencl_unroll_hint`; 0 for a pragma without one, None for no pragma.
    """

    place: SourceLocation
    first: "Statement | None"
    condition: Expression | None
    step: Expression | None
    body: "Statement"
    after: bool = False
    unroll: int | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """What follows labels of a `switch`, up to the next label; it falls through.

    Attributes:
      values: inclusive ranges `(low, high)` of the labels.
      default: True if `default` is one of them.
    """

    values: tuple[tuple[int, int], ...]
    default: bool
    statements: tuple["Statement", ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Switch:
    place: SourceLocation
    value: Expression
    cases: tuple[Case, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Break:
    place: SourceLocation


@dataclasses.dataclass(frozen=True, eq=False)
class Continue:
    place: SourceLocation


@dataclasses.dataclass(frozen=True, eq=False)
class Goto:
    """Goes on at a label of a block that it is in; only the host can."""

    place: SourceLocation
    label: str


@dataclasses.dataclass(frozen=True, eq=False)
class Label:
    """Where a `goto` goes on; the statement itself does nothing."""

    place: SourceLocation
    name: str


@dataclasses.dataclass(frozen=True, eq=False)
class Return:
    place: SourceLocation
    value: Expression | None


@dataclasses.dataclass(frozen=True, eq=False)
class Handler:
    """What catches exceptions of a class, or of classes derived from it.

    Attributes:
      variable: a pointer to the exception, as an object of the class; None where it has no name.
      type: the class; None for all.
    """

    variable: Variable | None
    type: Type | None
    block: Block


@dataclasses.dataclass(frozen=True, eq=False)
class Try:
    """`try`, of the host alone."""

    place: SourceLocation
    block: Block
    handlers: tuple[Handler, ...]


Statement: TypeAlias = (
    Block | Declaration | Evaluate | If | Loop | Switch | Break | Continue | Goto | Label | Return | Try
)  # fmt: skip
