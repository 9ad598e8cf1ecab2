"""Vectors: which private elements of a work-item lie side by side, so that one instruction accesses them all."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xeemu.cost.requests import WIDEST_BYTES
from xeemu.knowledge import expressions
from xeemu.knowledge.expressions import AXIS, CONSTANT, TABLE, Expression

_BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


class Vector(NamedTuple):
    """How an access is made up of vectors.

    Attributes:
      width: elements of a vector; 1 where there are none.
      aligned: true if each is known to begin at a multiple of its size. If not, that shows as the kernel runs.
      shared: true if a vector is loaded for a whole sub-group, an element by each lane.
    """

    width: int
    aligned: bool
    shared: bool = False


class _Split(NamedTuple):
    """An integer of the program as the sum of what is known of each of its elements and of a rest.

    Attributes:
      known: the known part of each element, int64, of the value's shape.
      axes: the axes of the value along which the rest may differ.
      multiple: what the rest is a multiple of; 0 for the number 0.
    """

    known: np.ndarray
    axes: frozenset[int]
    multiple: int

    @property
    def varies(self) -> frozenset[int]:
        """The axes along which the value may differ."""
        steps = {a for a in range(self.known.ndim) if _differs(self.known, a)}
        return self.axes | steps

    @property
    def divisor(self) -> int:
        """What all elements are multiples of; 0 if all are 0."""
        return math.gcd(self.multiple, int(np.gcd.reduce(np.abs(self.known), axis=None, initial=0)))


def of_access(index: Expression, shape: tuple[int, ...], rank: int, most: int) -> Vector:
    """The vectors of an access. Which elements take part does not matter here: see `costs.Meter`.

    Args:
      index: the linear index of its elements.
      shape: the work-items' axes and the private ones.
      rank: number of the former.
      most: elements of a vector at most.
    """
    private = math.prod(shape[rank:])
    if not shape or private == 1:
        return Vector(1, True)
    split = _of(index)
    if any(axis >= rank for axis in split.axes):
        return Vector(1, True)
    known = np.broadcast_to(split.known, shape).reshape(-1, private)
    width = side_by_side(known, most)
    starts = np.gcd.reduce(np.abs(known[:, ::width]), axis=None, initial=split.multiple)
    return Vector(width, bool(starts % width == 0))


def is_shared(index: Expression, rank: int) -> bool:
    """True if all work-items are known to access the same elements, of so many axes of work-items."""
    return not index.shape or not any(axis < rank for axis in _of(index).varies)


def common(found: Sequence[Vector]) -> Vector:
    """The vectors that an access has whichever of some ways it goes."""
    width = min(vector.width for vector in found)
    return Vector(width, width == 1 or all(vector.aligned and vector.width == width for vector in found))


def widest(private: int, itemsize: int, most_bytes: int = WIDEST_BYTES) -> int:
    """The most elements of a vector: of so many private elements there are only whole ones."""
    return math.gcd(private, max(1, most_bytes // itemsize))


def side_by_side(elements: np.ndarray, most: int) -> int:
    """How many elements follow each other in all rows `[rows, private elements]`: a power of two up to `most`."""
    width = most
    while width > 1 and (np.diff(elements.reshape(-1, width)) != 1).any():
        width //= 2
    return width


def _differs(array: np.ndarray, axis: int) -> bool:
    return bool((np.diff(array, axis=axis) != 0).any())


def _of(index: Expression) -> _Split:
    found: dict[int, _Split] = {}
    for e in expressions.ordered(index, {}):
        found[id(e)] = _expression(e, [_operand(o, found) for o in e.operands])
    return _operand(index, found)


def _operand(e: Expression, found: dict[int, _Split]) -> _Split:
    return _Split(e.array.astype(np.int64), frozenset(), 0) if e.op == CONSTANT else found[id(e)]


def _expression(e: Expression, operands: list[_Split]) -> _Split:
    """Wrapping around changes neither what lies side by side nor what is a multiple of a power of two."""
    if e.op in ("add", "sub"):
        return _sum(e, *operands)
    if e.op == "convert_element_type":
        return operands[0]
    if e.op in ("mul", "shift_left"):
        return _product(e, *operands)
    if e.op in expressions.MOVES:
        return _moved(e, operands[0])
    if e.op in _BITWISE:
        return _by_bits(e, *operands)
    if e.op == TABLE and e.shape == e.operands[1].shape:
        operands = operands[1:]  # single elements of one array
    return _Split(np.zeros(e.shape, np.int64), _axes(e, operands), 1)


def _axes(e: Expression, operands: Sequence[_Split]) -> frozenset[int]:
    """The axes along which the result of an operation on elements in the same place may differ."""
    if e.op == AXIS or (operands and all(o.known.ndim in (0, len(e.shape)) for o in operands)):
        return frozenset().union(*(o.varies for o in operands))
    return frozenset(axis for axis, size in enumerate(e.shape) if size > 1)


def _sum(e: Expression, a: _Split, b: _Split) -> _Split:
    known = a.known + b.known if e.op == "add" else a.known - b.known
    return _Split(np.broadcast_to(known, e.shape), a.axes | b.axes, math.gcd(a.multiple, b.multiple))


def _product(e: Expression, a: _Split, b: _Split) -> _Split:
    if e.op == "mul" and a.multiple == 0:
        a, b = b, a
    if b.multiple:  # a power of two times the first operand, or a product of two that are not known
        multiple = a.divisor if e.op == "shift_left" else a.divisor * b.divisor
        return _Split(np.zeros(e.shape, np.int64), a.varies | b.varies, multiple)
    factor = 1 << b.known if e.op == "shift_left" else b.known
    times = _Split(factor, frozenset(), 0)
    axes = a.axes | times.varies if a.multiple else frozenset()
    return _Split(np.broadcast_to(a.known * factor, e.shape), axes, a.multiple * times.divisor)


def _moved(e: Expression, a: _Split) -> _Split:
    """Elements in other places; an axis of the result is one of the rest's if elements along it come from along one."""
    places = expressions.source_positions(e)
    shape = e.operands[0].shape
    coordinates = np.unravel_index(places, shape) if shape else ()
    axes = {axis for axis in range(places.ndim) for source in a.axes if _differs(coordinates[source], axis)}
    return _Split(a.known.reshape(-1)[places], frozenset(axes), a.multiple)


def _by_bits(e: Expression, a: _Split, b: _Split) -> _Split:
    """The low bits, which are 0 in both rests, are those of the known parts; the rest is what becomes of the others."""
    free = _lowest_bit(math.gcd(a.multiple, b.multiple))
    a_low, b_low = a.known & (free - 1), b.known & (free - 1)
    highs = [_Split(a.known - a_low, a.axes, a.multiple), _Split(b.known - b_low, b.axes, b.multiple)]
    multiples = [high.divisor for high in highs]
    multiple = max(map(_lowest_bit, multiples)) if e.op == "and" else math.gcd(*multiples)
    is_zero = multiple == 0 or (e.op == "and" and 0 in multiples)
    known = np.broadcast_to(_BITWISE[e.op](a_low, b_low), e.shape)
    return _Split(known, frozenset() if is_zero else _axes(e, highs), 0 if is_zero else multiple)


def _lowest_bit(number: int) -> int:
    """The greatest power of two that divides a number."""
    return number & -number if number else 1 << 62
