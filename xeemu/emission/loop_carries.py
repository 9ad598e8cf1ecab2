"""Loop carries: what goes from one iteration to the next, as arrays."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from xeemu.emission import packing
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import Item
from xeemu.emission.packing import Slot
from xeemu.knowledge.analysis import Facts, Known
from xeemu.planning.layouts import Layout


@dataclasses.dataclass(frozen=True, eq=False)
class Carried:
    """What a loop carries.

    Attributes:
      items: before the loop.
      known: what is known of them in every iteration.
      layouts: how they are held, in every iteration and after the loop.
    """

    items: Sequence[Item]
    known: Sequence[Known]
    layouts: Sequence[Layout]

    def first(self, chunk: EmittedChunk) -> list[Any]:
        """What is carried into the first iteration."""
        return self.packed(self.items, chunk)

    def packed(self, items: Sequence[Item], chunk: EmittedChunk) -> list[Any]:
        """What is carried of the items after an iteration."""
        return packing.packed(items, self._slots(self.known), chunk)

    def inside(self, packed: Sequence[Any]) -> list[Item]:
        """The items before an iteration, from what is carried into it."""
        return packing.unpacked(packed, self._slots(self.known))

    def after(self, packed: Sequence[Any], known: Sequence[Known]) -> list[Item]:
        """The items after the loop, of which that much is known."""
        return packing.unpacked(packed, self._slots(known))

    def _slots(self, known: Sequence[Known]) -> list[Slot]:
        return list(map(Slot, self.items, known, self.layouts))


def of_loop(facts: Facts, carries: Sequence[Item], layouts: Sequence[Layout]) -> Carried:
    """What a loop carries.

    Args:
      facts: of its body, whose inputs are carries, and what differs from iteration to iteration.
      carries: the items before the loop.
      layouts: of the loop's results, the carries first.
    """
    known = [facts.values[v] for v in facts.body.inputs[: len(carries)]]
    return Carried(carries, known, layouts[: len(carries)])
