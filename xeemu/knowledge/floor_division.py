"""Floor division: divisions that round down, as `//` writes them, of numbers that are not negative by positive ones.

There is nothing to correct then, but neither intervals nor a compiler find that out: where the signs differ because the
number is 0, it is the remainder that says so.
"""

from collections.abc import Sequence

from xeemu.ir import control
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge.intervals import Interval


def division(body: Region, operands: Sequence[Interval | None]) -> Op | None:
    """The division in a (sub)program that gives the quotient of its two operands, if they are such numbers.

    Args:
      body: the program.
      operands: the intervals of its operands.
    """
    if len(operands) != 2 or operands[0] is None or operands[1] is None or len(body.outputs) != 1:
        return None
    dtypes = {v.dtype for v in (*body.inputs, *body.outputs)}
    natural = operands[0][0] >= 0 and operands[1][0] > 0 and len(dtypes) == 1
    return _Floor(body).division if natural else None


class _Floor:
    """A (sub)program that may be `where((sign(a) != sign(b)) & (rem(a, b) != 0), div(a, b) - 1, div(a, b))`."""

    def __init__(self, body: Region) -> None:
        self.body = body
        self.made = {v: op for op in body.ops for v in op.results}

    @property
    def division(self) -> Op | None:
        """That of `a` by `b`, if it is."""
        chosen = self._operands(self.body.outputs[0], "select_n") or self._where(self.body.outputs[0])
        if chosen is None:
            return None
        corrected, quotient, less = chosen
        one_less = self._operands(less, "sub")
        if one_less is None or one_less[0] is not quotient or not _is_number(one_less[1], 1):
            return None
        conditions = self._operands(corrected, "and")
        holds = self._divides(quotient, "div") and conditions is not None and self._corrects(*conditions)
        return self.made[quotient] if holds else None

    def _corrects(self, signs: Value, rest: Value) -> bool:
        differ, remains = self._operands(signs, "ne"), self._operands(rest, "ne")
        if differ is None or remains is None or not _is_number(remains[1], 0) or not self._divides(remains[0], "rem"):
            return False
        of = [self._operands(a, "sign") for a in differ]
        return all(a is not None and self._is_input(a[0], k) for k, a in enumerate(of))

    def _divides(self, value: Value, name: str) -> bool:
        operands = self._operands(value, name)
        return operands is not None and all(self._is_input(a, k) for k, a in enumerate(operands))

    def _is_input(self, value: Value, number: int) -> bool:
        """Whether it is an operand of the whole, converted at most to the dtype that it has."""
        operand, converted = self.body.inputs[number], self._operands(value, "convert_element_type")
        same = converted is not None and converted[0] is operand and value.dtype == operand.dtype
        return value is operand or same

    def _where(self, value: Value) -> list[Value] | None:
        """The operands of a choice that is a subprogram of its own, in the order of `select_n`."""
        op = None if isinstance(value, Constant) else self.made.get(value)
        match None if op is None else control.of(op):
            case control.Call(body) if len(body.ops) == 1 and body.ops[0].name == "select_n":
                given = dict(zip(body.inputs, op.operands, strict=True)) if op else {}
                found = [given.get(a) for a in body.ops[0].operands if not isinstance(a, Constant)]
                return [a for a in found if a is not None] if len(found) == 3 and None not in found else None
        return None

    def _operands(self, value: Value, name: str) -> list[Value] | None:
        """The operands of the operation that makes a value, if it is the one of such a name."""
        op: Op | None = None if isinstance(value, Constant) else self.made.get(value)
        return list(op.operands) if op is not None and op.name == name else None


def _is_number(value: Value, number: int) -> bool:
    return isinstance(value, Constant) and value.array.ndim == 0 and value.array == number
