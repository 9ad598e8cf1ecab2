"""Memories: what variables and allocations of the host hold.

A pointer is a memory and an offset in bytes. Variables and small things are `Cells`, which hold any value at any
offset; what is allocated and holds numbers alone is `words.Words`, one array of NumPy's.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from xeemu.frontends import types
from xeemu.frontends.hosting import layouts, scalars
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.tree import SourceLocation
from xeemu.frontends.types import Scalar, Type

HOST, DEVICE, SHARED, LOCAL, OWN = range(5)
"""Kinds of memory, as `__xeemu::allocate` takes them: three of USM, the work-group's, and the host's own."""
USM = (HOST, DEVICE, SHARED)


class Memory(abc.ABC):
    """Some bytes.

    Attributes:
      size: how many, `UNKNOWN` where that is not known.
      kind: who can reach them.
      element: what a pointer to them was first converted to, None of one to `void`.
      made: where it has been allocated; None of a variable.
      freed: where it has been freed; None as long as it has not.
      discarded: where contents of it have been discarded last, by an accessor of `no_init`; None where none have been.
      changed: True once a launch has written it.
      context: of USM the number of its context.
      watch: of `Words` and `Watched` called when the host accesses them, with true if it writes.
    """

    __slots__ = ("changed", "context", "discarded", "element", "freed", "kind", "made", "number", "size", "watch")

    watch: Callable[["Memory", bool], None] | None

    def __init__(self, size: Any, kind: int = OWN):
        self.size, self.kind = size, kind
        self.element: Type | None = None
        self.number = self.context = 0
        self.changed = False
        self.made: SourceLocation | None = None
        self.freed: SourceLocation | None = None
        self.discarded: SourceLocation | None = None

    @abc.abstractmethod
    def get(self, at: Any, of: Type) -> Any:
        """The number, pointer or function at an offset."""

    def peek(self, at: Any, of: Type) -> Any:
        """What `get` gives, for a copy: `UNKNOWN` if nobody has written it, which is a fault only where it is used."""
        return self.get(at, of)

    @abc.abstractmethod
    def put(self, at: Any, of: Type, value: Any) -> None:
        """Puts such a value there."""

    @abc.abstractmethod
    def fill(self, at: Any, byte: Any, size: Any) -> None:
        """Sets bytes; to `UNKNOWN` those that nobody has written any more."""

    @abc.abstractmethod
    def forget(self) -> None:
        """Nothing is known of the contents any more."""


Address: TypeAlias = tuple[Memory | None, Any]
NULL: Address = (None, 0)
_FILLED = 4096
"""The bytes that cells are filled with one by one."""


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
    """Values by their offsets; `rest` is what all others hold, where nothing is in `zeros`.

    Attributes:
      kinds: the types as which the values were put, by the offsets; of those of text none, they take a byte.
    """

    __slots__ = ("cells", "kinds", "rest", "zeros")

    def __init__(self, size: Any, kind: int = OWN):
        super().__init__(size, kind)
        self.cells: dict[int, Any] = {}
        self.kinds: dict[int, Type] = {}
        self.rest: Any = UNKNOWN
        self.zeros: list[tuple[int, int]] = []

    def get(self, at: Any, of: Type) -> Any:
        try:
            found = self.cells[at]
        except KeyError:
            return self._absent(at, of)
        kind = self.kinds.get(at)
        if kind is of or found is UNKNOWN:
            return found
        if isinstance(kind, Scalar) and isinstance(of, Scalar) and kind != of:
            return self._assembled(at, of)
        if found.__class__ is int:
            return found if not (isinstance(of, Scalar) and of.is_float) else _punned(found, of)
        return found if not isinstance(of, Scalar) or of.is_float else _punned(found, of)

    def _absent(self, at: Any, of: Type) -> Any:
        if at is UNKNOWN:
            return UNKNOWN if self.rest is UNKNOWN else zero(of)
        if self.cells and isinstance(of, Scalar) and self._overlapped(at, of.size):
            return self._assembled(at, of)
        return zero(of) if self._is_zero(at) else UNKNOWN

    def _is_zero(self, at: int) -> bool:
        return self.rest is not UNKNOWN or any(low <= at < high for low, high in self.zeros)

    def _overlapped(self, at: int, size: int) -> list[int]:
        """The offsets of the values of which some bytes are among those at an offset."""
        cells = self.cells
        return [k for k in range(at - 7, at + size) if k in cells and (k >= at or k + self._width(k) > at)]

    def over(self, at: int) -> list[int]:
        """The offset of the value that goes over an offset, begun before it."""
        return [k for k in range(at - 7, at) if k in self.cells and k + self._width(k) > at]

    def covers(self, at: int, byte: int) -> bool:
        """True if a byte is one of the value at an offset."""
        return at <= byte < at + self._width(at)

    def _width(self, at: int) -> int:
        kind = self.kinds.get(at)
        return 1 if kind is None else layouts.size(kind)

    def _assembled(self, at: int, of: Scalar) -> Any:
        """The number that the bytes at an offset are."""
        data = [self._byte(k) for k in range(at, at + of.size)]
        return UNKNOWN if None in data else scalars.of_bits(bytes(data), of)  # type: ignore[arg-type]

    def _byte(self, at: int) -> int | None:
        """A byte; None where it is not known, or one of a pointer."""
        for back in range(8):
            if at - back in self.cells and back < self._width(at - back):
                found, kind = self.cells[at - back], self.kinds.get(at - back, types.UCHAR)
                known = isinstance(kind, Scalar) and isinstance(found, int | float | np.floating)
                return scalars.bits(found, kind)[back] if known else None  # type: ignore[arg-type]
        return 0 if self._is_zero(at) else None

    def put(self, at: Any, of: Type, value: Any) -> None:
        if at is UNKNOWN:
            self.forget()
            return
        if self.kinds.get(at) is not of:
            if self.cells and self.kinds.get(at) != of:
                self.clear(at, layouts.size(of))
            self.kinds[at] = of
        self.cells[at] = value

    def clear(self, at: int, size: int) -> None:
        """Takes away the values at an offset; of those that are there in part the other bytes stay."""
        for k in self._overlapped(at, size):
            width = self._width(k)
            rest = {b: self._byte(b) for b in range(k, k + width) if not at <= b < at + size}
            del self.cells[k]
            self.kinds.pop(k, None)
            for b, value in rest.items():
                self.cells[b] = UNKNOWN if value is None else value
                self.kinds[b] = types.UCHAR

    def fill(self, at: Any, byte: Any, size: Any) -> None:
        if at is UNKNOWN or size is UNKNOWN:
            self.forget()
            return
        if byte is UNKNOWN:
            self._discard(at, at + size)
            return
        if size <= _FILLED:
            self.clear(at, size)
        for k in [k for k in self.cells if at <= k < at + size]:
            del self.cells[k]
        if byte == 0:
            self.zeros.append((at, at + size))
        elif size <= _FILLED:
            self.cells.update({at + k: byte & 0xFF for k in range(size)})
            self.kinds.update({at + k: types.UCHAR for k in range(size)})
        else:
            self.forget()

    def _discard(self, low: int, high: int) -> None:
        """Forgets the values of some bytes, and of those that are there in part the other bytes stay."""
        self.clear(low, high - low)
        zeros = [(0, self.size)] if self.rest is not UNKNOWN else self.zeros
        parts = [part for a, b in zeros for part in ((a, min(b, low)), (max(a, high), b))]
        self.rest, self.zeros = UNKNOWN, [(a, b) for a, b in parts if a < b]

    def forget(self) -> None:
        self.cells.clear()
        self.kinds.clear()
        self.zeros.clear()
        self.rest = UNKNOWN


class Watched(Cells):
    """Cells whose accesses by the host are recorded; `watch` may make them `Cells` again."""

    __slots__ = ()

    def get(self, at: Any, of: Type) -> Any:
        if self.watch is not None:
            self.watch(self, False)
        return Cells.get(self, at, of)

    def put(self, at: Any, of: Type, value: Any) -> None:
        if self.watch is not None:
            self.watch(self, True)
        Cells.put(self, at, of, value)


def _punned(found: Any, of: Scalar) -> Any:
    """A number's bits as a number of another type."""
    if not isinstance(found, int | float | np.floating):
        return UNKNOWN
    wide = of if isinstance(found, int) else types.LONG
    return scalars.of_bits(scalars.bits(found, wide).ljust(8, b"\0"), of)


@dataclasses.dataclass
class Journal:
    """What was in cells before they changed, the oldest change first; None while changes are not recorded."""

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

    def clear(self, at: int, size: int) -> None:
        if self.journal.entries is not None and self._overlapped(at, size):
            self._note_whole()
        super().clear(at, size)

    def _note_whole(self) -> None:
        if self.journal.entries is not None:
            self.journal.entries.append((self, WHOLE, self.now(WHOLE)))

    def now(self, at: Any) -> Any:
        """What is at an offset, to be restored."""
        if at is WHOLE:
            return dict(self.cells), dict(self.kinds), self.rest, list(self.zeros)
        return self.cells.get(at, MISSING)

    def restore(self, at: Any, value: Any) -> None:
        if at is WHOLE:
            cells, kinds, self.rest, zeros = value
            self.cells, self.kinds, self.zeros = dict(cells), dict(kinds), list(zeros)
        elif value is MISSING:
            self.cells.pop(at, None)
        else:
            self.cells[at] = value


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
