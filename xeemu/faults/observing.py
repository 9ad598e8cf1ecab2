"""Observing: a launch carried out, and what is wrong in it seen as it runs, or known of a run before."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xeemu.faults import agreement, settled
from xeemu.faults.proofs import Proofs
from xeemu.faults.race_findings import RaceFindings
from xeemu.faults.run import Run
from xeemu.faults.screening import Screened
from xeemu.faults.watch_list import State, WatchList
from xeemu.faults.watcher import Watcher
from xeemu.language.linearity import Allocation
from xeemu.launching import executables
from xeemu.launching.executables import Watched
from xeemu.launching.preparation import Prepared


class Observed:
    """A prepared launch that is watched: what no data decide in the first run alone, what they do in each.

    Args:
      prepared: the launch.
      watch: what there is to watch in it.
      check_ended: refuses the state of a run that was given up.
    """

    def __init__(self, prepared: Prepared, watch: WatchList, check_ended: Callable[[State], None]):
        self._prepared, self._watch, self._check_ended = prepared, watch, check_ended
        self._kept: tuple[_Seen, _ScreenedPart | None] | None = None
        self._merged: tuple[State, State] | None = None

    def run(self, given: Sequence[Any], present: Sequence[np.ndarray]) -> tuple[list[np.ndarray], State]:
        """The outputs, and what was found, see `settled.merged`: the same object as before where that is known.

        Args:
          given: the arguments.
          present: for each of `WatchList.present` which elements have been written before.
        """
        if self._kept is None:
            self._kept = self._first(given)
        seen, rest = self._kept
        if rest is None:
            return executables.executable(self._prepared.unwatched).run(given), seen[0][1]
        outputs, state = self._ended(rest, given, present)
        merged = self._merged
        if merged is None or merged[0] is not state:
            self._merged = merged = state, settled.merged(self._watch, [*seen, (rest.watch, state)])
        return outputs, merged[1]

    def _first(self, given: Sequence[Any]) -> "tuple[_Seen, _ScreenedPart | None]":
        """What is seen of what no data decide, and what is left to be watched in each run."""
        parts = settled.parted(self._watch.proofs)
        parts = settled.without_races(parts, [m for m in _only_stored(parts[0]) if not self._agree(m)])
        if parts[0].complete:
            return [], self._part(parts[1])
        part = self._part(parts[0], outputs=False)
        _, state = self._ended(part, given, ())
        parts = settled.without_races(parts, self._open(part.watch, state))
        seen = [(part.watch, state)]
        if parts[1].complete:
            return [(self._watch, settled.merged(self._watch, seen))], None
        kept = WatchList(parts[0], self._watch.max_iterations)
        return [(kept, settled.merged(kept, seen))], self._part(parts[1])

    def _part(self, proofs: Proofs, outputs: bool = True) -> "_ScreenedPart":
        return _ScreenedPart(self._prepared, WatchList(proofs, self._watch.max_iterations), outputs)

    def _ended(
        self, part: "_ScreenedPart", given: Sequence[Any], present: Sequence[np.ndarray]
    ) -> tuple[list[np.ndarray], State]:
        outputs, state = part.run(given, present)
        self._check_ended(state)
        return outputs, state

    def _open(self, watch: WatchList, state: State) -> list[Allocation]:
        """The memories of which the values that are stored decide on a finding."""
        program = self._prepared.program
        alike = {**state, "differing": np.zeros(len(watch.pairs), np.int64)}
        deciding = RaceFindings(Run(program, watch, alike, None)).depending()
        return [memory for memory in deciding if not self._agree(memory)]

    def _agree(self, memory: Allocation) -> bool:
        """True if no data decide if stores of a memory that race store one value."""
        return agreement.is_settled(memory, self._watch.proofs, self._prepared.program.written)


def _only_stored(proofs: Proofs) -> list[Allocation]:
    """The memories of which no accesses but stores may race."""
    kinds: dict[Allocation, set[str]] = {}
    for spot in (spot for pair in proofs.races for spot in pair):
        kinds.setdefault(spot.access_site.memory, set()).add(spot.access_site.op)
    return [memory for memory, each in kinds.items() if each == {"store"}]


class _ScreenedPart:
    """A prepared launch that is screened as long as nothing may be wrong, and watched then.

    That is so of short launches, too: what screens takes the compiler less than what watches, and most are right. Where
    something probably is wrong, a first run is watched at once: what screens it would be compiled for nothing.

    Args:
      prepared: the launch.
      watch: what there is to watch in it.
      outputs: true if a run gives the kernel's outputs.
    """

    def __init__(self, prepared: Prepared, watch: WatchList, outputs: bool):
        self.watch = watch
        self._screened = Screened(prepared, watch, outputs)
        self._watched = Watched(
            prepared, functools.partial(Watcher, watch), watch.zeros, outputs, reported=watch.reported
        )
        # Before a run was watched nothing is known.
        self._found: bool | None = None
        self._exact_unproved = settled.any_exact_unproved(watch.proofs)

    def run(self, given: Sequence[Any], present: Sequence[np.ndarray]) -> tuple[list[np.ndarray], State]:
        is_wrong = self._exact_unproved if self._found is None else self._found
        right = None if is_wrong else self._screened.run(given, present)
        if right is not None:
            return right
        outputs, state = self._watched.run(given, present)
        self._found = self._found or self.watch.has_found(state)
        return outputs, state


_Seen = list[tuple[WatchList, State]]
