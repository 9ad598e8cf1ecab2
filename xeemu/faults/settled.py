"""Settled: what of a launch's doubts no data decide, so that what one run finds there holds for every equal call.

An access is exact if group ids and loop counters tell in what executions which work-items access which elements. Who
races at exact accesses, reads there what nobody wrote, or is out of bounds, depends on no data; only which values are
stored does, and so whether two stores that race store one value.
"""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from xeemu.faults import initialisation
from xeemu.faults.proofs import Proofs, Spot
from xeemu.faults.watch_list import State, WatchList
from xeemu.knowledge import instances
from xeemu.knowledge.access_tree import Key, MemoryOperation, SyncPoint
from xeemu.language.linearity import Allocation

Parts = tuple[Proofs, Proofs]
"""What addresses alone decide, and what is left."""


def parted(proofs: Proofs) -> Parts:
    """What is to be watched of a program, divided; each memory whose accesses may race is in one part as a whole."""
    exact = _Exact(proofs)
    racing = {pair: exact.are(*pair) for pair in proofs.races}
    open_ = {pair[0].access_site.memory for pair, settled in racing.items() if not settled or not exact.sync_points}
    return _divided(proofs, lambda memory: memory not in open_, exact)


def without_races(parts: Parts, memories: Iterable[Allocation]) -> Parts:
    """The same, but that the races of some memories are left to the second part."""
    settled, rest = parts
    moved = {pair: reach for pair, reach in settled.races.items() if pair[0].access_site.memory in set(memories)}
    kept = {pair: reach for pair, reach in settled.races.items() if pair not in moved}
    return dataclasses.replace(settled, races=kept), dataclasses.replace(rest, races={**rest.races, **moved})


def any_exact_unproved(proofs: Proofs) -> bool:
    """True if something probably is wrong: addresses that no data decide could have proved it right, and did not."""
    exact = _Exact(proofs)
    accesses = any(map(exact.is_access, proofs.bounds | proofs.blocks)) or any(map(exact.is_read, proofs.unwritten))
    return accesses or (exact.sync_points and any(exact.are(*pair) for pair in proofs.races))


def _divided(proofs: Proofs, races_of: Callable[[Allocation], bool], exact: "_Exact") -> Parts:
    races = {pair: reach for pair, reach in proofs.races.items() if races_of(pair[0].access_site.memory)}
    settled = dataclasses.replace(
        proofs,
        races=races,
        bounds=frozenset(filter(exact.is_access, proofs.bounds)),
        unwritten=frozenset(filter(exact.is_read, proofs.unwritten)),
        blocks=frozenset(filter(exact.is_access, proofs.blocks)),
        barriers=frozenset(key for key in proofs.barriers if _is_exact_sync_point(proofs.sync_points[key])),
        endless=False,
        followings=(),
        additions=None,
    )
    rest = dataclasses.replace(
        proofs,
        races={pair: reach for pair, reach in proofs.races.items() if pair not in races},
        bounds=proofs.bounds - settled.bounds,
        unwritten=proofs.unwritten - settled.unwritten,
        blocks=proofs.blocks - settled.blocks,
        barriers=proofs.barriers - settled.barriers,
    )
    return settled, rest


class _Exact:
    """Of which operations of a program all executions are known."""

    def __init__(self, proofs: Proofs):
        self._by_spot: dict[Spot, list[MemoryOperation]] = {}
        self._by_memory: dict[Allocation, list[MemoryOperation]] = {}
        self._operations, self._tree = proofs.operations, proofs.tree
        for operation in (o for same in proofs.operations.values() for o in same):
            self._by_spot.setdefault(Spot.of(operation), []).append(operation)
            self._by_memory.setdefault(operation.access_site.memory, []).append(operation)
        self.sync_points = all(map(_is_exact_sync_point, proofs.sync_points.values()))

    def are(self, *spots: Spot) -> bool:
        """True if spots are exact, whatever operations they stand for."""
        return all(self._is_exact(o) for spot in spots for o in self._by_spot[spot])

    def is_access(self, key: Key) -> bool:
        """True if the spot of an access is exact."""
        return self.are(Spot.of(self._operations[key][0]))

    def is_read(self, key: Key) -> bool:
        """True if the spot of a read is exact, and what writes its memory; of global memory data tell what is set."""
        memory = self._operations[key][0].access_site.memory
        writes = filter(initialisation.writes, self._by_memory[memory])
        return memory.space != "global" and self.is_access(key) and all(map(self._is_exact, writes))

    def _is_exact(self, operation: MemoryOperation) -> bool:
        return instances.is_exact(operation, self._tree)


def _is_exact_sync_point(sync_point: SyncPoint) -> bool:
    node = sync_point.node
    known = (sync_point.mask is None or sync_point.mask.known) and all(condition.known for condition in node.conditions)
    return known and node.certain


def merged(watch: WatchList, seen: Sequence[tuple[WatchList, State]]) -> State:
    """What was found in parts of a run that were watched apart: of the keys of `WatchList.zeros` those of findings.

    Args:
      watch: the whole.
      seen: of each part what was watched, and the state that the run has left.
    """

    def of(kind: str, keys: Callable[[WatchList], Iterable[Hashable]]) -> list[Any]:
        found: Mapping[Hashable, Any] = {
            key: entry for part, state in seen for key, entry in zip(keys(part), state[kind], strict=True)
        }
        return [found[key] for key in keys(watch)]

    racing = {m: n for part, state in seen for m, n in zip(part.memories, state.get("racing", ()), strict=False)}
    return {
        **{kind: of(kind, lambda part: part.pairs) for kind in ("conflicts", "differing", "examples")},
        "beyond": of("beyond", lambda part: part.bounds),
        "unwritten": of("unwritten", lambda part: part.unwritten),
        "misaligned": of("misaligned", lambda part: part.blocks),
        "parted": of("parted", lambda part: part.barriers),
        "followed": of("followed", lambda part: part.proofs.followings),
        "added": next((state["added"] for _, state in seen if state["added"] is not None), None),
        "racing": [racing.get(memory, 0) for memory in watch.memories],
    }
