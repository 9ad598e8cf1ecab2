"""Scatter loops: loops that only update memories, at places that depend on data, emitted by blocks of iterations.

Each iteration of such a loop finds on its own what to combine with which elements, and no order of the updates counts.
So all the iterations of a block find that together, and each update of the loop's body is one scatter for all of them.
On a CPU, which carries out a scatter on one core, sub-chunks go their own ways (see `sub_chunks`).
"""

import collections
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission import hazards, read_modify_write, strip_mining, update_coalescing
from xeemu.emission.read_modify_write import Sum
from xeemu.emission.values import Update
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.table import Kind
from xeemu.knowledge import induction
from xeemu.knowledge.analysis import Plan

READING = frozenset(name for name in ops.LANGUAGE - ops.UPDATES if ops.named(name).kind is not Kind.ALLOCATION)
"""What changes no memory and makes none."""


@dataclasses.dataclass(frozen=True)
class Updates:
    """What a loop updates.

    Attributes:
      users: for the number of each carry that is an updated memory the numbers of the operations that update it.
      growth: for the number of each other carry how much it grows from one iteration to the next.
    """

    users: Mapping[int, tuple[int, ...]]
    growth: Mapping[int, int]

    @property
    def all(self) -> frozenset[int]:
        """The numbers of all updates."""
        return frozenset(number for chain in self.users.values() for number in chain)


def of_loop(op: Op, plan: Plan, items: int) -> Updates | None:
    """The updates of a loop that does nothing else; None if it does.

    Args:
      op: the operation.
      plan: the analysis of its body.
      items: work-items of a group.
    """
    scan = control.of(op)
    if not isinstance(scan, control.Scan) or scan.carries < max(len(op.results), len(op.operands)):
        return None
    body = scan.body
    if any(not (e.name in ops.LANGUAGE or is_plain(e, plan)) for e in body.ops):
        return None
    sums = read_modify_write.of_body(body, plan, items, hazards.of_body(body, plan).scattered)
    kinds = {n: kind for n, op in enumerate(body.ops) if (kind := _op(n, op, plan, sums))}
    uses, of = _uses(body, {s.load for n, s in sums.items() if n in kinds}), {body.ops[n].operands[0]: n for n in kinds}
    users: dict[int, tuple[int, ...]] = {}
    growth = induction.of_loop(scan, plan)
    for k, (v, out) in enumerate(zip(body.inputs, body.outputs, strict=True)):
        if k in growth:
            continue
        chain: list[int] = []
        while uses[v] == 1 and v in of:
            chain.append(of[v])
            v = body.ops[of[v]].results[0]
        if not chain or v is not out or len({kinds[n] for n in chain}) > 1:
            return None
        users[k] = tuple(chain)
    kept = {n for chain in users.values() for n in chain}
    changes = (n for n, e in enumerate(body.ops) if e.name in ops.LANGUAGE and e.name not in READING)
    return Updates(users, growth) if users and all(n in kept for n in changes) else None


def is_plain(op: Op, plan: Plan) -> bool:
    """Whether an operation is an operation on values, or a function of them."""
    if control.of(op) is None:
        return True
    memories = (a for a in op.used if not isinstance(a, Constant) and plan.values[a].space)
    return isinstance(control.of(op), control.Call) and not any(memories)


def _op(number: int, op: Op, plan: Plan, sums: Mapping[int, Sum]) -> str | None:
    """By which operation integers of its groups are updated, in any order, at places that are not known."""
    if op.name not in ops.ACCESSES or plan.values[op.operands[0]].space == "global":
        return None
    if op.operands[0].dtype.kind not in "iu":
        return None
    if all(isinstance(a, Constant) or plan.values[a].form is not None for a in ops.indices(op)):
        return None
    return (
        update_coalescing.COMMUTING[sums[number].op]
        if number in sums
        else update_coalescing.operation(op, in_order=True)
    )


def _uses(body: Region, loads: set[int]) -> "collections.Counter[Value]":
    """How often each value is used, but for the memories of some loads."""
    operands = [a for n, e in enumerate(body.ops) for a in (e.operands[1:] if n in loads else e.used)]
    return collections.Counter(a for a in (*operands, *body.outputs) if not isinstance(a, Constant))


def found_bytes(body: Region, updates: Updates) -> int:
    """What one iteration finds for a group to update: places, and values that are not the same for all."""
    found = 0
    for op in (body.ops[n] for n in updates.all):
        added = op.operands[1 + op.attributes["access"].rank]
        each = 4 if isinstance(added, Constant) else 4 + added.dtype.itemsize
        found += each * math.prod(op.attributes["access"].shape)
    return found


def updates_often(scan: control.Scan, plan: Plan, updates: Updates, items: int, often: int) -> bool:
    """Whether a loop updates far more than its memories have elements, so that sub-chunks are worth copies of them.

    Args:
      scan: the loop.
      plan: the analysis of its body.
      updates: of it.
      items: work-items of a group, each of which has its own private memories.
      often: updates for each element from which on it does.
    """
    found = sum(math.prod(scan.body.ops[n].attributes["access"].shape) for n in updates.all)
    memories = [scan.body.ops[chain[0]].operands[0] for chain in updates.users.values()]
    elements = sum(m.size * (items if plan.values[m].space == "private" else 1) for m in memories)
    return bool(scan.length * found >= often * elements)


Found = dict[int, list[Update]]
"""For the number of each carry that is an updated memory what is to be updated, in order."""


@dataclasses.dataclass(frozen=True, eq=False)
class Iterations:
    """The iterations of a loop that only updates memories, for a sub-chunk of the groups.

    Attributes:
      first: what they carry before the loop.
      find: what an iteration updates, from the carries before it.
      carry_out: the contents of a memory after updates, from those before.
    """

    first: list[Any]
    find: Callable[[list[Any]], Found]
    carry_out: Callable[[int, Any, list[Update]], Any]


@dataclasses.dataclass(frozen=True, eq=False)
class ScatterLoop:
    """A loop that only updates memories.

    Attributes:
      sub_chunks: its iterations for each sub-chunk.
      updates: what it updates.
      length: iterations.
      most: iterations of a block at most.
    """

    sub_chunks: Sequence[Iterations]
    updates: Updates
    length: int
    most: int

    def run(self) -> list[list[Any]]:
        """What the sub-chunks carry after the loop."""
        blocks = max(1, -(-self.length // self.most))
        first = [sub_chunk.first for sub_chunk in self.sub_chunks]
        last: list[list[Any]] = strip_mining.by_blocks(
            self._block, self.length, max(1, -(-self.length // blocks)), first
        )
        return last

    def _block(self, turns: int, states: list[list[Any]]) -> list[list[Any]]:
        """What the sub-chunks carry after some iterations. They have nothing to do with each other."""
        return [
            self._of_sub_chunk(sub_chunk, state, turns)
            for sub_chunk, state in zip(self.sub_chunks, states, strict=True)
        ]

    def _of_sub_chunk(self, sub_chunk: Iterations, state: list[Any], turns: int) -> list[Any]:
        def find(turn: jax.Array) -> Found:
            return sub_chunk.find(induction.advanced(self.updates.growth, state, turn))

        found = jax.vmap(find)(jnp.arange(turns, dtype=np.int32))
        after = induction.advanced(self.updates.growth, state, np.int32(turns))
        for k, updates in found.items():
            after[k] = sub_chunk.carry_out(k, state[k], updates)
        return after
