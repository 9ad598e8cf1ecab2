"""Work: how long work-groups compute, estimated from what they do in elements of its results."""

import math

from jax.extend import core as jex_core

from xeemu.ir import ops
from xeemu.knowledge.analysis import Plan
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body

# What one element takes: of arithmetic, in vectors and fused, and of what takes many instructions (`Op.slow`); of an
# access to places that are known, in a loop and elsewhere, where it goes through caches; of one that only data tell.
_COMPUTED, _COSTLY, _LOOPED, _SLICED, _LOOKED_UP = 1, 32, 2, 40, 256
# A loop that tests a predicate is taken to go round so many times.
_TURNS = 32


def of_body(body: Body, plan: Plan, dimensions: int, looped: bool = False) -> int:
    """The work of one group in a (sub)program, the longest of branches counted.

    Args:
      body: the (sub)program.
      plan: its analysis.
      dimensions: of the launch.
      looped: whether it is in a loop.
    """
    return sum(_of_equation(number, eqn, plan, dimensions, looped) for number, eqn in enumerate(body.eqns))


def _of_equation(number: int, eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int, looped: bool) -> int:
    structure = jaxprs.structure(eqn)
    if structure is None:
        return _of_operation(eqn, plan, dimensions, looped)
    looped |= isinstance(structure, jaxprs.Scan | jaxprs.While)
    inner = [of_body(body, known, dimensions, looped) for body, known in plan.within(number, eqn)]
    match structure:
        case jaxprs.Scan(length=length):
            return length * sum(inner)
        case jaxprs.While():
            return _TURNS * sum(inner)
        case jaxprs.Cond():
            return max(inner)
    return sum(inner)


def _of_operation(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int, looped: bool) -> int:
    if eqn.primitive in primitives.ACCESSES:
        return math.prod(eqn.params["access"].shape) * _of_access(eqn, plan, dimensions, looped)
    computed = [v for v in eqn.outvars if plan.values[v].space is None and plan.values[v].form is None]
    each = _COSTLY if ops.of(eqn).slow else _COMPUTED
    return each * sum(math.prod(v.aval.shape) for v in computed)


def _of_access(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int, looped: bool) -> int:
    if all(plan.value(a, dimensions).form is not None for a in primitives.indices(eqn)):
        return _LOOPED if looped else _SLICED
    return _LOOKED_UP
