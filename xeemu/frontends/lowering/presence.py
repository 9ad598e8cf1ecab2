"""Presence: if pointers have a value, where a kernel is checked.

Pointers are in no memory. One that the tree shows may be read before it was given a value has a byte in one, which is
written as the pointer is assigned and read as the pointer is: who reads what nobody has written is found there.
"""

import dataclasses

from xeemu.frontends import types, values
from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import definite_assignment, memories
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Variable
from xeemu.frontends.values import Pointing


@dataclasses.dataclass(frozen=True)
class _Byte:
    """The key of a pointer's byte."""

    of: Variable


def prepare(walk: Walk, kernel: Function) -> None:
    """Makes the bytes of a kernel's pointers."""
    if walk.checked:
        for variable in sorted(definite_assignment.doubtful_pointers(kernel), key=lambda v: v.place.line):
            memories.allocate(walk, _Byte(variable), variable.name, types.UCHAR, "private")


def begin(walk: Walk, variable: Variable) -> None:
    """A pointer is declared without a value."""
    if _Byte(variable) in walk.memories and variable in walk.renewed:
        memories.begin(walk, _Byte(variable))


def assigned(walk: Walk, variable: Variable) -> None:
    """A pointer is given a value, by those who are active."""
    if _Byte(variable) in walk.memories:
        memories.store(walk, _place(variable), values.constant(1, types.UCHAR), types.UCHAR)


def read(walk: Walk, variable: Variable) -> None:
    """A pointer's value is asked for."""
    if _Byte(variable) in walk.memories:
        memories.load(walk, _place(variable), types.UCHAR)


def _place(variable: Variable) -> Pointing:
    return Pointing(types.Pointer(types.UCHAR, "private"), _Byte(variable), values.constant(0, types.INT))
