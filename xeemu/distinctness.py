"""Whether the elements of an access are all different, whichever work-items touch them."""

import math

import numpy as np

from xeemu.geometry import Geometry
from xeemu.promotion import Place

_Axis = tuple[int, int]
"""Steps of equal size, and how many positions they lead to."""


def distinct(place: Place, space: str, geometry: Geometry, groups: int) -> bool:
    """Whether no two elements of a place are one, of so many groups that are emulated together."""
    if space == "private":
        return _of_items(place, geometry)
    if place.pattern is None or len(np.unique(place.pattern)) < len(place.pattern):
        return False
    if space == "local" or groups == 1:
        return True
    return _apart(_axes(place), _group_axes(place.steps, geometry))


def _of_items(place: Place, geometry: Geometry) -> bool:
    """Each work-item has elements of its own, so only those of one must differ."""
    private = math.prod(place.access.shape) // geometry.items
    if private == 1:
        return True
    if place.pattern is None:
        return False
    both = np.stack([place.chosen // private, place.pattern])
    return np.unique(both, axis=1).shape[1] == len(place.pattern)


def _apart(*parts: list[_Axis] | None) -> bool:
    """Whether sums of one position of each axis are all different, since each step is longer than all shorter axes."""
    reach = 0
    for step, count in sorted(axis for part in parts for axis in part or ()):
        if step <= reach:
            return False
        reach += step * (count - 1)
    return None not in parts


def _group_axes(steps: tuple[int, ...], geometry: Geometry) -> list[_Axis]:
    return [(abs(step), count) for step, count in zip(steps, geometry.group_range, strict=True) if count > 1]


def _axes(place: Place) -> list[_Axis] | None:
    """The steps of a pattern along its axes; of one without such steps, its whole extent as one."""
    assert place.pattern is not None
    if len(place.chosen) == math.prod(place.access.shape):
        pattern = place.pattern.reshape(place.access.shape)
        axes = [_axis(pattern, d) for d, count in enumerate(pattern.shape) if count > 1]
        return None if None in axes else [axis for axis in axes if axis is not None]
    return None


def _axis(pattern: np.ndarray, d: int) -> _Axis | None:
    steps = np.diff(pattern, axis=d)
    step = int(steps.flat[0])
    return (abs(step), pattern.shape[d]) if (steps == step).all() else None
