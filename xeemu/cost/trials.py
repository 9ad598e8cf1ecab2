"""Trials: what a launch would take with a change, so that advice is tried before it is given.

A change is told by what it does to the counts of the launch; its work is added up again, and timed by the same model.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from xeemu.cost import timing, workload
from xeemu.cost.census import Census
from xeemu.cost.sites import AtomicTotals, SiteReport
from xeemu.cost.timing import Timing, Work
from xeemu.devices.occupancy import Occupancy
from xeemu.knowledge.progressions import Effort
from xeemu.knowledge.schedule import Place


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Change:
    """What a launch would do otherwise.

    Attributes:
      sites: sites as they are, each with what it would be.
      packed: whether these would then touch elements that lie side by side.
      work: what would be added to counts of `timing.Work`, by field; negative for what would be spared.
      instructions: the same for instructions of sub-groups, by class, without requests to memory.
      resident: how many times as many sub-groups an Xe core would hold.
      spread: how many times as many work-groups would share the work.
      merges: whether these would be of the same sub-groups, so that there are more or fewer in each.
    """

    sites: tuple[tuple[SiteReport, SiteReport], ...] = ()
    packed: bool = False
    work: Mapping[str, float] = dataclasses.field(default_factory=dict)
    instructions: Mapping[str, float] = dataclasses.field(default_factory=dict)
    resident: float = 1.0
    spread: float = 1.0
    merges: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Launch:
    """What a launch does, counted, with the model by which it is timed.

    Attributes:
      sites: its memory operations.
      instructions: by class; None if they are not known.
      barriers: that its work-groups execute.
      exchanges: requests to local memory of its group algorithms; half of them are loads, and each takes one pass.
      atomics: its totals of atomic operations.
      taken: its census.
      resident: its occupancy.
    """

    sites: Mapping[Place, SiteReport]
    instructions: Mapping[str, int] | None
    barriers: int | None
    exchanges: int | None
    atomics: AtomicTotals
    taken: Census
    resident: Occupancy | None

    @functools.cached_property
    def timing(self) -> Timing | None:
        """Its time; None if it has no work-groups."""
        return self._timed(Change())

    def gain(self, change: Change) -> float | None:
        """How many times less time the launch takes with a change; None if one of the two times is not known."""
        now = self.timing
        if now is None or now.cycles is None:
            return None
        then = self._timed(change)
        return None if then is None or not then.cycles else now.cycles / then.cycles

    @functools.cached_property
    def group_bytes(self) -> Mapping[str, float]:
        """Bytes of global memory that a work-group loads, each counted once, by memory; those that are known."""
        with Effort().portion():
            return workload.group_bytes(self.sites, self.taken)

    def _timed(self, change: Change) -> Timing | None:
        work = self._work(change)
        if work is None:
            return None
        groups: float | None = self.resident.groups if self.resident else None
        if groups:
            groups *= change.resident * (change.spread if change.merges else 1.0)
        return timing.predict(work, self.taken.device, groups)

    def _work(self, change: Change) -> Work | None:
        changed = {id(before): after for before, after in change.sites}
        sites = {place: changed.get(id(site), site) for place, site in self.sites.items()}
        packed = [place for place, site in self.sites.items() if change.packed and id(site) in changed]
        with Effort().portion():
            work = workload.of_launch(
                sites, self._classes(change), self.barriers, self.atomics, self.taken, self.resident, frozenset(packed)
            )
        return None if work is None else _spread(_added(self._exchanging(work), change.work), change)

    def _exchanging(self, work: Work) -> Work:
        """The work with what group algorithms exchange."""
        if not self.exchanges:
            return work
        loads = self.exchanges / 2
        more = {"local_loads": loads, "local_load_passes": loads, "local_rounds": loads, "local_passes": 2 * loads}
        return _added(work, more)

    def _classes(self, change: Change) -> Mapping[str, float] | None:
        if self.instructions is None:
            return None
        spared = sum((before.requests or 0) - (after.requests or 0) for before, after in change.sites)
        more = {"memory": -spared, **change.instructions}
        names = dict.fromkeys([*self.instructions, *more])
        return {name: max(0.0, self.instructions.get(name, 0) + more.get(name, 0)) for name in names}


def _added(work: Work, more: Mapping[str, float]) -> Work:
    """The work with some counts changed; one that is not known stays so."""
    known = {name: getattr(work, name) for name in more}
    changed: dict[str, Any] = {n: None if known[n] is None else max(0.0, known[n] + more[n]) for n in more}
    return dataclasses.replace(work, **changed)


def _spread(work: Work, change: Change) -> Work:
    """The same work done by more or fewer work-groups, each of which has as many barriers."""
    if change.spread == 1:
        return work
    groups = max(1, round(work.groups * change.spread))
    barriers = None if work.barriers is None else work.barriers * groups / work.groups
    sub_groups = work.sub_groups if change.merges else round(work.sub_groups * groups / work.groups)
    return dataclasses.replace(work, groups=groups, sub_groups=max(groups, sub_groups), barriers=barriers)
