"""Memory contents: what is known to be in a memory still, by the places of its changes."""

from typing import NamedTuple

from xeemu.cost.sums import Component
from xeemu.language.linearity import Allocation

Place = tuple[Component, ...]
Base = tuple[tuple[int, ...], tuple[int, ...]]
"""The private shape of what is accessed, and what stands before the constants of a place, by number."""


class Contents(NamedTuple):
    """What a memory holds.

    Attributes:
      last: number of the last change.
      base: of the places that were changed; None of any place.
      places: these places.
      before: number of the last change that was not at a place of that base.
    """

    last: int
    base: Base | None = None
    places: frozenset[Place] = frozenset()
    before: int = -1

    def of(self, base: Base, place: Place) -> int:
        """The last change that may have been where a place is, but for those of the place itself."""
        if base != self.base or any(_overlap(place, other) for other in self.places if other != place):
            return self.last
        return self.before

    def after(self, number: int, base: Base, place: Place) -> "Contents":
        """The contents after a change at a place."""
        if base == self.base:
            return Contents(number, base, self.places | {place}, self.before)
        return Contents(number, base, frozenset({place}), self.last)


def _overlap(one: Place, other: Place) -> bool:
    """True if two places of one base may have an element of a work-item in common."""
    return all(abs(a.constant - b.constant) < a.length for a, b in zip(one, other, strict=True))


class Held(NamedTuple):
    """A place of a memory whose contents a work-item may have in a register.

    Attributes:
      memory: the memory.
      state: the last change of what may be there, but for those of the place itself.
      place: its components.
      shape: of the elements that are accessed.
    """

    memory: Allocation
    state: int
    place: Place
    shape: tuple[int, ...]

    @property
    def base(self) -> Base:
        """Places of one base lie at known distances from each other."""
        return base_of(self.place, self.shape)


def base_of(place: Place, shape: tuple[int, ...]) -> Base:
    return shape, tuple(component.base for component in place)
