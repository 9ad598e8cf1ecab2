"""Chunk: consecutive work-groups that are emulated together, in lockstep, wherever they begin."""

import dataclasses
import math
from typing import Self

from xeemu.devices.target import Target
from xeemu.knowledge.analysis import Known
from xeemu.knowledge.forms import Form
from xeemu.knowledge.strided_patterns import StridedAxis
from xeemu.language.geometry import Geometry


@dataclasses.dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive work-groups that are emulated together, in lockstep.

    Attributes:
      geometry: the sizes of the launch.
      count: number of groups, `G`.
      target: the host that the emulation runs on.
      deterministic: true if float atomics are applied in one order.
      iterations: the most iterations of a loop that find together what they update (see `scatter_loops`).
      alignment: the linear id of the first group is a multiple of it.
      inner: true if the last row of groups along the first dimension is not among them.
      prefers_short_code: true of groups that are left behind the full chunks, whose code had better be short than fast.
      single: true if XLA divides nothing of the program among threads.
      cores: of a CPU, so many as XLA may divide an operation among.
      spare_bytes: what iterations of a loop that are emitted together may take.
    """

    geometry: Geometry
    count: int
    target: Target
    deterministic: bool
    iterations: int = 1
    alignment: int = 1
    inner: bool = False
    prefers_short_code: bool = False
    single: bool = False
    cores: int = 1
    spare_bytes: int = 0

    @property
    def amortises_dispatch(self) -> bool:
        """True if the host takes much longer for what all the work-items do than to begin it."""
        least = self.target.many_items
        return least is not None and self.count * self.geometry.items >= least

    @property
    def ragged(self) -> bool:
        """True if work-items of its groups may lie outside the global range."""
        return any(d or not self.inner for d in self.geometry.ragged)

    def storing(self, memory: Known) -> Self:
        """The groups that store to a memory: any of them if all would store the same."""
        return dataclasses.replace(self, count=1) if memory.group_invariant else self

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
        counts, found, remainder = self.geometry.group_range, list[int](), self.count
        for d in reversed(range(len(counts))):
            size = math.gcd(remainder, counts[d]) if d else remainder
            aligned = not self.alignment % (self.geometry.group_strides[d] * size)
            if d and remainder > 1 and not (aligned and size in (remainder, counts[d])):
                return None
            found.insert(0, size)
            remainder //= size
        return tuple(found)

    def _relevant(self, form: Form) -> list[tuple[int, int]]:
        """Of each dimension with several groups the step of a form, and of the linear group id."""
        counts = self.geometry.group_range
        return [(s, t) for s, t, n in zip(form.steps, self.geometry.group_strides, counts, strict=True) if n > 1]
