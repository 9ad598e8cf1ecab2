"""Copies: values and objects of the host, read from memories, written to them and copied between them."""

import functools
from collections.abc import Callable
from typing import Any

from xeemu.frontends import types
from xeemu.frontends.hosting import layouts
from xeemu.frontends.hosting.memories import OWN, Cells, Memory, Noted, Nowhere
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.hosting.words import Words
from xeemu.frontends.types import Scalar, Type

LARGE_BYTES = 512
"""The size of objects of numbers from which on they are arrays of NumPy's."""


@functools.cache
def load(of: Type) -> Callable[[Memory, Any], Any]:
    """What reads a value of a type from a memory and an offset."""
    match of:
        case Scalar() | types.Pointer() | types.Opaque():
            return lambda memory, at: memory.get(at, of)
        case types.Vector(element=element, count=count):
            return lambda memory, at: tuple(memory.peek(at + k * element.size, element) for k in range(count))
        case types.Array():
            return lambda memory, at: (memory, at)
        case types.Record():
            return lambda memory, at: copied(memory, at, of)
    return lambda memory, at: UNKNOWN


@functools.cache
def store(of: Type) -> Callable[[Memory, Any, Any], None]:
    """What writes a value of a type."""
    match of:
        case types.Vector(element=element, count=count):

            def components(memory: Memory, at: Any, value: Any) -> None:
                for k, item in enumerate((UNKNOWN,) * count if value is UNKNOWN else value):
                    memory.put(at + k * element.size, element, item)

            return components
        case types.Record():
            return lambda memory, at, value: copy(memory, at, *_whole(value), of)
        case types.Array():
            return lambda memory, at, value: copy(memory, at, *(_whole(value)), of)
    return lambda memory, at, value: memory.put(at, of, value)


def _whole(value: Any) -> tuple[Memory, Any]:
    """The place of an object that is given as itself or as an array's address."""
    if value is UNKNOWN:
        return Nowhere(), 0
    return value if isinstance(value, tuple) else (value, 0)


def copied(memory: Memory, at: Any, of: Type) -> Memory:
    """A copy of an object."""
    made = memory_like(memory, of)
    copy(made, 0, memory, at, of)
    return made


def memory_like(memory: Memory, of: Type) -> Memory:
    """A memory for an object, of the kind of another one."""
    size = layouts.size(of)
    made: Memory
    if isinstance(memory, Noted):
        made = Noted(size, OWN, memory.journal)
    elif isinstance(memory, Words) and size > LARGE_BYTES and not layouts.holds_pointer(of):
        made = Words(size)
        made.on_uninitialized_read = memory.on_uninitialized_read
    else:
        made = Cells(size)
    made.element = of
    return made


def copy(to: Memory, to_at: Any, memory: Memory, at: Any, of: Type) -> None:
    """Copies an object."""
    size = layouts.size(of)
    if size > LARGE_BYTES and isinstance(to, Words) and isinstance(memory, Words) and not memory.others:
        to.take(to_at, memory, at, size)
    elif size > 64 * LARGE_BYTES and not (isinstance(to, Words) or isinstance(memory, Words)):
        to.forget()
    else:
        for offset, leaf in layouts.leaves(of):
            to.put(to_at + offset, leaf, memory.peek(at + offset, leaf))


def copy_bytes(to: Memory, to_at: Any, memory: Memory, at: Any, size: Any) -> None:
    """Copies bytes, whatever they are."""
    if UNKNOWN in (to_at, at, size) or isinstance(memory, Nowhere):
        to.forget()
    elif isinstance(memory, Words) and isinstance(to, Words):
        to.take(to_at, memory, at, size)
    elif isinstance(memory, Cells):
        _copy_cells(to, to_at, memory, at, size)
    else:
        _copy_words(to, to_at, memory, at, size)


def _copy_cells(to: Memory, to_at: int, memory: Cells, at: int, size: int) -> None:
    cells = [k for k in memory.cells if at <= k < at + size]
    kinds = {k: memory.kinds.get(k) or _kind(memory.cells[k], _leaf(memory, k)) for k in cells}
    found = [(k, kinds[k], memory.cells[k]) for k in cells]
    edges = [*memory.over(at), *memory.over(at + size)]
    whole = [(k, kind, value) for k, kind, value in found if k not in edges]
    parts = [b for k in edges for b in range(max(k, at), min(k + 8, at + size)) if memory.covers(k, b)]
    apart = [(b, types.UCHAR, memory.get(b, types.UCHAR)) for b in parts]
    if memory.rest is not UNKNOWN or any(low <= at and at + size <= high for low, high in memory.zeros):
        to.fill(to_at, 0, size)
    elif isinstance(to, Cells):
        to.clear(to_at, size)
    elif isinstance(to, Words):
        to.fill(to_at, UNKNOWN, size)
        for low, high in ((max(a, at), min(b, at + size)) for a, b in memory.zeros):
            if low < high:
                to.fill(low - at + to_at, 0, high - low)
    for k, kind, value in [*whole, *apart]:
        to.put(k - at + to_at, kind, value)


def _leaf(memory: Memory, at: int) -> Type:
    """The type of what is at an offset, by the memory's elements."""
    of = memory.element
    if of is None or isinstance(of, Scalar):
        return of or types.LONG
    step = max(layouts.size(of), 1)
    return _by_offset(of).get(at % step, types.LONG)


@functools.lru_cache(maxsize=64)
def _by_offset(of: Type) -> dict[int, Type]:
    return dict(layouts.leaves(of))


def _kind(value: Any, of: Type) -> Type:
    """The type of a value in a cell, of an integer that of the memory's elements."""
    if isinstance(value, float):
        return types.DOUBLE
    if value.__class__ is tuple:
        return types.Pointer(types.VOID, "generic")
    if isinstance(value, int):
        return of if isinstance(of, Scalar) and not of.is_float else types.INT
    return types.BY_DTYPE[value.dtype] if hasattr(value, "dtype") else types.LONG


def _copy_words(to: Memory, to_at: int, memory: Memory, at: int, size: int) -> None:
    of = memory.element if isinstance(memory.element, Scalar) else types.UCHAR
    for k in range(0, size, of.size):
        to.put(to_at + k, of, memory.peek(at + k, of))


def put_letters(memory: Memory, at: int, letters: str, end: str = "\0") -> None:
    """Writes the letters of a text, each of which is a byte, and what ends it."""
    for k, letter in enumerate((letters + end).encode("latin-1", "replace")):
        memory.put(at + k, types.CHAR, letter - 256 if letter > 127 else letter)
