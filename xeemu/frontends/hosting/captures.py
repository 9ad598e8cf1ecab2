"""Captures: what a kernel's function object holds, leaf by leaf, under the names of the kernel's parameters."""

import dataclasses
import functools

from xeemu.frontends import types
from xeemu.frontends.hosting import layouts
from xeemu.frontends.types import Array, Pointer, Record, Type


@dataclasses.dataclass(frozen=True)
class Leaf:
    """A part of a function object that is one parameter of its kernel.

    Attributes:
      name: of the parameter.
      type: its type.
      offset: in the object, in bytes.
    """

    name: str
    type: Type
    offset: int


@functools.cache
def leaves(of: Record) -> tuple[Leaf, ...]:
    """The leaves of a function object, in the order of the parameters."""
    return tuple(leaf for f in of.fields for leaf in _leaves(f.name, f.type, layouts.at(of, f.name), False))


def _leaves(name: str, of: Type, offset: int, parts: bool) -> tuple[Leaf, ...]:
    parts = parts or types.holds_pointer(of)
    match of:
        case Record(fields=fields, union=False) if parts:
            inner = [(f"{name}.{f.name}", f.type, offset + layouts.at(of, f.name)) for f in fields]
        case Array(element=element, count=count) if parts:
            inner = [(f"{name}[{k}]", element, offset + k * layouts.size(element)) for k in range(count)]
        case _:
            return (Leaf(name, of, offset),)
    return tuple(leaf for n, t, o in inner for leaf in _leaves(n, t, o, True))


def is_array(leaf: Leaf) -> bool:
    return isinstance(leaf.type, Pointer)
