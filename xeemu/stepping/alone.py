"""Alone: one work-group of a launch, carried out in lockstep without the others, for somebody who sees every step."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from xeemu.language.program import Program
from xeemu.stepping import preparing, steps, turns
from xeemu.stepping.interleaving import SteppedLaunch
from xeemu.stepping.rounds import Rounds
from xeemu.stepping.steps import Code, Register

Seen = Callable[["Alone", int, np.ndarray], None]
"""Is told of each step, once it is carried out: the launch, the place of the step, `[L]` who has carried it out."""


def run(program: Program, given: Sequence[Any], group: int, seen: Seen, max_iterations: int | None) -> "Alone":
    """Carries out one work-group. No other has begun: SYCL lets any be the first.

    Args:
      program: the kernel.
      given: the launch's arguments.
      group: the work-group's linear id.
      seen: is told of each step.
      max_iterations: of a loop that need not end, by one work-item; None for the default.

    Returns:
      The work-group at its end.

    Raises:
      KernelError: work-items wait for each other at different places; a part of a sub-group comes to one of its
        barriers; or a loop was given up.
    """
    with jax.enable_x64(program.wide), jax.default_device(preparing.host()), np.errstate(all="ignore"):
        launch = Alone(program, given, group, seen, max_iterations)
        launch.run()
    return launch


class Alone(SteppedLaunch):
    """One work-group under way; the axis of groups has one element."""

    def __init__(
        self, program: Program, given: Sequence[Any], group: int, seen: Seen, max_iterations: int | None = None
    ):
        self._whole, self._group, self._tell = program.geometry, group, seen
        one = preparing.of_program(_of_one_group(program), by_line=True)
        geometry = one.program.geometry
        order = turns.Fixed(np.zeros((1, geometry.items), np.int64), geometry)
        super().__init__(one, given, order, Rounds(geometry, max_iterations))

    @property
    def code(self) -> Code:
        """The program as steps of one line each."""
        return self.prepared.code

    def _existing(self) -> np.ndarray:
        present = np.ones((1, self.geometry.items), bool)
        for d, size in enumerate(self._whole.global_range):
            start = int(steps.group_ids(self._whole, d)[self._group]) * self._whole.local_range[d]
            present &= start + steps.local_ids(self._whole, d) < size
        return present

    def _start(self, register: Register, what: str, number: int | None, given: Sequence[Any]) -> np.ndarray:
        if what == "group_id":
            return np.broadcast_to(steps.group_ids(self._whole, number)[self._group], self._present.shape)
        return super()._start(register, what, number, given)

    def _notify(self, place: int, members: np.ndarray) -> None:
        self._tell(self, place, self._masked(self.code.scopes.get(place), members)[0])


@functools.lru_cache(maxsize=64)
def _of_one_group(program: Program) -> Program:
    """The program as it is for a launch of as many work-items as a work-group has."""
    geometry = dataclasses.replace(program.geometry, global_range=program.geometry.local_range)
    return dataclasses.replace(program, geometry=geometry)
