"""Whether the elements of an access are all different, whichever work-items touch them."""

import math

import numpy as np

from xeemu.emission.scalar_promotion import PromotedPlace
from xeemu.knowledge import lattices
from xeemu.knowledge.lattices import Axis
from xeemu.language.geometry import Geometry


def distinct(place: PromotedPlace, space: str, geometry: Geometry, groups: int) -> bool:
    """Whether no two elements of a place are one, of so many groups that are emulated together."""
    if space == "private":
        return _of_items(place, geometry)
    if place.pattern is None or len(np.unique(place.pattern)) < len(place.pattern):
        return False
    return space == "local" or groups == 1 or of_groups(place.pattern, place.steps, geometry)


def of_groups(pattern: np.ndarray, steps: tuple[int, ...], geometry: Geometry) -> bool:
    """Whether all elements of all groups are different, where those of a group form a lattice.

    Args:
      pattern: `[n]` the elements of a group.
      steps: what one more group in each dimension adds to them.
      geometry: the groups.
    """
    lattice = lattices.of_pattern(pattern)
    if lattice is None:
        return False
    for step, count in zip(steps, geometry.group_range, strict=True):
        lattice = lattice.along(Axis(count, step))
    return lattice.apart and lattice.distinct == lattice.count


def _of_items(place: PromotedPlace, geometry: Geometry) -> bool:
    """Each work-item has elements of its own, so only those of one must differ."""
    private = math.prod(place.access.shape) // geometry.items
    if private == 1:
        return True
    if place.pattern is None:
        return False
    both = np.stack([place.chosen // private, place.pattern])
    return np.unique(both, axis=1).shape[1] == len(place.pattern)
