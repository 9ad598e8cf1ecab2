"""The intermediate representation: a program for one work-group as values, operations and regions.

It is in SSA form: a value is given once, by an operation or as an input of a region. Memories are values too, and each
update gives the next version. Loops and branches see the values of those around them, so that nothing is handed down
that does not change.
"""

import collections
import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True, eq=False)
class Value:
    """What an operation gives, or what a region is given.

    Attributes:
      shape: for one work-group.
      dtype: of its elements; of a key of `jax.random` JAX's own, and None of what has no elements.
      memory: the name of the memory of which it is a version; empty for other values.
      name: of an argument of the kernel; empty for others.
      weak_type: of an input, true if it is a number of Python's, whose type gives way to others'.
    """

    shape: tuple[int, ...]
    dtype: Any
    memory: str = ""
    name: str = ""
    weak_type: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)


@dataclasses.dataclass(frozen=True, eq=False)
class Constant(Value):
    """A value that is known as the kernel is traced.

    Attributes:
      array: its elements, of NumPy or JAX.
      is_literal: true if the kernel has it as a number of its own.
    """

    array: Any = dataclasses.field(kw_only=True)
    is_literal: bool = dataclasses.field(kw_only=True)


@dataclasses.dataclass(frozen=True, eq=False)
class Op:
    """An operation.

    Attributes:
      name: a row of `table`.
      operands: what goes into it.
      results: what it gives.
      attributes: what is known of it beside the operands, by name.
      regions: the programs that it carries out, see `control`.
      apply: what gives its results for what stands for `used` (see `evaluation`), of which those of the language can
        only be traced; None of a call that takes functions.
      traceback: where it was traced, which `language.source` reads; None if that is not known.
      merges: true if it only says which work-items have got what, as lanes do that are not active.
      has_effects: true if it does more than give its results, by JAX.
      given: true if it hangs on an argument of the launch that is a constant here alone, see `language.given`.
    """

    name: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: Mapping[str, Any]
    regions: tuple["Region", ...] = ()
    apply: Callable[..., Any] | None = dataclasses.field(default=None, repr=False)
    traceback: Any = dataclasses.field(default=None, repr=False)
    merges: bool = False
    has_effects: bool = False
    given: bool = False

    @property
    def captures(self) -> tuple[Value, ...]:
        """The values from around it that its regions use, each once."""
        return self._captures if self.regions else ()

    @functools.cached_property
    def _captures(self) -> tuple[Value, ...]:
        return tuple(dict.fromkeys(value for region in self.regions for value in region.captures))

    @property
    def used(self) -> tuple[Value, ...]:
        """All values that it uses: those that its regions capture, and then its operands."""
        return (*self.captures, *self.operands) if self.regions else self.operands


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

    @functools.cached_property
    def captures(self) -> tuple[Value, ...]:
        """The values from around it that it or a region in it uses, each once; no constants."""
        defined, used = set(self.inputs), dict[Value, None]()
        for op in self.ops:
            used |= dict.fromkeys(v for v in op.used if v not in defined)
            defined.update(op.results)
        used |= dict.fromkeys(v for v in self.outputs if v not in defined)
        return tuple(value for value in used if not isinstance(value, Constant))

    @functools.cached_property
    def definitions(self) -> Mapping[Value, Op]:
        """For each value that it computes itself the operation that does."""
        return {value: op for op in self.ops for value in op.results}

    @functools.cached_property
    def uses(self) -> Mapping[Value, int]:
        """How often its operations and outputs use each value, 0 times any other; constants are not counted."""
        used = (value for values in (*(op.used for op in self.ops), self.outputs) for value in values)
        return collections.Counter(value for value in used if not isinstance(value, Constant))

    @property
    def all_inputs(self) -> tuple[Value, ...]:
        """All values that it does not compute itself: those that it captures, and then its inputs."""
        return (*self.captures, *self.inputs)

    def needed(self, values: Iterable[Value]) -> list[int]:
        """The numbers of the operations that some of its values are computed by, in order."""
        needed, found = set(values), []
        for number in range(len(self.ops) - 1, -1, -1):
            op = self.ops[number]
            if not needed.isdisjoint(op.results):
                found.append(number)
                needed.update(op.used)
        return found[::-1]
