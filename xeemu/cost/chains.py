"""Chains: for how long the instructions of a body wait for one another.

Instructions are issued in order, and wait for what they need: a body takes as long as the longest path from what it
begins with to its results. Iterations that a compiler carries out side by side share that but for what goes from one to
the next. Lengths are in instructions of ordinary latency.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from xeemu.cost import algorithms, pipes, unrolling
from xeemu.devices.device import Device
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge.access_tree import Node

_Lengths = Mapping[int, float]
"""Of the longest path to a value from each input of the body that there is one from, and from where it begins."""

_START = -1
_WITHOUT_RESULT = ("barrier", "fence", algorithms.EXCHANGE)


class Chain:
    """The chain of a body, whose operations are told in order.

    Attributes:
      length: so far.
    """

    def __init__(self, node: Node) -> None:
        self.length = 0.0
        self._node = node
        inputs = node.body.inputs if node.kind == "iteration" else ()
        self._to: dict[Any, _Lengths] = {value: {k: 0.0, _START: 0.0} for k, value in enumerate(inputs)}
        self._first: dict[Value, Value] = {}  # of versions of memories, the one that the body begins with

    def add(self, op: Op, length: float, equal: Op) -> None:
        """An operation, whose instructions take so long; or which is equal to one before it, or to itself."""
        if equal is not op:
            self._to |= {v: self._to[e] for v, e in zip(op.results, equal.results, strict=True) if e in self._to}
            return
        lengths: dict[int, float] = {_START: 0.0}
        for value in self._needed(op):
            for k, before in self._to.get(value, {}).items():
                lengths[k] = max(lengths.get(k, 0.0), before)
        found = {k: before + length for k, before in lengths.items()}
        self.length = max(self.length, found[_START])
        self._to |= dict.fromkeys(ops.value_results(op) if op.name in ops.ACCESSES else op.results, found)
        if op.name in ops.ACCESSES and ops.changes(op):
            self._store(op, found)

    def each(self, iterations: float) -> float:
        """The length for each of so many iterations side by side."""
        in_turn = self._in_turn()
        return in_turn + (self.length - in_turn) / iterations

    def _needed(self, op: Op) -> Sequence[Any]:
        """What an operation waits for: of a private memory for the element that it accesses, of another for none."""
        if op.name not in ops.ACCESSES:
            return op.used
        return [*op.operands[1:], self._element(op)]

    def _store(self, op: Op, found: _Lengths) -> None:
        before, after = op.operands[0], op.results[-1]
        self._first[after] = self._first.get(before, before)
        element = self._element(op)
        self._to[element] = found
        # Elements in other places in each iteration are not those of the iteration before.
        if element is not None and not any(k >= 0 for v in ops.indices(op) for k in self._to.get(v, ())):
            whole = self._to.get(before, {})
            self._to[after] = {k: max(found.get(k, 0.0), whole.get(k, 0.0)) for k in {*found, *whole}}

    def _element(self, op: Op) -> Any:
        """Equal for accesses of a body to the same element of a private memory; None of other memories."""
        memory = op.operands[0]
        if self._node.facts.values[memory].space != "private":
            return None
        first = self._first.get(memory, memory)
        element = (first, *map(of_literal, ops.indices(op)))
        invariant = not any(k >= 0 for v in ops.indices(op) for k in self._to.get(v, ()))
        if invariant and first in self._to:
            self._to.setdefault(element, self._to[first])
        return element

    def _in_turn(self) -> float:
        """What each iteration waits for that the one before has computed: the longest path that comes round."""
        body = self._node.body
        carries = control.carried(unrolling.loop_of(self._node), body)
        paths = [self._to.get(value, {}) for value in body.outputs[: len(carries)]]
        reached = [{k for k in path if 0 <= k < len(paths)} for path in paths]
        for middle, through in enumerate(reached):
            for found in reached:
                found |= through if middle in found else set()
        around = (path[m] for k, path in enumerate(paths) for m in path if 0 <= m < len(paths) and k in reached[m])
        return max(around, default=0.0)


def length_of(instructions: Mapping[str, float], device: Device) -> float:
    """How long some instructions wait that each wait for the one before."""
    return sum(n * pipes.latency(name, device) for name, n in instructions.items() if name not in _WITHOUT_RESULT)


def of_literal(value: Value) -> Any:
    """Equal for literals that are; other values are themselves."""
    if isinstance(value, Constant) and value.is_literal:
        return value.array.tobytes(), value.dtype, value.shape
    return value
