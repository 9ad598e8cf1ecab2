"""Stencil loads: loads at constant distances from each other, from one rectangle of a memory around them all.

What a stencil loads lies beyond the edges of its memory in part, and what is read there has to be filled in. That takes
a pass over all that is read, for each load by itself; compilers fuse the slices of what is read once.
"""

import collections
import dataclasses
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge import addressing, analysis
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.forms import Form
from xeemu.knowledge.intervals import Interval


@dataclasses.dataclass(frozen=True, eq=False)
class StencilLoad:
    """A load as one of several.

    Attributes:
      offset: along each dimension of the memory how far it lies from the least of them.
      spread: how far the greatest lies from that.
      bounds: along each dimension the least and the greatest index of them all.
      count: how many they are.
      first: the number of the first of them; they agree in the memory and in what is missing there.
    """

    offset: tuple[int, ...]
    spread: tuple[int, ...]
    bounds: tuple[Interval, ...]
    count: int
    first: int


def of_body(facts: Facts) -> Mapping[int, StencilLoad]:
    """For the numbers of loads of a (sub)program that have neighbours, what these are.

    They are loads from one version of a global memory that may be out of bounds.
    """
    groups = collections.defaultdict[Hashable, list[tuple[int, tuple[int, ...]]]](list)
    for number, op in enumerate(facts.body.ops):
        if (found := _key_and_origin(op, facts)) is not None:
            key, origin = found
            # Its dtype is the memory's; 0.0 is not -0.0.
            is_bounded, passthrough = op.attributes["access"].bounded, ops.passthrough(op)
            missing = passthrough.array.tobytes() if is_bounded and passthrough else None
            groups[key, missing].append((number, origin))
    several = [group for group in groups.values() if len(group) > 1]
    return {number: load for group in several for number, load in _stencil(group, facts).items()}


def _key_and_origin(op: Op, facts: Facts) -> tuple[Hashable, tuple[int, ...]] | None:
    """What loads at constant distances from each other have in common, and where the first element of one is."""
    if op.name != ops.LOAD or facts.values[op.operands[0]].space != "global":
        return None
    if not analysis.doubted(op, facts):
        return None
    address = addressing.foreseen(op, facts)
    where, known = address.elements, [c.form for c in address.components if not c.form.based]
    if not known or len(known) < len(address.shape) or not where.count:
        return None
    first = tuple(int(form.pattern[0]) for form in known)
    return (op.operands[0], address.shape, where.shape, where.chosen.tobytes(), tuple(map(_shape, known))), first


def _shape(form: Form) -> Hashable:
    """A lane form but for where it begins."""
    return form.steps, (form.pattern - form.pattern[0]).tobytes()


def _stencil(group: Sequence[tuple[int, tuple[int, ...]]], facts: Facts) -> Mapping[int, StencilLoad]:
    """Loads of a group as neighbours, by number; none if it is not known how far one of them reaches."""
    origins = np.asarray([origin for _, origin in group])
    least = origins.min(axis=0)
    spread = tuple((origins.max(axis=0) - least).tolist())
    each = [[facts.value(a).interval for a in ops.indices(facts.body.ops[n])] for n, _ in group]
    bounds = [[i for i in intervals if i is not None] for intervals in zip(*each, strict=True)]
    if any(len(known) < len(group) for known in bounds):
        return {}
    around = tuple((min(low for low, _ in known), max(high for _, high in known)) for known in bounds)
    offsets = (origins - least).tolist()
    return {
        number: StencilLoad(tuple(offset), spread, around, len(group), group[0][0])
        for (number, _), offset in zip(group, offsets, strict=True)
    }
