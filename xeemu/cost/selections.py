"""Selections: comparisons and choices that are no instructions of their own.

The lesser or the greater of two numbers, also of those that are no NaN, is one instruction. What work-items keep whose
turn a piece of divergent code is not, they keep because they do not execute it.
"""

from collections.abc import Mapping, Sequence, Set

from xeemu.cost import uses
from xeemu.cost.uses import Uses
from xeemu.ir import ops
from xeemu.ir.program import Op, Region, Value

_ORDERS = ("lt", "le", "gt", "ge")


def free(body: Region, carried_out: Sequence[Op]) -> Set[int]:
    """The `id`s of operations of a body that take no instruction.

    Args:
      body: the body.
      carried_out: the operations of it that are carried out, in order.
    """
    used_by = uses.of_body(body, carried_out)
    made = {result: op for op in carried_out for result in op.results}
    found: set[int] = set()
    mask: Value | None = None
    for op in carried_out:
        if op.name == ops.REGION:
            mask = next(iter(op.operands), None)
        elif op.name == "select_n" and op.operands[0] is mask:
            found.add(id(op))
        elif op.name == "select_n":
            found |= _of_extreme(op, made, used_by)
    return found


def _of_extreme(choice: Op, made: Mapping[Value, Op], used_by: Uses) -> Set[int]:
    """The operations that tell which of two numbers a choice gives, where that is the lesser or the greater."""
    which, *given = choice.operands
    told = _only_for(which, choice, made, used_by)
    if told is None:
        return set()
    parts = [told]
    if told.name == "or":
        parts = [part for value in told.operands if (part := _only_for(value, told, made, used_by)) is not None]
    order = [part for part in parts if part.name in _ORDERS and _same(part.operands, given)]
    nans = [part for part in parts if part.name == "ne" and part.operands[0] is part.operands[1] and part not in order]
    if len(order) != 1 or len(order) + len(nans) < len(parts) or (told.name == "or" and len(parts) != 2):
        return set()
    return {id(part) for part in (told, *parts)}


def _only_for(value: Value, user: Op, made: Mapping[Value, Op], used_by: Uses) -> Op | None:
    """The operation that gives a value which nothing but one operation uses."""
    return made.get(value) if all(each is user for each in used_by[value]) else None


def _same(a: Sequence[Value], b: Sequence[Value]) -> bool:
    return (a[0] is b[0] and a[1] is b[1]) or (a[0] is b[1] and a[1] is b[0])
