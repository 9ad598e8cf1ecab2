"""Traffic: what a launch loads from global memory and scratch and stores there, memory by memory, and how much of it.

Caches are asked later what of it they hold (`caches`). Atomic updates are made in the L2 and are no part of it.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence, Set

from xeemu.cost import amounts, footprint, requests
from xeemu.cost.census import Census
from xeemu.cost.footprint import Footprint
from xeemu.cost.sites import SiteReport
from xeemu.devices.device import Device
from xeemu.devices.occupancy import Occupancy
from xeemu.ir import ops
from xeemu.knowledge.access_tree import AccessSite, MemoryOperation, Node
from xeemu.language.linearity import Allocation

Sites = Mapping[AccessSite, SiteReport]

_WORD_BYTES = 4


@dataclasses.dataclass(frozen=True)
class Loaded:
    """Loads of one memory.

    Attributes:
      moved_bytes: of all requests, in sectors.
      request_lines: lines of all requests, each request's counted.
      sectors: the footprint in sectors.
      bursts: the same in what DRAM moves at once.
      pages: the same in pages of DRAM; None where their size is not known.
      run_bytes: of neighbouring lines that a request asks for, so that they share the opening of a page.
      memory: its name.
      added_bytes: that a work-group adds to what its neighbours load, those that are resident with it or, if they are
        more, those before it of whom the L2 still holds what they have loaded; None if not known.
    """

    moved_bytes: float
    request_lines: float
    sectors: Footprint
    bursts: Footprint
    pages: Footprint | None
    run_bytes: float = math.inf
    memory: str = ""
    added_bytes: float | None = None


@dataclasses.dataclass(frozen=True)
class Stored:
    """Plain stores to one memory.

    Attributes:
      moved_bytes: of all requests, in sectors.
      partial_bytes: of the sectors of requests that need not fill them.
      request_lines: lines of all requests, each request's counted.
      sectors: the footprint in sectors.
      lines: the same in lines.
      gaps: share of its sectors that a work-group does not fill.
      memory: its name.
    """

    moved_bytes: float
    partial_bytes: float
    request_lines: float
    sectors: Footprint
    lines: Footprint
    gaps: float
    memory: str = ""

    @property
    def trips(self) -> float:
        """How often what is stored goes between the L2 and DRAM: it is written back; with gaps, it is fetched first."""
        return 1 + self.gaps


@dataclasses.dataclass(frozen=True)
class Scratch:
    """Private memory that is not in registers.

    Attributes:
      loaded_bytes, stored_bytes: of all requests, in sectors.
      partial_bytes: of the sectors of stores that need not fill them.
      load_lines, store_lines: of all requests, each request's counted.
      group_bytes: size of a work-group's scratch.
    """

    loaded_bytes: float
    stored_bytes: float
    partial_bytes: float
    load_lines: float
    store_lines: float
    group_bytes: float


@dataclasses.dataclass(frozen=True)
class Traffic:
    """What a launch loads and stores, memory by memory.

    Attributes:
      groups: work-groups of the launch.
      resident: work-groups that the device holds at a time.
      loads, stores: of global memory.
      scratch: None if there is none.
      other_bytes: size of what else shares the L2, such as what atomics update.
      pages_at_once: pages of DRAM that the resident groups access at a time.
    """

    groups: int
    resident: float
    loads: Sequence[Loaded]
    stores: Sequence[Stored]
    scratch: Scratch | None
    other_bytes: float
    pages_at_once: float = 0.0


@dataclasses.dataclass(frozen=True)
class Spill:
    """Values that do not fit the registers, and are stored in scratch and loaded again when they are needed.

    Attributes:
      kept_bytes: of a work-item, at a time.
      stored_bytes: of all work-items in all; as many are loaded.
    """

    kept_bytes: float = 0.0
    stored_bytes: float = 0.0

    def requests(self, taken: Census) -> float:
        """The stores, and as many loads, each of a word of as many work-items as a request has lanes."""
        geometry, lanes = taken.geometry, taken.device.request_lanes
        return self.stored_bytes / (_WORD_BYTES * min(geometry.sub_group_size, lanes or geometry.sub_group_size))


NO_SPILL = Spill()


def of_launch(
    sites: Sites, taken: Census, resident: Occupancy | None, packed: Set[AccessSite], spill: Spill
) -> Traffic | None:
    """What the launch loads and stores; None if the counts, the lines or the occupancy are not known."""
    device = taken.device
    sector = device.sector_bytes or device.line_bytes
    if sector is None or resident is None or resident.groups is None or device.xe_cores is None:
        return None
    in_flight = float(max(1, resident.groups) * device.xe_cores)
    by_load, by_store = by_memory(loading(taken)), by_memory(os for os in plain(taken) if os[0].changes)
    loads = [_loaded(each, sites, taken, sector, packed, in_flight) for each in by_load]
    stores = [_stored(each, sites, taken, sector, packed) for each in by_store]
    known_loads, known_stores = [x for x in loads if x is not None], [x for x in stores if x is not None]
    scratch = _scratch(sites, taken, spill)
    missing = len(known_loads) < len(loads) or len(known_stores) < len(stores)
    if missing or any(site.space == "private" and site.bytes_moved is None for site in sites.values()):
        return None
    others = {place.memory for place in taken.updates if place.memory.space == "global"}
    return Traffic(
        groups=taken.geometry.groups,
        resident=in_flight,
        loads=_with_neighbours(by_load, known_loads, known_stores, taken, in_flight),
        stores=known_stores,
        scratch=scratch,
        other_bytes=float(sum(memory.nbytes for memory in others)),
        pages_at_once=_pages_at_once([*by_load, *by_store], taken, in_flight),
    )


def _with_neighbours(
    operations: Sequence[Sequence[MemoryOperation]],
    loads: Sequence[Loaded],
    stores: Sequence[Stored],
    taken: Census,
    resident: float,
) -> Sequence[Loaded]:
    """The loads, with what a work-group adds to those of so many before it as the L2 holds, where these are more than
    are resident: what they have loaded is still there, though they are gone."""
    kept = taken.device.l2_kept_bytes or taken.device.l2_bytes or 0
    each = sum(load.bursts.group if load.added_bytes is None else load.added_bytes for load in loads)
    each += sum(store.sectors.group for store in stores)
    held = min(float(taken.geometry.groups), kept / each) if each else 0.0
    if held <= resident:
        return loads
    added = [footprint.of_consecutive(of, taken, int(held), _burst_bytes(taken.device)) for of in operations]
    return [dataclasses.replace(load, added_bytes=of) for load, of in zip(loads, added, strict=True)]


def _pages_at_once(operations: Sequence[Sequence[MemoryOperation]], taken: Census, resident: float) -> float:
    """Pages of DRAM that the resident groups access at a time, in the loop in which these are the most."""
    page = taken.device.dram_page_bytes
    if page is None or taken.device.dram_banks is None:
        return 0.0
    groups, pages = int(min(resident, taken.geometry.groups)), dict[Node | None, int]()
    for each in operations:
        for loop, number in footprint.at_once(each, taken, groups, page).items():
            pages[loop] = pages.get(loop, 0) + number
    return float(max(pages.values(), default=0))


def plain(taken: Census) -> list[Sequence[MemoryOperation]]:
    """The operations on global memory that are no atomic updates."""
    return [os for os in taken.operations.values() if os[0].access_site.memory.space == "global" and not os[0].updates]


def loading(taken: Census) -> list[Sequence[MemoryOperation]]:
    """Those of them that change nothing: loads, atomic ones too, and all else that moves elements to the groups."""
    return [os for os in plain(taken) if not os[0].changes]


def by_memory(operations: Iterable[Sequence[MemoryOperation]]) -> list[list[MemoryOperation]]:
    """The operations on each memory."""
    found: dict[Allocation, list[MemoryOperation]] = {}
    for each in operations:
        found.setdefault(each[0].access_site.memory, []).extend(each)
    return list(found.values())


def moved_bytes(operations: Sequence[MemoryOperation], sites: Sites) -> float | None:
    """Bytes that all requests of some operations move."""
    return amounts.total(sites[place].bytes_moved for place in dict.fromkeys(o.access_site for o in operations))


def _loaded(
    operations: Sequence[MemoryOperation],
    sites: Sites,
    taken: Census,
    sector: int,
    packed: Set[AccessSite],
    resident: float,
) -> Loaded | None:
    moved, asked = moved_bytes(operations, sites), _asked(operations, sites)
    sectors = footprint.of_memory(operations, taken, moved, sector)
    bursts = _bursts(operations, taken, moved, sectors)
    page, memory = taken.device.dram_page_bytes, operations[0].access_site.memory.name
    if moved is None or asked is None or sectors is None or bursts is None:
        return None
    pages = None if page is None else footprint.of_memory(operations, taken, asked * page, page)
    if all(o.access_site in packed for o in operations):
        sectors, bursts = (_packed(each, moved, taken) for each in (sectors, bursts))
        pages = None if pages is None else _packed(pages, moved, taken)
    resident_groups = int(min(resident, taken.geometry.groups))
    added = footprint.of_consecutive(operations, taken, resident_groups, _burst_bytes(taken.device))
    return Loaded(moved, asked, sectors, bursts, pages, _run_bytes(operations, sites, taken), memory, added)


def _stored(
    operations: Sequence[MemoryOperation], sites: Sites, taken: Census, sector: int, packed: Set[AccessSite]
) -> Stored | None:
    moved, asked, line = moved_bytes(operations, sites), _asked(operations, sites), taken.device.line_bytes
    sectors = footprint.of_memory(operations, taken, moved, sector)
    used = footprint.of_memory(operations, taken, moved, operations[0].access_site.memory.dtype.itemsize)
    if moved is None or asked is None or line is None or sectors is None or used is None:
        return None
    lines = footprint.of_memory(operations, taken, asked * line, line) or sectors
    partial = _partial(sites[place] for place in dict.fromkeys(o.access_site for o in operations))
    if all(o.access_site in packed for o in operations):
        sectors, lines = (_packed(touched, moved, taken) for touched in (sectors, lines))
        return Stored(moved, partial, asked, sectors, lines, gaps=0.0)
    gaps = float(used.group < sectors.group) if sectors.gaps is None else sectors.gaps
    return Stored(moved, partial, asked, sectors, lines, gaps, operations[0].access_site.memory.name)


def _run_bytes(operations: Sequence[MemoryOperation], sites: Sites, taken: Census) -> float:
    """Bytes of neighbouring lines that a request of some operations asks for in the mean; a line at least."""
    places = dict.fromkeys(o.access_site for o in operations)
    used = amounts.total(sites[place].bytes_used for place in places)
    each = amounts.quotient(used, amounts.total(sites[place].requests for place in places))
    return max(each or 0.0, taken.device.line_bytes or 1)


def _asked(operations: Sequence[MemoryOperation], sites: Sites) -> float | None:
    """Lines that all requests of some operations touch, each request's counted."""
    return amounts.total(sites[place].lines for place in dict.fromkeys(o.access_site for o in operations))


def _packed(touched: Footprint, moved: float, taken: Census) -> Footprint:
    """A footprint with no more bytes than are moved."""
    return Footprint(min(touched.group, moved / max(taken.geometry.groups, 1)), min(touched.launch, moved))


def group_bytes(sites: Sites, taken: Census) -> Mapping[str, float]:
    """Bytes of each global memory that a work-group loads, each counted once; of those of which that is known."""
    sector = taken.device.sector_bytes or taken.device.line_bytes
    found = {}
    loads = [os for os in loading(taken) if not os[0].traits.writes]
    for each in by_memory(loads) if sector is not None else []:
        touched = footprint.of_memory(each, taken, moved_bytes(each, sites), sector or 1)
        if touched is not None:
            found[each[0].access_site.memory.name] = touched.group
    return found


def _burst_bytes(device: Device) -> int:
    """What DRAM moves at once."""
    return device.dram_access_bytes or device.sector_bytes or device.line_bytes or 1


def _bursts(
    operations: Sequence[MemoryOperation], taken: Census, moved: float | None, sectors: Footprint | None
) -> Footprint | None:
    device = taken.device
    if device.dram_access_bytes is None:
        return sectors
    return footprint.of_memory(operations, taken, moved, device.dram_access_bytes)


def _scratch(sites: Sites, taken: Census, spill: Spill) -> Scratch | None:
    private = [site for site in sites.values() if site.space == "private"]
    if not private and not spill.stored_bytes:
        return None
    loads = [site for site in private if ops.of_access(site.op).reads]
    stores = [site for site in private if not ops.of_access(site.op).reads]
    memories = {place.memory for place in taken.access_sites if place.memory.space == "private"}
    items = requests.sub_groups(taken.geometry) * taken.geometry.sub_group_size
    spilled_lines = spill.stored_bytes / (taken.device.line_bytes or math.inf)
    return Scratch(
        loaded_bytes=sum(site.bytes_moved or 0 for site in loads) + spill.stored_bytes,
        stored_bytes=sum(site.bytes_moved or 0 for site in stores) + spill.stored_bytes,
        partial_bytes=_partial(stores),
        load_lines=sum(site.lines or 0 for site in loads) + spilled_lines,
        store_lines=sum(site.lines or 0 for site in stores) + spilled_lines,
        group_bytes=items * (sum(memory.nbytes for memory in memories) + spill.kept_bytes),
    )


def _partial(stores: Iterable[SiteReport]) -> float:
    """Bytes of the sectors that requests of stores need not fill."""
    return float(sum(site.bytes_moved or 0 for site in stores if (site.bytes_used or 0) < (site.bytes_moved or 0)))
