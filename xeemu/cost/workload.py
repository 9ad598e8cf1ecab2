"""Workload: what a launch does in all, for the time model, from its census and the counts of its sites."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence, Set

import jax.numpy as jnp

from xeemu.cost import amounts, caches, footprint, instructions, latency, phases, requests, waiting, windows
from xeemu.cost.caches import Loaded, Misses, Scratch, Stored, Traffic
from xeemu.cost.census import Census
from xeemu.cost.footprint import Footprint
from xeemu.cost.sites import AtomicTotals, SiteReport
from xeemu.cost.work import Wait, Work
from xeemu.devices.device import Device
from xeemu.devices.occupancy import Occupancy
from xeemu.knowledge.access_tree import AccessSite, Operation
from xeemu.language.linearity import Allocation

Sites = Mapping[AccessSite, SiteReport]

_LOADS = ("load", "atomic")
_WORD_BYTES = 4


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Executed:
    """What a launch executes, all its work-groups together.

    Attributes:
      instructions: of sub-groups, by class; None if they are not known.
      chain: those that wait for the one before, without requests to memory; None if they are not known.
      barriers: of work-groups.
      exchanges: requests to local memory of group algorithms; half of them are loads, and each takes one pass.
      masked: by place, accesses that sub-groups issue though none of their lanes takes part (see module `masked`).
      atomics: totals of atomic operations.
    """

    instructions: Mapping[str, float] | None
    chain: float | None
    barriers: int | None
    exchanges: int | None
    masked: Mapping[AccessSite, float]
    atomics: AtomicTotals


def of_launch(
    sites: Sites,
    executed: Executed,
    taken: Census,
    resident: Occupancy | None,
    packed: Set[AccessSite] = frozenset(),
    spill: Spill = Spill(),
) -> Work | None:
    """The work of a launch; None if it has no work-groups.

    Args:
      sites: its memory operations.
      executed: what else it does.
      taken: its census.
      resident: its occupancy.
      packed: operations of which is taken that they touch no bytes but those that they use.
      spill: what does not fit the registers.
    """
    geometry, updates, atomics = taken.geometry, taken.updates, executed.atomics
    if not geometry.groups:
        return None
    local = {place: site for place, site in sites.items() if site.space == "local"}
    remote = {place: site for place, site in sites.items() if site.space != "local"}
    atomic = [place.memory.dtype for place in updates if place.memory.space == "global"]
    traffic = _traffic(sites, taken, resident, packed, spill)
    missed = _missed(traffic, taken)
    repeated = windows.of_launch(sites, taken, missed if taken.device.tag_bank_masks else {})
    work = Work(
        groups=geometry.groups,
        sub_groups=geometry.groups * requests.sub_groups(geometry),
        sub_group_size=geometry.sub_group_size,
        instructions=executed.instructions,
        dependent_instructions=executed.chain,
        local_passes=amounts.total(site.passes for site in local.values()),
        masked_requests=sum(number for place, number in executed.masked.items() if place in local),
        global_requests=amounts.total(site.requests for site in remote.values()),
        bytes_moved=amounts.total(site.bytes_moved for place, site in remote.items() if place not in updates),
        l1_passes=_l1_passes(remote, taken),
        divided_requests=repeated.served,
        repeated_requests=repeated.looked_up,
        l2_bytes=None if traffic is None else caches.past_l1(traffic, taken.device),
        dram_bytes=None if traffic is None else caches.past_l2(traffic, taken.device),
        **_by_line(traffic, taken.device),  # type: ignore[arg-type]
        atomic_lanes=atomics.global_operations,
        atomic_sends=atomics.global_sectors,
        atomic_contention=atomics.contention,
        atomic_bytes=max((dtype.itemsize for dtype in atomic), default=4),
        atomic_floats=any(bool(jnp.issubdtype(dtype, jnp.floating)) for dtype in atomic),
        atomic_places=_updated_places(sites, taken, resident),
        reused=() if traffic is None else caches.reused(traffic),
        scattered=_scattered(taken),
        l2_held_bytes=0.0 if traffic is None else caches.held(traffic, taken.device),
        barriers=executed.barriers,
        waits=waiting.of_launch(sites, taken, missed),
    )
    work = _exchanging(_spilling(work, spill, traffic, taken), executed.exchanges)
    waits = latency.waits(work, taken.device) or ()
    return dataclasses.replace(work, phases=phases.of_launch(sites, taken, waits))


def _spilling(work: Work, spill: Spill, traffic: Traffic | None, taken: Census) -> Work:
    """The work with the requests of what is spilled, which goes to scratch."""
    if not spill.stored_bytes:
        return work
    asked = spill.requests(taken)
    scratch = traffic and traffic.scratch
    missed = caches.scratch_misses(scratch, traffic, taken.device) if traffic and scratch else None
    loads = Wait(
        requests=asked,
        rounds=asked / instructions.UNROLLED,
        past_l1=missed and missed.past_l1,
        past_l2=missed and missed.past_l2,
    )
    classes = work.instructions
    return dataclasses.replace(
        work,
        instructions=classes and {**classes, "memory": classes.get("memory", 0) + 2 * asked},
        global_requests=amounts.total((work.global_requests, 2 * asked)),
        bytes_moved=amounts.total((work.bytes_moved, 2 * spill.stored_bytes)),
        l1_passes=amounts.total((work.l1_passes, 2 * asked)),
        waits=None if work.waits is None else (*work.waits, loads),
    )


def _exchanging(work: Work, exchanges: int | None) -> Work:
    """The work with what group algorithms exchange through local memory."""
    if not exchanges:
        return work
    loads = Wait(requests=exchanges / 2, rounds=exchanges / 2, is_local=True)
    waits = None if work.waits is None else (*work.waits, loads)
    return dataclasses.replace(work, local_passes=amounts.total((work.local_passes, exchanges)), waits=waits)


def _by_line(traffic: Traffic | None, device: Device) -> dict[str, float | None]:
    """What requests ask the L2 and DRAM for, counted in lines and sectors."""
    names = ("store_bytes", "load_lines", "store_lines", "store_sectors", "partial_store_sectors", "store_places")
    sector = device.sector_bytes or device.line_bytes
    if traffic is None or sector is None:
        return dict.fromkeys((*names, "dram_pages"))
    return {
        "store_bytes": caches.stored(traffic),
        "load_lines": caches.lines_past_l1(traffic, device),
        "store_lines": caches.store_lines(traffic),
        "store_sectors": caches.stored(traffic) / sector,
        "partial_store_sectors": caches.partly_stored(traffic) / sector,
        "store_places": caches.stored_at_a_time(traffic) / sector,
        "dram_pages": caches.opened_pages(traffic, device),
    }


def _scattered(taken: Census) -> tuple[str, ...]:
    """The memories of whose stores and updates it depends on data where they go, if the L2's slices are modelled."""
    if taken.device.atomic_slice_bytes is None and taken.device.store_sectors_per_cycle is None:
        return ()
    every = (o for os in taken.operations.values() for o in os if o.place.memory.space == "global" and o.name != "load")
    return tuple(dict.fromkeys(o.place.memory.name for o in every if not o.linear_index.known))


def _updated_places(sites: Sites, taken: Census, resident: Occupancy | None) -> float | None:
    """Pieces of memory, each of one slice of the L2, that the resident groups update at a time."""
    device = taken.device
    if device.atomic_slice_bytes is None:
        return 1.0
    if resident is None or resident.groups is None or device.xe_cores is None:
        return None
    updates = [os for os in taken.operations.values() if os[0].place.memory.space == "global" and os[0].updates]
    places = 0.0
    for each in _by_memory(updates, "atomic"):
        moved = _moved(each, sites)
        pieces = footprint.of_memory(each, taken, moved, device.atomic_slice_bytes)
        words = footprint.of_memory(each, taken, moved, each[0].place.memory.dtype.itemsize)
        if pieces is None or words is None:
            return None
        in_flight = min(taken.geometry.groups, max(1, resident.groups) * device.xe_cores) * words.group
        share = min(1.0, in_flight / words.launch) if words.launch else 1.0
        places += share * pieces.launch / device.atomic_slice_bytes
    return max(1.0, places)


def _l1_passes(remote: Sites, taken: Census) -> float | None:
    """Passes of the L1, where its tags are known and all accesses are."""
    return None if taken.device.tag_bank_masks is None else amounts.total(site.l1_passes for site in remote.values())


# --- Traffic ---


def _traffic(
    sites: Sites, taken: Census, resident: Occupancy | None, packed: Set[AccessSite], spill: Spill
) -> Traffic | None:
    """What the launch loads and stores; None if the counts, the lines or the occupancy are not known."""
    device = taken.device
    sector = device.sector_bytes or device.line_bytes
    if sector is None or resident is None or resident.groups is None or device.xe_cores is None:
        return None
    plain = _plain(taken)
    in_flight = float(max(1, resident.groups) * device.xe_cores)
    loads = [_loaded(each, sites, taken, sector, packed, in_flight) for each in _by_memory(plain, *_LOADS)]
    stores = [_stored(each, sites, taken, sector, packed) for each in _by_memory(plain, "store")]
    known_loads, known_stores = [x for x in loads if x is not None], [x for x in stores if x is not None]
    scratch = _scratch(sites, taken, spill)
    missing = len(known_loads) < len(loads) or len(known_stores) < len(stores)
    if missing or any(site.space == "private" and site.bytes_moved is None for site in sites.values()):
        return None
    others = {place.memory for place in taken.updates if place.memory.space == "global"}
    return Traffic(
        groups=taken.geometry.groups,
        resident=in_flight,
        loads=known_loads,
        stores=known_stores,
        scratch=scratch,
        other_bytes=float(sum(memory.nbytes for memory in others)),
    )


def _missed(traffic: Traffic | None, taken: Census) -> dict[Allocation, Misses]:
    """What misses of the loads of each global memory, and of scratch."""
    if traffic is None:
        return {}
    memories = (operations[0].place.memory for operations in _by_memory(_plain(taken), *_LOADS))
    found = {m: caches.misses(load, traffic, taken.device) for m, load in zip(memories, traffic.loads, strict=True)}
    if traffic.scratch is not None:
        missed = caches.scratch_misses(traffic.scratch, traffic, taken.device)
        found |= {place.memory: missed for place in taken.places if place.memory.space == "private"}
    return found


def _plain(taken: Census) -> list[Sequence[Operation]]:
    """The operations on global memory that are no atomic updates."""
    return [os for os in taken.operations.values() if os[0].place.memory.space == "global" and not os[0].updates]


def _by_memory(operations: Iterable[Sequence[Operation]], *ops: str) -> list[list[Operation]]:
    """The operations of some kinds on each memory."""
    found: dict[Allocation, list[Operation]] = {}
    for each in operations:
        if each[0].place.op in ops:
            found.setdefault(each[0].place.memory, []).extend(each)
    return list(found.values())


def _moved(operations: Sequence[Operation], sites: Sites) -> float | None:
    """Bytes that all requests of some operations move."""
    return amounts.total(sites[place].bytes_moved for place in dict.fromkeys(o.place for o in operations))


def _loaded(
    operations: Sequence[Operation], sites: Sites, taken: Census, sector: int, packed: Set[AccessSite], resident: float
) -> Loaded | None:
    moved, asked = _moved(operations, sites), _asked(operations, sites)
    sectors = footprint.of_memory(operations, taken, moved, sector)
    pieces = _pieces(operations, taken, moved, sectors)
    page = taken.device.dram_page_bytes
    if moved is None or asked is None or sectors is None or pieces is None:
        return None
    pages = None if page is None else footprint.of_memory(operations, taken, asked * page, page)
    if all(o.place in packed for o in operations):
        sectors, pieces = (_packed(each, moved, taken) for each in (sectors, pieces))
        pages = None if pages is None else _packed(pages, moved, taken)
    added = footprint.of_consecutive(operations, taken, int(min(resident, taken.geometry.groups)))
    return Loaded(moved, asked, sectors, pieces, pages, operations[0].place.memory.name, added)


def _stored(
    operations: Sequence[Operation], sites: Sites, taken: Census, sector: int, packed: Set[AccessSite]
) -> Stored | None:
    moved, asked, line = _moved(operations, sites), _asked(operations, sites), taken.device.line_bytes
    sectors = footprint.of_memory(operations, taken, moved, sector)
    used = footprint.of_memory(operations, taken, moved, operations[0].place.memory.dtype.itemsize)
    if moved is None or asked is None or line is None or sectors is None or used is None:
        return None
    lines = footprint.of_memory(operations, taken, asked * line, line) or sectors
    partial = _partial(sites[place] for place in dict.fromkeys(o.place for o in operations))
    if all(o.place in packed for o in operations):
        sectors, lines = (_packed(touched, moved, taken) for touched in (sectors, lines))
        return Stored(moved, partial, asked, sectors, lines, gaps=0.0)
    gaps = float(used.group < sectors.group) if sectors.gaps is None else sectors.gaps
    return Stored(moved, partial, asked, sectors, lines, gaps, operations[0].place.memory.name)


def _asked(operations: Sequence[Operation], sites: Sites) -> float | None:
    """Lines that all requests of some operations touch, each request's counted."""
    return amounts.total(sites[place].lines for place in dict.fromkeys(o.place for o in operations))


def _packed(touched: Footprint, moved: float, taken: Census) -> Footprint:
    """A footprint with no more bytes than are moved."""
    return Footprint(min(touched.group, moved / max(taken.geometry.groups, 1)), min(touched.launch, moved))


def group_bytes(sites: Sites, taken: Census) -> Mapping[str, float]:
    """Bytes of each global memory that a work-group loads, each counted once; of those of which that is known."""
    sector = taken.device.sector_bytes or taken.device.line_bytes
    plain, found = _plain(taken), {}
    for each in _by_memory(plain, "load") if sector is not None else []:
        touched = footprint.of_memory(each, taken, _moved(each, sites), sector or 1)
        if touched is not None:
            found[each[0].place.memory.name] = touched.group
    return found


def _pieces(
    operations: Sequence[Operation], taken: Census, moved: float | None, sectors: Footprint | None
) -> Footprint | None:
    device: Device = taken.device
    if device.dram_access_bytes is None:
        return sectors
    return footprint.of_memory(operations, taken, moved, device.dram_access_bytes)


def _scratch(sites: Sites, taken: Census, spill: Spill) -> Scratch | None:
    private = [site for site in sites.values() if site.space == "private"]
    if not private and not spill.stored_bytes:
        return None
    loads, stores = ([site for site in private if (site.op == "store") is is_store] for is_store in (False, True))
    memories = {place.memory for place in taken.places if place.memory.space == "private"}
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
