"""Compare fusion: fields of one value that are compared with what is known, as one comparison of the value.

A kernel that takes values apart, as into the lane and the register of a bin, compares part by part: `(x & 15) == a` and
`x >> 4 == b`. Either says that some bits of `x` are known ones. Where those are different bits, both together are one
comparison, `x == 16 * b + a`, with a mask on `x` if other bits may be set too. So are two of `!=` with `or`.

It is no pass, because who watches memory operations gains by it too, and gets the program as it was written: a check or
a profile of the register histogram takes three times as long without it.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import bit_fields, constant_folding, forms, intervals
from xeemu.knowledge.analysis import Facts, Known, fact
from xeemu.knowledge.bit_fields import BitField, Reader
from xeemu.knowledge.intervals import Interval

_JOINED = {"and": "eq", "or": "ne"}
"""What joins bools, with the comparison of which it makes another one."""


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """True if some bits of a value's elements are known ones: `(x & mask) == bits`, in endless width.

    Attributes:
      op: `"eq"`, or `"ne"` for the opposite.
      value: the value.
      mask: which bits.
      possible: the bits that can be set, of which the mask is a part.
      bits: what they are compared with, of the result's shape.
      positions: the flat positions of the elements, of the result's shape.
      written: the dtype in which the kernel compares them.
    """

    op: str
    value: Value
    mask: int
    possible: int
    bits: np.ndarray
    positions: np.ndarray
    written: np.dtype

    @property
    def masked(self) -> bool:
        """True if other bits may be set, too."""
        return self.mask != self.possible

    @property
    def dtype(self) -> np.dtype:
        """In which to compare: as the kernel does if that is narrower than the value and can hold the bits."""
        dtype: np.dtype = self.value.dtype
        fits = self.mask >= 0 and intervals.within((self.mask, self.mask), intervals.of_dtype(self.written))
        return self.written if fits and self.written.itemsize < dtype.itemsize else dtype

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The value's shape beside the result's, 1 along axes where it repeats; None if elements are moved too."""
        positions = self.positions
        repeats = [bool((positions == positions.take([0], axis)).all()) for axis in range(positions.ndim)]
        first = positions[tuple(slice(1 if r else None) for r in repeats)]
        return first.shape if np.array_equal(first.reshape(-1), np.arange(self.value.size)) else None

    def moved(self, op: Op) -> "Comparison":
        """What an operation makes of the results that only moves or repeats them."""
        move = constant_folding.MOVES[op.name]
        bits, positions = (move(op.attributes, array) for array in (self.bits, self.positions))
        return dataclasses.replace(self, bits=bits, positions=positions)

    def broadcast(self, shape: tuple[int, ...]) -> "Comparison":
        bits, positions = np.broadcast_to(self.bits, shape), np.broadcast_to(self.positions, shape)
        return dataclasses.replace(self, bits=bits, positions=positions)

    def of(self, field: BitField, interval: Interval | None) -> "Comparison | None":
        """The comparison of what this value is a field of; None if its dtype cannot hold what it is compared with.

        Args:
          field: the field.
          interval: the values that the other value takes.
        """
        dtype, shift = field.value.dtype, field.shift
        assert interval is not None
        possible = (1 << interval[1].bit_length()) - 1 if interval[0] >= 0 else -1
        mask = (self.mask & field.mask) << shift & possible
        needed = [(int(self.bits.min()) << shift, int(self.bits.max()) << shift), (mask, mask)]
        if shift >= 8 * dtype.itemsize or not all(intervals.within(i, intervals.of_dtype(dtype)) for i in needed):
            return None
        bits, positions = self.bits.astype(dtype) << dtype.type(shift), field.positions.reshape(-1)[self.positions]
        return Comparison(self.op, field.value, mask, possible, bits, positions, self.written)

    def joined(self, other: "Comparison") -> "Comparison | None":
        """Both comparisons as one, if they are of different bits of the same elements."""
        same = self.value is other.value and np.array_equal(self.positions, other.positions)
        if not same or self.mask & other.mask or self._beyond or other._beyond:
            return None
        written = max(self.written, other.written, key=lambda dtype: dtype.itemsize)
        return dataclasses.replace(self, mask=self.mask | other.mask, bits=self.bits | other.bits, written=written)

    @property
    def _beyond(self) -> bool:
        """True if there is something to compare with that the bits of the mask never are."""
        return bool((self.bits & ~forms.wrapped(self.mask, self.bits.dtype)).any())


@fact
def of_body(facts: Facts) -> dict[Value, Comparison]:
    """For each result of an operation of a (sub)program that joins comparisons of fields the one that it is."""
    reader, found, shared = Reader(facts), dict[Value, Comparison](), dict[Any, np.ndarray]()
    for op in facts.body.ops:
        joint = _joint(op, reader, found) if op.name in _JOINED else None
        if joint is not None and _is_better(joint, facts.values[op.results[0]], facts):
            # The compiled program holds an array once, however often it is used.
            bits = joint.bits.astype(joint.dtype)
            key = (bits.dtype, bits.shape, bits.tobytes())
            found[op.results[0]] = dataclasses.replace(joint, bits=shared.setdefault(key, bits))
    return found


def spared(body: Region, comparisons: Mapping[int, Comparison]) -> dict[Value, int]:
    """For each result that nothing needs any more, as comparisons are joined, the number of the operation it is of.

    Args:
      body: the (sub)program.
      comparisons: by number of their operation those that are joined.
    """
    if not comparisons:
        return {}
    found, possible = dict[Value, int](), set[Any](a for a in body.outputs if not isinstance(a, Constant))
    for number, op in reversed(list(enumerate(body.ops))):
        if number in comparisons:
            possible.add(comparisons[number].value)
        elif _is_plain(op) and possible.isdisjoint(op.results):
            found |= dict.fromkeys(op.results, number)
        else:
            possible.update(a for a in op.used if not isinstance(a, Constant))
    return found


def _is_plain(op: Op) -> bool:
    return op.name not in ops.LANGUAGE and control.of(op) is None


def _is_better(joint: Comparison, result: Known, facts: Facts) -> bool:
    """True if it gives a result that is not known anyway, of the same groups, and from the value as it lies."""
    return result.form is None and facts.values[joint.value].varying == result.varying and joint.shape is not None


def _joint(op: Op, reader: Reader, found: Mapping[Value, Comparison]) -> Comparison | None:
    """What joins two comparisons, as one of the nearest value that both are of fields of."""
    out, comparison = op.results[0], _JOINED[op.name]
    sides = [_comparison(a, reader, found) for a in op.used]
    one, other = (s.broadcast(out.shape) if s is not None and s.op == comparison else None for s in sides)
    if one is None or other is None or not _is_moderate(out):
        return None
    others = list(_wider(other, reader))
    joints = (x.joined(y) for x in _wider(one, reader) for y in others if x.value is y.value)
    return next((joint for joint in joints if joint is not None), None)


def _is_moderate(like: Any) -> bool:
    """True if an array has elements, and not too many to look at each."""
    return bool(0 < like.size <= bit_fields.LARGEST)


def _wider(comparison: Comparison, reader: Reader) -> Iterator[Comparison]:
    """A comparison as one of its value, of the value that this one is a field of, and so on."""
    for field in reader.fields(comparison.value):
        wider = comparison.of(field, reader.interval(field.value))
        if wider is not None:
            yield wider


def _comparison(value: Value, reader: Reader, found: Mapping[Value, Comparison]) -> Comparison | None:
    """The comparison with something known that a bool is."""
    op = reader.facts.body.definitions.get(value)
    if op is None or not _is_moderate(value):
        return None
    if value in found:
        return found[value]
    if op.name in constant_folding.MOVES:
        inner = _comparison(op.operands[0], reader, found)
        return inner.moved(op) if inner else None
    return _of_op(op, reader) if op.name in _JOINED.values() else None


def _of_op(op: Op, reader: Reader) -> Comparison | None:
    """True if an operation compares a value with something known."""
    comparison, shape = op.name, op.results[0].shape
    for value, other in (op.operands, op.operands[::-1]):
        known, field = reader.constant_elements(other), next(reader.fields(value), None)
        if known is not None and field is not None:
            dtype = value.dtype
            return Comparison(comparison, value, -1, -1, known.astype(dtype), field.positions, dtype).broadcast(shape)
    return None
