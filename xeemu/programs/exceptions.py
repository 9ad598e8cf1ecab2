"""Exceptions: errors of launches as the exceptions of SYCL that programs catch."""

import dataclasses

from xeemu.errors import Error
from xeemu.frontends.cplusplus.instances import Instances
from xeemu.frontends.functions import Function
from xeemu.frontends.hosting import exceptions
from xeemu.frontends.hosting.machine import Machine, Thrown
from xeemu.frontends.parsing import clang

_CODES = {"nd_range": 4, "kernel_argument": 6, "memory_allocation": 9, "kernel_not_supported": 13}
"""Values of `sycl::errc` in our headers, of the errors by which a runtime refuses a launch (SYCL 2020, 4.13.3)."""


@dataclasses.dataclass(eq=False)
class Exceptions:
    """What throws errors in a program.

    Attributes:
      instances: the program's functions.
    """

    instances: Instances

    def throw(self, machine: Machine, error: Error) -> None:
        """Throws an error as `sycl::exception`; returns where the program does not catch that, or SYCL has no such."""
        code = _CODES.get(error.code)
        function = self._function() if machine.trying and code is not None else None
        if function is None:
            return
        try:
            machine.call(function, [code, machine.text(str(error))])
        except Thrown as thrown:
            if exceptions.caught_by(machine.trying, thrown.type):
                raise

    def _function(self) -> Function | None:
        """The function of our headers that throws."""
        for space in self.instances.unit.cursor.get_children():
            if clang.kind(space) == "NAMESPACE" and space.spelling == "__xeemu":
                for part in space.get_children():
                    if part.spelling == "raise":
                        return self.instances.function(part)
        return None
