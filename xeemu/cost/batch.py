"""Batch: accesses of few lanes, measured together as the kernel runs.

To begin an operation takes XLA as long as thousands of lanes take in it, and an access is a dozen operations. A loop
that Python unrolls makes small ones of every iteration; so these wait until there are many, or the loop's body ends.

Axis legend: K accesses, G work-groups of a chunk, n elements of an access that take part in a group, F figures.
"""

from collections.abc import Hashable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.cost.observed import MeasuredAccess
from xeemu.devices.host_figures import Watching


class Batch:
    """Accesses that wait to be measured, of one body of a program.

    Those of one address, such as the load and the store of an update, are measured once.

    Args:
      figures: what pays on the host.
    """

    def __init__(self, figures: Watching) -> None:
        self._figures = figures
        self._waiting: dict[Hashable, tuple[MeasuredAccess, list[int]]] = {}

    @property
    def is_full(self) -> bool:
        return sum(observed.lanes for observed, _ in self._waiting.values()) >= self._figures.batch_lanes

    def takes(self, observed: MeasuredAccess) -> bool:
        """True if an access had better wait for others."""
        return observed.lanes <= self._figures.few_lanes

    def add(self, place: int, observed: MeasuredAccess) -> None:
        """Puts an access to those that wait, whose figures belong to a place of the source."""
        found = self._waiting.setdefault(observed.figures_key, (observed, []))
        found[1].append(place)

    def measured(self) -> list[tuple[int, jax.Array]]:
        """For each place int64 `[F]` of executions by all groups; then nothing waits any more."""
        waiting, self._waiting = list(self._waiting.values()), {}
        alike: dict[Hashable, list[tuple[MeasuredAccess, list[int]]]] = {}
        for observed, places in waiting:
            alike.setdefault(observed.batch_key, []).append((observed, places))
        return [part for group in alike.values() for part in _measured(group)]


def _measured(group: Sequence[tuple[MeasuredAccess, list[int]]]) -> list[tuple[int, jax.Array]]:
    """Their numbers, each with its totals, of accesses that are measured alike."""
    totals = _totals([observed for observed, _ in group])
    times: dict[int, np.ndarray] = {}
    for row, (_, places) in enumerate(group):
        for place in places:
            times.setdefault(place, np.zeros((len(group), 1), np.int64))[row] += 1
    return [(place, (totals * each).sum(0)) for place, each in times.items()]


def _totals(group: Sequence[MeasuredAccess]) -> jax.Array:
    """int64 `[K, F]` of accesses that are measured alike."""
    groups, first = group[0].chunk.count, group[0]
    index = [observed.placed() for observed in group]
    wide = max(part.shape[1] for part in index)
    together = jnp.concatenate([jnp.broadcast_to(part, (groups, wide)) for part in index])
    if all(observed.everything for observed in group):
        return first.meter.totals(together, np.ones((1, 1), bool), len(group))
    taken = [observed.active_lanes() for observed in group]
    wide = max(part.shape[1] for part in taken)
    active = jnp.concatenate([jnp.broadcast_to(part, (groups, wide)) for part in taken])
    return first.meter.totals(together, active, len(group))
