"""History: what the work-items of a launch did to its memories in one order, event by event.

A work-item is named by its number in the launch, `group * L + linear local id`; L work-items of a group.
"""

import dataclasses
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from xeemu.language.linearity import Allocation
from xeemu.stepping.steps import AccessStep, Fence, GroupFunction


@dataclasses.dataclass(frozen=True, eq=False)
class Accessed:
    """A memory operation of some work-items, lane by lane in the order in which they took effect.

    Attributes:
      step: the operation.
      items: `[k]` work-items.
      positions: `[k]` cells of the memory in all its copies.
      wrote: `[k]` bool, true where the memory was written: not by a load, nor by a compare-exchange that failed.
      values: `[k]` what a plain store has stored; None of other operations.
    """

    step: AccessStep
    items: np.ndarray
    positions: np.ndarray
    wrote: np.ndarray
    values: np.ndarray | None


@dataclasses.dataclass(frozen=True, eq=False)
class Fenced:
    """A fence of some work-items, `[k]`."""

    step: Fence
    items: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Synchronised:
    """A barrier or group algorithm that some work-items have left, `[k]`: those of one or more whole groups of it."""

    step: GroupFunction
    items: np.ndarray


Event: TypeAlias = Accessed | Fenced | Synchronised


class History:
    """The events of a launch in their order: atomic operations, fences, group functions, and accesses to some memories.

    Attributes:
      memories: whose plain accesses are kept.
      flags: whose plain stores are, since they end what atomic operations have published there.
      events: in order.
      lanes: of all accesses kept.
    """

    def __init__(self, memories: Iterable[Allocation], flags: Iterable[Allocation] = ()):
        self.memories, self.flags = frozenset(memories), frozenset(flags)
        self.events: list[Event] = []
        self.lanes = 0

    def keeps(self, step: AccessStep) -> bool:
        """True if an operation is kept; a hint is none."""
        if step.is_hint:
            return False
        if step.access.ordering is not None or step.memory in self.memories:
            return True
        return step.op == "store" and step.memory in self.flags

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.lanes += len(event.items) if isinstance(event, Accessed) else 0


def bits(values: np.ndarray) -> np.ndarray:
    """The representations of values: what SYCL's compare-exchange compares."""
    return values.view(f"u{values.dtype.itemsize}") if values.dtype.kind in "fV" else values
