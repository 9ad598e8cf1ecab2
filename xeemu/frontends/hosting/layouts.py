"""Layouts: where the parts of values are in the host's memory, in bytes; pointers take 8.

The parser tells no offsets of base classes, nor those of what a lambda captures: records that have any are laid out
here. All others have the compiler's layout, which a kernel's memories have too.
"""

import functools

from xeemu.frontends.types import Array, Field, Opaque, Pointer, Record, Scalar, Type, Vector, base_path

POINTER = 8


@functools.cache
def size(of: Type) -> int:
    """The bytes that a value takes."""
    match of:
        case Pointer() | Opaque():
            return POINTER
        case Array(element=element, count=count):
            return size(element) * count
        case Record(fields=fields) if _is_ours(of):
            return max(1, _up(max((at(of, f.name) + size(f.type) for f in fields), default=0), alignment(of)))
    return of.size


@functools.cache
def alignment(of: Type) -> int:
    match of:
        case Array(element=element):
            return alignment(element)
        case Record(fields=fields):
            return max((alignment(f.type) for f in fields), default=1)
    return max(1, size(of))


def at(record: Record, name: str) -> int:
    """The offset of a field."""
    return _offsets(record)[name]


@functools.cache
def _offsets(record: Record) -> dict[str, int]:
    if not _is_ours(record):
        return {f.name: f.offset for f in record.fields}
    found, end = {}, 0
    for field in record.fields:
        found[field.name] = 0 if record.union else _up(end, alignment(field.type))
        end = found[field.name] + (0 if _is_empty(field) else size(field.type))
    return found


def _is_empty(field: Field) -> bool:
    return isinstance(field.type, Record) and not leaves(field.type)


@functools.cache
def _is_ours(of: Type) -> bool:
    """True if a type is a closure or has a base class, or holds something that is or has."""
    match of:
        case Array(element=element):
            return _is_ours(element)
        case Record(name=name, fields=fields):
            return name.startswith("<lambda") or any(f.name.startswith("<base ") or _is_ours(f.type) for f in fields)
    return False


@functools.cache
def leaves(of: Type) -> tuple[tuple[int, Type], ...]:
    """The numbers and pointers that a value consists of, each with its offset; of a union of its largest member."""
    match of:
        case Vector(element=element, count=count):
            return tuple((i * element.size, element) for i in range(count))
        case Array(element=element, count=count):
            inner, step = leaves(element), size(element)
            return tuple((i * step + o, s) for i in range(count) for o, s in inner)
        case Record(fields=fields, union=True):
            return leaves(max(fields, key=lambda f: size(f.type)).type) if fields else ()
        case Record(fields=fields):
            return tuple((at(of, f.name) + o, s) for f in fields for o, s in leaves(f.type))
        case Scalar() | Pointer() | Opaque():
            return ((0, of),)
    return ()


@functools.cache
def holds_pointer(of: Type) -> bool:
    """True if a value is not numbers alone."""
    match of:
        case Array(element=element):
            return holds_pointer(element)
        case Record(fields=fields):
            return any(holds_pointer(f.type) for f in fields)
    return isinstance(of, Pointer | Opaque)


def _up(n: int, step: int) -> int:
    return -(-n // step) * step


def base_offset(of: Type, to: Type) -> int:
    """Where the part of an object that is of a base class begins; 0 where the class is the object's own."""
    found = 0
    for name in [] if of == to else base_path(of, to):
        assert isinstance(of, Record)
        found += at(of, name)
        of = of.field(name).type
    return found
