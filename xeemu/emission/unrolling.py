"""Which loops are emitted several iterations at a time, and which of their loads move on steadily.

A loop that only streams, loading slices and computing on them, gains: the slices of several iterations fuse into one
pass over its accumulators (see `streaming`). On a GPU, which starts a kernel for each store, so does one that fills a
local memory, where it stores next to each other what several iterations have computed. A loop with other stores,
barriers, gathers or inner loops only grows.
"""

from collections.abc import Mapping
from typing import Any

from jax.extend import core as jex_core

from xeemu.devices.target import CPU, Unrolling
from xeemu.emission import addressing
from xeemu.knowledge import analysis, lattices
from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.lattices import Axis, Lattice
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body


def factor(
    body: Body,
    plan: Plan,
    consts: int,
    length: int,
    dimensions: int,
    values: frozenset[int] = frozenset(),
    figures: Unrolling = CPU.unrolling,
    few: bool = False,
    many: bool = False,
) -> int:
    """How many iterations of a loop to emit at a time.

    Args:
      body: the loop's, whose inputs are constants and then carries.
      plan: its analysis.
      consts: number of constants.
      length: iterations.
      dimensions: of the nd-range.
      values: numbers of the operations that access what the loop carries as values (see `promotion`).
      figures: of the host.
      few: whether it will for few groups, so that short code is worth more than fast code.
      many: whether it takes much longer for an iteration of all work-items than to begin it.
    """
    accesses = any(e.primitive in (primitives.load_p, primitives.store_p) for e in body.eqns)
    if not accesses or len(body.eqns) > figures.largest_body:
        return 1
    others = [n for n, eqn in enumerate(body.eqns) if n not in values and not _streams(eqn, plan, dimensions)]
    steps = moves(body, plan, consts)
    most = figures.most_of_fills if others else figures.most_of_many if many else figures.most
    branching = (_branches(n, eqn, plan, steps, dimensions) for n, eqn in enumerate(body.eqns))
    if figures.most_branching < most and any(branching):
        most = figures.most_branching
    if few:
        most = min(most, figures.most_of_few)
    turns = min(most, figures.largest_block // len(body.eqns), max(length, 1))
    filled = all(_is_filled(body, body.eqns[n], plan, dimensions, Axis(turns, steps.get(n, 0))) for n in others)
    return turns if filled else 1


def _branches(number: int, eqn: jex_core.JaxprEqn, plan: Plan, steps: Mapping[int, int], dimensions: int) -> bool:
    """Whether a load finds out in each iteration whether it is within bounds."""
    if eqn.primitive is not primitives.load_p or number in steps:
        return False
    return plan.values[eqn.outvars[0]].varying and analysis.doubted(eqn, plan, dimensions) > 0


def _streams(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> bool:
    if eqn.primitive is primitives.load_p:
        return _is_slice(eqn, plan, dimensions)
    if eqn.primitive in (primitives.local_id_p, primitives.group_id_p):
        return True
    return eqn.primitive not in primitives.LANGUAGE and jaxprs.structure(eqn) is None


def _is_slice(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> bool:
    """Whether a load reads one uniform element, or a lattice of them."""
    if not plan.values[eqn.outvars[0]].varying:
        return True
    found = _lattice(eqn, plan, dimensions)
    return found is not None and found[0].apart


def _is_filled(body: Body, eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int, axis: Axis) -> bool:
    """Whether a store is the only use of a local memory, of which a block of iterations fills one window."""
    if eqn.primitive is not primitives.store_p or plan.values[eqn.outvars[0]].space != "local":
        return False
    used = [v for e in body.eqns for v in e.invars if v is eqn.invars[0] or v is eqn.outvars[0]]
    found = _lattice(eqn, plan, dimensions)
    if len(used) > 1 or eqn.invars[0] not in body.invars or found is None or not axis.stride:
        return False
    lattice, uniform = found
    return uniform and lattice.along(axis).dense


def _lattice(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> tuple[Lattice, bool] | None:
    """The addresses of a load or store, if they form a lattice, and whether they are the same for all groups."""
    address = addressing.foreseen(eqn, plan, dimensions)
    if address.form is None or not address.elements.count:
        return None
    lattice = lattices.of_pattern(address.form.pattern)
    return (lattice, address.form.uniform) if lattice else None


def moves(body: Body, plan: Plan, consts: int) -> dict[int, int]:
    """For the number of each access by one index how much that grows from one iteration of a loop to the next.

    Args:
      body: the loop's, whose inputs are constants and then carries.
      plan: its analysis.
      consts: number of constants.
    """
    growth: dict[Any, int] = dict.fromkeys(body.invars[:consts], 0) | {v: 0 for v, _ in body.constants}
    for v, out in zip(body.invars[consts:], body.outvars, strict=False):
        step = 0 if out is v else analysis.increment(body, v, out)
        if step is not None and (not step or out in plan.bases):
            growth[v] = step
    found: dict[int, int] = {}
    for number, eqn in enumerate(body.eqns):
        if eqn.primitive in primitives.ACCESSES:
            step = _growth(eqn.invars[1], growth)
            if step is not None and eqn.params["access"].rank == 1:
                found[number] = step
        elif (step := _result(eqn, growth)) is not None and (not step or eqn.outvars[0] in plan.bases):
            # A base that comes from other bases is that of an exact result, which neither wraps nor rounds.
            growth |= dict.fromkeys(eqn.outvars, step)
    return found


def _result(eqn: jex_core.JaxprEqn, growth: dict[Any, int]) -> int | None:
    """How much the results of an operation grow in each iteration; None if that is not known."""
    name, steps = eqn.primitive.name, [_growth(a, growth) for a in eqn.invars]
    if eqn.primitive in (primitives.local_id_p, primitives.group_id_p):
        return 0
    if eqn.primitive in primitives.LANGUAGE or None in steps:
        return None
    known = [step for step in steps if step is not None]
    if name in ("add", "sub"):
        return known[0] + (known[1] if name == "add" else -known[1])
    if name in ("broadcast_in_dim", "reshape", "squeeze", "convert_element_type"):
        return known[0]
    if name == "mul" and any(map(jaxprs.is_literal, eqn.invars)):
        number = int(jaxprs.is_literal(eqn.invars[1]))
        factor = jaxprs.literal(eqn.invars[number])
        return known[1 - number] * int(factor) if factor.dtype.kind in "iu" and not factor.ndim else None
    return None if any(known) else 0


def _growth(atom: jaxprs.Atom, growth: dict[Any, int]) -> int | None:
    return 0 if jaxprs.is_literal(atom) else growth.get(atom)
