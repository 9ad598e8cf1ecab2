"""Judgement: what was proved and what was seen in a run, as findings."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.faults import batches, findings, flags
from xeemu.faults.findings import ERROR, NOTE, Element, Finding, Findings, Use, WorkItem
from xeemu.faults.proofs import Spot
from xeemu.faults.races import FENCED_ITEMS, FENCED_SUB_GROUPS, GROUPS, ITEMS, SUB_GROUPS, Conflict
from xeemu.faults.watching import Beyond, Parted, Unwritten, Watch
from xeemu.knowledge import dependence, epochs
from xeemu.knowledge.schedule import Operation
from xeemu.language import separation, source
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program
from xeemu.language.source import Site

_FENCED = (FENCED_SUB_GROUPS, FENCED_ITEMS)
_LONGEST_LIST = 3


def judge(program: Program, watch: Watch, state: Mapping[str, Any] | None) -> Findings:
    """All findings of a check.

    Args:
      program: the kernel.
      watch: what was watched in its run.
      state: what the run has left, see `Watch.zeros`; None if there was nothing to watch.
    """
    found = list(_cross_items(program))
    if state is not None:
        seen = _Judge(program, watch, state)
        found += [*seen.conflicts(), *seen.unwritten(), *seen.beyond(), *seen.parted()]
    watched = {place.site for place in watch.proofs.watched}
    watched |= {source.of_equation(watch.proofs.meetings[key].eqn) for key in watch.barriers}
    barriers = [source.of_equation(meeting.eqn) for meeting in watch.proofs.meetings.values()]
    sites = dict.fromkeys([*(place.site for place in watch.proofs.places), *barriers])
    return Findings(found, [s for s in sites if s not in watched], [s for s in sites if s in watched])


def _cross_items(program: Program) -> Iterator[Finding]:
    seen: dict[Site, str] = {}
    for mixing in separation.of_program(program.body, program.geometry):
        if not mixing.collective:
            seen.setdefault(mixing.site, mixing.operation)
    for site, operation in seen.items():
        yield findings.cross_item(site, operation)


@dataclasses.dataclass(frozen=True, eq=False)
class _Judge:
    """The findings of one run."""

    program: Program
    watch: Watch
    state: Mapping[str, Any]

    @property
    def geometry(self) -> Geometry:
        return self.program.geometry

    # Conflicts.

    def conflicts(self) -> Iterator[Finding]:
        """One for each kind, memory and pair of lines, whatever the operations on the lines."""
        alike: dict[Any, list[Finding]] = {}
        for number, pair in enumerate(self.watch.pairs):
            counts = self.state["conflicts"][number]
            for cases in ((GROUPS, SUB_GROUPS, ITEMS), _FENCED):
                if counts[list(cases)].any():
                    found = self._conflict(number, pair, cases)
                    alike.setdefault((found.kind, pair[0].place.memory, frozenset(found.sites)), []).append(found)
        last = {memory: key for key in alike for memory in [key[1]] if memory in self._more}
        for key, same in alike.items():
            shown = min(same, key=lambda finding: finding.severity != ERROR)
            text = shown.text + (findings.MORE.format(key[1].name) if last.get(key[1]) == key else "")
            yield dataclasses.replace(shown, count=sum(finding.count for finding in same), text=text)

    @functools.cached_property
    def _more(self) -> frozenset[Allocation]:
        """The memories of which not all pairs of lines were looked at in the end, for so many race."""
        racing = zip(self.watch.memories, self.state.get("racing", ()), strict=False)
        return frozenset(memory for memory, count in racing if count >= batches.MOST_RACING)

    def _conflict(self, number: int, pair: tuple[Spot, Spot], cases: Sequence[int]) -> Finding:
        counts = self.state["conflicts"][number]
        case = next(c for c in cases if counts[c])
        example = Conflict(*self.state["examples"][number][case].tolist())
        later, earlier = pair if example.turned else pair[::-1]
        uses = (
            self._use(earlier, example.earlier_group, example.earlier_item, pair),
            self._use(later, example.later_group, example.later_item, pair),
        )
        kind = findings.WRONG_FENCE if case in _FENCED else findings.DATA_RACE
        severity, explanation, advice = self._reasons(number, pair, case, (earlier, later))
        element = self._element(pair[0].place.memory, example.element)
        count = int(counts[list(cases)].sum())
        epoch = None if case == GROUPS or self.geometry.plain else example.epoch
        return findings.conflict(kind, severity, element, uses, count, self._who(case), epoch, explanation, advice)

    def _use(self, spot: Spot, group: int, item: int, pair: tuple[Spot, Spot]) -> Use:
        what = self._what(spot)
        narrow = all(s.ordering is not None for s in pair)
        if narrow and spot.ordering is not None:
            what = f"{what} of scope {spot.ordering.scope}"
        return Use(what, spot.place.site, self._item(group, item))

    def _who(self, case: int) -> str:
        if self.geometry.plain:
            return "work-items"
        if case == GROUPS:
            return "work-groups"
        if case in (SUB_GROUPS, FENCED_SUB_GROUPS):
            return "sub-groups of a work-group"
        return "work-items of one sub-group"

    def _reasons(
        self, number: int, pair: tuple[Spot, Spot], case: int, order: tuple[Spot, Spot]
    ) -> tuple[str, str, str]:
        """How severe a conflict is, why it is one, and what to write instead."""
        if self.geometry.plain:
            # Which work-items are in one group is the runtime's choice, and there are no barriers.
            case = GROUPS
        if self._is_benign(number):
            return NOTE, *_same_value(case)
        name = pair[0].place.memory.name
        if all(spot.ordering is not None for spot in pair):
            return ERROR, *_narrow(name, case)
        if case in _FENCED:
            return ERROR, *self._wrong_fence(pair[0].place.memory)
        if case == GROUPS:
            if flags.may_order(self.watch.proofs.schedule, *map(self._operations, pair)):
                return NOTE, *_FLAGGED
            return ERROR, *_between_groups(name, pair, self.geometry.plain)
        explanation = "No barrier orders the two."
        if case == ITEMS and not self.state["conflicts"][number][SUB_GROUPS]:
            lanes = self.geometry.sub_group_size
            explanation += f" All are inside one sub-group: right only in lockstep, at sub-group size {lanes}."
        elif not self.state["conflicts"][number][ITEMS]:
            explanation += " All are between sub-groups, which run at their own pace."
        return ERROR, explanation, self._barrier_advice(name, order)

    def _barrier_advice(self, name: str, order: tuple[Spot, Spot]) -> str:
        barrier = f"{name} = wg.barrier({name})"
        if order[0] == order[1]:
            return (
                f"Let each work-item store to elements of its own, use atomic operations ({name}.atomic[...]), or, if "
                f"the accesses belong to two turns of a loop, end a turn with {barrier}."
            )
        first, second = (spot.place.site.line for spot in order)
        if first == second:
            return (
                f"Use an atomic operation, {name}.atomic[...].add(...), or split the line and write {barrier} between."
            )
        steps = [Spot.of(o) for o in self.watch.proofs.schedule.root.operations()]
        if steps.index(order[0]) > steps.index(order[1]):
            return f"Write {barrier} at the end of the loop, after line {first}."
        return f"Write {barrier} after line {first} and before line {second}."

    def _wrong_fence(self, memory: Allocation) -> tuple[str, str]:
        barriers = [m for m in self.watch.proofs.meetings.values() if epochs.is_group_barrier(m)]
        others = [m for m in barriers if memory not in m.memories]
        lines = list(dict.fromkeys(source.of_equation(m.eqn) for m in others))
        given = list(dict.fromkeys(other.name for m in others for other in m.memories))
        what = f"It orders {', '.join(given)}" if given else "It is given no memory"
        shown = "; ".join(f"line {site.line}" for site in lines[:_LONGEST_LIST])
        names = ", ".join([*given, memory.name])
        return (
            f"A barrier lies between, but none that was given {memory.name} ({shown}). {what}: the other accesses need "
            "not have reached memory.",
            f"Give it the memory as well: {names} = wg.barrier({names}).",
        )

    def _operations(self, spot: Spot) -> list[Operation]:
        every = self.watch.proofs.operations.values()
        return [o for same in every for o in same if Spot.of(o) == spot]

    def _is_benign(self, number: int) -> bool:
        """Whether a pair stores one value, which nobody else uses in the meantime and which follows from no race."""
        pair = self.watch.pairs[number]
        if any(spot.place.op != "store" for spot in pair) or self.state["differing"][number]:
            return False
        if pair[0].place.memory in self._more:
            return False
        return not any(self._is_used(spot) for spot in pair) and not self._depends(pair)

    def _is_used(self, spot: Spot) -> bool:
        """Whether a store conflicts with anything but stores of the same value."""
        return any(
            counts.any() and (differing or any(other.place.op != "store" for other in pair))
            for pair, counts, differing in zip(
                self.watch.pairs, self.state["conflicts"], self.state["differing"], strict=True
            )
            if spot in pair
        )

    def _depends(self, pair: tuple[Spot, Spot]) -> bool:
        """Whether a value that is stored was computed from a load that takes part in a race."""
        racing = {
            spot
            for spots, counts in zip(self.watch.pairs, self.state["conflicts"], strict=True)
            if counts.any()
            for spot in spots
            if spot.place.op != "store"
        }
        operations = self.watch.proofs.operations
        loads = [key for key, (o, *_) in operations.items() if Spot.of(o) in racing]
        if not loads:
            return False
        root = self.watch.proofs.schedule.root

        def memory(key: Any) -> Allocation | None:
            return self.watch.proofs.place(key).memory if key in operations else None

        dependent = dependence.dependent_updates(root.body, root.plan, loads, memory)
        return any(o.key in dependent for spot in pair for o in self._operations(spot))

    # The others.

    def unwritten(self) -> Iterator[Finding]:
        for spot, (count, vector) in zip(self.watch.unwritten, self.state["unwritten"], strict=True):
            if count:
                memory, example = spot.place.memory, Unwritten(*vector.tolist())
                use = Use(self._what(spot), spot.place.site, self._item(example.group, example.item))
                element = self._element(memory, example.element)
                yield findings.uninitialized_read(element, use, int(count), self._written(memory, example))

    def _written(self, memory: Allocation, example: Unwritten) -> str:
        whose = "the work-item" if memory.space == "private" else "the work-group"
        if not example.written:
            return f"Nothing of {memory.name} was written by then."
        first, last = (self._element(memory, n).address for n in (example.first, example.last))
        span = ", ".join(map(str, first)), ", ".join(map(str, last))
        return (
            f"By then {whose} had written {example.written} of {memory.elements} elements of {memory.name}, the first "
            f"at [{span[0]}], the last at [{span[1]}]."
        )

    def beyond(self) -> Iterator[Finding]:
        for spot, (count, vector) in zip(self.watch.bounds, self.state["beyond"], strict=True):
            if count:
                group, item, *index = vector.tolist()
                memory, lane = spot.place.memory, Beyond(group, item)
                element = Element(memory.space, memory.name, tuple(index))
                use = Use(self._what(spot), spot.place.site, self._item(*lane))
                yield findings.out_of_bounds(element, memory.shape, use, int(count))

    def parted(self) -> Iterator[Finding]:
        found: dict[Site, tuple[int, Parted]] = {}
        for key, (count, vector) in zip(self.watch.barriers, self.state["parted"], strict=True):
            if count:
                site = source.of_equation(self.watch.proofs.meetings[key].eqn)
                before, example = found.get(site, (0, Parted(*vector.tolist())))
                found[site] = before + int(count), example
        for site, (count, example) in found.items():
            reaching, missing = (self._item(example.group, n) for n in (example.reaching, example.missing))
            yield findings.barrier_divergence(
                site, reaching.group_id, reaching, missing, example.count, self.geometry.items, count
            )

    # Who and where.

    def _item(self, group: int, item: int) -> WorkItem:
        geometry = self.geometry
        group_id = tuple(int(n) for n in np.unravel_index(group, geometry.group_range))
        local_id = tuple(int(n) for n in np.unravel_index(item, geometry.local_range))
        pairs = zip(group_id, geometry.local_range, local_id, strict=True)
        return WorkItem(tuple(g * s + i for g, s, i in pairs), local_id, group_id, item // geometry.sub_group_size)

    def _element(self, memory: Allocation, element: int) -> Element:
        return Element(memory.space, memory.name, tuple(int(n) for n in np.unravel_index(element, memory.shape)))

    def _what(self, spot: Spot) -> str:
        name = self._operations(spot)[0].name
        return f"atomic {name}" if spot.place.op == "atomic" else name


_FLAGGED = (
    "One work-group releases after its access, the other acquires before its own: they are ordered if the flag was "
    "seen, which is a matter of data.",
    "See that the second access is masked wherever the flag was not seen.",
)


def _same_value(case: int) -> tuple[str, str]:
    one = "global" if case == GROUPS else "local"
    return (
        "All store the same value and nobody reads it in between, so that the result is the same; the language calls "
        "it a race nevertheless.",
        f"Let one work-item store, where=wg.{one}_linear_id() == 0, or each its own part.",
    )


def _narrow(name: str, case: int) -> tuple[str, str]:
    scope = "device" if case == GROUPS else "work_group" if case == SUB_GROUPS else "sub_group"
    return (
        "Both are atomic, but their scope does not hold both work-items.",
        f'Widen it: {name}.atomic(scope="{scope}")[...].',
    )


def _between_groups(name: str, pair: tuple[Spot, Spot], plain: bool) -> tuple[str, str]:
    both = "Make both atomic" if any(spot.ordering is not None for spot in pair) else "Use atomic operations"
    whom = "work-item" if plain else "work-group"
    return (
        f"Nothing orders the {whom}s of a launch.",
        f"{both}, {name}.atomic[...], give each {whom} elements of its own, or split the launch: what one launch "
        "writes, the next may read.",
    )
