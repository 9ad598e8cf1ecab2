"""Addresses: pointers as integers.

Memories lie one behind the other, each from a byte on whose number is a multiple of 128, as OpenCL has buffers aligned
at least, and of no more. What a kernel computes of them is what some device may compute.
"""

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.lowering import nulls
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Either, Number, Pointing, RegisterAddress, Value
from xeemu.language.interface import Retrace

_ALIGNMENT = 128
"""Bytes: the size of a long16, the largest type."""
_IN_MEMORY = 0
"""Among the granules: a variable is in a memory, of its own elements."""


def of(walk: Walk, pointer: Value, to: Scalar) -> Number:
    """A pointer as an integer of a type; 0 of a null pointer.

    Raises:
      Retrace: it points to a variable in registers, which has to be in a memory.
    """
    if isinstance(pointer, Either):
        sides = (of(walk, side, to) for side in (pointer.then, pointer.otherwise))
        found = composites.selected(pointer.condition, *sides)
        assert isinstance(found, Number)
        return found
    if nulls.is_null(walk, pointer):
        nulls.check_given(walk, pointer, "taken as an integer")
        return values.constant(0, to)
    if isinstance(pointer, RegisterAddress) and not types.holds_pointer(pointer.variable[1].type):
        raise Retrace(pointer.variable[1], _IN_MEMORY)
    if not isinstance(pointer, Pointing):
        raise walk.refuse("the address of a constant, or of a pointer, as an integer; use an index instead")
    held = walk.layouts[pointer.memory].element.size
    # What fits into 32 bits is held in them.
    offset = values.converted(pointer.offset, types.LONG)
    return values.converted(_plus(_times(offset, held), _first(walk, pointer.memory)), to)


def _first(walk: Walk, key: object) -> int:
    """The number of a memory's first byte: an odd multiple of the alignment."""
    found = _ALIGNMENT
    for other, memory in walk.memories.items():
        if other == key:
            break
        size = memory.shape[0] * memory.dtype.itemsize if memory.ndim == 1 else 0
        found += (size // (2 * _ALIGNMENT) + 1) * 2 * _ALIGNMENT
    return found


def _times(n: Number, factor: int) -> Number:
    return _computed("*", n, factor)


def _plus(n: Number, term: int) -> Number:
    return _computed("+", n, term)


def _computed(op: str, n: Number, constant: int) -> Number:
    found = arithmetic.binary(op, n, values.constant(constant, n.type), n.type)
    assert isinstance(found, Number)
    return found
