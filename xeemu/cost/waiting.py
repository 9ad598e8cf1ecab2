"""Waiting: how often sub-groups wait for what they load.

Loads that stand in one straight piece of the program, between barriers, loops and branches, are under way together, as
are those of the iterations of a counted loop without barriers, which compilers unroll by `instructions.UNROLLED`; but
no more at a time than that, and a load whose address depends on data not before those loads of its piece whose
addresses do not. A sub-group then waits once for them, which is a *round*. For a load before a barrier all sub-groups
of the work-group wait, also those that have nothing to load.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from xeemu.cost import instructions, requests
from xeemu.cost.caches import Misses
from xeemu.cost.census import Census
from xeemu.cost.sites import SiteReport
from xeemu.cost.work import Wait
from xeemu.knowledge.access_tree import AccessSite, Frame, Meeting, Operation
from xeemu.language import collectives
from xeemu.language.linearity import Allocation

# Atomic updates are made in the L2.
_UPDATE = Misses(1.0, 0.0)


class Piece(NamedTuple):
    """Loads that are under way together, or in unrolled iterations one after the other.

    Attributes:
      frame: that they stand in.
      before: barriers, loops and branches of the frame before them.
      follows: whether their addresses depend on data.
      is_local: whether they are of local memory.
    """

    frame: Frame
    before: int
    follows: bool
    is_local: bool


class _Load(NamedTuple):
    """A load, the requests that sub-groups wait for in all its executions, and those of a sub-group in one."""

    operation: Operation
    requests: float
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
        executions = taken.executions[operation.frame.plan]
        times = (executions or 0) * requests.sub_groups(taken.geometry)
        load = _Load(operation, asked * _waiting(operation, times, taken), max(1.0, asked / times) if times else 1.0)
        pieces.setdefault(_piece(operation), []).append(load)
    rounds: dict[AccessSite, float] = {}
    for piece, loads in pieces.items():
        together = _in_flight(piece, loads)
        for operation, asked, _ in loads:
            rounds[operation.place] = rounds.get(operation.place, 0.0) + asked / together
    return tuple(_wait(place, number, sites[place], taken, missed) for place, number in rounds.items() if number)


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


def _piece(operation: Operation) -> Piece:
    steps = operation.frame.steps
    before = steps[: steps.index(operation)]
    return Piece(
        frame=operation.frame,
        before=sum(1 for step in before if isinstance(step, Frame) or _waits(step)),
        follows=not all(component.known for component in operation.index),
        is_local=operation.place.memory.space == "local",
    )


def _waits(step: Operation | Meeting) -> bool:
    return isinstance(step, Meeting) and step.level == collectives.GROUP


def _waiting(operation: Operation, times: float, taken: Census) -> float:
    """Sub-groups that wait for each one that loads, of those that execute an operation so many times."""
    count = taken.counts[operation.key]
    loads = count.named("requests") if count is not None else None
    return max(1.0, times / loads) if loads and _is_awaited(operation) else 1.0


def _is_awaited(operation: Operation) -> bool:
    """Whether a barrier comes after an operation in the body of the program that it stands in.

    Other sub-groups wait there until it is done. Of loops before a barrier, those that some sub-groups go through and
    others not, it is not known which go side by side.
    """
    steps = operation.frame.steps
    after = steps if operation.frame.kind == "iteration" else steps[steps.index(operation) :]
    return any(not isinstance(each, Frame) and _waits(each) for each in after)


def _in_flight(piece: Piece, loads: list[_Load]) -> float:
    """Loads of a piece that a sub-group has under way at a time."""
    together = sum(load.each_time for load in loads)
    return min(float(instructions.UNROLLED), together * (instructions.UNROLLED if _is_unrolled(piece.frame) else 1))


def _is_unrolled(frame: Frame) -> bool:
    """Whether a frame is done in each iteration of a loop with a constant number of them, and without barriers."""
    inner: Frame | None = frame
    while inner is not None and inner.kind == "call":
        inner = inner.parent
    if inner is None or inner.kind != "iteration" or not inner.counted:
        return False
    return not any(_waits(step) for each in inner.frames() for step in each.steps if isinstance(step, Meeting))
