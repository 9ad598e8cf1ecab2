"""Termination: which loops that test a predicate surely end, whatever the data are.

Such a loop counts by 1 to a bound that it leaves as it is, whatever else it tests beside that, or by a constant to a
constant. Of all others it is not known.
"""

from collections.abc import Iterator

import numpy as np

from xeemu.ir.control import While
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import induction

# By how much a comparison's counter has to change for it to come out False in the end, and the comparison turned round.
_DIRECTIONS = {"lt": 1, "le": 1, "gt": -1, "ge": -1}
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne"}


def surely_ends(loop: While) -> bool:
    """Whether a loop ends for all data; its body may hold loops that do not."""
    return any(_counts(loop, op) for op in _tests(loop.predicate, loop.predicate.outputs[0]))


def _tests(predicate: Region, result: Value) -> Iterator[Op]:
    """The comparisons of which each has to hold for the loop to go on."""
    op = predicate.made.get(result)
    if op is None:
        return
    if op.name == "and" or (op.name == "convert_element_type" and op.operands[0].dtype == bool):
        for operand in op.used:
            yield from _tests(predicate, operand)
    elif op.name in _TURNED:
        yield op


def _unconverted(predicate: Region, value: Value) -> Value:
    """What an operand is before JAX makes a weak type a strong one."""
    op = predicate.made.get(value)
    same = op is not None and op.name == "convert_element_type" and op.operands[0].dtype == value.dtype
    return op.operands[0] if op is not None and same else value


def _counts(loop: While, test: Op) -> bool:
    """Whether a comparison is of a counter with a bound that it reaches."""
    one, other = (_unconverted(loop.predicate, value) for value in test.operands)
    name = test.name
    return _reaches(loop, name, one, other) or _reaches(loop, _TURNED[name], other, one)


def _reaches(loop: While, name: str, counter: Value, bound: Value) -> bool:
    """Whether a counter, compared so, reaches a bound: going by 1 it meets each number, else none may be left out."""
    carries = loop.predicate.inputs
    if isinstance(counter, Constant) or counter not in carries or counter.shape or counter.dtype.kind not in "iu":
        return False
    k = carries.index(counter)
    step = induction.increment(loop.body, loop.body.inputs[k], loop.body.outputs[k])
    if not step or _DIRECTIONS.get(name, step) * step < 0:
        return False
    if isinstance(bound, Constant):
        return (abs(step) == 1 and name == "ne") or _is_met(name, bound.array, step)
    return abs(step) == 1 and name in ("lt", "gt", "ne") and induction.keeps(loop, bound)


def _is_met(name: str, bound: np.ndarray, step: int) -> bool:
    """Whether a counter that goes by constant steps up or down stops at a constant before it would wrap."""
    if name == "ne" or bound.dtype.kind not in "iu":
        return False
    limits = np.iinfo(bound.dtype)
    strict = name in ("lt", "gt")
    end = int(bound) + step - (int(np.sign(step)) if strict else 0)
    return limits.min <= end <= limits.max
