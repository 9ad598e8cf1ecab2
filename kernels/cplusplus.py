"""The examples in SYCL C++: for each the kernel of a `.cpp` file beside it that does the same, and its arguments."""

import dataclasses
import pathlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import xeemu as xe
from xeemu.kernels.example import Example, Inputs, Size
from xeemu.kernels.twins import TWINS, Twin

_OWN_NAMES = ("reduction_atomics_buffer", "reduction_atomics_usm")  # of one kernel in C, two in C++


@dataclasses.dataclass(frozen=True)
class Program:
    """An example in SYCL C++.

    Attributes:
      twin: the example in OpenCL C, which needs the same macros.
      kernel: the kernel's name class.
    """

    twin: Twin
    kernel: str

    @property
    def path(self) -> pathlib.Path:
        return folder() / f"{self.twin.file}.cpp"

    def load(self, example: Example, size: Size) -> xe.Kernel:
        """The kernel for a size."""
        return xe.load(self.path, self.twin.options(example, size))[self.kernel]

    def arguments(self, kernel: xe.Kernel, example: Example, inputs: Inputs) -> Mapping[str, Any]:
        """The example's inputs by name, as far as the kernel takes them; what else it captures, it knows."""
        named = self.named(example, inputs)
        every = kernel.interface.every if kernel.interface is not None else kernel.parameters
        return {name: named[name] for name in every if name in named}

    def named(self, example: Example, inputs: Inputs) -> Mapping[str, Any]:
        """The example's inputs by the names that they have in the program."""
        named: dict[str, Any] = dict(zip(example.kernel.parameters, inputs, strict=True))
        return named | {"elements": np.int32(inputs[0].size)}


def folder() -> pathlib.Path:
    """Where the programs are."""
    return pathlib.Path(__file__).parent


def _program(name: str) -> Program:
    return Program(TWINS[name], name if name in _OWN_NAMES else TWINS[name].kernel)


PROGRAMS: Mapping[str, Program] = MappingProxyType({name: _program(name) for name in TWINS})
"""By the examples' names."""
