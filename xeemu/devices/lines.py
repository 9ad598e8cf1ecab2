"""Global memory: the lines and sectors that one access of a sub-group touches.

Axis legend: `...` any leading axes, R hardware requests of one sub-group instruction, S lanes of a request.

Where a device leaves a figure open (`None`), the documented model is used: a line is moved whole
(`sector_bytes`), and one line is looked up per pass (`tag_bank_masks`).
"""

import functools
import operator
from typing import NamedTuple

import numpy as np

from xeemu.devices import lanes
from xeemu.devices.device import Device
from xeemu.devices.lanes import Array
from xeemu.errors import KernelArgumentError


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
      atomic: whether it is an atomic.

    Raises:
      KernelArgumentError: the device's lines are not known, or the alignment divides neither the width nor a sector.
    """
    alignment = width if alignment is None else alignment
    line_bytes, sector_bytes = _sizes(device, width, alignment)
    address, active = lanes.requests(addresses, active, device.request_lanes)
    address, active = _elements(address, active, width, alignment)
    if not atomic and device.tag_bank_masks is None:
        return _merged(address, active, line_bytes, sector_bytes, alignment)
    word, sector, line = address // alignment, address // sector_bytes, address // line_bytes
    # Lanes on one word of an atomic take turns; those of one turn merge as the lanes of a load do.
    turn = (lanes.rank(active, word),) if atomic else ()
    looked_up = lanes.first(active, line, *turn)
    by_request = looked_up.sum(-1, dtype=np.int32)
    requests, lines = (by_request > 0).sum(-1, dtype=np.int32), by_request.sum(-1, dtype=np.int32)
    sectors = lines if sector_bytes == line_bytes else _count(lanes.first(active, sector, *turn))
    tag_passes = _tag_passes(looked_up, line, turn, device) if device.tag_bank_masks else lines
    used = alignment * _count(lanes.first(active, word))
    return LineCounts(requests, lines, sectors, tag_passes, used, sector_bytes * sectors)


def _merged(address: Array, active: Array, line_bytes: int, sector_bytes: int, alignment: int) -> LineCounts:
    """The counts of lanes that merge, where one line is looked up at a time."""
    sizes = (line_bytes, alignment) if sector_bytes == line_bytes else (line_bytes, alignment, sector_bytes)
    by_request, *others = lanes.different(active, address, *sizes)
    requests = _added((by_request > 0).astype(np.int32))
    lines, words, *apart = map(_added, (by_request, *others))
    (sectors,) = apart or (lines,)
    return LineCounts(requests, lines, sectors, lines, alignment * words, sector_bytes * sectors)


def _added(each: Array) -> Array:
    """Numbers `[..., R]` added up. They are few, and XLA fuses additions with what follows, but no sums."""
    return functools.reduce(operator.add, [each[..., r] for r in range(each.shape[-1])])


def _sizes(device: Device, width: int, alignment: int) -> tuple[int, int]:
    if device.line_bytes is None:
        raise KernelArgumentError(f"the lines of {device.name} are not known; give line_bytes with dataclasses.replace")
    sector = device.sector_bytes or device.line_bytes
    if alignment < 1 or width % alignment or sector % alignment:
        raise KernelArgumentError(
            f"an access of {width} bytes at multiples of {alignment} does not fit sectors of {sector} bytes; give an "
            "alignment that divides both"
        )
    return device.line_bytes, sector


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
    """Marks `[..., R, S]` counted over requests and lanes."""
    return marked.sum((-2, -1), dtype=np.int32)


def _tag_passes(looked_up: Array, line: Array, turn: tuple[Array, ...], device: Device) -> Array:
    """Most lines looked up in one tag bank, summed over the turns and requests."""
    assert device.tag_bank_masks is not None
    xp = lanes.namespace(looked_up, line)
    bank = sum(
        (xp.bitwise_count(line & mask).astype(np.int32) & 1) << bit for bit, mask in enumerate(device.tag_bank_masks)
    )
    banks = 1 << len(device.tag_bank_masks)
    if not turn:
        return lanes.sharing(looked_up, bank, banks).max(-1).sum(-1, dtype=np.int32)
    size = line.shape[-1]
    count = lanes.sharing(looked_up, bank + banks * turn[0], banks * size).astype(np.int32)
    return xp.where(_leads(count, turn[0]), count, 0).sum((-2, -1), dtype=np.int32)


def _leads(count: Array, turn: Array) -> Array:
    """Marks, for each turn, the one lane `[..., S]` with its greatest count."""
    xp = lanes.namespace(count, turn)
    size = count.shape[-1]
    score = count * np.int32(size) + xp.arange(size, dtype=np.int32)
    beaten = count == 0
    for j in range(size):
        beaten = beaten | ((turn == turn[..., j : j + 1]) & (score < score[..., j : j + 1]))
    return ~beaten
