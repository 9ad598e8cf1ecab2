"""Updating: loops that only update memories, at places that depend on data, emitted by blocks of iterations.

Each iteration of such a loop finds on its own what to combine with which elements, and no order of the updates counts.
So all the iterations of a block find that together, and each update of the loop's body is one scatter for all of them.
On a CPU, which carries out a scatter on one core, strands of the chunk's groups go their own ways (see `strands`).
"""

import collections
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from xeemu.emission import accumulation, hazards, joining, streaming
from xeemu.emission.accumulation import Sum
from xeemu.emission.values import Update
from xeemu.ir import ops
from xeemu.ir.table import Kind
from xeemu.knowledge import growing
from xeemu.knowledge.analysis import Plan
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body

READING = frozenset(
    p for p in primitives.LANGUAGE - primitives.UPDATES if ops.named(p.name).kind is not Kind.ALLOCATION
)
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


def of_loop(eqn: jex_core.JaxprEqn, plan: Plan, items: int) -> Updates | None:
    """The updates of a loop that does nothing else; None if it does.

    Args:
      eqn: the equation.
      plan: the analysis of its body.
      items: work-items of a group.
    """
    scan = jaxprs.structure(eqn)
    if not isinstance(scan, jaxprs.Scan) or scan.carries < max(len(eqn.outvars), len(eqn.invars) - scan.consts):
        return None
    body = scan.body
    if any(not (e.primitive in primitives.LANGUAGE or is_plain(e, plan)) for e in body.eqns):
        return None
    sums = accumulation.of_body(body, plan, items, hazards.of_body(body, plan).scattered)
    ops = {n: op for n, eqn in enumerate(body.eqns) if (op := _op(n, eqn, plan, sums))}
    uses, of = _uses(body, {s.load for n, s in sums.items() if n in ops}), {body.eqns[n].invars[0]: n for n in ops}
    users: dict[int, tuple[int, ...]] = {}
    growth = growing.of_loop(scan, plan)
    for k, (v, out) in enumerate(zip(body.invars[scan.consts :], body.outvars, strict=True)):
        if k in growth:
            continue
        chain: list[int] = []
        while uses[v] == 1 and v in of:
            chain.append(of[v])
            v = body.eqns[of[v]].outvars[0]
        if not chain or v is not out or len({ops[n] for n in chain}) > 1:
            return None
        users[k] = tuple(chain)
    kept = {n for chain in users.values() for n in chain}
    changes = (n for n, e in enumerate(body.eqns) if e.primitive in primitives.LANGUAGE and e.primitive not in READING)
    return Updates(users, growth) if users and all(n in kept for n in changes) else None


def is_plain(eqn: jex_core.JaxprEqn, plan: Plan) -> bool:
    """Whether an equation is an operation on values, or a function of them."""
    if jaxprs.structure(eqn) is None:
        return True
    memories = (a for a in eqn.invars if not jaxprs.is_literal(a) and plan.values[a].space)
    return isinstance(jaxprs.structure(eqn), jaxprs.Call) and not any(memories)


def _op(number: int, eqn: jex_core.JaxprEqn, plan: Plan, sums: Mapping[int, Sum]) -> str | None:
    """The operation by which an equation updates integers of its groups, in any order, at places that are not known."""
    if eqn.primitive not in primitives.ACCESSES or plan.values[eqn.invars[0]].space == "global":
        return None
    if eqn.invars[0].aval.dtype.kind not in "iu":
        return None
    if all(jaxprs.is_literal(a) or plan.values[a].form is not None for a in primitives.indices(eqn)):
        return None
    return joining.COMMUTING[sums[number].op] if number in sums else joining.operation(eqn, in_order=True)


def _uses(body: Body, loads: set[int]) -> "collections.Counter[jaxprs.Atom]":
    """How often each value is used, but for the memories of some loads."""
    operands = [a for n, e in enumerate(body.eqns) for a in (e.invars[1:] if n in loads else e.invars)]
    return collections.Counter(a for a in (*operands, *body.outvars) if not jaxprs.is_literal(a))


def found_bytes(body: Body, updates: Updates) -> int:
    """What one iteration finds for a group to update: places, and values that are not the same for all."""
    found = 0
    for eqn in (body.eqns[n] for n in updates.all):
        added = eqn.invars[1 + eqn.params["access"].rank]
        each = 4 if jaxprs.is_literal(added) else 4 + added.aval.dtype.itemsize
        found += each * math.prod(eqn.params["access"].shape)
    return found


def updates_often(scan: jaxprs.Scan, plan: Plan, updates: Updates, items: int, often: int) -> bool:
    """Whether a loop updates far more than its memories have elements, so that strands are worth copies of them.

    Args:
      scan: the loop.
      plan: the analysis of its body.
      updates: of it.
      items: work-items of a group, each of which has its own private memories.
      often: updates for each element from which on it does.
    """
    found = sum(math.prod(scan.body.eqns[n].params["access"].shape) for n in updates.all)
    memories = [scan.body.eqns[chain[0]].invars[0] for chain in updates.users.values()]
    elements = sum(m.aval.size * (items if plan.values[m].space == "private" else 1) for m in memories)
    return bool(scan.length * found >= often * elements)


Found = dict[int, list[Update]]
"""For the number of each carry that is an updated memory what is to be updated, in order."""


@dataclasses.dataclass(frozen=True, eq=False)
class Iterations:
    """The iterations of a loop that only updates memories, for a strand of the groups.

    Attributes:
      first: what they carry before the loop.
      find: what an iteration updates, from the carries before it.
      carry_out: the contents of a memory after updates, from those before.
    """

    first: list[Any]
    find: Callable[[list[Any]], Found]
    carry_out: Callable[[int, Any, list[Update]], Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Loop:
    """A loop that only updates memories.

    Attributes:
      strands: its iterations for each strand.
      updates: what it updates.
      length: iterations.
      most: iterations of a block at most.
    """

    strands: Sequence[Iterations]
    updates: Updates
    length: int
    most: int

    def run(self) -> list[list[Any]]:
        """What the strands carry after the loop."""
        blocks = max(1, -(-self.length // self.most))
        first = [strand.first for strand in self.strands]
        last: list[list[Any]] = streaming.by_blocks(self._block, self.length, max(1, -(-self.length // blocks)), first)
        return last

    def _block(self, turns: int, states: list[list[Any]]) -> list[list[Any]]:
        """What the strands carry after some iterations. They have nothing to do with each other."""
        return [self._of_strand(strand, state, turns) for strand, state in zip(self.strands, states, strict=True)]

    def _of_strand(self, strand: Iterations, state: list[Any], turns: int) -> list[Any]:
        def find(turn: jax.Array) -> Found:
            return strand.find(growing.advanced(self.updates.growth, state, turn))

        found = jax.vmap(find)(jnp.arange(turns, dtype=np.int32))
        after = growing.advanced(self.updates.growth, state, np.int32(turns))
        for k, updates in found.items():
            after[k] = strand.carry_out(k, state[k], updates)
        return after
