"""Sites: calls on behalf of a line of the user's file, which JAX's tracebacks then name."""

import functools
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

from xeemu.frontends.tree import SourceLocation
from xeemu.language import source

T = TypeVar("T")


def at(place: SourceLocation, function: str, call: Callable[[], T], variable: str = "", turn: int = 0) -> T:
    """Calls something such that the innermost user's frame of a traceback is a line of the user's file.

    Args:
      place: the line.
      function: the name of the user's function that it stands in.
      call: what is called.
      variable: that what is computed is assigned to; empty where that is not told.
      turn: of a loop that is written out on one line; 0 outside such.
    """
    caller: Any = FunctionType(_code(place.file, place.line, function, variable, turn), {})
    return caller(call)


# By the file too: codes are equal that differ in their files alone.
@functools.lru_cache(maxsize=1 << 16)
def _code(file: str, line: int, function: str, variable: str, turn: int) -> CodeType:
    text = "\n" * (max(line, 1) - 1) + "def caller(call): return call()"
    (code,) = (c for c in compile(text, file, "exec").co_consts if isinstance(c, CodeType))
    constants = source.marks(code, variable, turn) if variable or turn else code.co_consts
    return code.replace(co_name=function, co_qualname=function, co_consts=constants)
