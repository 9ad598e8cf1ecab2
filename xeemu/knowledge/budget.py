"""Budget: what looking at a launch before its run may cost, so that it takes seconds whatever the launch is."""

import contextlib
import dataclasses
from collections.abc import Iterator
from contextvars import ContextVar

import numpy as np

from xeemu.knowledge.expressions import Expression, Grid, TooLarge

# What may be spent on a launch before its run, and on one division outside of that, in units: some 4 and 0.7 seconds.
UNITS = 3 << 17
UNITS_OF_DIVISION = 1 << 16
_VALUES_OF_A_UNIT = 1 << 11


class Budget:
    """What may be spent on looking at a launch before its run, so that it takes seconds whatever the launch is.

    A unit is an operation on a few values, some 10 microseconds; time itself would not give the same report each time.
    """

    def __init__(self, units: float = UNITS, parts: int = 1):
        """Half of the units are for whatever needs them, the others in equal parts, so that no part is left without."""
        self._common, self._own = units / 2, units / 2 / max(parts, 1)

    @contextlib.contextmanager
    def portion(self) -> Iterator[None]:
        """Within it, no more is spent than a part of its own and what is common; what it leaves is common then."""
        left = _Remaining(self._common + self._own)
        before = _left.set(left)
        try:
            yield
        finally:
            _left.reset(before)
            self._common = max(left.units, 0)


@dataclasses.dataclass
class _Remaining:
    units: float


_left: ContextVar[_Remaining | None] = ContextVar("left", default=None)


def is_limited() -> bool:
    """True if there is a budget that effort is noted in."""
    return _left.get() is not None


def spend(units: float) -> None:
    """Notes so much effort.

    Raises:
      TooLarge: that is more than there was left.
    """
    left = _left.get()
    if left is not None:
        left.units -= units
        if left.units < 0:
            raise TooLarge


class BudgetedGrid(Grid):
    """A grid whose evaluations are noted."""

    def _evaluated(self, e: Expression) -> np.ndarray:
        values = super()._evaluated(e)
        spend(1 + values.size / _VALUES_OF_A_UNIT)
        return values
