"""Signs: which floats of a program are never below zero, and are no negative zero either; they may be NaN."""

from collections.abc import Callable, Sequence, Set

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.table import Kind
from xeemu.knowledge.intervals import Interval

# Never below zero, whatever they are of.
_ALWAYS = frozenset(("abs", "square", "exp", "exp2", "cosh", "logistic"))
# Where all that they are of are. A sum of others may be a number below zero that is flushed to a negative zero.
_WHERE_ALL_ARE = frozenset(
    (
        *("add", "mul", "div", "max", "min", "sqrt", "integer_pow", "convert_element_type", "concatenate"),
        *("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"),
    )
)


def not_negative(body: Region, interval: Callable[[Value], Interval | None]) -> Set[Value]:
    """The floats of a program and its inner ones that are so; none of those that loops carry.

    Args:
      body: the program, without calls.
      interval: gives what is known of an integer.
    """
    found = set[Value]()

    def is_one(value: Value) -> bool:
        if isinstance(value, Constant):
            return not np.signbit(np.asarray(value.array, np.float64)).any()
        if not isinstance(value.dtype, np.dtype):  # a key of random numbers
            return False
        if value.dtype.kind in "iub":
            known = interval(value)
            return known is not None and known[0] >= 0
        return value in found

    for op in body.walk():
        if op.name in _ALWAYS or _is_even_power(op) or (_follows(op) and all(map(is_one, _numbers(op)))):
            found.update(op.results)
    return found


def _is_even_power(op: Op) -> bool:
    if op.name == "integer_pow":
        return bool(op.attributes["y"] % 2 == 0)
    return op.name == "mul" and op.operands[0] is op.operands[1]


def _follows(op: Op) -> bool:
    """True if the results are not negative if no number that it takes is."""
    if op.name == ops.COLLECTIVE:
        return op.attributes["collective"].kind in ("reduce", "broadcast")
    traits = ops.of(op)
    moves = traits.among and traits.kind in (Kind.ELEMENTWISE, Kind.MOVEMENT)
    return moves or op.name in _WHERE_ALL_ARE or op.name == "select_n"


def _numbers(op: Op) -> Sequence[Value]:
    """What an operation takes, but for what a choice goes by."""
    return op.operands[1:] if op.name == "select_n" else op.operands
