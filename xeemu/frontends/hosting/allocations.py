"""Allocations: the intrinsics that allocate, free, copy and set memory of the host."""

from collections.abc import Callable
from typing import Any, TypeAlias

from xeemu.frontends import tree
from xeemu.frontends.hosting import copies
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import LOCAL, USM
from xeemu.frontends.hosting.unknowns import UNKNOWN

Carried: TypeAlias = Callable[..., Any]


def allocate(machine: Machine, node: tree.Call) -> Carried:
    """Memory that is of no context."""
    return lambda size, kind: (machine.allocate(size, LOCAL if kind is UNKNOWN else kind), 0)


def allocate_in(machine: Machine, node: tree.Call) -> Carried:
    """USM of a context."""

    def allocated(context: Any, size: Any, kind: Any) -> Any:
        made = machine.allocate(size, LOCAL if kind is UNKNOWN else kind)
        made.context = context
        return made, 0

    return allocated


def deallocate(machine: Machine, node: tree.Call) -> Carried:
    """What frees memory of no context."""
    return lambda p: None if p is UNKNOWN else machine.on_free(p, None)


def deallocate_in(machine: Machine, node: tree.Call) -> Carried:
    """What frees USM, as of a context."""
    return lambda context, p: None if p is UNKNOWN else machine.on_free(p, context)


def size_of(machine: Machine, node: tree.Call) -> Carried:
    """How many bytes there are from a pointer on."""
    return lambda p: UNKNOWN if p is UNKNOWN else 0 if p[0] is None else p[0].size - p[1]


def copy_apart(machine: Machine, node: tree.Call) -> Carried:
    """A copy between memories that must not overlap."""
    copied = copy_bytes(machine, node)

    def checked(to: Any, source: Any, size: Any) -> None:
        known = UNKNOWN not in (to, source, size) and UNKNOWN not in (to[1], source[1])
        if known and to[0] is not None and to[0] is source[0] and abs(to[1] - source[1]) < size:
            machine.on_overlap(to, source, size)
        copied(to, source, size)

    return checked


def copy_bytes(machine: Machine, node: tree.Call) -> Carried:
    """A copy of bytes, which may overlap."""

    def copied(to: Any, source: Any, size: Any) -> None:
        if size.__class__ is int and size == 0:
            return
        target, to_at = machine.behind(to)
        memory, at = machine.behind(source)
        assert target is not None
        assert memory is not None
        if target.element is None:
            target.element = memory.element
        machine.on_access(target, True)
        machine.on_access(memory, False)
        copies.copy_bytes(target, to_at, memory, at, size)

    return copied


def set_bytes(machine: Machine, node: tree.Call) -> Carried:
    """What sets bytes."""

    def filled(to: Any, byte: Any, size: Any) -> None:
        if size.__class__ is int and size == 0:
            return
        memory, at = machine.behind(to)
        assert memory is not None
        machine.on_access(memory, True)
        memory.fill(at, byte, size)

    return filled


def kind_of(machine: Machine, node: tree.Call) -> Carried:
    """The kind of USM that a pointer points to, or that it is none."""
    return lambda p: UNKNOWN if p is UNKNOWN else p[0].kind if p[0] is not None and p[0].kind in USM else len(USM)
