"""Unions in registers: the value of their largest member, of whose bits the others are read.

A union is in registers where its record holds a pointer as well, which no memory holds.
"""

from collections.abc import Mapping

from xeemu.frontends import types
from xeemu.frontends.builtins.reinterpretation import reinterpreted
from xeemu.frontends.composites import leaves
from xeemu.frontends.types import Record, Scalar, Type, Vector
from xeemu.frontends.values import Components, Fields, Number, Value


def held(of: Record) -> types.Field:
    """The member whose value is kept, as `types.scalars` has it."""
    return max(of.fields, key=lambda f: f.type.size)


def member(of: Record, items: Mapping[str, Value], name: str) -> Value:
    """The value of a member."""
    kept = held(of)
    if name == kept.name:
        return items[name]
    wanted = of.field(name).type
    element, count = _numbers(wanted)
    pieces = _pieces(items[kept.name], element, kept.type.size)
    return Components(wanted, tuple(pieces[:count])) if isinstance(wanted, Vector) else pieces[0]


def replaced(of: Record, items: Mapping[str, Value], name: str, new: Value) -> Fields:
    """The union after a member was given a value; the bytes beyond it stay."""
    kept = held(of)
    if name == kept.name:
        return Fields(of, {name: new})
    element, _ = _numbers(of.field(name).type)
    numbers = leaves(new)
    pieces = [*numbers, *_pieces(items[kept.name], element, kept.type.size)[len(numbers) :]]
    whole = Components(Vector(element, len(pieces)), tuple(pieces))
    return Fields(of, {kept.name: reinterpreted([whole], kept.type)})


def _pieces(value: Value, element: Scalar, size: int) -> list[Number]:
    return leaves(reinterpreted([value], Vector(element, size // element.size)))


def _numbers(of: Type) -> tuple[Scalar, int]:
    assert isinstance(of, Scalar | Vector)
    return (of.element, of.count) if isinstance(of, Vector) else (of, 1)


def unreadable(of: Record, name: str) -> str:
    """Why a member cannot be told from the largest one, or ""."""
    kept = held(of)
    if name == kept.name:
        return ""
    for field in (kept, of.field(name)):
        if not isinstance(field.type, Scalar | Vector) or (isinstance(field.type, Vector) and field.type.count == 3):
            return (
                f"{name} of a union whose largest member is {kept.name}, in a variable that holds a pointer: it is in "
                f"registers, and xeemu cannot tell the bits of {field.name}; keep the pointer in a variable of its own"
            )
    return ""
