"""Which memories a launch overwrites as a whole, so that what was in them need not be copied."""

import math

import numpy as np

from xeemu import distinctness, intervals, locating, primitives
from xeemu.analysis import Plan
from xeemu.locating import Lanes
from xeemu.program import Program


def overwritten(program: Program, plan: Plan) -> frozenset[int]:
    """The numbers of the arguments that one store fills, without a mask and without a load before it."""
    return frozenset(k for k, memory in enumerate(program.arguments) if memory is not None and _fills(program, plan, k))


def _fills(program: Program, plan: Plan, number: int) -> bool:
    """Whether the elements of all groups are different ones of a memory, and as many as it has."""
    store, memory, geometry = program.sole_use(number), program.body.invars[number].aval, program.geometry
    if store is None or store.primitive is not primitives.store_p or primitives.mask(store) or geometry.ragged:
        return False
    access: primitives.Access = store.params["access"]
    values = [plan.value(a, len(geometry.group_range)) for a in store.invars[1 : 1 + access.rank]]
    inside = all(intervals.within(v.interval, (0, n - 1)) for v, n in zip(values, memory.shape, strict=True))
    known = [v.form for v in values if v.form is not None and not v.form.based]
    elements = math.prod(access.shape)
    if not inside or len(known) < len(values) or not elements or elements * geometry.groups != memory.size:
        return False
    form = locating.linear(known, memory.shape, Lanes(access.shape, np.arange(elements), None))
    return distinctness.of_groups(form.pattern, form.steps, geometry)
