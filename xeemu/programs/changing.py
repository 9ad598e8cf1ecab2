"""Changing: kernels of which numbers change from launch to launch, compiled once for all values.

A number on which an index, a branch or a loop hangs is known as the kernel is traced, so that more is known of its
addresses; each value is compiled anew. Of a kernel that a program launches with one value after the other this would
take all the time.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from xeemu.devices.device import Device
from xeemu.errors import Error
from xeemu.frontends import binding
from xeemu.frontends.tree import Function, Program, Variable
from xeemu.language.dialect import SYCL_CPP
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.launching.launch import launch

_FEW = 2
"""So many different combinations of numbers are compiled each by itself."""


@dataclasses.dataclass(eq=False)
class Changing:
    """The numbers with which a kernel has been launched over one nd-range.

    Attributes:
      first: those of the first launch, by the names of the parameters.
      names: of those that have changed since.
      known: the combinations that were compiled by themselves.
      fixed: whether the kernel cannot be traced without them, so that each combination is.
    """

    first: dict[str, Any] = dataclasses.field(default_factory=dict)
    names: frozenset[str] = frozenset()
    known: set[tuple[Any, ...]] = dataclasses.field(default_factory=set)
    fixed: bool = False

    def free(self, variables: Sequence[Variable], arguments: Sequence[Any]) -> frozenset[str]:
        """The numbers without which the next launch is traced; none where it is one of the first few."""
        given = zip(variables, arguments, strict=True)
        numbers = {v.name: x for v, x in given if isinstance(x, np.integer | np.bool_)}
        self.first = self.first or numbers
        self.names |= {name for name, x in numbers.items() if x != self.first[name]}
        combination = tuple(numbers.values())
        if self.fixed or combination in self.known:
            return frozenset()
        if len(self.known) < _FEW:
            self.known.add(combination)
            return frozenset()
        return self.names


@dataclasses.dataclass(eq=False)
class Variants:
    """A kernel of a program, traced with its numbers and without those that change.

    Attributes:
      file: of the program.
      function: the kernel, which takes what its captures consist of.
      identity: texts that tell it from others in every process.
    """

    file: str
    function: Function
    identity: tuple[str, ...]
    _changing: dict[NDRange, Changing] = dataclasses.field(default_factory=dict)
    _made: dict[frozenset[str], Kernel] = dataclasses.field(default_factory=dict)

    @property
    def variables(self) -> Sequence[Variable]:
        return self.function.parameters

    @functools.cached_property
    def kernel(self) -> Kernel:
        """The kernel that is traced with its numbers, of which most is known."""
        return self._without(frozenset())

    def _without(self, free: frozenset[str]) -> Kernel:
        if free not in self._made:
            program = Program(self.file, {}, [self.function], [])
            self._made[free] = binding.kernel(program, self.function, SYCL_CPP, self.identity, free=free)
        return self._made[free]

    def launch(self, nd_range: NDRange, arguments: Sequence[Any], device: Device) -> Any:
        """What a launch gives, see `xe.launch`."""
        changing = self._changing.setdefault(nd_range, Changing())
        free = changing.free(self.variables, arguments)
        if free:
            try:
                return launch(self._without(free), nd_range, device=device)(*arguments)
            except Error:  # the language needs a number, or the launch is wrong, which the kernel itself will tell
                changing.fixed = True
        return launch(self.kernel, nd_range, device=device)(*arguments)
