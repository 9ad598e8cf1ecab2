"""Batched loops: loops of which a block of iterations is computed as one, and combined with what is carried.

What an iteration leaves depends on no other, but for numbers that grow steadily: what is combined with a carry is what
an iteration leaves that begins with the neutral element, and updates of memories are made by all iterations later.
Loads that start a constant further in each iteration are one window of the memory. What is found is combined along the
axis of iterations and once with what is carried, written in one window, or scattered at once.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission import access, batched_updates, emitted_loops, iteration_blocks, row_reductions
from xeemu.emission.emitted_loops import EmittedLoop, PlacedAccess
from xeemu.emission.items import Item, as_memory
from xeemu.emission.values import Groupwise
from xeemu.ir import ops
from xeemu.knowledge import induction
from xeemu.language import collectives
from xeemu.planning.independent_loops import IndependentUpdate
from xeemu.planning.loop_plans import Batched, BlockedLoop, IterationBlock
from xeemu.planning.reduction_loops import Reduced
from xeemu.planning.scatter_loops import Scattered

_State = tuple[list[Any], dict[int, Any]]
"""What is carried, and accumulators for some of it."""


def run(loop: EmittedLoop, plan: Batched) -> list[Any]:
    """What a loop carries in the end."""
    return emitted_loops.by_versions(loop, plan.versions, functools.partial(_blocks, loop, plan), loop.first())


def _blocks(loop: EmittedLoop, plan: Batched, version: BlockedLoop, first: list[Any]) -> list[Any]:
    """The same, in one of its versions."""
    batch = _Batch(loop, plan, version)
    return batch.ended(iteration_blocks.run(batch.after, version.blocking, batch.begun(first)))


@dataclasses.dataclass(frozen=True, eq=False)
class _Batch:
    """A loop in one of its versions.

    Each iteration of a block has accumulators of its own, which are combined with each other in the end; in rows only a
    few parts of a block have.
    """

    loop: EmittedLoop
    plan: Batched
    version: BlockedLoop

    def begun(self, first: list[Any]) -> _State:
        """The state before the loop, from what is carried into it."""
        return first, {k: self._accumulators(first[k], op) for k, op in self._reduced(first).items()}

    def ended(self, state: _State) -> list[Any]:
        """What is carried after the loop."""
        last, accumulators = state
        if self.plan.row is not None:
            total = {k: row_reductions.of_parts(accumulators[k], op) for k, op in self._reduced(last).items()}
        else:
            total = self._totals(accumulators, self.version.iterations, last)
        return self._combined(last, total)

    def after(self, iterations: int, state: _State) -> _State:
        """The state after so many iterations; a shorter last block leaves accumulators alone."""
        carries, accumulators = state
        block, loop = self.version.blocks[iterations], self.loop
        placed = loop.placed(carries, block.updates)
        found = self._results(iterations, carries)
        after = induction.advanced(self.plan.growth, carries, np.int32(iterations))
        for k, update in self.plan.updated.items():
            if isinstance(update, IndependentUpdate):
                after[k] = self._written(carries[k], placed[update.number], update.number, found[k])
            elif isinstance(update, Scattered):
                before = as_memory(loop.slots[k].template).with_data(carries[k])
                after[k] = access.collected(before, found[k], loop.plan.collected[iterations][k])
        reduced = self._reduced(carries)
        if block.shorter:
            return self._combined(after, self._totals(found, iterations, carries)), accumulators
        if (row := self.plan.row) is not None:
            found |= {k: row_reductions.in_parts(found[k].reshape(1, -1), op, row) for k, op in reduced.items()}
        return after, {k: collectives.COMBINE[op](accumulators[k], found[k]) for k, op in reduced.items()}

    def _results(self, iterations: int, carries: list[Any]) -> dict[int, Any]:
        """For the number of each carry that is updated what each of some iterations does, or combines with it."""
        block, plan, loop = self.version.blocks[iterations], self.plan, self.loop
        loaded = {n: _loaded(at, iterations) for n, at in loop.placed(carries, block.loads).items()}
        reduced = self._reduced(carries)
        before = [_neutral(p, reduced[k]) if k in reduced else p for k, p in enumerate(carries)]

        def find(number: jax.Array, loaded: dict[int, Groupwise]) -> dict[int, Any]:
            inputs = induction.advanced(plan.growth, before, number)
            return self._pending(loop.outputs(inputs, block.iteration, loaded), block)

        found: dict[int, Any] = jax.vmap(find)(jnp.arange(iterations, dtype=np.int32), loaded)
        return found

    def _pending(self, outputs: list[Item], block: IterationBlock) -> dict[int, Any]:
        """What an iteration leaves in what it updates."""
        found: dict[int, Any] = {}
        packed = self.loop.packed(outputs, block.iteration)
        for k, update in self.plan.updated.items():
            match update:
                case Reduced():
                    found[k] = packed[k]
                case IndependentUpdate():
                    (found[k],) = as_memory(outputs[k]).pending
                case Scattered():
                    found[k] = as_memory(outputs[k]).pending
        return found

    def _reduced(self, carries: list[Any]) -> dict[int, str]:
        """By which operations the carries are combined that are arrays."""
        each = ((k, update) for k, update in self.plan.updated.items() if carries[k] is not None)
        return {k: update.op for k, update in each if isinstance(update, Reduced)}

    def _accumulators(self, packed: jax.Array, op: str) -> jax.Array:
        row = self.plan.row
        shape = (self.version.iterations, *packed.shape) if row is None else (1, row.parts)
        return jnp.full(shape, collectives.identity(op, packed.dtype))

    def _totals(self, found: dict[int, Any], iterations: int, carries: list[Any]) -> dict[int, jax.Array]:
        """What so many iterations combine with the carries, together."""
        blocks, reduced = self.version.blocks, self._reduced(carries)
        each = {k: blocks[iterations].reductions.get(k) for k in reduced}
        return {k: row_reductions.reduced(found[k], op, (0,), each[k]) for k, op in reduced.items()}

    def _combined(self, carries: list[Any], found: dict[int, jax.Array]) -> list[Any]:
        """What is carried, combined with what was found for it."""
        after, reduced = list(carries), self._reduced(carries)
        for k, value in found.items():
            after[k] = collectives.COMBINE[reduced[k]](carries[k], value.reshape(carries[k].shape))
        return after

    def _written(self, data: jax.Array, at: PlacedAccess, number: int, operands: Any) -> jax.Array:
        """The contents of a memory after the updates of some iterations."""
        operation = ops.operation(self.loop.counted.body.ops[number])
        return batched_updates.after(data, at.window, operation, batched_updates.of_groups(operands, at.window))


def _loaded(at: PlacedAccess, iterations: int) -> Groupwise:
    """`[iterations, own groups, n]`: what so many iterations load."""
    found = at.window.read(at.buffer.data)
    values = found.values.reshape(found.values.shape[0], iterations, -1)
    return dataclasses.replace(found, values=jnp.moveaxis(values, 1, 0))


def _neutral(packed: jax.Array | None, op: str) -> jax.Array | None:
    return None if packed is None else jnp.full_like(packed, collectives.identity(op, packed.dtype))
