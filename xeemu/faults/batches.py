"""Batches: races of accesses that stand in a program many times, looked for by one piece of code for all of them.

A loop that Python unrolls makes an operation of every iteration. To compile code of its own for each, and for each spot
that it must not meet, would take minutes; so accesses are remembered, and from time to time a loop of JAX goes through
them in their order. It finds what each would have found by itself.

Axis legend: G work-groups of a chunk, n elements of the accesses of a batch in a group, K accesses, S spots of a
memory, P pairs of all.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.faults import races
from xeemu.faults.proofs import Spot
from xeemu.faults.races import User
from xeemu.faults.stamps import StampFormat
from xeemu.language.linearity import Allocation

# Accesses of a batch, and bytes of what is remembered of them: XLA compiles a loop for each, on any host (2-core EPYC:
# the first check of 48 stores takes 1.4 times as long with 16, or with 64 KiB).
MOST, MOST_BYTES = 256, 8 << 20
# Pairs of spots of a memory that race, after which nobody looks for more: who has written them will mend these first.
MOST_RACING = 100


class RecordedAccess(NamedTuple):
    """An access as it is remembered.

    Attributes:
      spot: its number among those of the memory.
      place: `[G, n]` position in the stamps.
      active: `[G, n]` true where a lane accesses its element.
      first, last: `[n]` the work-items that do so.
      barriers, epoch, sub_epoch: `[G]` of the group, and of the memory.
      value: `[G, n]` bits that a lane stores; anything for what is no store.
    """

    spot: Any
    place: jax.Array
    active: jax.Array
    first: Any
    last: Any
    barriers: jax.Array
    epoch: jax.Array
    sub_epoch: jax.Array
    value: jax.Array


class KeptFindings(NamedTuple):
    """What was found so far.

    Attributes:
      stamps: `[S * size]` each, of the memory's spots, see `WatchList.stamps`.
      contents: `[size]` bits that plain stores have left; of a single element if nobody compares them. What atomic
        operations have made of them does not matter: to conflict with such is worse than to store something else.
      conflicts, differing, examples: `[P, ...]`, see `WatchList.zeros`.
      racing: pairs of the memory of which something was found.
    """

    stamps: tuple[jax.Array, ...]
    contents: jax.Array
    conflicts: jax.Array
    differing: jax.Array
    examples: jax.Array
    racing: jax.Array


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """The pairs of a memory, by spot.

    Attributes:
      spots: the memory's.
      counts: `[S]` of pairs with another spot.
      numbers, others, turned, both: `[S, most]` for each such pair its number, the other spot's, whether the spot is
        the first one of it, and whether both store.
      alone: `[S]` the number of the pair with itself, or -1.
      stores: `[S]` true where it stores.
    """

    spots: tuple[Spot, ...]
    counts: np.ndarray
    numbers: np.ndarray
    others: np.ndarray
    turned: np.ndarray
    both: np.ndarray
    alone: np.ndarray
    stores: np.ndarray

    @functools.cached_property
    def places(self) -> dict[Spot, int]:
        """The number of each spot."""
        return {spot: k for k, spot in enumerate(self.spots)}

    @property
    def compares(self) -> bool:
        """True if it matters which values are stored: whether two stores may race."""
        return bool(self.both.any() or (self.stores & (self.alone >= 0)).any())


def tables(pairs: Sequence[tuple[Spot, Spot]]) -> dict[Allocation, Table]:
    """The tables of all memories."""
    by_memory: dict[Allocation, list[int]] = {}
    for number, (spot, _) in enumerate(pairs):
        by_memory.setdefault(spot.access_site.memory, []).append(number)
    return {memory: _table(pairs, numbers) for memory, numbers in by_memory.items()}


def _table(pairs: Sequence[tuple[Spot, Spot]], numbers: Sequence[int]) -> Table:
    spots = tuple(dict.fromkeys(spot for number in numbers for spot in pairs[number]))
    place = {spot: k for k, spot in enumerate(spots)}
    stores = np.array([spot.access_site.op == "store" for spot in spots])
    alone = np.full(len(spots), -1)
    each: list[list[tuple[int, int, bool]]] = [[] for _ in spots]
    for number in numbers:
        first, second = (place[spot] for spot in pairs[number])
        if first == second:
            alone[first] = number
        else:
            each[first].append((number, second, True))
            each[second].append((number, first, False))
    most = max(1, *map(len, each))
    padded = np.array([[*row, *[(0, 0, False)] * (most - len(row))] for row in each], np.int64)
    filled = padded.reshape(len(spots), most, 3)
    both = stores[:, None] & stores[filled[..., 1]]
    turned = filled[..., 2].astype(bool)
    counts = np.array([len(row) for row in each])
    return Table(spots, counts, filled[..., 0], filled[..., 1], turned, both, alone, stores)


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Accesses to one memory, in their order, which are about to be looked at.

    Attributes:
      table: the memory's pairs.
      reaches: `[P]` of all pairs, see `conflicts.reach`.
      layout: how stamps are put together.
      lanes: of a sub-group.
      groups: `[G]` linear ids.
      elements: of the memory.
      own: true if each group has a copy of it.
    """

    table: Table
    reaches: np.ndarray
    layout: StampFormat
    lanes: int
    groups: jax.Array
    elements: int
    own: bool

    def run(self, records: Sequence[RecordedAccess], kept: KeptFindings) -> KeptFindings:
        """What was found before and by some accesses."""
        count = max(record.place.shape[1] for record in records)
        padded = [_padded(record, count) for record in records]
        columns = [list(column) for column in zip(*padded, strict=True)]
        # What is the same for all need not be given to each.
        same = [all(x is column[0] for x in column) for column in columns]
        rows = [None if one else _stacked(column) for one, column in zip(same, columns, strict=True)]

        def step(kept: KeptFindings, given: list[Any]) -> tuple[KeptFindings, None]:
            fields = [column[0] if x is None else x for x, column in zip(given, columns, strict=True)]
            return self._one(RecordedAccess(*fields), kept), None

        return lax.scan(step, kept, rows, length=len(records))[0]

    def _one(self, record: RecordedAccess, kept: KeptFindings) -> KeptFindings:
        """What was found before and by one access."""
        table, spot, user = self.table, record.spot, self._user(record)
        is_open = kept.racing < MOST_RACING
        stores = jnp.asarray(table.stores)[spot]
        from_old = record.value != _elements(kept.contents, user.place)

        def compared(k: jax.Array, kept: KeptFindings) -> KeptFindings:
            number, other = (jnp.asarray(a)[spot, k] for a in (table.numbers, table.others))
            turned, both = (jnp.asarray(a)[spot, k] for a in (table.turned, table.both))
            return self._found(user, kept, number, other, turned, from_old | ~both)

        kept = lax.fori_loop(0, jnp.where(is_open, jnp.asarray(table.counts)[spot], 0), compared, kept)
        alone = jnp.asarray(table.alone)[spot]
        meets_itself = is_open & (alone >= 0)

        def before() -> jax.Array:
            return self._judged(user, self._read(user, kept, spot), alone) >= 0

        earlier = lax.cond(meets_itself, before, lambda: jnp.zeros(user.place.shape, bool))
        contents = self._stored(record, stores, kept.contents)
        kept = kept._replace(stamps=self._stamped(user, spot, kept.stamps), contents=contents)

        def itself(_: jax.Array, kept: KeptFindings) -> KeptFindings:
            from_new = record.value != _elements(contents, user.place)
            differs = from_new | (earlier & from_old) | ~stores
            return self._found(user, kept, alone, spot, False, differs)

        return lax.fori_loop(0, jnp.where(meets_itself, 1, 0), itself, kept)

    def _user(self, record: RecordedAccess) -> User:
        shape = record.place.shape
        place = record.place.astype(np.int64)
        rows = np.arange(shape[0])[:, None] * self.elements if self.own else 0
        each = (record.barriers, record.epoch, record.sub_epoch)
        barriers, epoch, sub_epoch = (jnp.broadcast_to(x[:, None], shape) for x in each)
        group = jnp.broadcast_to(self.groups[:, None], shape)
        first, last = (jnp.broadcast_to(jnp.asarray(x), shape) for x in (record.first, record.last))
        return User(place, record.active, place - rows, group, first, last, barriers, epoch, sub_epoch)

    def _read(self, user: User, kept: KeptFindings, other: Any) -> list[jax.Array]:
        """`[G, n]` stamps of the earlier users of each lane's element at a spot."""
        size = kept.stamps[0].size // len(self.table.spots)
        return [stamps[other * size + user.place] for stamps in kept.stamps]

    def _judged(self, user: User, read: Sequence[jax.Array], number: Any) -> jax.Array:
        """The cases of an access as a part of a pair, see `races.judged`."""
        return races.judged(user, read, self.layout, jnp.asarray(self.reaches)[number], self.lanes)

    def _stamped(self, user: User, spot: Any, stamps: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        """The stamps after an access."""
        size = stamps[0].size // len(self.table.spots)
        target = jnp.where(user.active, spot * size + user.place, stamps[0].size).reshape(-1)
        new = races.stamped(self.layout, user, len(stamps))
        return tuple(a.at[target].max(b, mode="drop") for a, b in zip(stamps, new, strict=True))

    def _stored(self, record: RecordedAccess, stores: Any, contents: jax.Array) -> jax.Array:
        """The bits that stores have left after an access."""
        target = jnp.where(record.active & stores, record.place, contents.size).reshape(-1)
        return contents.at[target].set(record.value.reshape(-1), mode="drop", wrap_negative_indices=False)

    def _found(
        self, user: User, kept: KeptFindings, number: Any, other: Any, turned: Any, differs: jax.Array
    ) -> KeptFindings:
        """Adds the conflicts of an access to those of a pair, and keeps the first of each case as an example."""
        read = self._read(user, kept, other)
        case = self._judged(user, read, number)

        def example(at: jax.Array) -> races.Conflict:
            return races.conflicting(user.at(at), [r.reshape(-1)[at] for r in read], self.layout, self.lanes, turned)

        before = races.Found(kept.conflicts[number], kept.differing[number], kept.examples[number])
        after = races.added(before, case, lambda: differs, example)
        begun = (before.conflicts.sum() == 0) & (after.conflicts.sum() > 0)
        return kept._replace(
            conflicts=kept.conflicts.at[number].set(after.conflicts),
            differing=kept.differing.at[number].set(after.differing),
            examples=kept.examples.at[number].set(after.examples),
            racing=kept.racing + begun.astype(np.int64),
        )


def _stacked(arrays: Sequence[Any]) -> jax.Array:
    """Arrays of one shape as one; it takes an operation in all, not one more of each."""
    if not all(isinstance(array, jax.Array) and array.ndim for array in arrays):
        return jnp.asarray(np.stack(arrays)) if not any(isinstance(a, jax.Array) for a in arrays) else jnp.stack(arrays)
    return jnp.concatenate(arrays).reshape(len(arrays), *arrays[0].shape)


def _padded(record: RecordedAccess, count: int) -> RecordedAccess:
    """A record with lanes that access nothing, so that there are so many."""
    missing = count - record.place.shape[1]
    if not missing:
        return record

    def lanes(x: Any) -> Any:
        pad = jnp.pad if isinstance(x, jax.Array) else np.pad
        return pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])

    names = ("place", "taken", "first", "last", "value")
    return record._replace(**{name: lanes(getattr(record, name)) for name in names})


def _elements(data: jax.Array, place: jax.Array) -> jax.Array:
    """The elements at some places, of which those that are none do not matter."""
    return data.at[place].get(mode="clip", wrap_negative_indices=False)
