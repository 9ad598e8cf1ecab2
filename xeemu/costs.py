"""Costs: what one execution of an access costs, of the elements that its lanes touch.

Axis legend: C executions, n elements of an access that take part in a group, Q instructions of sub-groups, S lanes,
F figures. All functions work on NumPy arrays and, traced or not, on JAX arrays.

Private memory outside the registers lies in global memory with the copies of a sub-group's lanes side by side.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from xeemu import banks, lanes, lines, requests, vectors
from xeemu.device import Device
from xeemu.expressions import Expression
from xeemu.geometry import Geometry
from xeemu.linearity import Allocation
from xeemu.requests import Layout
from xeemu.schedule import Operation

FIGURES = ("requests", "passes", "ideal_passes", "bytes_used", "lines", "sectors", "lanes", "l1_passes")
"""Passes are of local memory; lines, sectors and passes of the L1 of global and private memory; lanes take part."""

Array = Any


@dataclasses.dataclass(frozen=True, eq=False)
class Meter:
    """Measures one access.

    Attributes:
      operation: the access.
      device: the modelled device.
      geometry: the sizes of the launch.
      chosen: `[n]` flat positions of the elements that may take part.
      narrow: its instructions where no elements are accessed together.
      wide: where they are accessed as vectors; the same as `narrow` where there are none.
      aligned: whether vectors are known to begin at multiples of their size; if not, only those that do are vectors.
    """

    operation: Operation
    device: Device
    geometry: Geometry
    chosen: np.ndarray
    narrow: Layout
    wide: Layout
    aligned: bool

    @classmethod
    def of(
        cls,
        operation: Operation,
        indices: Sequence[Expression],
        chosen: np.ndarray,
        device: Device,
        geometry: Geometry,
    ) -> "Meter":
        """The meter of an access with one of these linear indices, of these of its elements."""
        shape, rank = operation.access.shape, len(geometry.local_range)
        vector = vectors.Vector(1, True)
        # Private memory is laid out so that a work-item's elements lie apart.
        if operation.place.memory.space != "private":
            itemsize = operation.place.memory.dtype.itemsize
            vector = vectors.common([vectors.of_access(i, shape, rank, chosen, itemsize) for i in indices])
        narrow = requests.layout(shape, chosen, geometry, 1)
        wide = narrow if vector.width == 1 else requests.layout(shape, chosen, geometry, vector.width)
        return cls(operation, device, geometry, chosen, narrow, wide, vector.aligned)

    @property
    def memory(self) -> Allocation:
        return self.operation.place.memory

    @property
    def places(self) -> int:
        """Elements of the piece of memory by whose size all addresses may be moved without a change of any figure."""
        unit = self.device.slm_bank_bytes if self.memory.space == "local" else self.device.line_bytes
        assert unit is not None
        return max(1, unit // self.memory.dtype.itemsize)

    def interleaved(self, index: Array) -> Array:
        """`[..., n]` places of the elements of private memory in the scratch of a group; else the index itself."""
        if self.memory.space != "private":
            return index
        size, shape = self.geometry.sub_group_size, self.operation.access.shape
        private = math.prod(shape) // self.geometry.items if shape else 1
        sub_group, lane = np.divmod(self.chosen // private, size)
        offset = sub_group * self.memory.elements * size + lane
        return index * index.dtype.type(size) + offset.astype(index.dtype)

    def figures(self, index: Array, active: Array, every: bool) -> Array:
        """int64 `[C, F]` of an access.

        Args:
          index: `[C, n or 1]` linear index of each element, interleaved.
          active: `[C, n or 1]` which of them take part.
          every: whether the bytes used in local memory and the passes of the L1 are asked for, which cost time; else
            they are 0.
        """
        xp = lanes.namespace(index, active)
        whole = self._figures(self.wide, index, active, every)
        if not self.aligned:
            # A vector that begins between two multiples of its size is accessed element by element.
            ratio = self.wide.width
            apart = self._figures(self.narrow, index, active, every)
            apart = apart.reshape(*apart.shape[:-2], -1, ratio, apart.shape[-1]).sum(-2)
            place, on = self.laid_out(self.wide, index, active)
            begins = (~on | (place % place.dtype.type(ratio) == 0)).all(-1)
            whole = xp.where(begins[..., None], whole, apart)
        return self.wide.copies * whole.sum(-2)

    def issued(self, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`[C]` requests with an active lane, and the lanes that take part, of `[C, n or 1]` active elements."""
        _, on = self.laid_out(self.wide, np.zeros((1, 1), np.int64), active)
        _, split = lanes.requests(np.zeros(on.shape, np.int64), on, self.device.request_lanes)
        copies = self.wide.copies
        return copies * split.any(-1).sum((-2, -1)), copies * self.wide.width * on.sum((-2, -1))

    def laid_out(self, layout: Layout, index: Array, active: Array) -> tuple[Array, Array]:
        """`[C, Q, S]` element that each lane accesses first, and which lanes do."""
        xp = lanes.namespace(index, active)
        on = _placed(active, layout) & layout.active
        place = _placed(index, layout)
        shape = (max(place.shape[0], on.shape[0]), *layout.slot.shape)
        return xp.broadcast_to(place, shape), xp.broadcast_to(on, shape)

    def _figures(self, layout: Layout, index: Array, active: Array, every: bool) -> Array:
        """int64 `[C, Q, F]`."""
        index, active = self.laid_out(layout, index, active)
        xp, itemsize = lanes.namespace(index, active), self.memory.dtype.itemsize
        width = layout.width * itemsize
        addresses = index * index.dtype.type(itemsize)
        zero = xp.zeros(addresses.shape[:-1], np.int32)
        taking_part = layout.width * active.sum(-1, dtype=np.int32)
        if self.memory.space == "local":
            passes = banks.bank_passes(addresses, active, self.device, width=width, kind=kind(self.operation))
            used = self._lines(addresses, active, width, False).bytes_used if every else zero
            parts = (passes.requests, passes.passes, passes.ideal_passes, used, zero, zero, taking_part, zero)
        else:
            touched = self._lines(addresses, active, width, self.operation.updates)
            used, sectors = touched.bytes_used, touched.sectors
            l1 = self._l1_passes(addresses, active, width) if every else zero
            parts = (touched.requests, zero, zero, used, touched.lines, sectors, taking_part, l1)
        return xp.stack([part.astype(np.int64) for part in parts], -1)

    def _l1_passes(self, addresses: Array, active: Array, width: int) -> Array:
        """Passes of the L1 for requests to global memory: of its tags or of its banks, whichever take longer."""
        if self.device.tag_bank_masks is None or self.device.slm_banks is None or self.operation.updates:
            return lanes.namespace(addresses, active).zeros(addresses.shape[:-1], np.int32)
        tags = lines.line_counts(addresses, active, self.device, width=width).tag_passes
        data = banks.bank_passes(addresses, active, _unmerged(self.device), width=width, kind="load").passes
        return lanes.namespace(addresses, active).maximum(tags, data)

    def _lines(self, addresses: Array, active: Array, width: int, atomic: bool) -> lines.LineCounts:
        return lines.line_counts(addresses, active, _lined(self.device), width=width, atomic=atomic)


def kind(operation: Operation) -> banks.Kind:
    """What the banks see of an operation."""
    op = operation.name
    if op in ("add", "sub"):
        if jnp.issubdtype(operation.place.memory.dtype, jnp.floating):
            return "float_add"
        return "increment" if operation.adds_one else "add"
    name: banks.Kind = op  # type: ignore[assignment]
    return name


def _placed(array: Array, layout: Layout) -> Array:
    """`[C, n or 1]` as `[C, Q or 1, S or 1]`."""
    if array.shape[1] == 1:
        return array[:, :, None]
    slot = layout.slot
    if slot.size == array.shape[1] and (slot.reshape(-1) == np.arange(slot.size)).all():
        return array.reshape(array.shape[0], *slot.shape)
    return array[:, np.maximum(slot, 0)]


@functools.lru_cache(maxsize=64)
def _unmerged(device: Device) -> Device:
    """The device's L1, which has the banks of its SLM, but does not merge lane groups."""
    return dataclasses.replace(device, slm_paired_lanes=None)


@functools.lru_cache(maxsize=64)
def _lined(device: Device) -> Device:
    """The device without banks of tags, whose passes are not asked for; for bytes alone any line will do."""
    return dataclasses.replace(device, tag_bank_masks=None, line_bytes=device.line_bytes or 64)
