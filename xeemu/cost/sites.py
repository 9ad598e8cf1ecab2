"""Sites: what the memory operations of a source cost, each and all together.

Counts are totals over the launch. Words: a *request* is one memory instruction of one sub-group, split as the device
splits it; a *pass* is one serial cycle of the banks that serve it; *ideal* is the passes without conflicts; *degree* is
passes / requests; *excess* is passes - ideal. A figure that is not known is `None`.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Literal

from xeemu.cost import amounts
from xeemu.devices.bankmap import BankMap
from xeemu.ir.table import AccessKind

Space = Literal["local", "global", "private"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SiteReport:
    """One memory operation of the source.

    Attributes:
      file: path as Python knows it.
      line: 1-based; 0 if it is not known.
      source: the line without its indentation.
      memory: the name of the memory in the kernel.
      op: `load`, `store` or `atomic`.
      space: `local`, `global` or `private`.
      shape: elements of the memory in each dimension (of one work-item, for private memory).
      dtype: of its elements.
      lanes: work-items that took part, summed over the requests.
      requests: memory instructions of sub-groups, as the device splits them.
      passes: bank passes; of local memory.
      ideal_passes: passes without conflicts; of local memory.
      lines: cache lines that the requests touch, each request's counted; of global and private memory.
      sectors: parts of a line that the device moves alone, which the requests touch, each request's counted.
      bytes_used: different bytes that the lanes of a request use, summed over requests.
      bytes_moved: bytes of the sectors (lines, where they are not divided) that the requests touch.
      l1_passes: passes of the L1, where it has the banks of the SLM; of global and private memory in closed form.
      closed_form: true if the counts were known at trace time, so that no run was needed.
      errors: standard errors of the counts, by name, where they were made on a sample of the work-groups.
      doubtful: true of an access of which a compiler may leave out more or less than the model does.
      bank_map: of local memory, one execution by a work-group: in closed form the one with the most excess passes, else
        the last one of the first group.
      least, most: bounds of the counts by name, where data decide them and they were not counted.
    """

    file: str
    line: int
    source: str
    memory: str
    op: AccessKind
    space: Space
    shape: tuple[int, ...] = ()
    dtype: str = ""
    lanes: int | None = None
    requests: int | None = None
    passes: int | None = None
    ideal_passes: int | None = None
    lines: int | None = None
    sectors: int | None = None
    bytes_used: int | None = None
    bytes_moved: int | None = None
    l1_passes: int | None = None
    closed_form: bool = False
    errors: Mapping[str, float] | None = None
    doubtful: bool = False
    bank_map: BankMap | None = None
    least: Mapping[str, int] | None = None
    most: Mapping[str, int] | None = None

    @property
    def degree(self) -> float | None:
        """Passes per request: 1 without conflicts, 16 for a 16-way one."""
        return ratio(self.passes, self.requests)

    @property
    def excess(self) -> int | None:
        """Passes that conflicts add."""
        return difference(self.passes, self.ideal_passes)

    @property
    def efficiency(self) -> float | None:
        """Bytes used of bytes moved, at most 1; bytes that lanes share are used once."""
        return ratio(self.bytes_used, self.bytes_moved)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LocalTotals:
    """Requests to local memory: their bank passes, those without conflicts, and the bytes that they used."""

    requests: int | None
    passes: int | None
    ideal_passes: int | None
    bytes: int | None

    @property
    def excess(self) -> int | None:
        """Passes that conflicts add."""
        return difference(self.passes, self.ideal_passes)

    @classmethod
    def of(cls, sites: Iterable[SiteReport]) -> "LocalTotals":
        """The sums over the sites of local memory; a sum with an unknown part is not known."""
        local = [site for site in sites if site.space == "local"]
        return cls(
            requests=amounts.total(site.requests for site in local),
            passes=amounts.total(site.passes for site in local),
            ideal_passes=amounts.total(site.ideal_passes for site in local),
            bytes=amounts.total(site.bytes_used for site in local),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class GlobalTotals:
    """Requests to global memory, and to private memory that is not in registers."""

    requests: int | None
    lines: int | None
    sectors: int | None
    bytes_used: int | None
    bytes_moved: int | None

    @property
    def efficiency(self) -> float | None:
        """Bytes used of bytes moved."""
        return ratio(self.bytes_used, self.bytes_moved)

    @classmethod
    def of(cls, sites: Iterable[SiteReport]) -> "GlobalTotals":
        """The sums over the sites of global and private memory; a sum with an unknown part is not known."""
        outside = [site for site in sites if site.space != "local"]
        return cls(
            requests=amounts.total(site.requests for site in outside),
            lines=amounts.total(site.lines for site in outside),
            sectors=amounts.total(site.sectors for site in outside),
            bytes_used=amounts.total(site.bytes_used for site in outside),
            bytes_moved=amounts.total(site.bytes_moved for site in outside),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class AtomicTotals:
    """Atomic operations.

    Attributes:
      local_requests: requests to local memory.
      local_passes: their bank passes.
      global_operations: lanes that updated global memory.
      global_sectors: updates of a sector that they took: over its sectors, the most lanes of a request on one word.
      contention: the most lanes, over the whole launch, that updated one address of global memory.
    """

    local_requests: int | None
    local_passes: int | None
    global_operations: int | None
    global_sectors: int | None
    contention: int | None


def fewer(site: SiteReport, times: float, **counts: int | None) -> SiteReport:
    """A site with all counts so many times smaller, but for those given."""
    names = (
        "lanes",
        "requests",
        "passes",
        "ideal_passes",
        "lines",
        "sectors",
        "bytes_used",
        "bytes_moved",
        "l1_passes",
    )
    known = {name: getattr(site, name) for name in names}
    scaled = {name: None if n is None else math.ceil(n / times) for name, n in known.items()}
    return dataclasses.replace(site, **{**scaled, **counts})  # type: ignore[arg-type]


def ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else a / b


def difference(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a - b
