"""The intermediate representation: a program for one work-group as values, operations and regions.

It is in SSA form: a value is given once, by an operation or as an input of a region. Memories are values too, and each
update gives the next version. Regions see the values of those around them, so that nothing is handed down that does
not change.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Value:
    """What an operation gives, or what a region is given.

    Attributes:
      shape: for one work-group.
      dtype: of its elements; of a key of `jax.random` JAX's own.
      memory: the name of the memory of which it is a version; empty for other values.
      name: of an argument of the kernel; empty for others.
    """

    shape: tuple[int, ...]
    dtype: Any
    memory: str = ""
    name: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Constant(Value):
    """A value that is known as the kernel is traced; `is_literal` where the kernel has it as a number of its own."""

    array: np.ndarray = dataclasses.field(kw_only=True)
    is_literal: bool = dataclasses.field(kw_only=True)


@dataclasses.dataclass(frozen=True, eq=False)
class Op:
    """An operation.

    Attributes:
      name: a row of `table`.
      operands: what goes into it.
      results: what it gives.
      attributes: what is known of it beside the operands, by name.
      regions: the programs that it carries out: of a `scan` its body, which takes and gives carries and then elements;
        of a `while` predicate and body, which take the carries; of a `cond` a branch for each number that its operand
        can be, which take nothing.
      place: the line that it comes from, as text; empty if it is not known.
    """

    name: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: Mapping[str, Any]
    regions: tuple["Region", ...] = ()
    place: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Region:
    """Operations in order, with what they are given and what they give."""

    inputs: tuple[Value, ...]
    ops: tuple[Op, ...]
    outputs: tuple[Value, ...]

    def walk(self) -> Iterator[Op]:
        """Its operations and those of the regions in it, outer ones first."""
        for op in self.ops:
            yield op
            for inner in op.regions:
                yield from inner.walk()
