"""Tallies: how many lanes update each element of a global memory; where compilers reduce first, how many sub-groups."""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from xeemu.cost import multiplicity, reduction
from xeemu.cost.counter import Counter
from xeemu.knowledge import budget, symbolic_addresses
from xeemu.knowledge.access_tree import Key, MemoryOperation
from xeemu.knowledge.expressions import Expression, LoopAxis, TooLarge
from xeemu.knowledge.periodicity import Box, Progressions
from xeemu.language.linearity import Allocation

# Lanes of an access that are noted, together and with a unit of effort, and elements of a memory that has a tally.
_MOST_NOTED = 1 << 26
_BLOCK = 1 << 21
_NOTED = 1 << 9
_LARGEST_TALLY = 1 << 24


def of_updates(
    counter: Counter, by_key: Mapping[Key, Sequence[MemoryOperation]], blank: bool
) -> tuple[dict[Allocation, np.ndarray], frozenset[Key]]:
    """For each element the lanes that update it, and the updates of which that is not known."""
    updates = {key: os for key, os in by_key.items() if os[0].updates and is_tallied(os[0].access_site.memory)}
    tallies = {
        os[0].access_site.memory: np.zeros(os[0].access_site.memory.elements, np.int64) for os in updates.values()
    }
    noted = {key: None if blank else _noted(counter, operations) for key, operations in updates.items()}
    for key, total in noted.items():
        if total is not None:
            tallies[updates[key][0].access_site.memory] += total
    return tallies, frozenset(key for key, total in noted.items() if total is None)


def _noted(counter: Counter, operations: Sequence[MemoryOperation]) -> np.ndarray | None:
    """int64 `[elements]` lanes of an operation on each element; None if that is not known."""
    total = np.zeros(operations[0].access_site.memory.elements, np.int64)
    for operation in operations:
        index, mask = operation.linear_index, symbolic_addresses.lane_mask(operation, counter.tree)
        if not (operation.node.certain and index.known and mask.known):
            return None
        starts = _starts(counter, operation)
        note = functools.partial(_note, total, operation, symbolic_addresses.chosen(operation), starts, index, mask)
        if counter.divided(operation.node.boxes, note) is None:
            return None
    return total


def _starts(counter: Counter, operation: MemoryOperation) -> np.ndarray | None:
    """`[k]` where among the chosen elements those of a sub-group begin, if compilers make one update of them."""
    if not reduction.is_reduced(operation, counter.device):
        return None
    geometry, shape = counter.tree.geometry, operation.access.shape
    items = symbolic_addresses.chosen(operation) // max(1, math.prod(shape) // geometry.items)
    return np.unique(items // geometry.sub_group_size, return_index=True)[1]


def _note(
    total: np.ndarray,
    operation: MemoryOperation,
    chosen: np.ndarray,
    starts: np.ndarray | None,
    index: Expression,
    mask: Expression,
    inside: Progressions,
) -> None:
    steps, conditions = inside.of(index), operation.node.conditions
    moving = {axis for axis, step in steps.items() if not step.still}
    periods = {axis: len(inside.box[axis]) if axis in moving else step.period for axis, step in steps.items()}
    periods = multiplicity.joined(inside, periods, [mask])
    size = math.prod(min(periods.get(axis, 1), len(r)) for axis, r in inside.box.items()) * max(len(chosen), 1)
    if size > _MOST_NOTED:
        raise TooLarge
    for box in _blocks(inside.box, moving, size // _BLOCK + 1):
        part = Progressions(box)
        grid, _ = part.representatives(periods)
        times = multiplicity.times(part, periods, conditions).reshape(-1)
        executed = np.flatnonzero(times)
        elements, active = (
            symbolic_addresses.flat(grid, e, operation.access.shape, chosen)[executed] for e in (index, mask)
        )
        shape = (len(executed), len(chosen))
        budget.spend(math.prod(shape) / _NOTED)
        if starts is not None:
            active = np.logical_or.reduceat(np.broadcast_to(active, shape), starts, axis=1)
            shape = active.shape
        lanes = np.broadcast_to(active * times[executed, None].astype(np.float64), shape).reshape(-1)
        places = np.broadcast_to(np.where(active, elements, 0), shape).reshape(-1)
        total += np.bincount(places, lanes, minlength=len(total)).astype(np.int64)


def is_tallied(memory: Allocation) -> bool:
    return memory.space == "global" and memory.elements <= _LARGEST_TALLY


def _blocks(box: Box, moving: set[LoopAxis], parts: int) -> Iterator[Box]:
    """The box cut along one of the axes whose every index is looked at."""
    longest = max(moving, key=lambda axis: len(box[axis]), default=None)
    if longest is None or parts == 1:
        yield box
        return
    indices = box[longest]
    length = max(1, len(indices) // parts)
    for start in range(0, len(indices), length):
        yield {**box, longest: indices[start : start + length]}
