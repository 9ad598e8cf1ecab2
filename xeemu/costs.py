"""What one execution of a memory access costs: known by where in a line a group's access starts, or counted by lanes.

Axis legend: G work-groups of a chunk, n elements of an access that take part in a group, Q instructions of sub-groups,
S lanes, F figures, R places (elements of a line of global memory, or of the word of a bank) where an access may start.

Private memory outside the registers lies in global memory with the copies of a sub-group's lanes side by side.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu import banks, lanes, lines, requests
from xeemu.access import Lanes
from xeemu.device import Device
from xeemu.forms import Form
from xeemu.geometry import Geometry
from xeemu.observer import Event
from xeemu.requests import Layout
from xeemu.sites import Memory, Operation, Place
from xeemu.values import Chunk

FIGURES = ("requests", "passes", "ideal_passes", "bytes_used", "lines", "sectors", "lanes")
"""Passes are of local memory; lines and sectors of global and private memory; lanes are those that take part."""

# Beyond every index, and such that the sum with one does not overflow.
_FAR = np.int64(2**62)

# So few groups are counted apart from the others of their chunk, if no more are in a branch.
_FEW = 4


@dataclasses.dataclass(frozen=True, eq=False)
class Tally:
    """Lanes of an atomic by address: the element `elements[k] + steps . group` takes `lanes[k]` of each group."""

    memory: Memory
    elements: np.ndarray
    lanes: np.ndarray
    steps: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """What an execution by one group costs, known at trace time.

    Attributes:
      place: of the source.
      table: int64 `[R, F]`, by where the group starts.
      steps: what each dimension of the group id adds to the start.
      tally: of an atomic update of global memory, where its address has no base.
    """

    place: Place
    table: np.ndarray
    steps: tuple[int, ...]
    tally: Tally | None

    def same(self, other: "Row") -> bool:
        """Whether both cost the same at the same addresses."""
        if self.place != other.place or self.steps != other.steps or not np.array_equal(self.table, other.table):
            return False
        if self.tally is None or other.tally is None:
            return self.tally is other.tally
        return np.array_equal(self.tally.elements, other.tally.elements) and np.array_equal(
            self.tally.lanes, other.tally.lanes
        )

    def starts(self, ids: Sequence[Any], base: Any = None) -> Any:
        """`[G]` where groups start, from their ids in each dimension; a scalar if all start at one place."""
        size = len(self.table)
        start = np.int64(0) if base is None else base.astype(np.int64) % np.int64(size)
        for step, id_ in zip(self.steps, ids, strict=True):
            if step % size:
                start = start + id_.astype(np.int64) % np.int64(size) * np.int64(step % size)
        return start % np.int64(size)


@dataclasses.dataclass(frozen=True, eq=False)
class Access:
    """One access as it is emitted, with what its cost follows from."""

    event: Event
    operation: Operation
    device: Device
    chunk: Chunk

    @property
    def geometry(self) -> Geometry:
        return self.chunk.geometry

    @property
    def memory(self) -> Memory:
        return self.operation.place.memory

    @property
    def where(self) -> Lanes:
        return self.event.lanes

    @functools.cached_property
    def form(self) -> Form | None:
        """The lane form of the element's place."""
        form = self.event.address.form
        if form is not None and not self.operation.based:
            form = dataclasses.replace(form, based=False)
        if form is None or self.memory.space != "private":
            return form
        lanes_ = self.geometry.sub_group_size
        return Form(form.based, tuple(s * lanes_ for s in form.steps), self._interleaved(form.pattern))

    @property
    def base(self) -> Any:
        """The form's base. The zero by which the interpreter makes an update wait for a load is none."""
        base = self.event.address.base if self.operation.based else None
        if base is None or self.memory.space != "private":
            return base
        return base * base.dtype.type(self.geometry.sub_group_size)

    @functools.cached_property
    def layout(self) -> Layout:
        wide = 1
        if self.memory.space != "private":
            wide = requests.width(self.where, self.geometry, self.form, self.memory.dtype.itemsize)
        return requests.layout(self.where, self.geometry, wide)

    @property
    def mask_is_uniform(self) -> bool:
        """Whether a group's work-items that were not left out at trace time take part together."""
        one = self.where.mask is None or self.where.mask.shape[1] == 1
        return one and self.event.present is None

    @property
    def mask_is_static(self) -> bool:
        """Whether they do whenever the group comes here."""
        alone = self.where.mask is None or self.operation.constant_mask
        return self.mask_is_uniform and alone

    @property
    def executions(self) -> jax.Array:
        """int64 `[G]`: whether each group carries out the access, as far as all of its lanes do together."""
        running = jnp.ones(self.chunk.count, bool)
        if self.event.running is not None:
            running = running & self.event.running
        if self.mask_is_uniform and self.where.mask is not None:
            running = running & self.where.mask[:, 0]
        return running.astype(np.int64)

    def _interleaved(self, index: Any) -> Any:
        """`[..., n]` places of the elements of private memory in the scratch of a group."""
        size, elements = self.geometry.sub_group_size, math.prod(self.memory.shape)
        private = math.prod(self.where.shape) // self.geometry.items if self.where.shape else 1
        sub_group, lane = np.divmod(self.where.chosen // private, size)
        dtype = index.dtype.type
        return index * dtype(size) + (sub_group * elements * size + lane).astype(index.dtype)

    # Known at trace time.

    def row(self) -> Row | None:
        """The cost of an execution within bounds, or None if it follows from the lanes only."""
        if self.form is None or not self.mask_is_uniform:
            return None
        size = self._places
        pattern = self.form.pattern - int(self.form.pattern.min()) // size * size
        starts = np.arange(0, size, 1 if self.form.based else math.gcd(size, *self.form.steps))
        slots = self.layout.slot
        addresses = (pattern[slots] + starts[:, None, None]) * self.memory.dtype.itemsize
        figures = self._figures(addresses, np.broadcast_to(self.layout.active, addresses.shape), True)
        table = np.zeros((size, len(FIGURES)), np.int64)
        table[starts] = figures
        return Row(self.operation.place, table, self.form.steps, self._tally())

    @property
    def _places(self) -> int:
        unit = self.device.slm_bank_bytes if self.memory.space == "local" else self.device.line_bytes
        assert unit is not None
        return max(1, unit // self.memory.dtype.itemsize)

    def _tally(self) -> Tally | None:
        if self.operation.place.op != "atomic" or self.form is None or self.form.based:
            return None
        elements, counts = np.unique(self.form.pattern, return_counts=True)
        return Tally(self.memory, elements, counts, self.form.steps)

    def fits(self, times: jax.Array) -> jax.Array:
        """Whether the access is within bounds as a whole for all groups that carry it out int64 `[G]` times."""
        address = self.event.address
        assert address.inside is not None
        form = address.form
        if form is None or not self._is_linear:
            return (address.inside.all(-1) | (times == 0)).all()
        offset = self._offset(form)
        # The least and greatest offset stay as they are through a loop, so that little is computed in each iteration.
        low = jnp.where(times > 0, offset, _FAR).min() + np.int64(form.pattern.min())
        high = jnp.where(times > 0, offset, -_FAR).max() + np.int64(form.pattern.max())
        base = np.int64(0) if address.base is None else address.base.astype(np.int64)
        return (low + base >= 0) & (high + base < self.memory.shape[0])

    @property
    def _is_linear(self) -> bool:
        """Whether the form alone tells whether an element is within bounds."""
        address = self.event.address
        return address.form is not None and address.exact and len(self.memory.shape) == 1

    def _offset(self, form: Form) -> jax.Array:
        """int64 `[G]` part of a form that differs between groups."""
        offset = jnp.zeros(self.chunk.count, np.int64)
        for d, step in enumerate(form.steps):
            if step:
                offset = offset + self.chunk.group_ids(d).astype(np.int64) * np.int64(step)
        return offset

    def relocated(self) -> "Access":
        """The same access with its address computed anew, from what is small: for a branch that is rarely taken."""
        address = self.event.address
        if address.form is None or not self._is_linear:
            return self
        index = self._offset(address.form)[:, None] + address.form.pattern
        index = index if address.base is None else index + address.base.astype(np.int64)
        inside = (index >= 0) & (index < self.memory.shape[0])
        index = jnp.where(inside, index, np.int64(0)).astype(address.index.dtype)
        moved = dataclasses.replace(address, index=index, inside=inside)
        return dataclasses.replace(self, event=dataclasses.replace(self.event, address=moved))

    # Counted lane by lane.

    def by_lanes(self) -> jax.Array:
        """int64 `[F]` of an execution by all groups of the chunk that are here."""
        addresses, active = self._lanes()
        running = self.event.running
        if running is None or len(addresses) <= _FEW:
            return self._summed(addresses, active, self._running())
        # Often only the first and the last group of a launch take a branch.
        chosen = jnp.nonzero(running, size=_FEW, fill_value=0)[0]
        present = jnp.arange(_FEW) < running.sum()
        return lax.cond(
            running.sum() <= _FEW,
            lambda: self._summed(addresses[chosen], active[chosen], present.astype(np.int64)),
            lambda: self._summed(addresses, active, self._running()),
        )

    def _summed(self, addresses: jax.Array, active: jax.Array, times: jax.Array) -> jax.Array:
        """int64 `[F]` of lanes `[G or 1, Q, S]` and `[G]` executions."""
        figures = self._figures(addresses, active, False)
        if len(figures) == 1:
            return figures[0] * times.sum()
        return (figures * times[:, None]).sum(0)

    def lanes_by_element(self) -> tuple[jax.Array, jax.Array]:
        """`[G, n]` elements of an atomic, and uint32 `[G, n]` whether a lane updates each."""
        address, shape = self.event.address, (self.chunk.count, self.where.count)
        taken = self._running()[:, None] > 0
        for condition in (address.inside, self.where.mask):
            if condition is not None:
                taken = taken & condition
        return jnp.broadcast_to(address.index, shape), jnp.broadcast_to(taken, shape).astype(np.uint32)

    def _running(self) -> jax.Array:
        running = self.event.running
        return jnp.ones(self.chunk.count, np.int64) if running is None else running.astype(np.int64)

    def _lanes(self) -> tuple[jax.Array, jax.Array]:
        """`[G or 1, Q, S]` byte addresses, and which lanes are active."""
        index = self.event.address.index
        if self.memory.space == "private":
            index = self._interleaved(jnp.broadcast_to(index, (index.shape[0], self.where.count)))
        extent = math.prod(self.memory.shape) * self.memory.dtype.itemsize * self._copies
        address = index.astype(np.int32 if extent < 2**31 else np.int64)
        address = self._placed(address) * address.dtype.type(self.memory.dtype.itemsize)
        active = jnp.asarray(self.layout.active)[None]
        for condition in (self.event.address.inside, self.where.mask):
            if condition is not None:
                active = active & self._placed(condition)
        if self.event.present is not None:
            active = active & self.event.present[:, self.layout.item]
        rows = max(address.shape[0], active.shape[0])
        shape = (rows, *self.layout.slot.shape)
        return jnp.broadcast_to(address, shape), jnp.broadcast_to(active, shape)

    @property
    def _copies(self) -> int:
        items = requests.sub_groups(self.geometry) * self.geometry.sub_group_size
        return items if self.memory.space == "private" else 1

    def _placed(self, array: jax.Array) -> jax.Array:
        """`[G or 1, n or 1]` as `[G or 1, Q or 1, S or 1]`."""
        if array.shape[1] == 1:
            return array[:, :, None]
        slot = self.layout.slot
        if slot.size == array.shape[1] and (slot.reshape(-1) == np.arange(slot.size)).all():
            return array.reshape(array.shape[0], *slot.shape)
        return array[:, np.maximum(slot, 0)]

    # Figures.

    def _figures(self, addresses: Any, active: Any, with_bytes: bool) -> Any:
        """int64 `[..., F]` of addresses `[..., Q, S]`; the bytes used in local memory only where they are asked for."""
        xp = lanes.namespace(addresses, active)
        layout, place = self.layout, self.operation.place
        width = layout.width * self.memory.dtype.itemsize
        zero = xp.zeros(addresses.shape[:-1], np.int32)
        taking_part = layout.width * active.sum(-1, dtype=np.int32)
        if self.memory.space == "local":
            kind = _kind(self.operation, self.memory)
            passes = banks.bank_passes(addresses, active, self.device, width=width, kind=kind)
            used = self._lines(addresses, active, width, False).bytes_used if with_bytes else zero
            parts = (passes.requests, passes.passes, passes.ideal_passes, used, zero, zero, taking_part)
        else:
            touched = self._lines(addresses, active, width, place.op == "atomic" and not _only_loads(self.operation))
            parts = (
                touched.requests, zero, zero, touched.bytes_used, touched.lines, touched.sectors, taking_part
            )  # fmt: skip
        return layout.copies * xp.stack([part.sum(-1, dtype=np.int64) for part in parts], -1)

    def _lines(self, addresses: Any, active: Any, width: int, atomic: bool) -> lines.LineCounts:
        return lines.line_counts(addresses, active, _lined(self.device), width=width, atomic=atomic)


@functools.lru_cache(maxsize=64)
def _lined(device: Device) -> Device:
    """The device without banks of tags, whose passes are not asked for; for bytes alone any line will do."""
    return dataclasses.replace(device, tag_bank_masks=None, line_bytes=device.line_bytes or 64)


def _only_loads(operation: Operation) -> bool:
    return operation.place.op == "atomic" and operation.eqn.params.get("op", "load") == "load"


def _kind(operation: Operation, memory: Memory) -> banks.Kind:
    """What the banks see of an operation."""
    op = operation.eqn.params.get("op", operation.place.op)
    if op in ("add", "sub"):
        if jnp.issubdtype(memory.dtype, jnp.floating):
            return "float_add"
        return "increment" if operation.adds_one else "add"
    kind: banks.Kind = "load" if op == "load" else op
    return kind
