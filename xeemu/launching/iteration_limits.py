"""Iteration limits: a launch leaves loops that need not end after a number of iterations, and says which.

A kernel whose loops all end pays nothing (see `termination`). Where one is given up, all that count end at once, also
around it; what the launch has written by then means nothing.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import Observer
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.termination import IterationLimits
from xeemu.language.memory import poison


class Counting(Observer):
    """Counts iterations in a chunk, and watches nothing.

    Attributes:
      state: the number of the loop that was given up first, from 1, or 0.
    """

    def __init__(self, limits: IterationLimits, chunk: EmittedChunk, state: jax.Array):
        self.limits, self.state = limits, state

    def may_continue(self) -> jax.Array | None:
        return jnp.equal(self.state, 0)

    def on_limit(self, facts: Facts, number: int, exceeded: jax.Array, chunk: EmittedChunk) -> None:
        found = np.int32(self.limits.numbers[facts, number] + 1)
        self.state = jnp.where(exceeded & (self.state == 0), found, self.state)


def check(limits: IterationLimits, given_up: int) -> None:
    """Refuses a launch of which the state in the end is not 0.

    Raises:
      KernelError: a loop was given up.
    """
    exceeded = [number + 1 == given_up for number in range(len(limits.loops))]
    limits.check(exceeded, "if it would in the end, give xe.launch more with max_iterations=")


def poisoned(results: Sequence[jax.Array], given_up: jax.Array) -> list[jax.Array]:
    """The results of a launch that cannot be refused any more: poison if a loop was given up."""
    return [jnp.where(given_up == 0, x, poison(x.dtype)) for x in results]
