"""Which loops are emitted several iterations at a time, and which of their loads move on steadily.

A loop that only streams, loading slices and computing on them, gains: the slices of several iterations fuse into one
pass over its accumulators (see `streaming`). A loop with stores, barriers, gathers or inner loops does not fuse, and
only grows.
"""

import math
from typing import Any

import numpy as np
from jax.extend import core as jex_core

from xeemu import analysis, jaxprs, lattices, primitives
from xeemu.analysis import Plan
from xeemu.jaxprs import Body

# Iterations at a time, found by measuring on a 2-core CPU and on an H200: the convolution of the collection; and of
# loops that carry values in place of a memory its serial reduction. Larger bodies have fewer, which compile sooner.
_MOST, _MOST_OF_VALUES = 64, 16
_LARGEST_BODY, _LARGEST_BLOCK = 24, 768


def factor(body: Body, plan: Plan, dimensions: int, values: frozenset[int] = frozenset()) -> int:
    """How many iterations of a loop to emit at a time.

    Args:
      body: the loop's.
      plan: its analysis.
      dimensions: of the nd-range.
      values: numbers of the operations that access what the loop carries as values (see `promotion`).
    """
    streams = len(body.eqns) <= _LARGEST_BODY and any(e.primitive is primitives.load_p for e in body.eqns)
    if not streams or not all(n in values or _streams(eqn, plan, dimensions) for n, eqn in enumerate(body.eqns)):
        return 1
    return min(_MOST_OF_VALUES if values else _MOST, _LARGEST_BLOCK // len(body.eqns))


def _streams(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> bool:
    if eqn.primitive is primitives.load_p:
        return _is_slice(eqn, plan, dimensions)
    return eqn.primitive not in primitives.LANGUAGE and jaxprs.structure(eqn) is None


def _is_slice(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> bool:
    """Whether a load reads one uniform element, or a lattice of them."""
    access: primitives.Access = eqn.params["access"]
    if not plan.values[eqn.outvars[0]].varying:
        return True
    indices = [plan.value(a, dimensions).form for a in eqn.invars[1 : 1 + access.rank]]
    if access.masked or any(form is None for form in indices):
        return False
    strides = [math.prod(eqn.invars[0].aval.shape[d + 1 :]) for d in range(access.rank)]
    patterns = [form.pattern * stride for form, stride in zip(indices, strides, strict=True) if form]
    lattice = lattices.of_pattern(np.broadcast_to(sum(patterns), access.shape).reshape(-1))
    return lattice is not None and lattice.apart


def moves(body: Body, consts: int) -> dict[int, int]:
    """For the number of each load by one index how much that grows from one iteration of a loop to the next.

    Args:
      body: the loop's, whose inputs are constants and then carries.
      consts: number of constants.
    """
    growth: dict[Any, int] = dict.fromkeys(body.invars[:consts], 0) | {v: 0 for v, _ in body.constants}
    for v, out in zip(body.invars[consts:], body.outvars, strict=False):
        step = 0 if out is v else analysis.increment(body, v, out)
        if step is not None:
            growth[v] = step
    found: dict[int, int] = {}
    for number, eqn in enumerate(body.eqns):
        if eqn.primitive is primitives.load_p:
            step = _growth(eqn.invars[1], growth)
            if step is not None and eqn.params["access"].rank == 1:
                found[number] = step
        elif (step := _result(eqn, growth)) is not None:
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
