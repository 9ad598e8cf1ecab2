"""Quotients: divisions that round down, as `//` writes them, of numbers that are not negative by positive ones.

There is nothing to correct then, but neither intervals nor a compiler find that out: where the signs differ because the
number is 0, it is the remainder that says so.
"""

from collections.abc import Sequence

from jax.extend import core as jex_core

from xeemu.knowledge.intervals import Interval
from xeemu.language import jaxprs
from xeemu.language.jaxprs import Atom, Body


def division(body: Body, operands: Sequence[Interval | None]) -> jex_core.JaxprEqn | None:
    """The division in a (sub)program that gives the quotient of its two operands, if they are such numbers.

    Args:
      body: the program.
      operands: the intervals of its operands.
    """
    if len(operands) != 2 or operands[0] is None or operands[1] is None or len(body.outvars) != 1:
        return None
    dtypes = {v.aval.dtype for v in (*body.invars, *body.outvars)}
    natural = operands[0][0] >= 0 and operands[1][0] > 0 and len(dtypes) == 1
    return _Floor(body).division if natural else None


class _Floor:
    """A (sub)program that may be `where((sign(a) != sign(b)) & (rem(a, b) != 0), div(a, b) - 1, div(a, b))`."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.made = {v: eqn for eqn in body.eqns for v in eqn.outvars}

    @property
    def division(self) -> jex_core.JaxprEqn | None:
        """That of `a` by `b`, if it is."""
        chosen = self._operands(self.body.outvars[0], "select_n") or self._where(self.body.outvars[0])
        if chosen is None:
            return None
        corrected, quotient, less = chosen
        one_less = self._operands(less, "sub")
        if one_less is None or one_less[0] is not quotient or not _is_number(one_less[1], 1):
            return None
        conditions = self._operands(corrected, "and")
        holds = self._divides(quotient, "div") and conditions is not None and self._corrects(*conditions)
        return self.made[quotient] if holds else None

    def _corrects(self, signs: Atom, rest: Atom) -> bool:
        differ, remains = self._operands(signs, "ne"), self._operands(rest, "ne")
        if differ is None or remains is None or not _is_number(remains[1], 0) or not self._divides(remains[0], "rem"):
            return False
        of = [self._operands(a, "sign") for a in differ]
        return all(a is not None and self._is_input(a[0], k) for k, a in enumerate(of))

    def _divides(self, atom: Atom, name: str) -> bool:
        operands = self._operands(atom, name)
        return operands is not None and all(self._is_input(a, k) for k, a in enumerate(operands))

    def _is_input(self, atom: Atom, number: int) -> bool:
        """Whether it is an operand of the whole, converted at most to the dtype that it has."""
        operand, converted = self.body.invars[number], self._operands(atom, "convert_element_type")
        same = converted is not None and converted[0] is operand and atom.aval.dtype == operand.aval.dtype
        return atom is operand or same

    def _where(self, atom: Atom) -> list[Atom] | None:
        """The operands of a choice that is a subprogram of its own, in the order of `select_n`."""
        eqn = None if jaxprs.is_literal(atom) else self.made.get(atom)
        match None if eqn is None else jaxprs.structure(eqn):
            case jaxprs.Call(body) if len(body.eqns) == 1 and body.eqns[0].primitive.name == "select_n":
                given = dict(zip(body.invars, eqn.invars, strict=True)) if eqn else {}
                found = [given.get(a) for a in body.eqns[0].invars if not jaxprs.is_literal(a)]
                return [a for a in found if a is not None] if len(found) == 3 and None not in found else None
        return None

    def _operands(self, atom: Atom, name: str) -> list[Atom] | None:
        """The operands of the operation that makes a value, if it is the one of such a name."""
        eqn: jex_core.JaxprEqn | None = None if jaxprs.is_literal(atom) else self.made.get(atom)
        return list(eqn.invars) if eqn is not None and eqn.primitive.name == name else None


def _is_number(atom: Atom, number: int) -> bool:
    return jaxprs.is_literal(atom) and jaxprs.literal(atom).ndim == 0 and jaxprs.literal(atom) == number
