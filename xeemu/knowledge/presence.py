"""Presence: which work-items of a group lie inside the global range, which a plain range need not fill."""

from collections.abc import Sequence

import numpy as np

from xeemu.knowledge import expressions
from xeemu.knowledge.expressions import Expression, LoopAxis
from xeemu.language.geometry import Geometry


def of_groups(geometry: Geometry, groups: Sequence[LoopAxis], private: int = 0) -> Expression:
    """Mask of the work-items that exist, with so many axes of size 1 behind the work-group's; a scalar if all do.

    Args:
      geometry: the sizes of the launch.
      groups: the axes of the group's id.
      private: how many axes.
    """
    mask = expressions.TRUE
    for d, (n, s) in enumerate(zip(geometry.global_range, geometry.local_range, strict=True)):
        if n % s:
            ids = geometry.local_ids(d)
            first = expressions.scale(expressions.of_axis(groups[d]), s)
            own = expressions.constant(ids.reshape(ids.shape + (1,) * private), np.int64)
            inside = expressions.compare("lt", expressions.add(first, own), expressions.constant(n, np.int64))
            mask = expressions.both(mask, inside)
    return mask
