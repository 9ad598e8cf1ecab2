"""Lookup: the presets as devices, and the device that has a name."""

from typing import Any

from xeemu.devices import page
from xeemu.devices.architectures import ARCHITECTURES
from xeemu.devices.device import Device
from xeemu.devices.presets import PRESETS, Preset
from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.language import public


def _of_preset(preset: Preset) -> Device:
    sources = (*ARCHITECTURES[preset.architecture], *preset.own)
    values: dict[str, Any] = {source.field: source.value for source in sources}
    if len(values) != len(sources):
        raise ValueError(f"the preset {preset.name} has a field twice")
    values |= {"name": preset.name, "full_name": preset.full_name, "architecture": preset.architecture}
    return Device(sources=sources, **values)


class Devices(tuple[Device, ...]):
    """Several devices; a notebook shows a row for each."""

    def _repr_html_(self) -> str:
        return page.of_devices(self)


_DEVICES = Devices(_of_preset(preset) for preset in PRESETS)
_BY_NAME = {preset.name: preset for preset in _DEVICES}


@public.function
def devices() -> Devices:
    """The presets: Intel GPUs by generation, then the H200 and the H100, then the CPU device."""
    return _DEVICES


@public.function
def device(name: str | Device) -> Device:
    """The preset called `name`; a `Device` is returned as it is.

    Raises:
      KernelArgumentError: there is no such preset; the message lists them and suggests the nearest.
    """
    if isinstance(name, Device):
        return name
    if isinstance(name, str) and name in _BY_NAME:
        return _BY_NAME[name]
    names = list(_BY_NAME)
    if hasattr(name, "dtype"):
        raise KernelArgumentError(
            "the device is an array; the arrays of a launch go into a call of their own, "
            f"xe.launch(kernel, nd_range)(x), and a device is one of {', '.join(names)}, or an xe.Device"
        )
    raise KernelArgumentError(
        f"there is no device {name!r}{did_you_mean(str(name).lower(), names)}. The devices are {', '.join(names)}; "
        "an xe.Device of your own is welcome too"
    )
