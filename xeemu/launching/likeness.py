"""Likeness: local memories that all work-groups fill alike, of which one is enough for all of them.

Tables that every group copies from global memory are such, and so is what is computed from them alone. That a memory is
alike is assumed and then checked: if all stores to it do the same in every group as long as it and other memories are
alike, they do so from the first store to the last.
"""

from collections.abc import Iterator

from jax.extend import core as jex_core

from xeemu.knowledge import analysis
from xeemu.knowledge.analysis import Plan, Value
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body
from xeemu.language.program import Program


def analyse(program: Program, rows: range | None = None) -> Plan | None:
    """The plan of a program of which some local memories are alike in all groups; None if they all differ.

    Args:
      program: the program.
      rows: see `analysis.analyse`.
    """
    # A single group has its own memories anyway.
    allocated = frozenset(eqn.outvars[0] for eqn in jaxprs.equations(program.body) if _allocates(eqn))
    alike = allocated if program.geometry.groups > 1 else frozenset()
    while alike:
        plan = analysis.analyse(program, rows, alike)
        differing = _differing(program, plan) & alike
        if not differing:
            return plan
        alike -= differing
    return None


def _differing(program: Program, plan: Plan) -> frozenset[jex_core.Var]:
    """The local memories to which not all groups do the same, by what allocates them."""
    dimensions, memories, differing = len(program.geometry.group_range), dict[Value, jex_core.Var](), set[Value]()
    for eqn, inside, diverging in _equations(program.body, plan, dimensions):
        if _allocates(eqn):
            memories[inside.values[eqn.outvars[0]]] = eqn.outvars[0]
        if _differs(eqn, inside, diverging, dimensions):
            differing.add(inside.values[eqn.invars[0]])
    return frozenset(memories[memory] for memory in differing if memory in memories)


def _allocates(eqn: jex_core.JaxprEqn) -> bool:
    return eqn.primitive is primitives.allocate_p and eqn.params["space"] == "local"


def _equations(
    body: Body, plan: Plan, dimensions: int, diverging: bool = False
) -> Iterator[tuple[jex_core.JaxprEqn, Plan, bool]]:
    """The equations of a (sub)program and its inner ones, their plans, and whether only some groups may be there."""
    for number, eqn in enumerate(body.eqns):
        yield eqn, plan, diverging
        inner = plan.within(number, eqn)
        match jaxprs.structure(eqn):
            case jaxprs.Cond():
                varying = plan.value(eqn.invars[0], dimensions).varying
            case jaxprs.While(predicate=predicate):
                varying = inner[0][1].value(predicate.outvars[0], dimensions).varying
            case _:
                varying = False
        for part, plan_of_part in inner:
            yield from _equations(part, plan_of_part, dimensions, diverging or varying)


def _differs(eqn: jex_core.JaxprEqn, plan: Plan, diverging: bool, dimensions: int) -> bool:
    """Whether it changes a memory, and not in all groups alike, or by an atomic operation."""
    if eqn.primitive not in primitives.ACCESSES or eqn.primitive is primitives.load_p:
        return False
    varying = any(plan.value(a, dimensions).varying for a in eqn.invars[1:])
    return diverging or varying or eqn.primitive is not primitives.store_p
