"""Endless: conditions of loops that hold whatever the counter is, as an unsigned number is never below 0."""

from xeemu.frontends.tree import Binary, Cast, Constant, Expression, Name
from xeemu.frontends.types import Scalar

_ZERO_LAST = {">=": "right", "<=": "left"}


def told(condition: Expression | None) -> str | None:
    """Why a loop with this condition never ends by it, with what to write; None where it may."""
    if not isinstance(condition, Binary) or condition.op not in _ZERO_LAST:
        return None
    sides = condition.left, condition.right
    counter, zero = sides if _ZERO_LAST[condition.op] == "right" else sides[::-1]
    of = counter.type
    if not isinstance(of, Scalar) or not of.is_integer or of.is_signed or not _is_zero(zero):
        return None
    bare = _bare(counter)
    name = bare.variable.name if isinstance(bare, Name) else "the left side"
    return (
        f"the loop never ends: {name} >= 0 always holds, as it is compared as the unsigned {of}; write {name} > 0, or "
        "a signed counter"
    )


def _is_zero(node: Expression) -> bool:
    bare = _bare(node)
    return isinstance(bare, Constant) and bare.value == 0


def _bare(node: Expression) -> Expression:
    while isinstance(node, Cast) and isinstance(node.type, Scalar) and node.type.is_integer:
        node = node.operand
    return node
