"""Loop carries: what goes from one iteration to the next, as arrays."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from xeemu.emission import packing, subgroups
from xeemu.emission.buffers import Buffer
from xeemu.emission.chunk import Chunk
from xeemu.emission.items import Item
from xeemu.ir.program import Region
from xeemu.knowledge.analysis import Known, Plan


@dataclasses.dataclass(frozen=True, eq=False)
class Carried:
    """What a loop carries.

    Attributes:
      items: before the loop.
      known: what is known of them in every iteration.
    """

    items: Sequence[Item]
    known: Sequence[Known]

    def first(self, chunk: Chunk) -> list[Any]:
        """What is carried into the first iteration."""
        return self.packed(self.items, chunk)

    def packed(self, items: Sequence[Item], chunk: Chunk) -> list[Any]:
        """What is carried of the items after an iteration."""
        return packing.packed(items, self.items, self.known, chunk)

    def inside(self, packed: Sequence[Any]) -> list[Item]:
        """The items before an iteration, from what is carried into it."""
        return packing.unpacked(packed, self.items, self.known)

    def after(self, packed: Sequence[Any], known: Sequence[Known]) -> list[Item]:
        """The items after the loop, of which that much is known."""
        return packing.unpacked(packed, self.items, known)


def of_loop(body: Region, plan: Plan, carries: Sequence[Item], chunk: Chunk) -> Carried:
    """What a loop carries.

    Args:
      body: the loop's, whose inputs are carries, and what differs from iteration to iteration.
      plan: of the body.
      carries: the items before the loop.
      chunk: the work-groups.
    """
    known = [plan.values[v] for v in body.inputs[: len(carries)]]
    by_lanes = subgroups.of_loop(body, len(carries), chunk.geometry)
    items = [
        _by_sub_groups(item, by_lanes[k], chunk) if k in by_lanes and known[k].form is None else item
        for k, item in enumerate(carries)
    ]
    return Carried(items, known)


def _by_sub_groups(item: Item, lanes: int, chunk: Chunk) -> Item:
    """A value as it is held by sub-groups; a memory as it is."""
    if isinstance(item, Buffer):
        return item
    return dataclasses.replace(item, computed=subgroups.full(item, lanes, chunk), lanes=lanes, some=None, shared=None)
