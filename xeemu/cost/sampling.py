"""Sampling: some work-groups drawn at random that stand for all, and how far off what they show may be.

A simple random sample without replacement of n of N groups: a total is estimated by N / n times that of the sample, and
the standard error of the estimate is N * sqrt((1 - n / N) * s^2 / n), s^2 being the variance of the sample.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.errors import KernelArgumentError

_SEED = 2009


@dataclasses.dataclass(frozen=True, eq=False)
class Drawn:
    """The groups of a sample that lie in one chunk.

    Attributes:
      groups: `[slots]` their numbers in the chunk, 0 where a slot is empty.
      present: `[slots]` which slots are not.
    """

    groups: jax.Array
    present: jax.Array


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """A sample of the work-groups of a launch.

    Attributes:
      groups: work-groups of the launch, N.
      chunk: work-groups that are emulated together.
      table: int32 `[chunks, slots]` numbers of the sampled groups within each chunk, -1 for an empty slot.
    """

    groups: int
    chunk: int
    table: np.ndarray

    @property
    def size(self) -> int:
        """Sampled groups, n."""
        return int((self.table >= 0).sum())

    @property
    def slots(self) -> int:
        return int(self.table.shape[1])

    @property
    def scale(self) -> float:
        """What a total of the sample is multiplied with."""
        return self.groups / self.size

    def drawn(self, chunk: EmittedChunk) -> Drawn:
        """The sampled groups of a chunk."""
        number = jnp.asarray(chunk.first) // self.chunk
        row = jnp.asarray(self.table)[number]
        return Drawn(jnp.maximum(row, 0), row >= 0)

    def totals(self, sums: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimates of totals over all groups, int64, and their standard errors, from sums over the sample.

        A sample of one group tells no error: infinity, but for what is 0.
        """
        n, total = self.size, np.rint(sums * self.scale).astype(np.int64)
        if n == self.groups:
            return total, np.zeros(sums.shape)
        if n == 1:
            return total, np.where(sums == 0, 0.0, np.inf)
        variance = np.maximum(squares - sums**2 / n, 0.0) / (n - 1)
        return total, self.groups * np.sqrt((1 - n / self.groups) * variance / n)


def check_size(sample: int | None) -> None:
    """Refuses what is no number of work-groups to count.

    Raises:
      KernelArgumentError: it is neither an int from 1 nor None.
    """
    if sample is not None and (isinstance(sample, bool) or not isinstance(sample, int | np.integer) or sample < 1):
        raise KernelArgumentError(f"sample is {sample!r}; give the number of work-groups to count, from 1, or None")


def draw(groups: int, chunk: int, size: int) -> Sample:
    """A sample of `size` groups, the same ones every time."""
    chosen = np.sort(np.random.default_rng(_SEED).choice(groups, size, replace=False))
    number, place = np.divmod(chosen, chunk)
    first = np.searchsorted(number, number)
    slot = np.arange(size) - first
    table = np.full((math.ceil(groups / chunk), int(slot.max()) + 1), -1, np.int32)
    table[number, slot] = place
    return Sample(groups, chunk, table)
