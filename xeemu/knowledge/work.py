"""Work: how long work-groups compute, estimated from what they do in elements of its results."""

import math

from jax.extend import core as jex_core

from xeemu.devices.target import Threads
from xeemu.ir import ops
from xeemu.knowledge.analysis import Plan
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body

# A loop that tests a predicate is taken to go round so many times.
_TURNS = 32


def of_body(body: Body, plan: Plan, dimensions: int, figures: Threads, looped: bool = False) -> int:
    """The work of one group in a (sub)program, the longest of branches counted.

    Args:
      body: the (sub)program.
      plan: its analysis.
      dimensions: of the launch.
      figures: what operations take.
      looped: whether it is in a loop.
    """
    return sum(_of_equation(number, eqn, plan, dimensions, figures, looped) for number, eqn in enumerate(body.eqns))


def _of_equation(
    number: int, eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int, figures: Threads, looped: bool
) -> int:
    structure = jaxprs.structure(eqn)
    if structure is None:
        return _of_operation(eqn, plan, dimensions, figures, looped)
    looped |= isinstance(structure, jaxprs.Scan | jaxprs.While)
    inner = [of_body(body, known, dimensions, figures, looped) for body, known in plan.within(number, eqn)]
    match structure:
        case jaxprs.Scan(length=length):
            return length * sum(inner)
        case jaxprs.While():
            return _TURNS * sum(inner)
        case jaxprs.Cond():
            return max(inner)
    return sum(inner)


def _of_operation(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int, figures: Threads, looped: bool) -> int:
    if eqn.primitive in primitives.ACCESSES:
        return math.prod(eqn.params["access"].shape) * _of_access(eqn, plan, dimensions, figures, looped)
    computed = [v for v in eqn.outvars if plan.values[v].space is None and plan.values[v].form is None]
    each = figures.costly if ops.of(eqn).slow else 1
    return each * sum(math.prod(v.aval.shape) for v in computed)


def _of_access(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int, figures: Threads, looped: bool) -> int:
    if all(plan.value(a, dimensions).form is not None for a in primitives.indices(eqn)):
        return figures.looped if looped else figures.sliced
    return figures.looked_up
