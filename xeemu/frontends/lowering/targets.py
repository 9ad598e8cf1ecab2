"""Targets: what a pointer may point to, and a pointer as numbers: which of these it is, and how far it is in it.

A loop that gives a pointer another target carries it as such numbers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import lax

from xeemu.frontends import composites, types, values
from xeemu.frontends.lowering.constants import Table
from xeemu.frontends.values import Either, Null, Number, Pointing, RegisterAddress, Value


def of(pointer: Value) -> list[Value]:
    """The targets of a pointer, each with offsets of one of the pointers to it; what has no value has none."""
    match pointer:
        case Either(then=a, otherwise=b):
            found = of(a)
            return found + [t for t in of(b) if place(t, found) is None]
        case Null(given=False):
            return []
    return [pointer]


def place(target: Value, among: Sequence[Value]) -> int | None:
    """The number of a target among others; None if it is a new one."""
    return next((k for k, t in enumerate(among) if _name(t) == _name(target)), None)


def _name(target: Value) -> Any:
    """What tells targets apart."""
    match target:
        case Pointing(memory=memory):
            return "memory", memory
        case RegisterAddress(variable=variable, path=path):
            return "variable", variable, composites.steady(path)
        case Table(type=inner, numbers=numbers):
            return "constant", id(numbers), inner
    return type(target).__name__


def offsets(target: Value) -> list[Number]:
    """Where in its target a pointer points to, as int32."""
    found = [target.offset] if isinstance(target, Table) else composites.leaves(target)
    return [Number(types.INT, values.index(n), n.interval) for n in found]


def numbers(pointer: Value, among: Sequence[Value]) -> list[Number]:
    """A pointer as numbers: its target, if there are several, and the offsets in each of them, 0 in the others."""
    if isinstance(pointer, Either):
        sides = [numbers(side, among) for side in (pointer.then, pointer.otherwise)]
        pairs = zip(*sides, strict=True)
        return [composites.selected(pointer.condition, a, b) for a, b in pairs]  # type: ignore[misc]
    at = place(pointer, among)
    found = [] if len(among) < 2 else [values.constant(at or 0, types.INT)]
    for k, target in enumerate(among):
        zeros = [values.constant(0, types.INT) for _ in offsets(target)]
        found += offsets(pointer) if k == at else zeros
    return found


def count(among: Sequence[Value]) -> int:
    """How many numbers a pointer is."""
    return sum(len(offsets(t)) for t in among) + (len(among) > 1)


def pointer(among: Sequence[Value], given: Sequence[Number], of_type: types.Pointer) -> Value:
    """The pointer that some numbers are."""
    if not among:
        return Null(of_type, given=False)
    rest = list(given)
    which = rest.pop(0) if len(among) > 1 else None
    each = [_moved(t, [rest.pop(0) for _ in offsets(t)]) for t in among]
    whole = each.pop()
    for k in reversed(range(len(each))):
        assert which is not None
        chosen = values.lifted(np.equal, lax.eq, which.data, np.int32(k))
        whole = Either(of_type, chosen, each[k], whole)
    return whole


def _moved(target: Value, at: Sequence[Number]) -> Value:
    if isinstance(target, Table):
        return Table(target.type, target.numbers, at[0])  # type: ignore[return-value]
    return composites.rebuilt(target, at)
