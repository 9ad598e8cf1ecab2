"""Description: devices and occupancies in words, as the command line and notebooks show them."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from xeemu.plurals import counted

if TYPE_CHECKING:
    from xeemu.devices.device import Device
    from xeemu.devices.occupancy import Occupancy

HEADS = ("name", "device", "sub-groups", "work-group", "local")
"""Of the columns of `overview`."""

CONFIDENCES: Mapping[str, str] = {
    "H": "a vendor's own table or a raw measurement",
    "M": "a third party's measurement",
    "L": "recalled or contradicted elsewhere",
    "D": "derived from others",
    "C": "chosen",
}
"""What the letter in brackets behind a source says."""

_IDENTITY = ("name", "full_name", "architecture", "sources")


def overview(devices: "Iterable[Device]") -> list[tuple[str, ...]]:
    """For each device its name, what it is, sub-group sizes, the largest work-group, local memory of a work-group."""
    return [
        (
            device.name,
            device.full_name,
            " ".join(map(str, device.sub_group_sizes)),
            str(device.max_work_group_size),
            f"{device.in_environment().local_mem_size // 1024} KiB",
        )
        for device in devices
    ]


def figures(device: "Device") -> list[tuple[str, str, str]]:
    """Every figure of a device: its name, its value, and its source, empty where none is known."""
    names = [field.name for field in dataclasses.fields(device) if field.name not in _IDENTITY]
    return [(name, figure(getattr(device, name)), device.source(name) or "") for name in names]


def figure(value: object) -> str:
    """A figure of a device as words; `?` where none is known."""
    if value is None:
        return "?"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def of_occupancy(found: "Occupancy") -> list[tuple[str, str]]:
    """An occupancy, each figure behind its label."""
    waves = [] if found.waves is None else [("waves", f"{found.waves:.4g}, on average {share(found.average)}")]
    return [
        ("occupancy", share(found.fraction)),
        ("resident groups", figure(found.groups)),
        ("limiter", figure(found.limiter)),
        *waves,
        ("threads", f"{found.threads_per_group} of a work-group, {counted(found.sub_group_size, 'work-item')} each"),
        ("local memory", f"{found.slm_bytes} bytes of a work-group as the device allocates it"),
        *((f"by {name}", f"{counted(groups, 'work-group')} per Xe core") for name, groups in found.constraints.items()),
        ("next step", found.next_step),
    ]


def share(value: float | None) -> str:
    """A share, 0 to 1, in percent."""
    return "?" if value is None else f"{100 * value:.4g} %"
