"""Which loops are emitted several iterations at a time, and which of their loads move on steadily.

A loop that only streams, loading slices and computing on them, gains: the slices of several iterations fuse into one
pass over its accumulators (see `strip_mining`). On a GPU, which starts a kernel for each store, so does one that fills
a local memory, where it stores next to each other what several iterations have computed. A loop with other stores,
barriers, gathers or inner loops only grows.
"""

from collections.abc import Mapping
from typing import Any

from xeemu.devices.target import CPU, Unrolling
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import addressing, analysis, lattices
from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.lattices import Axis, Lattice


def factor(
    body: Region,
    plan: Plan,
    length: int,
    dimensions: int,
    figures: Unrolling = CPU.unrolling,
    few: bool = False,
    many: bool = False,
) -> int:
    """How many iterations of a loop to emit at a time.

    Args:
      body: the loop's, whose inputs are carries.
      plan: its analysis.
      length: iterations.
      dimensions: of the nd-range.
      figures: of the host.
      few: whether it will for few groups, so that short code is worth more than fast code.
      many: whether it takes much longer for an iteration of all work-items than to begin it.
    """
    accesses = any(e.name in (ops.LOAD, ops.STORE) for e in body.ops)
    if not (accesses or any(v.shape for v in body.inputs)) or len(body.ops) > figures.largest_body:
        return 1
    others = [n for n, op in enumerate(body.ops) if not _streams(op, plan, dimensions)]
    steps = moves(body, plan)
    most = figures.most_of_fills if others else figures.most_of_many if many else figures.most
    branching = (_branches(n, op, plan, steps, dimensions) for n, op in enumerate(body.ops))
    if figures.most_branching < most and any(branching):
        most = figures.most_branching
    if few:
        most = min(most, figures.most_of_few)
    turns = min(most, figures.largest_block // len(body.ops), max(length, 1))
    filled = all(_is_filled(body, body.ops[n], plan, dimensions, Axis(turns, steps.get(n, 0))) for n in others)
    return turns if filled else 1


def _branches(number: int, op: Op, plan: Plan, steps: Mapping[int, int], dimensions: int) -> bool:
    """Whether a load finds out in each iteration whether it is within bounds."""
    if op.name != ops.LOAD or number in steps:
        return False
    return plan.values[op.results[0]].varying and analysis.doubted(op, plan, dimensions) > 0


def _streams(op: Op, plan: Plan, dimensions: int) -> bool:
    if op.name == ops.LOAD:
        return _is_slice(op, plan, dimensions)
    if op.name in (ops.LOCAL_ID, ops.GROUP_ID):
        return True
    return op.name not in ops.LANGUAGE and control.of(op) is None


def _is_slice(op: Op, plan: Plan, dimensions: int) -> bool:
    """Whether a load reads one uniform element, or a lattice of them."""
    if not plan.values[op.results[0]].varying:
        return True
    found = _lattice(op, plan, dimensions)
    return found is not None and found[0].apart


def _is_filled(body: Region, op: Op, plan: Plan, dimensions: int, axis: Axis) -> bool:
    """Whether a store is the only use of a local memory, of which a block of iterations fills one window."""
    if op.name != ops.STORE or plan.values[op.results[0]].space != "local":
        return False
    used = [v for e in body.ops for v in e.used if v is op.operands[0] or v is op.results[0]]
    found = _lattice(op, plan, dimensions)
    if len(used) > 1 or op.operands[0] not in body.inputs or found is None or not axis.stride:
        return False
    lattice, uniform = found
    return uniform and lattice.along(axis).dense


def _lattice(op: Op, plan: Plan, dimensions: int) -> tuple[Lattice, bool] | None:
    """The addresses of a load or store, if they form a lattice, and whether they are the same for all groups."""
    address = addressing.foreseen(op, plan, dimensions)
    if address.form is None or not address.elements.count:
        return None
    lattice = lattices.of_pattern(address.form.pattern)
    return (lattice, address.form.uniform) if lattice else None


def moves(body: Region, plan: Plan) -> dict[int, int]:
    """For the number of each access by one index how much that grows from one iteration of a loop to the next.

    Args:
      body: the loop's, whose inputs are carries.
      plan: its analysis.
    """
    growth: dict[Any, int] = dict.fromkeys(body.seen, 0)
    for v, out in zip(body.inputs, body.outputs, strict=False):
        step = 0 if out is v else analysis.increment(body, v, out)
        if step is not None and (not step or out in plan.bases):
            growth[v] = step
    found: dict[int, int] = {}
    for number, op in enumerate(body.ops):
        if op.name in ops.ACCESSES:
            step = _growth(op.operands[1], growth)
            if step is not None and op.attributes["access"].rank == 1:
                found[number] = step
        elif (step := _result(op, growth)) is not None and (not step or op.results[0] in plan.bases):
            # A base that comes from other bases is that of an exact result, which neither wraps nor rounds.
            growth |= dict.fromkeys(op.results, step)
    return found


def _result(op: Op, growth: dict[Any, int]) -> int | None:
    """How much the results of an operation grow in each iteration; None if that is not known."""
    name, steps = op.name, [_growth(a, growth) for a in op.used]
    if op.name in (ops.LOCAL_ID, ops.GROUP_ID):
        return 0
    if op.name in ops.LANGUAGE or None in steps:
        return None
    known = [step for step in steps if step is not None]
    if name in ("add", "sub"):
        return known[0] + (known[1] if name == "add" else -known[1])
    if name in ("broadcast_in_dim", "reshape", "squeeze", "convert_element_type"):
        return known[0]
    if name == "mul" and (factors := [(k, a) for k, a in enumerate(op.operands) if isinstance(a, Constant)]):
        number, factor = factors[-1]
        return known[1 - number] * int(factor.array) if factor.dtype.kind in "iu" and not factor.ndim else None
    return None if any(known) else 0


def _growth(value: Value, growth: dict[Any, int]) -> int | None:
    return 0 if isinstance(value, Constant) else growth.get(value)
