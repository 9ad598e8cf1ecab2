"""Local: the size of a local memory that a launch gives to a kernel."""

import dataclasses
import operator

from xeemu.errors import KernelArgumentError
from xeemu.language import public


@public.constructor
@dataclasses.dataclass(frozen=True)
class Local:
    """The argument for a pointer to local memory: each work-group gets so many bytes of its own, uninitialised.

    It is `clSetKernelArg(kernel, k, bytes, NULL)` of OpenCL, where there is at least one; a local accessor of SYCL may
    have none.

    Raises:
      KernelArgumentError: `bytes` is no integer, or a negative one.
    """

    bytes: int

    def __post_init__(self) -> None:
        try:
            number = -1 if isinstance(self.bytes, bool) else operator.index(self.bytes)
        except TypeError:
            number = -1
        if not 0 <= number < 2**31:
            raise KernelArgumentError(
                f"xe.Local({self.bytes!r}); give a number of bytes, such as xe.Local(4 * 64) for 64 floats"
            )
        object.__setattr__(self, "bytes", number)

    def __repr__(self) -> str:
        return f"xe.Local({self.bytes})"
