"""Transfers: memories of the host as arrays for kernels, and back."""

from typing import Any

import numpy as np

from xeemu.errors import KernelError
from xeemu.frontends import types
from xeemu.frontends.hosting import layouts
from xeemu.frontends.hosting.memories import Cells, Memory, Words
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Pointer, Record, Scalar, Type, Vector


def dtype_of(element: Type) -> np.dtype:
    """The dtype of an array of such elements: of records bytes."""
    scalar = element.element if isinstance(element, Vector) else element
    return scalar.dtype if isinstance(scalar, Scalar) else np.dtype(np.uint8)


def array(memory: Memory, element: Type) -> np.ndarray:
    """The contents of a memory, which do not change, as one dimension."""
    dtype = dtype_of(element)
    if isinstance(memory, Words):
        return memory.lend(dtype)
    return _of_cells(memory, element).view(dtype)


def _of_cells(memory: Memory, element: Type) -> np.ndarray:
    """Bytes of what is known, zeros for the rest and for pointers."""
    step = layouts.size(element)
    count = memory.size // max(step, 1)
    made = np.zeros(count * step, np.uint8)
    leaves, unseen = layouts.leaves(element), _pointers(memory)
    for start in range(0, count * step, step):
        for offset, leaf in leaves:
            at = start + offset
            value = UNKNOWN if at in unseen else memory.get(at, leaf)
            if isinstance(leaf, Scalar) and value is not UNKNOWN:
                data = np.frombuffer(leaf.dtype.type(value).tobytes(), np.uint8)
                made[at : at + leaf.size] = data
    return made


def put(memory: Memory, element: Type, data: np.ndarray) -> None:
    """Takes new contents; pointers, which kernels do not see, stay.

    Raises:
      KernelError: there is something else where a pointer was.
    """
    if isinstance(memory, Words):
        memory.replace(data)
        return
    step, leaves = layouts.size(element), layouts.leaves(element)
    raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    kept = _pointers(memory)
    for start in range(0, raw.size // step * step, step):
        for offset, leaf in leaves:
            at = start + offset
            if not isinstance(leaf, Scalar):
                continue
            new = raw[at : at + leaf.size]
            if kept.isdisjoint(range(at, at + leaf.size)):
                memory.put(at, leaf, _plain(new, leaf))
            elif new.any():
                raise KernelError(
                    f"the kernel writes {new.size} bytes over a pointer of an object of the host, at its byte {at}; "
                    "give the kernel an array of its own"
                )


def _pointers(memory: Memory) -> frozenset[int]:
    """The bytes of an object that pointers, or functions, take."""
    held = memory.cells.items() if isinstance(memory, Cells) else ()
    numbers = (int, float, np.generic)
    starts = [at for at, value in held if value is not UNKNOWN and not isinstance(value, numbers)]
    return frozenset(byte for at in starts for byte in range(at, at + layouts.POINTER))


def _plain(raw: np.ndarray, of: Scalar) -> Any:
    from xeemu.frontends.hosting import scalars

    return scalars.of_bits(raw.tobytes(), of)


def record_dtype(of: Type) -> np.dtype:
    """The dtype of an element as NumPy has it, records with their fields."""
    match of:
        case Scalar(dtype=dtype):
            return dtype
        case Vector(element=element, count=count):
            return np.dtype((element.dtype, (layouts.size(of) // element.size if count == 3 else count,)))
        case types.Array(element=element, count=count):
            return np.dtype((record_dtype(element), (count,)))
        case Record(fields=fields) if fields and not of.union and not layouts.holds_pointer(of):
            offsets = [layouts.at(of, f.name) for f in fields]
            form = {
                "names": [f.name for f in fields],
                "formats": [record_dtype(f.type) for f in fields],
                "offsets": offsets,
                "itemsize": layouts.size(of),
            }
            return np.dtype(form)  # type: ignore[call-overload]
    return np.dtype((np.void, layouts.size(of)))


def is_pointer(of: Type) -> bool:
    return isinstance(of, Pointer)
