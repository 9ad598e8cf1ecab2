"""Work: what a launch does, counted over all its work-groups, as the time model takes it."""

import dataclasses
from collections.abc import Mapping

from xeemu.cost import pipes
from xeemu.cost.sites import SiteReport


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wait:
    """Loads of a memory operation, or of spilled values, for which sub-groups wait.

    Attributes:
      requests: loads of sub-groups.
      rounds: times that sub-groups wait for them, all together, since some requests are under way together.
      is_local: true if they are of local memory.
      passes: of the request that they wait for, of which the later ones arrive later; at least 1.
      past_l1: the share of the rounds in which something is not in the L1; None if it is not known.
      past_l2: the share of these in which something is not in the L2 either.
      site: the operation; None of values that did not fit the registers, and of group algorithms.
    """

    requests: float
    rounds: float
    is_local: bool = False
    passes: float = 1.0
    past_l1: float | None = 0.0
    past_l2: float | None = 0.0
    site: SiteReport | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Work:
    """What a launch does, counted over all its work-groups. `None` is a count that is not known.

    Attributes:
      groups: work-groups.
      sub_groups: sub-groups of all of them.
      sub_group_size: work-items.
      instructions: executed by sub-groups, by class (see `pipes.CLASSES`).
      dependent_instructions: as many ordinary ones as take what sub-groups wait in `chains`; `None`: all of them.
      local_passes: bank passes of all requests to local memory.
      masked_requests: to local memory, that sub-groups issue though none of their lanes takes part.
      global_requests: to global memory, and to private memory where it is not in registers.
      scattered_lines: that these requests ask for beyond those that hold the bytes that they use, not side by side.
      bytes_moved: of whole sectors (or lines, where the device does not divide them) that these requests touch.
      l1_passes: bank passes of all requests to global memory, where the L1 has the banks of the SLM (lanes on one word
        do not share a pass there); `None` takes them to be as many as the bytes need.
      served_twice: requests to global memory that the L1 serves twice (see `pending_hits`).
      looked_up_twice: those that it looks up twice and serves once.
      l2_bytes: bytes that pass the L1, without those of atomics.
      store_bytes: of these the bytes of plain stores.
      load_lines: lines that requests of loads ask the L2 for, each request's counted.
      store_lines: lines that requests of plain stores ask it for.
      store_sectors: sectors that requests of plain stores write, each request's counted.
      partial_store_sectors: those of them that a request may leave gaps in.
      store_places: different sectors that the groups in flight store to at a time.
      dram_bytes: bytes that pass the L2.
      dram_pages: times that a page of DRAM is opened.
      atomic_lanes: lanes of atomic operations on global memory.
      atomic_sends: updates of a sector that they need: over its sectors, the most lanes on one word.
      atomic_contention: lanes on the busiest address.
      atomic_places: parts of memory of `Device.atomic_slice_bytes` that the groups in flight update at a time.
      atomic_bytes: bytes of a word.
      atomic_floats: true if they are sums of floating-point numbers.
      barriers: executed by work-groups.
      reused: memories of which it depends on data what is loaded or stored again; nothing is taken to be.
      scattered: memories of which it depends on data where they are stored to or updated; everywhere, as is taken.
      l2_held_bytes: that the launch touches, if the L2 holds all of them, which are then taken to lie there before it;
        else 0.
      waits: for the loads of each memory operation, and for atomic operations that give the old value.
      phases: parts of the program that a work-group goes through one after the other, each with its share of the work
        of each resource; empty if they are not known.
    """

    groups: int
    sub_groups: int
    sub_group_size: int
    instructions: Mapping[str, float] | None = dataclasses.field(default_factory=dict)
    dependent_instructions: float | None = None
    local_passes: float | None = 0
    masked_requests: float = 0
    global_requests: float | None = 0
    scattered_lines: float | None = 0
    bytes_moved: float | None = 0
    l1_passes: float | None = None
    served_twice: float = 0
    looked_up_twice: float = 0
    l2_bytes: float | None = 0
    store_bytes: float | None = 0
    load_lines: float | None = 0
    store_lines: float | None = 0
    store_sectors: float | None = 0
    partial_store_sectors: float | None = 0
    store_places: float | None = 0
    dram_bytes: float | None = 0
    dram_pages: float | None = 0
    atomic_lanes: float | None = 0
    atomic_sends: float | None = 0
    atomic_contention: float | None = 0
    atomic_places: float | None = 1
    atomic_bytes: int = 4
    atomic_floats: bool = False
    barriers: float | None = 0
    reused: tuple[str, ...] = ()
    scattered: tuple[str, ...] = ()
    l2_held_bytes: float = 0.0
    waits: tuple[Wait, ...] | None = ()
    phases: tuple[Mapping[str, float], ...] = ()

    def __post_init__(self) -> None:
        if self.groups < 1 or self.sub_groups < self.groups:
            raise ValueError(f"{self.groups} work-groups of {self.sub_groups} sub-groups; a group has at least one")
        unknown = set(self.instructions or ()) - set(pipes.CLASSES)
        if unknown:
            known = ", ".join(pipes.CLASSES)
            raise ValueError(f"no class of instructions {', '.join(sorted(unknown))}; the classes are {known}")
