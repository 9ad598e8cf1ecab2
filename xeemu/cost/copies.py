"""Copies: values that are others: one that lanes chose of two, all elements of a vector, or an operand left unchanged.

An operand is left unchanged by a float that is neutral, and by a conversion to more bits and back.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xeemu.ir.program import Constant, Op, Value

_NEUTRAL = {"mul": 1.0, "div": 1.0, "sub": 0.0, "add": -0.0}
"""What changes no float as the second operand, and of what commutes as the first; LLVM drops it (InstSimplify)."""


class _Element(NamedTuple):
    """An element along the last axis of a value.

    Attributes:
      of: the value's number.
      at: which element.
      size: elements along the axis.
    """

    of: int
    at: int
    size: int


class Copies:
    """Knows by number what values are copies of."""

    def __init__(self) -> None:
        self._chosen: dict[int, tuple[frozenset[int], int]] = {}  # the conditions for a choice, and what it is then
        self._elements: dict[int, _Element] = {}
        self._vectors: dict[int, Sequence[int]] = {}  # what the elements of a vector are
        self._unchanged: dict[int, int] = {}  # of what gives an operand as it is, that operand
        self._narrower: dict[int, tuple[int, np.dtype]] = {}  # what a value was before it got more bits, and its dtype

    def note(self, op: Op, used: Sequence[int], result: int, conditions: frozenset[int]) -> None:
        """Notes an operation.

        Args:
          op: the operation.
          used: numbers of its operands.
          result: that of its result.
          conditions: the conditions that hold where its first operand does.
        """
        if op.name == "select_n" and op.operands[0].dtype == np.bool_:
            self._chosen[result] = conditions, used[2]
        elif op.name == "slice" and (at := _only_element(op)) is not None:
            self._elements[result] = _Element(used[0], at, op.operands[0].shape[-1])
        elif op.name == "squeeze" and op.results[0].shape == op.operands[0].shape[:-1] and used[0] in self._elements:
            self._elements[result] = self._elements[used[0]]
        elif op.name == "stack" and op.attributes["axis"] == len(op.results[0].shape) - 1:
            self._vectors[result] = used
        elif op.name == "convert_element_type":
            self._note_conversion(op, used[0], result)
        elif (kept := _unchanged_operand(op, used)) is not None:
            self._unchanged[result] = used[kept]

    def _note_conversion(self, op: Op, operand: int, result: int) -> None:
        before, after = op.operands[0].dtype, op.results[0].dtype
        if _has_more_bits(after, before):
            self._narrower[result] = operand, before
        elif operand in self._narrower and self._narrower[operand][1] == after:
            self._unchanged[result] = self._narrower[operand][0]

    def of(self, number: int, lanes: frozenset[int]) -> int:
        """What a value is a copy of for lanes that meet some conditions; itself if it is none."""
        while (of := self._directly(number, lanes)) is not None:
            number = of
        elements = [self._elements.get(self.of(each, lanes)) for each in self._vectors.get(number, ())]
        if elements and (first := elements[0]) is not None:
            every = [_Element(first.of, at, len(elements)) for at in range(first.size)]
            return self.of(first.of, lanes) if elements == every else number
        return number

    def _directly(self, number: int, lanes: frozenset[int]) -> int | None:
        """The value that another one is a copy of by a single operation."""
        conditions, chosen = self._chosen.get(number, (None, None))
        if conditions is not None and conditions <= lanes:
            return chosen
        return self._unchanged.get(number)


def _unchanged_operand(op: Op, used: Sequence[int]) -> int | None:
    """The position of the operand that the result of an operation is, as the other one is neutral; None if none is."""
    if op.name not in _NEUTRAL or op.results[0].dtype.kind != "f":
        return None
    pairs = [(0, 1), (1, 0)] if op.name in ("mul", "add") else [(0, 1)]
    shape, neutral = op.results[0].shape, _NEUTRAL[op.name]
    return next((k for k, n in pairs if op.operands[k].shape == shape and _is_all(op.operands[n], neutral)), None)


def _is_all(value: Value, number: float) -> bool:
    """True if all elements of a value are a float, the sign of a zero too."""
    if not isinstance(value, Constant):
        return False
    array = np.asarray(value.array)
    return bool((array == number).all() and (np.signbit(array) == np.signbit(number)).all())


def _has_more_bits(after: np.dtype, before: np.dtype) -> bool:
    """True if what is converted between some dtypes has its bits in more."""
    alike = (after.kind in "iu" and before.kind in "iu") or after.kind == before.kind == "f"
    return alike and after.itemsize > before.itemsize


def _only_element(op: Op) -> int | None:
    """Which element a slice has of each row; None if it has others, or not all rows."""
    starts, limits, shape = op.attributes["start_indices"], op.attributes["limit_indices"], op.operands[0].shape
    whole = tuple(starts[:-1]) == (0,) * (len(shape) - 1) and tuple(limits[:-1]) == tuple(shape[:-1])
    return starts[-1] if shape and whole and limits[-1] == starts[-1] + 1 else None
