"""Numbers for the values of a program: what has one number is computed in one way, and therefore equal."""

from collections.abc import Hashable, Sequence

from jax.extend import core as jex_core

from xeemu import jaxprs


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
