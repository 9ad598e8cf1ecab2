"""Communication: at one location, which write each read reads from (rf), and in which order writes take effect (mo)."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from xeemu.errors import KernelArgumentError
from xeemu.memory_model.events import Event
from xeemu.memory_model.relations import Relation
from xeemu.memory_model.statements import Location

_MOST = 2**15


@dataclasses.dataclass(frozen=True)
class Communication:
    """What the reads and writes of one location may do, each of `A` ways, among `N` events.

    Attributes:
      rf, mo: `[A, N]` rows of the relations.
      source: `[A, N]` the event that each read of the location reads from; 0 elsewhere.
      last: `[A]` the write of the final value.
    """

    rf: np.ndarray
    mo: np.ndarray
    source: np.ndarray
    last: np.ndarray


def of_location(events: Sequence[Event], location: Location) -> Communication:
    """All that the reads and writes of a location may do.

    Args:
      events: that are executed, initial values first, then by work-item.
      location: which.

    Raises:
      KernelArgumentError: there are too many ways.
    """
    accesses = [k for k, e in enumerate(events) if e.location == location]
    by_item = [list(group) for _, group in itertools.groupby(accesses, key=lambda k: events[k].item)]
    writers = [[k for k in item if events[k].writes] for item in by_item]
    rf: list[np.ndarray] = []
    mo: list[np.ndarray] = []
    sources: list[list[int]] = []
    last: list[int] = []
    for later_writes in _interleavings(writers[1:]):
        order = (*writers[0], *later_writes)
        rank = {event: n for n, event in enumerate(order)}
        choices = [tuple(itertools.islice(_readings(events, item, rank), _MOST + 1)) for item in by_item]
        later = Relation.of(itertools.combinations(order, 2), len(events)).rows
        if len(rf) + math.prod(map(len, choices)) > _MOST:
            raise too_many(f"accesses {location.name} in more than {_MOST} candidate ways")
        for chosen in itertools.product(*choices):
            reading = [(order[n], read) for item in chosen for n, read in item]
            source = {read: write for write, read in reading}
            rf.append(Relation.of(reading, len(events)).rows)
            mo.append(later)
            sources.append([source.get(k, 0) for k in range(len(events))])
            last.append(order[-1])
    shape = (len(rf), len(events))
    return Communication(
        np.array(rf, np.uint32).reshape(shape),
        np.array(mo, np.uint32).reshape(shape),
        np.array(sources, np.intp).reshape(shape),
        np.array(last, np.intp),
    )


def _interleavings(sequences: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """All orders of some events that keep the order of each sequence."""
    if not any(sequences):
        yield ()
    for n, sequence in enumerate(sequences):
        if sequence:
            rest = [*sequences[:n], sequence[1:], *sequences[n + 1 :]]
            yield from ((sequence[0], *order) for order in _interleavings(rest))


def _readings(
    events: Sequence[Event], accesses: Sequence[int], rank: Mapping[int, int], seen: int = 0
) -> Iterator[tuple[tuple[int, int], ...]]:
    """What the reads of one work-item may see, which never goes back: pairs of a write's rank and the read."""
    if not accesses:
        yield ()
        return
    first, *rest = accesses
    event = events[first]
    if event.writes:
        own = rank[first]
        if event.item is None or seen < own:
            reading = ((own - 1, first),) if event.reads else ()
            yield from ((*reading, *more) for more in _readings(events, rest, rank, own))
        return
    for visible in range(seen, len(rank)):
        yield from (((visible, first), *more) for more in _readings(events, rest, rank, visible))


def too_many(what: str) -> KernelArgumentError:
    """The error of a program that has too many executions: it `what`."""
    return KernelArgumentError(f"the program {what}; leave out accesses, or let fewer of them be to one location")
