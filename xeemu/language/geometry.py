"""Geometry: how the nd-range of a launch is cut into work-groups and sub-groups."""

import dataclasses
import functools
import math

import numpy as np

from xeemu.language.ndrange import NDRange

_PLAIN_GROUP = 256
_INT32_LIMIT = 2**31


@dataclasses.dataclass(frozen=True)
class Geometry:
    """The sizes that every work-item of a launch can ask for.

    Attributes:
      global_range: work-items per dimension.
      local_range: work-items of a group per dimension.
      sub_group_size: lanes of a full sub-group.
      plain: true if the launch is a plain range: the groups are the runtime's choice, and the last group of a dimension
        may reach beyond the global range; its work-items there do not exist.
      id_type: dtype of the ids, int32, or int64 where 32 bits do not reach.
    """

    global_range: tuple[int, ...]
    local_range: tuple[int, ...]
    sub_group_size: int
    plain: bool
    id_type: np.dtype

    # Cached, for all that is known of a program's values is asked of it.
    @functools.cached_property
    def group_range(self) -> tuple[int, ...]:
        return tuple(-(-n // s) for n, s in zip(self.global_range, self.local_range, strict=True))

    @functools.cached_property
    def groups(self) -> int:
        return math.prod(self.group_range)

    @functools.cached_property
    def items(self) -> int:
        """Work-items of a group."""
        return math.prod(self.local_range)

    @functools.cached_property
    def group_strides(self) -> tuple[int, ...]:
        """What a step in each dimension of the group id adds to the linear group id."""
        return tuple(math.prod(self.group_range[d + 1 :]) for d in range(len(self.group_range)))

    def local_ids(self, dim: int | None) -> np.ndarray:
        """`local_range` array of the ids in a dimension, or of the linear ids."""
        return np.arange(self.items).reshape(self.local_range) if dim is None else np.indices(self.local_range)[dim]

    @property
    def ragged(self) -> list[int]:
        """The dimensions along which the last group has work-items beyond the global range."""
        return [d for d, (n, s) in enumerate(zip(self.global_range, self.local_range, strict=True)) if n % s]


def cut(
    nd_range: NDRange,
    sub_group_size: int,
    required: tuple[int, ...] | None,
    largest_array: int,
    largest_group: int | None,
) -> Geometry:
    """The geometry of a launch.

    Args:
      nd_range: the sizes asked for.
      sub_group_size: lanes of a sub-group.
      required: the work-group size that the kernel requires; a plain range takes it.
      largest_array: elements of the largest argument, which ids must be able to index.
      largest_group: the device's largest work-group, if it has a limit.
    """
    local = nd_range.local_size or required or _plain_groups(nd_range.global_size, largest_group)
    wide = max(nd_range.size, largest_array) >= _INT32_LIMIT
    id_type = np.dtype(np.int64 if wide else np.int32)
    return Geometry(nd_range.global_size, local, sub_group_size, nd_range.local_size is None, id_type)


def _plain_groups(global_size: tuple[int, ...], largest_group: int | None) -> tuple[int, ...]:
    """Groups along the contiguous dimension: a divisor of its size if a good one exists, so that none is ragged."""
    limit = min(_PLAIN_GROUP, largest_group or _PLAIN_GROUP)
    last = max(global_size[-1], 1)
    largest = max(n for n in range(1, min(limit, last) + 1) if last % n == 0)
    chosen = largest if 4 * largest >= min(limit, last) else min(limit, last)
    return (1,) * (len(global_size) - 1) + (chosen,)
