"""Places: what of a memory a work-item accesses, of which it is known whether two are the same or apart."""

from typing import NamedTuple

from xeemu.cost.sums import Component
from xeemu.language import linearity
from xeemu.language.linearity import Allocation


class Place(NamedTuple):
    """Where a work-item accesses a memory.

    Attributes:
      memory: the memory.
      components: of the index of its first element.
      shape: of the elements that it accesses.
    """

    memory: Allocation
    components: tuple[Component, ...]
    shape: tuple[int, ...]

    @property
    def bases(self) -> tuple[int, ...]:
        """What the constants of its components are added to, by number."""
        return tuple(component.base for component in self.components)


def may_be_same(changed: Place | Allocation, place: Place) -> bool:
    """True if what was changed, a place or anything in a memory, may be an element of a place of a work-item."""
    if isinstance(changed, Allocation):
        return linearity.may_be_same(changed, place.memory)
    if changed.memory is not place.memory:
        return linearity.may_be_same(changed.memory, place.memory)
    if changed.shape != place.shape or changed.bases != place.bases:
        return True
    pairs = zip(changed.components, place.components, strict=True)
    return all(abs(a.constant - b.constant) < a.length for a, b in pairs)
