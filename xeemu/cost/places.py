"""Places: elements of memories that a work-item accesses, of which it is known whether two are the same or apart."""

from typing import NamedTuple

from xeemu.language import linearity
from xeemu.language.linearity import Allocation


class Family(NamedTuple):
    """Elements of a memory at known distances from each other.

    Attributes:
      memory: the memory.
      bases: what constants are added to for an index, a number for each of its components.
    """

    memory: Allocation
    bases: tuple[int, ...]


class Place(NamedTuple):
    """What a work-item accesses.

    Attributes:
      family: what its elements belong to.
      elements: their constants.
    """

    family: Family
    elements: frozenset[tuple[int, ...]]


def may_be_same(changed: Place | Allocation, place: Place) -> bool:
    """True if what was changed, a place or anything in a memory, may be an element of a place of a work-item."""
    if isinstance(changed, Allocation):
        return linearity.may_be_same(changed, place.family.memory)
    if changed.family == place.family:
        return not changed.elements.isdisjoint(place.elements)
    return linearity.may_be_same(changed.family.memory, place.family.memory)
