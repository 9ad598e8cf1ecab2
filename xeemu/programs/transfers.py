"""Transfers: memories of the host as arrays for kernels, and back."""

from typing import Any

import numpy as np

from xeemu.errors import KernelError
from xeemu.frontends import types
from xeemu.frontends.hosting import layouts
from xeemu.frontends.hosting.memories import Cells, Memory
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.hosting.words import Words, poisoned
from xeemu.frontends.types import Record, Scalar, Type, Vector


def dtype_of(element: Type) -> np.dtype:
    """The dtype of an array of such elements: of records bytes."""
    scalar = element.element if isinstance(element, Vector) else element
    return scalar.dtype if isinstance(scalar, Scalar) else np.dtype(np.uint8)


def array(memory: Memory, element: Type) -> np.ndarray:
    """The contents of a memory, which do not change, as one dimension; poison where nobody has written."""
    dtype = dtype_of(element)
    if isinstance(memory, Words):
        return memory.lend(dtype)
    return _of_cells(memory, element).view(dtype)


def _of_cells(memory: Memory, element: Type) -> np.ndarray:
    """Bytes of what is known, poison for the rest, zeros for pointers."""
    step = layouts.size(element)
    count = memory.size // max(step, 1)
    made = np.zeros(count * step, np.uint8)
    poisoned(made, _unset_cells(memory, element)[: made.size], dtype_of(element))
    leaves, unseen = layouts.leaves(element), _pointers(memory)
    for start in range(0, count * step, step):
        for offset, leaf in leaves:
            at = start + offset
            value = UNKNOWN if at in unseen else memory.get(at, leaf)
            if isinstance(leaf, Scalar) and value is not UNKNOWN:
                data = np.frombuffer(leaf.dtype.type(value).tobytes(), np.uint8)
                made[at : at + leaf.size] = data
    return made


# --- What nobody has written ---


def unset(memory: Memory, element: Type) -> np.ndarray | None:
    """`[bytes]` which bytes of numbers nobody has written, so as they stay; None if all have been."""
    if isinstance(memory, Words):
        found = memory.unwritten()
    else:
        found = _unset_cells(memory, element) if isinstance(memory, Cells) else None
    if found is None or not found.any():
        return None
    numbers = _numbers(element)
    if numbers.all():
        return found.copy()
    made, count = np.zeros(found.size, bool), found.size // numbers.size
    made[: count * numbers.size] = (found[: count * numbers.size].reshape(count, -1) & numbers).reshape(-1)
    return made if made.any() else None


def _unset_cells(memory: Memory, element: Type) -> np.ndarray:
    step, made, unseen = layouts.size(element), np.zeros(memory.size, bool), _pointers(memory)
    for start in range(0, memory.size // max(step, 1) * step, step):
        for offset, leaf in layouts.leaves(element):
            at = start + offset
            if isinstance(leaf, Scalar) and at not in unseen and memory.get(at, leaf) is UNKNOWN:
                made[at : at + leaf.size] = True
    return made


def _numbers(element: Type) -> np.ndarray:
    """`[bytes]` which bytes of an element are of numbers: those between fields are not."""
    found = np.zeros(max(layouts.size(element), 1), bool)
    for offset, leaf in layouts.leaves(element):
        found[offset : offset + layouts.size(leaf)] = True
    return found if not (isinstance(element, Record) and element.union) else np.ones_like(found)


def remaining(mask: np.ndarray, element: Type, before: np.ndarray, after: np.ndarray) -> np.ndarray | None:
    """Which of the bytes that nobody has written are so still: those of numbers that are as they were."""
    same = _same(element, before, after)
    found: np.ndarray | None = np.zeros(mask.size, bool)
    assert found is not None
    found[: same.size] = mask[: same.size] & same
    return found if found.any() else None


def _same(element: Type, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """`[bytes]` true where the number to which a byte belongs is as it was."""
    scalar = element.element if isinstance(element, Vector) else element
    a, b = (np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in (before, after))
    if isinstance(scalar, Scalar):
        kind = np.dtype(f"u{scalar.size}")
        equal = a[: a.size // scalar.size * scalar.size].view(kind) == b[: b.size // scalar.size * scalar.size].view(
            kind
        )
        return np.repeat(equal, scalar.size) if equal.any() else np.zeros(equal.size * scalar.size, bool)
    step = max(layouts.size(element), 1)
    rows = (a == b)[: a.size // step * step].reshape(-1, step)
    for offset, leaf in layouts.leaves(element):
        part = slice(offset, offset + layouts.size(leaf))
        rows[:, part] = rows[:, part].all(1, keepdims=True)
    return rows.reshape(-1)


def both(mask: np.ndarray, other: np.ndarray | None) -> np.ndarray | None:
    """Which bytes are in two masks, None if none is."""
    found = None if other is None else mask & other
    return found if found is not None and found.any() else None


def smallest(element: Type) -> int:
    """The bytes of the smallest number of an element."""
    return min((layouts.size(leaf) for _, leaf in layouts.leaves(element)), default=1)


def other(data: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Contents with other poison."""
    made = data.copy()
    poisoned(made.view(np.uint8), mask[: made.nbytes], data.dtype, other=True)
    return made


# --- Back ---


def put(memory: Memory, element: Type, data: np.ndarray, left: np.ndarray | None = None) -> None:
    """Takes new contents, but for pointers, which kernels do not see; what is `left` is as nobody has written it.

    Raises:
      KernelError: there is something else where a pointer was.
    """
    memory.changed = True
    if isinstance(memory, Words):
        memory.replace(data, left)
        return
    step, leaves = layouts.size(element), layouts.leaves(element)
    raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    kept = _pointers(memory)
    for start in range(0, raw.size // step * step, step):
        for offset, leaf in leaves:
            at = start + offset
            if not isinstance(leaf, Scalar) or (left is not None and left[at]):
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
            inner = record_dtype(element)
            return np.dtype((inner.base, (count, *inner.shape)))
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
