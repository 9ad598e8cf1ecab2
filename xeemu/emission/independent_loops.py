"""Independent loops: iterations update elements of their own, or all the same; emitted by blocks of iterations.

No iteration needs what another one has updated. So all the iterations of a block find together what they update with,
and each memory is updated once for all of them, in one window.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission import iteration_batch, ordered_atomics, scatter_loops, strip_mining
from xeemu.emission.batched_updates import Made
from xeemu.emission.iteration_batch import IterationBatch
from xeemu.emission.values import Chunk
from xeemu.ir import control, ops
from xeemu.ir.program import Op, Region, Value
from xeemu.knowledge import induction
from xeemu.knowledge.analysis import Plan


@dataclasses.dataclass(frozen=True)
class Spread:
    """What a loop updates.

    Attributes:
      updates: for the number of each carry that is an updated memory the number of the operation that updates it.
      growth: for the number of each other carry how much it grows from one iteration to the next.
    """

    updates: Mapping[int, int]
    growth: Mapping[int, int]


def of_loop(scan: control.Scan, plan: Plan, moves: Mapping[int, int]) -> Spread | None:
    """The updates of a loop that does nothing else, all at places that move; None if it does.

    Args:
      scan: the loop, which has no elements.
      plan: the analysis of its body.
      moves: for the number of an access how much further it starts in each iteration.
    """
    body, growth = scan.body, induction.of_loop(scan, plan)
    changed = [k for k in range(scan.carries) if k not in growth]
    found = {k: _update(body, body.inputs[k], body.outputs[k], moves) for k in changed}
    updates = {k: number for k, number in found.items() if number is not None}
    if not updates or len(updates) < len(changed):
        return None
    kept = set(updates.values())
    language = (n for n, op in enumerate(body.ops) if op.name in ops.LANGUAGE)
    if not all(n in kept or body.ops[n].name in scatter_loops.READING for n in language):
        return None
    plain = all(op.name in ops.LANGUAGE or scatter_loops.is_plain(op, plan) for op in body.ops)
    return Spread(updates, growth) if plain else None


def _update(body: Region, memory: Value, result: Value, moves: Mapping[int, int]) -> int | None:
    """The number of the only operation that updates a memory of a loop's body, if iterations have nothing to do there.

    Args:
      body: the loop's.
      memory, result: the memory before and after an iteration.
      moves: see `of_loop`.
    """
    users = [n for n, op in enumerate(body.ops) if any(a is memory for a in op.used)]
    made = [n for n in users if result in body.ops[n].results and _is_spread(body.ops[n], moves.get(n))]
    if len(made) != 1 or _uses(body, result) > 1:
        return None
    place = ops.indices(body.ops[made[0]])
    others = [body.ops[n] for n in users if n != made[0]]
    # An iteration may use what it updates before it does so, unless that is what the others update too.
    own = all(e.name == ops.LOAD and _is_same(ops.indices(e), place) for e in others)
    return made[0] if not others or (own and moves[made[0]]) else None


def _uses(body: Region, value: Value) -> int:
    """How often a value is used."""
    used = [a for op in body.ops for a in op.used] + list(body.outputs)
    return sum(each is value for each in used)


def _is_same(index: Sequence[Value], other: Sequence[Value]) -> bool:
    """Whether two indices are surely the same."""
    return len(index) == len(other) and all(a is b for a, b in zip(index, other, strict=True))


def _is_spread(op: Op, move: int | None) -> bool:
    """Whether iterations update elements of their own, or the same by an operation whose order does not count."""
    if op.name == ops.STORE:
        return bool(move)
    combines = op.name == ops.ATOMIC and ops.operation(op) in ordered_atomics.COMBINE
    return combines and not op.attributes["fetch"] and move is not None


@dataclasses.dataclass(frozen=True, eq=False)
class IndependentLoop:
    """A loop that spreads its updates.

    Attributes:
      iterate: emits an iteration: what is carried after it, from what is before.
      length: iterations.
      spread: what it updates.
      turns: iterations of a block.
      moves: for the number of an access how much further it starts in each iteration.
    """

    iterate: Callable[[IterationBatch, list[Any]], list[Any]]
    length: int
    spread: Spread
    turns: int
    moves: Mapping[int, int]

    def fits(self, first: list[Any]) -> bool:
        """Whether windows hold all updates, of a whole block and of what is left.

        Args:
          first: what is carried before the loop.
        """
        rest = self.length % self.turns
        looks = (self._look(first, turns) for turns in (self.turns, rest) if turns)
        return all(look.places.keys() == self._numbers for look in looks)

    def run(self, first: list[Any]) -> list[Any]:
        """What is carried after the loop."""
        last: list[Any] = strip_mining.by_blocks(self._block, self.length, self.turns, first)
        return last

    @property
    def _numbers(self) -> frozenset[int]:
        return frozenset(self.spread.updates.values())

    def _look(self, carries: list[Any], turns: int) -> IterationBatch:
        look = iteration_batch.looking(self.moves, turns, self._numbers)
        self.iterate(look, carries)  # the compiler drops what it computes
        return look

    def _block(self, turns: int, carries: list[Any]) -> list[Any]:
        """What is carried after some iterations."""
        growth, look = self.spread.growth, self._look(carries, turns)

        def find(turn: jax.Array, loaded: dict[int, jax.Array]) -> dict[int, Made]:
            one = IterationBatch(loaded, updates=self._numbers)
            self.iterate(one, induction.advanced(growth, carries, turn))
            return one.made

        loaded = {n: window.loaded() for n, window in look.windows.items() if window.doubted is None}
        made: dict[int, Made] = jax.vmap(find)(jnp.arange(turns, dtype=np.int32), loaded)
        after = induction.advanced(growth, carries, np.int32(turns))
        for k, number in self.spread.updates.items():
            after[k] = look.places[number].after(carries[k], made[number])
        return after


def turns(scan: control.Scan, plan: Plan, chunk: Chunk, moves: Mapping[int, int]) -> int:
    """Iterations of a block; 1 if blocks are not worth while.

    Args:
      scan: the loop.
      plan: the analysis of its body.
      chunk: the work-groups.
      moves: for the number of an access how much further it starts in each iteration.
    """
    figures = chunk.target.blocks
    most = min(iteration_batch.size(scan, plan, chunk, moves).turns(figures.spread_elements, chunk), scan.length)
    return iteration_batch.evenly(scan.length, most) if most >= figures.fewest_spread else 1
