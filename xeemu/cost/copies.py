"""Copies: values that are others, as lanes have them which chose one of two, or as a vector of all elements of one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xeemu.ir.program import Op


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

    def of(self, number: int, lanes: frozenset[int]) -> int:
        """What a value is a copy of for lanes that meet some conditions; itself if it is none."""
        while number in self._chosen and self._chosen[number][0] <= lanes:
            number = self._chosen[number][1]
        elements = [self._elements.get(self.of(each, lanes)) for each in self._vectors.get(number, ())]
        if elements and (first := elements[0]) is not None:
            every = [_Element(first.of, at, len(elements)) for at in range(first.size)]
            return self.of(first.of, lanes) if elements == every else number
        return number


def _only_element(op: Op) -> int | None:
    """Which element a slice has of each row; None if it has others, or not all rows."""
    starts, limits, shape = op.attributes["start_indices"], op.attributes["limit_indices"], op.operands[0].shape
    whole = tuple(starts[:-1]) == (0,) * (len(shape) - 1) and tuple(limits[:-1]) == tuple(shape[:-1])
    return starts[-1] if shape and whole and limits[-1] == starts[-1] + 1 else None
