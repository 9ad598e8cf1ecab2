"""What accesses cost, counted from the address of every lane: requests, bank passes, lines and sectors.

Of the documented machine alone: requests of `request_lanes` lanes; 16 banks of 4 bytes, in which lanes that load one
word share a pass and all others take turns; lines that are moved whole, and sectors where a device has them. Private
elements that lie side by side in all executions are vectors of up to 16 bytes, but of atomic operations. Where all
work-items load the same words, of a place that no work-item's id is in, a sub-group loads them, a lane each. What
lanes put into one word by an atomic operation a lane of each sub-group does for all where compilers reduce it.

Axis legend: L work-items of a work-group, P private elements, I instructions of sub-groups, S their lanes.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from accesses import Access, Execution, Program, executions

import xeemu as xe
from xeemu.cost.sites import SiteReport

_TOGETHER = 64
_WIDEST_BYTES = 16


@dataclasses.dataclass(frozen=True, eq=False)
class Instructions:
    """Instructions of one width.

    Attributes:
      address: int64 `[I, S]` first byte of each lane.
      active: `[I, S]` which lanes take part.
      width_bytes: of each lane.
    """

    address: np.ndarray
    active: np.ndarray
    width_bytes: int


def figures(program: Program, access: Access, executions: Sequence[Execution], device: xe.Device) -> dict[str, int]:
    """The figures of an access by their names in a report; of one that is not executed all are 0."""
    names = ["requests", "lanes", "bytes_used"]
    names += ["passes", "ideal_passes"] if access.space == "local" else ["lines", "sectors"]
    total = dict.fromkeys(names, 0)
    for copy in {e.copy: None for e in executions}:
        own = [e for e in executions if e.copy == copy]
        width = vector_width(access, own, _shared_words(access, own, device))
        for first in range(0, len(own), _TOGETHER):
            part = own[first : first + _TOGETHER]
            times = -(-part[0].element.shape[0] // program.sub_group_size) if part[0].scalar else 1
            shared = _shared_words(access, part, device) > 1 and width > 1
            part = [_reduced(program, e) for e in part] if _is_reduced(access, part, device) else part
            for instructions in (_of_sub_groups if shared else _instructions)(program, access, part, width):
                for name, number in _counted(access, instructions, device).items():
                    total[name] += times * number
    return total


def vector_width(access: Access, executions: Sequence[Execution], shared_words: int = 1) -> int:
    """How many elements of a work-item lie side by side in all executions and work-items."""
    itemsize = np.dtype(access.dtype).itemsize
    if access.space == "private" or access.kind == "atomic":
        return 1
    width = max(1, _WIDEST_BYTES // itemsize, shared_words)
    while width > 1 and not (access.private % width == 0 and all(_side_by_side(e, width) for e in executions)):
        width //= 2
    return width


def _shared_words(access: Access, executions: Sequence[Execution], device: xe.Device) -> int:
    """Words that a request loads for a whole sub-group; 1 where it does not."""
    words = access.space != "private" and access.op == "load" and np.dtype(access.dtype).itemsize == 4
    alike = access.mask is None and all(e.alike for e in executions)
    return device.shared_load_words or 1 if words and alike else 1


def _is_reduced(access: Access, executions: Sequence[Execution], device: xe.Device) -> bool:
    """True if compilers make one atomic update of a sub-group's; nobody asks for the old value."""
    words = access.kind == "atomic" and np.dtype(access.dtype) in (np.int32, np.uint32)
    return device.reduced_atomics and words and all(e.uniform for e in executions)


def _reduced(program: Program, execution: Execution) -> Execution:
    """The first lane of each sub-group that takes part, for all of them."""
    size, active = program.sub_group_size, execution.active
    rows = np.pad(active, [(0, -len(active) % size), (0, 0)]).reshape(-1, size, active.shape[1])
    first = rows & (rows.cumsum(1) == 1)
    return dataclasses.replace(execution, active=first.reshape(-1, active.shape[1])[: len(active)])


def _of_sub_groups(
    program: Program, access: Access, executions: Sequence[Execution], width: int
) -> Iterator[Instructions]:
    """Loads by a sub-group, whose lanes have an element each, those of its first work-item."""
    element, active = (
        np.stack(part)[:, :: program.sub_group_size].reshape(-1, width)
        for part in ([e.element for e in executions], [e.active for e in executions])
    )
    yield Instructions(element * 4, active, 4)


def _side_by_side(execution: Execution, width: int) -> bool:
    return bool((np.diff(execution.element.reshape(-1, width)) == 1).all())


def _instructions(
    program: Program, access: Access, executions: Sequence[Execution], width: int
) -> Iterator[Instructions]:
    """Sub-groups access vectors if each of their lanes has a whole one, at a multiple of its size, or none."""
    size, itemsize = program.sub_group_size, np.dtype(access.dtype).itemsize
    element = np.stack([e.element for e in executions])
    active = np.stack([e.active for e in executions])
    if access.space == "private":
        lane = np.arange(element.shape[1])[:, None]
        copies = int(np.prod(access.shape)) * size
        element = lane // size * copies + element * size + lane % size
    if executions[0].scalar:
        element, active = element[:, :1], active[:, :1]
    missing = -element.shape[1] % size
    element, active = (np.pad(a, [(0, 0), (0, missing), (0, 0)]) for a in (element, active))
    split = (-1, size, element.shape[2] // width, width)
    element, active = (a.reshape(split).swapaxes(1, 2).reshape(-1, size, width) for a in (element, active))
    whole = active.all(-1) & (element[..., 0] % width == 0)
    vectors = (whole | ~active.any(-1)).all(-1)
    yield Instructions(element[vectors, :, 0] * itemsize, active[vectors, :, 0], width * itemsize)
    for k in range(width):
        yield Instructions(element[~vectors, :, k] * itemsize, active[~vectors, :, k], itemsize)


def _counted(access: Access, instructions: Instructions, device: xe.Device) -> dict[str, int]:
    lanes = min(device.request_lanes or instructions.address.shape[1], instructions.address.shape[1])
    address, active = (a.reshape(-1, lanes) for a in (instructions.address, instructions.active))
    request = np.broadcast_to(np.arange(len(address))[:, None], address.shape)[active]
    address, width = address[active], instructions.width_bytes
    itemsize = np.dtype(access.dtype).itemsize
    requests = len(np.unique(request))
    distinct = _pairs(request, address)
    counted = {
        "requests": requests,
        "lanes": len(address) * (width // itemsize),
        "bytes_used": len(distinct) * width,
    }
    if access.space == "local":
        components = max(1, width // 4)
        return counted | {
            "passes": components * _passes(access, request, address),
            "ideal_passes": components * requests,
        }
    line, sector = device.line_bytes, device.sector_bytes or device.line_bytes
    assert line is not None
    assert sector is not None
    touch = _turns if access.kind == "atomic" else lambda r, a, unit, _: len(_pairs(r, a // unit))
    return counted | {
        "lines": touch(request, address, line, itemsize),
        "sectors": touch(request, address, sector, itemsize),
    }


def _pairs(request: np.ndarray, number: np.ndarray) -> np.ndarray:
    """`[k, 2]` different pairs of a request and a number."""
    return np.unique(np.stack([request, number], -1), axis=0) if len(request) else np.zeros((0, 2), np.int64)


def _passes(access: Access, request: np.ndarray, address: np.ndarray) -> int:
    """Over the requests, the most lanes, or for a load words, in one bank."""
    words = np.stack([request, address // 4], -1)
    words = _pairs(*words.T) if access.op == "load" else words
    return _most(words[:, 0], words[:, 0] * 16 + words[:, 1] % 16)


def _turns(request: np.ndarray, address: np.ndarray, unit: int, itemsize: int) -> int:
    """Over the requests and their lines or sectors, the most lanes on one word."""
    piece = np.unique(np.stack([request, address // unit], -1), axis=0, return_inverse=True)[1].reshape(-1)
    return _most(piece, piece * (unit // itemsize) + address % unit // itemsize)


def _most(whole: np.ndarray, part: np.ndarray) -> int:
    """The sum over wholes of how often their most frequent part occurs."""
    parts, index, counts = np.unique(part, return_index=True, return_counts=True)
    if not len(parts):
        return 0
    most = np.zeros(int(whole.max()) + 1, np.int64)
    np.maximum.at(most, whole[index], counts)
    return int(most.sum())


# --- Held against a report ---

DEVICES = ("max1550", "h200")


@dataclasses.dataclass(frozen=True)
class Comparison:
    """An access, as a report and as the brute force has it.

    Attributes:
      access: the access.
      found: the figures of the report; None where it does not know one.
      counted: those of the brute force.
      estimated: true if those of the report are estimates.
    """

    access: Access
    found: dict[str, int | None]
    counted: dict[str, int]
    estimated: bool

    @property
    def verdict(self) -> str:
        """`right`, `wrong`, `estimated`, or `unknown` where a figure is missing, and none is wrong."""
        if self.estimated:
            return "estimated"
        if any(number not in (None, self.counted[name]) for name, number in self.found.items()):
            return "wrong"
        return "unknown" if None in self.found.values() else "right"

    def __str__(self) -> str:
        differ = {name: (n, self.counted[name]) for name, n in self.found.items() if n != self.counted[name]}
        return f"{self.verdict} {self.access.memory}: {differ}, reported and counted"


def compare(program: Program, report: xe.Report) -> list[Comparison]:
    """The accesses of a program that the report knows of as accesses; private memory may be in registers."""
    touched = executions(program)
    sites = {site.memory: site for site in report.sites}
    return [
        _compared(program, access, touched[access.memory], sites[access.memory], xe.device(report.device))
        for access in program.accesses
        if access.memory in sites
    ]


def _compared(
    program: Program, access: Access, touched: Sequence[Execution], site: SiteReport, device: xe.Device
) -> Comparison:
    counted = figures(program, access, touched, device)
    if device.name == "h200":
        # Its banks have rules of their own, which are held against measurements.
        counted = {name: n for name, n in counted.items() if "passes" not in name}
    found = {name: getattr(site, name) for name in counted}
    return Comparison(access, found, counted, site.errors is not None)
