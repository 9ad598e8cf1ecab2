"""Straight programs: those of which compilers make a few passes over memory, and which of them transpose as they do."""

import math
from collections.abc import Sequence

from xeemu.ir import ops
from xeemu.ir.program import Op, Value
from xeemu.knowledge import addressing, analysis
from xeemu.knowledge.analysis import Facts, Known
from xeemu.planning.chunk import Chunk

# Places at which XLA computes a value within one fusion, on any host (`kAllowedCodeDuplication` of its
# `FusionNodeIndexingEvaluation`).
_MOST_PLACES = 15


def transposes_late(facts: Facts, chunk: Chunk) -> bool:
    """True if a program had better transpose late (see `emission/transpose_sinking.py`), as a launch as a whole may."""
    return (
        chunk.amortises_dispatch and chunk.count == facts.geometry.groups and is_straight(facts) and _transposes(facts)
    )


def is_straight(facts: Facts) -> bool:
    """True if a (sub)program has values that a compiler can fuse, and nothing else.

    It has neither loops nor branches nor scans but for what is the same in all groups, gives no old values of atomic
    operations, updates memories at addresses that are known, loads no window that may be out of bounds, of which chunks
    would be in bounds, and uses nothing after a group's algorithm that takes long to compute and goes into that.
    """
    own = _varying_ops(facts)
    if any(op.regions or _is_scan(op) or (op.name in ops.ACCESSES and not _is_fused(op, facts)) for op in own):
        return False
    return not any(op.name == ops.COLLECTIVE and _materialises(op, facts) for op in own)


def materialised_bytes(facts: Facts) -> int:
    """Bytes of a work-group that XLA keeps as arrays in a straight program, as they have too many uses.

    To compute them anew for each use, within a fusion, would take too much code.
    """
    needing, duplicates, total = dict[Value, set[Op]](), dict[Op, int](), 0
    for op in reversed(_varying_ops(facts)):
        users = set[Op]().union(*(needing.get(v, ()) for v in op.results))
        duplicates[op] = sum(duplicates[user] for user in users) or 1
        if duplicates[op] > _MOST_PLACES and op.name not in ops.ACCESSES and _is_computed(op, facts):
            total += sum(math.prod(v.shape) * v.dtype.itemsize for v in op.results)
            duplicates[op], users = 1, set()
        for value in op.used:
            aligned = ops.of(op).is_elementwise and value.shape == op.results[0].shape
            needing.setdefault(value, set()).update(users if aligned and users else (op,))
    return total


def _varying_ops(facts: Facts) -> Sequence[Op]:
    """The operations whose results groups do not share."""
    return [op for op in facts.body.ops if not all(_is_common(facts.values[v]) for v in op.results)]


def _is_computed(op: Op, facts: Facts) -> bool:
    """True if its results are not what a form says, as most indices are."""
    return any(facts.values[value].form is None for value in op.results)


def _materialises(algorithm: Op, facts: Facts) -> bool:
    """True if what takes long to compute goes into a group's algorithm and elsewhere: it is there at once then."""
    body, before = facts.body, set(facts.body.needed(algorithm.operands))
    each = (v for n in before if ops.of(body.ops[n]).slow for v in body.ops[n].results)
    results = {v for v in each if facts.values[v].varying}
    others = (op for n, op in enumerate(body.ops) if n not in before and op is not algorithm)
    return any(not results.isdisjoint(op.used) for op in others)


def _is_common(known: Known) -> bool:
    """True if groups share a value, or a memory that is not the launch's."""
    return not known.varying and known.space != "global"


def _is_scan(op: Op) -> bool:
    """True if it combines each element with those before it, which are there at once then."""
    return ops.of(op).is_scan or (op.name == ops.COLLECTIVE and op.attributes["collective"].is_scan)


def _is_fused(op: Op, facts: Facts) -> bool:
    """True if an access is one that compilers fuse with what computes its operands or uses its result."""
    known = addressing.is_formed(op, facts)
    if ops.changes(op):
        return known and not ops.value_results(op)
    return not known or not analysis.doubted(op, facts)


def _transposes(facts: Facts) -> bool:
    """True if a (sub)program without loops and branches accesses a global memory along other axes than its groups'."""
    accesses = (op for op in facts.body.ops if op.name in ops.ACCESSES)
    of_global = (op for op in accesses if facts.values[op.operands[0]].space == "global")
    return any(_is_transposed(op, facts) for op in of_global)


def _is_transposed(op: Op, facts: Facts) -> bool:
    """True if a memory has what a later dimension of the group range is for further apart than an earlier one's."""
    form = addressing.foreseen(op, facts).form
    steps = [abs(step) for step in form.steps if step] if form is not None else []
    return steps != sorted(steps, reverse=True)
