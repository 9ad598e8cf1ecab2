"""Arithmetic that C++ leaves undefined: divisions by zero, quotients that overflow, shifts by the width or more.

Here it has some result. What becomes of that is followed: where it is selected away, C++ need not compute it.
"""

from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
from jax.extend import core as jex_core

from xeemu.faults import marks
from xeemu.faults.marks import Mark
from xeemu.faults.paths import Graph
from xeemu.faults.ranges import Ranges, operation
from xeemu.ir import ops
from xeemu.knowledge import intervals
from xeemu.knowledge.intervals import Interval
from xeemu.knowledge.schedule import Key
from xeemu.language import jaxprs, primitives


def sources(ranges: Ranges) -> Mapping[Key, jex_core.JaxprEqn]:
    """The operations of a program that may be undefined."""
    return {key: eqn for key, (eqn, operands) in ranges.operations.items() if _may_be_undefined(eqn, operands)}


def _may_be_undefined(eqn: jex_core.JaxprEqn, operands: Sequence[Interval | None]) -> bool:
    name, limits = operation(eqn), intervals.of_dtype(eqn.outvars[0].aval.dtype)
    assert name is not None
    assert limits is not None
    if name.startswith("shift"):
        return not intervals.within(operands[1], (0, 8 * eqn.outvars[0].aval.dtype.itemsize - 1))
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

    def passing(self, eqn: jex_core.JaxprEqn) -> Sequence[int]:
        op = ops.of(eqn)
        if op.is_elementwise:
            return range(len(eqn.invars))
        return (0,) if op.moves or op.collective else ()

    def mattering(self, eqn: jex_core.JaxprEqn) -> Sequence[int]:
        """All but the memory, and what a masked load gives to the others."""
        last = len(eqn.invars) - (primitives.operation(eqn) == "load" and eqn.params["access"].masked)
        return range(1, last)

    def may_matter(self, source: Key, graph: Graph) -> bool:
        return True

    def mark(
        self,
        eqn: jex_core.JaxprEqn,
        number: int | None,
        values: Sequence[jax.Array],
        operands: Sequence[Mark | None],
        result: jax.Array,
        inside: Mark | None,
    ) -> Mark | None:
        """The mark of an equation's result.

        Args:
          eqn: the equation.
          number: of the operation that may be undefined, if it is one.
          values, operands: the operands and their marks.
          result: its value.
          inside: the mark that the body of a call gives it.
        """
        before = inside if jaxprs.bodies(eqn) else _passed(eqn, values, operands, result)
        if number is None:
            return before
        name = operation(eqn)
        assert name is not None
        a, b = values
        own = marks.made(number, result, jnp.broadcast_to(undefined(name, a, b), result.shape), values, None)
        return own if before is None else marks.first_of(result, [before, own])


def _passed(
    eqn: jex_core.JaxprEqn, values: Sequence[jax.Array], operands: Sequence[Mark | None], result: jax.Array
) -> Mark | None:
    if all(mark is None for mark in operands):
        return None
    name = eqn.primitive.name
    if ops.of(eqn).moves:
        return marks.moved(lambda x: jaxprs.bound(eqn, [x])[0], _known(operands[0]))._replace(value=result)
    if ops.of(eqn).collective:
        return _reduced(_known(operands[0]), tuple(axis + 1 for axis in eqn.params["axes"]), result)
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
