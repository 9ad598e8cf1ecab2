"""Neutral operands: numbers go that are added, subtracted or multiplied and change nothing, as `sum` begins with 0.

A sum of floats with 0 is no negative zero, so that it stays unless the other operand is never one. XLA would drop any
of them, and is kept from it by hiding the number (see `emission/exactness.py`), which costs operations.
"""

from collections.abc import Mapping

import numpy as np

from xeemu.devices.target import Target
from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge import signs
from xeemu.language.program import Program
from xeemu.passes import eliminate_dead_code
from xeemu.passes.analyses import Analyses


def drop_neutral_operands(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program in which the other operand stands for the result of such an operation."""
    left = {op: kept for op in program.body.walk() if (kept := _neutral_result(op, analyses.definitions)) is not None}
    if any(map(_is_sum, left)):
        found = signs.not_negative(program.body, lambda value: analyses.known(value).interval)
        left = {op: kept for op, kept in left.items() if not _is_sum(op) or kept in found}
    return eliminate_dead_code.replaced(program, left, lambda rewriter, op, kept: rewriter.values([kept]))


def _neutral_result(op: Op, definitions: Mapping[Value, Op]) -> Value | None:
    """The operand of an operation that is as its result, but for the sign of a zero of a sum."""
    if op.name not in ("add", "sub", "mul"):
        return None
    first, second = op.operands
    pairs = [(first, second)] if op.name == "sub" else [(first, second), (second, first)]
    neutral = 1 if op.name == "mul" else 0
    same = ((kept, other) for kept, other in pairs if kept.shape == op.results[0].shape)
    return next((kept for kept, other in same if _is_number(other, neutral, definitions)), None)


def _is_sum(op: Op) -> bool:
    """True if it is one of floats."""
    return op.name == "add" and op.results[0].dtype.kind not in "iub"


def _is_number(value: Value, number: int, definitions: Mapping[Value, Op]) -> bool:
    """True if all elements of a value are a number; 0 is the one that has no sign."""
    while not isinstance(value, Constant):
        op = definitions.get(value)
        if op is None or not ops.of(op).moves:
            return False
        value = op.operands[0]
    array = np.asarray(value.array)
    return bool((array == number).all() and not np.signbit(array.astype(np.float64)).any())
