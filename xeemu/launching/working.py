"""Working: the memory that the emulation of one work-group takes, as it is foreseen."""

import collections
import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from jax.extend import core as jex_core

from xeemu.emission import addressing, forwarding, updating
from xeemu.ir import ops
from xeemu.knowledge import analysis
from xeemu.knowledge.analysis import Plan, Value
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body
from xeemu.language.program import Program


def group_bytes(program: Program, plan: Plan, turns: int, watched: bool = False) -> int:
    """Working set of one group: its memories and what it keeps in registers, as if little were fused.

    Args:
      program: the program.
      plan: its analysis.
      turns: the most iterations of a loop that find together what they update (see `updating`).
      watched: whether somebody sees every access, so that there are memories that are not needed otherwise.
    """
    everything = program.local_bytes + program.private_bytes * program.geometry.items
    memories = everything if watched else _needed_bytes(program, plan)
    return memories + _live_bytes(program.body, plan, _Blocks(program.geometry.items, turns))


def _needed_bytes(program: Program, plan: Plan) -> int:
    """The memories of a group, but for those that all groups share or nobody needs (see `likeness`, `forwarding`).

    Nobody needs those of which all loads may be forwarded, unless they come out of a branch, or of a loop that groups
    leave at different times, which keep what the others have.
    """
    geometry = program.geometry
    copies = {"local": 1, "private": geometry.items}
    allocated, needed = list[tuple[Value, int]](), set[Value]()
    for body, plan_of_body in analysis.bodies(program.body, plan):
        forwarded = forwarding.of_body(body, plan_of_body, geometry)
        for number, eqn in enumerate(body.eqns):
            p = eqn.params
            if eqn.primitive is primitives.allocate_p:
                each = math.prod(p["shape"]) * np.dtype(p["dtype"]).itemsize
                allocated.append((plan_of_body.values[eqn.outvars[0]], each * copies[p["space"]]))
            elif eqn.primitive in primitives.ACCESSES:
                if eqn.primitive is not primitives.store_p and number not in forwarded:
                    needed.add(plan_of_body.values[eqn.invars[0]])
            elif _keeps(number, eqn, plan_of_body, len(geometry.group_range)):
                needed |= {plan_of_body.values[v] for v in eqn.outvars}
    return sum(size for value, size in allocated if value in needed and not value.alike)


def _keeps(number: int, eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> bool:
    """Whether it is a branch, or a loop that groups may leave at different times."""
    match jaxprs.structure(eqn):
        case jaxprs.Cond():
            return True
        case jaxprs.While(predicate=predicate):
            return plan.inner[number][0].value(predicate.outvars[0], dimensions).varying
    return False


def is_straight(body: Body, plan: Plan, dimensions: int) -> bool:
    """Whether a (sub)program has values that a compiler can fuse, and nothing else.

    It has neither loops nor branches but for what is the same in all groups, gives no old values of atomic operations,
    updates memories at places that are known, and loads no window that may be out of bounds, of which chunks would be
    in bounds.
    """
    for number, eqn in enumerate(body.eqns):
        if all(_is_common(plan.values[v]) for v in eqn.outvars):
            continue
        if eqn.primitive in primitives.ACCESSES and not _is_fused(eqn, plan, dimensions):
            return False
        inner = plan.within(number, eqn)
        called = isinstance(jaxprs.structure(eqn), jaxprs.Call | None)
        if not called or not all(is_straight(b, p, dimensions) for b, p in inner):
            return False
    return True


def _is_common(known: Value) -> bool:
    """Whether groups share a value, or a memory that is not the launch's."""
    return not known.varying and known.space != "global"


def _is_fused(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> bool:
    """Whether an access is one that compilers fuse with what computes its operands or uses its result."""
    indices = [plan.value(a, dimensions) for a in primitives.indices(eqn)]
    known = all(index.form is not None for index in indices)
    if primitives.operation(eqn) != "load":
        return known and not eqn.params.get("fetch")
    return not known or not analysis.doubted(eqn, plan, dimensions)


def transposes(body: Body, plan: Plan, dimensions: int) -> bool:
    """Whether a (sub)program without loops and branches accesses a global memory along other axes than its groups'."""
    accesses = (eqn for eqn in body.eqns if eqn.primitive in primitives.ACCESSES)
    of_global = (eqn for eqn in accesses if plan.values[eqn.invars[0]].space == "global")
    return any(_is_transposed(eqn, plan, dimensions) for eqn in of_global)


def _is_transposed(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> bool:
    """Whether a memory has what a later dimension of the group range is for further apart than an earlier one's."""
    form = addressing.foreseen(eqn, plan, dimensions).form
    steps = [abs(step) for step in form.steps if step] if form is not None else []
    return steps != sorted(steps, reverse=True)


@dataclasses.dataclass(frozen=True)
class _Blocks:
    """The blocks of loops that only update memories.

    Attributes:
      items: work-items of a group.
      turns: the most iterations of a block.
    """

    items: int
    turns: int

    def bytes(self, eqn: jex_core.JaxprEqn, plan: Plan, alive: int) -> int:
        """What a loop takes, of which one iteration keeps so many bytes alive."""
        updates = updating.of_loop(eqn, plan, self.items) if self.turns > 1 else None
        scan = jaxprs.structure(eqn)
        if updates is None or not isinstance(scan, jaxprs.Scan):
            return alive
        return min(self.turns, scan.length) * (alive + updating.found_bytes(scan.body, updates))


def _live_bytes(body: Body, plan: Plan, blocks: _Blocks) -> int:
    """The most bytes of varying values that are alive at once in a (sub)program."""
    fused = _fused(body, plan)
    last_use = {a: n for n, eqn in enumerate(body.eqns) for a in eqn.invars if not jaxprs.is_literal(a)}
    last_use |= {a: len(body.eqns) for a in body.outvars if not jaxprs.is_literal(a)}
    dying = collections.defaultdict[int, list[jex_core.Var]](list)
    for variable, number in last_use.items():
        dying[number].append(variable)
    most = alive = sum(_bytes(v, plan) for v in body.invars if v in last_use)
    for number, eqn in enumerate(body.eqns):
        inner = _carried_out(number, eqn, plan)
        inside = max((blocks.bytes(eqn, p, _live_bytes(b, p, blocks)) for b, p in inner), default=0)
        alive += sum(_bytes(v, plan) for v in eqn.outvars if v not in fused)
        most = max(most, alive + inside)
        dead = (v for v in {*dying[number], *eqn.outvars} - fused if last_use.get(v, number) == number)
        alive -= sum(_bytes(v, plan) for v in dead)
    return most


def _carried_out(number: int, eqn: jex_core.JaxprEqn, plan: Plan) -> Sequence[tuple[Body, Plan]]:
    """The bodies of an equation, with their plans; of branches only the one that all groups take, if it is known."""
    inner = plan.within(number, eqn)
    if not isinstance(jaxprs.structure(eqn), jaxprs.Cond) or jaxprs.is_literal(eqn.invars[0]):
        return inner
    only = plan.values[eqn.invars[0]].only
    return inner if only is None else [inner[min(max(only, 0), len(inner) - 1)]]


def _fused(body: Body, plan: Plan) -> set[jex_core.Var]:
    """The values that any compiler fuses with the operation that uses them, the only one."""
    users = collections.defaultdict[jaxprs.Atom, list[jex_core.JaxprEqn | None]](list)
    for eqn in (*body.eqns, None):
        for atom in body.outvars if eqn is None else eqn.invars:
            if not jaxprs.is_literal(atom):
                users[atom].append(eqn)
    made = (v for eqn in body.eqns if _is_elementwise(eqn) or _is_sliced(eqn, plan) for v in eqn.outvars)
    return {v for v in made if len(users[v]) == 1 and (user := users[v][0]) is not None and _is_elementwise(user)}


def _is_elementwise(eqn: jex_core.JaxprEqn) -> bool:
    # Not of all that is: the chunks of launches were measured with those that NumPy folds.
    return ops.of(eqn).folds


def _is_sliced(eqn: jex_core.JaxprEqn, plan: Plan) -> bool:
    """Whether it loads from places that are known but for where they begin."""
    if eqn.primitive is not primitives.load_p:
        return False
    return all(jaxprs.is_literal(a) or plan.values[a].form is not None for a in primitives.indices(eqn))


def _bytes(variable: jex_core.Var, plan: Plan) -> int:
    known = plan.values[variable]
    if known.space or not known.varying or known.form is not None:
        return 0
    return math.prod(variable.aval.shape) * variable.aval.dtype.itemsize
