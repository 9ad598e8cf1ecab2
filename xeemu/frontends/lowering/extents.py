"""Extents: declared arrays within memories, such as a row of an array of arrays or a field of a struct, and vectors.

A memory is flat, and an index beyond such an array stays within it. Where a kernel is checked, an index of one is that
of a load too, from a memory of its own that has so many elements and holds nothing: it is found to be out of bounds.
"""

import dataclasses
import functools

import numpy as np

from xeemu.frontends import types, values
from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import effects
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Cast, Expression, Member, Name, Subscript
from xeemu.frontends.values import Number
from xeemu.language.interface import Extent


@dataclasses.dataclass(frozen=True)
class Declared:
    """An array of so many elements, by what the source calls it and where it lies."""

    name: str
    space: str
    count: int

    @property
    def key(self) -> str:
        """The name of its memory, which no variable of C has."""
        return f"{self.name} of {self.count}"

    @property
    def given(self) -> np.ndarray:
        """What a launch gives for its memory."""
        return np.zeros(self.count, np.uint8)

    @property
    def extent(self) -> Extent:
        """What findings say of it."""
        return Extent(self.name, self.space)


@functools.lru_cache(maxsize=512)
def of(kernel: Function) -> dict[str, Declared]:
    """The arrays of a kernel and its functions that bounds of memories do not hold, by the names of their memories."""
    parts = (node for function in effects.functions(kernel) for node in effects.nodes(function.body))
    found = (_declared(node) for node in parts if isinstance(node, Subscript))
    return {one.key: one for one in found if one is not None}


def check(walk: Walk, node: Subscript, index: Number) -> None:
    """Looks whether an index lies within its array, where a kernel is checked."""
    if not walk.extents or (declared := _declared(node)) is None:
        return
    low, high = index.interval or (0, -1)
    if 0 <= low <= high < declared.count:
        return
    with walk.scope():
        walk.extents[declared.key].load(values.index(index))


def _declared(node: Subscript) -> Declared | None:
    """The array or vector of which an element is named; None if it is a whole memory, or neither."""
    if isinstance(node.base.type, types.Vector):
        return Declared(_spelled(node.base), _space(node.base), node.base.type.count)
    base = node.base if isinstance(node.base.type, types.Pointer | types.Array) else node.index
    while isinstance(base, Cast) and isinstance(base.operand.type, types.Array):
        base = base.operand
    if not isinstance(base.type, types.Array) or _is_memory(base) or _is_open(base):
        return None
    return Declared(_spelled(base), _space(base), base.type.count)


def _is_memory(node: Expression) -> bool:
    """True if an array is a variable by itself in a memory, of its own bounds."""
    return isinstance(node, Name) and node.variable.space != "constant" and not types.holds_pointer(node.type)


def _is_open(node: Expression) -> bool:
    """True if an array has a field's one element for any number of them, as in C before there was `[]`."""
    return isinstance(node, Member) and isinstance(node.type, types.Array) and node.type.count <= 1


def _spelled(node: Expression) -> str:
    match node:
        case Name(variable=variable):
            return variable.name
        case Member(base=base, name=name) if name.startswith("<"):  # of a struct without a name
            return _spelled(base)
        case Member(base=base, arrow=arrow, name=name):
            return f"{_spelled(base)}{'->' if arrow else '.'}{name}"
        case Subscript(base=base):
            return f"{_spelled(base)}[]"
        case Cast(operand=operand):
            return _spelled(operand)
    return "(...)"


def _space(node: Expression) -> str:
    """The address space in which an array lies."""
    match node:
        case Subscript(base=base) | Member(base=base) if isinstance(base.type, types.Pointer):
            return base.type.space
        case Subscript(base=base) | Member(base=base) | Cast(operand=base):
            return _space(base)
        case Name(variable=variable):
            return variable.space
    return "private"
