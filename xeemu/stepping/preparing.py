"""Preparing: a program as steps, with its straight code compiled for the CPU that computes values between them."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from xeemu.devices import target
from xeemu.language.program import Program
from xeemu.stepping import flattening, steps
from xeemu.stepping.steps import Code, GroupFunction, Jump, Register, Straight

Compiled = tuple[list[Register], list[Register], Callable[..., Any]]
"""What straight code reads, what it writes, and the function between them."""


def host() -> Any:
    """The device that computes values between steps: a CPU, whose results do not depend on what else is there."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return jax.local_devices()[0]


@dataclasses.dataclass(frozen=True, eq=False)
class PreparedCode:
    """A program as steps, with its straight code compiled.

    Attributes:
      program: the kernel.
      code: its steps.
      compiled: for each step with straight code what it reads, what it writes, and the function between them.
      onward: for each place the one where a work-item goes on that gets there: jumps are followed.
    """

    program: Program
    code: Code
    compiled: dict[int, Compiled]
    onward: np.ndarray


@functools.lru_cache(maxsize=64)
def of_program(program: Program, by_line: bool = False) -> PreparedCode:
    """A program as steps; `by_line` has steps end with the lines of the source."""
    code, compiled = flattening.of_program(program, by_line), {}
    kind = target.of_platform(host().platform)
    for place, step in enumerate(code.steps):
        straight = step.exchange if isinstance(step, GroupFunction) else step
        if isinstance(straight, Straight):
            written, function = steps.compiled(straight, code.read_later, program.geometry, kind)
            compiled[place] = steps.inputs(straight), written, function
    return PreparedCode(program, code, compiled, _onward(code))


def _onward(code: Code) -> np.ndarray:
    onward = np.arange(len(code.steps) + 1)
    for place, step in enumerate(code.steps):
        end: Any = step
        while isinstance(end, Jump):
            onward[place] = end.target
            end = code.steps[end.target] if end.target < len(code.steps) else None
    return onward
