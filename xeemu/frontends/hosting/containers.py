"""Containers: copies of the standard library's vectors and strings, as our headers lay them out."""

from typing import Any

from xeemu.frontends import types
from xeemu.frontends.hosting import layouts
from xeemu.frontends.hosting.copies import copy, copy_bytes
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import Cells, Memory, zero
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Record, Type

_NAMES = ("std::vector<", "std::basic_string<")
_SHARED = "std::shared_ptr<"


def copied(machine: Machine, given: Any, of: Type) -> Any:
    """A copy of an object with memories of its own."""
    if given is UNKNOWN:
        return UNKNOWN
    memory, at = given if isinstance(given, tuple) else (given, 0)
    made = Cells(layouts.size(of))
    made.element = of
    copy(made, 0, memory, at, of)
    _part(machine, made, 0, of)
    return made


def _part(machine: Machine, memory: Memory, at: int, of: Type) -> None:
    """Gives what is in an object memories of its own."""
    match of:
        case types.Array(element=element, count=count):
            for k in range(count if _holds(element) else 0):
                _part(machine, memory, at + k * layouts.size(element), element)
        case Record() if of.name.startswith(_NAMES):
            _separate(machine, memory, at, of)
        case Record() if of.name.startswith(_SHARED):
            _share(memory, at, of)
        case Record(fields=fields, union=False) if _holds(of):
            for field in fields:
                _part(machine, memory, at + layouts.at(of, field.name), field.type)


def _holds(of: Type) -> bool:
    """True if an object has a container in it."""
    match of:
        case types.Array(element=element):
            return _holds(element)
        case Record(name=name, fields=fields):
            return name.startswith((*_NAMES, _SHARED)) or any(_holds(f.type) for f in fields)
    return False


def _share(memory: Memory, at: int, of: Record) -> None:
    """Counts one more pointer to an object."""
    uses = of.field("uses")
    assert isinstance(uses.type, types.Pointer)
    found = memory.get(at + layouts.at(of, "uses"), uses.type)
    if found is UNKNOWN or found[0] is None:
        return
    assert isinstance(uses.type.pointee, Record)
    counter, start = found
    count = start + layouts.at(uses.type.pointee, "uses")
    counter.put(count, types.LONG, counter.get(count, types.LONG) + 1)


def _separate(machine: Machine, memory: Memory, at: int, of: Record) -> None:
    """Gives a container a copy of its elements."""
    first, room = of.field("first"), of.field("room")
    pointer = memory.get(at + layouts.at(of, "first"), first.type)
    count = memory.get(at + layouts.at(of, "room"), room.type)
    if UNKNOWN in (pointer, count) or pointer[0] is None:
        return
    source, start = pointer
    assert isinstance(first.type, types.Pointer)
    element = first.type.pointee
    size = layouts.size(element)
    made = machine.allocate(count * size, source.kind)
    made.element = source.element
    copy_bytes(made, 0, source, start, count * size)
    for k in range(count if _holds(element) else 0):
        _part(machine, made, k * size, element)
    memory.put(at + layouts.at(of, "first"), first.type, (made, 0))


_OWNERS = ("std::vector<", "std::unique_ptr<", "std::shared_ptr<", "std::weak_ptr<", "std::optional<")


def moved(given: Any, of: Type) -> Any:
    """An object taken over from another one, in which what owns something is empty afterwards."""
    if given is UNKNOWN:
        return UNKNOWN
    memory, at = given if isinstance(given, tuple) else (given, 0)
    made = Cells(layouts.size(of))
    made.element = of
    copy(made, 0, memory, at, of)
    _empty(memory, at, of)
    return made


def _empty(memory: Memory, at: int, of: Type) -> None:
    match of:
        case types.Array(element=element, count=count):
            for k in range(count):
                _empty(memory, at + k * layouts.size(element), element)
        case Record(name=name) if name.startswith(_OWNERS):
            for offset, leaf in layouts.leaves(of):
                memory.put(at + offset, leaf, zero(leaf))
        case Record(fields=fields, union=False):
            for field in fields:
                _empty(memory, at + layouts.at(of, field.name), field.type)
