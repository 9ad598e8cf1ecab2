"""The observer that counts requests, bank passes, lines, instructions and barriers.

What an access costs is known at trace time where its lane form is, where the work-items of a group take part together,
and where it is within bounds (see `costs`). Outside loops and branches whose course is known only as the program runs,
that is multiplied out when the program is traced, and nothing is emitted; inside, it is multiplied by the executions.
All other accesses are counted lane by lane as the program runs. The numbers are the same either way.

Not counted: accesses in the predicate of a `while_loop`, whose sites stay unknown, and the bytes used of accesses to
local memory that are counted lane by lane.
"""

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex_core

from xeemu import instructions, requests, sites
from xeemu.analysis import Plan, group_strides
from xeemu.costs import FIGURES, Access, Row, Tally
from xeemu.device import Device
from xeemu.geometry import Geometry
from xeemu.observer import Event, Observer
from xeemu.program import Program
from xeemu.sites import Memory, Operation, Place
from xeemu.values import Chunk

_LARGEST_TALLY = 1 << 24
_BLOCK = 1 << 22


@dataclasses.dataclass(frozen=True, eq=False)
class Ledger:
    """What there is to count in a program.

    Attributes:
      geometry: the sizes of the launch.
      device: the modelled device.
      operations: its memory operations, by `id` of their equation.
      places: the memory operations of the source that are counted.
      unknown: those of them that cannot be counted, on any data.
      tallied: global memories with atomic updates, whose lanes are added up for each address.
      in_registers: private memories that are only indexed by constants, so that they need no memory.
      paths: how many call paths lead to each equation, by its `id`.
      fused: `id`s of the products that multiply-adds take in.
      heads: `id`s of the first operations of the bodies of loops with a known number of iterations.
    """

    geometry: Geometry
    device: Device
    operations: Mapping[int, Operation]
    places: tuple[Place, ...]
    unknown: frozenset[Place]
    tallied: tuple[Memory, ...]
    in_registers: frozenset[Memory]
    paths: Mapping[int, int]
    fused: frozenset[int]
    heads: frozenset[int]

    @classmethod
    def of(cls, program: Program, plan: Plan, device: Device) -> "Ledger":
        operations = sites.of_program(program, plan)
        private = [o for o in operations.values() if o.place.memory.space == "private"]
        computed = {o.place.memory for o in private if not o.constant_index}
        in_registers = frozenset(o.place.memory for o in private) - computed
        counted = [o for o in operations.values() if o.place.memory not in in_registers]
        return cls(
            geometry=program.geometry,
            device=device,
            operations=operations,
            places=tuple(dict.fromkeys(o.place for o in counted)),
            unknown=frozenset(o.place for o in counted if o.in_predicate or not _has_geometry(o.place, device)),
            tallied=tuple(dict.fromkeys(o.place.memory for o in counted if _is_tallied(o))),
            in_registers=in_registers,
            paths=sites.equation_paths(program.body),
            fused=frozenset(instructions.fused(program.body)),
            heads=frozenset(sites.loop_heads(program.body)),
        )

    def zeros(self) -> dict[str, list[jax.Array]]:
        """The state in which nothing was counted."""
        return {
            "figures": [jnp.zeros(len(FIGURES), np.int64) for _ in self.places],
            "classes": [jnp.zeros(len(instructions.CLASSES), np.int64)],
            "tallies": [jnp.zeros(math.prod(memory.shape), np.uint32) for memory in self.tallied],
        }


def _has_geometry(place: Place, device: Device) -> bool:
    figure = device.slm_banks if place.memory.space == "local" else device.line_bytes
    return figure is not None


def _is_tallied(operation: Operation) -> bool:
    updates = operation.place.op == "atomic" and operation.eqn.params.get("op", "load") != "load"
    memory = operation.place.memory
    return updates and memory.space == "global" and math.prod(memory.shape) <= _LARGEST_TALLY


@dataclasses.dataclass(eq=False)
class Told:
    """What one equation adds to an execution of a frame.

    Attributes:
      times: tellings; JAX may trace a loop's body more than once, and does so to the same effect.
      weight: executions by a group, summed over the tellings.
      what: the cost of a memory operation, or class and number of the instructions of a group for another one.
    """

    times: int
    weight: int
    what: Row | instructions.Count


Frame = dict[int, list[Told]]


class Counting(Observer):
    """Counts what one chunk of work-groups does.

    Attributes:
      state: see `Ledger.zeros`.
      root: after the emission, what each group does outside of frames.
    """

    def __init__(self, ledger: Ledger, chunk: Chunk, state: Any) -> None:
        self.ledger, self.chunk, self.state = ledger, chunk, state
        self.turns = jnp.zeros(chunk.count, np.int64)
        self.root: Frame = {}
        self._frames = [self.root]
        self._weights = [1]

    # Frames.

    @contextlib.contextmanager
    def repeated(self, times: int) -> Iterator[None]:
        self._weights.append(self._weights[-1] * times)
        yield
        self._weights.pop()

    def begin(self) -> None:
        self._frames.append({})
        self._weights.append(1)

    def leave(self) -> Frame:
        self._weights.pop()
        return self._frames.pop()

    def turned(self, turns: Any, running: jax.Array | None, chunk: Chunk) -> Any:
        return turns + (np.int64(1) if running is None else running.astype(np.int64))

    def settle(self, told: Frame, turns: Any) -> None:
        self._add_instructions(("control", requests.sub_groups(self.ledger.geometry)), turns.sum())
        for what, weight in executions(told, self.ledger):
            if isinstance(what, Row):
                self._add_row(what, turns * np.int64(weight))
            else:
                self._add_instructions(what, turns.sum() * np.int64(weight))

    # What is told.

    def on_operation(self, eqn: jex_core.JaxprEqn, plan: Plan) -> None:
        self._tell_branch(eqn)
        if id(eqn) in self.ledger.fused:
            return
        count = instructions.of_equation(eqn, plan, self.ledger.geometry)
        if count is not None:
            name, number = count
            self._tell(id(eqn), (name, number * requests.sub_groups(self.ledger.geometry)))

    def on_access(self, event: Event, chunk: Chunk) -> None:
        self._tell_branch(event.eqn)
        operation = self.ledger.operations[id(event.eqn)]
        place = operation.place
        if place.memory in self.ledger.in_registers or not event.lanes.count:
            return
        access = Access(event, operation, self.ledger.device, chunk)
        self._tell(id(event.eqn), ("memory", access.layout.instructions))
        if place in self.ledger.unknown:
            return
        row = access.row()
        if row is None:
            self._add(place, access.by_lanes())
            self._tally_lanes(access)
        elif access.mask_is_static and event.address.inside is None and self._is_settled(access, row):
            self._tell(id(event.eqn), row)
        else:
            self._add(place, self._checked(access, row))
            self._tally_lanes(access)

    def _tell_branch(self, eqn: jex_core.JaxprEqn) -> None:
        """The branch of an iteration of a loop, told with the first operation of its body."""
        if id(eqn) in self.ledger.heads:
            self._tell(id(eqn), ("control", requests.sub_groups(self.ledger.geometry)))

    def _is_settled(self, access: Access, row: Row) -> bool:
        """Whether the executions alone tell what to add."""
        starts_known = len(row.table) == 1 or access.base is None
        return starts_known and (access.memory not in self.ledger.tallied or row.tally is not None)

    def _tell(self, key: int, what: Row | instructions.Count) -> None:
        """Notes what each execution of the frame does."""
        entries = self._frames[-1].setdefault(key, [])
        entry = next((e for e in entries if _same(e.what, what)), None)
        if entry is None:
            entry = Told(0, 0, what)
            entries.append(entry)
        entry.times += 1
        entry.weight += self._weights[-1]

    # What is emitted.

    def _checked(self, access: Access, row: Row) -> jax.Array:
        """The figures of an access; lane by lane if some group is not within bounds as a whole."""
        times = access.executions
        if access.event.address.inside is None:
            return self._figures(row, times, access.base)
        fast, slow = lambda: self._figures(row, times, access.base), lambda: access.relocated().by_lanes()
        return lax.cond(access.fits(times), fast, slow)

    def _figures(self, row: Row, times: jax.Array, base: Any) -> jax.Array:
        """int64 `[F]` of `[G]` executions."""
        if len(row.table) == 1:
            return jnp.asarray(row.table[0]) * times.sum()
        ids = [self.chunk.group_ids(d) for d in range(len(row.steps))]
        start = row.starts(ids, base)
        if not isinstance(start, jax.Array):
            return jnp.asarray(row.table[int(start)]) * times.sum()
        if start.ndim == 0:
            return jnp.asarray(row.table)[start] * times.sum()
        return (jnp.asarray(row.table)[start] * times[:, None]).sum(0)

    def _add_row(self, row: Row, times: jax.Array) -> None:
        self._add(row.place, self._figures(row, times, None))
        if row.tally is not None and row.tally.memory in self.ledger.tallied:
            ids = [self.chunk.group_ids(d) for d in range(len(row.steps))]
            first = sum((i.astype(np.int64) * np.int64(s) for i, s in zip(ids, row.steps, strict=True)), jnp.int64(0))
            elements = jnp.reshape(first, (-1, 1)) + jnp.asarray(row.tally.elements)
            taken = times[:, None] * jnp.asarray(row.tally.lanes)
            if len(elements) == 1:
                taken = taken.sum(0, keepdims=True)
            self._add_tally(row.tally.memory, elements, taken.astype(np.uint32))

    def _tally_lanes(self, access: Access) -> None:
        if access.operation.place.op == "atomic" and access.memory in self.ledger.tallied:
            self._add_tally(access.memory, *access.lanes_by_element())

    def _add_tally(self, memory: Memory, elements: jax.Array, taken: jax.Array) -> None:
        number = self.ledger.tallied.index(memory)
        tally = self.state["tallies"][number]
        self._put("tallies", number, tally.at[elements.reshape(-1)].add(taken.reshape(-1), mode="drop"))

    def _add(self, place: Place, figures: jax.Array) -> None:
        number = self.ledger.places.index(place)
        self._put("figures", number, self.state["figures"][number] + figures)

    def _add_instructions(self, count: instructions.Count, times: jax.Array) -> None:
        name, number = count
        each = np.zeros(len(instructions.CLASSES), np.int64)
        each[instructions.CLASSES.index(name)] = number
        self._put("classes", 0, self.state["classes"][0] + jnp.asarray(each) * times)

    def _put(self, kind: str, number: int, array: jax.Array) -> None:
        entries = list(self.state[kind])
        entries[number] = array
        self.state = {**self.state, kind: entries}


def _same(a: Row | instructions.Count, b: Row | instructions.Count) -> bool:
    if isinstance(a, Row) and isinstance(b, Row):
        return a.same(b)
    return not isinstance(a, Row) and not isinstance(b, Row) and a == b


def executions(told: Frame, ledger: Ledger) -> Iterator[tuple[Row | instructions.Count, int]]:
    """What a frame was told, and how often a group does it in one execution of the frame."""
    for key, entries in told.items():
        for entry in entries:
            yield entry.what, entry.weight * ledger.paths[key] // max(entry.times, ledger.paths[key])


@dataclasses.dataclass(frozen=True, eq=False)
class Static:
    """What all groups of a launch do outside of frames, as arrays like those of `Ledger.zeros`."""

    figures: list[np.ndarray]
    classes: np.ndarray
    tallies: list[np.ndarray]


def static(root: Frame, ledger: Ledger) -> Static:
    """Multiplies out what every group of the launch does."""
    figures = [np.zeros(len(FIGURES), np.int64) for _ in ledger.places]
    classes = np.zeros(len(instructions.CLASSES), np.int64)
    tallies = [np.zeros(math.prod(memory.shape), np.int64) for memory in ledger.tallied]
    groups = ledger.geometry.groups
    ids = _group_ids(ledger.geometry)
    for what, weight in executions(root, ledger):
        if not isinstance(what, Row):
            classes[instructions.CLASSES.index(what[0])] += what[1] * weight * groups
            continue
        starts = np.broadcast_to(what.starts(ids), (groups,))
        each = np.bincount(starts, minlength=len(what.table))
        figures[ledger.places.index(what.place)] += weight * (each @ what.table)
        if what.tally is not None and what.tally.memory in ledger.tallied:
            tallies[ledger.tallied.index(what.tally.memory)] += weight * _tallied(what.tally, ids, groups)
    return Static(figures, classes, tallies)


def _group_ids(geometry: Geometry) -> list[np.ndarray]:
    """`[groups]` ids in each dimension."""
    linear, counts = np.arange(geometry.groups), geometry.group_range
    return [linear // stride % count for stride, count in zip(group_strides(counts), counts, strict=True)]


def _tallied(tally: Tally, ids: list[np.ndarray], groups: int) -> np.ndarray:
    """Lanes of all groups on each element."""
    size = math.prod(tally.memory.shape)
    if not any(tally.steps):
        return groups * np.bincount(tally.elements, tally.lanes, minlength=size).astype(np.int64)
    first = np.zeros(groups, np.int64)
    for step, id_ in zip(tally.steps, ids, strict=True):
        first += step * id_
    total, block = np.zeros(size, np.int64), max(1, _BLOCK // len(tally.elements))
    for start in range(0, groups, block):
        elements = (first[start : start + block, None] + tally.elements).reshape(-1)
        taken = np.broadcast_to(tally.lanes, (len(elements) // len(tally.lanes), len(tally.lanes))).reshape(-1)
        total += np.bincount(elements, taken, minlength=size).astype(np.int64)
    return total
