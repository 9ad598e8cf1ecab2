"""The kernels of the texts that xeemu was built for, each with its inputs and a NumPy reference."""

from collections.abc import Mapping
from types import MappingProxyType

from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.kernels import atomics, convolution, histogram, matmul, reduction, slm_bank, table_copy
from xeemu.kernels.device_info import device_info
from xeemu.kernels.example import Example

__all__ = ["EXAMPLES", "Example", "device_info", "example"]

_SUBJECTS = (slm_bank, convolution, histogram, table_copy, reduction, matmul, atomics)

EXAMPLES: Mapping[str, Example] = MappingProxyType({e.name: e for subject in _SUBJECTS for e in subject.EXAMPLES})


def example(name: str) -> Example:
    """The example called `name`.

    Raises:
      KernelArgumentError: there is none; the message lists them and suggests the nearest.
    """
    if name in EXAMPLES:
        return EXAMPLES[name]
    hint = did_you_mean(name, tuple(EXAMPLES))
    raise KernelArgumentError(f"there is no example {name!r}{hint}. The examples are {', '.join(EXAMPLES)}")
