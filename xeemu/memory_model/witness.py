"""Witnesses: one execution that shows an outcome, as a table of its events."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from xeemu.memory_model import page
from xeemu.memory_model.events import Event
from xeemu.memory_model.executions import PathExecutions
from xeemu.memory_model.relations import Relation

_LEGEND = "rf: reads from, mo: overwrites, hb: happens after (the nearest events)"
_HEADER = ("", "item", "event", "value", "rf", "mo", "hb")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a program ends: `outcome["r0"]`.

    Attributes:
      names: registers, and the locations whose final values count.
      values: theirs; None of a register whose load was not executed.
    """

    names: tuple[str, ...]
    values: tuple[int | None, ...]

    def __getitem__(self, name: str) -> int | None:
        return self.values[self.names.index(name)]

    def rank(self) -> list[tuple[bool, int]]:
        """A key that sorts outcomes of the same names."""
        return [(value is None, value or 0) for value in self.values]

    def only(self, names: Iterable[str]) -> "Outcome":
        """The part of it that concerns these names."""
        kept = tuple(names)
        return Outcome(kept, tuple(self[name] for name in kept))

    @property
    def shown(self) -> tuple[str, ...]:
        """The values as text, a dash where there is none."""
        return tuple("-" if value is None else str(value) for value in self.values)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in zip(self.names, self.shown, strict=True))


@dataclasses.dataclass(frozen=True, eq=False)
class Witness:
    """An execution that the model allows; `str(witness)` is a table of its events.

    Relations are between numbers of events, and `pairs()` lists them.

    Attributes:
      outcome: how it ends, registers and final values of locations.
      events: initial values first, then by work-item.
      read, written: the value that each event has read, and the one that it has written; None if none.
      rf: reads from: a write and a read of its value.
      mo: modification order: writes to one location.
      sw: synchronises with.
      hb: happens before.
      races: conflicting accesses that nothing orders, both ways round.
    """

    outcome: Outcome
    events: tuple[Event, ...]
    read: tuple[int | None, ...]
    written: tuple[int | None, ...]
    rf: Relation
    mo: Relation
    sw: Relation
    hb: Relation
    races: Relation

    @property
    def table(self) -> list[tuple[str, ...]]:
        """The heads of the columns, then a row for each event."""
        rows: list[tuple[str, ...]] = [_HEADER]
        previous, before_it = {b: a for a, b in nearest(self.mo)}, nearest(self.hb)
        source = {read: write for write, read in self.rf.pairs()}
        for k, event in enumerate(self.events):
            value = " -> ".join(str(x) for x in (self.read[k], self.written[k]) if x is not None)
            item = "" if event.item is None else str(event.item)
            before = "" if event.item is None else " ".join(label(a) for a, b in before_it if b == k)
            rows.append((label(k), item, str(event), value, _label(source.get(k)), _label(previous.get(k)), before))
        return rows

    @property
    def notes(self) -> list[str]:
        """What synchronises, what races, and what the heads of the table mean."""
        notes = []
        for name, pairs in (("synchronises", self.sw.pairs()), ("races", once(self.races))):
            if shown := ", ".join(f"{label(a)} with {label(b)}" for a, b in pairs):
                notes.append(f"{name}: {shown}")
        return [*notes, _LEGEND]

    def __str__(self) -> str:
        rows = self.table
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([str(self.outcome), *lines, *self.notes])

    def _repr_html_(self) -> str:
        return page.of_witness(self)


@dataclasses.dataclass(frozen=True)
class Race:
    """Two conflicting accesses of different work-items that nothing orders; `str(race)` is the message.

    Attributes:
      first, second: the accesses.
      witness: an execution with the race.
    """

    first: Event
    second: Event
    witness: Witness

    def __str__(self) -> str:
        location = self.first.location
        assert location is not None
        atomic = [event for event in (self.first, self.second) if event.order]
        narrow = "The scope of one does not include the other's work-item"
        why = ("Neither is atomic", "One is not atomic", narrow)[len(atomic)]
        return (
            f"data-race on {location.space} memory {location.name}\n"
            f"  {self.first} by work-item {self.first.item}\n"
            f"  {self.second} by work-item {self.second.item}\n"
            f"  {why}, and neither happens before the other."
        )


def label(event: int) -> str:
    """The letter of an event in a table."""
    return chr(ord("a") + event) if event < 26 else chr(ord("A") + event - 26)


def full_outcomes(batch: PathExecutions, among: np.ndarray) -> Iterator[tuple[int, Outcome]]:
    """The different outcomes of some executions of a batch, `[B]` bool, each with the first that ends so."""
    program, found = batch.path.program, batch.path.definitions
    names = (*program.registers, *(location.name for location in program.locations))
    numbers = among.nonzero()[0]
    loaded = [found[name] for name in program.registers if name in found]
    finals = np.take_along_axis(batch.written[numbers], batch.last[numbers], 1)
    values = np.concatenate([batch.read[numbers][:, loaded], finals], 1)
    if not numbers.size:
        return
    different, first = np.unique(values, axis=0, return_index=True)
    filled = [*(name for name in program.registers if name in found), *names[len(program.registers) :]]
    for row, n in zip(different.tolist(), numbers[first].tolist(), strict=True):
        ends = dict(zip(filled, row, strict=True))
        yield n, Outcome(names, tuple(map(ends.get, names)))


def racing(batch: PathExecutions, among: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """The pairs of events that race in some executions of a batch, `[B]` bool, after the first that has the race."""
    numbers = among.nonzero()[0]
    rows = batch.model.races.rows[numbers]
    if not numbers.size:
        return
    for a, b in Relation(np.bitwise_or.reduce(rows)).pairs():
        if a < b:
            yield int(numbers[(rows[:, a] >> b & 1).argmax()]), a, b


def witness(batch: PathExecutions, execution: int, outcome: Outcome | None = None) -> Witness:
    """One execution of a batch; its outcome is looked up if it is not given."""
    if outcome is None:
        ((_, outcome),) = full_outcomes(batch, np.arange(len(batch.read)) == execution)
    model, events = batch.model, batch.path.events
    read, written = batch.read[execution].tolist(), batch.written[execution].tolist()
    return Witness(
        outcome,
        events,
        tuple(value if e.reads else None for e, value in zip(events, read, strict=True)),
        tuple(value if e.writes else None for e, value in zip(events, written, strict=True)),
        model.rf[execution],
        model.mo[execution],
        model.sw[execution],
        model.hb[execution] | model.hb_at[execution],
        model.races[execution],
    )


def _label(event: int | None) -> str:
    return "" if event is None else label(event)


def nearest(order: Relation) -> Sequence[tuple[int, int]]:
    """The pairs of a transitive relation that have nothing in between."""
    return tuple((order - order @ order).pairs())


def once(relation: Relation) -> Iterator[tuple[int, int]]:
    """The pairs of a symmetric relation, the earlier event first."""
    return ((a, b) for a, b in relation.pairs() if a < b)
