"""Access plans: how each reference to a memory is carried out, as a value that is decided on once and then emitted.

Decided from what is known before the program runs: the memory's storage, the address, whether there is a mask, the
chunk and its target. Nothing here emits, and nothing that emits decides.
"""

import dataclasses
import math

import numpy as np

from xeemu.ir import ops
from xeemu.language.memory import poison
from xeemu.planning import boundary_windows, periodic_gathers, strided_windows
from xeemu.planning.chunk import Chunk
from xeemu.planning.periodic_gathers import PeriodicGather, Remainder
from xeemu.planning.references import Reference
from xeemu.planning.stencil_loads import StencilLoad
from xeemu.planning.storage import Storage
from xeemu.planning.windows import Rectangle, Window

_SCATTERED = ("add", "min", "max", "sub")
"""Operations of atomic updates whose old values nobody asks for that a scatter does."""


@dataclasses.dataclass(frozen=True, eq=False)
class Missing:
    """A load of no element, or from a memory that has none.

    Attributes:
      value: what it reads nevertheless.
    """

    value: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Empty:
    """An update of no element, or of a memory that has none."""


@dataclasses.dataclass(frozen=True, eq=False)
class Gather:
    """A look-up of each element.

    Attributes:
      run: how many elements at a time are known to follow each other.
      missing: what elements out of bounds read as.
      materialised: true if the addresses are computed before, for themselves.
    """

    run: int
    missing: np.ndarray
    materialised: bool = False

    @property
    def in_runs(self) -> bool:
        """True if several elements are looked up at a time."""
        return self.run > 1


@dataclasses.dataclass(frozen=True, eq=False)
class Scatter:
    """A scatter of the elements.

    Attributes:
      always: true if every element takes part and is within bounds.
    """

    always: bool


@dataclasses.dataclass(frozen=True)
class FewElements:
    """A number that is added to elements of a memory, and which of a group or work-item these can be.

    Attributes:
      first: the first of them.
      size: how many they are.
      number: what is added to each that is chosen, as often as it is.
    """

    first: int
    size: int
    number: int


@dataclasses.dataclass(frozen=True, eq=False)
class ScatteredUpdate:
    """A scatter of atomic updates whose order does not count, of several at once if there are others.

    Attributes:
      private_element: true if each work-item updates one element of its own private memory.
      few_elements: the number added and its range, where a scatter may be slower (see `collected_updates`); or None.
      waits: true if it is left to be made with those of other iterations.
      always: true if every element takes part and is within bounds.
    """

    private_element: bool
    few_elements: FewElements | None
    waits: bool
    always: bool


@dataclasses.dataclass(frozen=True, eq=False)
class InOrder:
    """One element after the other, in the order of the work-items.

    Attributes:
      rounds: true if results depend on that order by rounding, so that it has to be kept to the letter.
    """

    rounds: bool


@dataclasses.dataclass(frozen=True, eq=False)
class StencilWindow:
    """A window that is read as a part of a larger rectangle, with those of other loads.

    Attributes:
      window: the window.
      neighbour: how it lies in that.
      around: the larger one.
    """

    window: Window
    neighbour: StencilLoad
    around: Rectangle


Load = Missing | PeriodicGather | Window | StencilWindow | Gather


@dataclasses.dataclass(frozen=True, eq=False)
class Store:
    """How a store is carried out.

    Attributes:
      by: how its elements are.
    """

    by: Empty | Window | Scatter

    @property
    def overwrites(self) -> bool:
        """True if it stores to all of the memory if no mask of the control flow leaves work-items out."""
        return isinstance(self.by, Window) and self.by.covers_memory


Atomic = Empty | Window | ScatteredUpdate | InOrder


def of_load(
    reference: Reference,
    chunk: Chunk,
    missing: np.ndarray | None = None,
    gathered: bool = False,
    in_line: bool = False,
    neighbour: StencilLoad | None = None,
    remainder: Remainder | None = None,
) -> Load:
    """How a load is carried out.

    Args:
      reference: its elements.
      chunk: the work-groups.
      missing: what elements out of bounds read as; poison if that is None.
      gathered: true if it has to be a gather.
      in_line: true if a window is read along a line of the memory (see `Iteration`).
      neighbour: the load as one of several that are read at once, if it is (see `stencil_loads`).
      remainder: that of its only index, if it is one and elements may be copied (see `periodic_gathers`).
    """
    dtype = reference.storage.dtype
    missing = poison(dtype) if missing is None else missing.astype(dtype)
    if reference.is_empty:
        return Missing(missing)
    gather = Gather(_run(reference, chunk), missing)
    if gathered:
        return gather
    if (periodic := periodic_gathers.of_reference(reference, remainder, chunk)) is not None:
        return periodic
    if (window := _window(reference, chunk, missing)) is not None:
        stencil = _stencil(window, neighbour, reference.storage, chunk)
        return stencil or (window.line if in_line else None) or window.as_read
    return gather


def _stencil(window: Window, neighbour: StencilLoad | None, storage: Storage, chunk: Chunk) -> StencilWindow | None:
    """A window as one of those of several loads, if it is worth it to read them at once."""
    if neighbour is None or window.rectangle.edge is None:
        return None
    around = boundary_windows.around(window.rectangle, neighbour, storage, chunk)
    return None if around is None else StencilWindow(window, neighbour, around)


def _window(reference: Reference, chunk: Chunk, missing: np.ndarray) -> Window | None:
    """The window of a reference, within bounds or a box that may reach beyond its memory; None if it has none."""
    if reference.address.proved:
        return strided_windows.of_reference(reference, chunk)
    return boundary_windows.of_reference(reference, chunk, missing)


def _run(reference: Reference, chunk: Chunk) -> int:
    """How many elements at a time are known to follow each other, in all of a load; 1 where that does not help."""
    address, private = reference.address, reference.storage.space == "private"
    # Whom a mask leaves out may be beyond the end, and a window would move.
    if reference.masked or private or not (chunk.target.gathers_one_by_one and address.proved) or address.form is None:
        return 1
    pattern = address.form.pattern
    return math.gcd(len(pattern), *(np.flatnonzero(np.diff(pattern) != 1) + 1).tolist())


def of_store(reference: Reference, chunk: Chunk, scattered: bool = False) -> Store:
    """How a plain store is carried out; by a scatter if it has to be `scattered`."""
    if reference.is_empty:
        return Store(Empty())
    window = None if scattered else _stored_window(reference, chunk)
    return Store(window or Scatter(reference.always))


def _stored_window(reference: Reference, chunk: Chunk) -> Window | None:
    """The window that a store fills, if it does."""
    if not (reference.address.proved or chunk.target.skips_branches):
        return None
    window = _window(reference, chunk, poison(reference.storage.dtype))
    return window if window and window.writable(reference.masked) else None


def of_atomic(reference: Reference, chunk: Chunk, op: str, added: int | None = None, waits: bool = False) -> Atomic:
    """How an atomic update is carried out whose old values nobody asks for.

    Args:
      reference: its elements.
      chunk: the work-groups.
      op: the operation.
      added: the number that it combines all elements with, if there is one that is known.
      waits: true if it is left to be made with those of other iterations.
    """
    if reference.is_empty:
        return Empty()
    storage = reference.storage
    in_order = chunk.deterministic and ops.rounds(storage.dtype, op)
    if not (waits or in_order) and (window := _combined_window(reference, op, chunk)):
        return window
    if op not in _SCATTERED or (in_order and not chunk.target.scatters_in_order):
        return InOrder(in_order)
    elements = reference.elements
    own = storage.space == "private" and elements.all and elements.count == chunk.geometry.items
    counted = waits and chunk.single and (own or storage.space == "local")
    return ScatteredUpdate(
        own, _few_elements(reference, op, added, chunk) if counted else None, waits, reference.always
    )


def of_fetch(reference: Reference, chunk: Chunk, op: str) -> Empty | InOrder:
    """How an atomic update is carried out whose old values are asked for; see `of_atomic`."""
    in_order = chunk.deterministic and ops.rounds(reference.storage.dtype, op)
    return Empty() if reference.is_empty else InOrder(in_order)


def _combined_window(reference: Reference, op: str, chunk: Chunk) -> Window | None:
    """The window that an atomic update goes through, in any order, if it does.

    Private memory is updated where some address is not known (see `passes/fuse_updates.py`), and a scatter does that.
    """
    if reference.storage.space == "private" or op not in ops.COMBINING or not reference.address.proved:
        return None
    window = strided_windows.of_reference(reference, chunk)
    if window is None or not window.dense:
        return None
    return window.combining(reference.storage.dtype, chunk.target.reductions)


def _few_elements(reference: Reference, op: str, number: int | None, chunk: Chunk) -> FewElements | None:
    """What an update of a local or private memory adds, and to which elements, if they are few and it is one number."""
    storage, interval = reference.storage, reference.address.interval
    if storage.dtype.kind not in "iu" or op not in ("add", "sub") or number is None or interval is None:
        return None
    size, figures = interval[1] - interval[0] + 1, chunk.target.counting
    most = figures.most_private if storage.space == "private" else figures.most_local
    number = -number if op == "sub" else number
    return FewElements(interval[0], size, number) if size <= most else None
