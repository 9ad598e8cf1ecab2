"""Program: a file of SYCL C++ that can be run as a whole beside the kernels that it submits."""

from collections.abc import Sequence
from typing import Any

from xeemu.devices.device import Device
from xeemu.frontends.sycl.collection import SyclKernels
from xeemu.language import public
from xeemu.programs import running
from xeemu.programs.results import Result


class SyclProgram(SyclKernels):
    """The kernels of a file, and its `main`, which submits them."""

    @public.method("load(...).run")
    def run(self, device: str | Device = "max1550", arguments: Sequence[object] = (), **arrays: Any) -> Result:
        """Runs the program: its `main`, and the kernels that it submits.

        Args:
          device: the modelled device.
          arguments: of the command line, without the program's name.
          arrays: contents of the host's arrays, by the names of variables, when they are first submitted.

        Returns:
          The `output`, the `arrays` at the end by the names of the host's variables, the `submissions` in order, each
          with its `time_s`, `report` and `findings`; the `exit_code`; the `findings` about the order of commands and
          about what the host reads, copies and frees; and as `leaks` notes of the USM that is never freed.

        Raises:
          KernelArgumentError: there is no `main`, or an array was given that the program does not submit.
          KernelError: the program does what is not supported, or what is wrong; the message names the line.
        """
        return running.run(self, device, arguments, arrays)
