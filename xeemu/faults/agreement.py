"""Agreement: of which memories no data decide if stores that race for an element store one value.

Where all stores of a memory copy a stretch of another one that nobody changes, as a table that every work-item copies,
two stores to one element have loaded one element. Where all store values that are known, no data decide either.
"""

from collections.abc import Mapping

import numpy as np

from xeemu.faults.proofs import Proofs
from xeemu.ir.program import Constant, Value
from xeemu.knowledge import expressions, instances, periodicity
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation, Node
from xeemu.knowledge.expressions import TooLarge
from xeemu.knowledge.periodicity import Progressions
from xeemu.language.linearity import Allocation

_Stretch = tuple[Allocation, int, tuple[int, ...]]
"""A memory, how much further in it what is stored lies, and what that grows by along each dimension of the group id."""


def is_settled(memory: Allocation, proofs: Proofs, written: frozenset[Allocation]) -> bool:
    """True if no data decide if stores of a memory that race for an element store one value.

    Args:
      memory: the memory.
      proofs: what is known of the program, and what is to be watched.
      written: the memories that it changes.
    """
    changing = [o for same in proofs.operations.values() for o in same if o.access_site.memory is memory and o.changes]
    if any(o.name != "store" or not instances.is_exact(o, proofs.tree) for o in changing):
        return False
    if all(o.values[0].known for o in changing):
        return True
    copies = _Copies(proofs, written)
    stretches = {copies.stretch(o) for o in changing}
    same = stretches.pop() if len(stretches) == 1 else None
    return same is not None and (memory.space != "global" or not any(same[2]))


class _Copies:
    """Which stores of a program store what they have loaded from a memory that nobody changes."""

    def __init__(self, proofs: Proofs, written: frozenset[Allocation]):
        self._written, self._bounds = written, proofs.bounds
        self._tree: AccessTree = proofs.tree
        every = (o for same in proofs.operations.values() for o in same)
        self._loads = {(o.node, o.key[1]): o for o in every if o.name == "load"}
        self._defined: dict[Node, Mapping[Value | Constant, int]] = {}

    def stretch(self, store: MemoryOperation) -> _Stretch | None:
        """What a store copies of; None if it does anything else."""
        load = self._source(store)
        if load is None or not instances.is_exact(load, self._tree):
            return None
        distance = expressions.add(load.linear_index, expressions.scale(store.linear_index, -1))
        try:
            found = set(periodicity.divided(store.node.boxes, lambda inside: self._shift(inside, distance)))
        except TooLarge:
            return None
        shift = found.pop() if len(found) == 1 else None
        return None if shift is None else (load.access_site.memory, *shift)

    def _source(self, store: MemoryOperation) -> MemoryOperation | None:
        """The load whose result is stored as it is, by the same lanes, of a memory that nobody changes."""
        number = self._numbers(store.node).get(store.op.operands[1 + store.access.rank], -1)
        load = self._loads.get((store.node, number))
        if load is None or load.access.shape not in ((), store.access.shape) or load.key in self._bounds:
            return None
        alike = load.mask is None or load.mask is store.mask
        kept = load.access_site.memory.space == "global" and load.access_site.memory not in self._written
        return load if alike and kept and load.access_site.memory.dtype == store.access_site.memory.dtype else None

    def _numbers(self, node: Node) -> Mapping[Value | Constant, int]:
        """For each value that a body computes the number of the operation that does."""
        if node not in self._defined:
            self._defined[node] = {v: number for number, op in enumerate(node.body.ops) for v in op.results}
        return self._defined[node]

    def _shift(self, inside: Progressions, distance: expressions.Expression) -> tuple[int, tuple[int, ...]] | None:
        """How far apart the elements are in the first group, and what that grows by; None if lanes or loops matter."""
        steps, first = inside.of(distance), np.unique(inside.first(distance))
        grown = [np.unique(steps[axis].delta) if axis in steps else np.zeros(1, int) for axis in self._tree.groups]
        regular = all(step.period == 1 for step in steps.values()) and all(len(growth) == 1 for growth in grown)
        if not regular or len(first) != 1 or set(steps) - set(self._tree.groups):
            return None
        growth = tuple(int(each[0]) for each in grown)
        starts = (inside.box[axis].start for axis in self._tree.groups)
        return int(first[0]) - sum(map(int.__mul__, growth, starts)), growth
