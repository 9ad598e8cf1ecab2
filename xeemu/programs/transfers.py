"""Transfers: memories of the host as arrays for kernels, and back."""

from typing import Any

import numpy as np

from xeemu.frontends import types
from xeemu.frontends.hosting import layouts
from xeemu.frontends.hosting.memories import Memory, Words
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
    """Bytes of what is known, zeros for the rest."""
    step = layouts.size(element)
    count = memory.size // max(step, 1)
    made = np.zeros(count * step, np.uint8)
    leaves = layouts.leaves(element)
    for start in range(0, count * step, step):
        for offset, leaf in leaves:
            value = memory.get(start + offset, leaf)
            if isinstance(leaf, Scalar) and value is not UNKNOWN:
                data = np.frombuffer(leaf.dtype.type(value).tobytes(), np.uint8)
                made[start + offset : start + offset + leaf.size] = data
    return made


def put(memory: Memory, element: Type, data: np.ndarray) -> None:
    """Takes new contents."""
    if isinstance(memory, Words):
        memory.replace(data)
        return
    step, leaves = layouts.size(element), layouts.leaves(element)
    raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    for start in range(0, raw.size // step * step, step):
        for offset, leaf in leaves:
            if isinstance(leaf, Scalar):
                at = start + offset
                memory.put(at, leaf, _plain(raw[at : at + leaf.size], leaf))


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
