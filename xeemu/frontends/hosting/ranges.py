"""Ranges: the sizes of a launch, from the calls that lead to its kernel."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from xeemu.frontends import types
from xeemu.frontends.functions import Function
from xeemu.frontends.hosting import layouts
from xeemu.frontends.hosting.machine import Frame
from xeemu.frontends.hosting.memories import Memory
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Record, Type

Sizes: TypeAlias = tuple[Any, ...]
TASK = "task_body"


def of_launch(stack: Sequence[tuple[Function, Frame]], entry: str) -> tuple[Sizes | None, Sizes | None, Sizes]:
    """The global size, the local size and the offset, in SYCL's order; None where there is none.

    A part that is not known is `UNKNOWN`. The range is that of the innermost call that has one.
    """
    if entry == TASK:
        return (1,), None, (0,)
    for function, frame in reversed(stack):
        for parameter in function.parameters:
            found = _range(parameter.type, frame.get(parameter))
            if found is not None:
                return found
    return None, None, ()


def _range(of: Type, memory: Memory | None) -> tuple[Sizes | None, Sizes | None, Sizes] | None:
    at: Any = 0
    if isinstance(of, types.Pointer) and memory is not None:
        address = memory.get(0, of)
        if address is UNKNOWN or address[0] is None:
            return None
        of, (memory, at) = of.pointee, address
    if not isinstance(of, Record) or memory is None:
        return None
    name = plain(of.name)
    if name == "nd_range":
        return _sizes(of, "global", memory, at), _sizes(of, "local", memory, at), _sizes(of, "offset", memory, at)
    return (numbers(of, memory, at), None, ()) if name == "range" else None


def plain(name: str) -> str:
    """The name of a template's instance without namespaces and arguments."""
    return name.partition("<")[0].rpartition("::")[2]


def _sizes(of: Record, name: str, memory: Memory, at: Any) -> Sizes:
    field = of.field(name)
    assert isinstance(field.type, Record)
    return numbers(field.type, memory, at + layouts.at(of, name))


def numbers(of: Type, memory: Memory, at: Any) -> Sizes:
    """The numbers of a range or an id."""
    return tuple(memory.get(at + offset, leaf) for offset, leaf in layouts.leaves(of))
