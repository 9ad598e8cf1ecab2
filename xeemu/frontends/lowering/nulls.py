"""Null pointers: what is accessed through one is out of bounds.

A pointer for which a launch gives None points into a memory without elements; what a kernel itself makes null, into one
that is made when a null pointer is first used.
"""

import dataclasses

import numpy as np

from xeemu.frontends import types, values
from xeemu.frontends.lowering import constants
from xeemu.frontends.lowering.walk import MemoryLayout, Walk
from xeemu.frontends.values import Handle, Null, Pointing, Value
from xeemu.language.dialect import NULL
from xeemu.language.interface import Retrace

KEY = "null pointer"
"""The key of the memory into which null pointers point."""
_BYTES = 4
"""Of its elements, until something smaller is accessed."""


def allocate(walk: Walk) -> None:
    """Makes the memory of null pointers, of a kernel that was found to use one."""
    if KEY not in walk.granules:
        return
    held = types.BY_DTYPE[np.dtype(f"uint{8 * walk.granules[KEY]}")]
    walk.memories[KEY] = walk.wg.private(0, held.dtype, name=NULL)
    walk.layouts[KEY] = MemoryLayout(NULL, "private", held, null=True)


def pointing(walk: Walk, pointer: Value) -> Value:
    """A null pointer that is used as one into a memory; any other as it is.

    Raises:
      Retrace: there is no memory for it yet.
      KernelError: nothing was assigned to the pointer.
    """
    if not isinstance(pointer, Null):
        return pointer
    check_given(walk, pointer, "used")
    if KEY not in walk.memories:
        raise Retrace(KEY, _BYTES)
    of = pointer.type
    if not isinstance(of, types.Pointer):
        of = types.Pointer(of, "private")
    return Pointing(dataclasses.replace(of, space="private"), KEY, values.constant(0, types.INT))


def place(walk: Walk, pointer: Value) -> Value:
    """A null pointer as one into a memory, and a string as one to its characters; anything else is refused."""
    if isinstance(pointer, Handle) and isinstance(pointer.what, str):
        return constants.characters(pointer.what)
    if not isinstance(pointer, Null):
        raise walk.refuse("a value is used as a pointer that is none; give it the address of something first")
    return pointing(walk, pointer)


def check_given(walk: Walk, pointer: Value, how: str) -> None:
    """Refuses a pointer to which nothing was assigned, or an integer; `how` it is used."""
    if isinstance(pointer, Null) and not pointer.given and isinstance(pointer.type, types.Pointer):
        raise walk.refuse(
            f"a pointer is {how} that has no value, or one made of an integer, which xeemu does not model; give it the "
            "address of something first"
        )


def is_null(walk: Walk, pointer: Value) -> bool:
    """True if a pointer, which is not one of two, is null."""
    return isinstance(pointer, Null) or (isinstance(pointer, Pointing) and walk.layouts[pointer.memory].null)
