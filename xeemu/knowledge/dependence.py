"""Dependence: whether what a kernel stores was computed from what certain loads have given."""

from collections.abc import Callable, Iterable
from typing import Any

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Plan
from xeemu.language.linearity import Allocation

Find = Callable[[Key], Allocation | None]


def dependent_updates(body: Region, plan: Plan, loads: Iterable[Key], memory: Find) -> frozenset[Key]:
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


def steered_accesses(body: Region, plan: Plan, loads: Iterable[Key], memory: Find) -> frozenset[Key]:
    """The accesses whose index or mask, or whether they are executed at all, follows from some loads.

    Args: as for `dependent_updates`.
    """
    walk = _Walk(frozenset(loads), memory)
    while walk.grows(body, plan):
        pass
    return frozenset(walk.steered)


def _accesses(body: Region, plan: Plan) -> set[Key]:
    """The accesses of a (sub)program and its inner ones."""
    found: set[Key] = set()
    for number, op in enumerate(body.ops):
        if op.name in ops.ACCESSES:
            found.add((plan, number))
        elif inner := op.regions:
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

    def grows(self, body: Region, plan: Plan) -> bool:
        before = self._size
        self._body(body, plan)
        return self._size > before

    @property
    def _size(self) -> int:
        return len(self.values) + len(self.memories) + len(self.updates)

    def _depends(self, plan: Plan, value: Value) -> bool:
        return not isinstance(value, Constant) and (plan, value) in self.values

    def _body(self, body: Region, plan: Plan) -> None:
        for number, op in enumerate(body.ops):
            if op.name in ops.ACCESSES:
                self._access(plan, number, op)
            elif op.regions:
                self._structure(plan, number, op)
            elif any(self._depends(plan, a) for a in op.used):
                self.values |= {(plan, v) for v in op.results}

    def _access(self, plan: Plan, number: int, op: Op) -> None:
        key, operands = (plan, number), op.operands[1:]
        memory, operation = self.memory(key), ops.operation(op)
        depends = any(self._depends(plan, a) for a in operands)
        mask = ops.mask(op)
        if any(self._depends(plan, a) for a in (*ops.indices(op), *([] if mask is None else [mask]))):
            self.steered.add(key)
        if operation != "load" and depends:
            self.updates.add(key)
            if memory is not None:
                self.memories.add(memory)
        reads = operation == "load" or bool(op.attributes.get("fetch"))
        if reads and (depends or key in self.loads or memory in self.memories):
            self.values |= {(plan, v) for v in op.results[:1]}

    def _structure(self, plan: Plan, number: int, op: Op) -> None:
        structure = control.of(op)
        decided = False
        for k, (inner, inside) in enumerate(zip(op.regions, plan.inner[number], strict=True)):
            given = control.given(op, op.used, k)
            self.values |= {
                (inside, v) for value, v in zip(given, inner.taken, strict=True) if self._depends(plan, value)
            }
            self._body(inner, inside)
            if isinstance(structure, control.While) and k == 0:
                decided = self._depends(inside, inner.outputs[0])
                continue
            self._results(plan, op, inner, inside)
            carried = control.carried(structure, inner)
            self.values |= {
                (inside, v) for v, out in zip(carried, inner.outputs, strict=False) if self._depends(inside, out)
            }
        if isinstance(structure, control.Cond):
            decided = self._depends(plan, op.operands[0])
        if decided:
            self.values |= {(plan, v) for v in op.results}
            self.steered = self.steered.union(*map(_accesses, op.regions, plan.inner[number]))

    def _results(self, plan: Plan, op: Op, inner: Region, inside: Plan) -> None:
        pairs = zip(op.results, inner.outputs, strict=True)
        self.values |= {(plan, v) for v, out in pairs if self._depends(inside, out)}
