"""Tables: elements of constant arrays that the program looks up at known indices, as expressions."""

import math
from collections.abc import Sequence

import numpy as np
from jax.lax import GatherScatterMode

from xeemu.ir.program import Op, Value
from xeemu.knowledge import expressions, intervals
from xeemu.knowledge.expressions import Expression


def looked_up(op: Op, v: Value, operands: Sequence[Expression]) -> Expression | None:
    """The result of a `gather` of single elements or of a `dynamic_slice`; None if its array is no constant.

    Places outside the array are what XLA makes of them: the nearest ones inside, or a value of their own.
    """
    array, *rest = operands
    if op.name not in ("gather", "dynamic_slice") or not array.constant or not array.array.size:
        return None
    if op.name == "dynamic_slice":
        return _sliced(v, array, rest)
    numbers = op.attributes["dimension_numbers"]
    single = len(numbers.collapsed_slice_dims) == len(array.shape) and set(op.attributes["slice_sizes"]) == {1}
    if not single or numbers.operand_batching_dims:
        return None
    parts = [_component(rest[0], k, v.shape) for k in range(len(numbers.start_index_map))]
    coordinates = dict(zip(numbers.start_index_map, parts, strict=True))
    positions, inside = expressions.constant(np.zeros(v.shape, np.int64)), expressions.TRUE
    for axis, size in enumerate(array.shape):
        index = coordinates[axis]
        inside = expressions.both(inside, expressions.inside(index, size))
        stride = math.prod(array.shape[axis + 1 :])
        positions = expressions.add(positions, expressions.scale(_clipped(index, size - 1), stride))
    found = expressions.elements(expressions.constant(array.array.reshape(-1)), positions)
    if op.attributes["mode"] != GatherScatterMode.FILL_OR_DROP or (inside.constant and inside.array.all()):
        return found
    fill = expressions.constant(np.full(v.shape, _fill(op, array.dtype)), array.dtype)
    return expressions.exact("select_n", inside, fill, found)


def _sliced(v: Value, array: Expression, starts: Sequence[Expression]) -> Expression:
    offsets = np.arange(math.prod(array.shape)).reshape(array.shape)[tuple(map(slice, v.shape))]
    positions = expressions.constant(offsets, np.int64)
    for axis, start in enumerate(starts):
        first = expressions.scale(
            _clipped(start, array.shape[axis] - v.shape[axis]), math.prod(array.shape[axis + 1 :])
        )
        positions = expressions.add(positions, first)
    return expressions.elements(expressions.constant(array.array.reshape(-1)), positions)


def _component(indices: Expression, k: int, shape: tuple[int, ...]) -> Expression:
    """The indices along one axis of the array, which lie side by side with those along the others."""
    return expressions.reshaped(expressions.sliced(indices, len(indices.shape) - 1, k, 1), shape)


def _clipped(index: Expression, most: int) -> Expression:
    if intervals.within(index.interval, (0, most)):
        return index
    wide = expressions.add(index, expressions.constant(0, np.int64))
    low, high = expressions.constant(0, np.int64), expressions.constant(most, np.int64)
    return expressions.exact("min", expressions.exact("max", wide, low), high, interval=(0, most))


def _fill(op: Op, dtype: np.dtype) -> int:
    """What JAX gives for an index out of bounds where nobody says."""
    if op.attributes["fill_value"] is not None:
        return int(op.attributes["fill_value"])
    if dtype.kind == "b":
        return 1
    return int(np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max)
