"""Dead code elimination: operations go whose results nobody uses, and so does what loops carry for nobody."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from xeemu.devices.target import Target
from xeemu.ir import ops
from xeemu.ir.program import Op, Region, Value
from xeemu.ir.rewriting import Rewriter, rewritten
from xeemu.language.program import Program
from xeemu.passes.analyses import Analyses

T = TypeVar("T")
Results = Sequence[Value | None]
"""For each result of an operation what stands for it; None for one that has gone."""


def eliminate_dead_code(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program without them, and without the marks of who is active, which only observers ask for.

    An update of a memory is dead if nobody uses its next version. A loop that tests a predicate stays, because it may
    go on for ever, which a launch tells.
    """
    return remade(program, program.body)


def replaced(program: Program, found: Mapping[Op, T], replacement: Callable[[Rewriter, Op, T], Results]) -> Program:
    """A program in which something else stands for some operations; the same one if there are none.

    Args:
      program: the program.
      found: for each of these operations what is known of it.
      replacement: gives a value for each result of such an operation, None for one that has gone.
    """
    if not found:
        return program

    def rule(rewriter: Rewriter, op: Op) -> Results | None:
        return replacement(rewriter, op, found[op]) if op in found else None

    return remade(program, rewritten(program.body, rule))


def changed(rewriter: Rewriter, op: Op, other: Op) -> list[Value]:
    """The results of an operation for which a changed one stands."""
    rewriter.keep(other)
    return rewriter.values(op.results)


def remade(program: Program, body: Region) -> Program:
    """A program with another body, but for what nobody uses there: what a pass makes leaves no dead code behind."""
    found = live(body)
    if found is program.body:
        return program
    # Those of the program are in the order in which it makes them.
    before, after = ([op.results for op in each.walk() if op.name == ops.ALLOCATE] for each in (program.body, found))
    kept = tuple(a for a, results in zip(program.allocations, before, strict=True) if results in after)
    return dataclasses.replace(program, body=found, allocations=kept)


def live(region: Region) -> Region:
    """A region without them."""
    needed, kept = set(region.outputs), list[Op]()
    for op in reversed(region.ops):
        if needed.isdisjoint(op.results) and not _acts(op):
            continue
        live_op = _with_live_regions(op if needed.issuperset(op.results) else _without_dead_results(op, needed))
        kept.append(live_op)
        needed.update(live_op.used)
    result = tuple(reversed(kept))
    return region if result == region.ops else dataclasses.replace(region, ops=result)


def _with_live_regions(op: Op) -> Op:
    regions = tuple(map(live, op.regions))
    return op if regions == op.regions else dataclasses.replace(op, regions=regions, apply=None)


def _without_dead_results(op: Op, needed: Collection[Value]) -> Op:
    """An operation of which some results are not needed, without those and what is computed only for them."""
    kept = {k for k, value in enumerate(op.results) if value in needed}
    if op.name == ops.ATOMIC:
        return _without_old_value(op) if kept == {1} else op
    if op.name in ("scan", "while"):
        return _without_dead_carries(op, kept)
    if op.name != "cond":
        return op
    regions = tuple(dataclasses.replace(each, outputs=_chosen(each.outputs, kept)) for each in op.regions)
    return dataclasses.replace(op, results=_chosen(op.results, kept), regions=regions, apply=None)


def _without_old_value(op: Op) -> Op:
    """An atomic operation as one that fetches nothing, if it leaves the same bits: no order of work-items is found."""
    operation = ops.operation(op)
    if operation not in ops.COMBINING or ops.rounds(op.operands[0].dtype, operation):
        return op
    return dataclasses.replace(op, results=op.results[1:], attributes={**op.attributes, "fetch": False}, apply=None)


def _without_dead_carries(op: Op, kept: set[int]) -> Op:
    """A loop that gives some of its results, and carries only what these or its predicate depend on."""
    *predicate, body = op.regions
    carries = op.attributes.get("carries", len(op.operands))
    while True:
        live_body = live(dataclasses.replace(body, outputs=_chosen(body.outputs, kept)))
        inputs = {k for each in (*predicate, live_body) for k in _used_inputs(each)}
        carried = {k for k in inputs if k < carries}
        if carried <= kept:
            break
        kept |= carried
    inputs |= {k for k in kept if k < carries}
    if (len(inputs), len(kept)) == (len(op.operands), len(op.results)):
        return op
    regions = tuple(dataclasses.replace(each, inputs=_chosen(each.inputs, inputs)) for each in (*predicate, live_body))
    count = {"carries": len([k for k in inputs if k < carries])} if op.name == "scan" else {}
    return dataclasses.replace(
        op,
        operands=_chosen(op.operands, inputs),
        results=_chosen(op.results, kept),
        regions=regions,
        attributes={**op.attributes, **count},
        apply=None,
    )


def _used_inputs(region: Region) -> set[int]:
    """The numbers of a region's inputs that it uses."""
    used = {value for op in region.ops for value in op.used} | set(region.outputs)
    return {k for k, value in enumerate(region.inputs) if value in used}


def _chosen(items: Sequence[Value], kept: Collection[int]) -> tuple[Value, ...]:
    return tuple(item for k, item in enumerate(items) if k in kept)


def _acts(op: Op) -> bool:
    """True if an operation does more than give its results."""
    inner = (other for region in op.regions for other in region.walk())
    return any(other.has_effects or other.name == "while" for other in (op, *inner))
