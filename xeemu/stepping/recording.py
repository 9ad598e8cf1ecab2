"""Recording: a launch run step by step in one order, with what its work-items do to memories, and what that took."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from xeemu.language.program import Program
from xeemu.stepping import interleaving, preparing, turns
from xeemu.stepping.history import History
from xeemu.stepping.rounds import Rounds


class Recorded(NamedTuple):
    """What a run in an order took.

    Attributes:
      effort: of all turns, see `SteppedLaunch.run`; more than was allowed if the run was given up.
      steps: int64 `[groups, items]` that each work-item has taken.
    """

    effort: int
    steps: np.ndarray


def least_effort(order: turns.Turns, steps: np.ndarray) -> int:
    """The effort of a run in an order, at least, in which work-items take so many steps `[groups, items]`."""
    return order.least_turns(steps) * interleaving.effort_of_a_turn(steps.size) + int(steps.sum())


def recorded(program: Program, given: Sequence[Any], order: turns.Turns, history: History, most: int) -> Recorded:
    """Runs a launch in an order and adds what its work-items do to a history.

    Args:
      program: the kernel.
      given: the launch's arguments.
      order: whose turn it is.
      history: what is kept.
      most: the effort after which the run is given up.

    Raises:
      KernelError: work-items of a group wait for each other at different places; or a loop was given up.
    """
    with jax.enable_x64(program.wide), jax.default_device(preparing.host()), np.errstate(all="ignore"):
        rounds = Rounds(program.geometry, None)
        launch = interleaving.SteppedLaunch(preparing.of_program(program), given, order, rounds, history)
        return Recorded(launch.run(most), launch.taken)
