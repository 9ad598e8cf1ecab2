"""Ranges: what values the operands of a program's integer operations can take.

The access tree knows more than the analysis alone: the launch's scalars, and what loops count.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from xeemu.ir import control, ops
from xeemu.ir.program import Op
from xeemu.knowledge import intervals
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.expressions import Expression
from xeemu.knowledge.intervals import Interval

_DIVIDING = {"floor_divide": "div", "remainder": "rem", "fmod": "rem"}
"""What functions of `jax.numpy` compute by more than one operation, of which the user wrote one."""


class Ranges:
    """The operations of a program with the ranges of their operands, joined over all of their executions.

    Attributes:
      operations: by key the operation and the range of each operand; None of one that is no integer.
    """

    def __init__(self) -> None:
        self._found: dict[Key, tuple[Op, list[Interval | None]]] = {}
        self._written: set[Facts] = set()

    @property
    def operations(self) -> Mapping[Key, tuple[Op, Sequence[Interval | None]]]:
        return self._found

    def look(self, facts: Facts, number: int, op: Op, operands: Sequence[Any]) -> None:
        """Takes note of an operation as it is carried out symbolically, with what it knows of its operands."""
        if facts in self._written:
            self._written.update(facts.inner.get(number, ()))
        elif (name := operation(op)) is not None:
            if op.regions:
                self._written.update(facts.inner[number])
            if (ops.named(name).wraps or ops.named(name).partial) and op.results[0].dtype.kind in "iu":
                self._note((facts, number), op, operands)

    def _note(self, key: Key, op: Op, operands: Sequence[Any]) -> None:
        now = [o.interval if isinstance(o, Expression) else None for o in operands]
        before = self._found.get(key)
        if before is not None:
            now = [intervals.join(a, b) for a, b in zip(before[1], now, strict=True)]
        self._found[key] = op, now


def operation(op: Op) -> str | None:
    """What an operation is called; also a call of `jax.numpy` that is written as one."""
    if not isinstance(control.of(op), control.Call):
        return None if op.regions else str(op.name)
    name = _DIVIDING.get(op.attributes["name"])
    divides = name is not None and len(op.operands) == 2 and len(op.results) == 1 and _divides(op)
    return name if divides else None


def _divides(op: Op) -> bool:
    """True if a call divides integers, and is no other function of the same name."""
    names = {inner.name for body in op.regions for inner in body.walk()}
    return not names.isdisjoint(("div", "rem")) and all(v.dtype.kind in "iu" for v in op.used)
