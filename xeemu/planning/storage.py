"""Storage: how an array holds the contents of a memory, as far as that is known before the program runs."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from xeemu.ir.program import Op
from xeemu.knowledge.analysis import Facts
from xeemu.language.program import Program
from xeemu.planning.chunk import Chunk


@dataclasses.dataclass(frozen=True)
class Storage:
    """How an array holds a memory, of which each group or work-item may have a copy.

    Attributes:
      space: `"global"`, one for all groups; `"local"`, one for each; or `"private"`, one for each work-item. `"global"`
        also for a local memory that is one for all groups, whose `analysis.Known` still says `"local"` (see
        `group_invariant_memory`).
      shape: of the memory, in elements per dimension.
      array: the shape of the array.
      dtype: of its elements.
      unit: the array holds a part of a global memory from a row on whose number is a multiple of it; None if it holds
        all of the memory.
      alone: true if the kernel does not change the memory, or uses it in one operation only.
      rows: the shape in which all operations on it see it, if they are stores that agree in one (see `row_shapes`).
    """

    space: str
    shape: tuple[int, ...]
    array: tuple[int, ...]
    dtype: np.dtype
    unit: int | None = None
    alone: bool = False
    rows: tuple[int, ...] | None = None

    @classmethod
    def of_allocation(cls, op: Op, facts: Facts, chunk: Chunk) -> "Storage":
        """That of a memory that a kernel allocates; of one that all groups fill alike there is one for all."""
        space, shape, dtype = (op.attributes[name] for name in ("space", "shape", "dtype"))
        elements = math.prod(shape)
        if facts.values[op.results[0]].group_invariant:
            return cls("global", shape, (elements,), dtype)
        each = (chunk.count, elements) if space == "local" else (elements, chunk.count * chunk.geometry.items)
        return cls(space, shape, each, dtype)

    def with_array(self, array: tuple[int, ...]) -> "Storage":
        """The same memory in an array of another shape."""
        return self if array == self.array else dataclasses.replace(self, array=array)

    def viewed(self, shape: tuple[int, ...]) -> "Storage":
        """The same, of the memory seen in another shape."""
        unit = None if self.unit is None else self.unit * (self.row // math.prod(shape[1:]))
        return dataclasses.replace(self, shape=shape, unit=unit)

    @property
    def copies(self) -> int:
        """How many memories lie in the array: one for each group or work-item, unless it is global."""
        return {"global": 1, "local": self.array[0], "private": self.array[-1]}[self.space]

    @property
    def elements(self) -> int:
        """Of the memory."""
        return math.prod(self.shape)

    @property
    def row(self) -> int:
        """Elements for each index along the first dimension."""
        return math.prod(self.shape[1:])

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape of what the array holds of one copy of the memory."""
        return self.shape if self.unit is None else (math.prod(self.array) // self.row, *self.shape[1:])

    @property
    def stored_elements(self) -> int:
        return math.prod(self.stored_shape)


def of_arguments(program: Program, arrays: Mapping[int, Any], units: Mapping[int, int]) -> dict[int, Storage]:
    """For the numbers of those of some arguments that are memories how arrays hold these.

    Args:
      program: the program.
      arrays: for the numbers of the arguments arrays, or what else has a shape and a dtype.
      units: for the numbers of those that are a part of a memory, see `Storage`.
    """
    memories = {k: program.arguments[k] for k in arrays}
    return {
        k: Storage("global", memory.shape, arrays[k].shape, arrays[k].dtype, units.get(k), program.is_alone(k))
        for k, memory in memories.items()
        if memory is not None
    }
