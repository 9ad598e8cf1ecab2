"""Blocks of iterations: loops that go on by several iterations at a time."""

from collections.abc import Callable
from typing import Any

from jax import lax

from xeemu.planning.iteration_blocks import Blocking


def run(step: Callable[[int, Any], Any], blocking: Blocking, state: Any) -> Any:
    """The state after a loop.

    Args:
      step: the state after so many iterations, from the one before them.
      blocking: the blocks.
      state: before the loop.
    """
    if blocking.looped:
        state, _ = lax.scan(
            lambda s, _: (step(blocking.size, s), None), state, length=blocking.looped, unroll=blocking.unrolled
        )
    for iterations in blocking.tail:
        state = step(iterations, state)
    return state
