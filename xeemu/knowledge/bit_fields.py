"""Bit fields: of which bits of which other value an integer consists, as far as the program only takes values apart.

Shifts to the right, masks, and quotients and remainders by powers of 2 take fields; moves of elements, and conversions
that keep every value, change nothing about them.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from xeemu.ir import control
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge import constant_folding, forms, intervals
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.intervals import Interval

_MOST = 16
"""Values, each computed from the one before, that a field is followed through."""

LARGEST = 1 << 16
"""Elements of a value that is looked at, each of which has its index."""


@dataclasses.dataclass(frozen=True, eq=False)
class BitField:
    """Integers that are `(x >> shift) & mask` of a value's elements `x`, in two's complement of endless width.

    Attributes:
      value: it, of an integer dtype.
      shift: bits below the field.
      mask: the bits of the field; -1 for all from `shift` on.
      positions: the flat positions of the value's elements, of the integers' shape.
    """

    value: Value
    shift: int
    mask: int
    positions: np.ndarray

    def of(self, part: "BitField") -> "BitField":
        """The same integers, if this field's value is itself a field."""
        mask = self.mask & (part.mask >> self.shift)
        return BitField(part.value, part.shift + self.shift, mask, part.positions.reshape(-1)[self.positions])


@dataclasses.dataclass(frozen=True, eq=False)
class Reader:
    """Reads fields from the (sub)program that `facts` are of."""

    facts: Facts

    def fields(self, value: Value) -> Iterator[BitField]:
        """An integer as a field of itself, of the value that it is computed from, and so on."""
        field = _whole_value(value)
        for _ in range(_MOST):
            if field is None:
                return
            yield field
            part = self._field_of_operand(field.value)
            field = None if part is None else field.of(part)

    def constant_elements(self, value: Value) -> np.ndarray | None:
        """What is known before the program runs: int64."""
        form = self.facts.value(value).form
        return form.pattern if form is not None and form.constant else None

    def interval(self, value: Value) -> Interval | None:
        return self.facts.value(value).interval

    def _single(self, value: Value) -> int | None:
        pattern = self.constant_elements(value)
        return None if pattern is None else forms.single(pattern)

    def _field_of_operand(self, value: Value) -> BitField | None:
        """Which field of an operand the result of an operation is."""
        op = self.facts.body.definitions.get(value)
        if op is None:
            return None
        if isinstance(control.of(op), control.Call):
            return self._field_of_call(op, value)
        if op.name in constant_folding.MOVES:
            whole, move = _whole_value(op.operands[0]), constant_folding.MOVES[op.name]
            return dataclasses.replace(whole, positions=move(op.attributes, whole.positions)) if whole else None
        operands = self._operands(op) if op.operands else None
        if operands is None or operands[0].shape != value.shape:
            return None
        whole = _whole_value(operands[0])
        return dataclasses.replace(whole, shift=operands[1], mask=operands[2]) if whole else None

    def _field_of_call(self, op: Op, value: Value) -> BitField | None:
        """Which field of an operand the result of a function is."""
        (facts,) = self.facts.within(self.facts.body.ops.index(op))
        given = dict(zip(facts.body.inputs, op.operands, strict=True))
        fields = Reader(facts).fields(facts.body.outputs[list(op.results).index(value)])
        found = next((f for f in fields if f.value in given), None)
        if found is None or isinstance(given[found.value], Constant):
            return None
        return dataclasses.replace(found, value=given[found.value])

    def _operands(self, op: Op) -> tuple[Value, int, int] | None:
        """Of what an elementwise operation takes apart the operand, the shift and the mask."""
        name, first, last = op.name, op.operands[0], op.operands[-1]
        if name == "convert_element_type":
            fits = intervals.within(self.interval(first), intervals.of_dtype(op.results[0].dtype))
            return (first, 0, -1) if fits else None
        if name == "select_n":
            case, cases = self._single(first), op.operands[1:]
            return (cases[case], 0, -1) if case is not None and 0 <= case < len(cases) else None
        if name == "and" and self._single(first) is not None:
            first, last = last, first
        amount, interval = self._single(last), self.interval(first)
        operands = _field(name, amount, interval, first.dtype) if amount is not None and interval else None
        return (first, *operands) if operands else None


def _whole_value(value: Value) -> BitField | None:
    """A value as a field of itself."""
    if isinstance(value, Constant) or not _is_integer(value.dtype) or value.size > LARGEST:
        return None
    return BitField(value, 0, -1, np.arange(value.size).reshape(value.shape))


def _is_integer(dtype: Any) -> bool:
    """True if it is an integer type of whole bytes."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iu"


def _field(name: str, amount: int, x: Interval, dtype: np.dtype) -> tuple[int, int] | None:
    """The shift and the mask by which an operation with a known second operand takes a field of the first."""
    if name == "and":
        return (0, amount)
    divisor = intervals.divisor(name, amount, x, dtype)
    if divisor is None or divisor.bit_count() != 1:
        return None
    return (0, divisor - 1) if name == "rem" else (divisor.bit_length() - 1, -1)
