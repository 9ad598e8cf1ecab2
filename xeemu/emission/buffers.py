"""Buffers: the contents of memories in the program that is emitted, and the updates that are left to be made."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jax import lax

from xeemu.planning.storage import Storage


@dataclasses.dataclass(frozen=True, eq=False)
class Buffer:
    """The contents of a memory for a chunk.

    Attributes:
      data: `[elements]` for global memory, which all groups share; `[G, elements]` for local memory; for private memory
        `[elements, G * L]`, so that the work-items' copies of one element lie side by side. Slices are taken from this
        shape and gathers from the flat array: XLA updates both in place, but not a slice of a reshaped array.
      storage: how these hold the memory.
      origin: of a part of a memory the row at which it begins.
      pending: what an iteration leaves to be made with what others of its block leave, an `Update` or its operands for
        each of its updates (see `Iteration`).
    """

    data: jax.Array
    storage: Storage
    origin: jax.Array | None = None
    pending: tuple[Any, ...] = ()

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
        """Elements for each index along the first dimension."""
        return self.storage.row

    def viewed(self, shape: tuple[int, ...]) -> "Buffer":
        """The same memory seen in another shape, along whose first dimension it has at least as many indices."""
        origin = self.origin
        if origin is not None:
            times = self.row // math.prod(shape[1:])
            origin = lax.mul(origin, origin.dtype.type(times))
        return dataclasses.replace(self, storage=self.storage.viewed(shape), origin=origin)

    def origin_element(self, dtype: np.dtype) -> jax.Array:
        """The number of the first element that the data hold, of a part."""
        assert self.origin is not None
        return lax.mul(self.origin.astype(dtype), dtype.type(self.row))

    def with_data(self, data: jax.Array) -> "Buffer":
        """The same memory with other contents."""
        return dataclasses.replace(self, data=data, storage=self.storage.with_array(data.shape))


@dataclasses.dataclass(frozen=True, eq=False)
class PartOrigin:
    """Where a part of a memory begins: at an index along its first dimension, which is a multiple of `unit`."""

    row: jax.Array
    unit: int


def units(origins: Mapping[int, PartOrigin]) -> dict[int, int]:
    """For the numbers of arguments that are parts of memories of what their first rows are multiples."""
    return {number: origin.unit for number, origin in origins.items()}


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Update:
    """Elements to update by an operation whose order does not matter.

    Attributes:
      target: `[G, n]` positions in the flat contents; beyond their end for elements that take no part. Of the
        work-items' own elements `[G, L]` the numbers in each one's private memory, or how many it has.
      values: `[G, n]` what to combine them with.
      op: the operation.
      always: true if every element takes part.
      private_element: true if each work-item updates one element of its own.
    """

    target: jax.Array
    values: jax.Array
    op: str = dataclasses.field(metadata={"static": True})
    always: bool = dataclasses.field(metadata={"static": True})
    private_element: bool = dataclasses.field(metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class UpdateOperands:
    """What an update is made with; with one more axis, before the others, what several are made with.

    Attributes:
      values: `[G or 1, n or 1]`
      mask: the same: what is updated, or None for everything.
    """

    values: jax.Array
    mask: jax.Array | None
