"""Types: the types of C as the device lays them out, without anything of the parser's.

Sizes and offsets are in bytes. A pointer takes 4: the front ends model devices with 32-bit addresses, as JAX's default
integers have 32 bits.
"""

import dataclasses
import functools
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np


@dataclasses.dataclass(frozen=True)
class Scalar:
    """A number: `bool`, an integer of 8 to 64 bits, or a float of 16 to 64.

    Attributes:
      name: what the language calls it, such as `"uint"`.
      dtype: NumPy's dtype of the same values.
    """

    name: str
    dtype: np.dtype

    @property
    def size(self) -> int:
        return self.dtype.itemsize

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"

    @property
    def is_bool(self) -> bool:
        return self.dtype.kind == "b"

    @property
    def is_integer(self) -> bool:
        """Integers without bool."""
        return self.dtype.kind in "iu"

    @property
    def is_signed(self) -> bool:
        return self.dtype.kind != "u"

    def __str__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True)
class Vector:
    """A vector of 2, 3, 4, 8 or 16 components; one of 3 takes the room of 4."""

    element: Scalar
    count: int

    @property
    def size(self) -> int:
        return self.element.size * (4 if self.count == 3 else self.count)

    def __str__(self) -> str:
        return f"{self.element}{self.count}"


@dataclasses.dataclass(frozen=True)
class Pointer:
    """A pointer.

    Attributes:
      pointee: what it points to.
      space: `"global"`, `"local"`, `"constant"`, `"private"` or `"generic"`.
      const: True if nothing may be written through it.
      volatile: True if each access through it has to be carried out.
    """

    pointee: "Type"
    space: str
    const: bool = False
    volatile: bool = False

    @property
    def size(self) -> int:
        return 4

    def __str__(self) -> str:
        qualifiers = f"{'const ' if self.const else ''}{'volatile ' if self.volatile else ''}"
        return f"{self.space} {qualifiers}{self.pointee}*"


@dataclasses.dataclass(frozen=True)
class Array:
    """An array of a known number of elements."""

    element: "Type"
    count: int

    @property
    def size(self) -> int:
        return self.element.size * self.count

    def __str__(self) -> str:
        innermost, counts = self.element, f"[{self.count}]"
        while isinstance(innermost, Array):
            counts += f"[{innermost.count}]"
            innermost = innermost.element
        return f"{innermost}{counts}"


@dataclasses.dataclass(frozen=True)
class Field:
    """A member of a record, at `offset` bytes from its beginning; a volatile one is accessed each time."""

    name: str
    type: "Type"
    offset: int
    volatile: bool = False


@dataclasses.dataclass(frozen=True)
class Record:
    """A struct or union."""

    name: str
    fields: tuple[Field, ...]
    size: int
    union: bool = False

    def field(self, name: str) -> Field:
        return next(f for f in self.fields if f.name == name)

    @functools.cached_property
    def _hash(self) -> int:
        """Found once, for the fields may be records of records, and what is known of types is kept by them."""
        return hash((self.name, self.fields, self.size, self.union))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"{'union' if self.union else 'struct'} {self.name}"


@dataclasses.dataclass(frozen=True)
class Opaque:
    """What has no elements to look at: an image, a sampler, an event.

    Attributes:
      name: the language's, such as `"image2d_t"`.
      access: of an image `"read_only"`, `"write_only"` or `"read_write"`.
    """

    name: str
    access: str = ""

    @property
    def size(self) -> int:
        return 4

    def __str__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True)
class Void:
    """No value."""

    @property
    def size(self) -> int:
        return 1

    def __str__(self) -> str:
        return "void"


Type: TypeAlias = Scalar | Vector | Pointer | Array | Record | Opaque | Void

BOOL = Scalar("bool", np.dtype(np.bool_))
CHAR, UCHAR = Scalar("char", np.dtype(np.int8)), Scalar("uchar", np.dtype(np.uint8))
SHORT, USHORT = Scalar("short", np.dtype(np.int16)), Scalar("ushort", np.dtype(np.uint16))
INT, UINT = Scalar("int", np.dtype(np.int32)), Scalar("uint", np.dtype(np.uint32))
LONG, ULONG = Scalar("long", np.dtype(np.int64)), Scalar("ulong", np.dtype(np.uint64))
HALF, FLOAT, DOUBLE = (
    Scalar("half", np.dtype(np.float16)),
    Scalar("float", np.dtype(np.float32)),
    Scalar("double", np.dtype(np.float64)),
)
VOID = Void()
SCALARS = (BOOL, CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, HALF, FLOAT, DOUBLE)
BY_DTYPE = {s.dtype: s for s in SCALARS}


def scalars(of: Type) -> list[tuple[int, Scalar]]:
    """The numbers that a value consists of, each with its offset; of a union those of its largest member."""
    match of:
        case Scalar():
            return [(0, of)]
        case Vector(element, count):
            return [(i * element.size, element) for i in range(count)]
        case Array(element, count):
            inner = scalars(element)
            return [(i * element.size + o, s) for i in range(count) for o, s in inner]
        case Record(fields=fields, union=True):
            return scalars(max(fields, key=lambda f: f.type.size).type) if fields else []
        case Record(fields=fields):
            return [(f.offset + o, s) for f in fields for o, s in scalars(f.type)]
    return []


def holds_volatile(of: "Type") -> bool:
    """True if a value of a type has a volatile part."""
    match of:
        case Array(element=inner):
            return holds_volatile(inner)
        case Record(fields=fields):
            return any(f.volatile or holds_volatile(f.type) for f in fields)
    return False


def holds_pointer(of: Type) -> bool:
    """True if a value is a pointer or has one in it; no memory holds such a value."""
    match of:
        case Array(element=element):
            return holds_pointer(element)
        case Record(fields=fields):
            return any(holds_pointer(f.type) for f in fields)
    return isinstance(of, Pointer)


def innermost(of: Type) -> Type:
    """What arrays of arrays hold; of anything else itself."""
    return innermost(of.element) if isinstance(of, Array) else of


def base_path(derived: Type, base: Type) -> list[str]:
    """The fields that lead from a class of C++ to one that it is derived from; empty if it is not."""
    for field in derived.fields if isinstance(derived, Record) else ():
        if field.name.startswith("<base "):
            inner = [] if field.type == base else base_path(field.type, base)
            if inner or field.type == base:
                return [field.name, *inner]
    return []


def classes(of: Type) -> Iterator[str]:
    """The names of the classes of which an object holds objects."""
    if isinstance(of, Array):
        yield from classes(of.element)
    elif isinstance(of, Record):
        yield of.name
        for field in of.fields:
            yield from classes(field.type)


def promoted(of: Scalar) -> Scalar:
    """C's integer promotion."""
    return INT if of.is_bool or (of.is_integer and of.size < 4) else of


def common(a: Scalar, b: Scalar) -> Scalar:
    """The type in which C computes with two numbers (the usual arithmetic conversions)."""
    if a.is_float or b.is_float:
        return max((s for s in (a, b) if s.is_float), key=lambda s: s.size)
    a, b = promoted(a), promoted(b)
    if a.size != b.size:
        return a if a.size > b.size else b
    return a if not a.is_signed else b


def signed(of: Scalar) -> Scalar:
    """The signed integer as wide as a number: what vector comparisons give."""
    return BY_DTYPE[np.dtype(f"int{8 * of.size}")]


def unsigned(of: Scalar) -> Scalar:
    """The unsigned integer as wide as a number."""
    return BY_DTYPE[np.dtype(f"uint{8 * of.size}")]
