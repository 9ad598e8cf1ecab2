"""The observer that counts what cannot be known before the run: accesses, executions, lanes on an address.

What a census knows it leaves alone, so that of a kernel whose addresses do not depend on data nothing is counted here.
With a sample, accesses that are measured lane by lane are so for the work-groups of the sample alone.

Not counted: the bytes used of accesses to local memory that are measured lane by lane.
"""

import dataclasses
import functools
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.cost import counter, group_sampling, requests
from xeemu.cost.batch import Batch
from xeemu.cost.census import Census
from xeemu.cost.costs import FIGURES
from xeemu.cost.counter import Execution
from xeemu.cost.instructions import START
from xeemu.cost.ledger import TALLY, Ledger, State
from xeemu.cost.observed import MeasuredAccess
from xeemu.cost.sampling import Sample
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import AccessEvent, Observer
from xeemu.emission.values import Emitted
from xeemu.knowledge.access_tree import AccessSite, Key
from xeemu.knowledge.analysis import Facts
from xeemu.language.linearity import Allocation


class Counting(Observer):
    """Counts what one chunk of work-groups does.

    Attributes:
      state: what was counted, see `Ledger.zeros`, and under `groups` int64 `[sampled groups, F]` for each place, under
        `loaded` for each load of `Ledger.once` bool `[G]` which groups have it in a register. To read it is to measure
        the accesses that wait in a batch, which belong to the loop or branch that is emitted.
    """

    watches = True

    def __init__(self, ledger: Ledger, chunk: EmittedChunk, state: State) -> None:
        self.ledger, self.chunk, self.limits = ledger, chunk, ledger.limits
        self.drawn = ledger.sample.drawn(chunk) if ledger.sample else None
        slots = ledger.sample.slots if ledger.sample else 0
        self._counted: State = {
            **state,
            "groups": [jnp.zeros((slots, len(FIGURES)), np.int64) for _ in state["sums"]],
            "loaded": [jnp.zeros(chunk.count, bool) for _ in ledger.once],
        }
        self._batch = Batch(chunk.target.watching)
        self._paths = {facts: number for number, facts in enumerate(ledger.paths)}
        self._sections = {key: number for number, key in enumerate(ledger.sections)}
        # Of the regions that these are in, `[G or 1]` sub-groups with an active lane.
        self._regions: dict[Key, jax.Array] = {}

    @property
    def state(self) -> State:
        self._measure_batch()
        return self._counted

    @state.setter
    def state(self, state: State) -> None:
        self._counted = state

    def close(self) -> State:
        """What was counted up to the end of the chunk."""
        state = self.state
        groups = [g.astype(np.float64) for g in state["groups"]]
        return {
            **{kind: arrays for kind, arrays in state.items() if kind not in ("groups", "loaded")},
            "sums": [total + g.sum(0) for total, g in zip(state["sums"], groups, strict=True)],
            "squares": [total + (g * g).sum(0) for total, g in zip(state["squares"], groups, strict=True)],
        }

    def on_body(self, facts: Facts, running: jax.Array | None, chunk: EmittedChunk) -> None:
        if facts in self._paths:
            times = jnp.int64(chunk.count) if running is None else running.sum(dtype=np.int64)
            self._add("executions", self._paths[facts], times)
        for number, around in enumerate(self.ledger.once.values()):
            if around is facts:
                self._put("loaded", number, jnp.zeros(self.chunk.count, bool))
        self._on_section((facts, START), running)

    def on_region(
        self, facts: Facts, number: int, mask: Emitted, running: jax.Array | None, chunk: EmittedChunk
    ) -> None:
        lanes = mask.array(chunk).reshape(chunk.count if mask.known.varying else 1, -1)
        present = chunk.present()
        lanes = lanes if present is None else lanes & present
        self._regions[facts, number] = requests.active_sub_groups(lanes, chunk.geometry)
        self._on_section((facts, number), running)

    def _on_section(self, key: Key, running: jax.Array | None) -> None:
        """A section begins for the groups of a `[G]` mask or for all."""
        if key in self._sections:
            active = jnp.broadcast_to(self._regions[self.ledger.census.regions[key]], (self.chunk.count,))
            times = active if running is None else jnp.where(running, active, 0)
            self._add("active", self._sections[key], times.sum(dtype=np.int64))

    def on_limit(self, facts: Facts, number: int, exceeded: jax.Array, chunk: EmittedChunk) -> None:
        loop = self.limits.numbers[facts, number]
        self._put("exceeded", loop, self._counted["exceeded"][loop] | (exceeded & self.may_continue()))

    def may_continue(self) -> jax.Array:
        return ~jnp.stack(self._counted["exceeded"]).any()

    def on_access(self, event: AccessEvent, chunk: EmittedChunk) -> None:
        key = event.facts, event.number
        missing, untallied = key in self._left, key in self._untallied
        if not (missing or untallied) or not event.lanes.count:
            return
        if key in self.ledger.once:
            event = self._first(key, event)
        observed = self._observed(key, event)
        if missing:
            self._measure(key, observed)
        if untallied:
            self._tally(observed)
        if key in self.ledger.shown:
            self._show(self.ledger.shown[key], observed)

    def _first(self, key: Key, event: AccessEvent) -> AccessEvent:
        """A load as those groups execute it that have not yet loaded it."""
        number = list(self.ledger.once).index(key)
        loaded = self._counted["loaded"][number]
        running = ~loaded if event.running is None else event.running & ~loaded
        self._put("loaded", number, loaded | running)
        return dataclasses.replace(event, running=running)

    @functools.cached_property
    def _left(self) -> frozenset[Key]:
        return frozenset(self.ledger.census.left)

    @functools.cached_property
    def _untallied(self) -> frozenset[Key]:
        taken, noted = self.ledger.census, self.ledger.noted
        return frozenset(key for key in taken.untallied if taken.access_site(key).memory in noted)

    def _observed(self, key: Key, event: AccessEvent) -> MeasuredAccess:
        taken = self.ledger.census
        meter = taken.meter(key, event.lanes.chosen)
        return MeasuredAccess(event, meter, self.chunk)

    def _measure(self, key: Key, observed: MeasuredAccess) -> None:
        place = self.ledger.access_sites.index(observed.meter.operation.access_site)
        own = self.ledger.census.followers.get(key, np.int64(1))
        if observed.by_form:
            self._add("figures", place, observed.tabulated() * own)
        elif self.drawn is None and self._batch.takes(observed) and not own.ndim:
            self._batch.add(place, observed)
            if self._batch.is_full:
                self._measure_batch()
        elif self.drawn is None:
            self._add("figures", place, observed.all_by_lanes() * own)
        else:
            figures = observed.by_lanes(self.drawn.groups) * own
            self._add("groups", place, jnp.where(self.drawn.present[:, None], figures, np.int64(0)))

    def _measure_batch(self) -> None:
        for place, figures in self._batch.measured():
            self._add("figures", place, figures)

    def _tally(self, observed: MeasuredAccess) -> None:
        number = self.ledger.noted.index(observed.memory)
        elements, taken = observed.elements(), observed.active_lanes()
        if self.drawn is not None:
            elements, taken = (a if len(a) == 1 else a[self.drawn.groups] for a in (elements, taken))
            taken = taken & self.drawn.present[:, None]
        groups = self.chunk.count if self.drawn is None else len(self.drawn.groups)
        shape = (groups, observed.where.count)
        elements, taken = (jnp.broadcast_to(array, shape).reshape(-1) for array in (elements, taken))
        tally = self._counted["tallies"][number]
        self._put("tallies", number, tally.at[elements].add(taken.astype(TALLY), mode="drop"))

    def _show(self, number: int, observed: MeasuredAccess) -> None:
        """Keeps what the first group of the launch accesses, where it does."""
        chosen = observed.where.chosen
        elements, taken = (jnp.broadcast_to(a[0], chosen.shape) for a in (observed.elements(), observed.active_lanes()))
        first = (jnp.asarray(self.chunk.first) == 0) & taken.any()
        for kind, new in (("elements", elements.astype(np.int32)), ("taken", taken)):
            old = self._counted[kind][number]
            self._put(kind, number, jnp.where(first, jnp.zeros_like(old).at[chosen].set(new), old))

    def _add(self, kind: str, number: int, amount: jax.Array) -> None:
        self._put(kind, number, self._counted[kind][number] + amount)

    def _put(self, kind: str, number: int, array: jax.Array) -> None:
        entries = list(self._counted[kind])
        entries[number] = array
        self._counted = {**self._counted, kind: entries}


@dataclasses.dataclass(frozen=True, eq=False)
class Counts:
    """All counts of a launch; None is not known.

    Attributes:
      figures: those of each place of the census by their name, see `costs.FIGURES`.
      errors: standard errors `[F]` of those that were counted on a sample, for each place; None where nothing was.
      executions: for each call path.
      active: for each section in divergent code the times that a sub-group with an active lane executes it.
      most_updates: for each memory with a tally in the census, the lanes that update the element that most do.
      shown: for each place of local memory an execution, where there is one.
      sampled: work-groups on which was counted what was not counted on all; None if there was nothing.
    """

    figures: Mapping[AccessSite, Mapping[str, int | None]]
    errors: Mapping[AccessSite, np.ndarray | None]
    executions: Mapping[Facts, int | None]
    active: Mapping[Key, int | None]
    most_updates: Mapping[Allocation, int | None]
    shown: Mapping[AccessSite, Execution]
    sampled: int | None = None


def counts(ledger: Ledger, state: State | None) -> Counts:
    """What the census and a run have counted together.

    Args:
      ledger: what there was to count.
      state: the observer's state after the last chunk, `condensed`; None without a run.
    """
    return _without_run(ledger) if state is None else _after_run(ledger, state)


def _without_run(ledger: Ledger) -> Counts:
    """What the census has counted, and what can be estimated from some work-groups."""
    taken = ledger.census
    known = _known(taken)
    errors: dict[AccessSite, np.ndarray | None] = dict.fromkeys(known)
    sample = group_sampling.drawn(taken) if ledger.access_sites else None
    if sample is not None:
        for place in ledger.access_sites:
            _estimate(place, known, errors, taken, sample)
    estimated = [place for place, error in errors.items() if error is not None]
    return Counts(
        {p: _named(n) if p in estimated else _partial(p, n, taken) for p, n in known.items()},
        errors,
        taken.executions,
        taken.active,
        _most(taken) | dict.fromkeys(ledger.tallied),
        _worst(taken),
        sample.size if sample and estimated else None,
    )


def _after_run(ledger: Ledger, state: State) -> Counts:
    """What the census has counted and, of what that could not count, a run."""
    taken = ledger.census
    known = _known(taken)
    errors: dict[AccessSite, np.ndarray | None] = dict.fromkeys(known)
    for number, place in enumerate(ledger.access_sites):
        known[place] = known[place] + state["figures"][number]
        if ledger.sample is not None:
            totals, errors[place] = ledger.sample.totals(state["sums"][number], state["squares"][number])
            known[place] = known[place] + totals
    executions = {facts: int(times) for facts, times in zip(ledger.paths, state["executions"], strict=True)}
    active = {key: int(n) for key, n in zip(ledger.sections, state["active"], strict=True)}
    most = {memory: int(number) for memory, number in zip(ledger.tallied, state["tallies"], strict=True)}
    return Counts(
        {p: _named(n) if p in ledger.access_sites else _partial(p, n, taken) for p, n in known.items()},
        errors,
        dict(taken.executions) | executions,
        dict(taken.active) | active,
        _most(taken) | most,
        _worst(taken) | _seen(ledger, state),
        None if ledger.sample is None else ledger.sample.size,
    )


def _most(taken: Census) -> dict[Allocation, int | None]:
    """The lanes that update the element that most do, of each memory whose updates the census tells."""
    return {memory: int(np.max(tally, initial=0)) for memory, tally in taken.tallies.items()}


def _estimate(
    place: AccessSite,
    known: dict[AccessSite, np.ndarray],
    errors: dict[AccessSite, np.ndarray | None],
    taken: Census,
    sample: Sample,
) -> None:
    """Adds to the known figures of a place those that are estimated from some work-groups, if all of them can be."""
    found = group_sampling.estimated([key for key in taken.left if taken.access_site(key) == place], taken, sample)
    if found is not None:
        total, errors[place] = found
        known[place] = known[place] + total


def _named(total: np.ndarray) -> Mapping[str, int | None]:
    return dict(zip(FIGURES, map(int, total), strict=True))


def _partial(place: AccessSite, total: np.ndarray, taken: Census) -> Mapping[str, int | None]:
    """The figures of a place from the census alone; where some are missing, requests and lanes if these are there."""
    missing = [issued for key, issued in taken.issued.items() if taken.access_site(key) == place]
    if not missing:
        return _named(total)
    figures: dict[str, int | None] = dict.fromkeys(FIGURES)
    issued = [part for part in missing if part is not None]
    if len(issued) == len(missing):
        known = _named(total)
        figures["requests"] = (known["requests"] or 0) + sum(part.requests for part in issued)
        figures["lanes"] = (known["lanes"] or 0) + sum(part.lanes for part in issued)
    return figures


def _worst(taken: Census) -> dict[AccessSite, Execution]:
    """For each place of local memory the execution with the most excess passes that the census has seen."""
    found: dict[AccessSite, Execution] = {}
    for key, count in taken.counts.items():
        if count is not None and count.worst is not None:
            before = found.get(taken.access_site(key))
            if before is None or before.excess < count.worst.excess:
                found[taken.access_site(key)] = count.worst
    return found


def _seen(ledger: Ledger, state: State) -> dict[AccessSite, Execution]:
    """Executions of what was counted as the kernel ran."""
    found: dict[AccessSite, Execution] = {}
    for key, number in ledger.shown.items():
        taken = state["taken"][number]
        if taken.any():
            operation = ledger.census.operations[key][0]
            every = np.arange(taken.size)
            meter = ledger.census.meter(key, every)
            elements = state["elements"][number].astype(np.int64)
            found.setdefault(operation.access_site, counter.execution(meter, elements[None], taken[None], 0))
    return found


def _known(taken: Census) -> dict[AccessSite, np.ndarray]:
    """Python ints `[F]` of what the census has counted at each place."""
    total = {place: np.zeros(len(FIGURES), object) for place in taken.access_sites}
    for key, count in taken.counts.items():
        if count is not None:
            total[taken.access_site(key)] = total[taken.access_site(key)] + count.figures
    return total
