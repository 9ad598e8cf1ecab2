"""Judgement: what was proved and what was seen in a run, as findings."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xeemu.faults import (
    absence,
    access_wording,
    alignment,
    dependence,
    epochs,
    execution_wording,
    initialisation,
    progress,
    wrongs,
)
from xeemu.faults.additions import ConcurrentAdditions
from xeemu.faults.execution_wording import Divergence
from xeemu.faults.exploration import Explored
from xeemu.faults.findings import Finding, Findings
from xeemu.faults.proofs import Spot
from xeemu.faults.race_findings import RaceFindings
from xeemu.faults.run import Run, work_item
from xeemu.faults.uses import Element, ExampleAccess
from xeemu.faults.watch_list import Misaligned, OutOfBounds, Parted, Unwritten, WatchList
from xeemu.ir import ops
from xeemu.language import separation, source
from xeemu.language.interface import Extent
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program
from xeemu.language.source import Site
from xeemu.plurals import counted

_LONGEST_LIST = 3


def of_program(program: Program, watch: WatchList) -> Findings:
    """The findings that follow from a program alone, whatever it is given, and what is proved or watched of it."""
    found = [*_cross_items(program), *progress.findings_of(program.body, program.kernel.dialect)]
    watched = {place.site for place in watch.proofs.watched}
    watched |= {source.of_op(watch.proofs.sync_points[key].op) for key in watch.barriers}
    barriers = [source.of_op(m.op) for m in watch.proofs.sync_points.values() if epochs.is_barrier(m)]
    sites = dict.fromkeys([*(place.site for place in watch.proofs.access_sites), *barriers])
    return Findings(found, [s for s in sites if s not in watched], [s for s in sites if s in watched])


def judge(
    program: Program,
    watch: WatchList,
    known: Findings,
    state: Mapping[str, Any] | None,
    explored: Explored | None = None,
) -> Findings:
    """All findings of a check.

    Args:
      program: the kernel.
      watch: what was watched in its run.
      known: what follows from the program, see `of_program`.
      state: what the run has left, see `WatchList.zeros`; None if there was nothing to watch.
      explored: what was seen of conflicts in several orders, instead of in the run alone; or None.
    """
    found = list(known)
    if state is not None:
        run = Run(program, watch, state if explored is None else explored.state(state), explored)
        seen = _Judge(run)
        found += [*RaceFindings(run).all(), *seen.unwritten(), *seen.beyond(), *seen.misaligned(), *seen.parted()]
        found += [*seen.wrong(), *seen.summed()]
    return Findings(found, known.proved, known.watched)


def _cross_items(program: Program) -> Iterator[Finding]:
    seen: dict[Site, str] = {}
    for mixing in separation.of_program(program.body, program.geometry):
        if not mixing.collective:
            seen.setdefault(mixing.site, mixing.operation)
    for site, operation in seen.items():
        yield execution_wording.cross_item(site, operation, program.kernel.dialect)


def absent_lanes(program: Program, scalars: Sequence[Any]) -> Iterator[Finding]:
    """The findings of values from lanes that do not exist, see `absence`."""
    for use in absence.uses(program, scalars):
        absent, number, geometry = use.absent, use.absent.nearest(use.item), program.geometry
        items = int(absent.items[number]), use.item
        taker, user = (work_item(geometry, use.group, item, program.kernel.dialect) for item in items)
        algorithm = ExampleAccess(absent.op.attributes["collective"].kind, source.of_op(absent.op), taker)
        lanes = (int(absent.sources[number]), int(absent.lanes[number]))
        active = not absent.inactive[number]
        used = ExampleAccess(_used_as(use), source.of_op(use.op), user)
        yield execution_wording.absent_lane(algorithm, lanes, active, used, program.kernel.dialect)


def _used_as(use: absence.AbsentValueUse) -> str:
    if use.op.name in ops.ACCESSES:
        atomic = "atomic " if use.op.name == ops.ATOMIC else ""
        return f"{use.part} of the {atomic}{ops.operation(use.op)}"
    return f"{use.part} of the {use.op.name.removeprefix('xe_')}"


class _Judge:
    """The findings of one run but for conflicts."""

    def __init__(self, run: Run):
        self._run = run

    def unwritten(self) -> Iterator[Finding]:
        for spot, (count, vector) in zip(self._run.watch.unwritten, self._run.state["unwritten"], strict=True):
            if count:
                memory, example = spot.access_site.memory, Unwritten(*vector.tolist())
                item = self._run.item(example.group, example.item)
                use = ExampleAccess(self._run.what(spot), spot.access_site.site, item, self._run.calls(spot))
                element = self._run.element(memory, example.element)
                written = self._written(memory, example) + self._renewed(memory) + self._hidden(spot)
                yield access_wording.uninitialized_read(element, use, int(count), written, self._run.dialect)

    def _written(self, memory: Allocation, example: Unwritten) -> str:
        whose = {"private": "the work-item", "local": "the work-group"}.get(memory.space, "the program")
        if not example.written:
            return f"Nothing of {memory.name} was written by then."
        first, last = (self._run.element(memory, n).address for n in (example.first, example.last))
        span = ", ".join(map(str, first)), ", ".join(map(str, last))
        return (
            f"By then {whose} had written {example.written} of {counted(memory.elements, 'element')} of "
            f"{memory.name}, the first at [{span[0]}], the last at [{span[1]}]."
        )

    def _renewed(self, memory: Allocation) -> str:
        """Which lines leave a memory's elements without a value."""
        each = (same[0] for same in self._run.watch.proofs.operations.values())
        lines = sorted(
            {o.access_site.site.line for o in each if o.access_site.memory == memory and initialisation.unsets(o)}
        )
        where = f"Line {lines[0]} leaves" if len(lines) == 1 else f"Lines {', '.join(map(str, lines))} leave"
        why = "as a declaration does each time anew, and a copy of what has none"
        return f" {where} it without a value, {why}." if lines else ""

    def _hidden(self, spot: Spot) -> str:
        """Which lines were seen only as the poison value has them, so that more may be wrong there."""
        operations, root = self._run.watch.proofs.operations, self._run.watch.proofs.tree.root

        def memory(key: Any) -> Allocation | None:
            return self._run.watch.proofs.access_site(key).memory if key in operations else None

        read = [o.key for o in self._run.operations(spot)]
        steered = dependence.of_loads(root.facts, read, memory).steered
        lines = sorted({self._run.watch.proofs.access_site(key).site.line for key in steered if key in operations})
        if not lines:
            return ""
        shown = ", ".join(map(str, lines[:_LONGEST_LIST])) + (" and more" if len(lines) > _LONGEST_LIST else "")
        which = f"line {shown} accesses depends" if len(lines) == 1 else f"lines {shown} access depends"
        return f" What {which} on the value: check again once it is mended, for more may be wrong there."

    def beyond(self) -> Iterator[Finding]:
        for spot, (count, vector) in zip(self._run.watch.bounds, self._run.state["beyond"], strict=True):
            if count:
                group, item, *index = vector.tolist()
                memory, lane = spot.access_site.memory, OutOfBounds(group, item)
                element = Element(memory.space, memory.name, tuple(index))
                use = ExampleAccess(
                    self._run.what(spot), spot.access_site.site, self._run.item(*lane), self._run.calls(spot)
                )
                if (extent := self._extents.get(memory.name)) is not None:
                    yield access_wording.beyond_extent(
                        extent, index[0], memory.shape[0], use, int(count), self._run.dialect
                    )
                    continue
                yield access_wording.out_of_bounds(
                    element, memory.shape, use, int(count), self._run.dialect, self._indexed(memory)
                )

    def _indexed(self, memory: Allocation) -> int:
        """How many elements of a memory an index of its source counts as one, such as those of a vector of C."""
        interface = self._run.program.kernel.interface
        size_bytes = 0 if interface is None else interface.pointee_bytes.get(memory.name, 0)
        return max(1, size_bytes // memory.dtype.itemsize)

    @property
    def _extents(self) -> Mapping[str, Extent]:
        """The declared arrays within memories, by the names of the memories that hold their bounds."""
        interface = self._run.program.kernel.interface
        return {} if interface is None else interface.extents

    def misaligned(self) -> Iterator[Finding]:
        for spot, (count, vector) in zip(self._run.watch.blocks, self._run.state["misaligned"], strict=True):
            if count:
                memory, example = spot.access_site.memory, Misaligned(*vector.tolist())
                element = Element(memory.space, memory.name, (example.element,))
                item = self._run.item(example.group, example.item)
                use = ExampleAccess(self._run.what(spot), spot.access_site.site, item, self._run.calls(spot))
                required = alignment.required_bytes(self._run.operations(spot)[0])
                yield access_wording.misaligned_block(
                    element, memory.dtype.itemsize, required, use, int(count), self._run.dialect
                )

    def parted(self) -> Iterator[Finding]:
        found: dict[tuple[str, bool, Site], tuple[int, Parted, tuple[str, ...]]] = {}
        for key, (count, vector) in zip(self._run.watch.barriers, self._run.state["parted"], strict=True):
            if count:
                sync_point = self._run.watch.proofs.sync_points[key]
                op = sync_point.op
                what = "barrier" if op.name == ops.BARRIER else str(op.attributes["collective"])
                called = what, epochs.is_of_group(sync_point), source.of_op(op)
                before, example, calls = found.get(called, (0, Parted(*vector.tolist()), self._run.callers([op])))
                found[called] = before + int(count), example, calls
        for (what, of_group, site), (count, example, calls) in found.items():
            reaching, missing = (self._run.item(example.group, n) for n in (example.reaching, example.missing))
            size = self._run.geometry.items if of_group else self._lanes(reaching.sub_group)
            divergence = Divergence(what, of_group, site, reaching, missing, example.count, size, calls)
            yield execution_wording.barrier_divergence(divergence, count, self._run.dialect)

    def _lanes(self, sub_group: int) -> int:
        """Lanes of a sub-group, of which the last one of a work-group may have fewer."""
        size = self._run.geometry.sub_group_size
        return min(size, self._run.geometry.items - sub_group * size)

    def wrong(self) -> Iterator[Finding]:
        """What operations that are no accesses have done, one finding for each line."""
        seen: dict[Any, Finding] = {}
        for following, (counts, examples) in zip(
            self._run.watch.proofs.followings, self._run.state["followed"], strict=True
        ):
            for finding in wrongs.findings_of(following, counts, examples, self._run, self._run.dialect):
                seen.setdefault((finding.kind, finding.sites[0]), finding)
        yield from seen.values()

    def summed(self) -> Iterator[Finding]:
        """Atomic sums that depend on the order, one finding for each line and memory."""
        summed, found = self._run.watch.proofs.additions, dict[Any, tuple[int, Finding]]()
        for operation, (count, vector) in (
            zip(summed.operations, self._run.state["added"].found, strict=True) if summed is not None else ()
        ):
            if count:
                met, memory = ConcurrentAdditions(*vector.tolist()), operation.access_site.memory
                items = (
                    self._run.item(met.earlier_group, met.earlier_item),
                    self._run.item(met.later_group, met.later_item),
                )
                what, site = self._run.what(Spot.of(operation)), operation.access_site.site
                uses = ExampleAccess(what, site, items[0]), ExampleAccess(what, site, items[1])
                before, first = found.get((memory, site), (0, None))
                first = first or access_wording.order_dependent(
                    self._run.element(memory, met.element), uses, str(memory.dtype), 1
                )
                found[memory, site] = before + int(count), first
        for count, first in found.values():
            yield dataclasses.replace(first, count=count)
