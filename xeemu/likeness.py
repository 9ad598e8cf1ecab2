"""Likeness: local memories that all work-groups fill alike, of which one is enough for all of them.

Tables that every group copies from global memory are such, and so is what is computed from them alone. That a memory is
alike is assumed and then checked: if all stores to it do the same in every group as long as it and other memories are
alike, they do so from the first store to the last.
"""

from collections.abc import Iterator

from jax.extend import core as jex_core

from xeemu import analysis, jaxprs, primitives
from xeemu.analysis import Plan
from xeemu.jaxprs import Body
from xeemu.program import Program


def analyse(program: Program, rows: int | None = None) -> Plan | None:
    """The plan of a program of which some local memories are alike in all groups; None if they all differ.

    Args:
      program: the program.
      rows: see `analysis.analyse`.
    """
    dimensions = len(program.geometry.group_range)
    # Groups that lack work-items, and would store less, are those of plain ranges, which have no local memory.
    alike = frozenset(_allocated(program.body)) if program.geometry.groups > 1 else frozenset()
    while alike:
        plan = analysis.analyse(program, rows, alike)
        equations = list(_equations(program.body, plan, dimensions))
        memories = {plan.values[eqn.outvars[0]]: eqn.outvars[0] for eqn, plan, _ in equations if _allocates(eqn)}
        differing = {plan.values[eqn.invars[0]] for eqn, plan, diverging in equations if diverging and _changes(eqn)}
        differing |= {plan.values[eqn.invars[0]] for eqn, plan, _ in equations if _differs(eqn, plan, dimensions)}
        found = {memories[memory] for memory in differing if memory in memories} & alike
        if not found:
            return plan
        alike -= found
    return None


def _allocated(body: Body) -> Iterator[jex_core.Var]:
    for eqn in body.eqns:
        if _allocates(eqn):
            yield eqn.outvars[0]
        for inner in jaxprs.bodies(eqn):
            yield from _allocated(inner)


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


def _changes(eqn: jex_core.JaxprEqn) -> bool:
    return eqn.primitive in primitives.ACCESSES and eqn.primitive is not primitives.load_p


def _differs(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> bool:
    """Whether it changes a memory, and not in all groups alike, or by an atomic operation."""
    if not _changes(eqn):
        return False
    varying = any(plan.value(a, dimensions).varying for a in eqn.invars[1:])
    return varying or eqn.primitive is not primitives.store_p
