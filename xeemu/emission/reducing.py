"""Reducing: loops that only combine integers with what they carry, in any order, emitted by blocks of iterations.

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
from jax.extend import core as jex_core

from xeemu.emission import combining, streaming, together, updating
from xeemu.emission.together import Together, Window
from xeemu.emission.values import Chunk
from xeemu.knowledge import analysis, growing
from xeemu.knowledge.analysis import Plan
from xeemu.language import collectives, jaxprs, primitives
from xeemu.language.jaxprs import Body

# Elements of a block's arrays: on a 2-core CPU 2^15 to 2^17 take 5 to 8 % less than 2^14 for a sum of 2^22 elements,
# and as long for other reductions. On a GPU, which was not measured, a block is a few kernels, however long.
_ELEMENTS = {"cpu": 1 << 15, "gpu": 1 << 20}
# Iterations of a block of single elements, along which a CPU goes in one pass.
_ROW = 1 << 22
# An iteration that computes more elements has work enough of its own; one that streams, sooner.
_MOST_LANES = 128
_MOST_STREAMED_LANES = {"cpu": 4, "gpu": 128}
_FEWEST_TURNS = 32
# Blocks that are emitted one after the other, so that accumulators are gone over once for all of them; fewer of larger
# bodies, in equations.
_UNROLLED, _LARGEST_UNROLLED = 8, 192

_AS = {op: op for op in collectives.OPERATIONS} | {"sub": "add"}
_SHAPING = frozenset({"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "copy"})
_ALLOWED = updating.READING | {primitives.store_p, primitives.barrier_p, primitives.fence_p}


@dataclasses.dataclass(frozen=True)
class Reductions:
    """What a loop reduces.

    Attributes:
      ops: for the number of each carry that is reduced by which operation.
      growth: for the number of each other carry how much it grows from one iteration to the next.
    """

    ops: Mapping[int, str]
    growth: Mapping[int, int]


def of_loop(scan: jaxprs.Scan, plan: Plan, held: frozenset[int]) -> Reductions | None:
    """The reductions of a loop that does nothing else; None if it does.

    Args:
      scan: the loop, which has no elements.
      plan: the analysis of its body.
      held: the numbers of the carries that are memories carried as values (see `promotion`).
    """
    growth = growing.of_loop(scan, plan)
    carries = scan.body.invars[scan.consts :]
    changed = [k for k in range(len(carries)) if k not in growth]
    if not changed or not all(_may_be_reduced(k, carries[k], plan, held) for k in changed):
        return None
    if not all(_is_plain(eqn, plan) for eqn in scan.body.eqns):
        return None
    carried = [_Combined(k) if k in changed else None for k in range(len(carries))]
    after = _followed(scan.body, [*[None] * scan.consts, *carried])
    found = {k: after[k] for k in changed}
    if any(one is None or one.carry != k or not one.op for k, one in found.items()):
        return None
    return Reductions({k: one.op for k, one in found.items() if one is not None}, growth)


def _may_be_reduced(k: int, carry: jex_core.Var, plan: Plan, held: frozenset[int]) -> bool:
    """Whether a carry is made of integers, the order of whose sums does not count, and can be emitted as a value."""
    known = plan.values[carry]
    if carry.aval.dtype.kind not in "iub" or (known.space and k not in held):
        return False
    return known.form is None or (known.form.uniform and not known.form.pattern.any())


def _is_plain(eqn: jex_core.JaxprEqn, plan: Plan) -> bool:
    return eqn.primitive in _ALLOWED if eqn.primitive in primitives.LANGUAGE else updating.is_plain(eqn, plan)


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


def _followed(body: Body, given: Sequence[_Combined | None]) -> list[_Combined | None]:
    """How the results of a (sub)program depend on the carries, as its inputs do; None if they do not."""
    found: dict[Any, _Combined | None] = dict(zip(body.invars, given, strict=True))
    for eqn in body.eqns:
        operands = [None if jaxprs.is_literal(a) else found.get(a) for a in eqn.invars]
        found |= dict(zip(eqn.outvars, _results(eqn, operands), strict=True))
    return [None if jaxprs.is_literal(a) else found.get(a) for a in body.outvars]


def _results(eqn: jex_core.JaxprEqn, operands: list[_Combined | None]) -> list[_Combined | None]:
    called = jaxprs.structure(eqn)
    if isinstance(called, jaxprs.Call):
        return _followed(called.body, operands)
    if eqn.primitive in (primitives.barrier_p, primitives.fence_p):
        return operands[: len(eqn.outvars)]
    one = _result(eqn, operands) if any(operands) or eqn.primitive is primitives.store_p else None
    return [one] * len(eqn.outvars)


def _result(eqn: jex_core.JaxprEqn, operands: list[_Combined | None]) -> _Combined:
    """How the result of an operation depends on the carries, of which it uses one at least or stores to a memory."""
    name, (first, *rest) = eqn.primitive.name, operands
    if eqn.primitive is primitives.store_p:
        number = eqn.params["access"].rank
        value = rest.pop(number)
        return _OTHERWISE if any(rest) or not _is_same(eqn, 1 + number) else _either([first, value])
    if eqn.primitive is primitives.load_p:
        return _OTHERWISE if first is None or any(rest) or eqn.params["access"].masked else first
    if name == "select_n":
        return _OTHERWISE if first is not None else _either(rest)
    if name in _SHAPING:
        one_each = eqn.invars[0].aval.size == eqn.outvars[0].aval.size
        return first if first is not None and one_each and _is_same(eqn, 0) else _OTHERWISE
    if name in _AS and rest == [None] and first is not None:
        return first.by(_AS[name])
    if name in _AS and name != "sub" and first is None and rest[0] is not None:
        return rest[0].by(name)
    return _OTHERWISE


def _is_same(eqn: jex_core.JaxprEqn, number: int) -> bool:
    """Whether the result of an operation has the dtype of one of its operands."""
    return bool(eqn.invars[number].aval.dtype == eqn.outvars[0].aval.dtype)


def _either(values: Sequence[_Combined | None]) -> _Combined:
    """How a value depends on the carries that is one of several, whichever."""
    carries = {-1 if value is None else value.carry for value in values}
    ops = {value.op for value in values if value is not None and value.op}
    return _Combined(carries.pop(), "".join(ops)) if len(carries) == 1 and len(ops) < 2 else _OTHERWISE


def turns(scan: jaxprs.Scan, plan: Plan, chunk: Chunk, moves: Mapping[int, int], streams: bool) -> int:
    """Iterations of a block; 1 if blocks are not worth while.

    Args:
      scan: the loop.
      plan: the analysis of its body.
      chunk: the work-groups.
      moves: for the number of a load how much further it starts in each iteration.
      streams: whether it could be emitted as one that streams.
    """
    where, size = "cpu" if chunk.on_cpu else "gpu", together.size(scan, plan, chunk, moves)
    if size.lanes > (_MOST_STREAMED_LANES[where] if streams else _MOST_LANES):
        return 1
    if chunk.on_cpu and size.lanes == 1:
        most = _ROW if _fuses(scan, plan, chunk, moves) else size.turns(_ROW, chunk)
        if row := combining.whole(min(most, scan.length)):
            return row
    most = min(size.turns(_ELEMENTS[where], chunk), scan.length)
    return together.evenly(scan.length, most) if most >= _FEWEST_TURNS else 1


def _fuses(scan: jaxprs.Scan, plan: Plan, chunk: Chunk, moves: Mapping[int, int]) -> bool:
    """Whether a compiler makes one pass of all that a loop loads, computes and reduces, and needs no memory for it."""
    dimensions = len(chunk.geometry.group_range)
    loads = ((n, eqn) for n, eqn in enumerate(scan.body.eqns) if eqn.primitive is primitives.load_p)
    known = all(n in moves and not analysis.doubted(eqn, plan, dimensions) for n, eqn in loads)
    return known and len(scan.body.outvars) - len(growing.of_loop(scan, plan)) == 1


_State = tuple[list[Any], dict[int, Any]]


@dataclasses.dataclass(frozen=True, eq=False)
class Loop:
    """A loop of reductions.

    Attributes:
      iterate: emits an iteration: what is carried after it, from what is before.
      scan: the loop.
      reductions: of it.
      turns: iterations of a block.
      moves: for the number of a load how much further it starts in each iteration.
      on_cpu: where the program will run.
    """

    iterate: Callable[[Together, list[Any]], list[Any]]
    scan: jaxprs.Scan
    reductions: Reductions
    turns: int
    moves: Mapping[int, int]
    on_cpu: bool

    def windows(self, carries: list[Any], turns: int) -> dict[int, Window]:
        """By number of their load the windows of some iterations; the compiler drops what else is computed."""
        look = together.looking(self.moves, turns)
        self.iterate(look, carries)
        return look.windows

    def is_sliced(self, first: list[Any]) -> bool:
        """Whether all loads that change from iteration to iteration are windows.

        Args:
          first: what is carried before the loop.
        """
        loads = (n for n, eqn in enumerate(self.scan.body.eqns) if eqn.primitive is primitives.load_p)
        found = self.windows(first, self.turns)
        return all(n in found or self.moves.get(n) == 0 for n in loads)

    def run(self, first: list[Any]) -> list[Any]:
        """What is carried after the loop."""
        found = self.windows(first, self.turns)
        doubted = {n: window.doubted for n, window in found.items() if window.doubted is not None}
        inside, beyond = (functools.partial(self._blocks, drop) for drop in (frozenset(), frozenset(doubted)))
        travels = {n: self.moves[n] * (self.scan.length - 1) for n in doubted}
        last: list[Any] = streaming.checked(doubted, travels, inside, beyond, first)
        return last

    def _blocks(self, dropped: frozenset[int], first: list[Any]) -> list[Any]:
        """The same, with some of the windows left out.

        Each iteration of a block has accumulators of its own, which are combined with each other in the end; or a few
        parts of a block have, if an iteration has a single element.
        """
        ops, step = self.reductions.ops, functools.partial(self._block, dropped)
        state = first, {k: self._accumulators(first[k], op) for k, op in ops.items()}
        unrolled = max(1, min(_UNROLLED, _LARGEST_UNROLLED // len(self.scan.body.eqns)))
        if any(first[k] is not None and self._in_rows(first[k]) for k in ops):
            unrolled = 1  # blocks are long enough
        last, accumulators = streaming.by_blocks(step, self.scan.length, self.turns, state, unrolled)
        return self._combined(last, {k: self._total(last[k], k, a) for k, a in accumulators.items()})

    def _accumulators(self, packed: jax.Array | None, op: str) -> jax.Array | None:
        if packed is None:
            return None
        shape = (1, combining.PARTS) if self._in_rows(packed) else (self.turns, *packed.shape)
        return jnp.full(shape, collectives.identity(op, packed.dtype))

    def _in_rows(self, packed: jax.Array) -> bool:
        """Whether parts of a block have accumulators."""
        return self.on_cpu and packed.size == 1 and combining.whole(self.turns) == self.turns

    def _total(self, packed: jax.Array | None, k: int, accumulators: jax.Array | None) -> jax.Array | None:
        """All accumulators for a carry combined."""
        if packed is None or accumulators is None:
            return None
        if self._in_rows(packed):
            return combining.together(accumulators, self.reductions.ops[k]).reshape(packed.shape)
        return self._reduced(k, accumulators)

    def _reduced(self, k: int, found: jax.Array | None) -> jax.Array | None:
        """What some iterations combine with a carry."""
        return None if found is None else combining.reduced(found, self.reductions.ops[k], (0,), self.on_cpu)

    def _block(self, dropped: frozenset[int], turns: int, state: _State) -> _State:
        """What is carried after some iterations, and the accumulators, which a shorter last block leaves alone."""
        carries, accumulators = state
        after = growing.advanced(self.reductions.growth, carries, np.int32(turns))
        found = self._found(dropped, turns, carries)
        if turns < self.turns:
            return self._combined(after, {k: self._reduced(k, f) for k, f in found.items()}), accumulators
        each = {k: self._for_accumulators(carries[k], k, f) for k, f in found.items()}
        return after, self._by_ops(accumulators, each)

    def _for_accumulators(self, packed: jax.Array | None, k: int, found: jax.Array | None) -> jax.Array | None:
        """What a block combines with the accumulators for a carry."""
        if packed is None or found is None or not self._in_rows(packed):
            return found
        return combining.partly(found.reshape(1, -1), self.reductions.ops[k])

    def _found(self, dropped: frozenset[int], turns: int, carries: list[Any]) -> dict[int, Any]:
        """For the number of each carry what each of some iterations combines with it."""
        ops = self.reductions.ops
        windows = self.windows(carries, turns)
        loaded = {n: window.loaded() for n, window in windows.items() if n not in dropped}
        before = [_neutral(p, ops[k]) if k in ops else p for k, p in enumerate(carries)]

        def find(turn: jax.Array, loaded: dict[int, jax.Array]) -> dict[int, Any]:
            after = self.iterate(Together(loaded), growing.advanced(self.reductions.growth, before, turn))
            return {k: after[k] for k in ops}

        found: dict[int, Any] = jax.vmap(find)(jnp.arange(turns, dtype=np.int32), loaded)
        return found

    def _combined(self, carries: list[Any], found: dict[int, Any]) -> list[Any]:
        """What is carried, combined with what was found for it."""
        after = self._by_ops(dict(enumerate(carries)), found)
        return [after.get(k, carry) for k, carry in enumerate(carries)]

    def _by_ops(self, before: dict[int, Any], found: dict[int, Any]) -> dict[int, Any]:
        """What stands for carries, each combined by its operation with what was found; None for those without any."""
        ops = self.reductions.ops
        return {k: None if f is None else collectives.COMBINE[ops[k]](before[k], f) for k, f in found.items()}


def _neutral(packed: jax.Array | None, op: str) -> jax.Array | None:
    return None if packed is None else jnp.full_like(packed, collectives.identity(op, packed.dtype))
