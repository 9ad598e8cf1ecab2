"""Reinterpretation: `as_type`, the bits of a value as another type of the same size. The device is little-endian."""

from collections.abc import Sequence

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.builtins.components import number
from xeemu.frontends.types import Scalar, Type, Vector
from xeemu.frontends.values import Components, Number, Value


def reinterpreted(arguments: Sequence[Value], of: Type) -> Value:
    """The bits of the only argument as a type."""
    (value,) = arguments
    numbers = composites.leaves(value)
    element, count = (of.element, of.count) if isinstance(of, Vector) else (of, 1)
    assert isinstance(element, Scalar)
    if len(numbers) == 3 and count != 3:
        numbers = [*numbers, values.constant(0, numbers[0].type)]
    if numbers[0].type.size < element.size:
        found = _joined(numbers, element)
    else:
        found = [piece for n in numbers for piece in _parted(n, element)]
    if isinstance(of, Vector):
        return Components(of, tuple(found[:count]))
    return found[0]


def bits(n: Number, to: Scalar) -> Number:
    """`values.bits`, of integers with their intervals where those are kept."""
    return values.bits(n, to) if n.type.is_float or to.is_float else values.converted(n, to)


def _joined(numbers: Sequence[Number], of: Scalar) -> list[Number]:
    """Numbers of a wider type, each from several, the lowest first."""
    wide, width = types.unsigned(of), 8 * numbers[0].type.size
    each = of.size // numbers[0].type.size
    found = []
    for k in range(0, len(numbers), each):
        total: Value = values.constant(0, wide)
        for place, n in enumerate(numbers[k : k + each]):
            part = values.converted(bits(n, types.unsigned(n.type)), wide)
            moved = arithmetic.binary("<<", part, values.constant(place * width, types.INT), wide)
            total = arithmetic.binary("|", total, moved, wide)
        found.append(bits(number(total), of))
    return found


def _parted(n: Number, of: Scalar) -> list[Number]:
    """The numbers of a type as wide or narrower that a number's bits consist of, the lowest first."""
    if n.type.size == of.size:
        return [bits(n, of)]
    whole, narrow = bits(n, types.unsigned(n.type)), types.unsigned(of)
    places = range(0, 8 * n.type.size, 8 * of.size)
    shifts = (arithmetic.binary(">>", whole, values.constant(k, types.INT), whole.type) for k in places)
    return [bits(values.converted(number(s), narrow), of) for s in shifts]
