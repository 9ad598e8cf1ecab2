"""printed: a launch whose work-items print, and what they have printed."""

from typing import Any

from xeemu.devices.device import Device
from xeemu.errors import KernelArgumentError
from xeemu.language import public
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.launching.arguments import DEFAULT_DEVICE, checked_device, own_range
from xeemu.launching.launch import launch, staged
from xeemu.launching.staged import Launched


@public.function
def printed(
    kernel: Kernel,
    nd_range: NDRange | None = None,
    *,
    device: str | Device = DEFAULT_DEVICE,
    words: int = 256,
    schedule: Any = None,
) -> Launched[Any]:
    """A launch as a function that gives the results and what the kernel's `printf` has printed.

    All other transformations evaluate the arguments of `printf` and print nothing.

    Args:
      kernel: of `xe.load`.
      nd_range: as for `launch`.
      device: the modelled device.
      words: of 32 bits that are kept of each work-item: one for each text and for each number in it.
      schedule: as of `launch`.

    Returns:
      A function of the kernel's arguments that gives the results and a tuple of lines, each with its `text`,
      `work_item`, `file` and `line`, the work-items one after the other; its `str()` is the whole text.

    Raises:
      KernelArgumentError: the kernel does not call `printf`.
    """
    nd_range = own_range(kernel, nd_range)
    modelled = checked_device(kernel, nd_range, device)
    if kernel.interface is None or kernel.interface.printing is None:
        why = "calls no printf" if kernel.interface is not None else "is written in Python, which has no printf"
        raise KernelArgumentError(f"kernel {kernel.name} {why}; store the values to a memory and return it")
    if words < 2:
        raise KernelArgumentError(f"words={words!r}; give the number of words to keep of each work-item, such as 256")
    call = launch(kernel.interface.printing(kernel, words), nd_range, device=modelled, schedule=schedule)
    return staged("printed", kernel, nd_range, modelled, call, words=words, schedule=schedule)
