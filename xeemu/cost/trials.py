"""Trials: what a launch would take with a change, so that advice is tried before it is given.

A change is told by what it does to the counts of the launch; its work is added up again, and timed by the same model.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xeemu.cost import amounts, divisions, pipes, requests, strides, timing, traffic, workload
from xeemu.cost.census import Census
from xeemu.cost.divisions import Divisions
from xeemu.cost.execution import Executed
from xeemu.cost.instructions import CHAIN, START
from xeemu.cost.sites import SiteReport, fewer
from xeemu.cost.strides import Strides
from xeemu.cost.timing import Timing
from xeemu.cost.traffic import Spill
from xeemu.cost.unrolling import UNROLLED
from xeemu.cost.work import Wait, Work
from xeemu.devices.occupancy import Occupancy
from xeemu.knowledge.access_tree import AccessSite, MemoryOperation
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.budget import Budget


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class WhatIf:
    """What a launch would do otherwise.

    Attributes:
      sites: sites as they are, each with what it would be.
      packed: true if these would then touch elements that lie side by side.
      work: what would be added to counts of `Work`, by field; negative for what would be spared.
      waits: what sub-groups would wait for too.
      overlapped: operations of whose loads as many would be under way at a time as a compiler unrolls iterations.
      loops: operations, each with how many times fewer iterations a loop would have that does nothing but these.
      spills: true if values would be spilled as they are.
      instructions: what would be added to those of sub-groups, by class, without requests to memory.
      resident: how many times as many sub-groups an Xe core would hold.
      spread: how many times as many work-groups would share the work; what cannot be divided each does as a whole.
      merges: true if these would be of the same sub-groups, so that there are more or fewer in each.
      filled: how many times fewer sub-groups these would be, as lanes without a work-item would have one.
    """

    sites: tuple[tuple[SiteReport, SiteReport], ...] = ()
    packed: bool = False
    work: Mapping[str, float] = dataclasses.field(default_factory=dict)
    waits: tuple[Wait, ...] = ()
    overlapped: tuple[SiteReport, ...] = ()
    loops: tuple[tuple[SiteReport, float], ...] = ()
    spills: bool = True
    instructions: Mapping[str, float] = dataclasses.field(default_factory=dict)
    resident: float = 1.0
    spread: float = 1.0
    merges: bool = False
    filled: float = 1.0


@dataclasses.dataclass(frozen=True, eq=False)
class CountedLaunch:
    """What a launch does, counted, with the model by which it is timed.

    Attributes:
      sites: its memory operations.
      executed: what else it does.
      taken: its census.
      resident: its occupancy.
      executions: of each call path, by all work-groups; None where that is not known.
      spill: what does not fit the registers.
    """

    sites: Mapping[AccessSite, SiteReport]
    executed: Executed
    taken: Census
    resident: Occupancy | None
    executions: Mapping[Facts, int | None]
    spill: Spill = dataclasses.field(default_factory=Spill)

    @functools.cached_property
    def timing(self) -> Timing | None:
        """Its time; None if it has no work-groups."""
        return None if self.work is None else timing.predict(self.work, self.taken.device, self._groups(WhatIf()))

    def gain(self, change: WhatIf) -> float | None:
        """How many times less time the launch takes with a change; None if one of the two times is not known."""
        now = self.timing
        if now is None or now.cycles is None:
            return None
        work = self._work(change)
        then = None if work is None else timing.cycles(work, self.taken.device, self._groups(change))
        return now.cycles / then if then else None

    @functools.cached_property
    def group_bytes(self) -> Mapping[str, float]:
        """Bytes of global memory that a work-group loads, each counted once, by memory; those that are known."""
        with Budget().portion():
            return traffic.group_bytes(self.sites, self.taken)

    def _groups(self, change: WhatIf) -> float | None:
        """Work-groups that an Xe core holds at a time."""
        groups: float | None = self.resident.groups if self.resident else None
        if groups:
            groups *= change.resident * (change.spread * change.filled if change.merges else 1.0)
        return groups

    @functools.cached_property
    def divisions(self) -> Divisions:
        """Into how many parts what its sub-groups execute could be divided."""
        return divisions.of_launch(self.sites, self.taken, self.executions)

    def strides(self, sites: Sequence[SiteReport]) -> Strides | None:
        """The strides of some sites of one memory; None if they are not known."""
        first = (o for o, *_ in self._operations(sites))
        return strides.of_operations(first, len(self.taken.geometry.local_range))

    def distances(self, sites: Sequence[SiteReport]) -> frozenset[int]:
        """Elements from a work-item's to its neighbour's in what is known of some sites."""
        every = (o for operations in self._operations(sites) for o in operations)
        return strides.distances(every, len(self.taken.geometry.local_range))

    def _operations(self, sites: Sequence[SiteReport]) -> Iterator[tuple[MemoryOperation, ...]]:
        chosen = {id(site) for site in sites}
        return (each for each in self.taken.operations.values() if id(self.sites.get(each[0].access_site)) in chosen)

    @functools.cached_property
    def work(self) -> Work | None:
        """What it does; None if it has no work-groups."""
        return self._counted(self.sites, WhatIf())

    def _work(self, change: WhatIf) -> Work | None:
        if change.spread > 1 and not change.merges:
            return self._shared(change)
        changed = {id(before): after for before, after in change.sites}
        sites = {place: changed.get(id(site), site) for place, site in self.sites.items()}
        return self._counted(sites, dataclasses.replace(change, instructions=self._instructions(change)))

    def _counted(self, sites: Mapping[AccessSite, SiteReport], change: WhatIf) -> Work | None:
        changed = {id(before) for before, _ in change.sites}
        packed = [place for place, site in self.sites.items() if change.packed and id(site) in changed]
        with Budget().portion():
            executed = dataclasses.replace(
                self.executed,
                instructions=self._classes(change),
                chain=self._chain(change),
                masked=self._masked(change),
            )
            spill = self.spill if change.spills else Spill()
            work = workload.of_launch(sites, executed, self.taken, self.resident, frozenset(packed), spill)
        return None if work is None else _filled(_spread(_added(work, change), change), change)

    def _shared(self, change: WhatIf) -> Work | None:
        """The work shared by more work-groups, with what each of them does as a whole."""
        times = {place: self.divisions.of_access_site(place, change.spread) for place in self.sites}
        sites = {place: fewer(site, 1 / times[place]) for place, site in self.sites.items()}
        repeated = self._repeated(change.spread)
        more = {name: (each - 1) * (self._done(name) or 0) for name, each in repeated.items()}
        work, before = self._counted(sites, dataclasses.replace(change, instructions=more)), self.work
        if work is None or before is None:
            return work
        by_site = {id(site): times[place] for place, site in self.sites.items()}
        waits = before.waits and tuple(
            _more(wait, by_site.get(id(wait.site), change.spread), before.sub_groups, work.sub_groups)
            for wait in before.waits
        )
        updates = self._updates(times)
        return dataclasses.replace(
            work,
            waits=waits,
            barriers=amounts.product(before.barriers, repeated.get("barrier", 1.0)),
            atomic_lanes=amounts.product(before.atomic_lanes, updates),
            atomic_sends=amounts.product(before.atomic_sends, updates),
            atomic_contention=amounts.product(before.atomic_contention, updates),
        )

    def _updates(self, times: Mapping[AccessSite, float]) -> float:
        """How many times as many lanes update global memory."""
        lanes = {place: self.sites[place].lanes or 0 for place in self.taken.updates if place.memory.space == "global"}
        every = sum(lanes.values())
        return sum(times[place] * n for place, n in lanes.items()) / every if every else 1.0

    def _repeated(self, groups: float) -> Mapping[str, float]:
        """By class of instructions how many times as many are executed if as many times the groups share the work."""
        before: dict[str, float] = {}
        then: dict[str, float] = {}
        for (facts, _), each in self.taken.instructions.items():
            times, again = self.executions[facts] or 0, self.divisions.of_body(facts, groups)
            for name, number in each.items():
                before[name] = before.get(name, 0.0) + number * times
                then[name] = then.get(name, 0.0) + number * times * again
        return {name: then[name] / number if number else groups for name, number in before.items()}

    def _done(self, name: str) -> float | None:
        return self.executed.chain if name == CHAIN else (self.executed.instructions or {}).get(name)

    def _instructions(self, change: WhatIf) -> Mapping[str, float]:
        """Those of a change, without what iterations of its loops execute that are spared."""
        times = {id(site): times for site, times in change.loops}
        total = dict(change.instructions)
        nodes = {node.facts: node for node in self.taken.tree.root.nodes()} if times else {}
        for node in nodes.values():
            sites = [self.sites[o.access_site] for o in node.operations() if o.access_site in self.sites]
            if node.kind != "iteration" or not sites or any(id(site) not in times for site in sites):
                continue
            spared = (self.executions[node.facts] or 0) * (1 - 1 / min(times[id(site)] for site in sites))
            each_time = self.taken.instructions.get((node.facts, START), {})
            for name, number in each_time.items():
                more = -number * spared * requests.sub_groups(self.taken.geometry)
                total[name] = total.get(name, 0.0) + more
        return total

    def _masked(self, change: WhatIf) -> Mapping[AccessSite, float]:
        """Accesses without a lane that takes part: of a site that changes as many as it has requests, but in a loop of
        fewer iterations those of its sub-groups that make no request."""
        after, times = {id(old): new for old, new in change.sites}, {id(site): n for site, n in change.loops}
        found = {}
        for place, number in self.executed.masked.items():
            site = self.sites[place]
            old, new = site.requests or 0, after.get(id(site), site).requests or 0
            issued = (number + old) / times.get(id(site), old / new if new else 1.0)
            found[place] = max(0.0, issued - new)
        return found

    def _chain(self, change: WhatIf) -> float | None:
        arithmetic = sum(n for name, n in change.instructions.items() if name not in ("memory", "barrier", CHAIN))
        chain = self.executed.chain
        return None if chain is None else max(0.0, chain + change.instructions.get(CHAIN, arithmetic))

    def _classes(self, change: WhatIf) -> Mapping[str, float] | None:
        known = self.executed.instructions
        if known is None:
            return None
        more = {name: n for name, n in change.instructions.items() if name in pipes.CLASSES}
        asked = sum((after.requests or 0) - (before.requests or 0) for before, after in change.sites)
        masked = sum(self._masked(change).values()) - sum(self.executed.masked.values())
        more["memory"] = more.get("memory", 0.0) + asked + masked
        return {name: max(0.0, known.get(name, 0) + more.get(name, 0)) for name in dict.fromkeys([*known, *more])}


def _added(work: Work, change: WhatIf) -> Work:
    """The work with some counts changed; one that is not known stays so."""
    known = {name: getattr(work, name) for name in change.work}
    changed: dict[str, Any] = {n: None if known[n] is None else max(0.0, known[n] + change.work[n]) for n in known}
    waits = None if work.waits is None else tuple(_of_change(wait, work, change) for wait in work.waits) + change.waits
    return dataclasses.replace(work, waits=waits, **changed)


def _more(wait: Wait, times: float, before: int, then: int) -> Wait:
    """A wait of so many times as many loads, by so many sub-groups instead of so many; less than once each cannot."""
    least = then * min(1.0, wait.rounds / before)
    return dataclasses.replace(wait, requests=wait.requests * times, rounds=max(least, wait.rounds * times))


def _of_change(wait: Wait, work: Work, change: WhatIf) -> Wait:
    if any(wait.site is site for site in change.overlapped):
        return dataclasses.replace(wait, rounds=min(wait.rounds, wait.requests / UNROLLED))
    times = {id(site): times for site, times in change.loops}
    for before, after in change.sites:
        if wait.site is after and id(before) in times:
            # Of a loop that is hardly gone through again, no iterations are unrolled, and no others wait.
            left = min(wait.rounds, (before.requests or 0) / times[id(before)])
            return dataclasses.replace(wait, rounds=min(wait.requests, max(left, work.sub_groups)))
    return wait


def _filled(work: Work, change: WhatIf) -> Work:
    """The same work by fewer sub-groups; what sites take is told by these."""
    times = change.filled
    if times == 1:
        return work
    classes = work.instructions and {
        n: each if n == "memory" else each / times for n, each in work.instructions.items()
    }
    return dataclasses.replace(
        work,
        sub_groups=max(work.groups, round(work.sub_groups / times)),
        instructions=classes,
        dependent_instructions=amounts.quotient(work.dependent_instructions, times),
        waits=work.waits and tuple(_of_full(wait, change) for wait in work.waits),
    )


def _of_full(wait: Wait, change: WhatIf) -> Wait:
    """A wait of full sub-groups; that of a site has as many times fewer rounds already as it has requests."""
    asked = next((before.requests for before, after in change.sites if after is wait.site), None)
    again = (asked or 1) / (wait.site.requests or 1) if asked and wait.site else 1.0
    return dataclasses.replace(wait, rounds=wait.rounds * again / change.filled)


def _spread(work: Work, change: WhatIf) -> Work:
    """The same work done by more or fewer work-groups, each of which has as many barriers."""
    if change.spread == 1:
        return work
    groups = max(1, round(work.groups * change.spread))
    barriers = None if work.barriers is None else work.barriers * groups / work.groups
    sub_groups = work.sub_groups if change.merges else round(work.sub_groups * groups / work.groups)
    return dataclasses.replace(work, groups=groups, sub_groups=max(groups, sub_groups), barriers=barriers)
