"""Flags: whether a work-group that has seen another's flag may use what the other had written before.

Nothing orders work-groups of a launch, but for a release after the one access and an acquire of the same memory before
the other (SYCL 2020, section 3.8.3; C++'s synchronises-with). Whether the flag was seen is a matter of data.
"""

from collections.abc import Iterator, Sequence

from xeemu.faults import initialisation
from xeemu.knowledge.schedule import Frame, Meeting, Operation, Schedule
from xeemu.language import primitives
from xeemu.language.linearity import Allocation
from xeemu.language.orders import ACQUIRING, RELEASING, Ordering

_WIDE = frozenset({"device", "system"})


def may_order(schedule: Schedule, one: Sequence[Operation], other: Sequence[Operation]) -> bool:
    """Whether accesses of one work-group may be ordered with others of another one by a flag, either way round."""
    steps = list(_steps(schedule.root))
    place = {step: number for number, step in enumerate(steps)}
    # The earlier the one and the later the other, the more lies between: no other two need be looked at.
    return any(
        _released(steps[min(place[a] for a in first) + 1 :]) & _acquired(steps[: max(place[b] for b in then)])
        for first, then in ((one, other), (other, one))
    )


def _steps(frame: Frame) -> Iterator[Operation | Meeting]:
    for step in frame.steps:
        if isinstance(step, Frame):
            yield from _steps(step)
        else:
            yield step


def _released(after: Sequence[Operation | Meeting]) -> frozenset[Allocation]:
    """The memories by which what came before is released."""
    fences = [n for n, step in enumerate(after) if _is_fence(step, RELEASING)]
    fenced = after[min(fences) :] if fences else ()
    flags = [s for s in after if isinstance(s, Operation) and initialisation.writes(s) and _has(s, RELEASING)]
    late = [s for s in fenced if isinstance(s, Operation) and initialisation.writes(s) and _is_wide(s)]
    return frozenset(s.place.memory for s in (*flags, *late))


def _acquired(before: Sequence[Operation | Meeting]) -> frozenset[Allocation]:
    """The memories by which what comes after is acquired."""
    fences = [n for n, step in enumerate(before) if _is_fence(step, ACQUIRING)]
    fenced = before[: max(fences)] if fences else ()
    flags = [s for s in before if isinstance(s, Operation) and initialisation.reads(s) and _has(s, ACQUIRING)]
    early = [s for s in fenced if isinstance(s, Operation) and initialisation.reads(s) and _is_wide(s)]
    return frozenset(s.place.memory for s in (*flags, *early))


def _is_fence(step: Operation | Meeting, orders: frozenset[str]) -> bool:
    if not isinstance(step, Meeting) or step.eqn.primitive is not primitives.fence_p:
        return False
    ordering: Ordering = step.eqn.params["ordering"]
    return ordering.order in orders and ordering.scope in _WIDE


def _has(operation: Operation, orders: frozenset[str]) -> bool:
    return _is_wide(operation) and operation.access.ordering is not None and operation.access.ordering.order in orders


def _is_wide(operation: Operation) -> bool:
    """Whether an access is atomic for all work-groups."""
    return operation.access.ordering is not None and operation.access.ordering.scope in _WIDE
