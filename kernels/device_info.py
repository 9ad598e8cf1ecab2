"""The device query from "Local Memory and Atomics" (Intel, oneAPI training): size and type of local memory."""

from xeemu.devices.device import Device
from xeemu.devices.lookup import device as preset


def device_info(device: str | Device = "max1550") -> tuple[str, ...]:
    """The lines that the text's program prints of a device: its name, and the size (bytes) and type of local memory.

    Raises:
      KernelArgumentError: there is no such device.
    """
    queried = preset(device)
    return (
        f"device name   : {queried.full_name}",
        f"local_mem_size: {queried.local_mem_size}",
        f"local_mem_type: info::local_mem_type::{queried.local_mem_type}",
    )
