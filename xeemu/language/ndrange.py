"""NDRange: the global and local size of a launch."""

import dataclasses
import math
import operator
from collections.abc import Sequence
from typing import Any

from xeemu.errors import NDRangeError
from xeemu.language import public
from xeemu.plurals import counted

_MAX_DIMENSIONS = 3
_MOST_ITEMS = 2**63 - 1


@public.constructor
@dataclasses.dataclass(frozen=True, init=False)
class NDRange:
    """The index space of a launch, as `sycl::nd_range` or, without a local size, as `sycl::range`.

    Dimensions count as in SYCL: the last one is contiguous. Sizes are ints or tuples of one to three ints.

    Attributes:
      global_size: work-items per dimension.
      local_size: work-items of one work-group per dimension, or `None` for a plain range, whose groups the runtime
        chooses.

    A global size of 0 is allowed and launches nothing. That the local size divides the global size is checked by the
    launch, as in SYCL (`limits.check_sizes`).

    Raises:
      NDRangeError: a size is not an integer or is negative, a local size is 0, there are more than three dimensions or
        more work-items than 64 bits number, or the two sizes differ in their number of dimensions.
    """

    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    # Whether it was written in OpenCL's order, in which its text is then as well; equal sizes are equal all the same.
    _reversed: bool = dataclasses.field(default=False, compare=False, repr=False)

    def __init__(self, global_size: int | Sequence[int], local_size: int | Sequence[int] | None = None):
        global_ = _sizes("global size", global_size, least=0)
        local = None if local_size is None else _sizes("local size", local_size, least=1)
        if local is not None and len(local) != len(global_):
            dimensions = counted(len(global_), "dimension")
            raise NDRangeError(
                f"the global size {global_} has {dimensions} but the local size {local} has {len(local)}; "
                "give both the same number"
            )
        object.__setattr__(self, "global_size", global_)
        object.__setattr__(self, "local_size", local)

    @classmethod
    @public.method("NDRange.opencl")
    def opencl(cls, global_size: int | Sequence[int], local_size: int | Sequence[int] | None = None) -> "NDRange":
        """The same with dimensions in OpenCL's order: the first one, `get_global_id(0)`, is contiguous.

        It is `NDRange` of the sizes turned around, as `clEnqueueNDRangeKernel` takes them.
        """
        made = cls(_turned(global_size), None if local_size is None else _turned(local_size))
        object.__setattr__(made, "_reversed", True)
        return made

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The same text where IPython or hypothesis shows it."""
        printer.text(repr(self))

    def __repr__(self) -> str:
        sycl = _call("NDRange", self.global_size, self.local_size)
        if not self._reversed:
            return sycl
        local = None if self.local_size is None else self.local_size[::-1]
        opencl = _call("NDRange.opencl", self.global_size[::-1], local)
        return opencl if self.dimensions == 1 else f"{opencl} = {sycl}"

    @property
    def dimensions(self) -> int:
        """Number of dimensions, 1 to 3."""
        return len(self.global_size)

    @property
    def size(self) -> int:
        """Number of work-items in the launch."""
        return math.prod(self.global_size)


def _turned(size: int | Sequence[int]) -> int | Sequence[int]:
    return tuple(size)[::-1] if isinstance(size, Sequence) and not isinstance(size, str) else size


def _call(name: str, global_size: tuple[int, ...], local_size: tuple[int, ...] | None) -> str:
    return f"{name}(global_size={global_size}, local_size={local_size})"


def _sizes(what: str, value: int | Sequence[int], least: int) -> tuple[int, ...]:
    items = tuple(value) if isinstance(value, Sequence) else (value,)
    if not 1 <= len(items) <= _MAX_DIMENSIONS:
        raise NDRangeError(f"the {what} {items} has {len(items)} dimensions; an nd-range has 1 to {_MAX_DIMENSIONS}")
    try:
        sizes = tuple(map(_integer, items))
    except TypeError:
        raise NDRangeError(
            f"the {what} {value!r} is not made of integers; write for example NDRange(1024, 64)"
        ) from None
    if min(sizes) < least:
        found = min(sizes)
        where = f"{sizes} is {found} in dimension {sizes.index(found)}" if len(sizes) > 1 else f"is {found}"
        raise NDRangeError(f"the {what} {where}; the least is {least}")
    # An empty dimension does not make the others any smaller.
    if math.prod(max(size, 1) for size in sizes) > _MOST_ITEMS:
        raise NDRangeError(
            f"the {what} {sizes} has {math.prod(sizes)} work-items; ids are signed integers of 64 bits, so that there "
            f"can be {_MOST_ITEMS} at most. Launch a part of the range at a time"
        )
    return sizes


def _integer(value: int) -> int:
    """A size; a bool, which Python counts among the integers, is none."""
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)
