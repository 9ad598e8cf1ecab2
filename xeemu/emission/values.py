"""The values of an emitted program: arrays over a chunk of work-groups, lane forms, and the memories' contents."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.devices.target import Target
from xeemu.emission.storage import Storage
from xeemu.knowledge.analysis import Known
from xeemu.knowledge.forms import Form, wrapped
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
      turns: the most iterations of a loop that find together what they update (see `scatter_loops`).
      sub_chunks: the most parts of the chunk that do so side by side.
      alignment: `first` is a multiple of it.
      inner: whether the last row of groups along the first dimension is not among them.
      few: whether so few groups of the launch are emulated by this code that it had better be short than fast.
      single: whether XLA divides nothing of the program among threads.
      cores: of a CPU, so many as XLA may divide an operation among.
      spare_bytes: what iterations of a loop that are emitted together may take.
    """

    geometry: Geometry
    first: Any
    count: int
    target: Target
    deterministic: bool
    turns: int = 1
    sub_chunks: int = 1
    alignment: int = 1
    inner: bool = False
    few: bool = False
    single: bool = False
    cores: int = 1
    spare_bytes: int = 0

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

    def block(self) -> list[int] | None:
        """How many groups there are along each dimension; None if the chunk is no block of the group range."""
        counts, found, left = self.geometry.group_range, list[int](), self.count
        for d in reversed(range(len(counts))):
            size = math.gcd(left, counts[d]) if d else left
            aligned = not self.alignment % (self.geometry.group_strides[d] * size)
            if d and left > 1 and not (aligned and size in (left, counts[d])):
                return None
            found.insert(0, size)
            left //= size
        return found

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


@dataclasses.dataclass(frozen=True, eq=False)
class Emitted:
    """A value of the program as emitted for a chunk.

    Attributes:
      known: the static analysis of it.
      shape: its shape for one work-group.
      dtype: its dtype.
      base: the base of its lane form; None if it has none.
      computed: the array, if it was not left as a lane form.
      some: those elements that came from a load of them only; the compiler drops `computed` if nothing uses others.
      shared: the value, if groups share it; the compiler drops `computed` if nothing uses that.
      split: the division that gave it, if that was one of a number that is not negative by a known one; of the same
        groups, so that what is cut to some of them has none.
      lanes: of a sub-group, if `computed` is held by sub-groups (see `subgroups`): `[G, sub-groups, lanes, *private]`,
        or 1 in place of the lanes if all of a sub-group's are alike.
    """

    known: Known
    shape: tuple[int, ...]
    dtype: np.dtype
    base: Any = None
    computed: jax.Array | None = None
    some: "Some | None" = None
    shared: "Shared | None" = None
    split: "Split | None" = None
    lanes: int | None = None

    def array(self, chunk: Chunk) -> jax.Array:
        """`[G, *shape]` if it varies between groups, else `shape`."""
        if self.computed is not None:
            if self.some is not None and (everywhere := self.some.everywhere) is not None:
                groups = chunk.count if self.known.varying else 1
                whole = jnp.broadcast_to(everywhere, (groups, everywhere.shape[1]))
                return whole.reshape(*[groups] * self.known.varying, *self.shape)
            return self.computed if self.lanes is None else self._of_items(self.computed, self.lanes)
        assert self.known.form is not None
        return materialise(self.known.form, self.base, self.dtype, self.known.varying, chunk)

    def _of_items(self, held: jax.Array, lanes: int) -> jax.Array:
        """What is held by sub-groups, with an element for each work-item."""
        groups, rows = held.shape[: self.known.varying], held.shape[self.known.varying]
        full = jnp.broadcast_to(held, (*groups, rows, lanes, *held.shape[len(groups) + 2 :]))
        return full.reshape(*groups, *self.shape)


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """The division of a number.

    Attributes:
      of: the number.
      divisor: what it is divided by.
      remains: whether the remainder is meant, else the quotient.
      offset, sign: the value is `offset + sign * remainder`; a quotient is the value itself.
    """

    of: Emitted
    divisor: int
    remains: bool
    offset: int = 0
    sign: int = 1

    @property
    def what(self) -> tuple[int, bool, int, int]:
        """All but the number."""
        return self.divisor, self.remains, self.offset, self.sign


@dataclasses.dataclass(frozen=True, eq=False)
class Some:
    """Some elements of a value.

    Attributes:
      chosen: `[n]` their flat positions.
      values: `[G or 1, n]`
      others: `[G or 1, m]` the values of all others, where it is faster to compute them apart: on a CPU, if the chosen
        elements follow each other. XLA takes a branch for each element of what is put together before it computes.
    """

    chosen: np.ndarray
    values: jax.Array
    others: jax.Array | None = None

    @property
    def everywhere(self) -> jax.Array | None:
        """`[G or 1, n + m]` all elements in their places, if the others are known."""
        if self.others is None:
            return None
        groups, first = max(self.values.shape[0], self.others.shape[0]), int(self.chosen[0])
        parts = [self.others[:, :first], self.values, self.others[:, first:]]
        each = [jnp.broadcast_to(part, (groups, part.shape[1])) for part in parts if part.shape[1]]
        return jnp.concatenate(each, axis=1)


@dataclasses.dataclass(frozen=True, eq=False)
class Shared:
    """A value that groups of a chunk share along some dimensions, as they do rows and columns of tiles.

    Compilers do not see through the single axis of groups that it has elsewhere.

    Attributes:
      block: the groups along each dimension.
      own: the same, but 1 along those in which they share it.
      values: `[own groups, *shape]`
    """

    block: tuple[int, ...]
    own: tuple[int, ...]
    values: jax.Array

    def of_groups(self, values: jax.Array) -> jax.Array:
        """`[G, ...]` from `[own groups, ...]` values."""
        rest = values.shape[1:]
        return jnp.broadcast_to(values.reshape(*self.own, *rest), (*self.block, *rest)).reshape(-1, *rest)


@dataclasses.dataclass(frozen=True, eq=False)
class Buffer:
    """The contents of a memory for a chunk.

    Attributes:
      data: `[elements]` for global memory, which all groups share; `[G, elements]` for local memory; for private memory
        `[elements, G * L]`, so that the work-items' copies of one element lie side by side. Slices are taken from this
        shape and gathers from the flat array: XLA updates both in place, but not a slice of a reshaped array.
      storage: how these hold the memory.
      origin: of a part of a memory the row at which it begins.
      pending: updates that are still to be carried out, together with the next one (see `update_coalescing`).
      deferred: updates that are still to be made, at once with others (see `batched_updates`).
      deferred_to: the window in which those are made, if they are of a row (see `update_coalescing`).
      stored: what is known of the contents, the latest first (see `store_to_load_forwarding`).
      viewed: whether the data may be no array of their own but another one in this shape, as one store has left them.
    """

    data: jax.Array
    storage: Storage
    origin: jax.Array | None = None
    pending: tuple["Update", ...] = ()
    deferred: tuple["Made", ...] = ()
    deferred_to: Any = None
    stored: tuple["Stored", ...] = ()
    viewed: bool = False

    @property
    def space(self) -> str:
        """Of the memory."""
        return self.storage.space

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the memory."""
        return self.storage.shape

    @property
    def elements(self) -> int:
        """Of the memory."""
        return self.storage.elements

    @property
    def row(self) -> int:
        """Elements for each place along the first dimension."""
        return self.storage.row

    def seen(self, shape: tuple[int, ...]) -> "Buffer":
        """The same memory seen in another shape, along whose first dimension it has at least as many places."""
        origin = self.origin
        if origin is not None:
            times = self.row // math.prod(shape[1:])
            origin = lax.mul(origin, origin.dtype.type(times))
        return dataclasses.replace(self, storage=self.storage.seen(shape), origin=origin)

    def origin_element(self, dtype: np.dtype) -> jax.Array:
        """The number of the first element that the data hold, of a part."""
        assert self.origin is not None
        return lax.mul(self.origin.astype(dtype), dtype.type(self.row))

    def holding(self, data: jax.Array) -> "Buffer":
        """The same memory with other contents, of which nothing is known, and no updates still to be carried out."""
        storage = self.storage.held_as(data.shape)
        return dataclasses.replace(self, data=data, storage=storage, pending=(), stored=(), viewed=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Origin:
    """Where a part of a memory begins: at a place along its first dimension, which is a multiple of `unit`."""

    row: jax.Array
    unit: int


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Update:
    """Elements to update by an operation whose order does not matter.

    Attributes:
      target: `[G, n]` positions in the flat contents; beyond their end for elements that take no part. Of the
        work-items' own elements `[G, L]` the numbers in each one's private memory, or how many it has.
      values: `[G, n]` what to combine them with.
      op: the operation.
      always: whether every element takes part.
      own: whether each work-item updates one element of its own.
      few: the number added and its range of elements, where a scatter may be slower (`small_histograms`); else None.
    """

    target: jax.Array
    values: jax.Array
    op: str = dataclasses.field(metadata={"static": True})
    always: bool = dataclasses.field(metadata={"static": True})
    own: bool = dataclasses.field(metadata={"static": True})
    few: "Few | None" = dataclasses.field(default=None, metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Made:
    """What an update is made with; with one more axis, before the others, what several are made with.

    Attributes:
      values: `[G or 1, n or 1]`
      mask: the same: what is updated, or None for everything.
    """

    values: jax.Array
    mask: jax.Array | None


@dataclasses.dataclass(frozen=True)
class Few:
    """A number that is added to elements of a memory, and which of a group or work-item these can be.

    Attributes:
      first: the first of them.
      size: how many they are.
      number: what is added to each that is chosen, as often as it is.
    """

    first: int
    size: int
    number: int


@dataclasses.dataclass(frozen=True, eq=False)
class Stored:
    """What one store has left in a memory.

    Attributes:
      places: `[n]` different numbers of elements of each group's memory, for private memory of the work-items' copies.
      values: `[G or 1, n]`; of a store to which all elements of the access contribute `[G or 1, *shape]`, its shape.
      shared: the values, if groups share them.
    """

    places: np.ndarray
    values: jax.Array
    shared: Shared | None = None


def materialise(form: Form, base: Any, dtype: Any, varying: bool, chunk: Chunk) -> jax.Array:
    """A lane form as an array."""
    pattern = jnp.asarray(form.pattern.astype(dtype))
    if base is not None:
        pattern = pattern + base.astype(dtype)
    if not varying:
        return pattern
    groups = jnp.zeros(chunk.count, dtype)
    for d, step in enumerate(form.steps):
        if step:
            groups = groups + chunk.group_ids(d).astype(dtype) * wrapped(step, dtype)
    return groups.reshape(-1, *(1,) * form.pattern.ndim) + pattern


def bits(array: jax.Array) -> jax.Array:
    """The bits of an array's elements, as unsigned integers."""
    if array.dtype == bool:
        return array.astype(np.uint8)
    return lax.bitcast_convert_type(array, np.dtype(f"u{array.dtype.itemsize}"))


def bits_of(dtype: np.dtype) -> np.dtype:
    """The dtype of `bits` of an array of such elements."""
    return np.dtype(f"u{dtype.itemsize}")


def of_bits(array: jax.Array, like: jax.Array) -> jax.Array:
    """Elements of another array's type from their bits."""
    return array.astype(bool) if like.dtype == bool else lax.bitcast_convert_type(array, like.dtype)
