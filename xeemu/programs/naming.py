"""Naming: the arrays of a program by the names of the host's variables."""

import linecache
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.frontends import types
from xeemu.frontends.hosting import layouts
from xeemu.frontends.hosting.machine import Machine
from xeemu.frontends.hosting.memories import LOCAL, Memory
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.tree import SourceLocation
from xeemu.frontends.types import Pointer, Record, Type
from xeemu.language.source import Site
from xeemu.plurals import counted
from xeemu.programs import transfers

_TEXTS = ("std::basic_string", "std::ostream", "std::basic_ostream", "std::string", "<lambda", "std::function")


def memories(
    machine: Machine, lent: frozenset[Memory] = frozenset()
) -> Mapping[str, tuple[Memory, Type, tuple[int, ...]]]:
    """The arrays that variables are or point to: their memories, elements and dimensions.

    A variable that is a number is one where it is `lent` to a kernel.
    """
    found = {}
    for name, (of, memory) in machine.named.items():
        one = None if name.startswith("<") else _of_variable(of, memory, lent)
        if one is not None:
            found[name] = one
    return found


def name_of(machine: Machine, memory: Memory) -> str:
    """The name of a variable that is or points to a memory; empty if there is none."""
    return next((name for name, (found, _, _) in memories(machine).items() if found is memory), "")


def part(machine: Machine, memory: Memory, at: int) -> tuple[str, tuple[int, ...], str]:
    """What is at an offset in a memory, in bytes.

    Returns:
      The memory's name, empty if it has none; the index of the element; and the part of the array as C++ has it, as in
      `[3].x`.
    """
    found = ((name, of, shape) for name, (other, of, shape) in memories(machine).items() if other is memory)
    name, of, shape = next(found, ("", memory.element or types.UCHAR, ()))
    size = max(layouts.size(of), 1)
    number, within = divmod(at, size)
    address: tuple[int, ...] = (number,)
    if len(shape) > 1 and math.prod(shape) > number:
        address = tuple(int(k) for k in np.unravel_index(number, shape))
    return name, address, "".join(f"[{k}]" for k in address) + _part(of, within)


def _part(of: Type, at: int) -> str:
    """The part of an element of a type that a byte of it lies in, as C writes it behind the element."""
    match of:
        case types.Array(element=element):
            number, within = divmod(at, max(layouts.size(element), 1))
            return f"[{number}]{_part(element, within)}"
        case Record(fields=fields, union=False):
            for field in fields:
                within = at - layouts.at(of, field.name)
                if 0 <= within < layouts.size(field.type):
                    own = "" if field.name.startswith("<") else f".{field.name}"
                    return own + _part(field.type, within)
    return ""


def origins(memory: Memory) -> Mapping[str, SourceLocation]:
    """Where a memory has been allocated, and where its contents have been discarded, as far as that is so."""
    known = {"allocated": memory.made, "discarded": memory.discarded}
    return {what: place for what, place in known.items() if place is not None}


def site(place: SourceLocation) -> Site:
    """A place of the program as findings have it."""
    return Site(place.file, place.line, linecache.getline(place.file, place.line).strip())


def _of_variable(of: Type, memory: Memory, lent: frozenset[Memory]) -> tuple[Memory, Type, tuple[int, ...]] | None:
    match of:
        case types.Array(element=element):
            return (memory, *_inner(element, (of.count,)))
        case Pointer(pointee=pointee):
            return _of_pointer(memory.get(0, of), pointee, ())
        case Record(name=name) if name.startswith(_TEXTS):
            return None
        case Record():
            return next(_of_record(of, memory), None) or (_whole(memory, of) if memory in lent else None)
    return _whole(memory, of) if memory in lent else None


def _whole(memory: Memory, of: Type) -> tuple[Memory, Type, tuple[int, ...]]:
    return memory, of, ()


def _inner(element: Type, shape: tuple[int, ...]) -> tuple[Type, tuple[int, ...]]:
    while isinstance(element, types.Array):
        shape = (*shape, element.count)
        element = element.element
    return element, shape


def _of_record(of: Record, memory: Memory) -> Iterator[tuple[Memory, Type, tuple[int, ...]]]:
    for offset, leaf in layouts.leaves(of):
        if isinstance(leaf, Pointer):
            found = _of_pointer(memory.get(offset, leaf), leaf.pointee, _range(of, memory))
            if found is not None:
                yield found


def _range(of: Record, memory: Memory) -> tuple[int, ...]:
    """The range of a buffer or accessor, the number of elements of a vector."""
    for field in of.fields:
        if field.name in ("r", "count"):
            at = layouts.at(of, field.name)
            sizes = tuple(memory.get(at + o, leaf) for o, leaf in layouts.leaves(field.type))
            return sizes if all(isinstance(n, int) and n >= 0 for n in sizes) else ()
    return ()


def _of_pointer(pointer: Any, pointee: Type, shape: tuple[int, ...]) -> tuple[Memory, Type, tuple[int, ...]] | None:
    if pointer is UNKNOWN or pointer[0] is None or pointer[0].kind == LOCAL:
        return None
    memory = pointer[0]
    of = memory.element if isinstance(pointee, types.Void) and memory.element is not None else pointee
    if isinstance(of, types.Void | types.Opaque) or layouts.holds_pointer(of):
        return None
    return memory, of, shape


def arrays(machine: Machine, lent: frozenset[Memory]) -> dict[str, np.ndarray]:
    """The contents of the arrays by name; names of one memory have one array."""
    found: dict[str, np.ndarray] = {}
    made: dict[Any, np.ndarray] = {}
    for name, (memory, of, shape) in memories(machine, lent).items():
        key = id(memory), of, shape
        if key not in made:
            made[key] = _contents(memory, of, shape)
        found[name] = made[key]
    return found


def _contents(memory: Memory, of: Type, shape: tuple[int, ...]) -> np.ndarray:
    """The elements of a memory, in so many dimensions where it has as many."""
    dtype, size = transfers.record_dtype(of), layouts.size(of)
    raw = transfers.array(memory, of).view(np.uint8)
    flat: np.ndarray = raw[: raw.size // size * size].view(dtype.base).reshape(-1, *dtype.shape).copy()
    wanted = int(np.prod(shape)) if shape else len(flat)
    if wanted < len(flat):
        flat = flat[:wanted]
    return flat.reshape(*shape, *dtype.shape) if len(shape) > 1 and wanted == len(flat) else flat


class CallerArrays:
    """Arrays that a caller gives for those of the host, each put in its place when it is first submitted."""

    def __init__(self, given: Mapping[str, Any]):
        self._left = dict(given)

    def place(self, machine: Machine, used: frozenset[Memory]) -> None:
        """Replaces the contents of the arrays that are submitted now."""
        if not self._left:
            return
        for name, (memory, of, _) in memories(machine, used).items():
            if name in self._left and memory in used:
                _replace(name, memory, of, self._left.pop(name))

    def check(self, machine: Machine, lent: frozenset[Memory]) -> None:
        """Refuses what was given for no array that a kernel takes.

        Errors: `xe.KernelArgumentError`.
        """
        if not self._left:
            return
        name = next(iter(self._left))
        names = [n for n, (memory, _, _) in memories(machine, lent).items() if memory in lent]
        listed, meant = ", ".join(names) or "none", did_you_mean(name, (*names, "device", "arguments"))
        raise KernelArgumentError(f"the program submits no array {name}{meant}; its arrays are {listed}")


def _replace(name: str, memory: Memory, of: Type, given: Any) -> None:
    data, dtype = np.asarray(given), transfers.record_dtype(of)
    size = layouts.size(of)
    count = memory.size // size
    if data.dtype.itemsize * data.size != count * size or (data.dtype != dtype.base and data.dtype.kind != "V"):
        raise KernelArgumentError(
            f"{name} has {counted(count, 'element')} of {of}, but got an array of the shape {data.shape} and of "
            f"{data.dtype}; pass np.asarray(..., np.{dtype.base}) of {counted(count, 'element')}"
        )
    transfers.put(memory, of, data)
