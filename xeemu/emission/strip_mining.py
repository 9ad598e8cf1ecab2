"""Strip-mining: loops that only load slices and compute on them, emitted by blocks of iterations.

Slices that start a constant further in each iteration are parts of one window, at constant places of it: the compiler
then sees which of them overlap, loads each element once for several iterations, and goes over its accumulators once.
What the iterations store next to each other is stored at once. Where the program itself must find whether loads are
within bounds, it does so once for the whole loop.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.emission import access, placed_windows, strided_windows
from xeemu.emission.placed_windows import PlacedWindow, View
from xeemu.emission.positions import Lanes, Located, Touched
from xeemu.emission.values import Buffer, Chunk, Emitted
from xeemu.knowledge.lattices import Axis


@dataclasses.dataclass(frozen=True, eq=False)
class Fill:
    """What the iterations of a block store next to each other.

    Attributes:
      window: of all of them.
      values: of each iteration so far, `[G or 1, n or 1]`.
      masks: the same; empty if everything is stored.
    """

    window: PlacedWindow
    values: list[jax.Array] = dataclasses.field(default_factory=list)
    masks: list[jax.Array] = dataclasses.field(default_factory=list)

    def written(self, data: jax.Array) -> jax.Array:
        """The memory's data after all iterations."""
        mask = self._together(self.masks) if self.masks else None
        return self.window.written(data, self._together(self.values), mask)

    def _together(self, arrays: list[jax.Array]) -> jax.Array:
        rows = max(array.shape[0] for array in arrays)
        elements = self.window.window.lattice.count // len(arrays)
        full = [jnp.broadcast_to(array, (rows, elements)) for array in arrays]
        return jnp.concatenate(full, axis=1)


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """One of the iterations of a loop that are emitted together.

    Attributes:
      turn: which of them is being emitted.
      turns: how many there are.
      moves: for the number of a load how much further it starts in each iteration.
      windows: of such a load the window that holds all its slices; filled in the first iteration.
      fills: of a store the window that its iterations fill; opened in the first iteration.
      trusted: loads that are known to be within bounds in all iterations.
      doubted: loads of which it is known that some iteration is not.
      found: where an iteration is emitted to look at it only: takes the window of each load by a moving slice that is
        not known to be within bounds, and the elements that its memory has.
    """

    turn: int
    turns: int
    moves: Mapping[int, int]
    windows: dict[int, Any] = dataclasses.field(default_factory=dict)
    fills: dict[int, Fill] = dataclasses.field(default_factory=dict)
    trusted: frozenset[int] = frozenset()
    doubted: frozenset[int] = frozenset()
    found: dict[int, tuple[PlacedWindow, int]] | None = None

    @property
    def is_last(self) -> bool:
        return self.turn == self.turns - 1

    def axis(self, number: int) -> Axis | None:
        """The iterations along which an access moves."""
        return Axis(self.turns, self.moves[number]) if self.moves.get(number) else None

    def view(self, number: int, chunk: Chunk) -> View | None:
        """Of a load that moves its slice in this iteration."""
        if number not in self.moves:
            return None
        return View(self.moves[number], self.turn, self.turns, self.windows, number, chunk.many, chunk.target.windows)

    def located(
        self, number: int, buffer: Buffer, address: Located, where: Lanes, varying: bool, chunk: Chunk
    ) -> tuple[Located, View | None, bool]:
        """Of a load the address with what is known of it, its window, and whether to gather it."""
        private = buffer.space == "private"  # whose elements lie apart
        if private or (view := self.view(number, chunk)) is None:
            return address, None, False
        if address.known.proved or number in self.trusted:
            return address.trusted(), view, False
        if self.found is not None:
            reference = Touched(buffer, address, where, chunk).reference(varying)
            window = strided_windows.of_reference(reference, chunk)
            if window is not None and strided_windows.may_be_checked(reference, window, chunk):
                placed = placed_windows.placed(window, buffer, address, chunk)
                self.found[number] = placed, reference.storage.held_elements
        return address, view, self.found is not None or number in self.doubted

    def filled(
        self, number: int, buffer: Buffer, address: Located, value: Emitted, where: Lanes, chunk: Chunk
    ) -> Buffer | None:
        """The memory after a store that waits for those of the other iterations; None if it does not."""
        if not address.known.proved or (axis := self.axis(number)) is None:
            return None
        if not self.turn and where.count and buffer.elements:
            reference = Touched(buffer, address, where, chunk).reference()
            window = strided_windows.of_reference(reference, chunk, axis)
            if window is not None and window.writable(reference.masked):
                self.fills[number] = Fill(placed_windows.placed(window, buffer, address, chunk))
        if number not in self.fills:
            return None
        fill = self.fills[number]
        fill.values.append(where.array(value, chunk).astype(buffer.data.dtype))
        fill.masks.extend([where.mask] if where.mask is not None else [])
        return buffer.holding(fill.written(access.contents(buffer))) if self.is_last else buffer


Iterate = Callable[[Block, Any], Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Stream:
    """A loop that streams.

    Attributes:
      iterate: emits one iteration of a block: the loop's state after it from the one before.
      length: iterations.
      moves: for the number of a load how much further it starts in each iteration.
      turns: iterations of a block.
    """

    iterate: Iterate
    length: int
    moves: Mapping[int, int]
    turns: int

    def run(self, first: Any) -> Any:
        """The state after the loop."""
        return self._blocks(Block(0, self.turns, self.moves), first)

    def run_checked(self, first: Any) -> Any:
        """The same, with one check of all bounds before the loop."""
        found: dict[int, tuple[PlacedWindow, int]] = {}
        self.iterate(Block(0, 1, self.moves, found=found), first)  # the compiler drops what it computes
        inside = Block(0, self.turns, self.moves, trusted=frozenset(found))
        beyond = Block(0, 1, self.moves, doubted=frozenset(found))
        travels = {n: self.moves[n] * (self.length - 1) for n in found}
        paths = [functools.partial(self._blocks, block) for block in (inside, beyond)]
        return checked(found, travels, paths[0], paths[1], first)

    def _blocks(self, block: Block, first: Any) -> Any:
        def step(turns: int, state: Any) -> Any:
            return self._block(dataclasses.replace(block, turns=turns), state)

        return by_blocks(step, self.length, block.turns, first)

    def _block(self, block: Block, state: Any) -> Any:
        windows: dict[int, Any] = {}
        fills: dict[int, Fill] = {}
        for turn in range(block.turns):
            state = self.iterate(dataclasses.replace(block, turn=turn, windows=windows, fills=fills), state)
        return state


def checked(
    doubted: Mapping[int, tuple[PlacedWindow, int]],
    travels: Mapping[int, int],
    inside: Callable[[Any], Any],
    beyond: Callable[[Any], Any],
    first: Any,
) -> Any:
    """The state after a loop whose loads may be out of bounds, of which it is looked once whether any is.

    Args:
      doubted: for the number of such a load its window in the first iteration, and the elements that its memory has.
      travels: how far the window travels.
      inside: the state after the loop, from the one before it, if all are within bounds.
      beyond: the same, if one is not.
      first: the state before the loop.
    """
    if not doubted:
        return inside(first)
    if not all(placed.window.may_fit(elements, travels[n]) for n, (placed, elements) in doubted.items()):
        return beyond(first)
    fits = [placed.fits(elements, travels[n]) for n, (placed, elements) in doubted.items()]
    return lax.cond(functools.reduce(operator.and_, fits), inside, beyond, first)


def by_blocks(step: Callable[[int, Any], Any], length: int, turns: int, first: Any, unrolled: int = 1) -> Any:
    """The state after a loop.

    Args:
      step: the state after so many iterations, from the one before them.
      length: iterations of the loop.
      turns: iterations of a block; what is left at the end is a shorter one.
      first: the state before the loop.
      unrolled: blocks that are emitted one after the other.
    """
    full, rest = divmod(length, turns)
    state = first
    if full > 1:
        state, _ = lax.scan(lambda s, _: (step(turns, s), None), state, None, length=full, unroll=min(unrolled, full))
    elif full:
        state = step(turns, state)
    return step(rest, state) if rest else state
