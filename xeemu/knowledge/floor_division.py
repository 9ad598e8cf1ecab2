"""Floor division: divisions that round down, as `//` writes them, of numbers that are not negative by positive ones.

There is nothing to correct then, but neither intervals nor a compiler find that out: where the signs differ because the
number is 0, it is the remainder that says so.
"""

import dataclasses
from collections.abc import Callable, Mapping

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge.intervals import Interval


def natural(value: Value, definitions: Mapping[Value, Op], interval: Callable[[Value], Interval | None]) -> Op | None:
    """The division that gives a value which is the quotient of two such numbers, rounded down.

    Args:
      value: the value.
      definitions: for the values around it the operations that compute them.
      interval: of a value.
    """
    division = _Floor(definitions).division(value)
    if division is None:
        return None
    number, divisor = map(interval, division.operands)
    return division if number and divisor and number[0] >= 0 and divisor[0] > 0 else None


@dataclasses.dataclass(frozen=True)
class _Floor:
    """Finds `where((sign(a) != sign(b)) & (rem(a, b) != 0), div(a, b) - 1, div(a, b))` among operations."""

    definitions: Mapping[Value, Op]

    def division(self, value: Value) -> Op | None:
        """That of `a` by `b`, if the value is such a one."""
        chosen = self._operands(value, "select_n") or self._where(value)
        if chosen is None or len(chosen) != 3:
            return None
        corrected, quotient, less = chosen
        one_less, conditions = self._operands(less, "sub"), self._operands(corrected, "and")
        if one_less is None or one_less[0] is not quotient or not _is_number(one_less[1], 1) or conditions is None:
            return None
        of = self._operands(quotient, "div")
        return self.definitions[quotient] if of is not None and self._corrects(conditions, of) else None

    def _corrects(self, conditions: list[Value], of: list[Value]) -> bool:
        differ, remains = (self._operands(condition, "ne") for condition in conditions)
        if differ is None or remains is None or not _is_number(remains[1], 0):
            return False
        rest, signs = self._operands(remains[0], "rem"), [self._operands(sign, "sign") for sign in differ]
        return rest is not None and self._are(rest, of) and self._are([s[0] for s in signs if s], of)

    def _are(self, values: list[Value], others: list[Value]) -> bool:
        """True if some values are the same as others, two each."""
        return len(values) == 2 and all(
            a is b or (isinstance(a, Constant) and isinstance(b, Constant) and a.array == b.array)
            for a, b in zip(*(self._unconverted(each) for each in (values, others)), strict=True)
        )

    def _unconverted(self, values: list[Value]) -> list[Value]:
        return [ops.unconverted(value, self.definitions) for value in values]

    def _where(self, value: Value) -> list[Value] | None:
        """The operands of a choice that is a subprogram of its own, in the order of `select_n`."""
        op = self.definitions.get(value)
        match None if op is None else control.of(op):
            case control.Call(body) if op is not None and len(body.ops) == 1 and body.ops[0].name == "select_n":
                return _given(op, body)
        return None

    def _operands(self, value: Value, name: str) -> list[Value] | None:
        """The operands of the operation that makes a value, if it is the one of such a name."""
        op = self.definitions.get(value)
        return list(op.operands) if op is not None and op.name == name else None


def _given(call: Op, body: Region) -> list[Value]:
    """What is called for the operands of the only operation of a body."""
    given = dict(zip(body.inputs, call.operands, strict=True))
    return [given[a] for a in body.ops[0].operands if a in given]


def _is_number(value: Value, number: int) -> bool:
    return isinstance(value, Constant) and value.array.ndim == 0 and bool(value.array == number)
