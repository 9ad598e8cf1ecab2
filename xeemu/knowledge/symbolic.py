"""Symbolic values: what operations give, as expressions of group ids and loop counters where that is known."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Op, Value
from xeemu.knowledge import constant_folding, expressions, induction, intervals, presence, tables
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.expressions import Expression, LoopAxis
from xeemu.knowledge.intervals import Interval
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation

Item = Expression | Allocation
"""What stands for a value of the program: an expression, or of a memory what it is a version of."""

_LARGEST_CONSTANT = 1 << 20  # elements of a constant that is followed


def argument(like: Value, operands: Any, interval: Interval | None) -> Expression:
    """An argument of the kernel, of its number if that is known, else of the interval that it lies in."""
    if operands is None or not _is_integral(like.dtype):
        return expressions.unknown(like.shape, like.dtype, interval)
    return expressions.constant(operands, like.dtype)


def _is_integral(dtype: Any) -> bool:
    return intervals.of_dtype(dtype) is not None


def uniform(
    geometry: Geometry, groups: Sequence[LoopAxis], facts: Facts, op: Op, operands: Sequence[Item]
) -> Expression:
    """Some or the greatest of work-items' values: of halves of the array element by element, until one is left."""
    (x, *_), (v,) = operands, op.results
    count, dtype, interval = math.prod(geometry.local_range), v.dtype, facts.values[v].interval
    if op.attributes["kind"] == "pick" or not isinstance(x, Expression) or not x.known:
        return unknown(facts, v)
    present = presence.of_groups(geometry, groups)
    if not present.constant:
        low = 0 if np.dtype(dtype).kind == "b" else np.iinfo(dtype).min
        least = expressions.constant(np.full(x.shape, low), dtype)
        x = expressions.exact("select_n", present, least, x)
    x = expressions.reshaped(x, (count,))
    combine = "or" if np.dtype(dtype).kind == "b" else "max"
    while count > 1:
        half = -(-count // 2)
        parts = [expressions.sliced(x, 0, first, half) for first in (0, count - half)]
        x, count = expressions.exact(combine, *parts, interval=x.interval), half
    return expressions.reshaped(x, (), interval)


def group_id(geometry: Geometry, groups: Sequence[LoopAxis], dim: int | None, dtype: Any) -> Expression:
    """The id of the work-group in a dimension, or its linear id."""
    strides = geometry.group_strides
    if dim is not None:
        strides = tuple(int(d == dim) for d in range(len(strides)))
    total = expressions.constant(0, np.int64)
    for axis, stride in zip(groups, strides, strict=True):
        if stride:
            total = expressions.add(total, expressions.scale(expressions.of_axis(axis), stride))
    return expressions.converted(total, dtype)


def is_taken(predicate: Expression, k: int, count: int) -> Expression:
    """True if branch `k` is taken; numbers beyond the ends take the branches there."""
    op = "eq" if 0 < k < count - 1 else "le" if k == 0 else "ge"
    return expressions.compare(op, predicate, expressions.constant(k, np.int64))


def joined(facts: Facts, predicate: Expression, v: Value, alternatives: Sequence[Item]) -> Item:
    """What a branch gives, of the number of the one that is taken and what each gives."""
    first = alternatives[0]
    if isinstance(first, Allocation) or all(a is first for a in alternatives):
        return first
    cases = [a for a in alternatives if isinstance(a, Expression)]
    if not all(c.known for c in (predicate, *cases)) or not intervals.within(predicate.interval, (0, len(cases) - 1)):
        return unknown(facts, v)
    return expressions.exact("select_n", predicate, *cases, interval=facts.values[v].interval)


def carried(facts: Facts, carries: Sequence[Item], iterations: Expression | None) -> list[Item]:
    """The carries of a loop after some iterations, or after any number of them (None)."""
    inputs, outputs = facts.body.inputs[: len(carries)], facts.body.outputs
    return [
        start if isinstance(start, Allocation) or out is v else _grown(facts, v, out, start, iterations)
        for start, v, out in zip(carries, inputs, outputs, strict=False)
    ]


def _grown(facts: Facts, v: Value, out: Value, start: Expression, iterations: Expression | None) -> Expression:
    step = induction.increment(facts.body, v, out)
    if step is None or iterations is None:
        return unknown(facts, v)
    return expressions.converted(expressions.add(start, expressions.scale(iterations, step)), v.dtype)


def after_loop(facts: Facts, op: Op, items: Sequence[Item]) -> list[Item]:
    """What a loop leaves: where nothing is known of a value, at least its interval after the loop."""
    lost = [isinstance(item, Expression) and item.op == expressions.UNKNOWN for item in items]
    return [unknown(facts, v) if now else item for now, item, v in zip(lost, items, op.results, strict=False)]


def element(array: Item, counter: Expression, scan: control.Scan) -> Expression:
    """What a loop takes of an array in an iteration."""
    assert isinstance(array, Expression)
    if scan.reverse:
        counter = expressions.add(expressions.constant(scan.length - 1, np.int64), expressions.scale(counter, -1))
    return expressions.elements(array, counter)


def is_known(item: Item) -> bool:
    return isinstance(item, Expression) and item.known


def constant(array: np.ndarray) -> Expression:
    if _is_integral(array.dtype) and array.size <= _LARGEST_CONSTANT:
        return expressions.constant(array)
    return expressions.unknown(
        array.shape, array.dtype, intervals.of_array(array) if _is_integral(array.dtype) else None
    )


def unknown(facts: Facts, v: Value) -> Expression:
    return expressions.unknown(v.shape, v.dtype, facts.values[v].interval)


def operation(facts: Facts, op: Op, v: Value, operands: Sequence[Item]) -> Expression:
    """What an operation of JAX gives for one of its results."""
    name = op.name
    values = [o for o in operands if isinstance(o, Expression)]
    if len(values) < len(operands) or not _is_integral(v.dtype) or len(op.results) > 1:
        return unknown(facts, v)
    interval = facts.values[v].interval
    if name == "iota":
        return constant(constant_folding.iota(op.attributes).astype(v.dtype))
    if (found := tables.looked_up(op, v, values)) is not None:
        return found
    if name == "clamp":
        low, x, high = values
        return expressions.exact("min", expressions.exact("max", x, low), high, interval=interval)
    bound = intervals.of_op(op, [o.interval for o in values])
    fits = intervals.within(bound, intervals.of_dtype(v.dtype))
    exact = ops.of(op).fits or fits
    # The launch's scalars and the loops' counters are known here, and not to the analysis.
    if fits and intervals.within(bound, interval):
        interval = bound
    return expressions.apply(name, values, op.attributes, v.shape, v.dtype, interval, exact)
