"""Words: memories of the host that hold numbers alone, each one array of NumPy's.

Which bytes nobody has written is kept beside it. Before a kernel is given such a memory these hold poison, as local
memory does: a NaN in floats, the bytes A5 in all others.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from xeemu.errors import KernelError
from xeemu.frontends.hosting import layouts, scalars
from xeemu.frontends.hosting.memories import NULL, OWN, Cells, Memory, Watched
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Scalar, Type


class Words(Memory):
    """An array of NumPy's; pointers and what is not known are kept beside it.

    Attributes:
      bytes: the contents.
      others: pointers and pointers that are not known, by offset.
      unset: `[size]` which bytes nobody has written; None if all have been.
      lent: True if a launch shares the contents, which must not change then.
      watch: None where the host's accesses are not recorded.
      on_uninitialized_read: called when the host reads what nobody has written, with the offset and the type; None
        where such reads are not recorded.
    """

    __slots__ = ("_poison", "_views", "bytes", "lent", "on_uninitialized_read", "others", "unset")

    on_uninitialized_read: Callable[["Words", int, Type], None] | None

    def __init__(self, size: int, kind: int = OWN):
        super().__init__(size, kind)
        self.bytes = np.zeros(-(-size // 8) * 8, np.uint8)
        self.others: dict[int, Any] = {}
        self.unset: np.ndarray | None = None
        self.lent = False
        self.watch = self.on_uninitialized_read = None
        self._poison: np.dtype | None = None
        self._views: dict[np.dtype, np.ndarray] = {}

    def get(self, at: Any, of: Type) -> Any:
        if self.watch is not None:
            self.watch(self, False)
        if self.unset is not None and self._is_unset(at, of):
            if self.on_uninitialized_read is not None:
                self.on_uninitialized_read(self, at, of)
            return scalars.of_bits(poison(of.dtype), of) if isinstance(of, Scalar) else UNKNOWN
        return self._found(at, of)

    def peek(self, at: Any, of: Type) -> Any:
        if self.watch is not None:
            self.watch(self, False)
        return UNKNOWN if self.unset is not None and self._is_unset(at, of) else self._found(at, of)

    def _found(self, at: Any, of: Type) -> Any:
        if self.others and at in self.others:
            return self.others[at]
        if not isinstance(of, Scalar):
            return NULL
        self._check(at, of)
        dtype = of.dtype
        view = self._views.get(dtype)
        if view is None:
            view = self._views[dtype] = self.bytes.view(dtype)
        index, odd = divmod(at, dtype.itemsize)
        found = view[index] if not odd else self.bytes[at : at + dtype.itemsize].view(dtype)[0]
        return found if dtype.kind == "f" and dtype.itemsize < 8 else +found.item()

    def put(self, at: Any, of: Type, value: Any) -> None:
        if self.watch is not None:
            self.watch(self, True)
        self._check(at, of)
        if value is UNKNOWN and isinstance(of, Scalar):
            self.others.pop(at, None)
            self.unwrite(at, np.ones(of.size, bool))
            return
        if self.unset is not None:
            self.unset[at : at + layouts.size(of)] = False
        if not isinstance(of, Scalar):
            self.others[at] = value
            return
        if self.others:
            self.others.pop(at, None)
        if self.lent:
            self._own()
        dtype = of.dtype
        view = self._views.get(dtype)
        if view is None:
            view = self._views[dtype] = self.bytes.view(dtype)
        index, odd = divmod(at, dtype.itemsize)
        if odd:
            self.bytes[at : at + dtype.itemsize] = np.frombuffer(dtype.type(value).tobytes(), np.uint8)
        else:
            view[index] = value

    def _check(self, at: Any, of: Type) -> None:
        self.check(at, layouts.size(of))

    def check(self, at: Any, size: Any) -> None:
        """Refuses an access to so many bytes where the memory has not so many.

        Errors: `Outside`.
        """
        if at is UNKNOWN or size is UNKNOWN or size < 0 or not 0 <= at <= self.size - size:
            raise Outside(at, size, self)

    def fill(self, at: Any, byte: Any, size: Any) -> None:
        self.check(at, size)
        if byte is UNKNOWN:
            self.unwrite(at, np.ones(size, bool))
            return
        self._own()
        self.bytes[at : at + size] = byte & 0xFF
        self._set(at, size)

    def _set(self, at: int, size: int) -> None:
        """The bytes there have been written, by no pointer."""
        if self.unset is not None:
            self.unset[at : at + size] = False
        for k in self.others_in(at, size):
            del self.others[k]

    def others_in(self, at: int, size: int) -> list[int]:
        """The offsets of the pointers that are among some bytes."""
        others, wanted = self.others, range(at, at + size)
        return [k for k in wanted if k in others] if size < len(others) else [k for k in others if k in wanted]

    def take(self, at: int, memory: "Words", source: int, size: int) -> None:
        """Copies bytes of another memory, or of this one, with what is kept beside them."""
        self.check(at, size)
        memory.check(source, size)
        data = memory.bytes[source : source + size].copy()
        others = {k - source + at: memory.others[k] for k in memory.others_in(source, size)}
        unset = None if memory.unset is None else memory.unset[source : source + size].copy()
        self._own()
        self.bytes[at : at + size] = data
        self._set(at, size)
        self.others.update(others)
        if unset is not None and unset.any():
            self.unwrite(at, unset)

    def forget(self) -> None:
        pass

    def _own(self) -> None:
        """Makes a copy of what others look at, before it changes."""
        if self.lent:
            self.bytes, self.lent = self.bytes.copy(), False
            self._views.clear()

    # --- What nobody has written ---

    def _is_unset(self, at: Any, of: Type) -> bool:
        self._check(at, of)
        assert self.unset is not None
        return bool(self.unset[at])

    def unwrite(self, at: int, which: np.ndarray) -> None:
        """Nobody has written some of the bytes at an offset any more."""
        if self.unset is None:
            self.unset = np.zeros(self.size, bool)
        self.unset[at : at + which.size] |= which
        self._poison = None

    def unwritten(self) -> np.ndarray | None:
        """`[size]` which bytes nobody has written; None if all have been."""
        if self.unset is not None and not self.unset.any():
            self.unset = None
        return self.unset

    # --- Kernels ---

    def lend(self, dtype: np.dtype) -> np.ndarray:
        """The contents, which will not change; poison where nobody has written."""
        unset = self.unwritten()
        # NumPy takes None for float64 where it is compared with a dtype.
        if unset is not None and (self._poison is None or self._poison != dtype):
            self._own()
            poisoned(self.bytes[: self.size], unset, dtype)
            self._poison = dtype
        self.lent = True
        return self.bytes[: self.size // dtype.itemsize * dtype.itemsize].view(dtype)

    def replace(self, data: np.ndarray, unset: np.ndarray | None = None) -> None:
        """Takes new contents, from the beginning on, of which some bytes are as nobody has written them."""
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        if raw.size == self.bytes.size and raw.ctypes.data % 8 == 0:
            self.bytes, self.lent = raw, True
        else:
            self._own()
            self.bytes[: raw.size] = raw[: self.bytes.size]
        self._views.clear()
        if self.unset is not None:
            self.unset[: raw.size] = False if unset is None else unset[: raw.size]


class Outside(KernelError):
    """An access of the host beyond a memory.

    Attributes:
      memory: that is accessed.
      at, size: of the access, in bytes; `UNKNOWN` of one that depends on a value that nobody has set.
    """

    def __init__(self, at: Any, size: Any, memory: Memory):
        self.memory, self.at, self.size = memory, at, size
        if UNKNOWN in (at, size):
            super().__init__("the host accesses memory at an index, or by a size, that nobody has set")
        else:
            super().__init__(f"the host accesses {size} bytes at {at} of a memory of {memory.size} bytes")


# --- Poison ---


def poison(dtype: np.dtype, other: bool = False) -> bytes:
    """The bytes of a number that nobody has written: a NaN, True, or A5 A5 ...; or of an `other` one, which differs."""
    if dtype.kind == "b":
        return b"\0" if other else b"\1"
    byte = b"\x5a" if other else b"\xa5"
    ends = _NAN_ENDS.get(dtype.name)
    return byte * dtype.itemsize if ends is None else byte * (dtype.itemsize - len(ends[other])) + ends[other]


_NAN_ENDS = {
    "float16": (b"\x7e", b"\x7f"),
    "bfloat16": (b"\xe5\x7f", b"\xda\x7f"),
    "float32": (b"\xe5\x7f", b"\xda\x7f"),
    "float64": (b"\xfd\x7f", b"\xfa\x7f"),
}
"""The last bytes of quiet NaNs whose other bits are no computed one's."""


def poisoned(raw: np.ndarray, unset: np.ndarray, dtype: np.dtype, other: bool = False) -> None:
    """Puts poison of a dtype into some of the bytes of a memory."""
    pattern = np.frombuffer(poison(dtype, other), np.uint8)
    if pattern.size == 1 or (pattern == pattern[0]).all():
        raw[unset] = pattern[0]
        return
    raw[unset] = pattern[np.flatnonzero(unset) % pattern.size]


def watch(memory: Memory, called: Callable[[Memory, bool], None] | None) -> None:
    """Has the host's accesses to a memory watched, or, with None, watched no more."""
    if isinstance(memory, Words):
        memory.watch = called
    elif type(memory) is Cells and called is not None:
        memory.watch = called
        memory.__class__ = Watched
    elif type(memory) is Watched and called is None:
        memory.__class__ = Cells  # type: ignore[assignment]
