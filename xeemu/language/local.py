"""Local: the size of a local memory that a launch gives to a kernel."""

import dataclasses
import operator

from xeemu.errors import KernelArgumentError


@dataclasses.dataclass(frozen=True)
class Local:
    """The argument for a pointer to local memory: each work-group gets so many bytes of its own, uninitialised.

    It is `clSetKernelArg(kernel, k, bytes, NULL)` of OpenCL.

    Raises:
      KernelArgumentError: `bytes` is not a positive integer.
    """

    bytes: int

    def __post_init__(self) -> None:
        try:
            number = 0 if isinstance(self.bytes, bool) else operator.index(self.bytes)
        except TypeError:
            number = 0
        if not 0 < number < 2**31:
            raise KernelArgumentError(
                f"xe.Local({self.bytes!r}); give a positive number of bytes, such as xe.Local(4 * 64) for 64 floats"
            )
        object.__setattr__(self, "bytes", number)

    def __repr__(self) -> str:
        return f"xe.Local({self.bytes})"
