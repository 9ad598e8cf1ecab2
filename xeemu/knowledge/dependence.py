"""Dependence: whether what a kernel stores was computed from what certain loads have given."""

from collections.abc import Callable, Iterable
from typing import Any

from jax.extend import core as jex_core

from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.schedule import Key
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body
from xeemu.language.linearity import Allocation

Find = Callable[[Key], Allocation | None]


def dependent_updates(body: Body, plan: Plan, loads: Iterable[Key], memory: Find) -> frozenset[Key]:
    """The stores and atomic operations whose values follow from some loads, also through memory.

    Args:
      body: the program.
      plan: its analysis.
      loads: the loads, by their key.
      memory: the memory of an access; None if it is never executed.
    """
    walk = _Walk(frozenset(loads), memory)
    while walk.grows(body, plan):
        pass
    return frozenset(walk.updates)


def steered_accesses(body: Body, plan: Plan, loads: Iterable[Key], memory: Find) -> frozenset[Key]:
    """The accesses whose index or mask, or whether they are executed at all, follows from some loads.

    Args: as for `dependent_updates`.
    """
    walk = _Walk(frozenset(loads), memory)
    while walk.grows(body, plan):
        pass
    return frozenset(walk.steered)


def _accesses(body: Body, plan: Plan) -> set[Key]:
    """The accesses of a (sub)program and its inner ones."""
    found: set[Key] = set()
    for number, eqn in enumerate(body.eqns):
        if eqn.primitive in primitives.ACCESSES:
            found.add((plan, number))
        elif inner := jaxprs.bodies(eqn):
            found = found.union(*map(_accesses, inner, plan.inner[number]))
    return found


class _Walk:
    """Which values, memories and updates are known to depend; passes over the program until there are no more."""

    def __init__(self, loads: frozenset[Key], memory: Find):
        self.loads, self.memory = loads, memory
        self.values: set[tuple[Plan, Any]] = set()
        self.memories: set[Allocation] = set()
        self.updates: set[Key] = set()
        self.steered: set[Key] = set()

    def grows(self, body: Body, plan: Plan) -> bool:
        before = self._size
        self._body(body, plan)
        return self._size > before

    @property
    def _size(self) -> int:
        return len(self.values) + len(self.memories) + len(self.updates)

    def _depends(self, plan: Plan, atom: jaxprs.Atom) -> bool:
        return not jaxprs.is_literal(atom) and (plan, atom) in self.values

    def _body(self, body: Body, plan: Plan) -> None:
        for number, eqn in enumerate(body.eqns):
            if eqn.primitive in primitives.ACCESSES:
                self._access(plan, number, eqn)
            elif jaxprs.bodies(eqn):
                self._structure(plan, number, eqn)
            elif any(self._depends(plan, a) for a in eqn.invars):
                self.values |= {(plan, v) for v in eqn.outvars}

    def _access(self, plan: Plan, number: int, eqn: jex_core.JaxprEqn) -> None:
        key, operands = (plan, number), eqn.invars[1:]
        memory, op = self.memory(key), primitives.operation(eqn)
        depends = any(self._depends(plan, a) for a in operands)
        mask = primitives.mask(eqn)
        if any(self._depends(plan, a) for a in (*primitives.indices(eqn), *([] if mask is None else [mask]))):
            self.steered.add(key)
        if op != "load" and depends:
            self.updates.add(key)
            if memory is not None:
                self.memories.add(memory)
        reads = op == "load" or bool(eqn.params.get("fetch"))
        if reads and (depends or key in self.loads or memory in self.memories):
            self.values |= {(plan, v) for v in eqn.outvars[:1]}

    def _structure(self, plan: Plan, number: int, eqn: jex_core.JaxprEqn) -> None:
        structure = jaxprs.structure(eqn)
        decided = False
        for k, (inner, inside) in enumerate(zip(jaxprs.bodies(eqn), plan.inner[number], strict=True)):
            given = jaxprs.given(structure, eqn.invars, k)
            self.values |= {
                (inside, v) for atom, v in zip(given, inner.invars, strict=True) if self._depends(plan, atom)
            }
            self._body(inner, inside)
            if isinstance(structure, jaxprs.While) and k == 0:
                decided = self._depends(inside, inner.outvars[0])
                continue
            self._results(plan, eqn, inner, inside)
            carried = jaxprs.carried(structure, inner)
            self.values |= {
                (inside, v) for v, out in zip(carried, inner.outvars, strict=False) if self._depends(inside, out)
            }
        if isinstance(structure, jaxprs.Cond):
            decided = self._depends(plan, eqn.invars[0])
        if decided:
            self.values |= {(plan, v) for v in eqn.outvars}
            self.steered = self.steered.union(*map(_accesses, jaxprs.bodies(eqn), plan.inner[number]))

    def _results(self, plan: Plan, eqn: jex_core.JaxprEqn, inner: Body, inside: Plan) -> None:
        pairs = zip(eqn.outvars, inner.outvars, strict=True)
        self.values |= {(plan, v) for v, out in pairs if self._depends(inside, out)}
