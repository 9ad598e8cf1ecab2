"""Rounds: how often work-items have gone round in loops that need not end, under a schedule."""

from collections.abc import Callable
from typing import Any

import numpy as np

from xeemu.language import source
from xeemu.language.geometry import Geometry
from xeemu.language.source import Site
from xeemu.plurals import counted

# By one work-item: a round takes a few steps in Python, and others' turns come as often as its own.
_MOST = 10_000
# Rounds of each work-item in which nothing changes, after which nothing will: where loads may see old values, they see
# a new one in one of a few rounds.
_IDLE = 32


class Rounds:
    """Counts iterations, and gives up a loop that has too many, or that all are in while nothing changes any more.

    Attributes:
      limit: iterations of a loop for one work-item, from where it enters the loop.
      looks: true if it looks for changes; not where the user has set the limit.
    """

    def __init__(self, geometry: Geometry, max_iterations: int | None):
        self.limit, self.looks = max_iterations or _MOST, max_iterations is None
        shape = geometry.groups, geometry.items
        self._shape = shape
        self._counts: dict[int, np.ndarray] = {}
        # Of each work-item since the last change that was seen; tests until the next look, and after the one then.
        self._idle, self._seen = np.zeros(shape, np.int64), 0
        self._left, self._pause = _IDLE, _IDLE

    def count(
        self,
        loop: int,
        site: Site,
        members: np.ndarray,
        goes_on: np.ndarray,
        able: np.ndarray,
        state: Callable[[], Any],
    ) -> None:
        """Some work-items have tested whether a loop goes on.

        Args:
          loop: its number.
          site: its line.
          members: `[groups, items]` mask of them.
          goes_on: for each of them true if it does.
          able: `[groups, items]` mask of the work-items that have not ended and wait for nobody.
          state: gives all that work-items and memories hold, hashable.

        Raises:
          KernelError: it has gone on for too long, or never ends.
        """
        counts = self._counts.setdefault(loop, np.zeros(self._shape, np.int64))
        counts[members] = np.where(goes_on, counts[members] + 1, 0)
        self._check(
            members & (counts > self.limit), site, f"has not ended after {counted(self.limit, 'iteration')}", _MORE
        )
        if self.looks:
            self._look(members, goes_on, state)
            stuck = able.any() and not (able & (self._idle < _IDLE)).any()
            self._check(members & stuck, site, "never ends: no work-item gets on, and nothing changes any more", _HELP)

    def _check(self, over: np.ndarray, site: Site, what: str, advice: str) -> None:
        if over.any():
            group, item = (int(ids[0]) for ids in np.nonzero(over))
            raise source.kernel_error(
                f"under this schedule a loop of work-item {item} of group {group} {what}; {advice}", site
            )

    def _look(self, members: np.ndarray, goes_on: np.ndarray, state: Callable[[], Any]) -> None:
        """Looks from time to time whether something has changed, the more seldom the longer that was so."""
        self._left -= 1
        if self._left > 0:
            return
        seen = hash(state())
        if seen == self._seen and goes_on.all():
            self._idle[members] += 1
            return
        self._seen, self._left = seen, self._pause
        self._pause += self._pause // 4
        self._idle[:] = 0


_MORE = "if it would in the end, give xe.launch more with max_iterations="
_HELP = (
    "what it waits for has to come from a work-item that does not wait itself, as it may when one that holds a lock "
    "releases it before it tests the loop again"
)
