"""Components: functions of numbers as functions of vectors, component by component."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax

from xeemu.frontends import types, values
from xeemu.frontends.types import Scalar, Vector
from xeemu.frontends.values import Components, Number, Value

Builtin: TypeAlias = Callable[[Sequence[Value], types.Type], Value]
"""What computes a call: of the arguments' values and the call's type, its value."""

WithPointer: TypeAlias = Callable[[Sequence[Value], types.Type], tuple[Value, Value]]
"""Of a function that also stores through a pointer: what it returns and what it stores."""

Elemental: TypeAlias = Callable[[Sequence[Number], Scalar], Number]
"""What computes a call of numbers alone."""


def by_component(function: Elemental) -> Builtin:
    """A function of numbers for vectors too, with which a number stands for itself in each component."""

    def computed(arguments: Sequence[Value], of: types.Type) -> Value:
        if isinstance(of, Scalar):
            return function([number(a) for a in arguments], of)
        assert isinstance(of, Vector)
        rows = zip(*(items(a, of.count) for a in arguments), strict=True)
        return Components(of, tuple(function(row, of.element) for row in rows))

    return computed


def pairs(function: Callable[[Sequence[Number], Scalar], tuple[Number, Number]]) -> WithPointer:
    """`by_component` of a function with two results."""

    def computed(arguments: Sequence[Value], of: types.Type) -> tuple[Value, Value]:
        if isinstance(of, Scalar):
            return function([number(a) for a in arguments], of)
        assert isinstance(of, Vector)
        rows = zip(*(items(a, of.count) for a in arguments), strict=True)
        first, second = zip(*(function(row, of.element) for row in rows), strict=True)
        return Components(of, first), Components(Vector(second[0].type, of.count), second)

    return computed


def items(value: Value, count: int) -> tuple[Number, ...]:
    """The components of a vector; a number is repeated."""
    if isinstance(value, Components):
        return value.items
    return (number(value),) * count


def number(value: Value) -> Number:
    assert isinstance(value, values.Number)
    return value


def composite(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays that takes several operations, traced once for each shape and dtype."""
    return jax.jit(function)
