"""Masked layouts: which values are laid out as those elements alone that a load's constant mask leaves in.

A step of a reduction tree loads, adds and stores the elements of half of the work-items. As an array of all elements
the others would be computed, too, and compilers do not see that nobody needs them.
"""

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.ir.table import Kind
from xeemu.knowledge import addressing
from xeemu.knowledge.addressing import Elements
from xeemu.knowledge.analysis import Facts, fact
from xeemu.planning import hazards
from xeemu.planning.layouts import Layout, Masked


def of_load(op: Op, facts: Facts, apart: bool) -> Masked | None:
    """The possible layout of the result of a load; None if its mask leaves in all elements, or is not known.

    Args:
      op: the load.
      facts: what is known of its operands.
      apart: true if the other elements had better be computed apart.
    """
    elements = addressing.active_elements(op, facts.value)
    if elements.all or not elements.count:
        return None
    first, last = elements.chosen[[0, -1]]
    return Masked(elements, apart=apart and bool(last - first == elements.count - 1))


def of_elementwise(operands: Iterable[Layout]) -> Masked | None:
    """The possible layout of the result of an elementwise operation: that of its masked operands, if these agree."""
    given = [layout for layout in operands if isinstance(layout, Masked)]
    if not given or any(layout.elements != given[0].elements for layout in given):
        return None
    return Masked(given[0].elements, apart=all(layout.apart for layout in given))


def of_movement(op: Op, operand: Layout, facts: Facts, apart: bool) -> Masked | None:
    """The possible layout of what an operation that moves elements gives: in another shape, or with a number around it.

    Args:
      op: the operation.
      operand: how the first operand is laid out.
      facts: what is known of the operands.
      apart: true if others around the elements had better be apart from them.
    """
    shape = op.results[0].shape
    if op.name == "reshape" and isinstance(operand, Masked):
        return dataclasses.replace(operand, elements=Elements(shape, operand.elements.chosen))
    if op.name != "pad" or len(shape) != 1:
        return None
    part, fill = op.operands
    ((low, high, between),) = op.attributes["padding_config"]
    elements = Elements(shape, low + (between + 1) * np.arange(part.size))
    if min(low, high) < 0 or elements.all or not elements.count:
        return None
    return Masked(elements, apart=apart and not between and not facts.value(fill).varying)


@fact
def moved_later(facts: Facts) -> frozenset[Value]:
    """The values of a (sub)program whose elements, or what is computed from them, go on to other indices of an array.

    Of these XLA would decide for each element again where it is from, so that others are better computed apart.
    """
    found = set(facts.body.outputs)  # which a loop takes again
    for op in reversed(facts.body.ops):
        if op.name in ops.LANGUAGE:
            continue
        moves = ops.of(op).kind is Kind.MOVEMENT and op.name != "reshape"
        if op.regions or moves or not found.isdisjoint(op.results):
            found.update(op.used)
    return frozenset(v for v in found if not isinstance(v, Constant))


@fact
def reduced(facts: Facts) -> frozenset[Value]:
    """The floats of a (sub)program that work-items reduce as they are.

    XLA reduces floats from an array that it has computed before, and computes all else from that array, too: nothing is
    put together more than once (2-core EPYC, 64 kernels that reduce what they load and store something of it again: 0.9
    to 3.1 times as fast as with others apart, 1.3 in the mean). It does not so for integers, which are 1.3 to 2.9 times
    as fast apart where two loads follow, and 0.5 to 0.9 times where one does.
    """
    of_group = (
        op for op in facts.body.ops if op.name == ops.COLLECTIVE and op.attributes["collective"].kind == "reduce"
    )
    return frozenset(v for op in of_group for v in _values(op.operands) if v.dtype.kind == "f")


def uses_chosen_only(op: Op, operand: Layout) -> bool:
    """True if an operation takes of its operand the elements that this has for themselves, and nothing else."""
    if op.name != "slice" or not isinstance(operand, Masked) or op.results[0].ndim != 1:
        return False
    (start,), (limit,) = op.attributes["start_indices"], op.attributes["limit_indices"]
    (step,) = op.attributes["strides"] or (1,)
    return np.array_equal(np.arange(start, limit, step), operand.elements.chosen)


@dataclasses.dataclass(eq=False)
class Needs:
    """Which values that may be laid out so need to be.

    Attributes:
      chosen: those of which something takes the elements that the mask has left in.
      all_elements: those of which something takes others, too.
    """

    chosen: set[Value] = dataclasses.field(default_factory=set)
    all_elements: set[Value] = dataclasses.field(default_factory=set)

    def final_layout(self, value: Value, layout: Masked, watched: bool) -> Masked | None:
        """The layout of a value; None if it is only taken whole, by those who would have an array.

        Args:
          value: the value.
          layout: how it may be laid out.
          watched: true if somebody sees every access, and may ask for any element.
        """
        whole = value in self.all_elements
        if whole and not layout.apart and value not in self.chosen:
            return None
        return dataclasses.replace(layout, needs_all=watched or whole)


def needs(facts: Facts, possible: Mapping[Value, Masked]) -> Needs:
    """What is needed of the values of a (sub)program.

    Args:
      facts: what is known of it.
      possible: the values that may be laid out so, and how.
    """
    outputs, waited = _values(facts.body.outputs), hazards.of_body(facts).waits.values()
    found = Needs(set(outputs), set(outputs).union(*waited))
    for op in reversed(facts.body.ops):
        if op.name in ops.ACCESSES:
            _of_access(op, facts, possible, found)
        elif not op.regions and not possible.keys().isdisjoint(op.results):
            _of_possible(op, possible, found)
        elif op.operands and (first := op.operands[0]) in possible and uses_chosen_only(op, possible[first]):
            found.chosen.add(first)
        else:
            found.all_elements.update(_values(op.used))
            if op.regions:  # by accesses in them
                found.chosen.update(_values(op.used))
    return found


def _of_access(op: Op, facts: Facts, possible: Mapping[Value, Masked], found: Needs) -> None:
    """Its mask, and what a load gives for those left out, are taken whole; of all else the elements of the access."""
    access, elements = op.attributes["access"], addressing.active_elements(op, facts.value)
    last = len(op.operands) - access.masked if ops.changes(op) else 1 + access.rank
    for value in op.operands[1:last]:
        if value in possible:
            by_elements = value.shape == access.shape and possible[value].elements == elements
            (found.chosen if by_elements else found.all_elements).add(value)
    found.all_elements.update(_values(op.operands[last:]))


def _of_possible(op: Op, possible: Mapping[Value, Masked], found: Needs) -> None:
    (result,) = op.results
    apart = possible[result].apart
    if op.name == "pad":
        found.all_elements.update(_values(op.operands))
        return
    for value in _values(op.used):
        if result in found.chosen:
            found.chosen.add(value)
        if result in found.all_elements:
            found.all_elements.add(value)
    if not apart:
        return
    # Of an operand that has no array of the others, they are taken from all of its elements.
    for value in _values(op.used):
        if value in possible and not possible[value].apart:
            found.all_elements.add(value)


def _values(values: Iterable[Value]) -> list[Value]:
    return [value for value in values if not isinstance(value, Constant)]
