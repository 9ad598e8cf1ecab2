"""Judgement: what was proved and what was seen in a run, as findings."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.faults import absence, alignment, batches, explanations, exploration, progress, wording, wrongs
from xeemu.faults.additions import Met
from xeemu.faults.exploration import Explored
from xeemu.faults.findings import DATA_RACE, ERROR, NOTE, WRONG_FENCE, Finding, Findings, ReversedWorkItem, WorkItem
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
from xeemu.faults.uses import Element, Use, called_from
from xeemu.faults.watch import Beyond, Misaligned, Parted, Unwritten, Watch
from xeemu.faults.wording import Divergence
from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge import dependence, epochs
from xeemu.knowledge.access_tree import Key, Operation
from xeemu.language import separation, source
from xeemu.language.dialect import PYTHON, Dialect
from xeemu.language.geometry import Geometry
from xeemu.language.interface import Extent
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program
from xeemu.language.source import Site
from xeemu.plurals import counted

_FENCED = (FENCED_GROUPS, FENCED_SUB_GROUPS, FENCED_ITEMS)
_ACROSS = (GROUPS, FENCED_GROUPS)
_LONGEST_LIST = 3


def of_program(program: Program, watch: Watch) -> Findings:
    """The findings that follow from a program alone, whatever it is given, and what is proved or watched of it."""
    found = [*_cross_items(program), *progress.findings_of(program.body, program.kernel.dialect)]
    watched = {place.site for place in watch.proofs.watched}
    watched |= {source.of_op(watch.proofs.meetings[key].op) for key in watch.barriers}
    barriers = [source.of_op(m.op) for m in watch.proofs.meetings.values() if epochs.is_barrier(m)]
    sites = dict.fromkeys([*(place.site for place in watch.proofs.places), *barriers])
    return Findings(found, [s for s in sites if s not in watched], [s for s in sites if s in watched])


def judge(
    program: Program,
    watch: Watch,
    known: Findings,
    state: Mapping[str, Any] | None,
    explored: Explored | None = None,
) -> Findings:
    """All findings of a check.

    Args:
      program: the kernel.
      watch: what was watched in its run.
      known: what follows from the program, see `of_program`.
      state: what the run has left, see `Watch.zeros`; None if there was nothing to watch.
      explored: what was seen of conflicts in several orders, instead of in the run alone; or None.
    """
    found = list(known)
    if state is not None:
        seen = _Judge(program, watch, state if explored is None else explored.state(state), explored)
        found += [*seen.conflicts(), *seen.unwritten(), *seen.beyond(), *seen.misaligned(), *seen.parted()]
        found += [*seen.wrong(), *seen.summed()]
    return Findings(found, known.proved, known.watched)


def _cross_items(program: Program) -> Iterator[Finding]:
    seen: dict[Site, str] = {}
    for mixing in separation.of_program(program.body, program.geometry):
        if not mixing.collective:
            seen.setdefault(mixing.site, mixing.operation)
    for site, operation in seen.items():
        yield wording.cross_item(site, operation, program.kernel.dialect)


def absent_lanes(program: Program, scalars: Sequence[Any]) -> Iterator[Finding]:
    """The findings of values from lanes that do not exist, see `absence`."""
    for use in absence.uses(program, scalars):
        absent, number, geometry = use.absent, use.absent.nearest(use.item), program.geometry
        items = int(absent.items[number]), use.item
        taker, user = (work_item(geometry, use.group, item, program.kernel.dialect) for item in items)
        algorithm = Use(absent.op.attributes["collective"].kind, source.of_op(absent.op), taker)
        lanes = (int(absent.sources[number]), int(absent.lanes[number]))
        active = not absent.inactive[number]
        used = Use(_used_as(use), source.of_op(use.op), user)
        yield wording.absent_lane(algorithm, lanes, active, used, program.kernel.dialect)


def _used_as(use: absence.Use) -> str:
    if use.op.name in ops.ACCESSES:
        atomic = "atomic " if use.op.name == ops.ATOMIC else ""
        return f"{use.part} of the {atomic}{ops.operation(use.op)}"
    return f"{use.part} of the {use.op.name.removeprefix('xe_')}"


@dataclasses.dataclass(frozen=True, eq=False)
class _Judge:
    """The findings of one run."""

    program: Program
    watch: Watch
    state: Mapping[str, Any]
    explored: Explored | None

    @property
    def geometry(self) -> Geometry:
        return self.program.geometry

    @property
    def dialect(self) -> Dialect:
        return self.program.kernel.dialect

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
            text = shown.text + (wording.MORE.format(key[1].name) if last.get(key[1]) == key else "")
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
        kind = WRONG_FENCE if case in _FENCED else DATA_RACE
        reasons = self._reasons(number, pair, case, (earlier, later))
        element = self._element(pair[0].place.memory, example.element)
        count = int(counts[list(cases)].sum())
        is_ordered = case not in _ACROSS and not self.geometry.plain
        epochs = (example.earlier_epoch, example.epoch) if is_ordered else None
        return wording.conflict(kind, element, uses, count, self._who(case), epochs, reasons)

    def _use(self, spot: Spot, group: int, item: int, pair: tuple[Spot, Spot]) -> Use:
        what = self._what(spot)
        narrow = all(s.ordering is not None for s in pair)
        if narrow and spot.ordering is not None:
            what = f"{what} of scope {spot.ordering.scope}"
        return Use(what, spot.place.site, self._item(group, item), self._calls(spot))

    def _calls(self, spot: Spot) -> tuple[str, ...]:
        return self.callers(o.op for o in self._operations(spot))

    def callers(self, made: Iterable[Op]) -> tuple[str, ...]:
        """The calls that lead to operations of one line, of a kernel whose functions are written out."""
        if self.program.kernel.interface is None:
            return ()
        code = self.program.kernel.function.__code__
        chains = dict.fromkeys(source.callers(op, code) for op in made)
        return called_from([chain for chain in chains if chain])

    def _who(self, case: int) -> str:
        if self.geometry.plain:
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
        if self.geometry.plain:
            # Which work-items are in one group is the runtime's choice, and there are no barriers.
            case = GROUPS
        if self._is_benign(number):
            return NOTE, *explanations.same_value(case, self.dialect)
        name = pair[0].place.memory.name
        if all(spot.ordering is not None for spot in pair):
            return ERROR, *explanations.narrow(name, case, self.dialect)
        words = self._explored_reason(number, pair[0].place.memory, case)
        if words is not None:
            return ERROR, *words
        if case not in _ACROSS and (copy := self._under_way(pair)) is not None:
            return ERROR, *explanations.under_way(copy, self.dialect)
        if case in _FENCED:
            return ERROR, *self._wrong_fence(pair[0].place.memory)
        if self.explored is None and self._may_be_ordered(pair):
            return NOTE, *explanations.not_followed(name)
        if case == GROUPS:
            return ERROR, *explanations.between_groups(name, pair, self.geometry.plain, self.dialect)
        explanation = "No barrier orders the two."
        if case == ITEMS and not self.state["conflicts"][number][SUB_GROUPS]:
            lanes = self.geometry.sub_group_size
            explanation += f" All are inside one sub-group: right only in lockstep, at sub-group size {lanes}."
        elif not self.state["conflicts"][number][ITEMS]:
            explanation += " All are between sub-groups, which run at their own pace."
        memory, dialect = pair[0].place.memory, self.dialect
        divergent = all(map(self._is_divergent, order))
        if divergent and case != ITEMS:
            return ERROR, explanation, explanations.apart(memory, dialect)
        written = dialect.sub_group_barrier if divergent else dialect.barrier
        return ERROR, explanation, self._barrier_advice(written([name], [memory.space]), name, order)

    def _under_way(self, pair: tuple[Spot, Spot]) -> Site | None:
        """The line of an asynchronous copy that the source has before the other access."""
        first, second = sorted((spot.place.site for spot in pair), key=lambda site: site.line)
        begins = bool(self.dialect.copies) and self.dialect.copies in first.source
        return first if begins and first != second else None

    def _is_divergent(self, spot: Spot) -> bool:
        """Whether not all work-items need come to a spot."""
        return any(o.frame.region(o.key[1]) is not None for o in self._operations(spot))

    def _may_be_ordered(self, pair: tuple[Spot, Spot]) -> bool:
        """Whether what was seen in lockstep may be no race after all: a matter of flags, or of what was exchanged."""
        exchanged = any(o.name == "compare_exchange" for spot in pair for o in self._operations(spot))
        return exchanged or exploration.orders_something(self.watch.proofs.tree)

    def _explored_reason(self, number: int, memory: Allocation, case: int) -> tuple[str, str] | None:
        reason = self.explored.reasons.get((number, case)) if self.explored is not None else None
        return explanations.of_reason(memory, reason, case, self.dialect) if reason is not None else None

    def _barrier_advice(self, barrier: str, name: str, order: tuple[Spot, Spot]) -> str:
        dialect = self.dialect
        if order[0] == order[1]:
            calls = self._called_after(order)
            apart = f"the calls at lines {calls[0]} and {calls[1]}, write {barrier} between them" if calls else None
            return (
                "Let each work-item store to elements of its own, use atomic operations "
                f"({dialect.atomics.format(name=name)}), or, if the accesses belong to "
                f"{apart or f'two turns of a loop, end a turn with {barrier}'}."
            )
        first, second = (spot.place.site.line for spot in order)
        if first == second:
            atomic = dialect.atomic_add.format(name=name)
            return f"Use an atomic operation, {atomic}, or split the line and write {barrier} between."
        steps = [Spot.of(o) for o in self.watch.proofs.tree.root.operations()]
        if steps.index(order[0]) > steps.index(order[1]):
            calls = self._called_after(order)
            if calls is None:
                return f"Write {barrier} at the end of the loop, after line {first}."
            first, second = calls
        return f"Write {barrier} after line {first} and before line {second}."

    def _called_after(self, order: tuple[Spot, Spot]) -> tuple[int, int] | None:
        """The lines that lead to a spot and, further down, to another one, where functions are called several times."""
        steps = [(Spot.of(o), o.op) for o in self.watch.proofs.tree.root.operations()]
        start = next(k for k, (spot, _) in enumerate(steps) if spot == order[0])
        later = (op for spot, op in steps[start + 1 :] if spot == order[1])
        return next((found for op in later if (found := source.between(steps[start][1], op))), None)

    def _wrong_fence(self, memory: Allocation) -> tuple[str, str]:
        barriers = [m for m in self.watch.proofs.meetings.values() if epochs.is_of_group(m)]
        others = [m for m in barriers if memory not in m.memories]
        lines = list(dict.fromkeys(source.of_op(m.op) for m in others))
        given = list(dict.fromkeys(other.name for m in others for other in m.memories))
        what = f"It orders {', '.join(given)}" if given else "It is given no memory"
        shown = "; ".join(f"line {site.line}" for site in lines[:_LONGEST_LIST])
        spaces = {other.name: other.space for m in others for other in m.memories}
        barrier = self.dialect.barrier([*given, memory.name], [*map(spaces.__getitem__, given), memory.space])
        orders = self.dialect.orders.format(memory=memory.name)
        return (
            f"A barrier lies between, but none that {orders} ({shown}). {what}: the other accesses need not have "
            "reached memory.",
            f"Give it the memory as well: {barrier}.",
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
        root = self.watch.proofs.tree.root

        def memory(key: Any) -> Allocation | None:
            return self.watch.proofs.place(key).memory if key in operations else None

        dependent = dependence.dependent_updates(root.body, root.plan, loads, memory)
        return any(o.key in dependent for spot in pair for o in self._operations(spot))

    # The others.

    def unwritten(self) -> Iterator[Finding]:
        for spot, (count, vector) in zip(self.watch.unwritten, self.state["unwritten"], strict=True):
            if count:
                memory, example = spot.place.memory, Unwritten(*vector.tolist())
                item = self._item(example.group, example.item)
                use = Use(self._what(spot), spot.place.site, item, self._calls(spot))
                element = self._element(memory, example.element)
                written = self._written(memory, example) + self._hidden(spot)
                yield wording.uninitialized_read(element, use, int(count), written, self.dialect)

    def _written(self, memory: Allocation, example: Unwritten) -> str:
        whose = {"private": "the work-item", "local": "the work-group"}.get(memory.space, "the program")
        if not example.written:
            return f"Nothing of {memory.name} was written by then."
        first, last = (self._element(memory, n).address for n in (example.first, example.last))
        span = ", ".join(map(str, first)), ", ".join(map(str, last))
        return (
            f"By then {whose} had written {example.written} of {counted(memory.elements, 'element')} of "
            f"{memory.name}, the first at [{span[0]}], the last at [{span[1]}]."
        )

    def _hidden(self, spot: Spot) -> str:
        """Which lines were seen only as the poison value has them, so that more may be wrong there."""
        operations, root = self.watch.proofs.operations, self.watch.proofs.tree.root

        def memory(key: Any) -> Allocation | None:
            return self.watch.proofs.place(key).memory if key in operations else None

        read = [o.key for o in self._operations(spot)]
        steered = dependence.steered_accesses(root.body, root.plan, read, memory)
        lines = sorted({self.watch.proofs.place(key).site.line for key in steered if key in operations})
        if not lines:
            return ""
        shown = ", ".join(map(str, lines[:_LONGEST_LIST])) + (" and more" if len(lines) > _LONGEST_LIST else "")
        which = f"line {shown} accesses depends" if len(lines) == 1 else f"lines {shown} access depends"
        return f" What {which} on the value: check again once it is mended, for more may be wrong there."

    def beyond(self) -> Iterator[Finding]:
        for spot, (count, vector) in zip(self.watch.bounds, self.state["beyond"], strict=True):
            if count:
                group, item, *index = vector.tolist()
                memory, lane = spot.place.memory, Beyond(group, item)
                element = Element(memory.space, memory.name, tuple(index))
                use = Use(self._what(spot), spot.place.site, self._item(*lane), self._calls(spot))
                if (extent := self._extents.get(memory.name)) is not None:
                    yield wording.beyond_extent(extent, index[0], memory.shape[0], use, int(count), self.dialect)
                    continue
                yield wording.out_of_bounds(element, memory.shape, use, int(count), self.dialect)

    @property
    def _extents(self) -> Mapping[str, Extent]:
        """The declared arrays within memories, by the names of the memories that hold their bounds."""
        interface = self.program.kernel.interface
        return {} if interface is None else interface.extents

    def misaligned(self) -> Iterator[Finding]:
        for spot, (count, vector) in zip(self.watch.blocks, self.state["misaligned"], strict=True):
            if count:
                memory, example = spot.place.memory, Misaligned(*vector.tolist())
                element = Element(memory.space, memory.name, (example.element,))
                item = self._item(example.group, example.item)
                use = Use(self._what(spot), spot.place.site, item, self._calls(spot))
                required = alignment.required_bytes(self._operations(spot)[0])
                yield wording.misaligned_block(element, memory.dtype.itemsize, required, use, int(count), self.dialect)

    def parted(self) -> Iterator[Finding]:
        found: dict[tuple[str, Site], tuple[int, Parted, tuple[str, ...]]] = {}
        for key, (count, vector) in zip(self.watch.barriers, self.state["parted"], strict=True):
            if count:
                op = self.watch.proofs.meetings[key].op
                what = "barrier" if op.name == ops.BARRIER else str(op.attributes["collective"])
                called = what, source.of_op(op)
                before, example, calls = found.get(called, (0, Parted(*vector.tolist()), self.callers([op])))
                found[called] = before + int(count), example, calls
        for (what, site), (count, example, calls) in found.items():
            reaching, missing = (self._item(example.group, n) for n in (example.reaching, example.missing))
            divergence = Divergence(what, site, reaching, missing, example.count, self.geometry.items, calls)
            yield wording.barrier_divergence(divergence, count, self.dialect)

    def wrong(self) -> Iterator[Finding]:
        """What operations that are no accesses have done, one finding for each line."""
        seen: dict[Any, Finding] = {}
        for following, (counts, examples) in zip(self.watch.proofs.followings, self.state["followed"], strict=True):
            for finding in wrongs.findings_of(following, counts, examples, self, self.dialect):
                seen.setdefault((finding.kind, finding.sites[0]), finding)
        yield from seen.values()

    def summed(self) -> Iterator[Finding]:
        """Atomic sums that depend on the order, one finding for each line and memory."""
        summed, found = self.watch.proofs.additions, dict[Any, tuple[int, Finding]]()
        for operation, (count, vector) in (
            zip(summed.operations, self.state["added"].found, strict=True) if summed is not None else ()
        ):
            if count:
                met, memory = Met(*vector.tolist()), operation.place.memory
                items = self._item(met.earlier_group, met.earlier_item), self._item(met.later_group, met.later_item)
                what, site = self._what(Spot.of(operation)), operation.place.site
                uses = Use(what, site, items[0]), Use(what, site, items[1])
                before, first = found.get((memory, site), (0, None))
                first = first or wording.order_dependent(self._element(memory, met.element), uses, str(memory.dtype), 1)
                found[memory, site] = before + int(count), first
        for count, first in found.values():
            yield dataclasses.replace(first, count=count)

    # Who and where.

    def item(self, group: int, item: int) -> WorkItem:
        return self._item(group, item)

    def use(self, key: Key, element: int, item: WorkItem) -> tuple[Use, Element]:
        spot = Spot.of(self.watch.operation(key))
        return Use(self._what(spot), spot.place.site, item, self._calls(spot)), self._element(
            spot.place.memory, element
        )

    def _item(self, group: int, item: int) -> WorkItem:
        return work_item(self.geometry, group, item, self.dialect)

    def _element(self, memory: Allocation, element: int) -> Element:
        return Element(memory.space, memory.name, tuple(int(n) for n in np.unravel_index(element, memory.shape)))

    def _what(self, spot: Spot) -> str:
        name = self._operations(spot)[0].name
        return f"atomic {name}" if spot.place.op == "atomic" else name


def work_item(geometry: Geometry, group: int, item: int, dialect: Dialect = PYTHON) -> WorkItem:
    """A work-item by the linear ids of its group and in it."""
    group_id = tuple(int(n) for n in np.unravel_index(group, geometry.group_range))
    local_id = tuple(int(n) for n in np.unravel_index(item, geometry.local_range))
    pairs = zip(group_id, geometry.local_range, local_id, strict=True)
    made = ReversedWorkItem if dialect.first_is_contiguous else WorkItem
    return made(tuple(g * s + i for g, s, i in pairs), local_id, group_id, item // geometry.sub_group_size)
