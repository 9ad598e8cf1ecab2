"""Specializations: the constants of SYCL programs that a launch may set, which our headers keep in static variables."""

from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import effects
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Name, Variable
from xeemu.frontends.types import Record, Type

_CLASS = "__xeemu::specialized<"


def is_constant(of: Type) -> bool:
    """True if a variable of a type is such a constant."""
    return isinstance(of, Record) and of.name.startswith(_CLASS)


def named(first: Cursor) -> str:
    """The name of the `specialization_id` that an initialiser reads."""
    names = [str(c.spelling) for c in clang.parts(first, frozenset(("DECL_REF_EXPR",))) if c.spelling]
    return next(iter(names), "specialization constant")


def used(kernel: Function) -> tuple[Variable, ...]:
    """The constants that a kernel and what it calls read, in order, each once."""
    names = (n for part in effects.functions(kernel) for n in effects.nodes(part.body) if isinstance(n, Name))
    return tuple(dict.fromkeys(n.variable for n in names if is_constant(n.variable.type)))
