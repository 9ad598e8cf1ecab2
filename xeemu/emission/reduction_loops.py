"""Reduction loops: they only combine integers with what they carry, in any order; emitted by blocks of iterations.

What an iteration combines with a carry depends on no such carry: it is what the iteration leaves if it begins with the
neutral element. So all the iterations of a block find it together, and it is combined along the axis of iterations and
once with what is carried. Loads that start a constant further in each iteration are one window of the memory.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.devices.target import Target
from xeemu.emission import iteration_batch, reductions, scatter_loops, strip_mining
from xeemu.emission.iteration_batch import IterationBatch, Window
from xeemu.emission.values import Chunk
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import analysis, induction
from xeemu.knowledge.analysis import Plan
from xeemu.language import collectives

_AS = {op: op for op in collectives.OPERATIONS} | {"sub": "add"}
_SHAPING = frozenset({"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "copy"})


@dataclasses.dataclass(frozen=True)
class Reductions:
    """What a loop reduces.

    Attributes:
      ops: for the number of each carry that is reduced by which operation.
      growth: for the number of each other carry how much it grows from one iteration to the next.
    """

    ops: Mapping[int, str]
    growth: Mapping[int, int]


def of_loop(scan: control.Scan, plan: Plan) -> Reductions | None:
    """The reductions of a loop that does nothing else; None if it does.

    Args:
      scan: the loop, which has no elements.
      plan: the analysis of its body.
    """
    growth = induction.of_loop(scan, plan)
    carries = scan.body.inputs
    changed = [k for k in range(len(carries)) if k not in growth]
    if not changed or not all(_may_be_reduced(carries[k], plan) for k in changed):
        return None
    if not all(_is_plain(op, plan) for op in scan.body.ops):
        return None
    carried = [_Combined(k) if k in changed else None for k in range(len(carries))]
    after = _followed(scan.body, [*[None] * len(scan.body.seen), *carried])
    found = {k: after[k] for k in changed}
    if any(one is None or one.carry != k or not one.op for k, one in found.items()):
        return None
    return Reductions({k: one.op for k, one in found.items() if one is not None}, growth)


def _may_be_reduced(carry: Value, plan: Plan) -> bool:
    """Whether a carry is made of integers, the order of whose sums does not count, and can be emitted as a value."""
    known = plan.values[carry]
    if carry.dtype.kind not in "iub" or known.space:
        return False
    return known.form is None or (known.form.uniform and not known.form.pattern.any())


def _is_plain(op: Op, plan: Plan) -> bool:
    return op.name in scatter_loops.READING if op.name in ops.LANGUAGE else scatter_loops.is_plain(op, plan)


@dataclasses.dataclass(frozen=True)
class _Combined:
    """How a value depends on what is carried from iteration to iteration.

    Attributes:
      carry: it is the carry of this number, combined with what does not depend on any; -1 if it depends in another way.
      op: by which operation; empty as long as it is the carry itself.
    """

    carry: int
    op: str = ""

    def by(self, op: str) -> "_Combined":
        """Combined once more."""
        return _Combined(self.carry, op) if self.op in ("", op) else _OTHERWISE


_OTHERWISE = _Combined(-1)


def _followed(body: Region, given: Sequence[_Combined | None]) -> list[_Combined | None]:
    """How the results of a (sub)program depend on the carries, as its inputs do; None if they do not."""
    found: dict[Any, _Combined | None] = dict(zip(body.taken, given, strict=True))
    for op in body.ops:
        operands = [None if isinstance(a, Constant) else found.get(a) for a in op.used]
        found |= dict(zip(op.results, _results(op, operands), strict=True))
    return [None if isinstance(a, Constant) else found.get(a) for a in body.outputs]


def _results(op: Op, operands: list[_Combined | None]) -> list[_Combined | None]:
    return [_result(op, operands) if any(operands) else None] * len(op.results)


def _result(op: Op, operands: list[_Combined | None]) -> _Combined:
    """How the result of an operation depends on the carries, of which it uses one at least."""
    name, (first, *rest) = op.name, operands
    if name == "select_n":
        return _OTHERWISE if first is not None else _either(rest)
    if name in _SHAPING:
        one_each = op.operands[0].size == op.results[0].size
        return first if first is not None and one_each and _is_same(op, 0) else _OTHERWISE
    if name in _AS and rest == [None] and first is not None:
        return first.by(_AS[name])
    if name in _AS and name != "sub" and first is None and rest[0] is not None:
        return rest[0].by(name)
    return _OTHERWISE


def _is_same(op: Op, number: int) -> bool:
    """Whether the result of an operation has the dtype of one of its operands."""
    return bool(op.operands[number].dtype == op.results[0].dtype)


def _either(values: Sequence[_Combined | None]) -> _Combined:
    """How a value depends on the carries that is one of several, whichever."""
    carries = {-1 if value is None else value.carry for value in values}
    ops = {value.op for value in values if value is not None and value.op}
    return _Combined(carries.pop(), "".join(ops)) if len(carries) == 1 and len(ops) < 2 else _OTHERWISE


@dataclasses.dataclass(frozen=True)
class Blocks:
    """How a loop is cut.

    Attributes:
      turns: iterations of a block; 1 if blocks are not worth while.
      rows: whether an iteration has a single element, and a block is a row of such (see `reductions`).
    """

    turns: int
    rows: bool = False


def blocks(scan: control.Scan, plan: Plan, chunk: Chunk, moves: Mapping[int, int], streams: bool) -> Blocks:
    """How a loop is cut.

    Args:
      scan: the loop.
      plan: the analysis of its body.
      chunk: the work-groups.
      moves: for the number of a load how much further it starts in each iteration.
      streams: whether it could be emitted as one that streams.
    """
    target, size = chunk.target, iteration_batch.size(scan, plan, chunk, moves)
    figures = target.blocks
    if size.lanes > (figures.most_streamed_lanes if streams else figures.most_lanes):
        return Blocks(1)
    reduced = _reduced(scan, plan)
    if target.reduces_slowly and size.lanes == 1 and all(reductions.takes(v.dtype) for v in reduced):
        fuses = len(reduced) == 1 and _fuses(scan, plan, chunk, moves)
        most = figures.row if fuses else size.turns(figures.row, chunk)
        if row := reductions.longest(min(most, scan.length)):
            return Blocks(row, rows=True)
    most = min(size.turns(figures.reduced_elements, chunk), scan.length)
    return Blocks(iteration_batch.evenly(scan.length, most) if most >= figures.fewest_reduced else 1)


def _reduced(scan: control.Scan, plan: Plan) -> list[Value]:
    """What a loop carries and changes in another way than by a constant."""
    growth = induction.of_loop(scan, plan)
    return [v for k, v in enumerate(scan.body.inputs) if k not in growth]


def _fuses(scan: control.Scan, plan: Plan, chunk: Chunk, moves: Mapping[int, int]) -> bool:
    """Whether a compiler makes one pass of all that a loop loads, computes and reduces, and needs no memory for it.

    It does so for a single result of elements that lie side by side, within bounds.
    """
    dimensions = len(chunk.geometry.group_range)
    loads = ((n, op) for n, op in enumerate(scan.body.ops) if op.name == ops.LOAD)
    return all(abs(moves.get(n, 2)) < 2 and not analysis.doubted(op, plan, dimensions) for n, op in loads)


_State = tuple[list[Any], dict[int, Any]]


@dataclasses.dataclass(frozen=True, eq=False)
class ReductionLoop:
    """A loop of reductions.

    Attributes:
      iterate: emits an iteration: what is carried after it, from what is before.
      scan: the loop.
      reductions: of it.
      blocks: how it is cut.
      moves: for the number of a load how much further it starts in each iteration.
      target: where the program will run.
    """

    iterate: Callable[[IterationBatch, list[Any]], list[Any]]
    scan: control.Scan
    reductions: Reductions
    blocks: Blocks
    moves: Mapping[int, int]
    target: Target

    def windows(self, carries: list[Any], turns: int) -> dict[int, Window]:
        """By number of their load the windows of some iterations; the compiler drops what else is computed."""
        look = iteration_batch.looking(self.moves, turns)
        self.iterate(look, carries)
        return look.windows

    def is_sliced(self, first: list[Any]) -> bool:
        """Whether all loads that change from iteration to iteration are windows.

        Args:
          first: what is carried before the loop.
        """
        loads = (n for n, op in enumerate(self.scan.body.ops) if op.name == ops.LOAD)
        found = self.windows(first, self.blocks.turns)
        return all(n in found or self.moves.get(n) == 0 for n in loads)

    def run(self, first: list[Any]) -> list[Any]:
        """What is carried after the loop."""
        found = self.windows(first, self.blocks.turns)
        doubted = {n: window.doubted for n, window in found.items() if window.doubted is not None}
        inside, beyond = (functools.partial(self._blocks, drop) for drop in (frozenset(), frozenset(doubted)))
        travels = {n: self.moves[n] * (self.scan.length - 1) for n in doubted}
        last: list[Any] = strip_mining.checked(doubted, travels, inside, beyond, first)
        return last

    def _blocks(self, dropped: frozenset[int], first: list[Any]) -> list[Any]:
        """The same, with some of the windows left out.

        Each iteration of a block has accumulators of its own, which are combined with each other in the end; in rows
        only a few parts of a block have.
        """
        state = first, {k: self._accumulators(first[k], op) for k, op in self._ops(first).items()}
        step = functools.partial(self._block, dropped)
        figures = self.target.blocks
        unrolled = max(1, min(figures.unrolled, figures.largest_unrolled // len(self.scan.body.ops)))
        turns, rows = self.blocks.turns, self.blocks.rows
        last, accumulators = strip_mining.by_blocks(step, self.scan.length, turns, state, 1 if rows else unrolled)
        total = reductions.of_parts if rows else self._reduced
        return self._combined(last, {k: total(accumulators[k], op) for k, op in self._ops(last).items()})

    def _ops(self, carries: list[Any]) -> dict[int, str]:
        """The operations of the carries that are arrays."""
        return {k: op for k, op in self.reductions.ops.items() if carries[k] is not None}

    def _accumulators(self, packed: jax.Array, op: str) -> jax.Array:
        shape = (1, reductions.PARTS) if self.blocks.rows else (self.blocks.turns, *packed.shape)
        return jnp.full(shape, collectives.identity(op, packed.dtype))

    def _reduced(self, found: jax.Array, op: str) -> jax.Array:
        """What some iterations combine with a carry."""
        return reductions.reduced(found, op, (0,), self.target)

    def _block(self, dropped: frozenset[int], turns: int, state: _State) -> _State:
        """What is carried after some iterations, and the accumulators, which a shorter last block leaves alone."""
        carries, accumulators = state
        after = induction.advanced(self.reductions.growth, carries, np.int32(turns))
        found, ops = self._found(dropped, turns, carries), self._ops(carries)
        if turns < self.blocks.turns:
            return self._combined(after, {k: self._reduced(found[k], op) for k, op in ops.items()}), accumulators
        if self.blocks.rows:
            found = {k: reductions.in_parts(found[k].reshape(1, -1), op) for k, op in ops.items()}
        return after, {k: collectives.COMBINE[op](accumulators[k], found[k]) for k, op in ops.items()}

    def _found(self, dropped: frozenset[int], turns: int, carries: list[Any]) -> dict[int, Any]:
        """For the number of each carry what each of some iterations combines with it."""
        ops = self.reductions.ops
        windows = self.windows(carries, turns)
        loaded = {n: window.loaded() for n, window in windows.items() if n not in dropped}
        before = [_neutral(p, ops[k]) if k in ops else p for k, p in enumerate(carries)]

        def find(turn: jax.Array, loaded: dict[int, jax.Array]) -> dict[int, Any]:
            after = self.iterate(IterationBatch(loaded), induction.advanced(self.reductions.growth, before, turn))
            return {k: after[k] for k in ops}

        found: dict[int, Any] = jax.vmap(find)(jnp.arange(turns, dtype=np.int32), loaded)
        return found

    def _combined(self, carries: list[Any], found: dict[int, jax.Array]) -> list[Any]:
        """What is carried, combined with what was found for it."""
        after = list(carries)
        for k, value in found.items():
            after[k] = collectives.COMBINE[self.reductions.ops[k]](carries[k], value.reshape(carries[k].shape))
        return after


def _neutral(packed: jax.Array | None, op: str) -> jax.Array | None:
    return None if packed is None else jnp.full_like(packed, collectives.identity(op, packed.dtype))
