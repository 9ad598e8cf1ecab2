"""Arithmetic that C++ leaves undefined: divisions by zero, quotients that overflow, shifts by the width or more.

Here it has some result. What becomes of that is followed: where it is selected away, C++ need not compute it.
"""

from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp

from xeemu.faults import marks
from xeemu.faults.marks import Mark
from xeemu.faults.paths import Graph
from xeemu.faults.ranges import Ranges, operation
from xeemu.ir import evaluation, ops
from xeemu.ir.program import Op
from xeemu.knowledge import intervals
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.intervals import Interval
from xeemu.language import primitives


def sources(ranges: Ranges) -> Mapping[Key, Op]:
    """The operations of a program that may be undefined."""
    return {key: op for key, (op, operands) in ranges.operations.items() if _may_be_undefined(op, operands)}


def _may_be_undefined(op: Op, operands: Sequence[Interval | None]) -> bool:
    name, limits = operation(op), intervals.of_dtype(op.results[0].dtype)
    assert name is not None
    assert limits is not None
    if name.startswith("shift"):
        return not intervals.within(operands[1], (0, 8 * op.results[0].dtype.itemsize - 1))
    if name not in ("div", "rem"):
        return False
    a, b = (limits if o is None else o for o in operands)
    overflows = limits[0] < 0 and a[0] == limits[0] and b[0] <= -1 <= b[1]
    return b[0] <= 0 <= b[1] or overflows


def undefined(name: str, a: jax.Array, b: jax.Array) -> jax.Array:
    """Where an operation of two arrays is undefined."""
    if name.startswith("shift"):
        return (b < 0) | (b >= 8 * a.dtype.itemsize)
    if not jnp.issubdtype(a.dtype, jnp.signedinteger):
        return b == 0
    return (b == 0) | ((a == jnp.iinfo(a.dtype).min) & (b == -1))


class Undefined:
    """How what is undefined goes on: through all that is computed from it, unless it is selected away."""

    decides, exact, inside = True, False, False

    def passing(self, op: Op) -> Sequence[int]:
        traits = ops.of(op)
        if traits.is_elementwise:
            return range(len(op.operands))
        return (0,) if traits.moves or traits.collective else ()

    def mattering(self, op: Op) -> Sequence[int]:
        """All but the memory, and what a masked load gives to the others."""
        access: primitives.AccessAttributes = op.attributes["access"]
        last = len(op.operands) if ops.changes(op) else 1 + access.rank + access.masked
        return range(1, last)

    def may_matter(self, source: Key, graph: Graph) -> bool:
        return True

    def mark(
        self,
        op: Op,
        number: int | None,
        values: Sequence[jax.Array],
        operands: Sequence[Mark | None],
        result: jax.Array,
        inside: Mark | None,
    ) -> Mark | None:
        """The mark of an operation's result.

        Args:
          op: the operation.
          number: of the operation that may be undefined, if it is one.
          values, operands: the operands and their marks.
          result: its value.
          inside: the mark that the body of a call gives it.
        """
        before = inside if op.regions else _passed(op, values, operands, result)
        if number is None:
            return before
        name = operation(op)
        assert name is not None
        a, b = values
        own = marks.made(number, result, jnp.broadcast_to(undefined(name, a, b), result.shape), values, None)
        return own if before is None else marks.first_of(result, [before, own])


def _passed(op: Op, values: Sequence[jax.Array], operands: Sequence[Mark | None], result: jax.Array) -> Mark | None:
    if all(mark is None for mark in operands):
        return None
    name = op.name
    if ops.of(op).moves:
        return marks.moved(lambda x: evaluation.results(op, [x])[0], _known(operands[0]))._replace(value=result)
    if ops.of(op).collective:
        return _reduced(_known(operands[0]), tuple(axis + 1 for axis in op.attributes["axes"]), result)
    if name == "select_n":
        return _selected(values, operands, result)
    if name in ("and", "or") and result.dtype == bool:
        operands = _deciding(values, operands, name == "or")
    return marks.first_of(result, [mark for mark in operands if mark is not None])


def _known(mark: Mark | None) -> Mark:
    assert mark is not None
    return mark


def _selected(values: Sequence[jax.Array], operands: Sequence[Mark | None], result: jax.Array) -> Mark:
    """Of a selection the marks of what is selected, and of what selects."""
    which = values[0]
    found = [] if operands[0] is None else [operands[0]]
    for k, mark in enumerate(operands[1:]):
        if mark is not None:
            found.append(marks.where(which == jnp.asarray(k, which.dtype), mark))
    return marks.first_of(result, found)


def _deciding(values: Sequence[jax.Array], operands: Sequence[Mark | None], decided: bool) -> Sequence[Mark | None]:
    """The marks of `a and b`, or of `a or b`, where not the other one decides alone."""

    def still(k: int) -> Mark | None:
        mark, other, value = operands[k], operands[1 - k], values[1 - k]
        if mark is None:
            return None
        alone = (value == decided) if other is None else (value == decided) & ~other.marked
        return marks.where(~alone, mark)

    return [still(0), still(1)]


def _reduced(mark: Mark, axes: tuple[int, ...], result: jax.Array) -> Mark:
    """Of a reduction the mark of the first of its elements that is marked."""
    kept = [axis for axis in range(mark.value.ndim) if axis not in axes]
    shape = [mark.value.shape[axis] for axis in kept]

    def rows(array: jax.Array) -> jax.Array:
        return array.transpose(*kept, *axes).reshape(*shape, -1)

    at = jnp.argmax(rows(mark.marked), axis=-1, keepdims=True)
    origin, first, second = (
        jnp.take_along_axis(rows(a), at, -1)[..., 0] for a in (mark.origin, mark.first, mark.second)
    )
    return marks.renewed(result, Mark(jnp.zeros(shape), origin, first, second, None))
