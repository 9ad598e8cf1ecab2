"""Vectors: which private elements of a work-item lie side by side, so that one instruction accesses them all."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xeemu.cost.requests import WIDEST_BYTES
from xeemu.knowledge import expressions
from xeemu.knowledge.expressions import AXIS, CONSTANT, Expression


class Vector(NamedTuple):
    """How an access is made up of vectors.

    Attributes:
      width: elements of a vector; 1 where there are none.
      aligned: whether each is known to begin at a multiple of its size. If not, that shows as the kernel runs.
    """

    width: int
    aligned: bool


class _Private(NamedTuple):
    """How a value differs between the private elements of a work-item.

    Attributes:
      offsets: what each private element adds, of the private axes' shape; None if that differs between work-items.
      multiple: what the rest is a multiple of; 0 for the number 0.
    """

    offsets: np.ndarray | None
    multiple: int


def of_access(index: Expression, shape: tuple[int, ...], rank: int, itemsize: int) -> Vector:
    """The vectors of an access. Which elements take part does not matter here: see `costs.Meter`.

    Args:
      index: the linear index of its elements.
      shape: the work-items' axes and the private ones.
      rank: number of the former.
      itemsize: bytes of an element.
    """
    private = math.prod(shape[rank:])
    if not shape or private == 1:
        return Vector(1, True)
    offsets, multiple = _of(index, rank)
    if offsets is None:
        return Vector(1, True)
    flat = np.broadcast_to(offsets, shape[rank:]).reshape(-1)
    width = max(1, WIDEST_BYTES // itemsize)
    while width > 1 and not (private % width == 0 and _together(flat, width)):
        width //= 2
    starts = np.gcd.reduce(flat[::width], initial=multiple)
    return Vector(width, bool(starts % width == 0))


def common(found: Sequence[Vector]) -> Vector:
    """The vectors that an access has whichever of some ways it goes."""
    width = min(vector.width for vector in found)
    return Vector(width, width == 1 or all(vector.aligned and vector.width == width for vector in found))


def _together(offsets: np.ndarray, width: int) -> bool:
    """Whether each `width` elements follow each other."""
    return bool((np.diff(offsets.reshape(-1, width)) == 1).all())


def _of(index: Expression, rank: int) -> _Private:
    found: dict[int, _Private] = {}
    for e in expressions.ordered(index, {}):
        found[id(e)] = _expression(e, rank, [_operand(o, rank, found) for o in e.operands])
    return _operand(index, rank, found)


def _operand(e: Expression, rank: int, found: dict[int, _Private]) -> _Private:
    return _constant(e.array, rank) if e.op == CONSTANT else found[id(e)]


def _constant(array: np.ndarray, rank: int) -> _Private:
    values = array.astype(np.int64)
    one_each = (slice(None),) * rank + (slice(0, 1),) * (values.ndim - rank)
    base = values[one_each] if values.ndim > rank else values
    offsets = (values - base).reshape(-1, *values.shape[rank:]) if values.ndim > rank else np.zeros((1, 1), np.int64)
    same = values.size and (offsets == offsets[:1]).all()
    return _Private(offsets[0] if same else None, int(np.gcd.reduce(np.abs(base).reshape(-1), initial=0)))


_ALIKE = np.zeros((), np.int64)


def _expression(e: Expression, rank: int, operands: list[_Private]) -> _Private:
    """Wrapping around changes neither what lies side by side nor what is a multiple of a power of two."""
    if not operands:
        alike = e.op == AXIS or math.prod(e.shape[rank:]) == 1
        return _Private(_ALIKE if alike else None, 1)
    alike = all(o.offsets is not None and not o.offsets.any() for o in operands)
    a, b = operands[0], operands[-1]
    if e.op in ("add", "sub") and a.offsets is not None and b.offsets is not None:
        return _Private(
            a.offsets + b.offsets if e.op == "add" else a.offsets - b.offsets, math.gcd(a.multiple, b.multiple)
        )
    if e.op == "convert_element_type":
        return a
    if e.op in ("mul", "shift_left"):
        return _scaled(e, a, b, alike)
    if e.op in expressions.MOVES and math.prod(e.operands[0].shape[rank:]) == 1:
        return _Private(_ALIKE, a.multiple)
    if e.op == "and" and alike:
        return _Private(_ALIKE, max(_lowest_bit(a.multiple), _lowest_bit(b.multiple)))
    return _Private(_ALIKE if alike else None, 1)


def _scaled(e: Expression, a: _Private, b: _Private, alike: bool) -> _Private:
    x, y = e.operands
    if e.op == "mul" and x.constant and not y.constant:
        x, y, a, b = y, x, b, a
    if y.constant and y.array.size and (y.array == y.array.flat[0]).all() and a.offsets is not None:
        factor = int(y.array.flat[0])
        factor = 1 << factor if e.op == "shift_left" else factor
        return _Private(a.offsets * factor, abs(a.multiple * factor))
    multiple = a.multiple * b.multiple if e.op == "mul" else a.multiple
    return _Private(_ALIKE if alike else None, multiple)


def _lowest_bit(number: int) -> int:
    """The greatest power of two that divides a number: what a conjunction with it leaves is a multiple of that too."""
    return number & -number if number else 1 << 62
