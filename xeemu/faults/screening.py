"""Screening: whether anything may be wrong in a run, told sooner than what it is.

To say what is wrong, who did it and where takes several scatters of 64 bits for each access (see `watcher`). That
nothing is wrong is often seen by less: no index is out of bounds, no operation has gone wrong whatever becomes of it,
and no element is stored to twice, whoever did it. Where that does not hold nothing is known, and the run is watched.

Axis legend: G work-groups of a chunk, L work-items of a group, n elements of an access that take part in a group.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission import bits, positions
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import as_value
from xeemu.emission.observer import AccessEvent, Observer, Passage, ResultEvent
from xeemu.emission.values import Emitted
from xeemu.faults import alignment, convergence, epochs, initialisation, written
from xeemu.faults.following import Following
from xeemu.faults.proofs import Spot
from xeemu.faults.watch_list import State, WatchList
from xeemu.knowledge import addressing
from xeemu.knowledge.access_tree import Key, MemoryOperation
from xeemu.knowledge.analysis import Facts
from xeemu.language.linearity import Allocation
from xeemu.launching import apart, executables
from xeemu.launching.executables import Watched
from xeemu.launching.preparation import Prepared


class Screened:
    """A prepared launch that is screened, as long as nothing may have been wrong in a run.

    Args:
      prepared: the launch.
      watch: what there is to watch in it.
      outputs: true if a run gives the kernel's outputs.
    """

    def __init__(self, prepared: Prepared, watch: WatchList, outputs: bool = True):
        self._watch = watch
        self._doubtful = False
        self._prepared, self._outputs = prepared, outputs

    def run(self, given: Sequence[Any], more: Sequence[Any]) -> tuple[list[np.ndarray], State] | None:
        """The kernel's outputs, and the state in which nothing was found, see `WatchList.zeros`.

        None if something may be wrong, in this run or in one before.
        """
        if self._doubtful or not self._possible:
            return None
        watched = self._often if self._seldom.is_long else self._seldom
        outputs, state = watched.run(given, more)
        self._doubtful = bool(state["doubt"])
        if self._doubtful:
            return None
        if self._outputs and not watched.outputs:
            outputs = executables.executable(self._prepared.unwatched).run(given)
        return outputs, self._nothing

    @functools.cached_property
    def _seldom(self) -> Watched:
        """What screens the kernel as it runs, all in one: as long as its runs are short, see `recompiling`."""
        return self._of(self._prepared, self._outputs, None)

    @functools.cached_property
    def _often(self) -> Watched:
        """What screens with all effort: the kernel as it runs, or beside a launch where that takes less."""
        watch, beside = self._watch, None
        if self._outputs and not watch.barriers:
            beside = apart.of_observer(self._prepared, _looked_at(watch), False, any(map(_is_own, _kept(watch))))
        return self._of(beside or self._prepared, self._outputs and beside is None, False)

    def _of(self, prepared: Prepared, outputs: bool, short: bool | None) -> Watched:
        observer, state = functools.partial(Screening, self._watch), functools.partial(zeros, self._watch)
        return Watched(prepared, observer, state, outputs, short, _reported, self._deciding)

    @functools.cached_property
    def _deciding(self) -> tuple[int, ...] | None:
        return None if self._watch.barriers else apart.deciding(self._prepared, _looked_at(self._watch))

    @functools.cached_property
    def _possible(self) -> bool:
        return _is_possible(self._watch)

    @functools.cached_property
    def _nothing(self) -> State:
        with jax.enable_x64(True):
            shapes = self._watch.reported(jax.eval_shape(self._watch.zeros))
        nothing: State = jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), shapes)
        return nothing


def _is_possible(watch: WatchList) -> bool:
    """True if less than all that is watched may tell that a launch is right."""
    stores = all(spot.access_site.op == "store" for spot in watch.spots)
    return stores and watch.proofs.additions is None and not _repeats(watch)


def _repeats(watch: WatchList) -> bool:
    """True if several work-items of a group are known to store to one element, which screening takes for wrong."""
    each = (operation for alternatives in watch.proofs.operations.values() for operation in alternatives)
    stores = (o for o in each if o.mask is None and Spot.of(o) in watch.spots)
    forms = (addressing.foreseen(store.op, store.node.facts).form for store in stores)
    items = watch.proofs.tree.geometry.items
    return any(form is not None and np.unique(form.pattern).size < items for form in forms)


def _looked_at(watch: WatchList) -> frozenset[Key]:
    """The operations whose addresses or operands are looked at."""
    proofs = watch.proofs
    sources = (key for following in proofs.followings for key in following.sources)
    kept = {
        key
        for key, (operation, *_) in proofs.operations.items()
        if Spot.of(operation) in watch.spots
        or (operation.access_site.memory in watch.initialised and initialisation.writes(operation))
    }
    return frozenset({*proofs.bounds, *proofs.blocks, *proofs.unwritten, *kept, *sources})


def _kept(watch: WatchList) -> tuple[Allocation, ...]:
    """The memories of whose elements something is kept."""
    return (*watch.memories, *watch.initialised)


def _only_counted(watch: WatchList) -> frozenset[Allocation]:
    """The local memories to which nobody writes but by stores that are counted: what is noted of these tells both."""
    written = {memory for memory in watch.initialised if memory.space == "local" and memory in watch.memories}
    operations = (operation for same in watch.proofs.operations.values() for operation in same)
    writing = (o for o in operations if initialisation.writes(o))
    others = (o for o in writing if Spot.of(o) not in watch.spots or initialisation.unsets(o))
    return frozenset(written - {operation.access_site.memory for operation in others})


def _is_own(memory: Allocation) -> bool:
    return memory.space != "global"


def _reported(state: State) -> State:
    """True if anything may be wrong, also as a memory was stored to more often than elements of it were."""
    twice = [times != bits.count_of(elements) for elements, times in state["stored"]]
    return {"doubt": jnp.stack([state["doubt"], *twice]).any()}


def zeros(watch: WatchList, *present: jax.Array) -> State:
    """The state before the first chunk.

    Args:
      watch: what there is to watch.
      present: as of `WatchList.zeros`.

    Keys:
      doubt: true if anything may be wrong.
      stored: for each global memory of which stores are watched which elements have been stored to, bools, and an
        int64, how many stores there were.
      present: for each memory of `present` which elements have been written by then.
    """
    remote = [memory for memory in watch.memories if memory.space == "global"]
    return {
        "doubt": jnp.zeros((), bool),
        "stored": [(jnp.zeros(memory.elements, bool), jnp.zeros((), np.int64)) for memory in remote],
        "present": list(present),
    }


class Screening(Observer):
    """Looks whether anything may be wrong in one chunk of work-groups.

    Attributes:
      state: see `zeros`; and of the chunk `own`, the same as `stored` of local memories, and `written`, what was
        written of those that are not global and that `own` does not tell of.
    """

    watches = True

    def __init__(self, watch: WatchList, chunk: EmittedChunk, state: State):
        self.watch, self.chunk = watch, chunk
        self.limits = watch.limits
        self._sources = [(following, following.sources) for following in watch.proofs.followings]
        self.followed = frozenset(key for _, sources in self._sources for key in sources)
        self._local = [memory for memory in watch.memories if memory.space == "local"]
        counted = _only_counted(watch)
        self._written = [memory for memory in watch.initialised[len(watch.present) :] if memory not in counted]
        self.state = {
            **state,
            "own": [(jnp.zeros(chunk.count * m.elements, bool), jnp.zeros((), np.int64)) for m in self._local],
            "written": written.nothing(self._written, chunk),
        }

    def close(self) -> State:
        """The state for the next chunk."""
        for elements, times in self.state["own"]:
            self._doubt(bits.count_of(elements) != times)
        return {kind: self.state[kind] for kind in ("doubt", "stored", "present")}

    def on_access(self, event: AccessEvent, chunk: EmittedChunk) -> None:
        operation = next(iter(self.watch.proofs.operations.get((event.facts, event.number), ())), None)
        if operation is None or not event.lanes.count:
            return
        if operation.key in self.watch.proofs.bounds and event.address.inside is not None:
            self._doubt(event.active(self._items) & ~event.address.inside)
        if operation.key in self.watch.proofs.blocks:
            self._doubt(alignment.misaligned(event, operation, chunk))
        if not event.buffer.elements:
            return
        memory = operation.access_site.memory
        if memory in self.watch.initialised:
            self._look_at_written(event, operation)
        if Spot.of(operation) in self.watch.spots:
            self._count(event, operation)

    def on_result(self, result: ResultEvent, chunk: EmittedChunk) -> None:
        for following, sources in self._sources:
            if (result.facts, result.number) in sources:
                self._look_at(result, following)

    def on_barrier(self, passage: Passage, chunk: EmittedChunk) -> None:
        if (passage.facts, passage.number) not in self.watch.barriers or passage.mask is None:
            return
        sync_point = self.watch.proofs.sync_points[passage.facts, passage.number]
        reached = convergence.reached(passage.mask, chunk)
        parted = convergence.parted(reached, epochs.participants(sync_point, chunk.geometry)).any(1)
        self._doubt(parted if passage.running is None else parted & passage.running)

    def on_limit(self, facts: Facts, number: int, exceeded: jax.Array, chunk: EmittedChunk) -> None:
        self._doubt(exceeded)

    def may_continue(self) -> jax.Array:
        return ~self.state["doubt"]

    def _doubt(self, wrong: jax.Array) -> None:
        self.state = {**self.state, "doubt": self.state["doubt"] | bits.any_of(wrong)}

    def _look_at_written(self, event: AccessEvent, operation: MemoryOperation) -> None:
        memory = operation.access_site.memory
        counted = memory in self._local and memory not in self._written
        if counted:
            before, _ = self.state["own"][self._local.index(memory)]
        else:
            kind, known = (
                ("present", self.watch.present) if memory in self.watch.present else ("written", self._written)
            )
            before = self.state[kind][known.index(memory)]
        if operation.key in self.watch.proofs.unwritten:
            self._doubt(written.missing(event, before, self.chunk))
        if initialisation.writes(operation) and not counted:
            self._put(kind, known.index(memory), written.after(event, before, self.chunk))

    def _look_at(self, result: ResultEvent, following: Following) -> None:
        """Looks whether an operation goes wrong, of which what it is given is right."""
        number = following.numbers[result.facts, result.number]
        values = [_array(as_value(item), self.chunk) for item in result.operands]
        found = _array(as_value(result.results[0]), self.chunk)
        found = jnp.broadcast_to(found, (max(a.shape[0] for a in (*values, found)), *found.shape[1:]))
        values = [value.reshape(-1, *[1] * (found.ndim - 1)) if value.ndim == 1 else value for value in values]
        mark = following.rule.mark(result.op, number, values, [None] * len(values), found, None)
        if mark is not None:
            running = jnp.ones(1, bool) if result.running is None else result.running
            self._doubt(mark.marked.reshape(mark.marked.shape[0], -1) & running[:, None])

    def _count(self, event: AccessEvent, operation: MemoryOperation) -> None:
        """Counts the stores to a memory, and notes its elements: these are fewer where one was stored to twice."""
        memory, chunk = operation.access_site.memory, self.chunk
        kind = "stored" if memory.space == "global" else "own"
        known = self._local if kind == "own" else [m for m in self.watch.memories if m.space == "global"]
        number, shape = known.index(memory), (chunk.count, event.lanes.count)
        places = jnp.broadcast_to(
            positions.buffer_positions(event.buffer, event.address.index, event.lanes, chunk), shape
        )
        taken = event.active_lanes(self._items)
        # By a scalar index all work-items of a group store to one element.
        each = np.int64(1 if event.lanes.shape or self._items == 1 else 2)
        alike = np.int64(math.prod(shape) // taken.size)
        elements, times = self.state[kind][number]
        target = jnp.where(taken, places, places.dtype.type(elements.size)).reshape(-1)
        elements = elements.at[target].set(True, mode="drop", wrap_negative_indices=False)
        self._put(kind, number, (elements, times + each * alike * bits.count_of(taken)))

    @property
    def _items(self) -> int:
        return self.chunk.geometry.items

    def _put(self, kind: str, number: int, entry: Any) -> None:
        entries = list(self.state[kind])
        entries[number] = entry
        self.state = {**self.state, kind: entries}


def _array(value: Emitted, chunk: EmittedChunk) -> jax.Array:
    """`[G or 1, ...]`"""
    array = value.array(chunk)
    return array if value.known.varying else array[None]
