"""Numbers for the values of a program: what has one number is computed in one way, and therefore equal."""

from collections.abc import Hashable, Sequence
from typing import Any

from jax.extend import core as jex_core

from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Atom, Body


class Numbers:
    """Gives equal numbers to equal operations on operands of equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def of(self, key: Hashable) -> int:
        """The number of whatever a key describes."""
        return self._numbers.setdefault(key, len(self._numbers))

    def new(self) -> int:
        """A number that nothing else has."""
        return self.of(object())

    def literal(self, atom: jex_core.Literal) -> int:
        value = jaxprs.literal(atom)
        return self.of(("literal", str(value.dtype), value.shape, value.tobytes()))

    def results(self, eqn: jex_core.JaxprEqn, operands: Sequence[int]) -> list[int]:
        """The numbers of what an operation gives, which depends on its operands alone."""
        key = (eqn.primitive, _parameters(eqn), tuple(operands))
        return [self.of((key, k)) for k in range(len(eqn.outvars))]


def _parameters(eqn: jex_core.JaxprEqn) -> Hashable:
    """The static part of an operation, which only equals itself where that cannot be told."""
    key = tuple(sorted(eqn.params.items(), key=lambda item: item[0]))
    try:
        hash(key)
    except TypeError:
        return id(eqn)
    return key


def of_body(body: Body) -> dict[Any, int]:
    """By `key` numbers of the values of a (sub)program, equal where they are computed in one way."""
    numbers = Numbers()
    found: dict[Any, int] = {v: numbers.new() for v in (*body.invars, *(v for v, _ in body.constants))}
    for eqn in body.eqns:
        for a in eqn.invars:
            if jaxprs.is_literal(a):
                found[key(a)] = numbers.literal(a)
        # A memory is its version here, so that a load is a function of its operands as well.
        alone = eqn.primitive is primitives.allocate_p or eqn.effects
        operands = [found[key(a)] for a in eqn.invars]
        results = [numbers.new() for _ in eqn.outvars] if alone else numbers.results(eqn, operands)
        found |= dict(zip(eqn.outvars, results, strict=True))
    return found


def key(atom: Atom) -> Any:
    """What stands for a variable or literal in a dictionary."""
    return id(atom) if jaxprs.is_literal(atom) else atom
