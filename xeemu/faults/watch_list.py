"""Watch list: what of a kernel an observer looks at as it runs, and with what it begins."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.bits import bits_of
from xeemu.faults import batches, epochs
from xeemu.faults.batches import Table
from xeemu.faults.proofs import Proofs, Spot
from xeemu.faults.races import CASES, Conflict
from xeemu.faults.stamps import StampFormat, blank
from xeemu.knowledge import termination
from xeemu.knowledge.access_tree import Key, MemoryOperation
from xeemu.knowledge.termination import IterationLimits
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation

State = dict[str, Any]

# Comparisons of an access with the stamps of a spot for which the code of each is compiled; of more see `batches`. What
# XLA takes to compile, on any host (2-core EPYC: the first check of 24 stores takes 3.0 times as long without batches).
_MOST_COMPARED = 32
# What is counted with an example of each.
_COUNTED = ("beyond", "unwritten", "misaligned", "parted")


class OutOfBounds(NamedTuple):
    """An example of an access out of bounds; the components of its index follow."""

    group: Any
    item: Any


class Unwritten(NamedTuple):
    """An example of an uninitialised read, and what was written of the memory: how many elements, first and last."""

    group: Any
    item: Any
    element: Any
    written: Any
    first: Any
    last: Any


class Misaligned(NamedTuple):
    """An example of a block that does not begin where it may: its first element, and the work-item of that."""

    group: Any
    item: Any
    element: Any


class Parted(NamedTuple):
    """An example of a barrier that a part of a group reaches: how many do, one that does and one that does not.

    The group is a work-group; of a barrier of sub-groups all three are of one sub-group of it.
    """

    group: Any
    count: Any
    reaching: Any
    missing: Any


@dataclasses.dataclass(frozen=True, eq=False)
class WatchList:
    """What there is to watch in a launch.

    Attributes:
      proofs: what could not be proved.
      max_iterations: after which a loop that need not end is stopped.
    """

    proofs: Proofs
    max_iterations: int

    @property
    def geometry(self) -> Geometry:
        return self.proofs.tree.geometry

    @functools.cached_property
    def pairs(self) -> tuple[tuple[Spot, Spot], ...]:
        return tuple(self.proofs.races)

    @functools.cached_property
    def spots(self) -> tuple[Spot, ...]:
        """The spots whose uses are stamped."""
        return tuple(dict.fromkeys(spot for pair in self.pairs for spot in pair))

    @functools.cached_property
    def by_spot(self) -> Mapping[Spot, tuple[MemoryOperation, ...]]:
        """The operations of each spot of the program, on all call paths."""
        found: dict[Spot, tuple[MemoryOperation, ...]] = {}
        for operation in (o for same in self.proofs.operations.values() for o in same):
            found[Spot.of(operation)] = (*found.get(Spot.of(operation), ()), operation)
        return found

    @functools.cached_property
    def memories(self) -> tuple[Allocation, ...]:
        """The memories whose epochs are counted."""
        return tuple(dict.fromkeys(spot.access_site.memory for spot in self.spots))

    @functools.cached_property
    def layouts(self) -> Mapping[Allocation, StampFormat]:
        """How the stamps of each memory are put together."""
        barriers = [m for m in self.proofs.sync_points.values() if epochs.is_of_group(m)]
        return {
            memory: StampFormat(
                self.geometry.groups if memory.space == "global" else 1,
                self.geometry.items,
                any(memory not in barrier.memories for barrier in barriers),
            )
            for memory in self.memories
        }

    @functools.cached_property
    def tables(self) -> Mapping[Allocation, Table]:
        """The pairs of each memory, by spot."""
        return batches.tables(self.pairs)

    @functools.cached_property
    def reaches(self) -> np.ndarray:
        """`[P]` within whom the users of each pair need no order."""
        return np.array(list(self.proofs.races.values()))

    @functools.cached_property
    def batched(self) -> bool:
        """True if accesses are looked at in batches."""
        compared = {s: t.counts[k] + 2 * (t.alone[k] >= 0) for t in self.tables.values() for k, s in enumerate(t.spots)}
        many = sum(compared.get(Spot.of(self.operation(key)), 0) for key in self.proofs.operations) > _MOST_COMPARED
        return many and not self.parts

    @functools.cached_property
    def parts(self) -> int:
        """Sub-groups of a work-group, if they need not all pass the same barriers and algorithms of theirs; else 0."""
        geometry = self.proofs.tree.geometry
        some = any(map(epochs.is_of_some_lanes, self.proofs.sync_points.values()))
        return -(-geometry.items // geometry.sub_group_size) if some else 0

    @property
    def most_barriers(self) -> int:
        """Barriers of a group whose accesses can be told apart."""
        summed = 2**62 if self.proofs.additions is None else self.proofs.additions.most_barriers
        return min(summed, *(layout.most_barriers for layout in self.layouts.values()), 2**62)

    @functools.cached_property
    def layered(self) -> frozenset[Allocation]:
        """The memories that barriers of sub-groups order."""
        sync_points = [m for m in self.proofs.sync_points.values() if not epochs.is_of_group(m)]
        return frozenset(memory for memory in self.memories if any(memory in m.memories for m in sync_points))

    @functools.cached_property
    def initialised(self) -> tuple[Allocation, ...]:
        """The memories of which it is kept what was written; those of the launch first, in the order of the program."""
        found = dict.fromkeys(spot.access_site.memory for spot in self.unwritten)
        return tuple(sorted(found, key=lambda memory: memory.space != "global"))

    @functools.cached_property
    def present(self) -> tuple[Allocation, ...]:
        """Those of global memory, of which something has been written before the launch."""
        return tuple(memory for memory in self.initialised if memory.space == "global")

    @functools.cached_property
    def bounds(self) -> tuple[Spot, ...]:
        return self._spots(self.proofs.bounds)

    @functools.cached_property
    def unwritten(self) -> tuple[Spot, ...]:
        return self._spots(self.proofs.unwritten)

    @functools.cached_property
    def blocks(self) -> tuple[Spot, ...]:
        return self._spots(self.proofs.blocks)

    @functools.cached_property
    def barriers(self) -> tuple[Key, ...]:
        return tuple(key for key in self.proofs.sync_points if key in self.proofs.barriers)

    @functools.cached_property
    def followed(self) -> frozenset[Key]:
        """The operations that are no accesses whose results are looked at."""
        return frozenset().union(*(following.paths.followed for following in self.proofs.followings))

    @functools.cached_property
    def summed(self) -> frozenset[Key]:
        """The atomic sums that may depend on the order."""
        summed = self.proofs.additions
        return frozenset() if summed is None else frozenset(o.key for o in summed.operations)

    @functools.cached_property
    def limits(self) -> IterationLimits:
        """How long loops may go on."""
        return termination.limits([self.proofs.tree.root.facts], self.max_iterations)

    def _spots(self, keys: frozenset[Key]) -> tuple[Spot, ...]:
        return tuple(dict.fromkeys(Spot.of(self.operation(k)) for k in self.proofs.operations if k in keys))

    def operation(self, key: Key) -> MemoryOperation:
        return self.proofs.operations[key][0]

    def zeros(self, *present: jax.Array) -> State:
        """The state in which nothing was found.

        Args:
          present: of each memory of `present` which elements have been written before the launch, bools.

        Keys:
          conflicts, differing: for each pair int64 `[CASES]` counts, and of how many the values stored differ.
          examples: for each pair int64 `[CASES, 8]`, see `Conflict`.
          beyond, unwritten, misaligned, parted: for each spot or barrier an int64 count and an example.
          present: for each memory of `present` which elements have been written by then.
          exceeded: for each loop of `limits` true if it was stopped.
          passed: the most barriers that a group has passed.
          shared: for each spot of global memory its stamps.
          followed: for each following what was found, see `Following.zeros`.
          added: of atomic sums that may depend on the order, see `Additions.zeros`; None without any.
        Where accesses are looked at in batches, `conflicts`, `differing` and `examples` are arrays, `shared` has for
        the number of each such memory what `batches.KeptFindings` has of it, and `racing` how many of its pairs race.
        """
        count = jnp.zeros((), np.int64)

        def found(size: int) -> tuple[jax.Array, jax.Array]:
            return count, jnp.zeros(size, np.int64)

        return self._zeros_of_races() | {
            "beyond": [found(len(OutOfBounds._fields) + len(s.access_site.memory.shape)) for s in self.bounds],
            "unwritten": [found(len(Unwritten._fields)) for _ in self.unwritten],
            "present": list(present),
            "misaligned": [found(len(Misaligned._fields)) for _ in self.blocks],
            "parted": [found(len(Parted._fields)) for _ in self.barriers],
            "exceeded": [jnp.zeros((), bool) for _ in self.limits.loops],
            "passed": count,
            "followed": [following.zeros() for following in self.proofs.followings],
            "added": None if self.proofs.additions is None else self.proofs.additions.zeros(),
        }

    def reported(self, state: State) -> State:
        """What findings are made of: not who has used which element, nor which have been written."""
        return {kind: entry for kind, entry in state.items() if kind not in ("shared", "present")}

    def has_found(self, state: State) -> bool:
        """True if anything was found by a run that has left a state."""
        counted = [*state["conflicts"], *(np.asarray(c) for kind in _COUNTED for c, _ in state[kind])]
        counted += [*state["exceeded"], *(counts for counts, _ in state["followed"])]
        counted += [] if state["added"] is None else [count for count, _ in state["added"].found]
        return any(np.any(each) for each in counted)

    def _zeros_of_races(self) -> State:
        pairs, fields, count = len(self.pairs), len(Conflict._fields), jnp.zeros((), np.int64)
        if self.batched:
            return {
                "conflicts": jnp.zeros((pairs, CASES), np.int64),
                "differing": jnp.zeros(pairs, np.int64),
                "examples": jnp.zeros((pairs, CASES, fields), np.int64),
                "shared": self.stamps_of_space("global", 1),
                "racing": [count for _ in self.memories],
            }
        return {
            "conflicts": [jnp.zeros(CASES, np.int64) for _ in self.pairs],
            "differing": [count for _ in self.pairs],
            "examples": [jnp.zeros((CASES, fields), np.int64) for _ in self.pairs],
            "shared": self.stamps_of_space("global", 1),
        }

    def stamps_of_space(self, space: str, copies: int) -> dict[int, list[jax.Array]]:
        """The stamps of all spots of such memories, by their number; of all of a memory in batches, by its number."""
        if self.batched:
            numbered = ((k, memory) for k, memory in enumerate(self.memories) if memory.space == space)
            return {k: self._of_spots(memory, copies) for k, memory in numbered}
        memories = ((n, spot.access_site.memory) for n, spot in enumerate(self.spots))
        return {n: self.stamps(memory, copies) for n, memory in memories if memory.space == space}

    def _of_spots(self, memory: Allocation, copies: int) -> list[jax.Array]:
        """The stamps of all spots of a memory, and the bits that have been stored, see `batches.KeptFindings`."""
        table = self.tables[memory]
        size = copies * memory.elements if table.compares else 1
        return [*self.stamps(memory, copies * len(table.spots)), jnp.zeros(size, bits_of(memory.dtype))]

    def stamps(self, memory: Allocation, copies: int) -> list[jax.Array]:
        """The stamps of a spot of which nobody has used anything: last and first, and those by sub-group epochs."""
        layers = 2 if memory in self.layered else 1
        return [blank(copies * memory.elements) for _ in range(2 * layers)]
