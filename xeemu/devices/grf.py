"""The register file of a thread: 128 registers, or 256 in the large-GRF mode, which halves the threads of an engine."""

from xeemu.devices.device import Device
from xeemu.devices.lookup import devices
from xeemu.errors import KernelNotSupportedError, NDRangeError
from xeemu.language.dialect import PYTHON, Dialect
from xeemu.plurals import counted

LARGE = 256
"""The `grf_size` of the large mode."""


def thread_bytes(device: Device, grf_size: int | None) -> int | None:
    """Bytes of registers that a thread has; None if that is not known."""
    if device.grf_bytes_per_thread is None:
        return None
    return device.grf_bytes_per_thread * (_factor(device) if grf_size == LARGE else 1)


def check(grf_size: int | None, device: Device, items: int | None, lanes: int, dialect: Dialect = PYTHON) -> None:
    """Checks that a device has the registers that a kernel requires, for `items` of a group, `lanes` to a sub-group.

    Raises:
      KernelNotSupportedError: it has no such mode.
      NDRangeError: its Xe cores have not so many threads with them as a work-group takes.
    """
    if grf_size != LARGE:
        return
    if device.large_grf_factor is None:
        others = ", ".join(other.name for other in devices() if other.large_grf_factor is not None)
        raise KernelNotSupportedError(
            f"the kernel requires grf_size {grf_size}; {device.name} has no large-GRF mode. Leave grf_size out of "
            f"{dialect.attribute}, or launch on a device that has it: {others}"
        )
    most = None if device.threads_per_core is None else device.threads_per_core // _factor(device) * lanes
    if items is not None and most is not None and items > most:
        raise NDRangeError(
            f"a work-group of {counted(items, 'work-item')} takes {counted(-(-items // lanes), 'thread')}, one for "
            f"each {lanes}; with grf_size {grf_size} an Xe core of {device.name} has {most // lanes}. Launch "
            f"work-groups of at most {most} work-items, or require grf_size 128"
        )


def _factor(device: Device) -> int:
    return device.large_grf_factor or 1
