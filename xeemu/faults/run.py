"""Run: what a check has seen of a kernel, and the names of the operations, work-items and elements in it."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.faults.exploration import Explored
from xeemu.faults.findings import ReversedWorkItem, WorkItem
from xeemu.faults.proofs import Spot
from xeemu.faults.uses import Element, ExampleAccess, called_from
from xeemu.faults.watch_list import WatchList
from xeemu.ir.program import Op
from xeemu.knowledge.access_tree import Key, MemoryOperation
from xeemu.language import source
from xeemu.language.dialect import PYTHON, Dialect
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """What a check has seen of a kernel.

    Attributes:
      program: the kernel.
      watch: what was watched.
      state: what the run has left, see `WatchList.zeros`.
      explored: what was seen of conflicts in several orders, instead of in the run alone; or None.
    """

    program: Program
    watch: WatchList
    state: Mapping[str, Any]
    explored: Explored | None

    @property
    def geometry(self) -> Geometry:
        return self.program.geometry

    @property
    def dialect(self) -> Dialect:
        return self.program.kernel.dialect

    def operations(self, spot: Spot) -> Sequence[MemoryOperation]:
        """The operations of a spot, on all call paths."""
        return self.watch.by_spot.get(spot, ())

    def calls(self, spot: Spot) -> tuple[str, ...]:
        """The calls that lead to a spot."""
        return self.callers(o.op for o in self.operations(spot))

    def callers(self, made: Iterable[Op]) -> tuple[str, ...]:
        """The calls that lead to operations of one line, of a kernel whose functions are written out."""
        if self.program.kernel.interface is None:
            return ()
        code = self.program.kernel.function.__code__
        chains = dict.fromkeys(source.callers(op, code) for op in made)
        return called_from([chain for chain in chains if chain])

    def use(self, key: Key, element: int, item: WorkItem) -> tuple[ExampleAccess, Element]:
        """An operation by a work-item, and the element that it uses."""
        spot = Spot.of(self.watch.operation(key))
        return ExampleAccess(self.what(spot), spot.access_site.site, item, self.calls(spot)), self.element(
            spot.access_site.memory, element
        )

    def item(self, group: int, item: int) -> WorkItem:
        """A work-item by the linear ids of its group and in it."""
        return work_item(self.geometry, group, item, self.dialect)

    def element(self, memory: Allocation, element: int) -> Element:
        """An element by its number in row-major order; of a variable of C without an index."""
        if self.program.kernel.interface is not None and memory.space != "global" and memory.elements == 1:
            return Element(memory.space, memory.name, ())
        return Element(memory.space, memory.name, tuple(int(n) for n in np.unravel_index(element, memory.shape)))

    def what(self, spot: Spot) -> str:
        """What is done at a spot: `"load"`, `"store"`, `"atomic add"`."""
        name = self.operations(spot)[0].name
        return f"atomic {name}" if spot.access_site.op == "atomic" else name


def work_item(geometry: Geometry, group: int, item: int, dialect: Dialect = PYTHON) -> WorkItem:
    """A work-item by the linear ids of its group and in it."""
    group_id = tuple(int(n) for n in np.unravel_index(group, geometry.group_range))
    local_id = tuple(int(n) for n in np.unravel_index(item, geometry.local_range))
    pairs = zip(group_id, geometry.local_range, local_id, strict=True)
    made = ReversedWorkItem if dialect.first_is_contiguous else WorkItem
    return made(tuple(g * s + i for g, s, i in pairs), local_id, group_id, item // geometry.sub_group_size)
