"""Scatter loops: loops that only update memories, at places that depend on data.

Each iteration of such a loop finds on its own what to combine with which elements, and no order of the updates counts.
So all the iterations of a block find that together, see `batched_loops`, and each update of the loop's body is one
scatter for all of them.
"""

import collections
import dataclasses
import math
from collections.abc import Mapping

from xeemu.emission import hazards, read_modify_write, update_coalescing
from xeemu.emission.read_modify_write import Sum
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
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


def of_loop(scan: control.Scan, facts: Facts, items: int) -> Mapping[int, Scattered] | None:
    """The updates of a loop that does nothing else, by the numbers of the carries; None if it does.

    Args:
      scan: the loop.
      facts: the analysis of its body.
      items: work-items of a group.
    """
    body = scan.body
    if not scan.carries == len(body.inputs) == len(body.outputs):
        return None
    if any(op.regions for op in body.ops):
        return None
    sums = read_modify_write.of_body(body, facts, items, hazards.of_body(body, facts).scattered)
    kinds = {n: kind for n, op in enumerate(body.ops) if (kind := _op(n, op, facts, sums))}
    uses, of = _uses(body, {s.load for n, s in sums.items() if n in kinds}), {body.ops[n].operands[0]: n for n in kinds}
    updates: dict[int, Scattered] = {}
    growth = induction.of_loop(scan, facts)
    for k, (v, out) in enumerate(zip(body.inputs, body.outputs, strict=True)):
        if k in growth:
            continue
        chain: list[int] = []
        while uses[v] == 1 and v in of:
            chain.append(of[v])
            v = body.ops[of[v]].results[0]
        if not chain or v is not out or len({kinds[n] for n in chain}) > 1:
            return None
        updates[k] = Scattered(tuple(chain))
    kept = {n for update in updates.values() for n in update.numbers}
    changes = (n for n, e in enumerate(body.ops) if e.name in ops.LANGUAGE and e.name not in READING)
    return updates if updates and all(n in kept for n in changes) else None


def _op(number: int, op: Op, facts: Facts, sums: Mapping[int, Sum]) -> str | None:
    """By which operation integers of its groups are updated, in any order, at places that are not known."""
    if op.name not in ops.ACCESSES or facts.values[op.operands[0]].space == "global":
        return None
    if op.operands[0].dtype.kind not in "iu":
        return None
    if addressing.is_formed(op, facts):
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


def found_bytes(body: Region, updates: Mapping[int, Scattered]) -> int:
    """What one iteration finds for a group to update: places, and values that are not the same for all."""
    found = 0
    for op in (body.ops[n] for update in updates.values() for n in update.numbers):
        added = op.operands[1 + op.attributes["access"].rank]
        each = 4 if isinstance(added, Constant) else 4 + added.dtype.itemsize
        found += each * math.prod(op.attributes["access"].shape)
    return found
