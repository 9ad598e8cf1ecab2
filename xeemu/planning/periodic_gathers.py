"""Periodic gathers: look-ups by a remainder, which work-items side by side make one element after the other.

What some periods look up is found once, and copied side by side. A gather takes each element for itself, and divides.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge.analysis import Facts, Known
from xeemu.knowledge.forms import Form
from xeemu.planning.chunk import Chunk
from xeemu.planning.references import Reference


@dataclasses.dataclass(frozen=True, eq=False)
class Remainder:
    """An integer that is `offset + sign * (dividend % divisor)`, of a dividend that is not negative.

    Attributes:
      dividend: the value that is divided.
      known: what is known of that.
      divisor, offset, sign: numbers, the last 1 or -1.
    """

    dividend: Value
    known: Known
    divisor: int
    offset: int = 0
    sign: int = 1


def of_body(facts: Facts) -> Mapping[int, Remainder]:
    """For the numbers of the loads of a (sub)program by one index that is a remainder, that."""
    loads = ((n, ops.indices(op)) for n, op in enumerate(facts.body.ops) if op.name == ops.LOAD)
    found = ((n, _remainder(index[0], facts)) for n, index in loads if len(index) == 1)
    return {n: remainder for n, remainder in found if remainder is not None}


def _remainder(value: Value, facts: Facts) -> Remainder | None:
    """The remainder that a value is; a number may be added to one, and one subtracted from a number."""
    op = None if isinstance(value, Constant) else facts.body.definitions.get(value)
    if op is None or op.name not in ("rem", "add", "sub"):
        return None
    known = [facts.value(a) for a in op.operands]
    if op.name == "rem":
        return _of_division(op, known)
    signs = (1, 1) if op.name == "add" else (1, -1)
    for k, operand in enumerate(op.operands):
        number = known[1 - k].only
        if number is not None and operand.shape == value.shape and (of := _remainder(operand, facts)):
            offset = signs[k] * of.offset + signs[1 - k] * number
            return dataclasses.replace(of, offset=offset, sign=signs[k] * of.sign)
    return None


def _of_division(op: Op, known: Sequence[Known]) -> Remainder | None:
    divisor, (dividend, _) = known[1].only, op.operands
    natural = all(k.interval is not None and k.interval[0] >= 0 for k in known)
    if not (natural and divisor) or dividend.shape != op.results[0].shape:
        return None
    return Remainder(dividend, known[0], divisor)


@dataclasses.dataclass(frozen=True, eq=False)
class PeriodicGather:
    """The addresses of elements that lie side by side, those of one group after the other's.

    Attributes:
      form: of the dividend, with an `[n]` pattern.
      index: the remainders that they are.
      groups: how many there are.
      elements: of a group.
      gathered: elements of the periods that are found: whole periods, and whole vectors.
    """

    form: Form
    index: Remainder
    groups: int
    elements: int
    gathered: int


def of_reference(reference: Reference, index: Remainder | None, chunk: Chunk) -> PeriodicGather | None:
    """The addresses of a load by one index that is a remainder, if they are such and it is worth while.

    Args:
      reference: the elements.
      index: the remainder that it is, if it is one.
      chunk: the work-groups.
    """
    storage, figures = reference.storage, chunk.target.cycles
    if figures is None or chunk.cores > figures.most_cores or index is None:
        return None
    if storage.space != "global" or storage.unit is not None or not reference.address.proved:
        return None
    if not index.divisor & (index.divisor - 1):  # by a power of two is no division, and found as fast
        return None
    form = _dividend(reference, index, chunk)
    both = math.lcm(index.divisor, figures.vector)
    found, elements = both * -(-figures.fewest // both), reference.elements.count
    if form is None or figures.copies * found > chunk.count * elements:
        return None
    return PeriodicGather(form, index, chunk.count, elements, found)


def _dividend(reference: Reference, index: Remainder, chunk: Chunk) -> Form | None:
    """The form of the number that is divided, if it is one more from each element to the next, over all groups."""
    elements, known = reference.elements, index.known.form
    if known is None or not elements.all or not elements.count or index.dividend.shape != elements.shape:
        return None
    form = elements.form(known)
    if (np.diff(form.pattern) != 1).any() or (chunk.count > 1 and chunk.linear_step(form) != elements.count):
        return None
    return form
