"""Dependence: whether what a kernel stores was computed from what certain loads have given."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Facts
from xeemu.language.linearity import Allocation

Find = Callable[[Key], Allocation | None]


class Dependent(NamedTuple):
    """What follows from some loads, by key.

    Attributes:
      updates: the stores and atomic operations whose values do, also through memory.
      steered: the accesses whose index or mask does, or whether they are executed at all.
    """

    updates: frozenset[Key]
    steered: frozenset[Key]


def of_loads(facts: Facts, loads: Iterable[Key], memory: Find) -> Dependent:
    """What follows from some loads.

    Args:
      facts: what is known of the program.
      loads: the loads, by their key.
      memory: the memory of an access; None if it is never executed.
    """
    propagation = _Propagation(frozenset(loads), memory)
    while propagation.grows(facts):
        pass
    return Dependent(frozenset(propagation.updates), frozenset(propagation.steered))


def _accesses(facts: Facts) -> set[Key]:
    """The accesses of a (sub)program and its inner ones."""
    found: set[Key] = set()
    for number, op in enumerate(facts.body.ops):
        if op.name in ops.ACCESSES:
            found.add((facts, number))
        elif op.regions:
            found = found.union(*map(_accesses, facts.inner[number]))
    return found


class _Propagation:
    """Which values, memories and updates are known to depend; passes over the program until there are no more."""

    def __init__(self, loads: frozenset[Key], memory: Find):
        self.loads, self.memory = loads, memory
        self.values: set[tuple[Facts, Any]] = set()
        self.memories: set[Allocation] = set()
        self.updates: set[Key] = set()
        self.steered: set[Key] = set()

    def grows(self, facts: Facts) -> bool:
        before = self._size
        self._body(facts)
        return self._size > before

    @property
    def _size(self) -> int:
        return len(self.values) + len(self.memories) + len(self.updates)

    def _depends(self, facts: Facts, value: Value) -> bool:
        return not isinstance(value, Constant) and (facts, value) in self.values

    def _body(self, facts: Facts) -> None:
        for number, op in enumerate(facts.body.ops):
            if op.name in ops.ACCESSES:
                self._access(facts, number, op)
            elif op.regions:
                self._structure(facts, number, op)
            elif any(self._depends(facts, a) for a in op.used):
                self.values |= {(facts, v) for v in op.results}

    def _access(self, facts: Facts, number: int, op: Op) -> None:
        key, operands = (facts, number), op.operands[1:]
        memory = self.memory(key)
        depends = any(self._depends(facts, a) for a in operands)
        mask = ops.mask(op)
        if any(self._depends(facts, a) for a in (*ops.indices(op), *([] if mask is None else [mask]))):
            self.steered.add(key)
        if ops.changes(op) and depends:
            self.updates.add(key)
            if memory is not None:
                self.memories.add(memory)
        given = ops.value_results(op)
        if given and (depends or key in self.loads or memory in self.memories):
            self.values |= {(facts, v) for v in given}

    def _structure(self, facts: Facts, number: int, op: Op) -> None:
        structure = control.of(op)
        decided = False
        for k, inside in enumerate(facts.inner[number]):
            inner = inside.body
            given = control.region_operands(op, op.used, k)
            self.values |= {
                (inside, v) for value, v in zip(given, inner.all_inputs, strict=True) if self._depends(facts, value)
            }
            self._body(inside)
            if isinstance(structure, control.While) and k == 0:
                decided = self._depends(inside, inner.outputs[0])
                continue
            self._results(facts, op, inside)
            carried = control.carried(structure, inner)
            self.values |= {
                (inside, v) for v, out in zip(carried, inner.outputs, strict=False) if self._depends(inside, out)
            }
        if isinstance(structure, control.Cond):
            decided = self._depends(facts, op.operands[0])
        if decided:
            self.values |= {(facts, v) for v in op.results}
            self.steered = self.steered.union(*map(_accesses, facts.inner[number]))

    def _results(self, facts: Facts, op: Op, inside: Facts) -> None:
        pairs = zip(op.results, inside.body.outputs, strict=True)
        self.values |= {(facts, v) for v, out in pairs if self._depends(inside, out)}
