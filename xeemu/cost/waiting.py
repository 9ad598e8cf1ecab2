"""Waiting: how often sub-groups wait for what they load.

The loads of a batch (see `load_batches`) are under way together, as are those of the iterations of a counted
loop without barriers that compilers unroll (see `unrolling`), unless each needs what the one before has loaded; but no
more at a time than that. A sub-group then waits once for them, which is a *round*, for as long as the slowest of them
takes: where it misses once in its batch, or in its loop, one round is as long as that; in further rounds those that
miss are together. More loads so never wait less. Of loads that not all sub-groups make, those that fewer make are taken
to be made by some that make the others too. For a load before a barrier all sub-groups of the work-group wait, also
those that have nothing to load: of the loops and branches before it, which may go side by side in different sub-groups,
for the longest alone. In a work-group in which none loads, none waits.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xeemu.cost import amounts, requests, unrolling
from xeemu.cost.caches import Misses
from xeemu.cost.census import Census, OperationShare
from xeemu.cost.load_batches import Awaited, LoadBatch, waits
from xeemu.cost.sites import SiteReport
from xeemu.cost.work import Wait
from xeemu.devices.device import Device
from xeemu.knowledge.access_tree import AccessSite, MemoryOperation, Node
from xeemu.language.linearity import Allocation

# Atomic updates are made in the L2.
_UPDATE = Misses(1.0, 0.0)


class _Load(NamedTuple):
    """A load.

    Attributes:
      place: what it loads from.
      requests: that sub-groups wait for in all its executions.
      each_time: requests of a sub-group in one execution.
      missed: what of it misses; None if that is not known.
      bytes: that a request moves; None if they are not known.
      passes: of a request.
    """

    place: AccessSite
    requests: float
    each_time: float
    missed: Misses | None
    bytes: float | None
    passes: float


class _Rounds(NamedTuple):
    """Rounds of loads that are under way together, and what they wait for.

    Attributes:
      number: of the rounds.
      past_l1, past_l2, passes: as in `Wait`.
    """

    number: float
    past_l1: float | None
    past_l2: float | None
    passes: float

    def part(self, share: float) -> "_Rounds":
        """A share of them."""
        return self._replace(number=self.number * share)


def of_launch(
    sites: Mapping[AccessSite, SiteReport], taken: Census, missed: Mapping[Allocation, Misses]
) -> tuple[Wait, ...] | None:
    """What sub-groups load, operation by operation, and how often they wait for it.

    Args:
      sites: what the memory operations cost.
      taken: the census that they are from.
      missed: what of the loads of global and private memories misses, where that is known.

    Returns:
      None if the requests of a load are not known.
    """
    batches: dict[LoadBatch, list[_Load]] = {}
    loads_ = [(o, share) for o, share in taken.shares if o.fetches]
    asked = {o: None if (n := sites[o.access_site].requests) is None else n * share.requests for o, share in loads_}
    awaited = _awaited(asked, taken)
    for operation, share in loads_:
        if (number := asked[operation]) is None:
            return None
        load = _load(operation, number, sites[operation.access_site], share, taken)
        waiting = number * (_waiting(operation, taken) if operation in awaited else 1.0)
        batches.setdefault(taken.load_batches.of[operation.key], []).append(
            load._replace(requests=waiting, missed=_missed(operation, taken, missed))
        )
    rounds: dict[AccessSite, list[_Rounds]] = {}
    for batch, loads in batches.items():
        fewest, total = _rounds(batch, loads, taken), sum(load.requests for load in loads)
        for load in loads:
            if load.requests:
                rounds.setdefault(load.place, []).append(fewest.part(load.requests / total))
    return tuple(_wait(each, sites[place]) for place, each in rounds.items())


def _load(operation: MemoryOperation, asked: float, site: SiteReport, share: OperationShare, taken: Census) -> _Load:
    """A load that makes so many requests, and has a share of its site's figures."""
    times, is_local = _executed(operation.node, taken), site.space == "local"
    passes = (site.passes or 0) * share.passes if is_local else (site.l1_passes or 0) * share.l1_passes
    return _Load(
        place=operation.access_site,
        requests=asked,
        each_time=max(1.0, asked / times) if times else 1.0,
        missed=None,
        bytes=amounts.quotient(amounts.product(site.bytes_moved, share.sectors), asked),
        passes=max(1.0, passes / asked) if asked else 1.0,
    )


def _missed(operation: MemoryOperation, taken: Census, missed: Mapping[Allocation, Misses]) -> Misses | None:
    return _UPDATE if operation.access_site in taken.updates else missed.get(operation.access_site.memory)


def _wait(rounds: Sequence[_Rounds], site: SiteReport) -> Wait:
    """The wait at a place for rounds in several batches."""
    number = sum(each.number for each in rounds)
    past_l1 = amounts.total(amounts.product(each.number, each.past_l1) for each in rounds)
    past_l2 = amounts.total(
        amounts.product(each.past_l2, amounts.product(each.number, each.past_l1)) for each in rounds
    )
    return Wait(
        requests=site.requests or 0,
        rounds=number,
        is_local=site.space == "local",
        passes=sum(each.number * each.passes for each in rounds) / number,
        past_l1=_of(past_l1, number),
        past_l2=_of(past_l2, past_l1),
        site=site,
    )


def _awaited(loads: Mapping[MemoryOperation, float | None], taken: Census) -> set[MemoryOperation]:
    """The loads for which other sub-groups wait at a barrier, with the requests of each given: of the loops and
    branches before it those of the one with the most."""
    inner: dict[Awaited, float] = {}
    longest: dict[tuple[Node, int], Awaited] = {}
    for operation, asked in loads.items():
        place = taken.load_batches.awaited.get(operation.key)
        if place is not None and place.inner is not None:
            inner[place] = inner.get(place, 0.0) + (asked or 0.0)
    for place in sorted(inner, key=lambda each: inner[each]):
        longest[place.node, place.barriers] = place
    here = ((operation, taken.load_batches.awaited.get(operation.key)) for operation in loads)
    return {o for o, at in here if at and (at.inner is None or longest[at.node, at.barriers] == at)}


def _waiting(operation: MemoryOperation, taken: Census) -> float:
    """Sub-groups that wait for each one that loads, if those of the work-group do."""
    count = taken.counts[operation.key]
    loads = count.named("requests") if count is not None else None
    if not loads:
        return 1.0
    groups = taken.meeting.get(operation.key)
    times = _executed(operation.node, taken)
    waiting = times if groups is None else groups * requests.sub_groups(taken.geometry)
    return max(1.0, waiting / loads)


def _rounds(batch: LoadBatch, loads: Sequence[_Load], taken: Census) -> _Rounds:
    """The rounds of the loads of a batch: as few as have no more loads under way than there may be."""
    every, loop = sum(load.requests for load in loads), None if batch.in_turn else _unrolled(batch.node, taken.device)
    executed = max(load.requests / load.each_time for load in loads)
    around = executed if loop is None or loop.parent is None else _executed(loop.parent, taken)
    number = max(every / unrolling.UNROLLED, min(executed, max(around, executed / unrolling.UNROLLED)))

    def missing(misses: float | None) -> float | None:
        return misses and min(number, max(misses / unrolling.UNROLLED, min(misses, around)))

    past_l1, past_l2 = map(missing, _misses(loads))
    return _Rounds(number, _of(past_l1, number), _of(past_l2, past_l1), _most_passes(loads, number))


def _misses(loads: Sequence[_Load]) -> tuple[float | None, float | None]:
    """Requests of some loads that miss the L1, and the L2 too: of those to one memory as many as what is missed of it
    is for the smallest of them."""
    found: dict[tuple[Allocation, Misses | None], list[_Load]] = {}
    for load in loads:
        found.setdefault((load.place.memory, load.missed), []).append(load)
    past_l1: list[float | None] = []
    past_l2: list[float | None] = []
    for (_, missed), each in found.items():
        moved = amounts.total(amounts.product(load.requests, load.bytes) for load in each)
        least = min((load.bytes or 0.0 for load in each if load.requests), default=0.0)
        asked = sum(load.requests for load in each)
        every = moved / least if moved and least else asked
        for past, share in (past_l1, missed and missed.past_l1), (past_l2, missed and missed.past_all):
            past.append(None if share is None else min(asked, every * share))
    return amounts.total(past_l1), amounts.total(past_l2)


def _of(part: float | None, whole: float | None) -> float | None:
    """The share that a part is; 0 of nothing."""
    if part is None or whole is None:
        return None
    return part / whole if whole else 0.0


def _most_passes(loads: Sequence[_Load], rounds: float) -> float:
    """Passes of the request that a round waits for, in the mean, if those of most passes are in as many as can be."""
    left, total = rounds, 0.0
    for load in sorted(loads, key=lambda load: -load.passes):
        taken = min(left, load.requests)
        left, total = left - taken, total + taken * load.passes
    return total / (rounds - left) if rounds > left else 1.0


def _executed(node: Node, taken: Census) -> float:
    """How often sub-groups execute a node."""
    return (taken.executions[node.facts] or 0) * requests.sub_groups(taken.geometry)


def _unrolled(node: Node, device: Device) -> Node | None:
    """A loop's body if several iterations are under way together: their number is constant, and no barrier is in it."""
    meets = any(waits(step) for each in node.nodes() for step in each.steps)
    return node if unrolling.may_be(node, device) and not meets else None
