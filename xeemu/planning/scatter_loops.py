"""Scatter loops: loops that only update memories, at addresses that depend on data.

Each iteration of such a loop finds on its own what to combine with which elements, and no order of the updates counts.
So all the iterations of a block find that together, see `batched_loops`, and each update of the loop's body is made
once for all of them (see `collected_updates`).
"""

import dataclasses
import math
from collections.abc import Mapping

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op
from xeemu.ir.table import Kind
from xeemu.knowledge import addressing, induction
from xeemu.knowledge.analysis import Facts

READING = frozenset(name for name in ops.LANGUAGE - ops.UPDATES if ops.named(name).kind is not Kind.ALLOCATION)
"""What changes no memory and makes none."""


@dataclasses.dataclass(frozen=True)
class Scattered:
    """A memory that each iteration updates.

    Attributes:
      numbers: of the operations that do, one after the other.
    """

    numbers: tuple[int, ...]


def of_loop(scan: control.Scan, facts: Facts) -> Mapping[int, Scattered] | None:
    """The updates of a loop that does nothing else, by the numbers of the carries; None if it does.

    Args:
      scan: the loop.
      facts: the analysis of its body.
    """
    body = scan.body
    if not scan.carries == len(body.inputs) == len(body.outputs):
        return None
    if any(op.regions for op in body.ops):
        return None
    kinds = {n: kind for n, op in enumerate(body.ops) if (kind := _operation(op, facts))}
    of = {body.ops[n].operands[0]: n for n in kinds}
    updates: dict[int, Scattered] = {}
    growth = induction.of_loop(scan, facts)
    for k, (v, out) in enumerate(zip(body.inputs, body.outputs, strict=True)):
        if k in growth:
            continue
        chain: list[int] = []
        while body.uses[v] == 1 and v in of:
            chain.append(of[v])
            v = body.ops[of[v]].results[0]
        if not chain or v is not out or len({kinds[n] for n in chain}) > 1:
            return None
        updates[k] = Scattered(tuple(chain))
    found = {n for update in updates.values() for n in update.numbers}
    changes = (n for n, e in enumerate(body.ops) if e.name in ops.LANGUAGE and e.name not in READING)
    return updates if updates and all(n in found for n in changes) else None


def _operation(op: Op, facts: Facts) -> str | None:
    """By which operation integers of its groups are updated, in any order, at addresses that are not known."""
    if op.name not in ops.ACCESSES or facts.values[op.operands[0]].space == "global":
        return None
    if op.operands[0].dtype.kind not in "iu":
        return None
    return None if addressing.is_formed(op, facts) else ops.commuting(op)


def update_bytes(facts: Facts, updates: Mapping[int, Scattered]) -> int:
    """What one iteration finds for a group to update: addresses, and values that are not the same for all.

    Of private memory what is there and what is put back count too: so the chunks of launches were measured.
    """
    found = 0
    for op in (facts.body.ops[n] for update in updates.values() for n in update.numbers):
        added = op.operands[1 + op.attributes["access"].rank]
        each = 4 if isinstance(added, Constant) else 4 + added.dtype.itemsize
        if facts.values[op.operands[0]].space == "private":
            each += 2 * op.operands[0].dtype.itemsize
        found += each * math.prod(op.attributes["access"].shape)
    return found
