"""Executions: every way in which the reads of a small program may get their values, and its writes take effect.

What is enumerated is where each read reads from and the order of the writes to each location. Of these only what agrees
with the order of a work-item's own accesses is made (C++17 [intro.races], coherence within one thread); `axioms`
judges it.

A value that depends on itself, by way of stored registers, operands and conditions, has no beginning: no such execution
is made. So C++17's [atomics.order] recommends ("no out-of-thin-air values"), though it does not demand it. A condition
counts as a dependency whatever it leads to.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from xeemu.language.orders import ACQUIRING, RELEASING, SCOPES
from xeemu.memory_model import axioms, communication
from xeemu.memory_model.axioms import EventStructure, Model
from xeemu.memory_model.communication import Communication
from xeemu.memory_model.events import Event
from xeemu.memory_model.relations import Relation
from xeemu.memory_model.statements import Location, Position, Statement

MOST_EXECUTIONS = 2**20
_CHUNK = 2**12


@dataclasses.dataclass(frozen=True)
class LitmusProgram:
    """What is executed.

    Attributes:
      work_items: the statements of each.
      positions: where each is.
    """

    work_items: tuple[tuple[Statement, ...], ...]
    positions: tuple[Position, ...]

    @functools.cached_property
    def locations(self) -> tuple[Location, ...]:
        """In the order in which they first occur."""
        named = ((s.location, *s.ordered) for item in self.work_items for s in item)
        return tuple(dict.fromkeys(x for group in named for x in group if x is not None))

    @functools.cached_property
    def registers(self) -> tuple[str, ...]:
        """In the order in which they are loaded."""
        return tuple(s.register for item in self.work_items for s in item if s.register)

    def together(self, one: int | None, other: int | None, scope: str) -> bool:
        """True if two work-items are of one sub-group, work-group, device or system."""
        assert one is not None
        assert other is not None
        return self.positions[one].group(scope) == self.positions[other].group(scope)

    @property
    def most_events(self) -> int:
        """Number of events if everything is executed, with initial values; a barrier counts twice."""
        return len(self.locations) + sum(1 + (s.kind == "barrier") for item in self.work_items for s in item)


@dataclasses.dataclass(frozen=True)
class Path:
    """One way through the program: which conditions hold and which compare_exchange succeed.

    Attributes:
      events: that are executed, initial values first, then by work-item.
      conditions: of each work-item's guards, true if they hold.
      structure: their relations.
    """

    program: LitmusProgram
    events: tuple[Event, ...]
    conditions: Mapping[tuple[tuple[str, int], ...], bool]
    structure: EventStructure

    @functools.cached_property
    def definitions(self) -> Mapping[str, int]:
        """The event that loads each register."""
        return {e.statement.register: k for k, e in enumerate(self.events) if e.statement and e.statement.register}


@dataclasses.dataclass(frozen=True)
class PathExecutions:
    """Consistent executions along one path.

    Attributes:
      read, written: `[B, N]` the value that each event reads, and the one that it writes.
      last: `[B, locations]` the event that wrote each location's final value.
    """

    path: Path
    model: Model
    read: np.ndarray
    written: np.ndarray
    last: np.ndarray


def enumerate_all(program: LitmusProgram) -> Iterator[PathExecutions]:
    """Every consistent execution of a program, in batches.

    Raises:
      KernelArgumentError: there are too many candidates.
    """
    found, count = [], 0
    for path in paths(program):
        ways = [communication.of_location(path.events, location) for location in program.locations]
        count += math.prod(len(way.rf) for way in ways)
        if count > MOST_EXECUTIONS:
            raise communication.too_many(f"has more than {MOST_EXECUTIONS} candidate executions")
        found.append((path, ways))
    for path, ways in found:
        sizes = tuple(len(way.rf) for way in ways)
        for start in range(0, math.prod(sizes), _CHUNK):
            numbers = np.arange(start, min(start + _CHUNK, math.prod(sizes)))
            yield _judged(path, ways, np.unravel_index(numbers, sizes))


# --- Paths ---


def paths(program: LitmusProgram) -> Iterator[Path]:
    """Every way through the program."""
    statements = [s for item in program.work_items for s in item]
    guards = tuple(dict.fromkeys(s.guard for s in statements if s.guard))
    exchanges = tuple(s.register for s in statements if s.kind == "compare_exchange")
    for holds in itertools.product((False, True), repeat=len(guards)):
        conditions = dict(zip(guards, holds, strict=True))
        executed = [s.register for s in statements if not s.guard or conditions[s.guard]]
        if any(hold and not {name for name, _ in guard} <= {*executed} for guard, hold in conditions.items()):
            continue
        attempted = [register for register in exchanges if register in executed]
        for done in itertools.product((False, True), repeat=len(attempted)):
            failed = {register for register, success in zip(attempted, done, strict=True) if not success}
            events = tuple(_events(program, conditions, failed))
            yield Path(program, events, conditions, _structure(program, events))


def _events(
    program: LitmusProgram, conditions: Mapping[tuple[tuple[str, int], ...], bool], failed: set[str]
) -> Iterator[Event]:
    for number, location in enumerate(program.locations):
        yield Event(None, number, None, location, False, True)
    for item, statements in enumerate(program.work_items):
        for index, statement in enumerate(statements):
            if statement.guard and not conditions[statement.guard]:
                continue
            if statement.kind == "barrier":
                yield Event(item, index, statement, None, False, False, "arrive")
                yield Event(item, index, statement, None, False, False, "leave")
            elif statement.register in failed:
                yield Event(item, index, statement.failed(), statement.location, True, False)
            else:
                yield Event(item, index, statement, statement.location, statement.reads, statement.writes)


def _structure(program: LitmusProgram, events: Sequence[Event]) -> EventStructure:
    def having(property_: Callable[[Event], object]) -> int:
        return sum(1 << k for k, e in enumerate(events) if property_(e))

    def relating(property_: Callable[[Event, Event], object]) -> Relation:
        pairs = itertools.product(enumerate(events), repeat=2)
        return Relation.of(((i, j) for (i, a), (j, b) in pairs if property_(a, b)), len(events))

    def place(location: Location) -> tuple[int, int]:
        return having(lambda e: e.location == location), having(lambda e: _orders(e, location))

    later = Relation.of(itertools.combinations(range(len(events)), 2), len(events))
    return EventStructure(
        sb=later & relating(lambda a, b: b.item is not None and a.item in (None, b.item)),
        item=relating(lambda a, b: a.item == b.item),
        location=relating(lambda a, b: a.location is not None and a.location == b.location),
        inclusive=relating(lambda a, b: _inclusive(program, a, b)),
        barrier=relating(lambda a, b: _meet(program, a, b)),
        reads=having(lambda e: e.reads),
        writes=having(lambda e: e.writes),
        atomics=having(lambda e: e.location and e.order),
        fences=having(lambda e: e.statement and e.location is None),
        acquires=having(lambda e: e.order in ACQUIRING and e.side != "arrive" and (e.reads or e.location is None)),
        releases=having(lambda e: e.order in RELEASING and e.side != "leave" and (e.writes or e.location is None)),
        seq_csts=having(lambda e: e.order == "seq_cst" and not e.side),
        places=tuple(map(place, program.locations)),
        general=having(lambda e: e.statement is None or not e.statement.ordered),
    )


def _orders(event: Event, location: Location) -> bool:
    """True if it may synchronise for accesses to a location: a fence or barrier may be for others only."""
    ordered = event.statement.ordered if event.statement else ()
    return not ordered or location in ordered


def _inclusive(program: LitmusProgram, a: Event, b: Event) -> bool:
    """OpenCL 2.0: "inclusive scope"; SYCL 2020, section 3.8.3.2: scopes may be "differing (but compatible)"."""
    if not (a.order and b.order):
        return False
    return _includes(program, a, b) and _includes(program, b, a)


def _includes(program: LitmusProgram, event: Event, other: Event) -> bool:
    """True if the scope of an event includes the other's work-item."""
    if event.item == other.item:
        return True
    assert event.statement is not None
    assert event.statement.ordering is not None
    scope = event.statement.ordering.scope
    if event.location is not None and event.location.space == "local":
        # SYCL 2020, section 3.8.3.2: a wider scope counts as the one of all that can access the location.
        scope = min(scope, "work_group", key=SCOPES.index)
    return scope != "work_item" and program.together(event.item, other.item, scope)


def _meet(program: LitmusProgram, a: Event, b: Event) -> bool:
    """True if one work-item leaves the barrier at which the other one arrives."""
    if (a.side, b.side) != ("arrive", "leave") or a.item == b.item:
        return False
    assert a.statement is not None
    assert b.statement is not None
    group = a.statement.group
    if group != b.statement.group or not program.together(a.item, b.item, group):
        return False
    return _turn(program, a) == _turn(program, b)


def _turn(program: LitmusProgram, barrier: Event) -> int:
    """How many barriers of the same kind of group the work-item meets before this one."""
    assert barrier.item is not None
    assert barrier.statement is not None
    before = program.work_items[barrier.item][: barrier.index]
    return sum(s.kind == "barrier" and s.group == barrier.statement.group for s in before)


# --- Values ---


def _judged(path: Path, ways: Sequence[Communication], choice: Sequence[np.ndarray]) -> PathExecutions:
    """The candidates of these numbers that have values, agree with the path and are consistent."""
    source = sum((way.source[n] for way, n in zip(ways, choice, strict=True)), np.zeros((1, len(path.events)), np.intp))
    read, written, valid = _values(path, source)
    choice = [n[valid] for n in choice]
    rf, mo = (
        Relation(functools.reduce(np.bitwise_or, (getattr(w, name)[n] for w, n in zip(ways, choice, strict=True))))
        for name in ("rf", "mo")
    )
    last = np.stack([way.last[n] for way, n in zip(ways, choice, strict=True)], -1)
    return PathExecutions(path, axioms.judge(path.structure, rf, mo), read[valid], written[valid], last)


def _values(path: Path, source: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`[B, N]` values read and written, and `[B]` true where all are known and the path is taken.

    What a value is computed from is known before it, so values that depend on themselves stay unknown.
    """
    read, written = np.zeros((2, *source.shape), np.int64)
    read_known, written_known = np.zeros((2, *source.shape), bool)
    executions = np.arange(len(source))
    known = -1
    while known < (known := int(read_known.sum() + written_known.sum())):
        for k, event in enumerate(path.events):
            if event.reads:
                read[:, k] = written[executions, source[:, k]]
                read_known[:, k] = written_known[executions, source[:, k]]
            if event.writes:
                needed = [path.definitions[name] for name in event.statement.used] if event.statement else []
                needed += [k] if event.reads else []
                written[:, k] = _result(path, event, k, read)
                written_known[:, k] = read_known[:, needed].all(1)
    valid = np.ones(len(source), bool)
    for k, event in enumerate(path.events):
        valid &= (read_known[:, k] | (not event.reads)) & (written_known[:, k] | (not event.writes))
        if event.statement and event.statement.kind == "compare_exchange":
            valid &= (read[:, k] == _operand(path, event.statement.operands[0], read)) == event.writes
    for guard, holds in path.conditions.items():
        if {name for name, _ in guard} <= {*path.definitions}:
            same = [read[:, path.definitions[name]] == value for name, value in guard]
            valid &= np.logical_and.reduce(same) == holds
    return read, written, valid


def _result(path: Path, event: Event, k: int, read: np.ndarray) -> np.ndarray:
    """`[B]` what an event writes."""
    if event.statement is None:
        assert event.location is not None
        return np.asarray(event.location.initial)
    value = _operand(path, event.statement.operands[-1], read)
    return read[:, k] + value if event.statement.kind == "fetch_add" else value


def _operand(path: Path, operand: int | str, read: np.ndarray) -> np.ndarray:
    return np.asarray(operand) if isinstance(operand, int) else read[:, path.definitions[operand]]
