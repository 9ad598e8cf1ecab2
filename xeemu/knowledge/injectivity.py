"""Injectivity: proofs that the elements of an access are all different, whichever work-items touch them."""

import math

import numpy as np

from xeemu.knowledge import strided_patterns
from xeemu.knowledge.addressing import Address
from xeemu.knowledge.strided_patterns import StridedAxis
from xeemu.language.geometry import Geometry


def distinct(address: Address, space: str, geometry: Geometry, groups: int) -> bool:
    """True if no two elements of an access to a memory of a space are one, of so many groups that are emulated."""
    if space == "private":
        return _of_items(address, geometry)
    form = address.form
    if form is None or len(np.unique(form.pattern)) < len(form.pattern):
        return False
    return space == "local" or groups == 1 or of_groups(form.pattern, form.steps, geometry)


def of_groups(pattern: np.ndarray, steps: tuple[int, ...], geometry: Geometry) -> bool:
    """True if all elements of all groups are different, where those of a group form a strided.

    Args:
      pattern: `[n]` the elements of a group.
      steps: what one more group in each dimension adds to them.
      geometry: the groups.
    """
    strided = strided_patterns.of_pattern(pattern)
    if strided is None:
        return False
    for step, count in zip(steps, geometry.group_range, strict=True):
        strided = strided.along(StridedAxis(count, step))
    return strided.injective and strided.distinct == strided.count


def _of_items(address: Address, geometry: Geometry) -> bool:
    """Each work-item has elements of its own, so only those of one must differ."""
    elements = address.elements
    private = math.prod(elements.shape) // geometry.items
    if private == 1:
        return True
    if address.form is None:
        return False
    both = np.stack([elements.chosen // private, address.form.pattern])
    return np.unique(both, axis=1).shape[1] == elements.count
