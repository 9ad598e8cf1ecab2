"""Selections: comparisons and choices that are no instructions of their own.

The lesser or the greater of two numbers, also of those that are no NaN, is one instruction. What work-items keep whose
turn a piece of divergent code is not, they keep because they do not execute it.
"""

from collections.abc import Sequence, Set

from xeemu.cost.uses import Uses
from xeemu.ir import ops
from xeemu.ir.program import Op, Value

_ORDERS = ("lt", "le", "gt", "ge")


def free(uses: Uses) -> Set[int]:
    """The `id`s of operations of a body that take no instruction."""
    found: set[int] = set()
    mask: Value | None = None
    for op in uses.ops:
        if op.name == ops.REGION:
            mask = next(iter(op.operands), None)
        elif op.name == "select_n" and op.operands[0] is mask:
            found.add(id(op))
        elif op.name == "select_n":
            found |= _of_extreme(op, uses)
    return found


def _of_extreme(choice: Op, uses: Uses) -> Set[int]:
    """The operations that tell which of two numbers a choice gives, where that is the lesser or the greater."""
    which, *given = choice.operands
    told = uses.only_for(which, choice)
    if told is None:
        return set()
    parts = [told]
    if told.name == "or":
        parts = [part for value in told.operands if (part := uses.only_for(value, told)) is not None]
    order = [part for part in parts if part.name in _ORDERS and _same(part.operands, given)]
    nans = [part for part in parts if part.name == "ne" and part.operands[0] is part.operands[1] and part not in order]
    if len(order) != 1 or len(order) + len(nans) < len(parts) or (told.name == "or" and len(parts) != 2):
        return set()
    return {id(part) for part in (told, *parts)}


def _same(a: Sequence[Value], b: Sequence[Value]) -> bool:
    return (a[0] is b[0] and a[1] is b[1]) or (a[0] is b[1] and a[1] is b[0])
