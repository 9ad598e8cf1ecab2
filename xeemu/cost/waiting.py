"""Waiting: how often sub-groups wait for what they load.

Loads that stand in one straight piece of the program, between barriers, loops and branches, are under way together, as
are those of the iterations of a counted loop without barriers, which compilers unroll by `instructions.UNROLLED`; but
no more at a time than that. A sub-group then waits once for them, which is a *round*.
"""

from collections.abc import Mapping

from xeemu.cost import instructions, requests
from xeemu.cost.census import Census
from xeemu.cost.sites import SiteReport
from xeemu.knowledge.schedule import Frame, Meeting, Operation, Place
from xeemu.language import collectives

Piece = tuple[Frame, int]
"""A frame, and the number of the barriers, loops and branches before the piece."""


def rounds(sites: Mapping[Place, SiteReport], taken: Census, is_local: bool) -> float | None:
    """How often sub-groups, all of them together, wait for loads from local memory or from what lies beyond.

    Args:
      sites: what the memory operations cost.
      taken: the census that they are from.
      is_local: which of the two is meant.

    Returns:
      None if the requests of a load are not known.
    """
    pieces: dict[Piece, list[tuple[float, float]]] = {}
    for operation, asked in _loads(sites, taken, is_local):
        if asked is None:
            return None
        executions = taken.executions[operation.frame.plan]
        times = (executions or 0) * requests.sub_groups(taken.geometry)
        pieces.setdefault(_piece(operation), []).append((asked, max(1.0, asked / times) if times else 1.0))
    return sum(sum(asked for asked, _ in loads) / _in_flight(piece, loads) for piece, loads in pieces.items())


def _loads(sites: Mapping[Place, SiteReport], taken: Census, is_local: bool) -> list[tuple[Operation, float | None]]:
    """The loads and their requests; those of a place are shared by its operations as they count, or equally."""
    by_place: dict[Place, list[tuple[Operation, int | None]]] = {}
    for key, (operation, *_) in taken.operations.items():
        if operation.fetches and (operation.place.memory.space == "local") is is_local:
            count = taken.counts[key]
            counted = None if count is None else count.named("requests")
            by_place.setdefault(operation.place, []).append((operation, counted))
    return [each for place, counts in by_place.items() for each in _shared(sites[place].requests, counts)]


def _shared(asked: int | None, counts: list[tuple[Operation, int | None]]) -> list[tuple[Operation, float | None]]:
    known = [counted for _, counted in counts if counted is not None]
    total = sum(known)
    if asked is None:
        return [(operation, None) for operation, _ in counts]
    if len(known) < len(counts) or not total:
        return [(operation, asked / len(counts)) for operation, _ in counts]
    return [(operation, asked * counted / total) for (operation, _), counted in zip(counts, known, strict=True)]


def _piece(operation: Operation) -> Piece:
    steps = operation.frame.steps
    before = steps[: steps.index(operation)]
    return operation.frame, sum(1 for step in before if isinstance(step, Frame) or _waits(step))


def _waits(step: Operation | Meeting) -> bool:
    return isinstance(step, Meeting) and step.level == collectives.GROUP


def _in_flight(piece: Piece, loads: list[tuple[float, float]]) -> float:
    """Loads of a piece that a sub-group has under way at a time."""
    together = sum(each for _, each in loads)
    return min(float(instructions.UNROLLED), together * (instructions.UNROLLED if _is_unrolled(piece[0]) else 1))


def _is_unrolled(frame: Frame) -> bool:
    """Whether a frame is done in each iteration of a loop with a constant number of them, and without barriers."""
    inner: Frame | None = frame
    while inner is not None and inner.kind == "call":
        inner = inner.parent
    if inner is None or inner.kind != "iteration" or not inner.counted:
        return False
    return not any(_waits(step) for each in inner.frames() for step in each.steps if isinstance(step, Meeting))
