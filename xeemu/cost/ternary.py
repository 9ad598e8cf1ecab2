"""Ternary: operations on integers that are part of another's instruction, where these take three operands.

Any logic of three numbers is one instruction (NVIDIA's LOP3, Intel's bfn), and so is their sum (IADD3, add3). Two
shifts that are joined to a rotation are one of the funnel shifter (SHF, rol).
"""

from collections.abc import Mapping, Sequence, Set

import numpy as np

from xeemu.cost import uses
from xeemu.cost.uses import Uses
from xeemu.ir.program import Constant, Op, Region, Value

_OPERANDS = 3
_LOGIC = ("and", "or", "xor", "not")
_SUMS = ("add", "sub")
_JOINING = ("or", "add", "xor")
_SHIFTS = ("shift_left", "shift_right_logical")
_WORD_BITS = 32


def parts(body: Region, carried_out: Sequence[Op], fused: Set[int]) -> Set[int]:
    """The `id`s of operations that take no instruction of their own.

    Args:
      body: the body.
      carried_out: the operations of it that are carried out, in order.
      fused: products that are part of sums, which take no third number then.
    """
    used_by = uses.of_body(body, carried_out)
    made = {result: op for op in carried_out for result in op.results}
    found: set[int] = set()
    taken: dict[int, Sequence[Value]] = {}  # by operation what its instruction takes, of those that may be a part
    for op in carried_out:
        if op.name not in (*_LOGIC, *_SUMS) or not _is_of_words(op):
            continue
        if shifts := _rotation(op, made, used_by):
            found |= shifts
        elif op.name in _LOGIC or (op.name in _SUMS and not any(id(made.get(v)) in fused for v in op.operands)):
            taken[id(op)] = _numbers(op, op.operands)
            for value in dict.fromkeys(op.operands):
                inner = _only_for(value, op, made, used_by)
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


def _rotation(op: Op, made: Mapping[Value, Op], used_by: Uses) -> Set[int]:
    """The shifts that an operation joins to a rotation by a constant; none of another operation."""
    if op.name not in _JOINING:
        return set()
    inner = (_only_for(value, op, made, used_by) for value in op.operands)
    shifts = {shift.name: shift for shift in inner if shift is not None and shift.name in _SHIFTS}
    if len(shifts) < len(_SHIFTS):
        return set()
    (number, left), (same, right) = (shifts[name].operands for name in _SHIFTS)
    if number is not same or not (isinstance(left, Constant) and isinstance(right, Constant)):
        return set()
    word = 8 * op.results[0].dtype.itemsize == _WORD_BITS
    whole = word and bool((np.asarray(left.array) + np.asarray(right.array) == _WORD_BITS).all())
    return {id(shift) for shift in shifts.values()} if whole else set()


def _only_for(value: Value, user: Op, made: Mapping[Value, Op], used_by: Uses) -> Op | None:
    """The operation that gives a value which nothing but one operation uses."""
    return made.get(value) if all(each is user for each in used_by[value]) else None
