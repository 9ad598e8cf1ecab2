"""Ternary: operations on integers that are part of another's instruction, where these take three operands.

Any logic of three numbers is one instruction (NVIDIA's LOP3, Intel's bfn), and so is their sum (IADD3, add3). Two
shifts that are joined to a rotation are one of the funnel shifter (SHF, rol).
"""

from collections.abc import Sequence, Set

import numpy as np

from xeemu.cost.uses import Uses
from xeemu.ir.program import Constant, Op, Value

_OPERANDS = 3
_LOGIC = ("and", "or", "xor", "not")
_SUMS = ("add", "sub")
_JOINING = ("or", "add", "xor")
_SHIFTS = ("shift_left", "shift_right_logical")
_WORD_BITS = 32


def parts(uses: Uses, fused: Set[int]) -> Set[int]:
    """The `id`s of operations that take no instruction of their own.

    Args:
      uses: the operations of a body that are carried out.
      fused: products that are part of sums, which take no third number then.
    """
    found: set[int] = set()
    taken: dict[int, Sequence[Value]] = {}  # by operation what its instruction takes, of those that may be a part
    for op in uses.ops:
        if op.name not in (*_LOGIC, *_SUMS) or not _is_of_words(op):
            continue
        if shifts := _rotation(op, uses):
            found |= shifts
        elif op.name in _LOGIC or (op.name in _SUMS and not any(id(uses.made.get(v)) in fused for v in op.operands)):
            taken[id(op)] = _numbers(op, op.operands)
            for value in dict.fromkeys(op.operands):
                inner = uses.only_for(value, op)
                if inner is not None and id(inner) in taken and _is_alike(op, inner, value):
                    rest = [each for each in taken[id(op)] if each is not value]
                    merged = _numbers(op, [*rest, *taken[id(inner)]])
                    if len(merged) <= _OPERANDS:
                        taken[id(op)] = merged
                        found.add(id(inner))
    return found


def _is_of_words(op: Op) -> bool:
    dtype = np.dtype(op.results[0].dtype)
    return dtype.kind in "iu" and 8 * dtype.itemsize <= _WORD_BITS


def _is_alike(op: Op, inner: Op, value: Value) -> bool:
    """True if what gives a value is logic as its user is, or a sum that is added up once."""
    both = op.name in _LOGIC, inner.name in _LOGIC
    return all(both) or (not any(both) and op.operands.count(value) == 1)


def _numbers(op: Op, values: Sequence[Value]) -> Sequence[Value]:
    """What an instruction takes of some values: of logic each once, and none that only says to complement another."""
    if op.name not in _LOGIC:
        return values
    return [*dict.fromkeys(value for value in values if not (isinstance(value, Constant) and _is_ones(value)))]


def _is_ones(value: Constant) -> bool:
    return bool((~np.asarray(value.array) == 0).all())


def _rotation(op: Op, uses: Uses) -> Set[int]:
    """The shifts that an operation joins to a rotation by a constant; none of another operation."""
    if op.name not in _JOINING:
        return set()
    inner = (uses.only_for(value, op) for value in op.operands)
    shifts = {shift.name: shift for shift in inner if shift is not None and shift.name in _SHIFTS}
    if len(shifts) < len(_SHIFTS):
        return set()
    (number, left), (same, right) = (shifts[name].operands for name in _SHIFTS)
    if number is not same or not (isinstance(left, Constant) and isinstance(right, Constant)):
        return set()
    word = 8 * op.results[0].dtype.itemsize == _WORD_BITS
    whole = word and bool((np.asarray(left.array) + np.asarray(right.array) == _WORD_BITS).all())
    return {id(shift) for shift in shifts.values()} if whole else set()
