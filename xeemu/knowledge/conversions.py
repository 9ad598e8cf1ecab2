"""Conversions: the check of stored values whose dtype alone does not tell if bits are lost.

Two kinds reach this check (`operands.may_be_lossless`): weakly typed integers, which must be shown to fit, and values
of 64 bits in a kernel that is traced with 64-bit types, which must be so wide only because that mode is on.
"""

import operator
from collections.abc import Sequence

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.ir.table import Kind
from xeemu.knowledge import intervals
from xeemu.knowledge.analysis import Facts, Known
from xeemu.language import operands, primitives, source, user_calls
from xeemu.language.program import Program

_WIDE = 8


def check(program: Program, facts: Facts) -> None:
    """Checks all stores of a program.

    Raises:
      KernelError: a stored value could lose bits.
    """
    # A Python scalar has passed the launch only if it fits 32 bits.
    inputs = [v.dtype.itemsize == _WIDE and not v.weak_type for v in program.body.inputs]
    memories = zip(program.arguments, program.body.inputs, strict=True)
    names = {facts.values[v]: memory.name for memory, v in memories if memory}
    _Check(names).body(facts, inputs)


class _Check:
    """Follows which 64-bit values carry 64-bit data; values of 32 bits and less never do."""

    def __init__(self, names: dict[Known, str]):
        self._names = names  # of memories, all versions of which share one `Known`

    def body(self, facts: Facts, inputs: Sequence[bool]) -> list[bool]:
        genuine: dict[Value, bool] = dict(zip(facts.body.all_inputs, inputs, strict=True))
        for number, op in enumerate(facts.body.ops):
            is_wide = any(v.dtype.itemsize == _WIDE for v in op.results)
            if is_wide or op.name in ops.LANGUAGE or control.of(op) is not None:
                given = [self._genuine(genuine, a) for a in op.used]
                genuine |= dict(zip(op.results, self._op(facts, number, op, given), strict=True))
            else:
                genuine |= dict.fromkeys(op.results, False)
        return [self._genuine(genuine, a) for a in facts.body.outputs]

    def _genuine(self, genuine: dict[Value, bool], value: Value) -> bool:
        if isinstance(value, Constant):
            return _beyond_32_bits(value.array)
        return genuine[value]

    def _op(self, facts: Facts, number: int, op: Op, given: list[bool]) -> list[bool]:
        if control.of(op) is not None:
            inner = facts.inner[number]
            return control.propagated(op, given, lambda k, taken: self.body(inner[k], taken), operator.or_)
        if op.name == ops.ALLOCATE:
            self._names[facts.values[op.results[0]]] = op.attributes["name"]
        if op.name in ops.ACCESSES:
            self._store(facts, op, given)
        return [v.dtype.itemsize == _WIDE and self._produces_64_bits(op, given) for v in op.results]

    def _produces_64_bits(self, op: Op, given: list[bool]) -> bool:
        """True if a 64-bit result of `op` carries 64-bit data."""
        if op.name in ops.LANGUAGE:
            kind = ops.of(op).kind
            return kind in (Kind.ID, Kind.ACCESS, Kind.ALLOCATION) or any(given)
        narrow = all(v.dtype.itemsize < _WIDE for v in op.used)
        if op.name == "bitcast_convert_type":
            return True
        if op.name == "convert_element_type" and narrow:
            return user_calls.asks_for_dtype(op)
        return any(given)

    def _store(self, facts: Facts, op: Op, given: list[bool]) -> None:
        access: primitives.AccessAttributes = op.attributes["access"]
        dtype = op.operands[0].dtype
        # The mask is bool and stands before what a masked-out load gives, or at the end.
        first = 1 + access.rank
        for value, genuine in zip(op.operands[first:], given[first:], strict=True):
            if value.dtype.kind == "b" and access.masked:
                continue
            if value.dtype == dtype or not self._may_lose(facts, value, genuine, dtype):
                continue
            name = self._names[facts.value(op.operands[0])]
            raise source.kernel_error(operands.lossy(value.dtype, dtype, name), source.of_op(op))

    def _may_lose(self, facts: Facts, value: Value, genuine: bool, dtype: np.dtype) -> bool:
        interval = facts.value(value).interval
        if intervals.within(interval, intervals.of_dtype(dtype)) and interval != intervals.of_dtype(value.dtype):
            return False
        return genuine or value.dtype.itemsize < _WIDE


def _beyond_32_bits(values: np.ndarray) -> bool:
    """True if integers need more than 32 bits, signed or unsigned; floats count as widened by the mode."""
    interval = intervals.of_array(values)
    return interval is not None and not intervals.within(interval, (-(2**31), 2**32 - 1))
