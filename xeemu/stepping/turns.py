"""Turns: which work-items of a launch go on next, drawn from a key."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from xeemu.errors import KernelArgumentError
from xeemu.language.geometry import Geometry

Seed = tuple[int, ...]

# Of a manner, `delay`, `late_barriers` and `old_values`.
_WAYS = ((1 / 2, True, False), (0.0, False, True), (1 / 2, True, True), (1.0, False, False))


def seed(key: Any) -> Seed:
    """The numbers in the key of a schedule: an int from 0, or a key of `jax.random`.

    Raises:
      KernelArgumentError: it is neither, or not known before the run.
    """
    if isinstance(key, jax.core.Tracer):
        raise KernelArgumentError("schedule is a value of a surrounding jit; pass an int or a key that is known")
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and key >= 0:
        return (int(key),)
    if isinstance(key, jax.Array | np.ndarray):
        if jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key):
            key = jax.random.key_data(key)
        if key.ndim == 1 and key.dtype == np.uint32:
            return tuple(np.asarray(key).tolist())
    raise KernelArgumentError(
        f"schedule={key!r}; give an int from 0, or one key of jax.random, such as jax.random.key(0); None runs the "
        "launch in lockstep"
    )


@dataclasses.dataclass(frozen=True)
class Manner:
    """How work-items take turns under one key.

    Attributes:
      by_item: true if each work-item is on its own; else a sub-group stays together.
      ranks: into how many ranks they are divided; those of the first one go on, in lockstep, while they can.
      groups_first: true if the ranks of work-groups count before those within.
      restlessness: how likely the ranks are drawn anew at a step; they are at every barrier.
      delay: how likely a plain store is not seen by others until it is published.
      late_barriers: true if work-items go past a barrier of the work-group, and wait for the others only with the
        accesses that it orders.
      old_values: true if a plain load may see what its element held since the work-item last acquired.
    """

    by_item: bool
    ranks: int
    groups_first: bool
    restlessness: float
    delay: float
    late_barriers: bool
    old_values: bool


_FEW = 16  # work-items


class Turns:
    """The turns of one launch."""

    def __init__(self, seed: Seed, geometry: Geometry):
        self.drawn = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        # Keys that follow each other differ where it matters most.
        delay, late_barriers, old_values = _WAYS[seed[-1] // 2 % len(_WAYS)]
        self.manner = Manner(
            by_item=bool(seed[-1] % 2),
            ranks=self._one_of((2, 3, 5)),
            groups_first=self.happens(1 / 3),
            restlessness=self._one_of((1 / 64, 1 / 8, 1 / 2)),
            delay=delay,
            late_barriers=late_barriers,
            old_values=old_values,
        )
        self._geometry = geometry
        self.redraw()

    def happens(self, probability: float) -> bool:
        return bool(self.drawn.random() < probability)

    def many(self, probability: float, count: int) -> np.ndarray:
        """True if it happens, for each of several."""
        return self.drawn.random(count) < probability

    def number(self, count: int) -> int:
        """A number below `count`, every other time 0."""
        return 0 if self.happens(1 / 2) else int(self.drawn.integers(count))

    def shuffled(self, count: int) -> np.ndarray:
        """The numbers below `count` in a random order."""
        return self.drawn.permutation(count)

    def redraw(self) -> None:
        """Draws the ranks anew."""
        groups, items = self._geometry.groups, self._geometry.items
        size = 1 if self.manner.by_item else self._geometry.sub_group_size
        units = -(-items // size)
        ranks = self.drawn.integers(self.manner.ranks, size=(groups, units))
        if self.manner.groups_first:
            ranks = ranks + self.drawn.integers(self.manner.ranks, size=(groups, 1)) * self.manner.ranks
        self._ranks = np.repeat(ranks, size, axis=1)[:, :items]

    def next(self, able: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Of the work-items that can go on, those that do: all are at one place."""
        if self.manner.restlessness and self.happens(self.manner.restlessness):
            self.redraw()
        first = able & (self._ranks == self._ranks[able].min())
        chosen: np.ndarray = first & (places == places[first].min())
        return chosen

    def least_turns(self, steps: np.ndarray) -> int:
        """Turns that it takes at least until work-items have taken so many steps `[groups, items]`."""
        return int(steps.max(initial=0))

    @classmethod
    def plain(cls, number: int, geometry: Geometry) -> "Turns":
        """Turns in which all stores are seen at once and work-items wait at barriers, drawn from a number."""
        drawn = cls((number,), geometry)
        drawn.manner = dataclasses.replace(
            drawn.manner, by_item=True, delay=0.0, late_barriers=False, old_values=False, ranks=drawn._few_ranks()
        )
        drawn.redraw()
        return drawn

    def _few_ranks(self) -> int:
        """Of few work-items often each has a rank of its own."""
        count = self._geometry.groups * self._geometry.items
        return self._one_of((2, 3, 5, count)) if count <= _FEW else self._one_of((2, 3, 5))

    def _one_of(self, options: Sequence[Any]) -> Any:
        return options[int(self.drawn.integers(len(options)))]


class Fixed(Turns):
    """Turns by ranks that stay: those of least rank go on while they can, all in lockstep that have the same.

    Args:
      ranks: `[groups, items]`.
      geometry: of the launch.
    """

    def __init__(self, ranks: np.ndarray, geometry: Geometry):
        super().__init__((0,), geometry)
        self.manner = Manner(True, 1, False, 0.0, 0.0, False, False)
        self._ranks = ranks

    def redraw(self) -> None:
        """Nothing is drawn."""

    def shuffled(self, count: int) -> np.ndarray:
        """Lanes in their own order."""
        return np.arange(count)

    def least_turns(self, steps: np.ndarray) -> int:
        """Those of different ranks never go on together."""
        _, ranks = np.unique(self._ranks, return_inverse=True)
        longest = np.zeros(ranks.max(initial=-1) + 1, np.int64)
        np.maximum.at(longest, ranks.reshape(-1), steps.reshape(-1))
        return int(longest.sum())
