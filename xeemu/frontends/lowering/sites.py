"""Sites: calls on behalf of a line of the user's file, which JAX's tracebacks then name."""

import functools
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

from xeemu.frontends.tree import SourceLocation

T = TypeVar("T")


def at(place: SourceLocation, function: str, call: Callable[[], T]) -> T:
    """Calls something such that the innermost user's frame of a traceback is a line of the user's file.

    Args:
      place: the line.
      function: the name of the user's function that it stands in.
      call: what is called.
    """
    caller: Any = FunctionType(_code(place.file, place.line, function), {})
    return caller(call)


@functools.lru_cache(maxsize=1 << 16)
def _code(file: str, line: int, function: str) -> CodeType:
    text = "\n" * (max(line, 1) - 1) + "def caller(call): return call()"
    (code,) = (c for c in compile(text, file, "exec").co_consts if isinstance(c, CodeType))
    return code.replace(co_name=function, co_qualname=function)
