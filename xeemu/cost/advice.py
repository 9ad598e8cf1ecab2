"""Advice: what of a launch it follows from, and a piece of it before it is tried."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from xeemu.cost.latency import Waiting
from xeemu.cost.sites import AtomicTotals, SiteReport
from xeemu.cost.strides import Strides
from xeemu.cost.trials import WhatIf
from xeemu.devices.device import Device
from xeemu.devices.occupancy import Occupancy
from xeemu.language.dialect import PYTHON, Dialect
from xeemu.language.source import Site


@dataclasses.dataclass(frozen=True)
class Idle:
    """Divergent code, which sub-groups execute with some of their lanes.

    Attributes:
      site: where work-items part.
      sub_groups: times that one executes it with an active lane.
      lanes: that are active then, summed up.
      instructions: by class, each time.
    """

    site: Site
    sub_groups: int
    lanes: int
    instructions: Mapping[str, float]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """What of a launch advice follows from.

    Attributes:
      sites: its memory operations.
      atomics: its totals of atomic operations.
      occupancy: its occupancy; None if it is not known.
      groups: its work-groups.
      local_size: work-items of each of them, in each dimension.
      sub_group_size: work-items.
      device: the modelled device.
      dialect: the language of advice.
      group_bytes: bytes that a work-group loads of global memories, each counted once, by memory, where that is known.
      spill_bytes: bytes of a work-item that do not fit its registers.
      free_bytes: bytes of a work-item's registers that it leaves free; None if that is not known.
      idle: its divergent code.
      common: the memory operations that all work-items of a group do as one, with a value that they have in common; a
        request has one lane then, and none is without work.
      waits: what its sub-groups wait for.
      strides: gives where the neighbours begin that access one memory at some sites; None if that is not known.
      distances: gives how many elements lie between neighbours at some sites, of all that are known.
      parts: into how many parts what a sub-group does could be divided, at most.
      has_loops: true if these are iterations of loops.
    """

    sites: tuple[SiteReport, ...]
    atomics: AtomicTotals
    occupancy: Occupancy | None
    groups: int
    local_size: tuple[int, ...]
    sub_group_size: int
    device: Device
    dialect: Dialect = PYTHON
    group_bytes: Mapping[str, float] = dataclasses.field(default_factory=dict)
    spill_bytes: int = 0
    free_bytes: int | None = None
    idle: tuple[Idle, ...] = ()
    common: tuple[SiteReport, ...] = ()
    waits: tuple[Waiting, ...] = ()
    parts: float = 1.0
    has_loops: bool = True
    strides: Callable[[Sequence[SiteReport]], Strides | None] = lambda sites: None
    distances: Callable[[Sequence[SiteReport]], frozenset[int]] = lambda sites: frozenset()

    @property
    def group_size(self) -> int:
        """Work-items of a work-group."""
        return math.prod(self.local_size)

    @property
    def sub_groups(self) -> int:
        """Sub-groups of a work-group."""
        return math.ceil(self.group_size / self.sub_group_size)

    @property
    def request_lanes(self) -> int:
        """Lanes that a request to memory takes at most."""
        return min(self.sub_group_size, self.device.request_lanes or self.sub_group_size)

    @property
    def requests_of_group(self) -> int:
        """Requests of an access by all sub-groups of a work-group."""
        return self.sub_groups * math.ceil(self.sub_group_size / self.request_lanes)

    def by_memory(self, space: str, *ops: str) -> Iterator[list[SiteReport]]:
        """The operations of some kinds on each memory of a space."""
        found: dict[tuple[object, ...], list[SiteReport]] = {}
        for site in self.sites:
            if site.space == space and site.op in ops:
                found.setdefault((site.memory, site.shape, site.dtype), []).append(site)
        yield from found.values()


@dataclasses.dataclass(frozen=True, eq=False)
class Advice:
    """A piece of advice that was not tried yet.

    Attributes:
      kind: of the hint.
      sites: where, the costliest first; empty where it is about the whole launch.
      text: the pattern with its numbers, and what to write instead.
      change: what the launch would do otherwise; None if the model does not tell.
      minor: true if it is not worth a word where it gains nothing.
    """

    kind: str
    sites: tuple[SiteReport, ...]
    text: str
    change: WhatIf | None
    minor: bool = False


def costliest(sites: Iterable[SiteReport], name: str) -> list[SiteReport]:
    """Sites by one of their counts, the largest first."""
    return sorted(sites, key=lambda site: -(getattr(site, name) or 0))
