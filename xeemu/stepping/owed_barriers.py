"""Owed barriers: those that work-items have gone past before all of their group got there.

Only what such a barrier orders waits then: accesses to its memories, whatever releases, and the next group function.
"""

from typing import Any

import numpy as np

from xeemu.language import primitives
from xeemu.language.linearity import Allocation
from xeemu.language.orders import RELEASING, Ordering
from xeemu.stepping.steps import AccessStep, Code, Fence, GroupFunction

_NOTHING = -1


class OwedBarriers:
    """For each work-item the barrier that it has gone past, if there is one.

    Attributes:
      places: `[groups, items]` where in the code the barrier stands; -1 for none.
      ever: true if anybody has gone past one yet.
    """

    def __init__(self, shape: tuple[int, ...], code: Code):
        self.places, self._code = np.full(shape, _NOTHING), code
        self.ever = False

    @property
    def owing(self) -> np.ndarray:
        """`[groups, items]` which work-items have gone past one."""
        return self.places != _NOTHING

    def pass_barrier(self, place: int, members: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Work-items go past a barrier; `[groups]` those that are all there now, and owe nothing any more."""
        self.places[members], self.ever = place, True
        complete: np.ndarray = ((self.places == place) | ~present).all(axis=1)
        self.places[complete] = _NOTHING
        return complete

    def hindered(self, step: Any, members: np.ndarray, delays: bool) -> np.ndarray:
        """Work-items that a barrier that they have gone past keeps from a step; `delays` if stores may come late."""
        match step:
            case GroupFunction():
                return members & self.owing
            case Fence() if step.ordering.order in RELEASING:
                return members & self.owing
            case AccessStep(access=primitives.AccessAttributes(ordering=Ordering(order=order))) if order in RELEASING:
                return members & self.owing
            case AccessStep():
                # A store that nobody sees yet need not wait.
                if step.op != "store" or step.access.ordering is not None or not delays:
                    return self.hinders(step.memory, members)
        return np.zeros_like(members)

    def hinders(self, memory: Allocation, members: np.ndarray) -> np.ndarray:
        """Work-items that have gone past a barrier that orders their accesses to a memory."""
        hinders = np.zeros_like(members)
        if not self.ever:
            return hinders
        for place in set(self.places[members].tolist()) - {_NOTHING}:
            barrier = self._code.steps[place]
            assert isinstance(barrier, GroupFunction)
            if memory in barrier.memories:
                hinders |= members & (self.places == place)
        return hinders
