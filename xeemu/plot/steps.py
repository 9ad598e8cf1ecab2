"""Steps: the occupancy of an Xe core by the local memory of a work-group."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xeemu.devices.device import Device
from xeemu.devices.lookup import device as find_device
from xeemu.devices.occupancy import Occupancy
from xeemu.devices.occupancy import occupancy as calculate
from xeemu.errors import Error
from xeemu.language import public
from xeemu.plot import drawing
from xeemu.plurals import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@public.known_as("plot.occupancy")
def occupancy(
    device: str | Device,
    local_size: int | Sequence[int],
    slm_bytes: int | None = None,
    sub_group_size: int | None = None,
    registers: int | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """The occupancy of an Xe core by the local memory of a work-group: the steps that a little less would climb.

    Args:
      device: a name or a device.
      local_size: work-items of a work-group, per dimension.
      slm_bytes: local memory of a work-group of a kernel at hand, which is marked.
      sub_group_size: default: the device's.
      registers: 32-bit registers of a work-item, as in `xeemu.occupancy`.
      ax: where to draw.
    """
    model = find_device(device)
    ax = ax or drawing.new_axes(7, 3.5)

    def at(bytes_: int) -> Occupancy:
        return calculate(model, local_size, bytes_, registers, sub_group_size)

    sizes = np.arange(0, model.local_mem_size + 1, max(1, model.local_mem_size // 512))
    found = [at(int(size)) for size in sizes]
    if any(o.fraction is None for o in found):
        raise Error(f"the occupancy of {model.name} is not known, as figures of its Xe cores are not public")
    ax.step(sizes / 1024, [100 * (o.fraction or 0) for o in found], where="post")
    if slm_bytes is not None:
        _mark(ax, at(slm_bytes), slm_bytes, slm_bytes > 0.55 * model.local_mem_size)
    ax.set_xlabel("local memory of a work-group (KiB)")
    ax.set_ylabel("hardware threads in use (%)")
    ax.set_ylim(0, 112)
    ax.set_title(f"{model.name}, {counted(int(np.prod(local_size)), 'work-item')} a group", fontsize="medium")
    ax.grid(alpha=0.3)
    return ax


def _mark(ax: "Axes", here: Occupancy, slm_bytes: int, to_the_left: bool) -> None:
    """Marks an occupancy, with what limits it beside the mark."""
    place = (slm_bytes / 1024, 100 * (here.fraction or 0))
    ax.plot(*([x] for x in place), "o")
    style: dict[str, Any] = {"xytext": (-6 if to_the_left else 6, 5), "textcoords": "offset points"}
    style["ha"] = "right" if to_the_left else "left"
    ax.annotate(f"{counted(here.groups or 0, 'group')}, limited by {here.limiter}", place, **style)
