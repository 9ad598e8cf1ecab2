"""Aspects: what a kernel's operations ask of a device that not every device has (SYCL 2020, section 4.6.4.3)."""

from xeemu.devices.device import Device, devices
from xeemu.errors import KernelNotSupportedError
from xeemu.language import jaxprs, primitives, source
from xeemu.language.jaxprs import Body


def check(body: Body, device: Device) -> None:
    """Checks a kernel's operations against a device; what is not known of the device is permitted.

    Raises:
      KernelNotSupportedError: the kernel performs atomic operations on 64 bits, and the device lacks `atomic64`.
    """
    if device.atomic64 is not False:
        return
    for eqn in jaxprs.equations(body):
        if eqn.primitive is not primitives.atomic_p:
            continue
        held = eqn.invars[0].aval.dtype
        if held.itemsize == 8:
            others = ", ".join(other.name for other in devices() if other.atomic64 and other.name != device.name)
            raise KernelNotSupportedError(
                f"an atomic {eqn.params['op']} of {held} elements, which have 64 bits; {device.name} lacks SYCL's "
                f"aspect::atomic64. Use a memory of 32 bits, or launch on a device that has it: {others}"
                f"\n  at {source.of_equation(eqn)}"
            )
