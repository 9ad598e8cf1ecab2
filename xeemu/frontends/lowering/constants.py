"""Constants: variables in the constant address space that the program itself initialises.

They are looked up in an array of NumPy's: no memory of the launch, and nothing that can be written.
"""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Cast, Expression, Initializer, Text, Variable
from xeemu.frontends.types import Scalar, Type
from xeemu.frontends.values import Number


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """A pointer into a constant.

    Attributes:
      type: what the pointer points to.
      numbers: the constant's numbers, in order, each a NumPy scalar.
      offset: of the numbers before what is pointed to, an integer.
    """

    type: Type
    numbers: tuple[np.generic, ...]
    offset: Number


def value(walk: Walk, variable: Variable) -> Any:
    """The value of a constant: an array is a pointer to its first element."""
    table = start(walk, variable)
    return table if isinstance(variable.type, types.Array) else looked_up(walk, table, variable.type)


def start(walk: Walk, variable: Variable) -> Any:
    """A pointer to a constant."""
    if variable not in walk.constants:
        walk.constants[variable] = flat(walk, variable.initializer, variable.type)
    return Table(variable.type, walk.constants[variable], values.constant(0, types.INT))


def characters(text: str) -> Any:
    """A pointer to the first character of a string."""
    return Table(types.CHAR, _characters(text, types.CHAR), values.constant(0, types.INT))


def flat(walk: Walk, node: Expression | None, of: Type) -> tuple[np.generic, ...]:
    """The numbers of an initialiser, zeros where it gives none."""
    if node is None:
        return tuple(np.zeros(1, s.dtype)[0] for _, s in types.scalars(of))
    while isinstance(node, Cast) and isinstance(node.operand, Initializer):
        node = node.operand
    if isinstance(node, Text):
        return _characters(node.value, of)
    if isinstance(node, Initializer) and isinstance(of, types.Array | types.Record) and not _is_union(of):
        kinds = [of.element] * of.count if isinstance(of, types.Array) else [f.type for f in of.fields]
        given = [*node.items, *[None] * (len(kinds) - len(node.items))]
        return tuple(n for item, kind in zip(given, kinds, strict=True) for n in flat(walk, item, kind))
    found = composites.leaves(arithmetic.converted(walk.evaluate(node), of))
    if not all(n.known for n in found):
        raise walk.refuse("a constant is initialised with what is not known before the kernel runs", node.place)
    return tuple(values.exact(n) for n in found)  # type: ignore[misc]


def held(of: Type, given: Any) -> tuple[np.generic, ...]:
    """The numbers of a record, of its bytes."""
    raw = bytes(given)
    return tuple(np.frombuffer(raw, s.dtype, 1, offset)[0] for offset, s in types.scalars(of))


def _is_union(of: Type) -> bool:
    return isinstance(of, types.Record) and of.union


def _characters(text: str, of: Type) -> tuple[np.generic, ...]:
    count = of.count if isinstance(of, types.Array) else len(text) + 1
    codes = np.zeros(count, np.int8)
    codes[: len(text)] = np.frombuffer(text.encode("latin1")[:count], np.int8)
    return tuple(codes)


def _numbers_of(of: Type) -> int:
    return len(types.scalars(of))


def advanced(pointer: Table, by: Number, size_bytes: int) -> Any:
    """A pointer some elements further: of an array of arrays, into its next one."""
    inner = pointer.type.element if isinstance(pointer.type, types.Array) else pointer.type
    step = values.constant(_numbers_of(inner), types.INT)
    distance = arithmetic.binary("*", values.converted(by, types.INT), step, types.INT)
    offset = arithmetic.binary("+", pointer.offset, distance, types.INT)
    return Table(inner, pointer.numbers, offset)  # type: ignore[arg-type]


def looked_up(walk: Walk, pointer: Table, to: Type) -> Any:
    """The value of a type that a pointer points to; an array is a pointer to its first element."""
    if isinstance(to, types.Array):
        return Table(to, pointer.numbers, pointer.offset)
    scalars = types.scalars(to)
    return composites.assembled(to, [_number(pointer, k, scalar) for k, (_, scalar) in enumerate(scalars)])


def _number(pointer: Table, k: int, of: Scalar) -> Number:
    offset = arithmetic.binary("+", pointer.offset, values.constant(k, types.INT), types.INT)
    assert isinstance(offset, Number)
    if offset.known:
        at = int(offset.data)
        return _constant(pointer.numbers[at] if 0 <= at < len(pointer.numbers) else of.dtype.type(0), of)
    values.need(of.dtype)
    column = np.asarray([n.astype(of.dtype) for n in pointer.numbers], of.dtype)
    data = jnp.asarray(column).at[values.index(offset)].get(mode="clip")
    inside = (int(column.min()), int(column.max())) if of.is_integer else None
    return values.held(of, data, inside)


def _constant(number: np.generic, of: Scalar) -> Number:
    return values.Number(of, number.astype(of.dtype)) if of.is_float else values.constant(number, of)
