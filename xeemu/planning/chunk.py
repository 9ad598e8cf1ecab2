"""Chunk: consecutive work-groups that are emulated together, in lockstep, and what of them is known before they are."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.devices.target import Target
from xeemu.knowledge.analysis import Known
from xeemu.knowledge.forms import Form
from xeemu.knowledge.lattices import StridedAxis
from xeemu.language.geometry import Geometry


@dataclasses.dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive work-groups that are emulated together, in lockstep.

    Attributes:
      geometry: the sizes of the launch.
      first: linear id of the first group, a traced scalar or an int.
      count: number of groups, `G`.
      target: the host that the emulation runs on.
      deterministic: whether float atomics are applied in one order.
      iterations: the most iterations of a loop that find together what they update (see `scatter_loops`).
      alignment: `first` is a multiple of it.
      inner: whether the last row of groups along the first dimension is not among them.
      few: whether so few groups of the launch are emulated by this code that it had better be short than fast.
      single: whether XLA divides nothing of the program among threads.
      cores: of a CPU, so many as XLA may divide an operation among.
      spare_bytes: what iterations of a loop that are emitted together may take.
      never: once the groups are emitted, False as `exactness.never` makes it.
    """

    geometry: Geometry
    first: Any
    count: int
    target: Target
    deterministic: bool
    iterations: int = 1
    alignment: int = 1
    inner: bool = False
    few: bool = False
    single: bool = False
    cores: int = 1
    spare_bytes: int = 0
    never: jax.Array | None = None

    # Nothing here is cached: an array first made inside a loop must not be used outside it.

    @property
    def many(self) -> bool:
        """Whether the host takes much longer for what all the work-items do than to begin it."""
        least = self.target.many_items
        return least is not None and self.count * self.geometry.items >= least

    def storing(self, memory: Known) -> "Chunk":
        """The groups that store to a memory: any of them if all would store the same."""
        return dataclasses.replace(self, count=1) if memory.group_invariant else self

    def linear_ids(self) -> jax.Array:
        """`[G]` linear group ids."""
        dtype = self.geometry.id_type
        return jnp.asarray(self.first, dtype) + np.arange(self.count, dtype=dtype)

    def group_ids(self, d: int) -> jax.Array:
        """`[G]` group ids in dimension `d`."""
        counts = self.geometry.group_range
        ids = self.linear_ids()
        stride = self.geometry.group_strides[d]
        if stride > 1:
            ids = ids // ids.dtype.type(stride)
        return ids if d == 0 else ids % ids.dtype.type(counts[d])

    def first_id(self, d: int) -> jax.Array:
        """The first group's id in dimension `d`."""
        counts = self.geometry.group_range
        first, stride = jnp.asarray(self.first, self.geometry.id_type), self.geometry.group_strides[d]
        if stride > 1:
            first = lax.div(first, first.dtype.type(stride))
        return lax.rem(first, first.dtype.type(counts[d])) if d else first

    def linear_step(self, form: Form) -> int | None:
        """What one more linear group id adds to a form, if that is the same everywhere."""
        relevant = self._relevant(form)
        if not relevant:
            return 0
        step, stride = relevant[-1]
        return step if all(s == step * (t // stride) for s, t in relevant) else None

    def unit(self, form: Form) -> int:
        """What the first group's ids add to a form is a multiple of it; 0 if they add nothing."""
        counts = self.geometry.group_range
        found = 0
        for d, (step, stride, n) in enumerate(zip(form.steps, self.geometry.group_strides, counts, strict=True)):
            rows, rest = divmod(self.alignment, stride)
            of_id = 1 if rest else math.gcd(rows, n) if d else rows
            # An id below `n` that is a multiple of it is 0.
            found = math.gcd(found, 0 if d and of_id == n else step * of_id)
        return found

    def axes(self, form: Form) -> list[StridedAxis] | None:
        """What the group ids add to a form, as axes of the chunk's groups, the last running fastest.

        None if the chunk is no block of the group range, as whole rows of it or a part of one are.
        """
        step = self.linear_step(form)
        if step is not None:
            return [StridedAxis(self.count, step)]
        block = self.block()
        return None if block is None else list(map(StridedAxis, block, form.steps))

    def block(self) -> tuple[int, ...] | None:
        """How many groups there are along each dimension; None if the chunk is no block of the group range."""
        counts, found, left = self.geometry.group_range, list[int](), self.count
        for d in reversed(range(len(counts))):
            size = math.gcd(left, counts[d]) if d else left
            aligned = not self.alignment % (self.geometry.group_strides[d] * size)
            if d and left > 1 and not (aligned and size in (left, counts[d])):
                return None
            found.insert(0, size)
            left //= size
        return tuple(found)

    def _relevant(self, form: Form) -> list[tuple[int, int]]:
        """Of each dimension with several groups the step of a form, and of the linear group id."""
        counts = self.geometry.group_range
        return [(s, t) for s, t, n in zip(form.steps, self.geometry.group_strides, counts, strict=True) if n > 1]

    def present(self) -> jax.Array | None:
        """`[G, L]` mask of the work-items inside the global range, or None if all are."""
        geometry, mask = self.geometry, None
        for d in geometry.ragged:
            if d or not self.inner:
                start = self.group_ids(d) * geometry.id_type.type(geometry.local_range[d])
                ids = geometry.local_ids(d).reshape(-1).astype(geometry.id_type)
                within = start[:, None] + ids < geometry.id_type.type(geometry.global_range[d])
                mask = within if mask is None else mask & within
        return mask
