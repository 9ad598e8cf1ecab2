"""Sums: integers as what is known to be added up, so that equal ones are told however they are written.

A compiler brings sums, differences and products with constants into one form (LLVM's Reassociate and InstCombine), in
which `4 * i + 1` and `(i << 2) | 1` are one number, and the distance of `x[i + 1]` from `x[i]` is known.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge import intervals
from xeemu.knowledge.value_numbering import Numbers

_MOST_BITS = 64
_SMALL = 64
"""Elements of constants that are compared."""


class Sum(NamedTuple):
    """A sum, all modulo the values of its type.

    Attributes:
      terms: numbers of values, each with the factor that it has.
      constant: what is added to them.
    """

    terms: frozenset[tuple[int, int]]
    constant: int

    @property
    def multiple(self) -> int:
        """A power of 2 of which the sum is a multiple, whatever the values are."""
        bits = self.constant
        for _, factor in self.terms:
            bits |= factor
        return bits & -bits


class IndexPart(NamedTuple):
    """A component of an index.

    Attributes:
      base: the number of what a constant is added to, one for all private elements of a work-item.
      constant: that constant, of the first of them.
      step: how much greater it is for each further one.
    """

    base: int
    constant: int
    step: int


class Sums:
    """The sums that numbered values are.

    Args:
      numbers: the values' numbers.
      depth: by number the loops around what makes a value another one in each iteration; those of sums are added.
      rank: the axes of values along which work-items lie, before the private ones.
    """

    def __init__(self, numbers: Numbers, depth: dict[int, int], rank: int) -> None:
        self._numbers, self._depth, self._rank = numbers, depth, rank
        self._known: dict[int, Sum] = {}
        self._made_of: dict[int, Sum] = {}  # of what is broadcast or converted
        self._bases: dict[int, Sum] = {}
        self._repeated: dict[int, int] = {}  # of what is broadcast to private elements, or work-items, what is
        self._counting: dict[int, tuple[int, int]] = {}  # of what counts along the last axis, its size and first number

    def of(self, number: int) -> Sum:
        """What is added up to the value of a number."""
        return self._known.get(number, Sum(frozenset({(number, 1)}), 0))

    def component(self, number: int, shape: tuple[int, ...], private: tuple[int, ...]) -> IndexPart | None:
        """A component of the index of an access, as what its constant is added to.

        Args:
          number: of the component.
          shape: its shape.
          private: that of the elements of a work-item which are accessed.

        Returns:
          the component; None if it is not known how far these elements are apart.
        """
        total, constant, step = dict[int, int](), self.of(number).constant, 0
        alike = math.prod(shape[self._rank :]) == 1
        for each, factor in self.of(number).terms:
            size, first = self._counting.get(each, (0, 0))
            if not alike and private == (size,):
                constant, step = constant + factor * first, step + factor
            elif alike or each in self._repeated:
                root = self._repeated.get(each, each)
                total[root] = total.get(root, 0) + factor
            else:
                return None
        terms = frozenset(total.items())
        base = self._noted(self._numbers.of(("terms", terms)), terms)
        self._bases[base] = Sum(terms, 0)
        return IndexPart(base, constant, step)

    def constant(self, value: Constant) -> int:
        """The number of a constant."""
        if not value.is_literal and value.array.size <= _SMALL:
            number = self._numbers.of(("array", str(value.dtype), value.shape, value.array.tobytes()))
        else:
            number = self._numbers.constant(value)
        if _is_integer(value) and value.array.size:
            elements = value.array.reshape(-1)
            if (elements == elements[0]).all():
                self._known[number] = Sum(frozenset(), int(elements[0]))
            elif (np.diff(elements) == 1).all() and value.shape[-1] == elements.size:
                self._counting[number] = elements.size, int(elements[0])
        return number

    def result(self, op: Op, used: Sequence[int]) -> int | None:
        """The number of what an operation gives to operands of such numbers; None if it is no sum of them."""
        if len(op.results) != 1 or not _is_integer(op.results[0]):
            return None
        if op.name == "iota":
            (made,) = self._numbers.results(op, used)
            if op.attributes["dimension"] == len(op.attributes["shape"]) - 1:
                self._counting[made] = op.attributes["shape"][-1], 0
            return made
        if op.name == "convert_element_type" and not _keeps_sums(op.results[0], op.operands[0]):
            return self._made(op, used[0], self.of(used[0]))
        if op.name == "convert_element_type" and op.operands[0].dtype == op.results[0].dtype:
            return used[0]
        if op.name in ("broadcast_in_dim", "convert_element_type"):
            found: Sum | None = self._of_each(op, used[0])
        else:
            found = self._summed(op.name, [self.of(number) for number in used])
        return None if found is None else self._number(_wrapped(found, op.results[0]), op.results[0])

    def difference(self, one: int, other: int) -> Sum:
        """What one value is more than another, in numbers from before they were broadcast or converted."""
        return self._before(_added(self.of(one), self.of(other), -1))

    def advance(self, base: int, following: Mapping[int, int], depth: int) -> int | None:
        """The constant by which the base of a component grows from an iteration to the next; None if it is none.

        Args:
          base: its number.
          following: by number of what an iteration is given what it gives to the next one.
          depth: loops around the iterations.
        """
        if self._depth.get(base, 0) < depth:
            return 0
        if base not in self._bases:
            return None
        varying = [term for term in self._before(self._bases[base]).terms if self._depth.get(term[0], 0) >= depth]
        steps = [(self.step(number, following.get(number)), factor) for number, factor in varying]
        return None if any(step is None for step, _ in steps) else sum((step or 0) * factor for step, factor in steps)

    def step(self, number: int, following: int | None) -> int | None:
        """The constant by which one value is more than another; None if it is none."""
        found = None if following is None else self.difference(following, number)
        return None if found is None or found.terms else found.constant

    def _before(self, found: Sum) -> Sum:
        total = Sum(frozenset(), found.constant)
        for number, factor in found.terms:
            made_of = self._made_of.get(number)
            each = Sum(frozenset({(number, 1)}), 0) if made_of is None else self._before(made_of)
            total = _added(total, _times(each, factor), 1)
        return total

    def _made(self, op: Op, number: int, of: Sum) -> int:
        """What an operation makes of a number that is such a sum."""
        (made,) = self._numbers.results(op, [number])
        self._made_of[made] = of
        if number in self._counting and op.results[0].shape[-1] == self._counting[number][0] and _keeps_last(op):
            self._counting[made] = self._counting[number]
        return self._noted(made, [(number, 1)])

    def _number(self, found: Sum, result: Value) -> int:
        if found.constant == 0 and len(found.terms) == 1:
            ((number, factor),) = found.terms
            if factor == 1:
                return number
        number = self._numbers.of(("sum", str(result.dtype), result.shape, found))
        self._known[number] = found
        return self._noted(number, found.terms)

    def _noted(self, number: int, terms: Iterable[tuple[int, int]]) -> int:
        self._depth[number] = max((self._depth.get(each, 0) for each, _ in terms), default=0)
        return number

    def _of_each(self, op: Op, used: int) -> Sum:
        """The sum of what an operation makes of each that is added up, as all sums are modulo the values of a type."""
        terms, constant = self.of(used)
        made = {each: self._made(op, each, Sum(frozenset({(each, 1)}), 0)) for each, _ in terms}
        if op.name == "broadcast_in_dim" and _keeps_first(op, self._rank):
            self._repeated |= {new: self._repeated.get(each, each) for each, new in made.items()}
        return Sum(frozenset((made[each], factor) for each, factor in terms), constant)

    def _summed(self, name: str, operands: Sequence[Sum]) -> Sum | None:
        if name in ("add", "sub"):
            return _added(operands[0], operands[1], 1 if name == "add" else -1)
        if name == "neg":
            return _times(operands[0], -1)
        if name in ("mul", "or") and not operands[0].terms:
            operands = operands[::-1]
        if name not in ("mul", "or", "shift_left") or operands[1].terms:
            return None
        a, constant = operands[0], operands[1].constant
        if name == "or":
            return _added(a, operands[1], 1) if constant == 0 or 0 < constant < a.multiple else None
        if name == "mul":
            return _times(a, constant)
        return _times(a, 1 << constant) if 0 <= constant < _MOST_BITS else None


def _is_integer(value: Value) -> bool:
    """True of integers; keys of random numbers have no dtype of NumPy's."""
    return isinstance(value.dtype, np.dtype) and value.dtype.kind in "iu"


def _keeps_sums(result: Value, operand: Value) -> bool:
    """True if what is converted of a sum is the sum of what is converted: low bits, and numbers with a sign in more.

    No sum of numbers with a sign goes beyond the ends of its type, in C and to compilers.
    """
    if not _is_integer(operand):
        return False
    narrower = np.dtype(result.dtype).itemsize < np.dtype(operand.dtype).itemsize
    return narrower or result.dtype == operand.dtype or operand.dtype.kind == "i"


def _keeps_first(op: Op, rank: int) -> bool:
    """True if a broadcast repeats what is one for all private elements: a single one, or along axes after its
    operand's."""
    shape, axes = op.operands[0].shape, tuple(op.attributes["broadcast_dimensions"])
    return math.prod(shape) == 1 or (axes == tuple(range(len(shape))) and math.prod(shape[rank:]) == 1)


def _keeps_last(op: Op) -> bool:
    """True if a conversion or broadcast has its operand's last axis as its last one, and the operand's numbers."""
    if op.name == "broadcast_in_dim":
        axes = op.attributes["broadcast_dimensions"]
        return bool(axes) and axes[-1] == len(op.results[0].shape) - 1
    return np.dtype(op.results[0].dtype).itemsize >= np.dtype(op.operands[0].dtype).itemsize


def _added(a: Sum, b: Sum, sign: int) -> Sum:
    if not b.terms:
        return Sum(a.terms, a.constant + sign * b.constant)
    found = dict(a.terms)
    for number, factor in b.terms:
        found[number] = found.get(number, 0) + sign * factor
    return Sum(frozenset(term for term in found.items() if term[1]), a.constant + sign * b.constant)


def _times(a: Sum, factor: int) -> Sum:
    terms = frozenset((number, each * factor) for number, each in a.terms) if factor else frozenset[tuple[int, int]]()
    return Sum(terms, a.constant * factor)


def _wrapped(found: Sum, result: Value) -> Sum:
    """A sum as the type of a value has it, in which numbers that go beyond its ends begin again at the other."""
    interval = intervals.of_dtype(result.dtype)
    assert interval is not None  # of integers there is one
    least, most = interval
    if least <= found.constant <= most and all(least <= factor <= most for _, factor in found.terms):
        return found
    values = most - least + 1
    terms = ((number, (factor - least) % values + least) for number, factor in found.terms)
    return Sum(frozenset(term for term in terms if term[1]), (found.constant - least) % values + least)
