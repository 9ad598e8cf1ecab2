"""Iteration batch: how an iteration of a loop is emitted that stands for all of a block of them.

Loads that start a constant further in each iteration are one window of the memory for all of them, and so are updates.
"""

import dataclasses
import math
from collections.abc import Mapping

import jax
import jax.numpy as jnp

from xeemu.emission import batched_updates, placed_windows, strided_windows
from xeemu.emission.batched_updates import Made, UpdatePlace
from xeemu.emission.placed_windows import PlacedWindow
from xeemu.emission.positions import Lanes, Located, Touched
from xeemu.emission.values import Buffer, Chunk, Emitted
from xeemu.ir import control
from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.lattices import Axis


@dataclasses.dataclass(frozen=True, eq=False)
class Window:
    """What the iterations of a block load from a memory, each a constant further.

    Attributes:
      window: in the memory.
      data: the memory's.
      turns: how many iterations they are.
      doubted: where the program must find whether they are within bounds, the window of the first iteration, and the
        elements that the memory has.
    """

    window: PlacedWindow
    data: jax.Array
    turns: int
    doubted: tuple[PlacedWindow, int] | None

    def loaded(self) -> jax.Array:
        """`[turns, G or 1, n]`"""
        values = self.window.read(self.data)
        return jnp.moveaxis(values.reshape(values.shape[0], self.turns, -1), 1, 0)


@dataclasses.dataclass(frozen=True, eq=False)
class IterationBatch:
    """How an iteration is emitted that stands for all of a block.

    Attributes:
      loaded: for the number of a load what it gives in the iteration, `[G or 1, n]`.
      axes: where the iteration is emitted to look at it only, for the number of an access that moves the iterations
        along which it does.
      updates: the numbers of the updates that are made for all iterations at once.
      windows: takes the windows of the loads that move.
      places: takes where those updates are made that a window holds.
      made: takes what they are made with, unless the iteration is only looked at.
    """

    loaded: Mapping[int, jax.Array] = dataclasses.field(default_factory=dict)
    axes: Mapping[int, Axis] = dataclasses.field(default_factory=dict)
    updates: frozenset[int] = frozenset()
    windows: dict[int, Window] = dataclasses.field(default_factory=dict)
    places: dict[int, UpdatePlace] = dataclasses.field(default_factory=dict)
    made: dict[int, Made] = dataclasses.field(default_factory=dict)

    def look(self, number: int, buffer: Buffer, address: Located, where: Lanes, varying: bool, chunk: Chunk) -> None:
        """Finds the window of what all iterations load, if there is one for them to look at."""
        axis = self.axes.get(number)
        if axis is None or not axis.stride or not where.count or not buffer.elements:
            return
        reference = Touched(buffer, address, where, chunk).reference(varying)
        window = strided_windows.of_reference(reference, chunk, axis)
        first = strided_windows.of_reference(reference, chunk)
        if window is None or first is None:
            return
        placed = placed_windows.placed(window, buffer, address, chunk)
        if address.known.proved:
            self.windows[number] = Window(placed, buffer.data, axis.size, None)
        elif strided_windows.may_be_checked(reference, first, chunk):
            doubted = placed_windows.placed(first, buffer, address, chunk), reference.storage.held_elements
            self.windows[number] = Window(placed, buffer.data, axis.size, doubted)

    def update(
        self, number: int, buffer: Buffer, op: str, address: Located, value: Emitted, where: Lanes, chunk: Chunk
    ) -> None:
        """Takes an update, or where all iterations make it, if the iteration is looked at."""
        axis = self.axes.get(number)
        if axis is None:
            self.made[number] = Made(where.array(value, chunk).astype(buffer.data.dtype), where.mask)
        elif (place := batched_updates.of_updates(Touched(buffer, address, where, chunk), op, axis)) is not None:
            self.places[number] = place


def looking(moves: Mapping[int, int], turns: int, updates: frozenset[int] = frozenset()) -> IterationBatch:
    """How an iteration is emitted to look at it only.

    Args:
      moves: for the number of an access how much further it starts in each iteration.
      turns: iterations of the block, of which it is the first.
      updates: the numbers of the updates that are made for all of them at once.
    """
    return IterationBatch(axes={n: Axis(turns, move) for n, move in moves.items()}, updates=updates)


@dataclasses.dataclass(frozen=True)
class Size:
    """How much an iteration computes.

    Attributes:
      lanes: elements of its largest value.
      bytes: of all its values.
    """

    lanes: int
    bytes: int

    def turns(self, elements: int, chunk: Chunk) -> int:
        """Iterations of a block of which no value has more elements, and for which there is memory."""
        return min(elements // self.lanes, chunk.spare_bytes // max(self.bytes, 1))


def size(scan: control.Scan, plan: Plan, chunk: Chunk, moves: Mapping[int, int]) -> Size:
    """How much an iteration of a loop computes.

    Args:
      scan: the loop.
      plan: the analysis of its body.
      chunk: the work-groups.
      moves: for the number of an access how much further it starts in each iteration.
    """
    values = [v for op in scan.body.ops for v in op.results if not plan.values[v].space]
    sizes = [math.prod(v.shape) * (chunk.count if plan.values[v].varying else 1) for v in values]
    lanes = max(1, *sizes) if sizes else 1
    bytes_each = sum(n * v.dtype.itemsize for n, v in zip(sizes, values, strict=True))
    # Windows have elements that are not used.
    widest = chunk.target.windows.widest
    memories = [(scan.body.ops[n].operands[0], move) for n, move in moves.items()]
    bytes_each += sum(min(abs(move), widest * lanes) * m.dtype.itemsize for m, move in memories)
    return Size(lanes, bytes_each)


def evenly(length: int, most: int) -> int:
    """Iterations of a block, so that none are left if possible, for which the body would be emitted once more."""
    return next((n for n in range(most, most // 2, -1) if length % n == 0), most)
