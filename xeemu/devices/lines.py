"""Global memory: the lines and sectors that one access of a sub-group touches.

Axis legend: `...` any leading axes, R hardware requests of one sub-group instruction, S lanes of a request.

Where a device leaves a figure open (`None`), the documented model is used: a line is moved whole
(`sector_bytes`), and one line is looked up per pass (`tag_bank_masks`).
"""

from typing import NamedTuple

import numpy as np

from xeemu.devices import lanes
from xeemu.devices.device import Device
from xeemu.devices.lanes import Array
from xeemu.errors import KernelArgumentError

# Of devices whose lines are not known only the bytes that lanes use are asked for, for which lines of any size will do.
_ANY_LINE_BYTES = 64


class LineCounts(NamedTuple):
    """What accesses to global memory touch, int32 `[...]` each, summed over the hardware requests of a sub-group.

    Attributes:
      requests: hardware requests with an active lane.
      lines: cache lines looked up. An atomic looks a line up once for each lane that shares its most wanted word.
      sectors: sectors moved; of an atomic, those sent, one sector again for each lane that shares its most wanted word.
      tag_passes: serial look-ups of lines.
      bytes_used: different bytes that the lanes access.
      bytes_moved: `sectors` in bytes.
    """

    requests: Array
    lines: Array
    sectors: Array
    tag_passes: Array
    bytes_used: Array
    bytes_moved: Array


def line_counts(
    addresses: Array,
    active: Array,
    device: Device,
    *,
    width: int = 4,
    alignment: int | None = None,
    atomic: bool = False,
) -> LineCounts:
    """The lines, sectors and bytes of one access of sub-groups.

    Exact on everything measured on an H200, but for the lines of atomics to scattered addresses: 2 patterns of 48
    look one line up again.

    Args:
      addresses: first byte of each lane's access, integers `[..., lanes]`, at least 0.
      active: the lanes that take part, booleans that broadcast against `addresses`.
      device: the modelled device.
      width: bytes per lane.
      alignment: what every address is a multiple of, a divisor of `width`; default `width`. A smaller one, such as the
        element's size of a vector access, costs as many times the work.
      atomic: true if it is an atomic.

    Raises:
      KernelArgumentError: the device's lines are not known, or the alignment divides neither the width nor a sector.
    """
    if device.line_bytes is None:
        raise KernelArgumentError(f"the lines of {device.name} are not known; give line_bytes with dataclasses.replace")
    by_request = request_counts(addresses, active, device, width=width, alignment=alignment, atomic=atomic)
    return LineCounts(*(part.sum(-1, dtype=np.int32) for part in by_request))


def request_counts(
    addresses: Array,
    active: Array,
    device: Device,
    *,
    width: int = 4,
    alignment: int | None = None,
    atomic: bool = False,
    tags: bool = True,
) -> LineCounts:
    """Lines, sectors and bytes of each hardware request by itself: int32 `[..., R]`.

    Args:
      addresses, active, device, width, alignment, atomic: as of `line_counts`; if the device's lines are not known,
        its lines and sectors are made up.
      tags: false if the passes of tags are not asked for, which take most of the time; then they are the lines.
    """
    alignment = width if alignment is None else alignment
    line_bytes, sector_bytes = _sizes(device, width, alignment)
    address, active = lanes.requests(addresses, active, device.request_lanes)
    address, active = _elements(address, active, width, alignment)
    if device.tag_bank_masks is None or not tags:
        return _by_line(address, active, line_bytes, sector_bytes, alignment, atomic)
    word, sector, line = (lanes.part(address, size) for size in (alignment, sector_bytes, line_bytes))
    # Lanes on one word of an atomic take turns; those of one turn merge as the lanes of a load do.
    turn = (lanes.rank(active, word),) if atomic else ()
    looked_up = lanes.first(active, line, *turn)
    lines, words = _count(looked_up), _count(lanes.first(active, word))
    sectors = lines if sector_bytes == line_bytes else _count(lanes.first(active, sector, *turn))
    tag_passes = _tag_passes(looked_up, line, turn, device)
    return _counts(lines, sectors, tag_passes, alignment * words, sector_bytes)


def _by_line(
    address: Array, active: Array, line_bytes: int, sector_bytes: int, alignment: int, atomic: bool
) -> LineCounts:
    """The counts where one line is looked up at a time."""
    (words,) = lanes.different(active, address, alignment)
    sizes = (line_bytes,) if sector_bytes == line_bytes else (line_bytes, sector_bytes)
    lines, *apart = (lanes.turns if atomic else lanes.different)(active, address, *sizes)
    return _counts(lines, apart[0] if apart else lines, lines, alignment * words, sector_bytes)


def _counts(lines: Array, sectors: Array, tag_passes: Array, used: Array, sector_bytes: int) -> LineCounts:
    return LineCounts((lines > 0).astype(np.int32), lines, sectors, tag_passes, used, sector_bytes * sectors)


def _sizes(device: Device, width: int, alignment: int) -> tuple[int, int]:
    line = device.line_bytes or _ANY_LINE_BYTES
    sector = device.sector_bytes or line
    if alignment < 1 or width % alignment or sector % alignment:
        raise KernelArgumentError(
            f"an access of {width} bytes at multiples of {alignment} does not fit sectors of {sector} bytes; give an "
            "alignment that divides both"
        )
    return line, sector


def _elements(addresses: Array, active: Array, width: int, alignment: int) -> tuple[Array, Array]:
    """The aligned parts of each lane's access, as lanes of their own."""
    parts = width // alignment
    if parts == 1:
        return addresses, active
    xp = lanes.namespace(addresses, active)
    steps = xp.arange(0, width, alignment).astype(addresses.dtype)
    shape = (*addresses.shape[:-1], -1)
    return (addresses[..., None] + steps).reshape(shape), xp.repeat(active, parts, axis=-1)


def _count(marked: Array) -> Array:
    """Marks `[..., R, S]` counted over lanes."""
    return marked.sum(-1, dtype=np.int32)


def _tag_passes(looked_up: Array, line: Array, turn: tuple[Array, ...], device: Device) -> Array:
    """Most lines looked up in one tag bank, summed over the turns: `[..., R]`."""
    assert device.tag_bank_masks is not None
    xp = lanes.namespace(looked_up, line)
    bank = sum(
        (xp.bitwise_count(line & mask).astype(np.int32) & 1) << bit for bit, mask in enumerate(device.tag_bank_masks)
    )
    banks = 1 << len(device.tag_bank_masks)
    if not turn:
        return lanes.sharing(looked_up, bank, banks).max(-1).astype(np.int32)
    size = line.shape[-1]
    count = lanes.sharing(looked_up, bank + banks * turn[0], banks * size).astype(np.int32)
    return xp.where(_leads(count, turn[0]), count, 0).sum(-1, dtype=np.int32)


def _leads(count: Array, turn: Array) -> Array:
    """Marks, for each turn, the one lane `[..., S]` with its greatest count."""
    xp = lanes.namespace(count, turn)
    size = count.shape[-1]
    score = count * np.int32(size) + xp.arange(size, dtype=np.int32)
    beaten = count == 0
    for j in range(size):
        beaten = beaten | ((turn == turn[..., j : j + 1]) & (score < score[..., j : j + 1]))
    return ~beaten
