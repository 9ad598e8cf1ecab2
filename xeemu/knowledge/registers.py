"""Registers: the bytes of values that a work-item of a program keeps at once, as if every operation made a new one."""

import math
from typing import Any

from jax.extend import core as jex_core

from xeemu.knowledge.analysis import Plan
from xeemu.language import jaxprs
from xeemu.language.geometry import Geometry
from xeemu.language.jaxprs import Body


def live_bytes(body: Body, plan: Plan, geometry: Geometry) -> int:
    """The most bytes of a work-item that are alive at once; constants and what a work-group shares take none."""
    last_use = {a: n for n, eqn in enumerate(body.eqns) for a in eqn.invars if not jaxprs.is_literal(a)}
    last_use |= {a: len(body.eqns) for a in body.outvars if not jaxprs.is_literal(a)}
    alive: dict[Any, int] = {v: _bytes(v, plan, geometry) for v in body.invars if v in last_use}
    most = sum(alive.values())
    for number, eqn in enumerate(body.eqns):
        pairs = plan.within(number, eqn)
        inner = max((live_bytes(b, p, geometry) for b, p in pairs), default=0)
        given = sum(_bytes(a, plan, geometry) for a in {v for v in eqn.invars if not jaxprs.is_literal(v)})
        # What goes into a loop or branch is alive outside and inside, but there once.
        most = max(most, sum(alive.values()) + max(0, inner - given))
        alive |= {v: _bytes(v, plan, geometry) for v in eqn.outvars}
        # The result of an operation may take the place of an operand that nothing else needs.
        alive = {v: size for v, size in alive.items() if last_use.get(v, -1) > number}
        most = max(most, sum(alive.values()))
    return most


def _bytes(variable: jex_core.Var, plan: Plan, geometry: Geometry) -> int:
    known, aval = plan.values[variable], variable.aval
    rank = len(geometry.local_range)
    per_item = aval.shape[:rank] == geometry.local_range
    if known.space or not per_item or (known.form is not None and known.form.constant):
        return 0
    # The elements of an address with a lane form lie at fixed distances from the first.
    elements = 1 if known.form is not None else math.prod(aval.shape[rank:])
    return int(elements * aval.dtype.itemsize)
