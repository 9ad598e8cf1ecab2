"""Dispatch: calls that are chosen when the program runs: through pointers to functions, and of virtual functions."""

from collections.abc import Callable
from typing import Any

from xeemu.frontends import tree, types
from xeemu.frontends.hosting import layouts
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import Memory
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Pointer, Record, Type


def pointed(machine: Machine, node: tree.Call) -> Callable[..., Any]:
    """A call through a pointer to a function."""

    def called(pointer: Any, *arguments: Any) -> Any:
        function = pointer.read() if isinstance(pointer, tree.Callee) else None
        if function is not None:
            return machine.call(function, arguments)
        if machine.strict:
            raise machine.refuse("a call through a pointer to no function", node.place)
        return UNKNOWN

    return called


def virtual(machine: Machine, node: tree.Call) -> Callable[..., Any]:
    """A call of a virtual function, of which the object's class has its own."""
    of = node.arguments[1].type
    assert isinstance(of, Pointer)
    static = of.pointee

    def called(callee: tree.Callee, pointer: Any, *arguments: Any) -> Any:
        memory, at = machine.behind(pointer)
        assert memory is not None
        dynamic, start = _whole(memory, at, static)
        function = callee.override(dynamic)
        if function is None:
            if machine.strict:
                what = f"the virtual function {callee.name} of {static}, which {dynamic} has none of that is found"
                raise machine.refuse(f"{what}; call the class's own function by its name", node.place)
            return UNKNOWN
        to = function.parameters[0].type
        assert isinstance(to, Pointer)
        return machine.call(function, [(memory, start + layouts.base_offset(dynamic, to.pointee)), *arguments])

    return called


def _whole(memory: Memory, at: Any, static: Type) -> tuple[Type, Any]:
    """The class of the object that a part, of a class that is known, belongs to, and where it begins."""
    of = memory.element
    if not isinstance(of, Record) or at is UNKNOWN:
        return static, at
    start = at // layouts.size(of) * layouts.size(of)
    while of is not None:
        if of == static and start == at:
            break
        if types.base_path(of, static) and start + layouts.base_offset(of, static) == at:
            return of, start
        of, start = _part(of, start, at)
    return static, at


def _part(of: Type, start: int, at: int) -> tuple[Type | None, int]:
    """The member, or element, of an object that holds a byte."""
    if isinstance(of, types.Array):
        size = layouts.size(of.element)
        return of.element, start + (at - start) // size * size
    if not isinstance(of, Record):
        return None, at
    for field in of.fields:
        begin = start + layouts.at(of, field.name)
        if begin <= at < begin + layouts.size(field.type):
            return field.type, begin
    return None, at
