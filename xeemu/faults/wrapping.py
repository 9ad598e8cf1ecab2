"""Wrapping: arithmetic on an index that passes the end of its type, and yet gives an address within bounds.

Index arithmetic is what comes to an index through sums, differences, products, negations, conversions, quotients of
signed integers, choices, minima and maxima, and moves of elements. Whatever comes through a remainder, a mask of bits,
an exclusive or, or a shift may be a hash, which is meant to wrap; so may what an access or a group algorithm gives.
Only a product with a power of two is followed through shifts to the right: it is a fixed point, and the multipliers of
hashes are odd.
What unbounded integers would give is followed beside each value: what wraps and is turned back was right.
"""

from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.faults import landings, marks
from xeemu.faults.marks import Mark
from xeemu.faults.paths import Graph
from xeemu.faults.ranges import Ranges, operation
from xeemu.ir import evaluation, ops
from xeemu.ir.program import Op
from xeemu.knowledge import intervals
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.intervals import Interval

_SHIFTS = frozenset(("shift_right_logical", "shift_right_arithmetic"))

# The least that a value of 8 bits is off by; and what float64 may leave of it, beside the number itself.
_LEAST, _ROUNDING = 128.0, 2.0**-40


def sources(ranges: Ranges, fixed_point: bool) -> Mapping[Key, Op]:
    """The operations of a program that may wrap: products with powers of two, or all others."""
    return {
        key: op
        for key, (op, operands) in ranges.operations.items()
        if _may_wrap(op, operands) and _scales(op, operands) == fixed_point
    }


def _scales(op: Op, operands: Sequence[Interval | None]) -> bool:
    """True if it is a product with a power of two that is known."""
    known = [o[0] for o in operands if o is not None and o[0] == o[1]]
    return op.name == "mul" and any(n > 1 and not n & (n - 1) for n in known)


def _may_wrap(op: Op, operands: Sequence[Interval | None]) -> bool:
    if not ops.of(op).wraps or any(v.dtype.kind not in "iu" for v in op.used):
        return False
    limits = intervals.of_dtype(op.results[0].dtype)
    given = [o or intervals.of_dtype(v.dtype) for o, v in zip(operands, op.used, strict=True)]
    return not intervals.within(intervals.of_op(op, given), limits)


class Wrapped:
    """How what has wrapped goes on to an index.

    Args:
      ranges: of the operations' operands.
      fixed_point: true if it goes on through shifts to the right.
    """

    decides, exact, inside = False, True, True

    def __init__(self, ranges: Ranges, fixed_point: bool):
        self._ranges, self._fixed_point = ranges, fixed_point

    def passing(self, op: Op) -> Sequence[int]:
        traits, name, dtype = ops.of(op), op.name, op.results[0].dtype
        if getattr(dtype, "kind", "") not in ("i", "u"):
            return ()
        if name == "select_n":
            return range(1, len(op.operands))
        if traits.wraps or traits.chooses:
            return [k for k, v in enumerate(op.operands) if v.dtype.kind in "iu"]
        shifts = self._fixed_point and name in _SHIFTS
        return (0,) if traits.moves or shifts or (name == "div" and dtype.kind == "i") else ()

    def mattering(self, op: Op) -> Sequence[int]:
        return range(1, 1 + len(ops.indices(op)))

    def may_matter(self, source: Key, graph: Graph) -> bool:
        return landings.may_land(source, graph, self._ranges)

    def mark(
        self,
        op: Op,
        number: int | None,
        values: Sequence[jax.Array],
        operands: Sequence[Mark | None],
        result: jax.Array,
        inside: Mark | None,
    ) -> Mark | None:
        """The mark of an operation's result, see `arithmetic.Undefined`."""
        name = operation(op)
        if op.regions or name is None:
            return inside
        given = [marks.of(v, m, exact=True) for v, m in zip(values, operands, strict=True)]
        if ops.named(name).moves:
            return marks.moved(lambda x: evaluation.results(op, [x])[0], given[0])._replace(value=result)
        if ops.named(name).chooses:
            return _chosen(name, given, result)
        return _computed(name, number, given, result)


def _chosen(name: str, given: Sequence[Mark], result: jax.Array) -> Mark:
    """Of a choice the mark of what was chosen."""
    if name == "select_n":
        which, found, *others = given
        hits = [which.value == jnp.asarray(k, which.value.dtype) for k in range(1, len(given) - 1)]
    else:
        # Of what is clamped the value itself, if it is as large as a bound.
        found, *others = given if name != "clamp" else (given[0], given[2], given[1])
        hits = [other.value == result for other in others]
    for hit, other in zip(hits, others, strict=True):
        found = marks.chosen(hit, other, found)
    return marks.renewed(result, found)


def _computed(name: str, number: int | None, given: Sequence[Mark], result: jax.Array) -> Mark:
    """Of arithmetic the mark of an operand, or its own where that is the first to wrap; none if all is well."""
    exact = _exact(name, [_float(mark.exact) for mark in given])
    # All groups may have the same result, and operands a mark for each.
    result = jnp.broadcast_to(result, jnp.broadcast_shapes(result.shape, exact.shape))
    exact = jnp.broadcast_to(exact, result.shape)
    known = result.astype(np.float64)
    off = jnp.abs(exact - known) >= (1.0 if name == "div" or name in _SHIFTS else _LEAST) + _ROUNDING * jnp.abs(exact)
    mark = marks.where(off, marks.first_of(result, given))
    if number is not None:
        mark = marks.chosen(mark.marked, mark, marks.made(number, result, off, [m.value for m in given], exact))
    return mark._replace(value=result, exact=jnp.where(mark.marked, exact, known))


def _float(exact: jax.Array | None) -> jax.Array:
    assert exact is not None
    return exact


def _exact(name: str, operands: Sequence[jax.Array]) -> jax.Array:
    """What an operation gives of unbounded integers."""
    match name:
        case "add":
            return operands[0] + operands[1]
        case "sub":
            return operands[0] - operands[1]
        case "mul":
            return operands[0] * operands[1]
        case "div":
            return jnp.trunc(operands[0] / operands[1])
        case "neg":
            return -operands[0]
        case "abs":
            return jnp.abs(operands[0])
        case "shift_right_logical" | "shift_right_arithmetic":
            return jnp.floor(operands[0] / jnp.exp2(operands[1]))
    return operands[0]
