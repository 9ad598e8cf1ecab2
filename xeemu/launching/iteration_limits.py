"""Iteration limits: loops that test a predicate are given up after a number of iterations, and the launch says which.

Loops that surely end need no count (see `termination`), and a kernel with no others pays nothing. Where one is given
up, all that count end at once, also around it; what the launch has written by then means nothing.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import Observer
from xeemu.ir import control
from xeemu.ir.program import Op, Region
from xeemu.knowledge import analysis, termination
from xeemu.knowledge.analysis import Facts
from xeemu.language import source
from xeemu.language.memory import poison
from xeemu.launching.tasks import Task

_Key = tuple[Facts, int]

# Of a loop that ends by itself but for one inside it: it has to look whether that one was given up.
_MOST = 2**31 - 1


@dataclasses.dataclass(frozen=True, eq=False)
class Bounds:
    """How long the loops of a launch may go on.

    Attributes:
      max_iterations: of a loop that need not end.
      loops: the loops of the program that test a predicate, in its order.
      limits: for the key of each loop that is counted, on each of its call paths, its number and its limit.
    """

    max_iterations: int
    loops: tuple[Op, ...]
    limits: Mapping[_Key, tuple[int, int]]

    def observer(self, chunk: EmittedChunk, state: jax.Array) -> Observer:
        """What counts in a chunk, from the state before it."""
        return _Counting(self.limits, state)

    def check(self, given_up: int) -> None:
        """Refuses a launch of which the state in the end is not 0.

        Raises:
          KernelError: a loop was given up.
        """
        if given_up:
            hint = "if it would in the end, give xe.launch more with max_iterations="
            raise source.kernel_error(
                f"a loop has not ended after {self.max_iterations} iterations; {hint}",
                source.of_op(self.loops[given_up - 1]),
            )


def of_tasks(tasks: Sequence[Task], max_iterations: int | None) -> Bounds | None:
    """The bounds of a launch; None if all its loops surely end, or may go on for ever.

    Args:
      tasks: the program as it was written, and what groups carry out of it instead, with the same loops.
      max_iterations: of a loop that need not end; None for no bound.
    """
    if max_iterations is None:
        return None
    limits: dict[_Key, tuple[int, int]] = {}
    for task in tasks:
        for number, (key, op) in enumerate(_loops(task)):
            limit = _limit(op, max_iterations)
            if limit is not None:
                limits[key] = number + 1, limit
    return Bounds(max_iterations, tuple(op for _, op in _loops(tasks[0])), limits) if limits else None


def _loops(task: Task) -> Iterator[tuple[_Key, Op]]:
    for body, facts in analysis.bodies(task.program.body, task.facts):
        for number, op in enumerate(body.ops):
            if isinstance(control.of(op), control.While):
                yield (facts, number), op


def _limit(op: Op, max_iterations: int) -> int | None:
    """The limit of a loop that is counted."""
    loop = control.of(op)
    assert isinstance(loop, control.While)
    if not termination.surely_ends(loop):
        return max_iterations
    return _MOST if any(map(_may_go_on, op.regions)) else None


def _may_go_on(body: Region) -> bool:
    """Whether some loop of a (sub)program need not end."""
    loops = (control.of(op) for op in body.walk())
    return any(isinstance(loop, control.While) and not termination.surely_ends(loop) for loop in loops)


class _Counting(Observer):
    """Counts iterations, and watches nothing.

    Attributes:
      state: the number of the loop that was given up first, from 1, or 0.
    """

    def __init__(self, limits: Mapping[_Key, tuple[int, int]], state: jax.Array):
        self._limits, self.state = limits, state

    def limit(self, facts: Facts, number: int) -> int | None:
        return self._limits[facts, number][1] if (facts, number) in self._limits else None

    def goes_on(self) -> jax.Array | None:
        return jnp.equal(self.state, 0)

    def on_limit(self, facts: Facts, number: int, exceeded: jax.Array, chunk: EmittedChunk) -> None:
        found = np.int32(self._limits[facts, number][0])
        self.state = jnp.where(exceeded & (self.state == 0), found, self.state)


def nowhere() -> jax.Array:
    """The state before the first chunk, when no loop was given up."""
    return jnp.zeros((), np.int32)


def poisoned(results: Sequence[jax.Array], given_up: jax.Array) -> list[jax.Array]:
    """The results of a launch that cannot be refused any more: poison if a loop was given up."""
    return [jnp.where(given_up == 0, x, poison(x.dtype)) for x in results]
