"""Guards: masks that keep an access within its memory and do nothing else.

Where a launch has more work-items than there are elements, or where neighbours do not exist, a kernel masks out what is
not there: `data.load(i, where=i < n)`. Such a mask is true exactly where the index is within bounds, so that nobody has
to look at both, and a window that ends with the memory needs neither.
"""

import dataclasses

from jax.extend import core as jex_core

from xeemu.knowledge import intervals, numbering
from xeemu.knowledge.analysis import Plan, fact
from xeemu.knowledge.intervals import Interval
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Atom, Body

_ORDERS = {"lt": (False, 0), "le": (False, 1), "ge": (True, 0), "gt": (True, 1)}
"""For a comparison with a constant whether it sets the least value or the end, and what it adds to the constant."""

_MIRRORED = {"lt": "gt", "le": "ge", "ge": "le", "gt": "lt"}


@fact
def of_body(body: Body, plan: Plan, dimensions: int) -> frozenset[int]:
    """The numbers of the loads and stores of a (sub)program whose masks are guards.

    Args:
      body: the program.
      plan: its analysis.
      dimensions: of the launch.
    """
    masked = [(number, eqn) for number, eqn in enumerate(body.eqns) if _is_masked(eqn, plan)]
    if not masked:
        return frozenset()
    masks = _Masks(body, plan, dimensions)
    return frozenset(number for number, eqn in masked if masks.guard(eqn))


def _is_masked(eqn: jex_core.JaxprEqn, plan: Plan) -> bool:
    """Whether it loads from global memory, with a constant for those masked out, or stores to it, as a mask says."""
    if eqn.primitive not in (primitives.load_p, primitives.store_p) or plan.values[eqn.invars[0]].space != "global":
        return False
    mask = primitives.mask(eqn)
    if mask is None or jaxprs.is_literal(mask):
        return False
    # One that is known before the program runs chooses elements (see `addressing.left_in`), here as in other modules.
    form = plan.values[mask].form
    if form is not None and form.constant:
        return False
    return eqn.primitive is primitives.store_p or jaxprs.is_literal(eqn.invars[-1])


@dataclasses.dataclass(frozen=True)
class _Condition:
    """That a value, given by its number, is at least `least` and below `end`."""

    number: int
    least: int | None = None
    end: int | None = None


class _Masks:
    """What the masks of a (sub)program are made of."""

    def __init__(self, body: Body, plan: Plan, dimensions: int) -> None:
        self.plan, self.dimensions = plan, dimensions
        self.numbers = numbering.of_body(body)
        self.made = {v: eqn for eqn in body.eqns for v in eqn.outvars}

    def guard(self, eqn: jex_core.JaxprEqn) -> bool:
        """Whether the mask of an access is true exactly where its index is within bounds."""
        mask = primitives.mask(eqn)
        conditions = None if mask is None else self._conditions(mask)
        if conditions is None:
            return False
        indices = [self._origin(a) for a in primitives.indices(eqn)]
        about = {self._number(a) for a in indices}
        return all(c.number in about for c in conditions) and all(
            self._keeps_within(a, size, conditions) for a, size in zip(indices, eqn.invars[0].aval.shape, strict=True)
        )

    def _keeps_within(self, index: Atom, size: int, conditions: list[_Condition]) -> bool:
        """Whether the conditions on a component of an index hold exactly where that is within bounds."""
        interval = self.plan.value(index, self.dimensions).interval
        if interval is None:
            return False
        own = [c for c in conditions if c.number == self._number(index)]
        least = max([interval[0], *(c.least for c in own if c.least is not None)])
        end = min([interval[1] + 1, *(c.end for c in own if c.end is not None)])
        return least == max(interval[0], 0) and end == min(interval[1] + 1, size)

    def _conditions(self, mask: Atom) -> list[_Condition] | None:
        """The conditions of which a mask is the conjunction; None if it is none."""
        eqn = None if jaxprs.is_literal(mask) else self.made.get(mask)
        if eqn is None:
            return None
        if eqn.primitive.name == "and":
            parts = [self._conditions(a) for a in eqn.invars]
            return None if None in parts else [c for part in parts if part is not None for c in part]
        condition = self._comparison(eqn) if eqn.primitive.name in _ORDERS else None
        return None if condition is None else [condition]

    def _comparison(self, eqn: jex_core.JaxprEqn) -> _Condition | None:
        """A comparison with a constant."""
        name, (a, b) = eqn.primitive.name, eqn.invars
        if self._constant(b) is None:
            name, a, b = _MIRRORED[name], b, a
        bound = self._constant(b)
        if bound is None:
            return None
        sets_least, more = _ORDERS[name]
        number = self._number(self._origin(a))
        return _Condition(number, least=bound + more) if sets_least else _Condition(number, end=bound + more)

    def _constant(self, atom: Atom) -> int | None:
        """The only value that an integer takes."""
        interval: Interval | None = self.plan.value(atom, self.dimensions).interval
        return interval[0] if interval is not None and interval[0] == interval[1] else None

    def _origin(self, atom: Atom) -> Atom:
        """The value that others are in wider types."""
        eqn = None if jaxprs.is_literal(atom) else self.made.get(atom)
        if eqn is None or eqn.primitive.name != "convert_element_type":
            return atom
        interval = self.plan.value(eqn.invars[0], self.dimensions).interval
        same = interval is not None and intervals.within(interval, intervals.of_dtype(atom.aval.dtype))
        return self._origin(eqn.invars[0]) if same else atom

    def _number(self, atom: Atom) -> int:
        return self.numbers[numbering.key(atom)]
