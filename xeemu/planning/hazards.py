"""Hazards: loads that must be done before an update of their memory may take place.

XLA updates an array in place only if it can see that every read of the old contents comes first; else it copies the
whole array. It sees what depends on what, and it repeats cheap reads (slices) in every place that uses them. So where a
loaded value is used after an update of its memory, or the update does not depend on the load at all, the load is made
a gather, which is not repeated, and the update is made to depend on it.

The XLA option that avoids these copies, `xla_cpu_copy_insertion_use_region_analysis`, gave wrong results on JAX 0.10.2:
a loop counter was updated before its last use. `tests/test_control_flow.py` holds the kernel that showed it.
"""

import dataclasses
import functools
import operator
from typing import Any

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import addressing
from xeemu.knowledge.analysis import Facts, Known, fact


@dataclasses.dataclass(frozen=True)
class Hazards:
    """The hazards of one (sub)program.

    Attributes:
      gathered: numbers of the loads that must not be slices.
      waits: for the number of an update the values that must be computed before it.
      scattered: numbers of the updates of private memory that must not be slices.
      entangled: numbers of the updates with what was loaded from other elements of their memory.
      rewritten: numbers of the loads from local memory that is updated later. XLA computes what is stored once more for
        each load of it, and takes a branch for each element of what is put together before that.
    """

    gathered: frozenset[int]
    waits: dict[int, tuple[Value, ...]]
    scattered: frozenset[int]
    entangled: frozenset[int]
    rewritten: frozenset[int]


NONE = Hazards(frozenset(), {}, frozenset(), frozenset(), frozenset())


@fact
def of_body(facts: Facts) -> Hazards:
    """The hazards between the operations of a (sub)program itself, not of its inner ones."""
    loads = _loads(facts.body)
    sources = _sources(facts.body, loads)
    last_use = _last_uses(facts.body, sources)
    gathered: set[int] = set()
    waits: dict[int, list[Value]] = {}
    for number, op in enumerate(facts.body.ops):
        if op.name not in ops.ACCESSES or not ops.changes(op):
            continue
        needed = 0
        for operand in op.operands[1:]:
            needed |= 0 if isinstance(operand, Constant) else sources.get(operand, 0)
        for load, result in loads.get(op.operands[0], ()):
            depends = bool(needed >> load & 1)
            if depends and last_use.get(load, -1) <= number:
                continue
            gathered.add(load)
            if not depends:
                waits.setdefault(number, []).append(result)
    values = {number: tuple(found) for number, found in waits.items()}
    return Hazards(frozenset(gathered), values, _scattered(facts), _entangled(facts), _rewritten(facts))


def _scattered(facts: Facts) -> frozenset[int]:
    """The updates of private memories that are also updated at addresses that are not known.

    XLA repeats a store of a slice in a gather that follows, and copies the memory for it; a scatter it does not. Its
    compiler for CPUs copies in more cases under JAX 0.11 than under 0.10: there a loop that updates 64 bins and one of
    them at a known address takes five times as long by slices.
    """
    private = {n: known for n, op in enumerate(facts.body.ops) if (known := _private(op, facts)) is not None}
    looked_up = {known for n, known in private.items() if not addressing.is_formed(facts.body.ops[n], facts)}
    return frozenset(n for n, known in private.items() if known in looked_up)


def _private(op: Op, facts: Facts) -> Known | None:
    """What is known of the private memory that an operation updates; None if it updates none."""
    known = facts.values[op.operands[0]] if op.name in ops.ACCESSES and ops.of(op).writes else None
    return known if known is not None and known.space == "private" else None


def _entangled(facts: Facts) -> frozenset[int]:
    """The updates with what was loaded from other elements of their memory, earlier in the same (sub)program."""
    readers: dict[Any, list[tuple[int, Any]]] = {}
    sources: dict[Any, int] = {}
    found = set()
    for number, op in enumerate(facts.body.ops):
        operands = [a for a in op.used if not isinstance(a, Constant)]
        bits = functools.reduce(operator.or_, (sources.get(a, 0) for a in operands), 0)
        is_access = op.name in ops.ACCESSES
        address = (ops.viewed_shape(op), *ops.indices(op)) if is_access else None
        if op.name in ops.UPDATES and (ops.changes(op) or not is_access):
            read = readers.get(facts.values[op.operands[0]], ()) if is_access else ()
            found |= {number for load, elsewhere in read if bits >> load & 1 and elsewhere != address}
            if not op.attributes.get("fetch"):
                continue
        for memory in {facts.values[a] for a in operands if facts.values[a].space}:
            readers.setdefault(memory, []).append((number, address))
            bits |= 1 << number
        sources |= dict.fromkeys(op.results, bits)
    return frozenset(found)


def _rewritten(facts: Facts) -> frozenset[int]:
    """The loads from local memory that is updated later, in the same (sub)program."""
    updated, found = set[Any](), set[int]()
    for number, op in reversed(list(enumerate(facts.body.ops))):
        if op.name not in ops.ACCESSES or facts.values[op.operands[0]].space != "local":
            continue
        memory = facts.values[op.operands[0]]
        if ops.changes(op):
            updated.add(memory)
        elif memory in updated:
            found.add(number)
    return frozenset(found)


def _loads(body: Region) -> dict[Any, list[tuple[int, Value]]]:
    """For each version of a memory the operations that only read it, with a value that each gives."""
    memories = {op.operands[0] for op in body.ops if op.name in ops.ACCESSES}
    found: dict[Any, list[tuple[int, Value]]] = {}
    for number, op in enumerate(body.ops):
        if op.name in ops.ACCESSES:
            if not ops.changes(op) and op.results:
                found.setdefault(op.operands[0], []).append((number, op.results[0]))
        elif control.of(op) is not None and op.results:
            for operand in op.used:
                if not isinstance(operand, Constant) and operand in memories:
                    found.setdefault(operand, []).append((number, op.results[0]))
    return found


def _sources(body: Region, loads: dict[Any, list[tuple[int, Value]]]) -> dict[Any, int]:
    """For each value the set of loads that it depends on, as bits; what goes through a memory does not count."""
    reading = {number for entries in loads.values() for number, _ in entries}
    sources: dict[Any, int] = {}
    for number, op in enumerate(body.ops):
        bits = 1 << number if number in reading else 0
        for operand in op.used:
            bits |= 0 if isinstance(operand, Constant) else sources.get(operand, 0)
        if bits and op.name not in ops.UPDATES:
            sources |= dict.fromkeys(op.results, bits)
    return sources


def _last_uses(body: Region, sources: dict[Any, int]) -> dict[int, int]:
    """For each load the number of the last operation that uses what depends on it; the end of the body comes last."""
    last: dict[int, int] = {}
    for number, operands in [*enumerate(e.used for e in body.ops), (len(body.ops), body.outputs)]:
        for operand in operands:
            bits = 0 if isinstance(operand, Constant) else sources.get(operand, 0)
            while bits:
                load = bits.bit_length() - 1
                last[load] = number
                bits ^= 1 << load
    return last
