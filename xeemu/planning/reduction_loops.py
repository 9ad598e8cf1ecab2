"""Reduction loops: loops that only combine integers with what they carry, in any order.

What an iteration combines with a carry depends on no such carry: it is what the iteration leaves if it begins with the
neutral element. So all the iterations of a block find it together, see `batched_loops`.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from xeemu.ir.program import Op, Region, Value
from xeemu.knowledge.analysis import Facts
from xeemu.language import collectives
from xeemu.planning.loop_accesses import CountedLoop

_AS = {op: op for op in collectives.OPERATIONS} | {"sub": "add"}
_SHAPING = frozenset({"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "copy"})


@dataclasses.dataclass(frozen=True)
class Reduced:
    """A carry with which each iteration combines something.

    Attributes:
      op: by which operation.
    """

    op: str


def of_carries(loop: CountedLoop, carries: Collection[int], updates: Collection[int]) -> Mapping[int, Reduced] | None:
    """The reductions of some carries of a loop; None if one is none, or if what the loop updates follows from one.

    Args:
      loop: the loop, which only carries.
      carries: their numbers.
      updates: the numbers of the operations that update its memories.
    """
    body = loop.body
    if not all(_may_be_reduced(body.inputs[k], loop.facts) for k in carries):
        return None
    found = _dependences(body, carries)
    if any(a in found for n in updates for a in body.ops[n].operands):
        return None
    after = {k: found.get(body.outputs[k], _OTHERWISE) for k in carries}
    if any(one.carry != k or not one.op for k, one in after.items()):
        return None
    return {k: Reduced(one.op) for k, one in after.items()}


def _may_be_reduced(carry: Value, facts: Facts) -> bool:
    """True if a carry is made of integers, the order of whose sums does not count, and can be emitted as a value."""
    known = facts.values[carry]
    if carry.dtype.kind not in "iub" or known.space:
        return False
    return known.form is None or (known.form.uniform and not known.form.pattern.any())


@dataclasses.dataclass(frozen=True)
class _Combined:
    """How a value depends on what is carried from iteration to iteration.

    Attributes:
      carry: it is the carry of this number, combined with what does not depend on any; -1 if it depends in another way.
      op: by which operation; empty as long as it is the carry itself.
    """

    carry: int
    op: str = ""

    def by(self, op: str) -> "_Combined":
        """Combined once more."""
        return _Combined(self.carry, op) if self.op in ("", op) else _OTHERWISE


_OTHERWISE = _Combined(-1)


def _dependences(body: Region, carries: Collection[int]) -> dict[Value, _Combined]:
    """How values of a loop's body depend on some of its carries; those that do not are left out."""
    found = {body.inputs[k]: _Combined(k) for k in carries}
    for op in body.ops:
        operands = [found.get(a) for a in op.used]
        if any(operands):
            found |= dict.fromkeys(op.results, _result(op, operands))
    return found


def _result(op: Op, operands: list[_Combined | None]) -> _Combined:
    """How the result of an operation depends on the carries, of which it uses one at least."""
    name, (first, *rest) = op.name, operands
    if name == "select_n":
        return _OTHERWISE if first is not None else _either(rest)
    if name in _SHAPING:
        one_each = op.operands[0].size == op.results[0].size
        return first if first is not None and one_each and _is_same(op, 0) else _OTHERWISE
    if name in _AS and rest == [None] and first is not None:
        return first.by(_AS[name])
    if name in _AS and name != "sub" and first is None and rest[0] is not None:
        return rest[0].by(name)
    return _OTHERWISE


def _is_same(op: Op, number: int) -> bool:
    """True if the result of an operation has the dtype of one of its operands."""
    return bool(op.operands[number].dtype == op.results[0].dtype)


def _either(values: Sequence[_Combined | None]) -> _Combined:
    """How a value depends on the carries that is one of several, whichever."""
    carries = {-1 if value is None else value.carry for value in values}
    ops = {value.op for value in values if value is not None and value.op}
    return _Combined(carries.pop(), "".join(ops)) if len(carries) == 1 and len(ops) < 2 else _OTHERWISE
