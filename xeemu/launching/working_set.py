"""Working set: the memory that the emulation of one work-group takes, as it is foreseen."""

import collections
import math

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge import addressing, analysis
from xeemu.knowledge.analysis import Facts
from xeemu.planning import scatter_loops


def group_bytes(facts: Facts, iterations: int) -> int:
    """Working set of one group: its memories and what it keeps in registers, as if little were fused.

    Args:
      facts: what is known of the program.
      iterations: the most iterations of a loop that find together what they update (see `scatter_loops`).
    """
    return _allocated_bytes(facts) + live_bytes(facts, iterations)


def live_bytes(facts: Facts, iterations: int) -> int:
    """The most bytes of varying values that are alive at once in a (sub)program, in blocks of so many iterations."""
    most, operations = _alive(facts)
    within = (alive + _bytes_within(op, part, iterations) for op, parts, alive in operations for part in parts)
    return max((most, *within))


@analysis.fact
def _alive(facts: Facts) -> tuple[int, list[tuple[Op, tuple[Facts, ...], int]]]:
    """The same without what bodies in it take, and the operations that have some: those, and what is alive there."""
    fused = _fused(facts)
    last_use = {a: n for n, op in enumerate(facts.body.ops) for a in op.used if not isinstance(a, Constant)}
    last_use |= {a: len(facts.body.ops) for a in facts.body.outputs if not isinstance(a, Constant)}
    dying = collections.defaultdict[int, list[Value]](list)
    for value, number in last_use.items():
        dying[number].append(value)
    most = alive = sum(_bytes(v, facts) for v in facts.body.all_inputs if v in last_use)
    operations = []
    for number, op in enumerate(facts.body.ops):
        alive += sum(_bytes(v, facts) for v in op.results if v not in fused)
        most = max(most, alive)
        if inner := facts.executed_within(number):
            operations.append((op, inner, alive))
        dead = (v for v in {*dying[number], *op.results} - fused if last_use.get(v, number) == number)
        alive -= sum(_bytes(v, facts) for v in dead)
    return most, operations


def _allocated_bytes(facts: Facts) -> int:
    """The memories of a group, but for those that all groups share (see `group_invariant_memory`)."""
    copies, found = {"local": 1, "private": facts.geometry.items}, 0
    for inner in analysis.bodies(facts):
        for op in inner.body.ops:
            if op.name == ops.ALLOCATE and not inner.values[op.results[0]].group_invariant:
                a = op.attributes
                found += math.prod(a["shape"]) * np.dtype(a["dtype"]).itemsize * copies[a["space"]]
    return found


def _bytes_within(op: Op, facts: Facts, iterations: int) -> int:
    """What an operation takes for one of the bodies that it holds, of loops that only update memories for a block."""
    scan, alive = control.of(op), live_bytes(facts, iterations)
    if iterations == 1 or not isinstance(scan, control.Scan) or (updates := scatter_loops.of_loop(scan, facts)) is None:
        return alive
    return min(iterations, scan.length) * (alive + scatter_loops.update_bytes(facts, updates))


def _fused(facts: Facts) -> set[Value]:
    """The values that any compiler fuses with the operation that uses them, the only one."""
    users = collections.defaultdict[Value, list[Op | None]](list)
    for op in (*facts.body.ops, None):
        for value in facts.body.outputs if op is None else op.operands:
            if not isinstance(value, Constant):
                users[value].append(op)
    results = (v for op in facts.body.ops if _is_in_passing(op) or _is_sliced(op, facts) for v in op.results)
    return {v for v in results if len(users[v]) == 1 and (user := users[v][0]) is not None and _is_in_passing(user)}


def _is_in_passing(op: Op) -> bool:
    """True if its elements are computed, or moved, one by one as something takes them."""
    # Of what is elementwise only what NumPy folds: with that the chunks of launches were measured.
    return ops.of(op).folds or ops.of(op).moves


def _is_sliced(op: Op, facts: Facts) -> bool:
    """True if it loads from addresses that are known but for where they begin."""
    return op.name == ops.LOAD and addressing.is_formed(op, facts)


def _bytes(value: Value, facts: Facts) -> int:
    known = facts.values[value]
    if known.space or not known.varying or known.form is not None:
        return 0
    return math.prod(value.shape) * value.dtype.itemsize
