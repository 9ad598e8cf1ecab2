"""Which loops are emitted several iterations at a time.

A loop that only streams, loading slices and computing on them, gains: the slices of several iterations fuse into one
pass over its accumulators. A loop with stores, barriers, gathers or inner loops does not fuse, and only grows.
"""

import numpy as np
from jax.extend import core as jex_core

from xeemu import jaxprs, primitives
from xeemu.analysis import Plan
from xeemu.jaxprs import Body

# Iterations at a time, found by measuring the convolution of the collection on a 2-core CPU and on an H200.
_ON_CPU, _ON_GPU = 8, 32
_LARGEST_BODY = 24


def factor(body: Body, plan: Plan, on_cpu: bool) -> int:
    """How many iterations of a loop with this body to emit at a time."""
    streams = len(body.eqns) <= _LARGEST_BODY and any(e.primitive is primitives.load_p for e in body.eqns)
    if not streams or not all(_streams(eqn, plan) for eqn in body.eqns):
        return 1
    return _ON_CPU if on_cpu else _ON_GPU


def _streams(eqn: jex_core.JaxprEqn, plan: Plan) -> bool:
    if eqn.primitive is primitives.load_p:
        return _is_slice(eqn, plan)
    return eqn.primitive not in primitives.LANGUAGE and jaxprs.structure(eqn) is None


def _is_slice(eqn: jex_core.JaxprEqn, plan: Plan) -> bool:
    """Whether a load reads one uniform element, or consecutive ones."""
    access: primitives.Access = eqn.params["access"]
    if not plan.values[eqn.outvars[0]].varying:
        return True
    index = eqn.invars[1]
    form = None if access.rank > 1 or access.masked or jaxprs.is_literal(index) else plan.values[index].form
    return form is not None and bool((np.diff(form.pattern.reshape(-1)) == 1).all())
