"""Runtime values: values that depend on the launch's arguments, so that no compiler knows them before the program runs.

A compiler folds what it knows, and joins constants that follow one another (see `emission.exactness`). A value counts
as one of the run only if no choice, product or power with what is known leaves it known: where that is not sure, it
does not count. Of a memory all stores are looked at together; it counts as long as none stores anything else.
"""

import operator
from collections.abc import Mapping, Sequence, Set

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Op, Value
from xeemu.ir.table import Kind
from xeemu.knowledge import analysis
from xeemu.knowledge.analysis import Facts, Known

RuntimeValues = Mapping[Facts, Set[Value]]
"""For each (sub)program on each call path its runtime values."""


@analysis.fact
def of_program(facts: Facts) -> RuntimeValues:
    """The runtime values of the whole program that `facts` are of; a memory counts if all that it holds are such."""
    constant = set[Known]()
    while True:
        search = _Search(constant)
        search.body(facts, facts.body.inputs)
        if search.constant == constant:
            return search.found
        constant = search.constant


class _Search:
    """One look at a program.

    Attributes:
      known: the memories that hold something that is known, as far as that was seen before.
      constant: the same, with what is seen now.
      found: the runtime values so far.
    """

    def __init__(self, known: Set[Known]):
        self.known, self.constant = known, set(known)
        self.found: dict[Facts, Set[Value]] = {}

    def body(self, facts: Facts, inputs: Sequence[Value]) -> list[bool]:
        """True if each output of a (sub)program is a runtime value, with those that it takes."""
        found = set(inputs)
        for number, op in enumerate(facts.body.ops):
            found.update(v for v, is_one in zip(op.results, self._op(op, number, facts, found), strict=True) if is_one)
        self.found[facts] = found
        return [v in found for v in facts.body.outputs]

    def _op(self, op: Op, number: int, facts: Facts, found: Set[Value]) -> Sequence[bool]:
        if op.regions:
            return self._structured(op, facts.within(number), found)
        if op.name in ops.ACCESSES:
            return self._access(op, facts, found)
        is_one = _computed(op, facts, found)
        return [is_one] * len(op.results)

    def _access(self, op: Op, facts: Facts, found: Set[Value]) -> Sequence[bool]:
        memory = facts.values[op.operands[0]]
        if op.name == ops.LOAD:
            mask = ops.mask(op)
            reaches = mask is None or mask in found or op.operands[-1] in found
            return [memory not in self.known and reaches]
        first = 1 + op.attributes["access"].rank
        stored = op.operands[first : -1 if ops.mask(op) is not None else None]
        if not all(v in found for v in stored):
            self.constant.add(memory)
        return [v.memory != "" or memory not in self.known for v in op.results]

    def _structured(self, op: Op, inner: Sequence[Facts], found: Set[Value]) -> Sequence[bool]:
        def outputs(number: int, flags: Sequence[bool]) -> list[bool]:
            inputs = zip(inner[number].body.all_inputs, flags, strict=True)
            return self.body(inner[number], [v for v, is_one in inputs if is_one])

        results = control.propagated(op, [v in found for v in op.used], outputs, operator.and_)
        of_run = isinstance(control.of(op), control.Cond) and op.operands[0] in found
        return [True] * len(op.results) if of_run else results


def _computed(op: Op, facts: Facts, found: Set[Value]) -> bool:
    """True if the results of an operation without regions, which reads no memory, are runtime values."""
    traits = ops.of(op)
    each = [v in found for v in op.operands]
    if op.name == "select_n":
        return each[0] or all(each[1:])
    if traits.kind in (Kind.ALLOCATION, Kind.ORDER):
        return True
    elementwise = traits.is_elementwise and not traits.chooses and op.name not in ("pow", "integer_pow")
    if not (elementwise or traits.is_reduction or traits.is_scan or traits.kind in (Kind.COLLECTIVE, Kind.CONTRACTION)):
        return bool(each) and all(each)
    return any(each) and not (elementwise and _cancels(op, facts))


def _cancels(op: Op, facts: Facts) -> bool:
    """True if integers may have left a known number of an operation."""
    if all(np.issubdtype(v.dtype, np.floating) for v in op.operands):
        return False
    known = facts.values.get(op.results[0])
    same = len(op.operands) == 2 and op.operands[0] is op.operands[1]
    return same or (known is not None and known.only is not None)
