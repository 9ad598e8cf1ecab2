"""Expressions: the integers and bools of a program as functions of group ids and loop counters.

An *axis* is what a value can depend on without depending on data: a dimension of the group id, or the counter of a loop
with a known number of iterations. An expression over axes can be evaluated anywhere by NumPy, so that what a kernel
does is known without a run. What comes from data is an unknown expression, and so is all that is computed from it.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from xeemu.knowledge import constant_folding, intervals
from xeemu.knowledge.intervals import Interval

CONSTANT, AXIS, ELEMENT, TABLE, UNKNOWN = "constant", "axis", "element", "table", "unknown"
"""What an expression is where it is no operation of `constant_folding`; `element` is one of an array, by an axis."""

MOVES = constant_folding.MOVES

# Larger constants than this are left to the run.
_LARGEST = 1 << 20


@dataclasses.dataclass(frozen=True, eq=False)
class Axis:
    """An index from 0 to `size` - 1 that executions are counted over."""

    name: str
    size: int


@dataclasses.dataclass(frozen=True, eq=False)
class Expression:
    """A value of the program, for one work-group.

    Attributes:
      op: the operation, or one of the words above.
      operands: of it.
      params: of it.
      shape: the value's, as in the program.
      dtype: the value's.
      axes: the axes that it depends on.
      known: true if it depends on them alone.
      interval: the values that it takes; None if no bound is known.
      exact: true if it is what unbounded integers would give.
      depth: longer than that of its operands.
    """

    op: str
    operands: tuple["Expression", ...]
    params: Mapping[str, Any]
    shape: tuple[int, ...]
    dtype: np.dtype
    axes: frozenset[Axis]
    known: bool
    interval: Interval | None
    exact: bool
    depth: int

    @property
    def constant(self) -> bool:
        return self.op == CONSTANT

    @property
    def array(self) -> np.ndarray:
        """The value of a constant."""
        assert self.constant
        value: np.ndarray = self.params["array"]
        return value


def constant(value: Any, dtype: Any = None) -> Expression:
    array = np.asarray(value, dtype)
    return Expression(
        CONSTANT, (), {"array": array}, array.shape, array.dtype, frozenset(), True, intervals.of_array(array), True, 0
    )


def of_axis(axis: Axis, dtype: Any = np.int64) -> Expression:
    """The index itself, a scalar."""
    interval = (0, max(axis.size - 1, 0))
    exact = intervals.within(interval, intervals.of_dtype(dtype))
    return Expression(AXIS, (), {"axis": axis}, (), np.dtype(dtype), frozenset([axis]), True, interval, exact, 0)


def unknown(shape: Sequence[int], dtype: Any, interval: Interval | None = None) -> Expression:
    """A value that depends on data."""
    # A key of jax.random has a dtype that NumPy does not know.
    known = dtype if jax.dtypes.issubdtype(dtype, jax.dtypes.extended) else np.dtype(dtype)
    return Expression(UNKNOWN, (), {}, tuple(shape), known, frozenset(), False, interval, False, 0)


def apply(
    op: str,
    operands: Sequence[Expression],
    params: Mapping[str, Any],
    shape: Sequence[int],
    dtype: Any,
    interval: Interval | None,
    exact: bool,
) -> Expression:
    """An operation on expressions; a constant if all of them are.

    Args:
      op: a name of `constant_folding`; the result of another operation is not known, whatever its operands.
      operands: of it; scalars among arrays broadcast.
      params: of it.
      shape, dtype: of the result.
      interval: of the result, if it is known.
      exact: true if the operation itself cannot overflow.
    """
    if interval is not None and interval[0] == interval[1]:
        return constant(np.full(shape, interval[0]), dtype)
    if not _can_fold(op, operands) or math.prod(shape) > _LARGEST:
        return unknown(shape, dtype, interval)
    result = Expression(
        op,
        tuple(operands),
        params,
        tuple(shape),
        np.dtype(dtype),
        frozenset().union(*(o.axes for o in operands)),
        all(o.known for o in operands),
        interval,
        exact,
        1 + max(o.depth for o in operands),
    )
    if all(o.constant for o in operands):
        return constant(Grid({}).of(result))
    return result


def _can_fold(op: str, operands: Sequence[Expression]) -> bool:
    if op not in constant_folding.MOVES and op not in constant_folding.ELEMENTWISE and op not in (ELEMENT, TABLE):
        return False
    if op in ("div", "rem"):
        return not operands[1].constant or bool((operands[1].array != 0).all())
    if op.startswith("shift"):
        return intervals.within(operands[1].interval, (0, 8 * operands[0].dtype.itemsize - 1))
    return True


# --- Integer arithmetic that the program does not contain ---


TRUE = constant(True)


def add(a: Expression, b: Expression) -> Expression:
    """The int64 sum."""
    bound = _combined(a.interval, b.interval, lambda x, y: x + y)
    if bound is not None and _is_zero(a):
        return _wide(b)
    return apply("add", (_wide(a), _wide(b)), {}, _shape(a, b), np.int64, bound, bound is not None)


def scale(a: Expression, factor: int) -> Expression:
    """The int64 product with a constant."""
    if factor == 1 and a.interval is not None:
        return _wide(a)
    bound = _combined(a.interval, (factor, factor), lambda x, y: x * y)
    return apply("mul", (_wide(a), constant(factor, np.int64)), {}, a.shape, np.int64, bound, bound is not None)


def compare(op: str, a: Expression, b: Expression) -> Expression:
    """A comparison of two integers of any dtypes."""
    return apply(op, (_wide(a), _wide(b)), {}, _shape(a, b), np.bool_, (0, 1), True)


def both(a: Expression, b: Expression) -> Expression:
    """The conjunction of two bools."""
    if a is TRUE or (a.constant and a.array.all()):
        return b
    if b is TRUE or (b.constant and b.array.all()):
        return a
    return apply("and", (a, b), {}, _shape(a, b), np.bool_, (0, 1), True)


def inside(index: Expression, size: int) -> Expression:
    """True if an index lies within the bounds of a dimension; what its interval tells need not be known."""
    low, high = (False, False) if index.interval is None else (index.interval[0] >= 0, index.interval[1] < size)
    least = TRUE if low else compare("ge", index, constant(0, np.int64))
    return both(least, TRUE if high else compare("lt", index, constant(size, np.int64)))


def element(array: Expression, place: Expression) -> Expression:
    """The element of an array along its first axis at an index that is within bounds."""
    if not array.constant:
        return unknown(array.shape[1:], array.dtype, array.interval)
    return apply(ELEMENT, (array, place), {}, array.shape[1:], array.dtype, array.interval, True)


def looked_up(table: Expression, places: Expression, interval: Interval | None) -> Expression:
    """The elements of a constant array at row-major numbers that are within bounds."""
    flat = constant(table.array.reshape(-1))
    return apply(TABLE, (flat, places), {}, places.shape, table.dtype, interval, True)


def _is_zero(a: Expression) -> bool:
    """True of the scalar 0, which changes no sum's shape."""
    return a.constant and not a.shape and a.interval == (0, 0)


def _wide(a: Expression) -> Expression:
    if a.dtype == np.int64:
        return a
    if not intervals.within(a.interval, intervals.of_dtype(np.int64)):
        return unknown(a.shape, np.int64)
    params = {"new_dtype": np.dtype(np.int64)}
    return apply("convert_element_type", (a,), params, a.shape, np.int64, a.interval, True)


def _shape(a: Expression, b: Expression) -> tuple[int, ...]:
    return np.broadcast_shapes(a.shape, b.shape)


def _combined(a: Interval | None, b: Interval | None, combine: Any) -> Interval | None:
    if a is None or b is None:
        return None
    ends = [combine(x, y) for x in a for y in b]
    bound = (min(ends), max(ends))
    return bound if intervals.within(bound, intervals.of_dtype(np.int64)) else None


# --- Evaluation ---


class TooLarge(Exception):
    """There are more values than are worth computing before the run."""


@dataclasses.dataclass(eq=False)
class Grid:
    """Points of some axes, all combinations of them.

    Attributes:
      points: for each axis its values, int64.
    """

    points: Mapping[Axis, np.ndarray]
    _known: dict[int, tuple[Expression, np.ndarray]] = dataclasses.field(default_factory=dict)

    def of(self, expression: Expression) -> np.ndarray:
        """The values of a known expression: `[n or 1 for each axis, *shape]`, 1 for axes that it does not depend on.

        Raises:
          TooLarge: there are too many of them.
        """
        if not expression.constant and id(expression) not in self._known:
            with np.errstate(all="ignore"):
                for needed in ordered(expression, self._known):
                    self._known[id(needed)] = needed, self._evaluated(needed)
        return self._value(expression)

    def _value(self, expression: Expression) -> np.ndarray:
        if expression.constant:
            return expression.array.reshape((1,) * len(self.points) + expression.shape)
        return self._known[id(expression)][1]

    def _evaluated(self, e: Expression) -> np.ndarray:
        lead = tuple([len(values) if axis in e.axes else 1 for axis, values in self.points.items()])
        if math.prod(lead) * math.prod(e.shape) > _MOST_VALUES:
            raise TooLarge
        if e.op == AXIS:
            return self.points[e.params["axis"]].reshape(lead).astype(e.dtype)
        values = [self._value(o) for o in e.operands]
        if e.op == ELEMENT:
            return e.operands[0].array[values[1].reshape(-1)].reshape(lead + e.shape)
        if e.op == TABLE:
            return e.operands[0].array[values[1]]
        if e.op in constant_folding.MOVES:
            return _moved(e, values[0])
        rank = len(lead) + len(e.shape)
        aligned = [v if v.ndim == rank else v.reshape(v.shape + (1,) * (rank - v.ndim)) for v in values]
        return np.asarray(constant_folding.ELEMENTWISE[e.op](e.params, *aligned)).astype(e.dtype, copy=False)


# Values of one expression: a few hundredths of a second.
_MOST_VALUES = 1 << 23


def ordered(root: Expression, known: Mapping[int, Any]) -> Iterator[Expression]:
    """The expressions that `root` is made of, operands first, without constants and what is known."""
    found: dict[int, Expression] = {}
    waiting = [root]
    while waiting:
        e = waiting.pop()
        if not e.constant and id(e) not in known and id(e) not in found:
            found[id(e)] = e
            waiting += e.operands
    return iter(sorted(found.values(), key=lambda e: e.depth))


def places(e: Expression) -> np.ndarray:
    """For each element of a move's result the flat number of the operand's element that it is."""
    (operand,) = e.operands
    moved: np.ndarray = constant_folding.MOVES[e.op](
        e.params, np.arange(math.prod(operand.shape)).reshape(operand.shape)
    )
    return moved


def _moved(e: Expression, value: np.ndarray) -> np.ndarray:
    lead = value.shape[: value.ndim - len(e.operands[0].shape)]
    return value.reshape(*lead, -1)[..., places(e).reshape(-1)].reshape(lead + e.shape)
