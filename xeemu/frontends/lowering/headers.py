"""Headers: what the header of a loop says: which variable is compared with what, and by how much variables go on."""

import dataclasses
import functools

from xeemu.frontends import intervals
from xeemu.frontends.lowering import effects
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import (
    Assignment,
    Binary,
    Block,
    Call,
    Cast,
    Continue,
    Declaration,
    Evaluate,
    Expression,
    Loop,
    Name,
    Step,
    Subscript,
    Unary,
    Variable,
)
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Number

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


@functools.lru_cache(maxsize=4096)
def completed(node: Loop) -> Loop:
    """A loop without a step in its header as one with it, where its body ends with a step of what its condition asks.

    Not where an iteration may go on to the next one before that.
    """
    if node.step is not None or node.condition is None or node.after or _continues(node.body):
        return node
    statements = node.body.statements if isinstance(node.body, Block) else (node.body,)
    if not statements:
        return node
    *others, last = statements
    asked = {n.variable for n in effects.nodes(node.condition) if isinstance(n, Name)}
    if not isinstance(last, Evaluate) or not isinstance(last.expression, Step | Assignment):
        return node
    inner = {v for n in effects.nodes(node.body) if isinstance(n, Declaration) for v in n.variables}
    used = {n.variable for n in effects.nodes(last) if isinstance(n, Name)}
    if used & inner or not effects.of(last).assigned & asked:
        return node
    return dataclasses.replace(node, step=last.expression, body=Block(node.body.place, tuple(others)))


def _continues(node: object) -> bool:
    """True if somebody may go on to the next iteration of a loop from within a part of its body."""
    return isinstance(node, Continue) or (not isinstance(node, Loop) and any(map(_continues, effects.children(node))))


def comparison(node: Expression) -> tuple[Variable, str, Expression] | None:
    """The counter, how it is compared, and the bound."""
    if not isinstance(node, Binary) or node.op not in _MIRRORED:
        return None
    left, right = _bare(node.left), _bare(node.right)
    if isinstance(left, Name) and _is_counter(node.left, left):
        return left.variable, node.op, node.right
    if isinstance(right, Name) and _is_counter(node.right, right):
        return right.variable, _MIRRORED[node.op], node.left
    return None


def _bare(node: Expression) -> Expression:
    while isinstance(node, Cast) and isinstance(node.type, Scalar) and node.type.is_integer:
        node = node.operand
    return node


def _is_counter(node: Expression, bare: Name) -> bool:
    """True if a side of a comparison is a variable, converted only to where it keeps its values."""
    if not isinstance(bare.type, Scalar) or not bare.type.is_integer or bare.variable.space != "private":
        return False
    assert isinstance(node.type, Scalar)
    return node.type.size >= bare.type.size


def steps(node: Expression | None) -> list[Expression]:
    """The parts of a loop's step, as in `i++, p += 4`, in order."""
    if isinstance(node, Binary) and node.op == ",":
        return [*steps(node.left), *steps(node.right)]
    return [] if node is None else [node]


def stepping(node: Loop, variable: Variable) -> list[Expression]:
    """The parts of a loop's step that assign a variable."""
    return [part for part in steps(node.step) if variable in effects.of(part).assigned]


def step_of(walk: Walk, node: Loop, variable: Variable) -> int | None:
    """By how much the counter goes on, if that is known."""
    parts = stepping(node, variable)
    match parts[0] if len(parts) == 1 else None:
        case Step(op=op, operand=Name(variable=stepped)) if stepped is variable:
            return 1 if op == "++" else -1
        case Assignment(op=op, target=Name(variable=stepped), value=by) if stepped is variable and op in ("+", "-"):
            return _known(walk, node, variable, by, -1 if op == "-" else 1)
        case Assignment(op="", target=Name(variable=stepped), value=value) if stepped is variable:
            return _known_sum(walk, node, variable, value)
    return None


def _known_sum(walk: Walk, node: Loop, variable: Variable, value: Expression) -> int | None:
    sum_of = _bare(value)
    if not isinstance(sum_of, Binary) or sum_of.op not in ("+", "-"):
        return None
    left, right = _bare(sum_of.left), _bare(sum_of.right)
    if isinstance(left, Name) and left.variable is variable:
        return _known(walk, node, variable, sum_of.right, -1 if sum_of.op == "-" else 1)
    if isinstance(right, Name) and right.variable is variable and sum_of.op == "+":
        return _known(walk, node, variable, sum_of.left, 1)
    return None


def _known(walk: Walk, node: Loop, variable: Variable, by: Expression, sign: int) -> int | None:
    if not is_fixed(walk, node, variable, by):
        return None
    value = walk.evaluate(by)
    if not isinstance(value, Number) or not value.known or not value.type.is_integer:
        return None
    step = int(value.python)
    # An unsigned step back is written as a huge one.
    low, high = intervals.of_type(value.type.dtype)
    step = step - (high - low + 1) if not value.type.is_signed and step > high // 2 else step
    return sign * step or None


def is_fixed(walk: Walk, node: Loop, variable: Variable, part: Expression) -> bool:
    """True if a part of a loop's header stays what it is, and the counter is changed by the header alone."""
    assert node.step is not None
    changed = effects.of(node.body)
    names = {n.variable for n in effects.nodes(part) if isinstance(n, Name)}
    touched = changed.assigned | effects.of(node.step).assigned
    if variable in changed.assigned or variable in changed.stored or variable in names or names & touched:
        return False
    return not any(map(is_impure, effects.nodes(part)))


_PURE = ("get_", "min", "max", "mul24", "mad24", "abs", "clamp", "convert_")


def is_impure(node: object) -> bool:
    """True if it reads memory or does something."""
    if isinstance(node, Call):
        return node.function is not None or not node.name.startswith(_PURE)
    return (
        isinstance(node, Subscript | Assignment | Step)
        or (isinstance(node, Unary) and node.op == "*")
        or (type(node).__name__ == "Member")
    )
