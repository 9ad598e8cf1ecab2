"""Sub-group layouts: which values are laid out by sub-group and lane, and which once for each sub-group.

What a sub-group's broadcast or reduction gives is the same for all of its lanes, and so is what is computed from
nothing else: it is computed once for each. What it is combined with has a layout by sub-group and lane, for compilers
do not see that work-items in a row have one value alike, and look it up anew for each. But only where work-items have
several elements of their own: XLA's loops over the lanes alone are several times as slow on a CPU as over all
work-items.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.forms import Form
from xeemu.language import collectives
from xeemu.language.collectives import Collective
from xeemu.language.geometry import Geometry
from xeemu.planning.compare_fusion import Comparison
from xeemu.planning.layouts import BY_ITEM, ByItem, BySubgroup, Layout

_SHAPES = {"broadcast_in_dim": "shape", "reshape": "new_sizes"}
"""Operations that may give each work-item more axes or elements of its own, with the parameter that says which."""


@dataclasses.dataclass(frozen=True, eq=False)
class Operand:
    """What is known of an operand before it is emitted.

    Attributes:
      shape: its shape.
      layout: how it is laid out.
      form: its lane form, or None.
      varying: true if it differs between groups.
    """

    shape: tuple[int, ...]
    layout: Layout
    form: Form | None
    varying: bool

    @classmethod
    def of(cls, value: Value, facts: Facts, layouts: Mapping[Value, Layout]) -> "Operand":
        """What is known of a value of a (sub)program whose values are laid out so."""
        known = facts.value(value)
        layout = BY_ITEM if isinstance(value, Constant) else layouts[value]
        return cls(value.shape, layout, known.form, known.varying)

    @property
    def lanes(self) -> int | None:
        """Of the sub-groups that have it, or something that goes into it, alike."""
        match self.layout:
            case BySubgroup(lanes):
                return lanes
            case ByItem(mixed):
                return mixed
        return None

    def is_uniform(self, lanes: int, geometry: Geometry) -> bool:
        """True if the lanes of each sub-group have it alike."""
        if isinstance(self.layout, BySubgroup):
            return self.layout == BySubgroup(lanes, uniform=True)
        if self._is_group_uniform or is_of_all(self.shape, geometry):
            return True
        return self.form is not None and uniform_pattern(self.form, self.shape, lanes, geometry) is not None

    def is_group_uniform(self, geometry: Geometry) -> bool:
        """True if all work-items have it alike."""
        return self._is_group_uniform or self.is_uniform(geometry.items, geometry)

    @property
    def _is_group_uniform(self) -> bool:
        return isinstance(self.layout, ByItem) and self.layout.uniform


@dataclasses.dataclass(frozen=True)
class NoConversion:
    """A value that is laid out by sub-group already, and stays so."""


@dataclasses.dataclass(frozen=True, eq=False)
class Patterned:
    """A lane form that the lanes of each sub-group have alike is made an array of.

    Attributes:
      pattern: `[sub-groups, 1, *private]`, its pattern.
    """

    pattern: np.ndarray


@dataclasses.dataclass(frozen=True)
class Split:
    """An array by item is cut into sub-groups.

    Attributes:
      shape: `(sub-groups, lanes, *private)`, both 1 of what has its elements for all work-items.
      repeated: the shape of the value with an element for each work-item, if it has fewer; else None.
      uniform: true if the lanes have it alike, so that the first one is taken.
    """

    shape: tuple[int, ...]
    repeated: tuple[int, ...] | None
    uniform: bool


LayoutConversion = NoConversion | Patterned | Split
"""How a value is converted to one by sub-group and lane, or by sub-group if the lanes have it alike."""


def conversion(value: Operand, lanes: int, geometry: Geometry) -> LayoutConversion:
    """How a value is converted to one by sub-groups of so many lanes; `is_uniform` says if lanes have it alike."""
    if isinstance(value.layout, BySubgroup):
        return NoConversion()
    if value.form is not None:
        pattern = uniform_pattern(value.form, value.shape, lanes, geometry)
        if pattern is not None:
            return Patterned(pattern)
    of_all, own = is_of_all(value.shape, geometry), private(value.shape, geometry)
    whole = (*geometry.local_range, *own) if not of_all and not is_of_items(value.shape, geometry) else None
    each = (1, 1) if of_all else rows(lanes, geometry)
    return Split((*each, *own), whole, isinstance(value.layout, ByItem) and value.layout.uniform)


def uniform_pattern(form: Form, shape: tuple[int, ...], lanes: int, geometry: Geometry) -> np.ndarray | None:
    """`[sub-groups, 1, *private]`: the pattern of a form that the lanes of each sub-group have alike, else None."""
    if not is_of_items(shape, geometry):
        return None
    pattern = form.pattern.reshape(*rows(lanes, geometry), *private(shape, geometry))
    return pattern[:, :1] if (pattern == pattern[:, :1]).all() else None


def is_of_items(shape: tuple[int, ...], geometry: Geometry) -> bool:
    """True if a value of a shape may have an element for each work-item."""
    return shape[: len(geometry.local_range)] == geometry.local_range


def is_of_all(shape: tuple[int, ...], geometry: Geometry) -> bool:
    """True if a value of a shape that is combined with such has one element, or some, for all work-items."""
    return not shape or all(n == 1 for n in shape[: len(geometry.local_range)])


def private(shape: tuple[int, ...], geometry: Geometry) -> tuple[int, ...]:
    """The axes of a work-item's own."""
    return shape[len(geometry.local_range) :]


def rows(lanes: int, geometry: Geometry) -> tuple[int, int]:
    """The sub-groups of a group, and their lanes."""
    return geometry.items // lanes, lanes


def of_collective(op: Op, geometry: Geometry) -> Layout:
    """The layout of the result of a group algorithm: uniform if all sub-groups, or their chunks, are full."""
    algorithm: Collective = op.attributes["collective"]
    if algorithm.level != collectives.SUB_GROUP or geometry.items % algorithm.lanes:
        return BY_ITEM
    uniform = algorithm.gives_same(*(a.ndim for a in op.operands[1:]))
    return BySubgroup(algorithm.lanes, uniform=True) if uniform else BY_ITEM


def of_elementwise(op: Op, operands: Sequence[Operand], geometry: Geometry) -> Layout:
    """The layout of the result of an elementwise operation."""
    found = {lanes for o in operands if (lanes := o.lanes) is not None}
    if not found:
        return ByItem(uniform=all(o.is_group_uniform(geometry) for o in operands))
    if len(found) > 1:
        return BY_ITEM
    (lanes,) = found
    if all(o.is_uniform(lanes, geometry) for o in operands):
        return BySubgroup(lanes, uniform=True)
    # By lane a loop with a function that takes long took a third longer.
    return BY_ITEM if ops.of(op).special else _by_lane(op.results[0].shape, lanes, geometry)


def _by_lane(shape: tuple[int, ...], lanes: int, geometry: Geometry) -> Layout:
    """The layout of a value that something uniform goes into."""
    return BySubgroup(lanes, uniform=False) if private(shape, geometry) else ByItem(lanes)


def of_movement(op: Op, operand: Operand, geometry: Geometry) -> Layout:
    """The layout of the result of an operation that may only give each work-item more axes or elements of its own."""
    if not _widens(op, geometry):
        return ByItem(uniform=_spreads(op, geometry))
    match operand.layout:
        case BySubgroup() | ByItem(uniform=True):
            return operand.layout
        case ByItem(mixed) if mixed is not None:
            return _by_lane(op.results[0].shape, mixed, geometry)
    return ByItem(uniform=_spreads(op, geometry))


def _spreads(op: Op, geometry: Geometry) -> bool:
    """True if an operation gives all work-items the same elements."""
    if op.name != "broadcast_in_dim" or not is_of_items(op.results[0].shape, geometry):
        return False
    axes = zip(op.operands[0].shape, op.attributes["broadcast_dimensions"], strict=True)
    return all(n == 1 for n, axis in axes if axis < len(geometry.local_range))


def _widens(op: Op, geometry: Geometry) -> bool:
    if op.name not in _SHAPES or not is_of_items(op.attributes[_SHAPES[op.name]], geometry):
        return False
    if op.name == "reshape":
        return op.attributes["dimensions"] is None
    rank = len(geometry.local_range)
    return tuple(op.attributes["broadcast_dimensions"][:rank]) == tuple(range(rank))


def of_comparison(comparison: Comparison, value: Operand, geometry: Geometry) -> Layout:
    """The layout of the result of a comparison of fields of a value: as the value, if it is work-item by work-item."""
    shape, bits = comparison.shape, comparison.bits.shape
    if not isinstance(value.layout, BySubgroup) or shape is None or not private(bits, geometry):
        return BY_ITEM
    by_item = is_of_items(shape, geometry) and is_of_items(bits, geometry)
    return dataclasses.replace(value.layout, uniform=False) if by_item else BY_ITEM


def joined(values: Sequence[Operand], geometry: Geometry) -> Layout:
    """The layout of what is one of several values, as a branch or the iterations of a loop give it.

    Those with a lane form can have any layout.
    """
    found = {v.layout.lanes for v in values if isinstance(v.layout, BySubgroup)}
    shape = values[0].shape
    if not found:
        return ByItem(uniform=all(v.is_group_uniform(geometry) for v in values))
    if len(found) > 1 or not is_of_items(shape, geometry):
        return BY_ITEM
    (lanes,) = found
    uniform = all(v.is_uniform(lanes, geometry) for v in values)
    return BySubgroup(lanes, uniform) if uniform or private(shape, geometry) else BY_ITEM
