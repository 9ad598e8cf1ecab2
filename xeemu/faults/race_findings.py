"""Race findings: conflicts of accesses that were seen in a run, as findings with a reason and what to write instead."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from xeemu.faults import access_wording, batches, dependence, epochs, explanations, exploration, mending
from xeemu.faults.findings import DATA_RACE, ERROR, NOTE, WRONG_FENCE, Finding
from xeemu.faults.proofs import Spot
from xeemu.faults.races import (
    FENCED_GROUPS,
    FENCED_ITEMS,
    FENCED_SUB_GROUPS,
    GROUPS,
    ITEMS,
    SUB_GROUPS,
    Conflict,
)
from xeemu.faults.run import Run
from xeemu.faults.uses import ExampleAccess
from xeemu.language import source
from xeemu.language.linearity import Allocation
from xeemu.language.source import Site
from xeemu.plurals import counted

_FENCED = (FENCED_GROUPS, FENCED_SUB_GROUPS, FENCED_ITEMS)
_ACROSS = (GROUPS, FENCED_GROUPS)
_LONGEST_LIST = 3


class RaceFindings:
    """The findings of one run's conflicts."""

    def __init__(self, run: Run):
        self._run = run
        # Pairs of spots that a barrier would order, by memory; and of those that one would order its line.
        self._apart: dict[Allocation, dict[mending.Pair, None]] = {}
        self._common: dict[Allocation, int] = {}

    def all(self) -> Iterator[Finding]:
        """One for each kind, memory and pair of lines, or for a barrier that would order several pairs."""
        found = list(self._all())
        for memory, pairs in self._apart.items():
            many = len(self._lines(memory)) > 1
            line = mending.common_line(self._run.watch.proofs.tree.root, list(pairs)) if many else None
            self._common |= {memory: line} if line is not None else {}
        yield from self._all() if self._common else found

    def _lines(self, memory: Allocation) -> list[frozenset[Site]]:
        """The pairs of lines of a memory that a barrier would order, in the order of the program."""
        return list(
            dict.fromkeys(frozenset(spot.access_site.site for spot in pair) for pair in self._apart.get(memory, ()))
        )

    def _all(self) -> Iterator[Finding]:
        alike: dict[Any, list[Finding]] = {}
        for number, pair in enumerate(self._run.watch.pairs):
            counts = self._run.state["conflicts"][number]
            for cases in ((GROUPS, SUB_GROUPS, ITEMS), _FENCED):
                if counts[list(cases)].any():
                    found = self._conflict(number, pair, cases)
                    alike.setdefault((found.kind, pair[0].access_site.memory, frozenset(found.sites)), []).append(found)
        alike = self._joined(alike)
        last = {memory: key for key in alike for memory in [key[1]] if memory in self._more}
        for key, same in alike.items():
            shown = min(same, key=lambda finding: finding.severity != ERROR)
            text = shown.text + (access_wording.MORE.format(key[1].name) if last.get(key[1]) == key else "")
            others = dict.fromkeys(f.sites for f in same if frozenset(f.sites) != frozenset(shown.sites))
            count = sum(finding.count for finding in same)
            yield dataclasses.replace(shown, count=count, text=text, others=tuple(others))

    def depending(self) -> frozenset[Allocation]:
        """The memories of which it decides on a finding if stores that race store one value.

        Of a run in which none of them has stored anything else.
        """
        pairs = ((n, pair) for n, pair in enumerate(self._run.watch.pairs) if self._run.state["conflicts"][n].any())
        return frozenset(pair[0].access_site.memory for n, pair in pairs if self._is_benign(n))

    def _joined(self, alike: dict[Any, list[Finding]]) -> dict[Any, list[Finding]]:
        """Findings by what they are about, where those that one barrier would mend are about the same."""
        found: dict[Any, list[Finding]] = {}
        for (kind, memory, sites), same in alike.items():
            is_common = kind == DATA_RACE and memory in self._common and sites in self._lines(memory)
            found.setdefault((kind, memory, None if is_common else sites), []).extend(same)
        return found

    @functools.cached_property
    def _more(self) -> frozenset[Allocation]:
        """The memories of which not all pairs of lines were looked at in the end, for so many race."""
        racing = zip(self._run.watch.memories, self._run.state.get("racing", ()), strict=False)
        return frozenset(memory for memory, count in racing if count >= batches.MOST_RACING)

    def _conflict(self, number: int, pair: tuple[Spot, Spot], cases: Sequence[int]) -> Finding:
        counts = self._run.state["conflicts"][number]
        case = next(c for c in cases if counts[c])
        example = Conflict(*self._run.state["examples"][number][case].tolist())
        later, earlier = pair if example.turned else pair[::-1]
        uses = (
            self._use(earlier, example.earlier_group, example.earlier_item, pair),
            self._use(later, example.later_group, example.later_item, pair),
        )
        kind = WRONG_FENCE if case in _FENCED else DATA_RACE
        reasons = self._reasons(number, pair, case, (earlier, later))
        element = self._run.element(pair[0].access_site.memory, example.element)
        count = int(counts[list(cases)].sum())
        is_ordered = case not in _ACROSS and not self._run.geometry.plain
        epochs = (example.earlier_epoch, example.epoch) if is_ordered else None
        return access_wording.conflict(kind, element, uses, count, self._who(case), epochs, reasons)

    def _use(self, spot: Spot, group: int, item: int, pair: tuple[Spot, Spot]) -> ExampleAccess:
        what = self._run.what(spot)
        narrow = all(s.ordering is not None for s in pair)
        if narrow and spot.ordering is not None:
            what = f"{what} of scope {spot.ordering.scope}"
        return ExampleAccess(what, spot.access_site.site, self._run.item(group, item), self._run.calls(spot))

    def _who(self, case: int) -> str:
        if self._run.geometry.plain:
            return "work-items"
        if case in _ACROSS:
            return "work-groups"
        if case in (SUB_GROUPS, FENCED_SUB_GROUPS):
            return "sub-groups of a work-group"
        return "work-items of one sub-group"

    def _reasons(
        self, number: int, pair: tuple[Spot, Spot], case: int, order: tuple[Spot, Spot]
    ) -> tuple[str, str, str]:
        """How severe a conflict is, why it is one, and what to write instead."""
        if self._run.geometry.plain:
            # Which work-items are in one group is the runtime's choice, and there are no barriers.
            case = GROUPS
        if self._is_benign(number):
            return NOTE, *explanations.same_value(case, self._run.dialect)
        name = pair[0].access_site.memory.name
        if all(spot.ordering is not None for spot in pair):
            return ERROR, *explanations.narrow(name, case, self._run.dialect)
        words = self._explored_reason(number, pair[0].access_site.memory, case)
        if words is not None:
            return ERROR, *words
        if case not in _ACROSS and (copy := self._under_way(pair)) is not None:
            return ERROR, *explanations.under_way(copy, self._run.dialect)
        if case in _FENCED:
            return ERROR, *self._wrong_fence(pair[0].access_site.memory)
        if self._run.explored is None and self._may_be_ordered(pair):
            return NOTE, *explanations.not_followed(name)
        if case == GROUPS:
            return ERROR, *explanations.between_groups(name, pair, self._run.geometry.plain, self._run.dialect)
        explanation = "No barrier orders the two."
        if case == ITEMS and not self._run.state["conflicts"][number][SUB_GROUPS]:
            lanes = self._run.geometry.sub_group_size
            explanation += f" All are inside one sub-group: right only in lockstep, at sub-group size {lanes}."
        elif not self._run.state["conflicts"][number][ITEMS]:
            explanation += " All are between sub-groups, which run at their own pace."
        memory, dialect = pair[0].access_site.memory, self._run.dialect
        divergent = all(map(self._is_divergent, order))
        if divergent and case != ITEMS:
            return ERROR, explanation, explanations.apart(memory, dialect)
        if not divergent:
            self._apart.setdefault(memory, {})[order] = None
        if not divergent and memory in self._common:
            return ERROR, explanation, self._common_advice(memory, order)
        written = dialect.sub_group_barrier if divergent else dialect.barrier
        return ERROR, explanation, self._barrier_advice(written([name], [memory.space]), name, order)

    def _under_way(self, pair: tuple[Spot, Spot]) -> Site | None:
        """The line of an asynchronous copy that the source has before the other access."""
        first, second = sorted((spot.access_site.site for spot in pair), key=lambda site: site.line)
        begins = bool(self._run.dialect.copies) and self._run.dialect.copies in first.source
        return first if begins and first != second else None

    def _is_divergent(self, spot: Spot) -> bool:
        """True if not all work-items need come to a spot."""
        return any(o.node.region(o.key[1]) is not None for o in self._run.operations(spot))

    def _may_be_ordered(self, pair: tuple[Spot, Spot]) -> bool:
        """True if what was seen in lockstep may be no race after all: a matter of flags, or of what was exchanged."""
        exchanged = any(o.name == "compare_exchange" for spot in pair for o in self._run.operations(spot))
        return exchanged or exploration.orders_something(self._run.watch.proofs.tree)

    def _explored_reason(self, number: int, memory: Allocation, case: int) -> tuple[str, str] | None:
        reason = self._run.explored.reasons.get((number, case)) if self._run.explored is not None else None
        return explanations.of_reason(memory, reason, case, self._run.dialect) if reason is not None else None

    def _common_advice(self, memory: Allocation, order: tuple[Spot, Spot]) -> str:
        barrier = self._run.dialect.barrier([memory.name], [memory.space])
        own = frozenset(spot.access_site.site for spot in order)
        others = [_two_lines(pair) for pair in self._lines(memory) if pair != own]
        shown, more = others[:_LONGEST_LIST], len(others) - _LONGEST_LIST
        listed = ", ".join(shown) + (f" and {counted(more, 'more pair')}" if more > 0 else "")
        return (
            f"No barrier orders {listed} either. Write {barrier} after line {self._common[memory]}: it orders all of "
            "these."
        )

    def _barrier_advice(self, barrier: str, name: str, order: tuple[Spot, Spot]) -> str:
        dialect = self._run.dialect
        if order[0] == order[1]:
            calls = self._called_after(order)
            apart = f"the calls at lines {calls[0]} and {calls[1]}, write {barrier} between them" if calls else None
            return (
                "Let each work-item store to elements of its own, use atomic operations "
                f"({dialect.updates(name, order[0].access_site.memory.dtype)}), or, if the accesses belong to "
                f"{apart or f'two iterations of a loop, end each with {barrier}'}."
            )
        first, second = (spot.access_site.site.line for spot in order)
        if first == second:
            if self._is_of_turns(order):
                return self._at_end_of_turns(order)
            atomic = dialect.addition(name, order[0].access_site.memory.dtype)
            return f"Use an atomic operation, {atomic}, or split the line and write {barrier} between."
        steps = [Spot.of(o) for o in self._run.watch.proofs.tree.root.operations()]
        if steps.index(order[0]) > steps.index(order[1]):
            calls = self._called_after(order)
            if calls is None:
                return f"Write {barrier} at the end of the loop, after line {first}."
            first, second = calls
        return f"Write {barrier} after line {first} and before line {second}."

    def _is_of_turns(self, order: tuple[Spot, Spot]) -> bool:
        """True if the access that comes first stands behind the other one: it is of an earlier iteration of a loop."""
        steps = [Spot.of(o) for o in self._run.watch.proofs.tree.root.operations()]
        return steps.index(order[0]) > steps.index(order[1]) and self._called_after(order) is None

    def _at_end_of_turns(self, order: tuple[Spot, Spot]) -> str:
        memory = order[0].access_site.memory
        barrier = self._run.dialect.barrier([memory.name], [memory.space])
        where = ", where all work-items come" if all(map(self._is_divergent, order)) else ""
        line = order[0].access_site.site.line
        return f"Write {barrier} at the end of each iteration of the loop, after line {line}{where}."

    def _called_after(self, order: tuple[Spot, Spot]) -> tuple[int, int] | None:
        """The lines that lead to a spot and, further down, to another one, where functions are called several times."""
        steps = [(Spot.of(o), o.op) for o in self._run.watch.proofs.tree.root.operations()]
        start = next(k for k, (spot, _) in enumerate(steps) if spot == order[0])
        later = (op for spot, op in steps[start + 1 :] if spot == order[1])
        return next((found for op in later if (found := source.between(steps[start][1], op))), None)

    def _wrong_fence(self, memory: Allocation) -> tuple[str, str]:
        barriers = [m for m in self._run.watch.proofs.sync_points.values() if epochs.is_of_group(m)]
        others = [m for m in barriers if memory not in m.memories]
        lines = list(dict.fromkeys(source.of_op(m.op) for m in others))
        given = list(dict.fromkeys(other.name for m in others for other in m.memories))
        what = f"It orders {', '.join(given)}" if given else "It is given no memory"
        shown = "; ".join(f"line {site.line}" for site in lines[:_LONGEST_LIST])
        spaces = {other.name: other.space for m in others for other in m.memories}
        barrier = self._run.dialect.barrier([*given, memory.name], [*map(spaces.__getitem__, given), memory.space])
        orders = self._run.dialect.orders.format(memory=memory.name)
        return (
            f"A barrier lies between, but none that {orders} ({shown}). {what}: the other accesses need not have "
            "reached memory.",
            f"Give it the memory as well: {barrier}.",
        )

    def _is_benign(self, number: int) -> bool:
        """True if a pair stores one value, which nobody else uses in the meantime and which follows from no race."""
        pair = self._run.watch.pairs[number]
        if any(spot.access_site.op != "store" for spot in pair) or self._run.state["differing"][number]:
            return False
        if pair[0].access_site.memory in self._more:
            return False
        return not any(self._is_used(spot) for spot in pair) and not self._depends(pair)

    def _is_used(self, spot: Spot) -> bool:
        """True if a store conflicts with anything but stores of the same value."""
        return any(
            counts.any() and (differing or any(other.access_site.op != "store" for other in pair))
            for pair, counts, differing in zip(
                self._run.watch.pairs, self._run.state["conflicts"], self._run.state["differing"], strict=True
            )
            if spot in pair
        )

    def _depends(self, pair: tuple[Spot, Spot]) -> bool:
        """True if a value that is stored was computed from a load that takes part in a race."""
        racing = {
            spot
            for spots, counts in zip(self._run.watch.pairs, self._run.state["conflicts"], strict=True)
            if counts.any()
            for spot in spots
            if spot.access_site.op != "store"
        }
        operations = self._run.watch.proofs.operations
        loads = [key for key, (o, *_) in operations.items() if Spot.of(o) in racing]
        if not loads:
            return False
        root = self._run.watch.proofs.tree.root

        def memory(key: Any) -> Allocation | None:
            return self._run.watch.proofs.access_site(key).memory if key in operations else None

        dependent = dependence.of_loads(root.facts, loads, memory).updates
        return any(o.key in dependent for spot in pair for o in self._run.operations(spot))


def _two_lines(pair: frozenset[Site]) -> str:
    """The lines of two accesses, of which each may be that of both."""
    first, *others = sorted(site.line for site in pair)
    return f"lines {first} and {others[0]}" if others else f"line {first} with itself"
