"""Numbers for the values of a program: what has one number is computed in one way, and therefore equal."""

from collections.abc import Hashable, Sequence

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Region, Value


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
    key = tuple(sorted(op.attributes.items(), key=lambda item: item[0]))
    try:
        hash(key)
    except TypeError:
        return id(op)
    return key


def of_body(body: Region) -> dict[Value, int]:
    """Numbers of the values of a (sub)program, equal where they are computed in one way."""
    numbers = Numbers()
    found = {v: numbers.new() for v in body.taken}
    for op in body.ops:
        found |= {a: numbers.constant(a) for a in op.used if isinstance(a, Constant)}
        # A memory is its version here, so that a load is a function of its operands as well.
        alone = op.name == ops.ALLOCATE or op.has_effects
        operands = [found[a] for a in op.used]
        results = [numbers.new() for _ in op.results] if alone else numbers.results(op, operands)
        found |= dict(zip(op.results, results, strict=True))
    return found
