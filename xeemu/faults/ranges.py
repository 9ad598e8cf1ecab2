"""Ranges: what values the operands of a program's integer operations can take.

The schedule knows more than the analysis alone: the launch's scalars, and what loops count.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jax.extend import core as jex_core

from xeemu.ir import ops
from xeemu.knowledge import intervals
from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.expressions import Expression
from xeemu.knowledge.intervals import Interval
from xeemu.knowledge.schedule import Key
from xeemu.language import jaxprs

_DIVIDING = {"floor_divide": "div", "remainder": "rem", "fmod": "rem"}
"""What functions of `jax.numpy` compute by more than one operation, of which the user wrote one."""


class Ranges:
    """The operations of a program with the ranges of their operands, joined over all of their executions.

    Attributes:
      operations: by key the equation and the range of each operand; None of one that is no integer.
    """

    def __init__(self) -> None:
        self._found: dict[Key, tuple[jex_core.JaxprEqn, list[Interval | None]]] = {}
        self._written: set[Plan] = set()

    @property
    def operations(self) -> Mapping[Key, tuple[jex_core.JaxprEqn, Sequence[Interval | None]]]:
        return self._found

    def look(self, plan: Plan, number: int, eqn: jex_core.JaxprEqn, operands: Sequence[Any]) -> None:
        """Takes note of an equation as the schedule comes by it, with what it knows of its operands."""
        if plan in self._written:
            self._written.update(plan.inner.get(number, ()))
        elif (name := operation(eqn)) is not None:
            if jaxprs.bodies(eqn):
                self._written.update(plan.inner[number])
            if (ops.named(name).wraps or ops.named(name).partial) and eqn.outvars[0].aval.dtype.kind in "iu":
                self._note((plan, number), eqn, operands)

    def _note(self, key: Key, eqn: jex_core.JaxprEqn, operands: Sequence[Any]) -> None:
        now = [o.interval if isinstance(o, Expression) else None for o in operands]
        before = self._found.get(key)
        if before is not None:
            now = [intervals.join(a, b) for a, b in zip(before[1], now, strict=True)]
        self._found[key] = eqn, now


def operation(eqn: jex_core.JaxprEqn) -> str | None:
    """The name of the operation that an equation is; also of a call of `jax.numpy` that is written as one."""
    if not isinstance(jaxprs.structure(eqn), jaxprs.Call):
        return None if jaxprs.bodies(eqn) else str(eqn.primitive.name)
    name = _DIVIDING.get(eqn.params.get("name", ""))
    divides = name is not None and len(eqn.invars) == 2 and len(eqn.outvars) == 1 and _divides(eqn)
    return name if divides else None


def _divides(eqn: jex_core.JaxprEqn) -> bool:
    """Whether a call divides integers, and is no other function of the same name."""
    names = {inner.primitive.name for body in jaxprs.bodies(eqn) for inner in jaxprs.equations(body)}
    return not names.isdisjoint(("div", "rem")) and all(v.aval.dtype.kind in "iu" for v in eqn.invars)
