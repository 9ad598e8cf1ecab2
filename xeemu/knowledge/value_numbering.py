"""Value numbering: numbers of a program's values, one and the same for all that are computed in one way."""

from collections.abc import Hashable, Sequence

from xeemu.ir.program import Constant, Op


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

    def constant(self, value: Constant) -> int:
        """That of a constant: numbers of one type and value are equal, and an array only itself."""
        if not value.is_literal:
            return self.of(value)
        return self.of(("literal", str(value.dtype), value.shape, value.array.tobytes()))

    def results(self, op: Op, operands: Sequence[int]) -> list[int]:
        """The numbers of what an operation gives, which depends on its operands alone."""
        key = (op.name, _attributes(op), op.regions, tuple(operands))
        return [self.of((key, k)) for k in range(len(op.results))]


def _attributes(op: Op) -> Hashable:
    """The static part of an operation, which only equals itself where that cannot be told."""
    if not op.attributes:
        return ()
    key = tuple(sorted(op.attributes.items(), key=lambda item: item[0]))
    try:
        hash(key)
    except TypeError:
        return id(op)
    return key
