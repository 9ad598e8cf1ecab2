"""Watcher: the observer that finds faults as a kernel runs, in what could not be proved before.

Axis legend: G work-groups of a chunk, L work-items of a group, n elements of an access that take part in a group.

For races it keeps stamps of who used each element last (`stamps`), a pair of them for each spot of the source that may
take part in one; each access looks at the stamps of the spots that it must not meet. Lockstep hides nothing, since
stamps tell work-items and epochs and no order of execution.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission import positions
from xeemu.emission.bits import bits, bits_of, first_of
from xeemu.emission.buffers import Buffer
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import AccessEvent, Observer, Passage, ResultEvent
from xeemu.faults import (
    additions,
    alignment,
    batches,
    convergence,
    epochs,
    faulty_lanes,
    initialisation,
    races,
    written,
)
from xeemu.faults.batches import Batch, KeptFindings, RecordedAccess
from xeemu.faults.faulty_lanes import Example, Lane, linear_ids
from xeemu.faults.following import Trail
from xeemu.faults.proofs import Spot
from xeemu.faults.races import Conflict, Found, User
from xeemu.faults.stored_values import StoredValues, given_values
from xeemu.faults.watch_list import Parted, State, WatchList
from xeemu.knowledge.access_tree import MemoryOperation, SyncPoint
from xeemu.knowledge.analysis import Facts
from xeemu.language.linearity import Allocation


class Watcher(Observer):
    """Watches what one chunk of work-groups does.

    Attributes:
      state: what was found, see `WatchList.zeros`; and of the chunk `own`, the stamps of local memory, `barriers`, how
        many each group has passed, `epochs` and `sub_epochs` of each memory, and `written`, what was written. To read
        it is to look at the accesses that wait in batches, which belong to the loop or branch that is being emitted.
    """

    watches = True

    def __init__(self, watch: WatchList, chunk: EmittedChunk, state: State):
        self.watch, self.chunk = watch, chunk
        self.limits, self.followed = watch.limits, watch.followed
        groups = chunk.count
        passed = jnp.zeros(groups, np.int64)
        self.trails = [Trail(following, chunk) for following in watch.proofs.followings]
        self._batches: dict[Allocation, list[RecordedAccess]] = {memory: [] for memory in watch.memories}
        self._found = {
            **state,
            "own": watch.stamps_of_space("local", groups),
            "barriers": passed,
            "epochs": [passed for _ in watch.memories],
            "sub_epochs": [
                jnp.zeros((groups, watch.parts), np.int64) if watch.parts else passed for _ in watch.memories
            ],
            "written": written.nothing(watch.initialised[len(watch.present) :], chunk),
            "followed": [t.start(found) for t, found in zip(self.trails, state["followed"], strict=True)],
        }
        if watch.proofs.additions is not None:
            self._found["added"] = watch.proofs.additions.started(state["added"], groups)

    @property
    def state(self) -> State:
        for memory in self._batches:
            self._look(memory)
        return self._found

    @state.setter
    def state(self, state: State) -> None:
        assert not any(self._batches.values())
        self._found = state

    def close(self) -> State:
        """What was found up to the end of the chunk."""
        state = self.state
        counts = [state["barriers"], *state["sub_epochs"]]
        passed = functools.reduce(jnp.maximum, (count.max() for count in counts), state["passed"])
        followed = [each.found for each in state["followed"]]
        left = {kind: state[kind] for kind in self.watch.zeros()} | {"passed": passed, "followed": followed}
        summed = self.watch.proofs.additions
        return left if summed is None else left | {"added": summed.closed(left["added"])}

    def on_access(self, event: AccessEvent, chunk: EmittedChunk) -> None:
        operation = self._executed(event)
        if operation is None:
            return
        for n, trail in enumerate(self.trails):
            self._put("followed", n, trail.on_access(event, operation.op, self._items, self._found["followed"][n]))
        spot = Spot.of(operation)
        if operation.key in self.watch.proofs.bounds:
            self._check_bounds(event, self.watch.bounds.index(spot))
        if operation.key in self.watch.proofs.blocks:
            self._check_aligned(event, self.watch.blocks.index(spot), operation)
        if not event.buffer.elements:
            return
        if operation.key in self.watch.proofs.unwritten:
            self._check_written(event, self.watch.unwritten.index(spot), operation.access_site.memory)
        if operation.access_site.memory in self.watch.initialised and initialisation.writes(operation):
            self._note_written(event, self.watch.initialised.index(operation.access_site.memory))
        if operation.key in self.watch.summed:
            self._check_sums(event, spot)
        if spot in self.watch.spots and operation.access_site.op != "store":
            self._check_races(event, spot, None)

    def on_stored(self, event: AccessEvent, after: Buffer, chunk: EmittedChunk) -> None:
        operation = self._executed(event)
        if operation is not None and event.buffer.elements and Spot.of(operation) in self.watch.spots:
            self._check_races(event, Spot.of(operation), after)

    def on_result(self, result: ResultEvent, chunk: EmittedChunk) -> None:
        key = (result.facts, result.number)
        for n, trail in enumerate(self.trails):
            if key in trail.paths.followed:
                self._put("followed", n, trail.on_result(result, self._found["followed"][n]))

    def on_operation(self, facts: Facts, number: int, running: jax.Array | None, chunk: EmittedChunk) -> None:
        sync_point = self.watch.proofs.sync_points.get((facts, number))
        if sync_point is not None and not epochs.is_barrier(sync_point) and sync_point.mask is None:
            self.on_barrier(Passage(facts, number, None, running), chunk)

    def on_barrier(self, passage: Passage, chunk: EmittedChunk) -> None:
        key = (passage.facts, passage.number)
        sync_point = self.watch.proofs.sync_points.get(key)
        if sync_point is None:
            return
        passed = jnp.ones(chunk.count, bool) if passage.running is None else passage.running
        if passage.mask is not None:
            reached = convergence.reached(passage.mask, chunk)
            if key in self.watch.barriers:
                self._check_parted(reached, passed, sync_point)
            is_of_group = epochs.is_of_group(sync_point)
            passed = passed & reached.any(1) if is_of_group else passed[:, None] & self._parts(reached)
        ordered = [memory in sync_point.memories for memory in self.watch.memories]
        self._pass(passed.astype(np.int64), ordered, epochs.is_of_group(sync_point))

    def _parts(self, reached: jax.Array) -> jax.Array:
        """`[G, R]` true where all lanes of each sub-group are in a mask `[G, L]`: no others are taken to be ordered."""
        whole = convergence.whole(reached, self.chunk.geometry.sub_group_size)
        return whole if self.watch.parts else whole.all(1, keepdims=True)

    def on_limit(self, facts: Facts, number: int, exceeded: jax.Array, chunk: EmittedChunk) -> None:
        loop = self.limits.numbers[facts, number]
        self._put("exceeded", loop, self._found["exceeded"][loop] | (exceeded & self.may_continue()))

    def may_continue(self) -> jax.Array:
        return ~jnp.stack(self._found["exceeded"]).any()

    def _executed(self, event: AccessEvent) -> MemoryOperation | None:
        """The access of an event; None if no lane takes part, or in a branch that is known never to be taken."""
        if not event.lanes.count:
            return None
        return next(iter(self.watch.proofs.operations.get((event.facts, event.number), ())), None)

    # Bounds, initialisation, barriers.

    def _check_bounds(self, event: AccessEvent, number: int) -> None:
        inside = event.address.inside
        if inside is None:
            return
        beyond = event.active(self._items) & ~inside
        components = [event.lanes.array(component, self.chunk) for component in event.indices]
        self._find("beyond", number, event, beyond, lambda at: [at.group, at.item, *map(at.of, components)])

    def _check_aligned(self, event: AccessEvent, number: int, operation: MemoryOperation) -> None:
        index = alignment.block_index(event, self.chunk)
        misaligned = alignment.misaligned(event, operation, self.chunk)
        self._find("misaligned", number, event, misaligned, lambda at: [at.group, at.item, at.of(index)])

    def _check_written(self, event: AccessEvent, number: int, memory: Allocation) -> None:
        bitmap = self._bitmap(self.watch.initialised.index(memory))

        def example(at: Lane) -> list[jax.Array]:
            if memory.space == "global":
                row = bitmap
            elif memory.space == "local":
                row = bitmap.reshape(self.chunk.count, memory.elements)[at.row]
            else:
                row = bitmap.reshape(memory.elements, -1)[:, at.row * self._items + at.item]
            last = memory.elements - 1 - first_of(row[::-1])
            return [at.group, at.item, at.of(event.address.index), row.sum(), first_of(row), last]

        self._find("unwritten", number, event, written.missing(event, bitmap, self.chunk), example)

    def _note_written(self, event: AccessEvent, memory: int) -> None:
        self._put(*self._kept(memory), written.after(event, self._bitmap(memory), self.chunk))

    def _bitmap(self, memory: int) -> jax.Array:
        """Which elements have been written of a memory by its number."""
        kind, number = self._kept(memory)
        bitmap: jax.Array = self._found[kind][number]
        return bitmap

    def _kept(self, memory: int) -> tuple[str, int]:
        """By what kind and number the state has the bitmap of a memory."""
        own = memory - len(self.watch.present)
        return ("written", own) if own >= 0 else ("present", memory)

    def _check_parted(self, reached: jax.Array, running: jax.Array, sync_point: SyncPoint) -> None:
        number, size = self.watch.barriers.index(sync_point.key), epochs.participants(sync_point, self.chunk.geometry)
        parted = running[:, None] & convergence.parted(reached, size)
        (count, example), (row, *lanes) = self._found["parted"][number], convergence.example(reached, parted, size)
        seen = Parted(linear_ids(self.chunk)[row], *lanes)
        first = (count == 0) & parted.any()
        self._put("parted", number, (count + parted.sum(), jnp.where(first, faulty_lanes.vector(seen), example)))

    def _find(self, kind: str, number: int, event: AccessEvent, hits: jax.Array, example: Example) -> None:
        """Counts the lanes at fault, and keeps the first one of the launch as an example."""
        self._put(kind, number, faulty_lanes.added(self._found[kind][number], hits, event, self.chunk, example))

    # Atomic sums.

    def _check_sums(self, event: AccessEvent, spot: Spot) -> None:
        summed, barriers = self.watch.proofs.additions, self._found["barriers"][:, None]
        assert summed is not None
        user = User.of(event, self._places(event), self.chunk, barriers, barriers, barriers)
        contents = event.buffer.data.reshape(-1)[user.place]
        values = event.lanes.array(event.values[0], self.chunk)
        state = additions.added(summed, self._found["added"], event, user, values, contents)
        self._found = {**self._found, "added": state}

    # Races.

    def _pass(self, passed: jax.Array, ordered: Sequence[bool], by_group: bool) -> None:
        """Begins new epochs for the groups that pass a barrier, of the memories that it orders."""
        barriers = self._found["barriers"] + (passed if by_group else 0)
        old = list(zip(self._found["epochs"], self._found["sub_epochs"], ordered, strict=True))
        self._found = {
            **self._found,
            "barriers": barriers,
            "epochs": [jnp.where(passed > 0, barriers, e) if on and by_group else e for e, _, on in old],
            "sub_epochs": [s + passed.reshape(len(passed), *[-1] * (s.ndim - 1)) if on else s for _, s, on in old],
        }

    def _check_races(self, event: AccessEvent, spot: Spot, after: Buffer | None) -> None:
        """Compares an access with the stamps of the spots that it must not meet, and leaves its own.

        Args:
          event: the access.
          spot: where it is.
          after: the memory after a plain store.
        """
        if self.watch.batched:
            self._remember(event, spot, after)
            return
        user = self._user(event, spot)
        pairs = [(n, pair) for n, pair in enumerate(self.watch.pairs) if spot in pair]
        alone = [n for n, pair in pairs if pair == (spot, spot)]
        stored = None if after is None else StoredValues.of(event, after, self._places(event), self.chunk)
        for number, pair in pairs:
            if number not in alone:
                other = pair[pair[0] == spot]
                differs = stored.differ if stored is not None and other.access_site.op == "store" else None
                self._add(number, user, self._read(user, other), pair[0] == spot, differs)
        before = self._read(user, spot)
        self._stamp(user, spot)
        for number in alone:
            differs = None
            if stored is not None:
                differs = functools.partial(stored.differ_from_either, self._judge(user, before, number))
            self._add(number, user, self._read(user, spot), False, differs)

    def _user(self, event: AccessEvent, spot: Spot) -> User:
        memory = self.watch.memories.index(spot.access_site.memory)
        epoch, sub_epoch = (self._found[kind][memory] for kind in ("epochs", "sub_epochs"))
        if self.watch.parts and event.lanes.shape:
            sub_epoch = sub_epoch[:, event.items(self._items) // self.chunk.geometry.sub_group_size]
        elif self.watch.parts:
            sub_epoch = sub_epoch.max(1)
        inner = sub_epoch if sub_epoch.ndim > 1 else sub_epoch[:, None]
        barriers = self._found["barriers"][:, None]
        return User.of(event, self._places(event), self.chunk, barriers, epoch[:, None], inner)

    def _stamps(self, spot: Spot) -> list[jax.Array]:
        number = self.watch.spots.index(spot)
        kind = "shared" if number in self._found["shared"] else "own"
        stamps: list[jax.Array] = self._found[kind][number]
        return stamps

    def _stamp(self, user: User, spot: Spot) -> None:
        """Leaves the stamps of an access at its spot."""
        layout, number = self.watch.layouts[spot.access_site.memory], self.watch.spots.index(spot)
        old = self._stamps(spot)
        target = jnp.where(user.active, user.place, old[0].size).reshape(-1)
        new = races.stamped(layout, user, len(old))
        self._put_stamps(number, [a.at[target].max(b, mode="drop") for a, b in zip(old, new, strict=True)])

    def _put_stamps(self, number: int, stamps: Sequence[jax.Array]) -> None:
        kind = "shared" if number in self._found["shared"] else "own"
        self._found = {**self._found, kind: {**self._found[kind], number: list(stamps)}}

    def _read(self, user: User, other: Spot) -> list[jax.Array]:
        """`[G, n]` stamps of the earlier users of each lane's element at a spot."""
        return [stamp[user.place] for stamp in self._stamps(other)]

    def _judge(self, user: User, read: Sequence[jax.Array], number: int) -> jax.Array:
        """The cases of an access as a part of a pair by its number, see `races.judged`."""
        pair = self.watch.pairs[number]
        layout, reach = self.watch.layouts[pair[0].access_site.memory], self.watch.proofs.races[pair]
        return races.judged(user, read, layout, reach, self.chunk.geometry.sub_group_size)

    def _add(
        self,
        number: int,
        user: User,
        read: Sequence[jax.Array],
        turned: bool,
        differs: Callable[[], jax.Array] | None,
    ) -> None:
        """Adds the conflicts of an access to those of a pair."""
        layout, lanes = (
            self.watch.layouts[self.watch.pairs[number][0].access_site.memory],
            self.chunk.geometry.sub_group_size,
        )
        case = self._judge(user, read, number)

        def example(at: jax.Array) -> Conflict:
            return races.conflicting(user.at(at), [r.reshape(-1)[at] for r in read], layout, lanes, turned)

        before = Found(*(self._found[kind][number] for kind in Found._fields))
        found = races.added(before, case, differs or (lambda: case >= 0), example)
        for kind, array in found._asdict().items():
            self._put(kind, number, array)

    # Races, in batches.

    def _remember(self, event: AccessEvent, spot: Spot, after: Buffer | None) -> None:
        """Puts an access to those that wait."""
        memory = spot.access_site.memory
        number, shape = self.watch.memories.index(memory), (self.chunk.count, event.lanes.count)
        table = self.watch.tables[memory]
        place, chosen = self._places(event), table.places[spot]
        first, last = races.ends(event, self._items)
        value = jnp.zeros(shape, bits_of(memory.dtype))
        if after is not None and table.compares:
            value = bits(given_values(event, memory.dtype, self.chunk))
        waiting = self._batches[memory]
        waiting.append(
            RecordedAccess(
                np.int64(chosen),
                jnp.broadcast_to(place, shape),
                jnp.broadcast_to(event.active_lanes(self._items), shape),
                first,
                last,
                self._found["barriers"],
                self._found["epochs"][number],
                self._found["sub_epochs"][number],
                value,
            )
        )
        held = sum(record.place.size * (record.place.dtype.itemsize + 3) for record in waiting)
        if len(waiting) >= batches.MOST or held >= batches.MOST_BYTES:
            self._look(memory)

    def _look(self, memory: Allocation) -> None:
        """Looks at the accesses to a memory that wait."""
        records, number = self._batches[memory], self.watch.memories.index(memory)
        if not records:
            return
        self._batches[memory] = []
        table, layout, lanes = self.watch.tables[memory], self.watch.layouts[memory], self.chunk.geometry.sub_group_size
        own = memory.space == "local"
        batch = Batch(table, self.watch.reaches, layout, lanes, linear_ids(self.chunk), memory.elements, own)
        kind, found = "own" if own else "shared", self._found
        *stamps, contents = found[kind][number]
        seen = (found["conflicts"], found["differing"], found["examples"], found["racing"][number])
        kept = batch.run(records, KeptFindings(tuple(stamps), contents, *seen))
        self._put_stamps(number, [*kept.stamps, kept.contents])
        self._found |= {k: getattr(kept, k) for k in ("conflicts", "differing", "examples")}
        self._put("racing", number, kept.racing)

    # What an access is made of.

    @property
    def _items(self) -> int:
        return self.chunk.geometry.items

    def _places(self, event: AccessEvent) -> jax.Array:
        return positions.buffer_positions(event.buffer, event.address.index, event.lanes, self.chunk)

    def _put(self, kind: str, number: int, entry: Any) -> None:
        entries = list(self._found[kind])
        entries[number] = entry
        self._found = {**self._found, kind: entries}
