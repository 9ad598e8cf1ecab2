"""Counted loops: loops of a known number of iterations, emitted by blocks of iterations or one by one."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import (
    access,
    independent_loops,
    loop_carries,
    reduction_loops,
    scatter_loops,
    sub_chunks,
    unrolling,
)
from xeemu.emission.context import Applied, Emitter
from xeemu.emission.items import Item, as_memory, as_value, named
from xeemu.emission.iteration_batch import IterationBatch
from xeemu.emission.loop_carries import Carried
from xeemu.emission.scatter_loops import Updates
from xeemu.emission.strip_mining import Block, Stream
from xeemu.emission.sub_chunks import SubChunk
from xeemu.emission.values import Chunk, Emitted, Update
from xeemu.ir.control import Scan
from xeemu.knowledge import analysis, induction
from xeemu.knowledge.analysis import Plan


def results(emitter: Emitter, applied: Applied, scan: Scan) -> list[Item]:
    """The results of a loop.

    Args:
      emitter: emits its body.
      applied: the loop.
      scan: what it says.
    """
    (plan,) = applied.inner
    count = len(applied.op.seen)
    first_element = count + scan.carries
    seen, carries = applied.operands[:count], applied.operands[count:first_element]
    elements = [as_value(o) for o in applied.operands[first_element:]]
    carried = loop_carries.of_loop(scan.body, plan, carries, emitter.context.chunk)
    loop = _Loop(emitter, applied, scan, plan, seen, carried, applied.active)
    alone = not elements and len(applied.op.results) == scan.carries and not emitter.context.observer.watches
    if alone and not _counts_loops(loop) and (last := _by_blocks(loop)) is not None:
        return carried.after(last, applied.known)
    return _one_by_one(loop, elements)


def _counts_loops(loop: "_Loop") -> bool:
    """Whether its body holds loops that are counted: that is part of what a loop carries."""
    observer, inside = loop.emitter.context.observer, analysis.bodies(loop.scan.body, loop.plan)
    loops = ((plan, n) for body, plan in inside for n, op in enumerate(body.ops) if op.name == "while")
    return any(observer.limit(*key) is not None for key in loops)


@dataclasses.dataclass(frozen=True, eq=False)
class _Loop:
    """A loop that is about to be emitted.

    Attributes:
      emitter: emits its body.
      applied: the loop.
      scan: what it says.
      plan: the analysis of its body.
      seen: what each iteration sees of what is around the loop.
      carried: what it carries.
      active: `[G]` mask of the groups that execute it, or None for all.
    """

    emitter: Emitter
    applied: Applied
    scan: Scan
    plan: Plan
    seen: list[Item]
    carried: Carried
    active: jax.Array | None

    @property
    def chunk(self) -> Chunk:
        """The groups."""
        return self.emitter.context.chunk

    @functools.cached_property
    def moves(self) -> dict[int, int]:
        """For the number of a load how much further it starts in each iteration."""
        return unrolling.moves(self.scan.body, self.plan)

    @functools.cached_property
    def turns(self) -> int:
        """How many iterations to emit at a time."""
        scan, dimensions = self.scan, self.emitter.context.dimensions
        chunk, figures = self.chunk, self.chunk.target.unrolling
        return unrolling.factor(scan.body, self.plan, scan.length, dimensions, figures, chunk.few, chunk.many)

    def within(self, **changes: Any) -> "_Loop":
        """The same, with changes of the context."""
        context = dataclasses.replace(self.emitter.context, **changes)
        return dataclasses.replace(self, emitter=self.emitter.within(context))

    def first(self) -> list[Any]:
        """What is carried into the first iteration."""
        return self.carried.first(self.chunk)

    def outputs(self, packed: list[Any], elements: Sequence[Item] = ()) -> list[Item]:
        """What an iteration gives, from what is carried into it."""
        inputs = [*self.seen, *self.carried.inside(packed), *elements]
        return self.emitter.body(self.scan.body, self.plan, inputs, self.active)

    def iterated(self, packed: list[Any]) -> list[Any]:
        """What is carried after an iteration that gives nothing else, from what is before."""
        return self.carried.packed(self.outputs(packed), self.chunk)


def _one_by_one(loop: _Loop, elements: Sequence[Emitted]) -> list[Item]:
    """The results of a loop as one of JAX's."""
    scan, applied, chunk, observer = loop.scan, loop.applied, loop.chunk, loop.emitter.context.observer
    taken = scan.body.inputs[scan.carries :]

    def step(state: tuple[list[Any], Any], rows: list[jax.Array]) -> tuple[tuple[list[Any], Any], list[jax.Array]]:
        packed, observer.state = state
        outputs = loop.outputs(packed, named(loop.plan, taken, rows))
        stacked = [as_value(o).array(chunk) for o in outputs[scan.carries :]]
        return (loop.carried.packed(outputs[: scan.carries], chunk), observer.state), stacked

    rows = [_rows(e.array(chunk), e.known.varying, 1, 0) for e in elements]
    unroll = min(loop.turns, loop.chunk.target.watched_iterations)
    first = (loop.first(), observer.state)
    (last, observer.state), stacked = lax.scan(
        step, first, rows, length=scan.length, reverse=scan.reverse, unroll=unroll
    )
    known = applied.known
    stacks = [_rows(s, k.varying, 0, 1) for s, k in zip(stacked, known[scan.carries :], strict=True)]
    after = loop.carried.after(last, known[: scan.carries])
    return after + named(applied.plan, applied.op.results[scan.carries :], stacks)


def _rows(array: jax.Array, varying: bool, source: int, target: int) -> jax.Array:
    """Elements of a loop with their axis in another place, if an axis of groups comes before it."""
    return jnp.moveaxis(array, source, target) if varying else array


def _by_blocks(loop: _Loop) -> list[Any] | None:
    """What a loop that nobody watches, of carries alone, carries in the end; None if it is not emitted by blocks."""
    updates = scatter_loops.of_loop(loop.applied.op, loop.plan, loop.chunk.geometry.items)
    if updates:
        return _updated(loop, updates)
    streams = loop.turns > 1
    if (reduction := _reduction(loop, streams)) is not None:
        return reduction.run(loop.first())
    if streams:
        return _streamed(loop)
    return None if (spread := _spread(loop)) is None else spread.run(loop.first())


def _spread(loop: _Loop) -> independent_loops.IndependentLoop | None:
    """A loop whose iterations update elements of their own, if it is worth while."""
    turns = independent_loops.turns(loop.scan, loop.plan, loop.chunk, loop.moves)
    spread = independent_loops.of_loop(loop.scan, loop.plan, loop.moves) if turns > 1 else None
    if spread is None:
        return None

    def iterate(together: IterationBatch, packed: list[Any]) -> list[Any]:
        return loop.within(together=together).iterated(packed)

    found = independent_loops.IndependentLoop(iterate, loop.scan.length, spread, turns, loop.moves)
    return found if found.fits(loop.first()) else None


def _reduction(loop: _Loop, streams: bool) -> reduction_loops.ReductionLoop | None:
    """A loop that only reduces, if it is worth while; `streams` if it could be emitted as one that streams."""
    blocks = reduction_loops.blocks(loop.scan, loop.plan, loop.chunk, loop.moves, streams)
    reductions = reduction_loops.of_loop(loop.scan, loop.plan) if blocks.turns > 1 else None
    if reductions is None:
        return None

    def iterate(together: IterationBatch, packed: list[Any]) -> list[Any]:
        return loop.within(together=together).iterated(packed)

    reduction = reduction_loops.ReductionLoop(iterate, loop.scan, reductions, blocks, loop.moves, loop.chunk.target)
    if streams and loop.chunk.target.gathers_one_by_one and not reduction.is_sliced(loop.first()):
        return None
    return reduction


def _streamed(loop: _Loop) -> list[Any]:
    """What a loop that streams carries in the end."""

    def iterate(block: Block, packed: list[Any]) -> list[Any]:
        return loop.within(block=block).iterated(packed)

    stream, first = Stream(iterate, loop.scan.length, loop.moves, loop.turns), loop.first()
    last: list[Any] = stream.run_checked(first) if loop.chunk.target.skips_branches else stream.run(first)
    return last


def _updated(loop: _Loop, updates: Updates) -> list[Any]:
    """What a loop that only updates memories carries in the end."""
    chunk, length = loop.chunk, loop.scan.length
    often = scatter_loops.updates_often(loop.scan, loop.plan, updates, chunk.geometry.items, chunk.target.blocks.often)
    parts = sub_chunks.of_chunk(chunk if often else dataclasses.replace(chunk, sub_chunks=1))
    iterations = [_of_sub_chunk(loop, part, updates) for part in parts]
    last = scatter_loops.ScatterLoop(iterations, updates, length, chunk.turns).run()
    after = induction.advanced(updates.growth, loop.first(), np.int32(length))
    for k in updates.users:
        after[k] = sub_chunks.together(as_memory(loop.carried.items[k]), [packed[k] for packed in last]).data
    return after


def _of_sub_chunk(loop: _Loop, part: SubChunk, updates: Updates) -> scatter_loops.Iterations:
    """The iterations of a loop that only updates memories, for a part of the groups."""
    own = _cut(loop, part, updates)

    def find(packed: list[Any]) -> scatter_loops.Found:
        outputs = own.outputs(packed)
        return {k: list(as_memory(outputs[k]).pending) for k in updates.users}

    def carry_out(k: int, data: jax.Array, found: list[Update]) -> jax.Array:
        memory = as_memory(own.carried.items[k]).holding(data)
        return access.carried_out(dataclasses.replace(memory, pending=tuple(found)), part.chunk).data

    return scatter_loops.Iterations(own.first(), find, carry_out)


def _cut(loop: _Loop, part: SubChunk, updates: Updates) -> _Loop:
    """A loop for a part of the groups, whose iterations find what to update."""
    present = loop.emitter.context.present
    present = None if present is None else part.rows(present)
    own = loop.within(chunk=part.chunk, present=present, block=None, waiting=updates.all)
    seen, items = [part.item(s) for s in loop.seen], [part.item(c) for c in loop.carried.items]
    running = None if loop.active is None else part.rows(loop.active)
    return dataclasses.replace(own, seen=seen, carried=dataclasses.replace(loop.carried, items=items), active=running)
