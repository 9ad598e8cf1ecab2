"""Blocks of iterations: loops that go on by several iterations at a time."""

from collections.abc import Callable
from typing import Any

from jax import lax


def run(step: Callable[[int, Any], Any], length: int, iterations: int, first: Any, unrolled: int = 1) -> Any:
    """The state after a loop.

    Args:
      step: the state after so many iterations, from the one before them.
      length: iterations of the loop.
      iterations: iterations of a block; what is left at the end is a shorter one.
      first: the state before the loop.
      unrolled: blocks that are emitted one after the other.
    """
    full, rest = divmod(length, iterations)
    state = first
    if full > 1:
        state, _ = lax.scan(
            lambda s, _: (step(iterations, s), None), state, None, length=full, unroll=min(unrolled, full)
        )
    elif full:
        state = step(iterations, state)
    return step(rest, state) if rest else state
