"""Page: devices and occupancies as tables for a notebook."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xeemu.devices import description
from xeemu.pages import notebook
from xeemu.pages.notebook import Columns

if TYPE_CHECKING:
    from xeemu.devices.device import Device
    from xeemu.devices.occupancy import Occupancy


def of_devices(devices: "Sequence[Device]") -> str:
    """A row for each device; as text where Jinja is not installed."""
    rows = description.overview(devices)
    text = "\n".join("  ".join(row) for row in rows)
    return notebook.tables("Devices", (Columns(description.HEADS, rows, text=2),), text)


def of_device(device: "Device") -> str:
    """Every figure with its source; as text where Jinja is not installed."""
    rows = description.figures(device)
    meanings = "; ".join(f"[{letter}] {meaning}" for letter, meaning in description.CONFIDENCES.items())
    parts = (Columns(("figure", "value", "source"), rows, text=3), meanings)
    text = "\n".join("  ".join(row) for row in rows)
    return notebook.tables(device.name, parts, text, f"{device.full_name}, {device.architecture}")


def of_occupancy(found: "Occupancy") -> str:
    """Each figure behind its label; as text where Jinja is not installed."""
    rows = description.of_occupancy(found)
    text = "\n".join(f"{label}: {value}" for label, value in rows)
    return notebook.tables("Occupancy", (Columns(("", ""), rows, text=2),), text)
