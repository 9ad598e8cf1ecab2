"""Carries: what loops and branches carry of the values and memories that they are given or give."""

import dataclasses
from collections.abc import Mapping, Sequence

from xeemu.ir.program import Value
from xeemu.knowledge import forms
from xeemu.knowledge.analysis import Facts, Known
from xeemu.language.geometry import Geometry
from xeemu.planning import subgroup_layouts
from xeemu.planning.layouts import BySubgroup, Layout
from xeemu.planning.subgroup_layouts import LayoutConversion, Operand


@dataclasses.dataclass(frozen=True)
class ContentsCarry:
    """Those of a memory."""


@dataclasses.dataclass(frozen=True)
class BaseCarry:
    """That of a lane form.

    Attributes:
      further: what is added to the value's own base, as the form that is carried begins elsewhere; None if that form
        has no base.
    """

    further: int | None


@dataclasses.dataclass(frozen=True)
class ArrayCarry:
    """An array of all elements.

    Attributes:
      conversion: how it is made one that is laid out by sub-group; None if it is by item.
      lanes: those of a sub-group, for which it is repeated; None if they have it alike, or it is by item.
      repeated: true if all groups have it alike, but not what is carried.
    """

    conversion: LayoutConversion | None
    lanes: int | None
    repeated: bool


Carry = ContentsCarry | BaseCarry | ArrayCarry


@dataclasses.dataclass(frozen=True, eq=False)
class Carried:
    """What is known of all that a loop or a choice carries, wherever it is taken up.

    Attributes:
      known: of each value and memory.
      layouts: how each is laid out.
      geometry: the sizes of the launch.
    """

    known: Sequence[Known]
    layouts: Sequence[Layout]
    geometry: Geometry

    def of_values(self, values: Sequence[Value], facts: Facts, layouts: Mapping[Value, Layout]) -> tuple[Carry, ...]:
        """What is carried of values of a (sub)program.

        Args:
          values: those carried, in their order; further ones at the end are not carried.
          facts: what is known of the (sub)program.
          layouts: how its values are laid out.
        """
        each = zip(values, self.known, self.layouts, strict=False)
        return tuple(self._of_value(Operand.of(v, facts, layouts), known, layout) for v, known, layout in each)

    def _of_value(self, value: Operand, known: Known, layout: Layout) -> Carry:
        if known.space is not None:
            return ContentsCarry()
        if known.form is not None:
            assert value.form is not None
            return BaseCarry(forms.offset(value.form, known.form) if known.form.based else None)
        repeated = known.varying and not value.varying
        if not isinstance(layout, BySubgroup):
            return ArrayCarry(None, None, repeated)
        conversion = subgroup_layouts.conversion(value, layout.lanes, self.geometry)
        return ArrayCarry(conversion, None if layout.uniform else layout.lanes, repeated)
