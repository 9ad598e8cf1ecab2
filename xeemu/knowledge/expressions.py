"""Expressions: the integers and bools of a program as functions of group ids and loop counters.

An *axis* is what a value can depend on without depending on data: a dimension of the group id, or the counter of a loop
with a known number of iterations. An expression over axes can be evaluated anywhere by NumPy, so that what a kernel
does is known without a run. What comes from data is an unknown expression, and so is all that is computed from it.
"""

import dataclasses
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from xeemu.knowledge import constant_folding, intervals
from xeemu.knowledge.intervals import Interval

CONSTANT, AXIS, TABLE, UNKNOWN = "constant", "axis", "table", "unknown"
"""What an expression is where it is no operation of `constant_folding`; `table` is elements of a constant array."""

MOVES = constant_folding.MOVES

# Larger constants than this are left to the run.
_LARGEST = 1 << 20


@dataclasses.dataclass(frozen=True, eq=False)
class LoopAxis:
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
    axes: frozenset[LoopAxis]
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


def of_axis(axis: LoopAxis, dtype: Any = np.int64) -> Expression:
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
        frozenset().union(*[o.axes for o in operands]),
        all(o.known for o in operands),
        interval,
        exact,
        1 + max([o.depth for o in operands]),
    )
    if all(o.constant for o in operands):
        return constant(Grid({}).of(result))
    return result


def _can_fold(op: str, operands: Sequence[Expression]) -> bool:
    if op not in constant_folding.MOVES and op not in constant_folding.ELEMENTWISE and op != TABLE:
        return False
    if op in ("div", "rem"):
        return not operands[1].constant or bool((operands[1].array != 0).all())
    if op.startswith("shift"):
        return intervals.within(operands[1].interval, (0, 8 * operands[0].dtype.itemsize - 1))
    return True


# --- What the program does not contain ---


TRUE = constant(True)


def exact(op: str, *operands: Expression, dtype: Any = None, interval: Interval | None = None) -> Expression:
    """An elementwise operation that cannot overflow, of the last operand's dtype if no other is told."""
    return apply(op, operands, {}, _shape(*operands), operands[-1].dtype if dtype is None else dtype, interval, True)


def truth(op: str, *operands: Expression) -> Expression:
    """A comparison of expressions of one dtype, or an operation on bools."""
    return exact(op, *operands, dtype=np.bool_, interval=(0, 1))


def add(a: Expression, b: Expression) -> Expression:
    """The int64 sum."""
    bound = _combined(operator.add, a.interval, b.interval)
    if bound is not None and _is_zero(a):
        return _wide(b)
    return apply("add", (_wide(a), _wide(b)), {}, _shape(a, b), np.int64, bound, bound is not None)


def scale(a: Expression, factor: int) -> Expression:
    """The int64 product with a constant."""
    if factor == 1 and a.interval is not None:
        return _wide(a)
    bound = _combined(operator.mul, a.interval, (factor, factor))
    return apply("mul", (_wide(a), constant(factor, np.int64)), {}, a.shape, np.int64, bound, bound is not None)


def compare(op: str, a: Expression, b: Expression) -> Expression:
    """A comparison of two integers of any dtypes."""
    return truth(op, _wide(a), _wide(b))


def both(a: Expression, b: Expression) -> Expression:
    """The conjunction of two bools."""
    if a is TRUE or (a.constant and a.array.all()):
        return b
    if b is TRUE or (b.constant and b.array.all()):
        return a
    return truth("and", a, b)


def inside(index: Expression, size: int) -> Expression:
    """True if an index lies within the bounds of a dimension; what its interval tells need not be known."""
    low, high = (False, False) if index.interval is None else (index.interval[0] >= 0, index.interval[1] < size)
    least = TRUE if low else compare("ge", index, constant(0, np.int64))
    return both(least, TRUE if high else compare("lt", index, constant(size, np.int64)))


def elements(array: Expression, indices: Expression) -> Expression:
    """`[*indices, ...]` elements of an array along its first axis, at indices that are within bounds."""
    shape = (*indices.shape, *array.shape[1:])
    if not array.constant:
        return unknown(shape, array.dtype, array.interval)
    return apply(TABLE, (array, indices), {}, shape, array.dtype, array.interval, True)


def reshaped(x: Expression, shape: Sequence[int], interval: Interval | None = None) -> Expression:
    """An array in another shape, of an interval if more is known than its own."""
    return apply("reshape", (x,), {"new_sizes": tuple(shape)}, shape, x.dtype, interval or x.interval, True)


def sliced(x: Expression, axis: int, first: int, count: int) -> Expression:
    """Some elements of an array along an axis."""
    starts, ends = [0] * len(x.shape), list(x.shape)
    starts[axis], ends[axis] = first, first + count
    shape = [end - start for start, end in zip(starts, ends, strict=True)]
    params = {"start_indices": tuple(starts), "limit_indices": tuple(ends), "strides": None}
    return apply("slice", (x,), params, shape, x.dtype, x.interval, True)


def converted(a: Expression, dtype: Any) -> Expression:
    """An integer in another dtype, modulo its width."""
    limits = intervals.of_dtype(dtype)
    fits = intervals.within(a.interval, limits)
    params = {"new_dtype": np.dtype(dtype)}
    return apply("convert_element_type", (a,), params, a.shape, dtype, a.interval if fits else limits, fits)


def _is_zero(a: Expression) -> bool:
    """True of the scalar 0, which changes no sum's shape."""
    return a.constant and not a.shape and a.interval == (0, 0)


def _wide(a: Expression) -> Expression:
    if a.dtype == np.int64:
        return a
    fits = intervals.within(a.interval, intervals.of_dtype(np.int64))
    return converted(a, np.int64) if fits else unknown(a.shape, np.int64)


def _shape(*operands: Expression) -> tuple[int, ...]:
    return np.broadcast_shapes(*(o.shape for o in operands))


def _combined(combine: Callable[[int, int], int], *operands: Interval | None) -> Interval | None:
    bound = intervals.corners(combine, *operands)
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

    points: Mapping[LoopAxis, np.ndarray]
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


def source_positions(e: Expression) -> np.ndarray:
    """For each element of a move's result the flat number of the operand's element that it is."""
    (operand,) = e.operands
    moved: np.ndarray = constant_folding.MOVES[e.op](
        e.params, np.arange(math.prod(operand.shape)).reshape(operand.shape)
    )
    return moved


def _moved(e: Expression, value: np.ndarray) -> np.ndarray:
    lead = value.shape[: value.ndim - len(e.operands[0].shape)]
    return value.reshape(*lead, -1)[..., source_positions(e).reshape(-1)].reshape(lead + e.shape)
