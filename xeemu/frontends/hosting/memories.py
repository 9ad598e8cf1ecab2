"""Memories: what variables and allocations of the host hold.

A pointer is a memory and an offset in bytes. Variables and small things are `Cells`, which hold any value at any
offset; what is allocated and holds numbers alone is `Words`, one array of NumPy's.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from xeemu.errors import KernelError
from xeemu.frontends import types
from xeemu.frontends.hosting import layouts, scalars
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.types import Scalar, Type

HOST, DEVICE, SHARED, LOCAL = range(4)
"""Kinds of memory, as `__xeemu::allocate` takes them."""


class Memory:
    """Some bytes.

    Attributes:
      size: how many, `UNKNOWN` where that is not known.
      kind: who can reach them.
      element: what a pointer to them was first converted to, None of one to `void`.
      watch: of `Words` and `Watched` called when the host accesses them, with whether it writes.
    """

    __slots__ = ("element", "freed", "kind", "number", "size", "watch")

    watch: Callable[["Memory", bool], None] | None

    def __init__(self, size: Any, kind: int = HOST):
        self.size, self.kind = size, kind
        self.element: Type | None = None
        self.number = 0
        self.freed = False

    def get(self, at: Any, of: Type) -> Any:
        """The number, pointer or function at an offset."""
        raise NotImplementedError

    def put(self, at: Any, of: Type, value: Any) -> None:
        raise NotImplementedError

    def fill(self, at: Any, byte: Any, size: Any) -> None:
        """Sets bytes."""
        raise NotImplementedError

    def forget(self) -> None:
        """Nothing is known of the contents any more."""
        raise NotImplementedError


Address: TypeAlias = tuple[Memory | None, Any]
NULL: Address = (None, 0)


class Nowhere(Memory):
    """What an unknown pointer points to."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(UNKNOWN)

    def get(self, at: Any, of: Type) -> Any:
        return UNKNOWN

    def put(self, at: Any, of: Type, value: Any) -> None:
        pass

    def fill(self, at: Any, byte: Any, size: Any) -> None:
        pass

    def forget(self) -> None:
        pass


class Cells(Memory):
    """Values by their offsets; `rest` is what all others hold, where nothing is in `zeros`."""

    __slots__ = ("cells", "rest", "zeros")

    def __init__(self, size: Any, kind: int = HOST):
        super().__init__(size, kind)
        self.cells: dict[int, Any] = {}
        self.rest: Any = UNKNOWN
        self.zeros: list[tuple[int, int]] = []

    def get(self, at: Any, of: Type) -> Any:
        try:
            found = self.cells[at]
        except KeyError:
            return self._absent(at, of)
        if found.__class__ is int or found is UNKNOWN:
            return found if not (isinstance(of, Scalar) and of.is_float) or found is UNKNOWN else _punned(found, of)
        return found if not isinstance(of, Scalar) or of.is_float else _punned(found, of)

    def _absent(self, at: Any, of: Type) -> Any:
        if self.rest is UNKNOWN and not any(low <= at < high for low, high in self.zeros if at is not UNKNOWN):
            return self._part(at, of)
        return zero(of)

    def _part(self, at: Any, of: Type) -> Any:
        """A part of a number that is there."""
        if at is UNKNOWN or not isinstance(of, Scalar) or of.size >= 8:
            return UNKNOWN
        for back in range(1, 8):
            whole = self.cells.get(at - back)
            if isinstance(whole, int | float | np.floating):
                data = scalars.bits(whole, types.LONG)
                return scalars.of_bits(data[back:], of)
        return UNKNOWN

    def put(self, at: Any, of: Type, value: Any) -> None:
        if at is UNKNOWN:
            self.forget()
        else:
            self.cells[at] = value

    def fill(self, at: Any, byte: Any, size: Any) -> None:
        if at is UNKNOWN or size is UNKNOWN or byte is UNKNOWN:
            self.forget()
            return
        for k in [k for k in self.cells if at <= k < at + size]:
            del self.cells[k]
        if byte == 0:
            self.zeros.append((at, at + size))
        elif size <= 256:
            self.cells.update({at + k: byte for k in range(size)})

    def forget(self) -> None:
        self.cells.clear()
        self.zeros.clear()
        self.rest = UNKNOWN


class Watched(Cells):
    """Cells while somebody cares for the host's accesses; who is called may make them `Cells` again."""

    __slots__ = ()

    def get(self, at: Any, of: Type) -> Any:
        if self.watch is not None:
            self.watch(self, False)
        return Cells.get(self, at, of)

    def put(self, at: Any, of: Type, value: Any) -> None:
        if self.watch is not None:
            self.watch(self, True)
        Cells.put(self, at, of, value)


def watch(memory: Memory, called: Callable[[Memory, bool], None] | None) -> None:
    """Has the host's accesses to a memory watched, or, with None, watched no more."""
    if isinstance(memory, Words):
        memory.watch = called
    elif type(memory) is Cells and called is not None:
        memory.watch = called
        memory.__class__ = Watched
    elif type(memory) is Watched and called is None:
        memory.__class__ = Cells  # type: ignore[assignment]


def _punned(found: Any, of: Scalar) -> Any:
    """A number's bits as a number of another type."""
    if not isinstance(found, int | float | np.floating):
        return UNKNOWN
    wide = of if isinstance(found, int) else types.LONG
    return scalars.of_bits(scalars.bits(found, wide).ljust(8, b"\0"), of)


@dataclasses.dataclass
class Journal:
    """What was in cells before they changed, while somebody wants to know; the oldest first."""

    entries: "list[tuple[Noted, Any, Any]] | None" = None


MISSING, WHOLE = object(), object()
"""What was in a cell that was not there; the offset of all cells."""


class Noted(Cells):
    """Cells whose changes are written down in a journal."""

    __slots__ = ("journal",)

    def __init__(self, size: Any, kind: int, journal: Journal):
        super().__init__(size, kind)
        self.journal = journal

    def put(self, at: Any, of: Type, value: Any) -> None:
        if self.journal.entries is not None and at is not UNKNOWN:
            self.journal.entries.append((self, at, self.cells.get(at, MISSING)))
        super().put(at, of, value)

    def fill(self, at: Any, byte: Any, size: Any) -> None:
        self._note_whole()
        super().fill(at, byte, size)

    def forget(self) -> None:
        self._note_whole()
        super().forget()

    def _note_whole(self) -> None:
        if self.journal.entries is not None:
            self.journal.entries.append((self, WHOLE, self.now(WHOLE)))

    def now(self, at: Any) -> Any:
        """What is at an offset, to be restored."""
        if at is WHOLE:
            return dict(self.cells), self.rest, list(self.zeros)
        return self.cells.get(at, MISSING)

    def restore(self, at: Any, value: Any) -> None:
        if at is WHOLE:
            cells, self.rest, zeros = value
            self.cells, self.zeros = dict(cells), list(zeros)
        elif value is MISSING:
            self.cells.pop(at, None)
        else:
            self.cells[at] = value


class Words(Memory):
    """An array of NumPy's; pointers and what is not known are kept beside it.

    Attributes:
      bytes: the contents.
      others: pointers and what is not known, by offset.
      lent: whether somebody else has the contents, which must not change then.
      watch: None where nobody cares for the host's accesses.
    """

    __slots__ = ("_views", "bytes", "lent", "others")

    def __init__(self, size: int, kind: int = HOST):
        super().__init__(size, kind)
        self.bytes = np.zeros(-(-size // 8) * 8, np.uint8)
        self.others: dict[int, Any] = {}
        self.lent = False
        self.watch = None
        self._views: dict[np.dtype, np.ndarray] = {}

    def get(self, at: Any, of: Type) -> Any:
        if self.watch is not None:
            self.watch(self, False)
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
        if not isinstance(of, Scalar) or value is UNKNOWN:
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
        size = layouts.size(of)
        if not 0 <= at <= self.size - size:
            raise Outside(at, size, self.size)

    def fill(self, at: Any, byte: Any, size: Any) -> None:
        if not 0 <= at <= at + size <= self.size:
            raise Outside(at, size, self.size)
        self._own()
        self.bytes[at : at + size] = byte & 0xFF
        for k in [k for k in self.others if at <= k < at + size]:
            del self.others[k]

    def forget(self) -> None:
        pass

    def _own(self) -> None:
        """Makes a copy of what others look at, before it changes."""
        if self.lent:
            self.bytes, self.lent = self.bytes.copy(), False
            self._views.clear()

    def lend(self, dtype: np.dtype) -> np.ndarray:
        """The contents, which will not change."""
        self.lent = True
        return self.bytes[: self.size // dtype.itemsize * dtype.itemsize].view(dtype)

    def replace(self, data: np.ndarray) -> None:
        """Takes new contents, from the beginning on."""
        raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        if raw.size == self.bytes.size and raw.ctypes.data % 8 == 0:
            self.bytes, self.lent = raw, True
        else:
            self._own()
            self.bytes[: raw.size] = raw[: self.bytes.size]
        self._views.clear()


class Outside(KernelError):
    """An access of the host beyond a memory."""

    def __init__(self, at: int, size: int, whole: int):
        super().__init__(f"the host accesses {size} bytes at {at} of a memory of {whole} bytes")


def zero(of: Type) -> Any:
    """The value of something of which all bits are 0."""
    match of:
        case Scalar():
            return scalars.plain(of.dtype.type(0), of)
        case types.Pointer():
            return NULL
    return UNKNOWN


@dataclasses.dataclass(eq=False)
class Registry:
    """Numbers that stand for addresses, for those who look at them."""

    known: list[Memory] = dataclasses.field(default_factory=list)

    def number(self, address: Address) -> Any:
        memory, at = address
        if memory is None:
            return at
        if not memory.number:
            self.known.append(memory)
            memory.number = len(self.known) << 36
        return memory.number + at

    def address(self, number: Any) -> Address:
        if number is UNKNOWN:
            return Nowhere(), 0
        which = number >> 36
        return (self.known[which - 1], number & ((1 << 36) - 1)) if 0 < which <= len(self.known) else (None, number)
