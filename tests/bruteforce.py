"""What accesses cost, counted from the address of every lane: requests, bank passes, lines and sectors.

Of the documented machine alone: requests of `request_lanes` lanes; 16 banks of 4 bytes, in which lanes that load one
word share a pass and all others take turns; lines that are moved whole, and sectors where a device has them. Private
elements that lie side by side in all executions are vectors of up to 16 bytes, but of atomic operations. Where all
work-items load the same words, of a place that no work-item's id is in, a sub-group loads them, a lane each. What
lanes put into one word by an atomic operation a lane of each sub-group does for all where compilers reduce it. Loads of
what is in registers are left out (`registers`), and so are private arrays of which all elements are known.

Axis legend: L work-items of a work-group, P private elements, I instructions of sub-groups, S their lanes.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from accesses import Access, Execution, Loop, Program, doubtful, executions

import xeemu as xe
from xeemu.cost.sites import SiteReport

_TOGETHER = 64
_WIDEST_BYTES = 16
_REDUCED = ("add", "sub", "min", "max", "xor")
"""Atomic operations by which compilers put numbers together in any order, where nobody asks for the old value."""
_NAMES = re.compile(r"\b(?:lid\d|gid\d|group\d|k\d+|own|local_linear|global_linear|group_linear)\b")
"""Names of ids and counters in plain texts."""


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
    if _is_in_registers(program, access):
        return total
    for copy in {e.copy: None for e in executions}:
        own = [e for e in executions if e.copy == copy]
        width = vector_width(access, own, _shared_words(access, own, device))
        carried_out = [e for e in own if e.carried_out]
        for first in range(0, len(carried_out), _TOGETHER):
            part = carried_out[first : first + _TOGETHER]
            shared = _shared_words(access, part, device) > 1 and width > 1
            alone = part[0].scalar and not shared
            times = -(-part[0].element.shape[0] // program.sub_group_size) if alone else 1
            part = [_reduced(program, e) for e in part] if _is_reduced(program, access, part, device) else part
            for instructions in (_of_sub_groups if shared else _instructions)(program, access, part, width):
                for name, number in _counted(access, instructions, device).items():
                    total[name] += times * number
    return total


def _is_in_registers(program: Program, access: Access) -> bool:
    """True of private memory of which all elements are known once compilers have written out loops."""
    volatile = any(a.volatile for a in program.accesses if a.memory == access.memory)
    return access.space == "private" and not volatile and not _indexed(program, access) & {"id", "maybe"}


def _indexed(program: Program, access: Access) -> set[str]:
    """By what the accesses to a memory are indexed: an `id`, `maybe` a constant to some compilers, or a constant."""
    written_out = {loop.counter for loop in program.loops if _is_written_out(loop)}
    same = (a for a in program.accesses if a.memory == access.memory)
    names = {name for a in same for value in a.index for name in _NAMES.findall(value.plain)}
    return {"id" if name[0] in "lg" else "maybe" for name in names - written_out}


def _is_written_out(loop: Loop) -> bool:
    return loop.how in ("fori", "while", "unrolled") and loop.low.plain.isdigit() and loop.high.plain.isdigit()


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


def _is_reduced(program: Program, access: Access, executions: Sequence[Execution], device: xe.Device) -> bool:
    """True if compilers make one atomic update of a sub-group's; nobody asks for the old value."""
    words = _combines(program, access) and np.dtype(access.dtype) in (np.int32, np.uint32)
    return device.reduced_atomics and words and all(e.uniform for e in executions)


def _combines(program: Program, access: Access) -> bool:
    """True of an operation that may be reduced; in C it is one whose old value nobody uses, whatever it is called."""
    return access.op in _REDUCED or (program.is_opencl and access.op == "fetch_add")


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
      bounds: the least and the most that they may be, where the report has such.
      estimated: true if those of the report are estimates.
      doubtful: true if the report says that compilers may leave out other loads.
    """

    access: Access
    found: dict[str, int | None]
    counted: dict[str, int]
    bounds: tuple[Mapping[str, int], Mapping[str, int]]
    estimated: bool
    doubtful: bool

    @property
    def verdict(self) -> str:
        """`right`, `wrong`, `estimated`, or `unknown` where a figure is missing, and none is wrong.

        Where loads are doubtful it is `doubtful`, or `otherwise` where brute force leaves out others.
        """
        if self.estimated:
            return "estimated"
        if self.doubtful:
            return "doubtful" if all(map(self._holds, self.counted)) else "otherwise"
        if any(not self._holds(name) for name in self.counted):
            return "wrong"
        return "unknown" if None in self.found.values() else "right"

    def _holds(self, name: str) -> bool:
        """True if a figure is the one that was counted, or lies where the report has it between two."""
        least, most = (each.get(name, self.counted[name]) for each in self.bounds)
        return self.found[name] in (None, self.counted[name]) and least <= self.counted[name] <= most

    def __str__(self) -> str:
        differ = {name: (n, self.counted[name]) for name, n in self.found.items() if n != self.counted[name]}
        return f"{self.verdict} {self.access.label}: {differ}, reported and counted; between {self.bounds}"


def compare(program: Program, report: xe.Report) -> list[Comparison]:
    """The accesses of a program, but for those of which compilers may know that their place is a constant."""
    touched = executions(program)
    unclear = doubtful(program, touched)
    sites = {site.source.split()[-1]: site for site in report.sites}
    device = xe.device(report.device)
    return [
        _compared(program, access, touched[access.label], sites.get(access.label), device)
        for access in program.accesses
        if access.label not in unclear and not _is_unclear(program, access, touched[access.label], device)
    ]


def _is_unclear(program: Program, access: Access, touched: Sequence[Execution], device: xe.Device) -> bool:
    """True if a place or mask with a counter is the same in several iterations, which compilers may find or not.

    So is a place with ids that is the same for all work-items, as `lid0 >> 8` is, where that decides what they make.
    """
    if access.space == "private" and (_indexed(program, access) == {"maybe"} or _is_one(touched)):
        return not _is_in_registers(program, access)
    written_alike = all(e.alike for e in touched)
    if device.shared_load_words and access.private > 1 and not written_alike and all(map(_is_same_for_all, touched)):
        return True
    if device.reduced_atomics and _combines(program, access) and _is_one_for_all(touched):
        return True
    if access.op != "load" or not touched:
        return False
    whole = device.request_lanes is None or program.sub_group_size <= device.request_lanes
    # Of a place that is known to be one for all a sub-group makes one request; so too behind a mask that all meet.
    is_whole = program.is_opencl if access.mask is None else all(e.is_met for e in touched)
    if is_whole and not whole and _may_be_scalar(touched):
        return True
    names = {name for value in access.index for name in _NAMES.findall(value.plain) if name[0] == "k"}
    if any(counters for _, counters in touched[0].literals):
        return True
    if not names:
        return False
    places = {(e.group, e.element.tobytes()) for e in touched}
    if any(loop.how == "until" and loop.bound == access for loop in program.loops) and len(touched) > len(places):
        return True  # what is asked before the first iteration is known again where the loop is begun again
    if program.is_opencl and any(loop.counter in names and loop.how == "doubling" for loop in program.loops):
        return True  # one of so few iterations is written out
    if names & program.counted:  # those that write the loop out find it
        return len({(e.copy, e.group, e.turn) for e in touched}) > len(places)
    return len(touched) > len(places) == len({e.group for e in touched})


def _is_one(touched: Sequence[Execution]) -> bool:
    """True if all work-items of all groups access the same elements, whatever ids are in their places."""
    rows: dict[int, set[bytes]] = {e.group: set() for e in touched}
    for e in touched:
        rows[e.group].add(e.element[0].tobytes())
    return all(map(_is_same_for_all, touched)) and len(set(map(frozenset, rows.values()))) == 1


def _is_one_for_all(touched: Sequence[Execution]) -> bool:
    """True if all work-items access the same elements each time, which is not written so."""
    return not all(e.uniform for e in touched) and all(map(_is_same_for_all, touched))


def _may_be_scalar(touched: Sequence[Execution]) -> bool:
    """True if all work-items or none load the same element each time, which is not written so."""
    alike = all(_is_same_for_all(e) and (e.active.all() or not e.active.any()) for e in touched)
    return alike and not all(e.scalar for e in touched)


def _is_same_for_all(execution: Execution) -> bool:
    return bool((execution.element == execution.element[:1]).all())


def _compared(
    program: Program, access: Access, touched: Sequence[Execution], site: SiteReport | None, device: xe.Device
) -> Comparison:
    counted = figures(program, access, touched, device)
    if device.name == "h200":
        # Its banks have rules of their own, which are held against measurements.
        counted = {name: n for name, n in counted.items() if "passes" not in name}
    if program.is_opencl and all((e.element == e.element[0]).all() for e in touched):
        # A place that ids do not change in the end is one for all where that is known, and one lane's then.
        counted.pop("lanes")
    if site is None:  # it is left out, or in registers
        return Comparison(access, dict.fromkeys(counted, 0), counted, ({}, {}), False, False)
    found = {name: getattr(site, name) for name in counted}
    bounds = site.least or {}, site.most or {}
    return Comparison(access, found, counted, bounds, site.errors is not None, site.doubtful)
