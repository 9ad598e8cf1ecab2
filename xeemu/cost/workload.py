"""Workload: what a launch does in all, for the time model, from its census and the counts of its sites."""

from collections.abc import Iterable, Mapping, Sequence, Set

import jax.numpy as jnp

from xeemu.cost import caches, footprint, instructions, requests
from xeemu.cost.caches import Loaded, Scratch, Stored, Traffic
from xeemu.cost.census import Census
from xeemu.cost.footprint import Footprint
from xeemu.cost.sites import AtomicTotals, SiteReport
from xeemu.cost.timing import Work
from xeemu.devices.device import Device
from xeemu.devices.occupancy import Occupancy
from xeemu.knowledge.schedule import Frame, Operation, Place
from xeemu.language.linearity import Allocation

Sites = Mapping[Place, SiteReport]


def of_launch(
    sites: Sites,
    classes: Mapping[str, float] | None,
    barriers: int | None,
    atomics: AtomicTotals,
    taken: Census,
    resident: Occupancy | None,
    packed: Set[Place] = frozenset(),
) -> Work | None:
    """The work of a launch; None if it has no work-groups.

    Args:
      sites: its memory operations.
      classes: its instructions.
      barriers: that its work-groups execute.
      atomics: its totals of atomic operations.
      taken: its census.
      resident: its occupancy.
      packed: operations of which is taken that they touch no bytes but those that they use.
    """
    geometry, updates = taken.geometry, taken.updates
    if not geometry.groups:
        return None
    waited = {o.place for (o, *_) in taken.operations.values() if o.fetches}
    local = {place: site for place, site in sites.items() if site.space == "local"}
    remote = {place: site for place, site in sites.items() if site.space != "local"}
    loads = [site for place, site in local.items() if place in waited]
    atomic = [place.memory.dtype for place in updates if place.memory.space == "global"]
    traffic = _traffic(sites, taken, resident, packed)
    return Work(
        groups=geometry.groups,
        sub_groups=geometry.groups * requests.sub_groups(geometry),
        sub_group_size=geometry.sub_group_size,
        instructions=classes,
        local_loads=_total(site.requests for site in loads),
        local_load_passes=_total(site.passes for site in loads),
        local_passes=_total(site.passes for site in local.values()),
        global_requests=_total(site.requests for site in remote.values()),
        global_loads=_total(site.requests for place, site in remote.items() if place in waited),
        bytes_moved=_total(site.bytes_moved for place, site in remote.items() if place not in updates),
        l1_passes=_l1_passes(remote, taken),
        l2_bytes=None if traffic is None else caches.past_l1(traffic, taken.device),
        dram_bytes=None if traffic is None else caches.past_l2(traffic, taken.device),
        atomic_lanes=atomics.global_operations,
        atomic_sends=atomics.global_sectors,
        atomic_contention=atomics.contention,
        atomic_bytes=max((dtype.itemsize for dtype in atomic), default=4),
        atomic_floats=any(bool(jnp.issubdtype(dtype, jnp.floating)) for dtype in atomic),
        barriers=barriers,
        loads_in_flight=_loads_in_flight(sites, taken),
    )


def _l1_passes(remote: Sites, taken: Census) -> float | None:
    """Passes of the L1, where its tags are known and all accesses are."""
    return None if taken.device.tag_bank_masks is None else _total(site.l1_passes for site in remote.values())


def _loads_in_flight(sites: Sites, taken: Census) -> float:
    """Loads that a sub-group has under way at a time, as the loops in which they stand are unrolled."""
    rounds = total = 0.0
    for operations in taken.operations.values():
        place = operations[0].place
        if operations[0].fetches and place.memory.space != "local":
            requests_ = sites[place].requests or 0
            total += requests_
            rounds += requests_ / (instructions.UNROLLED if _is_unrolled(operations[0].frame) else 1)
    return total / rounds if rounds else float(instructions.UNROLLED)


def _is_unrolled(frame: Frame) -> bool:
    """Whether the innermost loop around what a frame does, if there is one, has a constant number of iterations."""
    inner: Frame | None = frame
    while inner is not None and inner.kind not in ("iteration", "test"):
        inner = inner.parent
    return inner is None or inner.counted


# --- Traffic ---


def _traffic(sites: Sites, taken: Census, resident: Occupancy | None, packed: Set[Place]) -> Traffic | None:
    """What the launch loads and stores; None if the counts, the lines or the occupancy are not known."""
    device = taken.device
    sector = device.sector_bytes or device.line_bytes
    if sector is None or resident is None or resident.groups is None or device.xe_cores is None:
        return None
    plain = [os for os in taken.operations.values() if os[0].place.memory.space == "global" and not os[0].updates]
    loads = [_loaded(each, sites, taken, sector, packed) for each in _by_memory(plain, "load", "atomic")]
    stores = [_stored(each, sites, taken, sector, packed) for each in _by_memory(plain, "store")]
    known_loads, known_stores = [x for x in loads if x is not None], [x for x in stores if x is not None]
    scratch = _scratch(sites, taken)
    missing = len(known_loads) < len(loads) or len(known_stores) < len(stores)
    if missing or any(site.space == "private" and site.bytes_moved is None for site in sites.values()):
        return None
    others = {place.memory for place in taken.updates if place.memory.space == "global"}
    return Traffic(
        groups=taken.geometry.groups,
        resident=float(max(1, resident.groups) * device.xe_cores),
        loads=known_loads,
        stores=known_stores,
        scratch=scratch,
        other_bytes=float(sum(memory.nbytes for memory in others)),
    )


def _by_memory(operations: Iterable[Sequence[Operation]], *ops: str) -> list[list[Operation]]:
    """The operations of some kinds on each memory."""
    found: dict[Allocation, list[Operation]] = {}
    for each in operations:
        if each[0].place.op in ops:
            found.setdefault(each[0].place.memory, []).extend(each)
    return list(found.values())


def _moved(operations: Sequence[Operation], sites: Sites) -> float | None:
    """Bytes that all requests of some operations move."""
    return _total(sites[place].bytes_moved for place in dict.fromkeys(o.place for o in operations))


def _loaded(
    operations: Sequence[Operation], sites: Sites, taken: Census, sector: int, packed: Set[Place]
) -> Loaded | None:
    moved = _moved(operations, sites)
    sectors = footprint.of_memory(operations, taken, moved, sector)
    pieces = _pieces(operations, taken, moved, sectors)
    if moved is None or sectors is None or pieces is None:
        return None
    if all(o.place in packed for o in operations):
        sectors, pieces = (_packed(each, moved, taken) for each in (sectors, pieces))
    return Loaded(moved, sectors, pieces)


def _stored(
    operations: Sequence[Operation], sites: Sites, taken: Census, sector: int, packed: Set[Place]
) -> Stored | None:
    moved = _moved(operations, sites)
    sectors = footprint.of_memory(operations, taken, moved, sector)
    pieces = _pieces(operations, taken, moved, sectors)
    used = footprint.of_memory(operations, taken, moved, operations[0].place.memory.dtype.itemsize)
    if moved is None or sectors is None or pieces is None or used is None:
        return None
    if all(o.place in packed for o in operations):
        return Stored(moved, _packed(pieces, moved, taken), whole=True)
    return Stored(moved, pieces, whole=used.group >= sectors.group)


def _packed(touched: Footprint, moved: float, taken: Census) -> Footprint:
    """A footprint with no more bytes than are moved."""
    return Footprint(min(touched.group, moved / max(taken.geometry.groups, 1)), min(touched.launch, moved))


def group_bytes(sites: Sites, taken: Census) -> Mapping[str, float]:
    """Bytes of each global memory that a work-group loads, each counted once; of those of which that is known."""
    sector = taken.device.sector_bytes or taken.device.line_bytes
    plain = [os for os in taken.operations.values() if os[0].place.memory.space == "global" and not os[0].updates]
    found = {}
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


def _scratch(sites: Sites, taken: Census) -> Scratch | None:
    private = [site for site in sites.values() if site.space == "private"]
    if not private:
        return None
    moved = float(sum(site.bytes_moved or 0 for site in private))
    memories = {place.memory for place in taken.places if place.memory.space == "private"}
    items = requests.sub_groups(taken.geometry) * taken.geometry.sub_group_size
    return Scratch(moved, float(items * sum(memory.nbytes for memory in memories)))


def _total(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)
