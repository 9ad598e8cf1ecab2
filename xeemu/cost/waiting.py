"""Waiting: how often sub-groups wait for what they load.

The loads of a piece of the program (see `pieces`) are under way together, as are those of the iterations of a counted
loop without barriers, which compilers unroll by `instructions.UNROLLED`; but no more at a time than that. A sub-group
then waits once for them, which is a *round*. Of loads that not all sub-groups make, those that fewer make are taken to
be made by some that make the others too. For a load before a barrier all sub-groups of the work-group wait, also those
that have nothing to load; in a work-group in which none loads, none waits.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from xeemu.cost import instructions, requests
from xeemu.cost.caches import Misses
from xeemu.cost.census import Census
from xeemu.cost.pieces import Piece, waits
from xeemu.cost.sites import SiteReport
from xeemu.cost.work import Wait
from xeemu.knowledge.access_tree import AccessSite, Frame, Operation
from xeemu.language.linearity import Allocation

# Atomic updates are made in the L2.
_UPDATE = Misses(1.0, 0.0)


class _Load(NamedTuple):
    """A load, how often sub-groups wait for it in all its executions, and its requests in one of them."""

    operation: Operation
    times: float
    each_time: float


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
    pieces: dict[Piece, list[_Load]] = {}
    for operation, asked in _loads(sites, taken):
        if asked is None:
            return None
        pieces.setdefault(taken.pieces.of[operation], []).append(_load(operation, asked, taken))
    rounds: dict[AccessSite, float] = {}
    for piece, loads in pieces.items():
        for load, number in zip(loads, _rounds(loads, _unrolled(piece.frame)), strict=True):
            rounds[load.operation.place] = rounds.get(load.operation.place, 0.0) + number
    return tuple(_wait(place, number, sites[place], taken, missed) for place, number in rounds.items() if number)


def _load(operation: Operation, asked: float, taken: Census) -> _Load:
    """A load with so many requests."""
    executions = (taken.executions[operation.frame.plan] or 0) * requests.sub_groups(taken.geometry)
    each_time = max(1.0, asked / executions) if executions else 1.0
    return _Load(operation, asked / each_time * _waiting(operation, executions, taken), each_time)


def _rounds(loads: Sequence[_Load], unrolled: int) -> list[float]:
    """How often sub-groups wait for each of the loads of a piece, in so many iterations that are under way together."""
    rounds = [0.0] * len(loads)
    order = sorted(range(len(loads)), key=lambda k: -loads[k].times)
    times = [*(loads[k].times for k in order), 0.0]
    for made in range(1, len(loads) + 1):
        # Those of sub-groups that make so many of the loads, and no other.
        waited = times[made - 1] - times[made]
        together = sum(loads[k].each_time for k in order[:made])
        for k in order[:made] if waited else ():
            rounds[k] += waited * loads[k].each_time / min(float(instructions.UNROLLED), together * unrolled)
    return rounds


def _wait(
    place: AccessSite, rounds: float, site: SiteReport, taken: Census, missed: Mapping[Allocation, Misses]
) -> Wait:
    memory = place.memory
    is_local = memory.space == "local"
    passes = site.passes if is_local else site.l1_passes
    known = _UPDATE if place in taken.updates else missed.get(memory)
    return Wait(
        requests=site.requests or 0,
        rounds=rounds,
        is_local=is_local,
        passes=max(1.0, passes / site.requests) if passes and site.requests else 1.0,
        past_l1=None if known is None else known.past_l1,
        past_l2=None if known is None else known.past_l2,
        site=site,
    )


def _loads(sites: Mapping[AccessSite, SiteReport], taken: Census) -> Iterator[tuple[Operation, float | None]]:
    """The loads and their requests."""
    for operation, share in shares(sites, taken):
        if operation.fetches:
            asked = sites[operation.place].requests
            yield operation, None if asked is None else asked * share


def shares(sites: Iterable[AccessSite], taken: Census) -> Iterator[tuple[Operation, float]]:
    """The memory operations of the program and which share of its place's requests each makes: as they count, or all
    alike."""
    by_place: dict[AccessSite, list[tuple[Operation, int | None]]] = {place: [] for place in sites}
    for key, (operation, *_) in taken.operations.items():
        count = taken.counts[key]
        by_place[operation.place].append((operation, None if count is None else count.named("requests")))
    for counts in by_place.values():
        known = [counted for _, counted in counts if counted is not None]
        total = sum(known)
        for operation, counted in counts:
            alike = len(known) < len(counts) or not total
            yield operation, 1 / len(counts) if alike or counted is None else counted / total


def _waiting(operation: Operation, times: float, taken: Census) -> float:
    """Sub-groups that wait for each one that loads, of those that execute an operation so many times."""
    count = taken.counts[operation.key]
    loads = count.named("requests") if count is not None else None
    if not loads or operation not in taken.pieces.awaited:
        return 1.0
    groups = taken.meeting.get(operation.key)
    waiting = times if groups is None else groups * requests.sub_groups(taken.geometry)
    return max(1.0, waiting / loads)


def _unrolled(frame: Frame) -> int:
    """Iterations of a body that are under way together: of a loop with a constant number and without barriers."""
    meets = any(waits(step) for each in frame.frames() for step in each.steps)
    return instructions.UNROLLED if frame.kind == "iteration" and frame.counted and not meets else 1
